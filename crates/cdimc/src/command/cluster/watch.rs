//! What a run does while its method works: show progress, take the time, listen for Ctrl-C.

use crate::command::progress::Progress;
use cdimc::core::Step;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Seconds by stage, in order of first appearance; of a run in several sittings the sums.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Seconds(Vec<(String, f64)>);

impl Seconds {
    pub(super) fn add(&mut self, stage: &str, seconds: f64) {
        match self.0.iter_mut().find(|(name, _)| name == stage) {
            Some((_, sum)) => *sum += seconds,
            None => self.0.push((stage.to_owned(), seconds)),
        }
    }

    pub(super) fn pairs(&self) -> Vec<(&str, f64)> {
        self.0.iter().map(|(stage, seconds)| (stage.as_str(), *seconds)).collect()
    }
}

/// Receives every step of a method.
pub(super) struct Watch {
    interrupted: Arc<AtomicBool>,
    seen: Mutex<Seen>,
}

struct Seen {
    progress: Progress,
    last_step: Instant,
    seconds: Seconds,
}

impl Watch {
    /// Watches from now on; Ctrl-C asks for a checkpoint, a second one ends the program at once.
    pub(super) fn new(quiet: bool) -> anyhow::Result<Self> {
        let interrupted = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&interrupted);
        ctrlc::set_handler(move || {
            if flag.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        })?;
        let (progress, last_step) = (Progress::new(quiet), Instant::now());
        let seen = Mutex::new(Seen { progress, last_step, seconds: Seconds::default() });
        Ok(Self { interrupted, seen })
    }

    /// Whether to go on after a step that is not shown.
    pub(super) fn goes_on(&self) -> ControlFlow<()> {
        if self.interrupted.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Shows a step; what lies between two steps belongs to the stage of the second.
    pub(super) fn step(&self, step: &Step) -> ControlFlow<()> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.progress.step(step);
        let spent = std::mem::replace(&mut seen.last_step, Instant::now()).elapsed();
        seen.seconds.add(step.stage, spent.as_secs_f64());
        self.goes_on()
    }

    /// What lies between the last step and now belongs to `stage`.
    pub(super) fn lap(&self, stage: &str) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let spent = std::mem::replace(&mut seen.last_step, Instant::now()).elapsed();
        seen.seconds.add(stage, spent.as_secs_f64());
    }

    /// Clears the bar and hands over the seconds since the last time.
    pub(super) fn take_seconds(&self) -> Seconds {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.progress.finish();
        std::mem::take(&mut seen.seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_of_a_stage_add_up() {
        let mut seconds = Seconds::default();
        seconds.add("read", 1.0);
        seconds.add("pretrain", 2.0);
        seconds.add("read", 0.5);
        assert_eq!(seconds.pairs(), [("read", 1.5), ("pretrain", 2.0)]);
    }
}
