//! Runs cells side by side, each in a process of its own, and hands over their records as they end.
//!
//! To such a worker its cell is a question; progress and outcome are its answers.

use crate::cell::{Cell, Circumstances, Outcome, Record, Status};
use crate::execution::Checkpoints;
use crate::{execution, workspace};
use anyhow::{Result, ensure};
use cdimc::note;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::io::Write;
use std::process::{Command, ExitCode};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A line of a running cell comes no more often than this.
const INTERVAL: Duration = Duration::from_secs(15);

/// How many cells run at the same time, and with how many threads each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Runner {
    pub jobs: usize,
    pub threads: usize,
}

impl Runner {
    /// Jobs and threads such that together they never use more than all cores; what is not asked for is 1 thread
    /// (all cores for a single job) and as many jobs as the cores hold.
    pub(crate) fn new(jobs: Option<usize>, threads: Option<usize>, cores: usize) -> Result<Self> {
        ensure!(jobs != Some(0), "jobs = 0: must be at least 1");
        ensure!(threads != Some(0), "threads = 0: must be at least 1");
        let threads = match (jobs, threads) {
            (_, Some(threads)) => threads.min(cores),
            (Some(1), None) => cores,
            _ => 1,
        };
        let most = (cores / threads).max(1);
        Ok(Self { jobs: jobs.unwrap_or(most).min(most), threads })
    }

    /// Runs the cells, from their checkpoints if they have any, and passes each record to `keep` when its cell ends.
    /// No cell begins after an error.
    pub(crate) fn run(
        self,
        cells: Vec<Cell>,
        checkpoints: &Checkpoints,
        keep: &mut (dyn FnMut(Record) -> Result<()> + Send),
    ) -> Result<()> {
        let lanes = self.jobs.min(cells.len());
        let display = Display::new(cells.len());
        let circumstances = Circumstances::here(self.threads, self.jobs);
        let shared = Mutex::new((VecDeque::from(cells), display, keep, Ok(())));
        let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
        let next = || lock().0.pop_front();
        let run_lane = || {
            while let Some(cell) = next() {
                let report = &mut |progress: &str| lock().1.progress(&cell, progress);
                let outcome = run_apart(&cell, checkpoints, self.threads, report);
                let (queue, display, keep, result) = &mut *lock();
                let kept = outcome.and_then(|outcome| {
                    let record = Record::new(cell, outcome, circumstances.now());
                    display.finished(&record);
                    keep(record)
                });
                if kept.is_err() && result.is_ok() {
                    queue.clear();
                    *result = kept;
                }
            }
        };
        std::thread::scope(|scope| {
            (0..lanes).for_each(|_| _ = scope.spawn(run_lane));
        });
        shared.into_inner().unwrap_or_else(PoisonError::into_inner).3
    }
}

/// A line from a worker.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Message {
    Progress(String),
    Outcome(Outcome),
}

/// Runs a cell in a process of its own with `threads` threads. A worker that dies gives a failed outcome.
fn run_apart(
    cell: &Cell,
    checkpoints: &Checkpoints,
    threads: usize,
    report: &mut dyn FnMut(&str),
) -> Result<Outcome> {
    let mut worker = Command::new(std::env::current_exe()?);
    worker.arg("cell").env("RAYON_NUM_THREADS", threads.to_string());
    let mut outcome = None;
    let (status, words) =
        workspace::ask(&mut worker, &(cell, checkpoints), |message| match message {
            Message::Progress(progress) => report(&progress),
            Message::Outcome(found) => outcome = Some(found),
        })?;
    let died = || Outcome::without_scores(Status::Failed, format!("{status}: {words}"));
    Ok(outcome.unwrap_or_else(died))
}

/// The worker's side: one cell from standard input.
pub(crate) fn serve() -> Result<ExitCode> {
    let (cell, checkpoints): (Cell, Checkpoints) = workspace::question()?;
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

/// Live progress on standard error: a line per finished cell, and now and then one of a running cell.
struct Display {
    total: usize,
    done: usize,
    started: Instant,
    last_line: Instant,
}

impl Display {
    fn new(total: usize) -> Self {
        let now = Instant::now();
        Self { total, done: 0, started: now, last_line: now }
    }

    fn progress(&mut self, cell: &Cell, progress: &str) {
        if self.last_line.elapsed() >= INTERVAL {
            self.last_line = Instant::now();
            note!("{}: {progress}", cell.title());
        }
    }

    fn finished(&mut self, record: &Record) {
        let outcome = &record.outcome;
        let score = |name| outcome.score(name).unwrap_or(f64::NAN);
        let reason = outcome.reason.as_deref().unwrap_or("");
        let result = match outcome.status {
            Status::Scored => {
                let (acc, nmi, seconds) = (score("acc"), score("nmi"), outcome.seconds.total);
                format!("ACC {acc:.4}, NMI {nmi:.4} in {seconds:.1} s")
            }
            Status::Failed => format!("failed: {reason}"),
            Status::Skipped => format!("skipped: {reason}"),
            Status::Unusable => format!("nothing usable: {reason}"),
        };
        self.done += 1;
        let left = (self.total - self.done) as f64 / self.done as f64;
        let left = match self.started.elapsed().mul_f64(left).as_secs() {
            0 => String::new(),
            seconds @ 1..90 => format!("; {seconds} s left"),
            seconds @ 90..5400 => format!("; {} min left", seconds.div_ceil(60)),
            seconds => format!("; {:.1} h left", seconds as f64 / 3600.0),
        };
        note!("[{}/{}] {}: {result}{left}", self.done, self.total, record.cell.title());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_and_threads_never_use_more_than_all_cores() {
        for cores in 1..9 {
            for jobs in [None, Some(1), Some(2), Some(7), Some(100)] {
                for threads in [None, Some(1), Some(3), Some(100)] {
                    let Runner { jobs, threads } = Runner::new(jobs, threads, cores).unwrap();
                    assert!(jobs >= 1 && threads >= 1 && jobs * threads <= cores);
                }
            }
        }
        let runner = |jobs, threads| Runner { jobs, threads };
        assert_eq!(Runner::new(None, None, 8).unwrap(), runner(8, 1));
        assert_eq!(Runner::new(Some(1), None, 8).unwrap(), runner(1, 8));
        assert_eq!(Runner::new(None, Some(2), 8).unwrap(), runner(4, 2));
        assert!(Runner::new(Some(0), None, 8).is_err());
    }
}
