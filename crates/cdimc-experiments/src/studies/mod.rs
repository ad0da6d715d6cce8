//! `cargo xtask study`: small experiments behind single tables of the documents, on simulated or damaged data.

mod accuracy;
mod damage;
mod markers;
mod next_view;
mod simulated;
mod warnings;

use anyhow::Result;
use std::process::ExitCode;

#[derive(clap::Subcommand)]
pub enum Study {
    /// Count false and missed warnings on sound and flawed data: the tables of docs/comparisons.md.
    Warnings(warnings::Arguments),
    /// Count false and found markers: the table of docs/comparisons.md.
    Markers(markers::Arguments),
    /// Reveal the view that doubtful samples should be measured in: the table of docs/guides/one-sample.md.
    NextView(next_view::Arguments),
    /// Score t-mixture on a data set with known classes, one line per mask.
    Accuracy(accuracy::Arguments),
    /// Damage files and read them: docs/notes/reliability.md.
    #[command(subcommand)]
    Damage(damage::Command),
}

impl Study {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        match self {
            Self::Warnings(arguments) => warnings::run(arguments),
            Self::Markers(arguments) => markers::run(arguments),
            Self::NextView(arguments) => next_view::run(arguments),
            Self::Accuracy(arguments) => accuracy::run(arguments),
            Self::Damage(command) => damage::run(command),
        }?;
        Ok(ExitCode::SUCCESS)
    }
}
