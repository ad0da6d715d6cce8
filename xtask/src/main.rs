//! Commands of the workspace: `cargo xtask --help` lists them.
//!
//! Experiments are in the crate `cdimc-experiments`; the house rules and the crash tests are here.

mod check;
mod tidy;
#[cfg(unix)]
mod torture;

use cdimc::terminal;
use cdimc_experiments::Command as Experiments;
use clap::{Parser, Subcommand};
use std::process::{Command as Process, ExitCode};

/// Experiments of the workspace: the paper's tables from one command.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    Experiments(Experiments),
    /// Check format, clippy and unit tests of the crates that differ from a branch.
    Check(check::Arguments),
    /// Check the workspace against its house rules.
    Tidy,
    /// Interrupt `cdimc cluster` and `reproduce` at every step, and check what they leave.
    #[cfg(unix)]
    Torture(torture::Arguments),
}

fn main() -> ExitCode {
    let arguments = match terminal::arguments::<Arguments>(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(code) => return code.into(),
    };
    let outcome = match arguments.command {
        Command::Experiments(command) => command.run(),
        Command::Check(arguments) => check::run(&arguments),
        Command::Tidy => tidy::run(),
        #[cfg(unix)]
        Command::Torture(arguments) => torture::run(&arguments),
    };
    outcome.unwrap_or_else(|error| terminal::failure(&error).into())
}

/// The cargo that runs this program, in the root of the workspace.
fn cargo() -> Process {
    let mut cargo = Process::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(cdimc_experiments::root());
    cargo
}
