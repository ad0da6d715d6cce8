//! A cell in a process of its own: the cell is its question, progress and outcome are its answers.

use crate::cell::Cell;
use crate::checkpoint::Checkpoints;
use crate::execution::{self, Progress};
use crate::process;
use crate::record::{Outcome, Status};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::process::{Command, ExitCode};

/// A line from a worker.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Message {
    Progress(Progress),
    Outcome(Outcome),
}

/// Runs a cell in a process of its own with `threads` threads. A worker that dies gives a failed outcome.
pub(crate) fn run(
    cell: &Cell,
    checkpoints: &Checkpoints,
    threads: usize,
    report: &mut dyn FnMut(Progress),
) -> Result<Outcome> {
    let mut worker = Command::new(std::env::current_exe()?);
    worker.arg("cell").env("RAYON_NUM_THREADS", threads.to_string());
    let mut outcome = None;
    let (status, words) =
        process::ask(&mut worker, &(cell, checkpoints), |message| match message {
            Message::Progress(progress) => report(progress),
            Message::Outcome(found) => outcome = Some(found),
        })?;
    let died = || Outcome::without_scores(Status::Failed, format!("{status}: {words}"));
    Ok(outcome.unwrap_or_else(died))
}

/// The worker's side: one cell from standard input.
pub(crate) fn serve() -> Result<ExitCode> {
    let (cell, checkpoints): (Cell, Checkpoints) = process::question()?;
    let send = |message: &Message| -> Result<()> {
        let mut output = std::io::stdout().lock();
        writeln!(output, "{}", serde_json::to_string(message)?)?;
        Ok(output.flush()?)
    };
    let outcome = execution::run(&cell, &checkpoints, &|progress| {
        // If the pipe is closed, so is the input, and this process ends.
        let _ = send(&Message::Progress(progress));
    })?;
    send(&Message::Outcome(outcome))?;
    Ok(ExitCode::SUCCESS)
}
