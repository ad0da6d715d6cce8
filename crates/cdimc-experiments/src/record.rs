//! Record of a finished cell, the source of all tables and figures.

use crate::cell::Cell;
use cdimc_core::Curve;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// The version of the records' form.
pub(crate) const FORMAT: u64 = 2;

/// What became of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// The method gave labels and they were scored.
    Scored,
    /// The method does not apply to such data.
    Skipped,
    /// The method found nothing usable, as it will whenever the cell is run: its numbers became infinite, or all
    /// samples are in one cluster.
    Unusable,
    /// The method failed or its process died.
    #[default]
    Failed,
}

/// Wall-clock seconds of the method.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Seconds {
    pub total: f64,
    /// Of its stages, by the names it gives them.
    #[serde(flatten)]
    pub stages: BTreeMap<String, f64>,
}

/// What a worker found out about a cell.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub status: Status,
    /// Why a cell has no scores; for `bsv`, the view the truth chose.
    pub reason: Option<String>,
    /// The scores by their names, fractions; older records lack those that came later.
    pub scores: Option<BTreeMap<String, f64>>,
    /// The share of the samples that each view lacks.
    pub missing_rates: Vec<f64>,
    pub curves: Vec<Curve>,
    pub seconds: Seconds,
    /// Largest resident set of the worker's process, data set included.
    pub peak_memory_bytes: Option<u64>,
}

impl Outcome {
    pub(crate) fn without_scores(status: Status, reason: String) -> Self {
        Self { status, reason: Some(reason), ..Self::default() }
    }

    pub(crate) fn curve(&self, name: &str) -> Option<&[f64]> {
        let curve = self.curves.iter().find(|curve| curve.name == name)?;
        Some(&curve.values)
    }

    pub(crate) fn score(&self, name: &str) -> Option<f64> {
        self.scores.as_ref()?.get(name).copied()
    }
}

/// Where and with what a cell ran.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Circumstances {
    pub threads: usize,
    /// Other cells that ran at the same time at most, this one included.
    pub jobs: usize,
    pub revision: String,
    pub cpu: String,
    /// The operating system and the processor's family.
    pub system: String,
    /// Seconds since 1970 at the end of the cell.
    pub finished: u64,
}

impl Circumstances {
    /// Returns the circumstances of this process, which runs `jobs` cells at a time with `threads` threads each.
    pub(crate) fn here(threads: usize, jobs: usize) -> Self {
        let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
        Self {
            threads,
            jobs,
            revision: crate::workspace::revision().unwrap_or_else(|| "unknown".into()),
            cpu: cpu.trim_start_matches([' ', '\t', ':']).trim().to_owned(),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            finished: 0,
        }
    }

    /// The same for a cell that ends now.
    pub(crate) fn now(&self) -> Self {
        let finished = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs());
        Self { finished, ..self.clone() }
    }
}

/// A finished cell.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub format: u64,
    pub key: String,
    #[serde(flatten)]
    pub cell: Cell,
    #[serde(flatten)]
    pub outcome: Outcome,
    #[serde(flatten)]
    pub circumstances: Circumstances,
}

impl Record {
    pub(crate) fn new(cell: Cell, mut outcome: Outcome, circumstances: Circumstances) -> Self {
        // Curves are drawn and not calculated with: six digits are enough, and a third of the file.
        for curve in &mut outcome.curves {
            let finite = curve.values.iter().take_while(|value| value.is_finite());
            curve.values = finite.filter_map(|value| format!("{value:.5e}").parse().ok()).collect();
        }
        Self { format: FORMAT, key: cell.key(), cell, outcome, circumstances }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A scored cell of its own seed.
    pub(crate) fn record(seed: u64, acc: f64) -> Record {
        let cell = Cell { seed, ..crate::cell::tests::cell() };
        let outcome = Outcome {
            status: Status::Scored,
            reason: None,
            scores: Some([("acc".to_owned(), acc), ("nmi".to_owned(), acc / 2.0)].into()),
            missing_rates: vec![0.3, 0.3],
            curves: vec![Curve { name: "loss".into(), values: vec![1.0 / 3.0, 2e-9 / 3.0] }],
            seconds: Seconds { total: 1.5, ..Seconds::default() },
            peak_memory_bytes: Some(1 << 20),
        };
        let circumstances = Circumstances {
            threads: 1,
            jobs: 2,
            revision: "c0ffee".into(),
            cpu: "abacus".into(),
            system: "linux x86_64".into(),
            finished: 1,
        };
        Record::new(cell, outcome, circumstances)
    }

    #[test]
    fn curves_keep_six_digits() {
        assert_eq!(record(0, 1.0).outcome.curves[0].values, [0.333_333, 6.666_67e-10]);
    }
}
