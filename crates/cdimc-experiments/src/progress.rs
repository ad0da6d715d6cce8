//! Live progress on standard error: bars on a terminal, plain lines elsewhere.

use crate::cell::Cell;
use crate::execution::Progress;
use crate::record::{Record, Status};
use cdimc::note;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::time::{Duration, Instant};

/// A plain line for a running cell comes no more often than this.
const PLAIN_INTERVAL: Duration = Duration::from_secs(15);

/// Shows how far a run is.
pub(crate) struct Display {
    started: Instant,
    total: usize,
    done: usize,
    lanes: Vec<Lane>,
    bars: Option<Bars>,
}

/// What one worker is at.
#[derive(Clone)]
struct Lane {
    stage: String,
    stage_started: Instant,
    /// Epochs of the stage that were done then.
    done_then: usize,
    last_line: Instant,
}

struct Bars {
    all: MultiProgress,
    overall: ProgressBar,
    lanes: Vec<ProgressBar>,
}

impl Lane {
    fn idle(now: Instant) -> Self {
        Self { stage: String::new(), stage_started: now, done_then: 0, last_line: now }
    }
}

impl Display {
    /// Creates a display for `total` cells in `lanes` lanes.
    pub(crate) fn new(total: usize, lanes: usize, terminal: bool) -> Self {
        let now = Instant::now();
        let lane = Lane::idle(now);
        let bars = (terminal && total > 0).then(|| Bars::new(total, lanes));
        Self { started: now, total, done: 0, lanes: vec![lane; lanes], bars }
    }

    pub(crate) fn started(&mut self, lane: usize, cell: &Cell) {
        let now = Instant::now();
        self.lanes[lane] = Lane::idle(now);
        if let Some(bars) = &self.bars {
            bars.lanes[lane].reset();
            bars.lanes[lane].set_message(cell.title());
        }
    }

    pub(crate) fn progress(&mut self, lane: usize, cell: &Cell, progress: &Progress) {
        let now = Instant::now();
        let state = &mut self.lanes[lane];
        if state.stage != progress.stage {
            state.stage.clone_from(&progress.stage);
            (state.stage_started, state.done_then) = (now, progress.epoch);
        }
        let spent = now - state.stage_started;
        let (since, to_come) = (
            progress.epoch.saturating_sub(state.done_then),
            progress.of.saturating_sub(progress.epoch),
        );
        let mut parts = vec![progress.stage.clone()];
        if progress.of > 1 {
            parts.push(format!("{}/{}", progress.epoch, progress.of));
        }
        if let Some(loss) = progress.loss {
            parts.push(format!("loss {loss:.5}"));
        }
        if since > 0 && to_come > 0 {
            let left = spent.mul_f64(to_come as f64 / since as f64);
            parts.push(format!("{} left", duration(left)));
        }
        let text = format!("{}: {}", cell.title(), parts.join(", "));
        if let Some(bars) = &self.bars {
            bars.lanes[lane].set_length(progress.of as u64);
            bars.lanes[lane].set_position(progress.epoch as u64);
            bars.lanes[lane].set_message(text);
        } else if now - state.last_line >= PLAIN_INTERVAL {
            state.last_line = now;
            note!("{text}");
        }
    }

    pub(crate) fn finished(&mut self, lane: usize, record: &Record) {
        self.done += 1;
        let outcome = &record.outcome;
        let (score, reason) = (
            |name| outcome.score(name).unwrap_or(f64::NAN),
            outcome.reason.as_deref().unwrap_or(""),
        );
        let result = match outcome.status {
            Status::Scored => {
                let (acc, nmi, seconds) = (score("acc"), score("nmi"), outcome.seconds.total);
                format!("ACC {acc:.4}, NMI {nmi:.4} in {seconds:.1} s")
            }
            Status::Failed => format!("failed: {reason}"),
            Status::Skipped => format!("skipped: {reason}"),
            Status::Unusable => format!("nothing usable: {reason}"),
        };
        let left =
            self.started.elapsed().mul_f64((self.total - self.done) as f64 / self.done as f64);
        let left = if self.done < self.total {
            format!("; {} left", duration(left))
        } else {
            String::new()
        };
        let line = format!("[{}/{}] {}: {result}", self.done, self.total, record.cell.title());
        if let Some(bars) = &self.bars {
            let _ = bars.all.println(line);
            bars.overall.set_position(self.done as u64);
            bars.overall.set_message(left);
            bars.lanes[lane].set_message("");
        } else {
            note!("{line}{left}");
        }
    }

    /// Clears the bars.
    pub(crate) fn end(&mut self) {
        if let Some(bars) = self.bars.take() {
            bars.lanes.iter().for_each(ProgressBar::finish_and_clear);
            bars.overall.finish_and_clear();
        }
    }
}

impl Bars {
    fn new(total: usize, lanes: usize) -> Self {
        let all = MultiProgress::new();
        let style = |template: &str| {
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
        };
        let overall = all.add(ProgressBar::new(total as u64));
        overall.set_style(style("{bar:30} {pos}/{len} cells, {elapsed} so far{msg}"));
        let lane = |_| all.add(ProgressBar::new(1).with_style(style("{bar:30} {wide_msg}")));
        let lanes = (0..lanes).map(lane).collect();
        Self { all, overall, lanes }
    }
}

/// Formats a duration for people.
fn duration(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..90 => format!("{seconds} s"),
        seconds @ 90..5400 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    #[test]
    fn every_lane_has_a_bar_even_where_there_are_more_lanes_than_cells() {
        let mut display = Display::new(1, 2, true);
        let record = record(1, 0.5);
        display.started(1, &record.cell);
        display.finished(1, &record);
        display.end();
    }
}
