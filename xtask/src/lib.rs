//! The workspace's own commands: experiments, data sets, house rules, benchmarks.
//!
//! `cargo xtask reproduce` runs an experiment and prints its table; `cargo xtask --help` lists the rest.

mod bench;
mod cell;
mod compare;
mod datasets;
mod execution;
mod experiment;
mod figure;
pub mod fuzzing;
mod measuring;
mod merge;
mod methods;
mod page;
mod plan;
mod progress;
mod published;
mod record;
mod records;
mod report;
mod reproduce;
mod runner;
mod schedule;
mod selection;
mod settings;
mod source;
mod table;
mod tidy;
#[cfg(unix)]
mod torture;
mod worker;
mod workspace;

use cdimc::terminal;
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
    /// Run an experiment, or what is left of it, and print its table.
    Reproduce(Box<reproduce::Arguments>),
    /// Add what runs and shards have recorded to the records of the workspace.
    Merge(merge::Arguments),
    /// Make the page of the paper's experiments from the records of the workspace.
    Report(page::Arguments),
    /// List, fetch and verify the data sets.
    Datasets(datasets::Args),
    /// Measure seconds, arithmetic and memory, and those of peers.
    Bench(bench::Arguments),
    /// Time the compared methods next to their NumPy programs and imml.
    Compare(compare::Arguments),
    /// Check the workspace against its house rules.
    Tidy,
    /// Kill and refuse `cdimc cluster` and `reproduce` at every step, and look at what they leave.
    #[cfg(unix)]
    Torture(torture::Arguments),
    /// Run one cell, given as JSON on standard input (used by `reproduce` itself).
    #[command(hide = true)]
    Cell,
    /// Measure one case, given as JSON on standard input (used by `bench` itself).
    #[command(hide = true)]
    BenchCase,
    /// Time one method, given as JSON on standard input (used by `compare` itself).
    #[command(hide = true)]
    CompareCase,
}

/// Does what the command line asks for.
pub fn main() -> ExitCode {
    let arguments = match terminal::arguments::<Arguments>() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let outcome = match arguments.command {
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Merge(arguments) => merge::run(&arguments),
        Command::Report(arguments) => page::run(&arguments),
        Command::Datasets(arguments) => datasets::run(&arguments),
        Command::Tidy => tidy::run(),
        #[cfg(unix)]
        Command::Torture(arguments) => torture::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Cell => worker::serve(),
        Command::BenchCase => bench::serve(),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::CompareCase => compare::serve(),
    };
    outcome.unwrap_or_else(|error| terminal::failure(&error))
}
