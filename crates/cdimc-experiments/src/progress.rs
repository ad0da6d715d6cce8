//! Live progress on standard error: bars on a terminal, plain lines elsewhere.

use crate::cell::Cell;
use crate::execution::Progress;
use crate::record::{Record, Status};
use cdimc::note;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// A plain line for a running cell comes no more often than this.
const PLAIN_INTERVAL: Duration = Duration::from_secs(15);

/// Shows how far a run is. The bars of a display without a terminal are hidden and only measure the time that is left.
pub(crate) struct Display {
    terminal: bool,
    all: MultiProgress,
    overall: ProgressBar,
    lanes: Vec<ProgressBar>,
    last_line: Instant,
}

impl Display {
    /// Creates a display for `total` cells in `lanes` lanes.
    pub(crate) fn new(total: usize, lanes: usize, terminal: bool) -> Self {
        let target =
            if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let all = MultiProgress::with_draw_target(target);
        let bar = |length: usize, template: &str| {
            let style = ProgressStyle::with_template(template);
            let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
            all.add(ProgressBar::new(length as u64).with_style(style))
        };
        let overall = bar(total, "{bar:30} {pos}/{len} cells, {elapsed} so far{msg}");
        let lanes = (0..lanes).map(|_| bar(1, "{bar:30} {wide_msg}")).collect();
        Self { terminal, all, overall, lanes, last_line: Instant::now() }
    }

    pub(crate) fn started(&self, lane: usize, cell: &Cell) {
        self.lanes[lane].reset();
        self.lanes[lane].set_prefix("");
        self.lanes[lane].set_message(cell.title());
    }

    pub(crate) fn progress(&mut self, lane: usize, cell: &Cell, progress: &Progress) {
        let (bar, done) = (&self.lanes[lane], progress.epoch as u64);
        if bar.prefix() != progress.stage {
            bar.set_prefix(progress.stage.clone());
            bar.set_position(done);
            bar.reset_eta();
        }
        bar.set_length(progress.of as u64);
        bar.set_position(done);
        let mut parts = vec![progress.stage.clone()];
        if progress.of > 1 {
            parts.push(format!("{done}/{}", progress.of));
        }
        if let Some(loss) = progress.loss {
            parts.push(format!("loss {loss:.5}"));
        }
        let text = format!("{}: {}{}", cell.title(), parts.join(", "), left(bar));
        if !self.terminal && self.last_line.elapsed() >= PLAIN_INTERVAL {
            self.last_line = Instant::now();
            note!("{text}");
        }
        bar.set_message(text);
    }

    pub(crate) fn finished(&self, lane: usize, record: &Record) {
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
        self.overall.inc(1);
        self.lanes[lane].set_message("");
        let (done, total) = (self.overall.position(), self.overall.length().unwrap_or(0));
        let left = left(&self.overall);
        let line = format!("[{done}/{total}] {}: {result}", record.cell.title());
        if self.terminal {
            let _ = self.all.println(line);
            self.overall.set_message(left);
        } else {
            note!("{line}{left}");
        }
    }

    /// Clears the bars.
    pub(crate) fn end(&self) {
        self.lanes.iter().chain([&self.overall]).for_each(ProgressBar::finish_and_clear);
    }
}

/// The time that a bar needs to its end, for people.
fn left(bar: &ProgressBar) -> String {
    if bar.length().is_none_or(|length| bar.position() >= length) || bar.eta().is_zero() {
        return String::new();
    }
    match bar.eta().as_secs() {
        seconds @ 0..90 => format!(", {seconds} s left"),
        seconds @ 90..5400 => format!(", {} min left", seconds.div_ceil(60)),
        seconds => format!(", {:.1} h left", seconds as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    #[test]
    fn every_lane_has_a_bar_even_where_there_are_more_lanes_than_cells() {
        let display = Display::new(1, 2, true);
        let record = record(1, 0.5);
        display.started(1, &record.cell);
        display.finished(1, &record);
        display.end();
    }
}
