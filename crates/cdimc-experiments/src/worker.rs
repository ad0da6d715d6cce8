//! One process for each running cell: its memory is its own, and a crash is a record.
//!
//! The parent writes the cell and where its checkpoints go as one line to the worker's standard input and keeps it open; the worker
//! answers in lines of JSON on standard output. When the parent dies, the input ends and so does the worker.

use crate::cell::Cell;
use crate::checkpoint::Checkpoint;
use crate::execution::{self, Progress};
use crate::record::{Outcome, Status};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, ExitCode, Stdio};

/// The line to a worker.
#[derive(Serialize, Deserialize)]
struct Order {
    cell: Cell,
    checkpoint: Checkpoint,
}

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
    checkpoint: Checkpoint,
    threads: usize,
    report: &mut dyn FnMut(Progress),
) -> Result<Outcome> {
    let mut worker = Command::new(std::env::current_exe()?)
        .arg("cell")
        .env("RAYON_NUM_THREADS", threads.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("worker process")?;
    let mut input = worker.stdin.take().context("worker without input")?;
    let mut errors = worker.stderr.take().context("worker without error output")?;
    let output = worker.stdout.take().context("worker without output")?;
    // A full error pipe would stop the worker, so it is emptied on the side.
    let errors = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = errors.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let mut outcome = None;
    let order = serde_json::to_string(&Order { cell: cell.clone(), checkpoint })?;
    // A worker that died early shows in its outcome, not in a broken pipe here.
    let _ = writeln!(input, "{order}");
    for line in BufReader::new(output).lines() {
        match serde_json::from_str(&line?) {
            Ok(Message::Progress(progress)) => report(progress),
            Ok(Message::Outcome(found)) => outcome = Some(found),
            Err(_) => {}
        }
    }
    drop(input);
    let status = worker.wait()?;
    let errors = errors.join().unwrap_or_default();
    Ok(outcome.unwrap_or_else(|| {
        Outcome::without_scores(Status::Failed, format!("{status}: {}", last_words(&errors)))
    }))
}

/// Returns the reason why a process ended: the location and message of a panic, or else the last line.
fn last_words(errors: &str) -> String {
    let lines: Vec<&str> = errors.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let panicked = lines.iter().position(|line| line.contains("panicked at "));
    match (panicked, lines.last()) {
        // The message follows on a line of its own; notes about backtraces come after it.
        (Some(place), _) => lines[place..].iter().take(2).copied().collect::<Vec<_>>().join(" "),
        (None, Some(last)) => (*last).to_owned(),
        (None, None) => "no message".to_owned(),
    }
}

/// The worker's side: one cell from standard input.
pub(crate) fn serve() -> Result<ExitCode> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let Order { cell, checkpoint } =
        serde_json::from_str(&line).context("the cell on standard input")?;
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        std::process::exit(1);
    });
    let send = |message: &Message| -> Result<()> {
        let mut output = std::io::stdout().lock();
        writeln!(output, "{}", serde_json::to_string(message)?)?;
        Ok(output.flush()?)
    };
    let outcome = execution::run(&cell, &checkpoint, &|progress| {
        // If the pipe is closed, the thread above ends the process.
        let _ = send(&Message::Progress(progress));
    })?;
    send(&Message::Outcome(outcome))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_reported_by_its_message_and_other_ends_by_the_last_line() {
        let panic = "\nthread 'main' panicked at src/a.rs:1:2:\nindex out of bounds\nnote: run with `RUST_BACKTRACE=1`\n";
        assert_eq!(
            last_words(panic),
            "thread 'main' panicked at src/a.rs:1:2: index out of bounds"
        );
        assert_eq!(last_words("warning\nerror: no such file\n\n"), "error: no such file");
        assert_eq!(last_words(""), "no message");
    }
}
