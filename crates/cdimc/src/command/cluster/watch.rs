//! What a run does while its method works: show progress, take the time, listen for signals.

use crate::command::progress::Progress;
use crate::core::Step;
use serde::{Deserialize, Serialize};
use signal_hook::{consts, flag};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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
    /// The signal that asked to stop; 0 for none.
    signal: Arc<AtomicUsize>,
    /// Whether the next signal ends the program at once.
    stops: Arc<AtomicBool>,
    seen: Mutex<Seen>,
}

struct Seen {
    progress: Progress,
    last_step: Instant,
    seconds: Seconds,
}

impl Watch {
    /// Watches from now on; Ctrl-C, or whatever else ends a job, asks for a checkpoint, and a second time, or where the
    /// program may `wait` for a pipe, ends it at once.
    pub(super) fn new(quiet: bool, waits: bool) -> anyhow::Result<Self> {
        let (signal, stops) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(waits)));
        for number in signals() {
            flag::register_conditional_shutdown(number, 128 + number, Arc::clone(&stops))?;
            flag::register(number, Arc::clone(&stops))?;
            flag::register_usize(number, Arc::clone(&signal), number.unsigned_abs() as usize)?;
        }
        let (progress, last_step) = (Progress::new(quiet), Instant::now());
        let seen = Mutex::new(Seen { progress, last_step, seconds: Seconds::default() });
        Ok(Self { signal, stops, seen })
    }

    /// Has no pipe to wait for from now on.
    pub(super) fn waits_no_more(&self) {
        self.stops.store(false, Ordering::Relaxed);
    }

    /// Whether to go on after a step that is not shown.
    pub(super) fn control(&self) -> ControlFlow<()> {
        if self.signal() == 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// The number of the signal that asked to stop; 0 for none.
    pub(super) fn signal(&self) -> usize {
        self.signal.load(Ordering::Relaxed)
    }

    /// Shows a step; what lies between two steps belongs to the stage of the second.
    pub(super) fn step(&self, step: &Step) -> ControlFlow<()> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.progress.step(step);
        let spent = std::mem::replace(&mut seen.last_step, Instant::now()).elapsed();
        seen.seconds.add(step.stage, spent.as_secs_f64());
        self.control()
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

/// The signals that ask a job to end.
#[cfg(unix)]
fn signals() -> Vec<i32> {
    // A job under `nohup` is to outlive its terminal.
    let ignored = std::fs::read_to_string("/proc/self/status").ok().and_then(|status| {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    });
    let hangs_up = ignored.unwrap_or(0) >> (consts::SIGHUP - 1) & 1 == 0;
    let hangup = hangs_up.then_some(consts::SIGHUP);
    [consts::SIGINT, consts::SIGTERM].into_iter().chain(hangup).collect()
}

#[cfg(not(unix))]
fn signals() -> Vec<i32> {
    vec![consts::SIGINT, consts::SIGTERM]
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
