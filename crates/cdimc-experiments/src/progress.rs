//! Live progress on standard error: a line per finished cell, and now and then one of a running cell.

use crate::cell::Cell;
use crate::execution::Progress;
use crate::record::{Record, Status};
use cdimc::note;
use std::time::{Duration, Instant};

/// A line of a running cell comes no more often than this.
const INTERVAL: Duration = Duration::from_secs(15);

/// Shows how far a run is.
pub(crate) struct Display {
    total: usize,
    done: usize,
    started: Instant,
    last_line: Instant,
}

impl Display {
    /// Creates a display for `total` cells.
    pub(crate) fn new(total: usize) -> Self {
        let now = Instant::now();
        Self { total, done: 0, started: now, last_line: now }
    }

    pub(crate) fn progress(&mut self, cell: &Cell, progress: &Progress) {
        if self.last_line.elapsed() >= INTERVAL {
            self.last_line = Instant::now();
            let Progress { stage, epoch, of, loss } = progress;
            let loss = loss.map_or_else(String::new, |loss| format!(", loss {loss:.5}"));
            note!("{}: {stage} {epoch}/{of}{loss}", cell.title());
        }
    }

    pub(crate) fn finished(&mut self, record: &Record) {
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
