//! The terminal around a run: it shows progress, takes times, receives signals, and stores what `--resume` needs.

use super::run_record::{RunRecord, Seconds};
use crate::command::output::OutputFolder;
use crate::core::{Observer, Step};
use crate::note;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use signal_hook::{consts, flag};
use std::collections::HashSet;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// File of the checkpoint in the folder of an interrupted run.
pub(super) const CHECKPOINT_FILE: &str = "checkpoint.safetensors";

/// Shows a run on standard error: a bar on a terminal, a plain line now and then elsewhere.
pub(super) struct Terminal {
    quiet: bool,
    /// Number of the signal that requested a stop; 0 for none.
    signal: Arc<AtomicUsize>,
    /// Whether the next signal ends the program at once.
    stops: Arc<AtomicBool>,
    progress: Mutex<Progress>,
}

struct Progress {
    bar: ProgressBar,
    /// Whether lines are shown instead of a bar.
    plain: bool,
    stage: &'static str,
    left: TimeLeft,
    last_step: Instant,
    last_line: Instant,
    /// Stages that were shown; some stages occur several times.
    shown: HashSet<&'static str>,
    seconds: Seconds,
}

/// Estimates how much of a run is done and how long the rest takes.
struct TimeLeft {
    /// The expected stages in order, with their shares of the time.
    stages: Vec<(&'static str, f64)>,
    started: Instant,
    /// Share of the run that is done.
    done: f64,
    /// Time that was last shown.
    shown: Duration,
}

/// Share of a run that must be done before a time is shown.
const MIN_DONE: f64 = 0.05;
/// Length of the bar, in steps.
const BAR_STEPS: f64 = 1000.0;

impl TimeLeft {
    fn of(stages: Vec<(&'static str, f64)>) -> Self {
        Self { stages, started: Instant::now(), done: 0.0, shown: Duration::MAX }
    }

    /// Counts a step. A stage that is not expected stands for the whole run.
    fn step(&mut self, step: &Step) {
        let share = step.done as f64 / step.of.max(1) as f64;
        let done = match self.stages.iter().position(|(stage, _)| *stage == step.stage) {
            Some(place) => {
                let time = |stages: &[(&str, f64)]| stages.iter().map(|(_, t)| t).sum::<f64>();
                (time(&self.stages[..place]) + share * self.stages[place].1) / time(&self.stages)
            }
            None if self.stages.is_empty() => share,
            None => 0.0,
        };
        self.done = self.done.max(done);
    }

    /// Returns the time left, which never grows; none at the beginning of a run.
    fn time(&mut self, elapsed: Duration) -> Option<Duration> {
        if self.done >= MIN_DONE {
            self.shown = self.shown.min(elapsed.mul_f64((1.0 - self.done) / self.done));
        }
        (self.shown < Duration::MAX).then_some(self.shown)
    }
}

impl Terminal {
    /// Starts now. Ctrl-C, or another signal that ends a job, requests a checkpoint; the second one ends the program at once,
    /// and so does the first one while the program may `wait` for a pipe.
    pub(super) fn new(quiet: bool, waits: bool) -> anyhow::Result<Self> {
        let (signal, stops) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(waits)));
        for number in signals() {
            flag::register_conditional_shutdown(number, 128 + number, Arc::clone(&stops))?;
            flag::register(number, Arc::clone(&stops))?;
            flag::register_usize(number, Arc::clone(&signal), number.unsigned_abs() as usize)?;
        }
        let terminal = std::io::stderr().is_terminal();
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if terminal && !quiet {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.set_length(BAR_STEPS as u64);
            bar.set_style(ProgressStyle::with_template("{prefix:>13} {wide_bar} {msg}")?);
        }
        let (last_step, last_line) = (Instant::now(), Instant::now());
        let progress = Mutex::new(Progress {
            bar,
            plain: !terminal && !quiet,
            stage: "",
            left: TimeLeft::of(Vec::new()),
            last_step,
            last_line,
            shown: HashSet::new(),
            seconds: Seconds::default(),
        });
        Ok(Self { quiet, signal, stops, progress })
    }

    /// Sets the stages that will come, with their shares of the time.
    pub(super) fn expect(&self, stages: Vec<(&'static str, f64)>) {
        lock(&self.progress).left = TimeLeft::of(stages);
    }

    /// Ends the time in which the program may wait for a pipe.
    pub(super) fn waits_no_more(&self) {
        self.stops.store(false, Ordering::Relaxed);
    }

    pub(super) fn signal(&self) -> usize {
        self.signal.load(Ordering::Relaxed)
    }

    /// Returns whether to go on after a step that is not shown.
    fn control(&self) -> ControlFlow<()> {
        if self.signal() == 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// Shows a step; the time since the step before it counts for the stage of this one.
    pub(super) fn step(&self, step: &Step) -> ControlFlow<()> {
        let mut progress = lock(&self.progress);
        progress.show(step);
        progress.lap(step.stage);
        self.control()
    }

    /// Counts the time since the last step for `stage`.
    pub(super) fn lap(&self, stage: &str) {
        lock(&self.progress).lap(stage);
    }

    /// Clears the bar and returns the seconds since the last call.
    pub(super) fn take_seconds(&self) -> Seconds {
        let mut progress = lock(&self.progress);
        progress.bar.finish_and_clear();
        std::mem::take(&mut progress.seconds)
    }

    /// Shows a message, unless `--quiet` is on.
    pub(super) fn message(&self, text: &str) {
        if !self.quiet {
            note!("{text}");
        }
    }
}

impl Progress {
    fn lap(&mut self, stage: &str) {
        let spent = std::mem::replace(&mut self.last_step, Instant::now()).elapsed();
        self.seconds.add(stage, spent.as_secs_f64());
    }

    fn show(&mut self, step: &Step) {
        let stage = step.stage;
        if stage != self.stage {
            self.stage = stage;
            self.bar.set_prefix(stage);
            if self.left.stages.is_empty() {
                self.left = TimeLeft::of(Vec::new());
            }
        }
        self.left.step(step);
        self.bar.set_position((BAR_STEPS * self.left.done) as u64);
        let time = self.left.time(self.left.started.elapsed());
        let time = time.map(|time| format!("{} left", HumanDuration(time)));
        self.bar.set_message(time.unwrap_or_default());
        // A log gets a line for a new stage, and then one line per minute. A remaining time would mean nothing there.
        let is_new = self.shown.insert(stage);
        if self.plain && (is_new || self.last_line.elapsed() > Duration::from_secs(60)) {
            match step.done {
                0 => note!("{stage}"),
                done => note!("{stage}: step {done} of {}", step.of),
            }
            self.last_line = Instant::now();
        }
    }
}

/// The terminal as the observer of an analysis: it stores what `--resume` needs every now and then.
pub(super) struct TerminalHost<'a> {
    pub(super) terminal: &'a Terminal,
    pub(super) output: &'a OutputFolder,
    pub(super) every: Duration,
    /// Gets everything that is stored.
    pub(super) record: Mutex<RunRecord>,
    pub(super) last_saved: Mutex<Instant>,
}

impl Observer for TerminalHost<'_> {
    fn on_step(&self, step: &Step) -> ControlFlow<()> {
        self.terminal.step(step)
    }

    fn on_inner_step(&self, _: &Step) -> ControlFlow<()> {
        self.terminal.control()
    }

    fn stage_finished(&self, stage: &'static str) {
        self.terminal.lap(stage);
    }

    fn message(&self, text: &str) {
        self.terminal.message(text);
    }

    fn is_due(&self) -> bool {
        lock(&self.last_saved).elapsed() >= self.every
    }

    fn store(&self, name: &str, bytes: Vec<u8>) {
        let mut record = lock(&self.record);
        record.put(name, bytes);
        if self.is_due() {
            if let Err(error) = save(self.output, &mut record) {
                tracing::warn!("the run cannot be resumed from here: {error:#}");
            }
            *lock(&self.last_saved) = Instant::now();
        }
    }

    fn stored(&self, name: &str) -> Option<Vec<u8>> {
        lock(&self.record).get(name)
    }
}

/// Locks a value; a thread that panicked leaves it usable.
fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes what `--resume` needs.
pub(super) fn save(output: &OutputFolder, record: &mut RunRecord) -> anyhow::Result<()> {
    let chosen = record.cluster_number.as_ref().map(|number| number.chosen);
    record.n_clusters = record.n_clusters.or(chosen);
    let checkpoint = record.checkpoint.as_deref();
    output.keep(&*record, checkpoint.map(|bytes| (CHECKPOINT_FILE, bytes)))
}

/// Signals that request the end of a job.
#[cfg(unix)]
fn signals() -> Vec<i32> {
    // A job under `nohup` continues after its terminal closes.
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
    fn the_time_left_counts_all_stages_and_never_grows() {
        let mut left = TimeLeft::of(vec![("coordinates", 3.0), ("starts", 1.0)]);
        let mut time = |stage, done, elapsed| {
            left.step(&Step { stage, done, of: 10, loss: None });
            left.time(Duration::from_secs(elapsed)).map(|time| time.as_secs())
        };
        assert_eq!(time("coordinates", 0, 0), None);
        assert_eq!(time("coordinates", 5, 6), Some(10));
        // Slower than before, another stage, and a stage that begins again.
        assert_eq!(time("coordinates", 6, 100), Some(10));
        assert_eq!(time("finish", 0, 10), Some(10));
        assert_eq!(time("starts", 5, 14), Some(2));
        assert_eq!(time("coordinates", 0, 15), Some(2));
    }
}
