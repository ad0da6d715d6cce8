//! The command `cdimc`: each sub-command reads files, calls the library, and writes all of its output or none.
//!
//! It is part of the library, so that other programs, such as the Python package, can provide the command.

mod cluster;
mod compare;
mod evaluate;
mod explain;
mod id_column;
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

static STARTED: OnceLock<Started> = OnceLock::new();

/// How the command was started.
#[derive(Debug)]
struct Started {
    program: Vec<OsString>,
    arguments: Vec<OsString>,
}

/// Runs the command line `arguments` and returns the exit code; a process may call it once. `program` with further
/// arguments must lead back here: damaged files are decoded in separate processes.
pub fn main(program: Vec<OsString>, arguments: Vec<OsString>) -> u8 {
    #[cfg(unix)]
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
    // Lines are written when they end; the rest is written here.
    let _ = std::io::stdout().flush();
    code
}

/// Keeps the program alive when a file exceeds its size limit; writing then fails, as on a full disk.
#[cfg(unix)]
fn ignore_sigxfsz() {
    let flag = std::sync::Arc::default();
    // If this fails, the signal keeps its default.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, flag);
}

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
    /// Print only results and errors
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Print more: once for information, twice for details
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

#[derive(Debug, thiserror::Error)]
#[error(
    "interrupted{}{}",
    folder.as_ref().map_or(String::new(), |folder| format!(": go on with `cdimc cluster --resume {folder}`")),
    if *waits { "; the earlier result stays there until then" } else { "" }
)]
pub(crate) struct Interrupted {
    /// Folder that `--resume` continues; `None` if nothing was done yet.
    pub(crate) folder: Option<String>,
    /// Whether an earlier result stays at the target until this run is complete.
    pub(crate) waits: bool,
    /// Number of the signal.
    pub(crate) signal: usize,
}

/// Returns what the program does, with the formats that it reads.
fn long_about() -> String {
    let formats: Vec<&str> = crate::tables::formats().map(|(known_as, _)| known_as).collect();
    format!(
        "Clusters samples measured in several tables, even if samples are missing from some tables.\n\nTables are {} files, joined by an \
         id column; a sample absent from a table is missing in that view.",
        formats.join(", ")
    )
}

impl Cli {
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
            // Errors of logging on a closed standard error would end the program.
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
