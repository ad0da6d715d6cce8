//! Progress on standard error: a bar on a terminal, a plain line now and then elsewhere.

use cdimc::cluster::Step;
use cdimc::note;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Shows the stage, the epoch, the loss and the time left.
pub(crate) struct Progress {
    bar: ProgressBar,
    plain: bool,
    stage: &'static str,
    started: Instant,
    last_step: Instant,
    last_line: Instant,
}

impl Progress {
    /// Progress that says nothing if `quiet`.
    pub(crate) fn new(quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if terminal && !quiet {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            let style = "{prefix:>9} {wide_bar} {pos}/{len}  {msg}  {eta} left";
            bar.set_style(
                ProgressStyle::with_template(style)
                    .unwrap_or_else(|_| ProgressStyle::default_bar()),
            );
        }
        let now = Instant::now();
        let plain = !terminal && !quiet;
        Self { bar, plain, stage: "", started: now, last_step: now, last_line: now }
    }

    /// Takes note of one step of the training.
    pub(crate) fn step(&mut self, step: &Step) {
        let stage = step.stage.name();
        let begins = stage != self.stage;
        if begins {
            self.stage = stage;
            // The step that is told of began when the one before it ended.
            self.started = self.last_step;
            self.bar.reset();
            self.bar.set_prefix(stage);
            self.bar.set_length(step.of as u64);
        }
        self.bar.set_position(step.epoch as u64);
        self.bar.set_message(format!("loss {:.4}", step.loss));
        if begins || step.epoch == step.of || self.last_line.elapsed() > Duration::from_secs(10) {
            self.line(step);
        }
        self.last_step = Instant::now();
    }

    /// Clears the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&mut self, step: &Step) {
        if self.plain {
            let left = (step.of - step.epoch.min(step.of)) as f64 / step.epoch.max(1) as f64
                * self.started.elapsed().as_secs_f64();
            note!(
                "{} {}/{}  loss {:.4}  {left:.0} s left",
                self.stage,
                step.epoch,
                step.of,
                step.loss
            );
            self.last_line = Instant::now();
        }
    }
}
