//! Runs cells side by side, each in a process of its own, and hands over their records as they end.

use crate::cell::Cell;
use crate::checkpoint::Checkpoints;
use crate::progress::Display;
use crate::record::{Circumstances, Record};
use crate::worker;
use anyhow::{Result, ensure};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

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
                let report = &mut |progress| lock().1.progress(&cell, &progress);
                let outcome = worker::run(&cell, checkpoints, self.threads, report);
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
