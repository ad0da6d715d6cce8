//! The command `cdimc`: each sub-command reads files, calls the library and writes its output whole or not at all.
//!
//! It is part of the library so that other programs, as Python's package, can be the command too.

mod cluster;
mod compare;
mod evaluate;
mod explain;
mod impute;
mod input;
mod inspect;
mod manual;
mod mask;
mod output;
mod parts;
mod predict;

use crate::{note, terminal};
use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::io::Write;
use std::sync::OnceLock;

/// How the command was started.
static STARTED: OnceLock<Started> = OnceLock::new();

#[derive(Debug, Default)]
struct Started {
    program: Vec<OsString>,
    arguments: Vec<OsString>,
}

/// Does what `arguments` ask for, as the only command of this process, and gives the exit code. `program` with further
/// arguments after it is a command line that comes here as well: damaged files are decoded in processes of their own.
pub fn main(program: Vec<OsString>, arguments: Vec<OsString>) -> u8 {
    ignore_sigxfsz();
    let words = std::iter::once("cdimc".into()).chain(arguments.iter().cloned());
    let cli = terminal::arguments::<Cli>(words);
    let _ = STARTED.set(Started { program, arguments });
    let code = match cli.map(Cli::run) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => match error.downcast_ref::<Interrupted>() {
            Some(interrupted) => {
                note!("{error}");
                128 + interrupted.signal as u8
            }
            None => terminal::failure(&error),
        },
        Err(code) => code,
    };
    // Lines are written as they end; what had no end is left for here.
    let _ = std::io::stdout().flush();
    code
}

/// A file that grows beyond its limit is an error of writing, as one on a full disk is, and ends no program.
#[cfg(unix)]
fn ignore_sigxfsz() {
    let flag = std::sync::Arc::default();
    // Without a handler it is as it was.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, flag);
}

#[cfg(not(unix))]
fn ignore_sigxfsz() {}

/// Clusters samples measured in several tables, even if samples are missing from some tables.
#[derive(Debug, Parser)]
#[command(
    name = "cdimc",
    version,
    max_term_width = 100,
    long_about = long_about(),
    after_help = "Example:\n  cdimc cluster --view rna.csv --view protein.npy --id patient -k 4 -o result\n\nEach sub-command's --help has one more."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Say nothing but results and errors
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Say more: once for information, twice for details
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Write ' before ids and names in CSV files that a spreadsheet would take for formulas
    #[arg(long, global = true, hide_short_help = true)]
    escape_formulas: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Inspect(inspect::Inspect),
    Cluster(Box<cluster::Cluster>),
    Predict(predict::Predict),
    Explain(explain::Explain),
    Impute(impute::Impute),
    Evaluate(evaluate::Evaluate),
    Compare(compare::Compare),
    Mask(mask::Mask),
    #[command(hide = true)]
    Manual(manual::Manual),
    /// Decode a file for the process that started this one
    #[command(hide = true)]
    Decode,
}

/// The run was interrupted and can be taken up again.
#[derive(Debug, thiserror::Error)]
#[error(
    "interrupted: go on with `cdimc cluster --resume {folder}`{}",
    if *waits { "; the earlier result stays there until then" } else { "" }
)]
pub(crate) struct Interrupted {
    pub(crate) folder: String,
    /// Whether an earlier result has the place of this run until it is whole.
    pub(crate) waits: bool,
    /// The number of the signal.
    pub(crate) signal: usize,
}

/// What the program does, with the formats that it reads.
fn long_about() -> String {
    let formats: Vec<&str> = crate::tables::formats().map(|(known_as, _)| known_as).collect();
    format!(
        "Clusters samples measured in several tables, even if samples are missing from some tables.\n\nTables are {} files, joined by an \
         id column; a sample absent from a table is missing in that view.",
        formats.join(", ")
    )
}

impl Cli {
    /// Runs the command.
    fn run(self) -> anyhow::Result<()> {
        let level = match (self.quiet, self.verbose) {
            (true, _) => tracing::Level::ERROR,
            (_, 0) => tracing::Level::WARN,
            (_, 1) => tracing::Level::INFO,
            _ => tracing::Level::DEBUG,
        };
        tracing_subscriber::fmt()
            .with_max_level(level)
            .with_writer(terminal::Log::default)
            // Messages about them on a closed standard error would end the program.
            .log_internal_errors(false)
            .with_ansi(false)
            .with_target(false)
            .without_time()
            .init();
        output::escape_formulas(self.escape_formulas);
        let quiet = self.quiet;
        match self.command {
            Command::Inspect(inspect) => inspect.run(),
            Command::Cluster(cluster) => cluster.run(quiet),
            Command::Predict(predict) => predict.run(quiet),
            Command::Explain(explain) => explain.run(quiet),
            Command::Impute(impute) => impute.run(),
            Command::Evaluate(evaluate) => evaluate.run(),
            Command::Compare(compare) => compare.run(quiet),
            Command::Mask(mask) => mask.run(),
            Command::Manual(manual) => manual.run(),
            Command::Decode => Ok(crate::tables::decode_for_parent()?),
        }
    }
}
