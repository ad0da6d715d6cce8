//! Runs cells side by side, each in a process of its own, and hands over their records as they end.

use crate::cell::Cell;
use crate::checkpoint::Checkpoints;
use crate::execution::Progress;
use crate::progress::Display;
use crate::record::{Circumstances, Outcome, Record};
use crate::worker;
use anyhow::{Result, ensure};
use std::collections::VecDeque;
use std::io::IsTerminal;
use std::sync::{Mutex, mpsc};

/// How many cells run at the same time, and with how many threads each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Runner {
    pub jobs: usize,
    pub threads: usize,
}

/// What a lane reports to the main thread.
enum Event {
    Started,
    Progress(Progress),
    Finished(Result<Outcome>),
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
    pub(crate) fn run(
        self,
        cells: Vec<Cell>,
        checkpoints: &Checkpoints,
        keep: &mut dyn FnMut(Record) -> Result<()>,
    ) -> Result<()> {
        let lanes = self.jobs.min(cells.len());
        let mut display = Display::new(cells.len(), lanes, std::io::stderr().is_terminal());
        let circumstances = Circumstances::here(self.threads, self.jobs);
        let queue = Mutex::new(VecDeque::from(cells));
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            for lane in 0..lanes {
                let (sender, queue) = (sender.clone(), &queue);
                scope.spawn(move || {
                    // A send fails only when the main thread has given up; then so does the lane.
                    while let Some(cell) = next(queue) {
                        let send = |event| sender.send((lane, cell.clone(), event)).is_ok();
                        if !send(Event::Started) {
                            return;
                        }
                        let report = &mut |p| _ = send(Event::Progress(p));
                        let outcome = worker::run(&cell, checkpoints, self.threads, report);
                        if !send(Event::Finished(outcome)) {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            let mut result = Ok(());
            for (lane, cell, event) in receiver {
                match event {
                    Event::Started => display.started(lane, &cell),
                    Event::Progress(progress) => display.progress(lane, &cell, &progress),
                    Event::Finished(outcome) => {
                        let kept = outcome.and_then(|outcome| {
                            let record = Record::new(cell, outcome, circumstances.now());
                            display.finished(lane, &record);
                            keep(record)
                        });
                        if kept.is_err()
                            && let Ok(mut queue) = queue.lock()
                        {
                            queue.clear();
                        }
                        result = result.and(kept);
                    }
                }
            }
            display.end();
            result
        })
    }
}

fn next(queue: &Mutex<VecDeque<Cell>>) -> Option<Cell> {
    queue.lock().ok()?.pop_front()
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
