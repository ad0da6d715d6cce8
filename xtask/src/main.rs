//! The workspace's own commands: `cargo xtask --help` lists them.
//!
//! The experiments are the crate `cdimc-experiments`; the house rules and the torture of what is written are here.

mod check;
mod tidy;
#[cfg(unix)]
mod torture;

use cdimc::terminal;
use cdimc_experiments::Command as Experiments;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

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
    /// Kill and refuse `cdimc cluster` and `reproduce` at every step, and look at what they leave.
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
