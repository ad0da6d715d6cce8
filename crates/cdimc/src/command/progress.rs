//! Progress on standard error: a bar on a terminal, a plain line now and then elsewhere.

use crate::core::Step;
use crate::note;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::HashSet;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Shows the stage, the epoch, the loss and the time left.
pub(crate) struct Progress {
    bar: ProgressBar,
    plain: bool,
    stage: &'static str,
    started: Instant,
    /// Steps of the stage that were done before it began, or began again.
    done_before: usize,
    last_step: Instant,
    last_line: Instant,
    /// The stages whose begin and whose end were told: some come again and again.
    told: HashSet<(&'static str, bool)>,
}

impl Progress {
    /// Progress that shows nothing if `quiet`.
    pub(crate) fn new(quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if terminal && !quiet {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            let style = "{prefix:>13} {wide_bar} {pos}/{len}  {msg}  {eta} left";
            bar.set_style(
                ProgressStyle::with_template(style)
                    .unwrap_or_else(|_| ProgressStyle::default_bar()),
            );
        }
        let now = Instant::now();
        let plain = !terminal && !quiet;
        Self {
            bar,
            plain,
            stage: "",
            started: now,
            done_before: 0,
            last_step: now,
            last_line: now,
            told: HashSet::new(),
        }
    }

    /// Records one step of a method.
    pub(crate) fn step(&mut self, step: &Step) {
        let stage = step.stage;
        let begins = stage != self.stage;
        if begins {
            self.stage = stage;
            // This step began when the one before it ended.
            self.started = self.last_step;
            self.done_before = step.done.saturating_sub(1);
            self.bar.reset();
            self.bar.set_prefix(stage);
            self.bar.set_length(step.of as u64);
        }
        self.bar.set_position(step.done as u64);
        self.bar.set_message(step.loss.map_or_else(String::new, |loss| format!("loss {loss:.4}")));
        let is_news = self.told.insert((stage, step.done == step.of));
        if is_news || self.last_line.elapsed() > Duration::from_secs(10) {
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
            let since = step.done.saturating_sub(self.done_before).max(1);
            let left = (step.of - step.done.min(step.of)) as f64 / since as f64
                * self.started.elapsed().as_secs_f64();
            let loss = step.loss.map_or_else(String::new, |loss| format!("  loss {loss:.4}"));
            note!("{} {}/{}{loss}  {left:.0} s left", self.stage, step.done, step.of);
            self.last_line = Instant::now();
        }
    }
}
