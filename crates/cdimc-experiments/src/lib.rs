#![doc = include_str!("../README.md")]

mod bench;
mod cell;
mod datasets;
mod execution;
mod experiment;
mod figure;
pub mod fuzzing;
mod methods;
mod page;
mod plan;
mod records;
mod report;
mod reproduce;
mod runner;
mod studies;
mod table;
mod text;
mod workspace;

pub use records::{Scores, scores_in};
pub use workspace::{git, output, root};

use anyhow::Result;
use std::process::ExitCode;

/// The commands around the experiments, for a program to take among its own.
///
/// Runs and benchmarks start the current executable anew for each cell or case, with `cell` or `bench-case` as its
/// first argument, so the program has to take this enum's words as its own.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Run the unfinished cells of an experiment and print its table.
    Reproduce(Box<reproduce::Arguments>),
    /// Add what runs and shards have recorded to the records of the workspace.
    Merge(records::Arguments),
    /// Make the page of the paper's experiments from the records of the workspace.
    Report,
    /// List, fetch and verify the data sets.
    #[command(subcommand)]
    Datasets(datasets::Command),
    /// Measure seconds, arithmetic and memory, of this project and of peers.
    Bench(bench::Arguments),
    /// Run one of the small experiments behind the tables of the documents.
    #[command(subcommand)]
    Study(studies::Study),
    /// Run one cell, given as JSON on standard input (used by `reproduce` itself).
    #[command(hide = true)]
    Cell,
    /// Measure one case, given as JSON on standard input (used by `bench` itself).
    #[command(hide = true)]
    BenchCase,
}

impl Command {
    /// Runs the command and returns the exit code of the program.
    ///
    /// # Errors
    /// If the request cannot be met, or a file cannot be read or written.
    pub fn run(&self) -> Result<ExitCode> {
        match self {
            Self::Reproduce(arguments) => reproduce::run(arguments),
            Self::Merge(arguments) => records::merge(arguments),
            Self::Report => page::run(),
            Self::Datasets(command) => datasets::run(command),
            Self::Bench(arguments) => bench::run(arguments),
            Self::Study(study) => study.run(),
            Self::Cell => runner::serve(),
            Self::BenchCase => bench::serve(),
        }
    }
}
