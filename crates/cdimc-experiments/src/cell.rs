//! One cell of an experiment: data set x missing pattern x method x repetition, what names it, and the record of its run,
//! the source of all tables and figures.

use crate::methods::{agree, registered};
use crate::workspace;
use cdimc_core::Curve;
use cdimc_data::Seed;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// The version of the records' form.
pub(crate) const FORMAT: u64 = 2;

/// Everything a cell's result depends on, and the names under which a table shows it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cell {
    pub experiment: String,
    pub dataset: String,
    /// SHA-256 of the data set's values and labels, whatever files they were read from.
    pub checksum: String,
    pub n_clusters: usize,
    /// The missing pattern's text.
    pub pattern: String,
    /// Which of the authors' masks, where one is used; otherwise the mask is drawn.
    pub fold: Option<usize>,
    /// Number of the drawn mask, if it differs from the repetition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mask: Option<usize>,
    /// The method's name in experiments.
    pub method: String,
    /// The row of the table.
    pub label: String,
    /// Its coordinates in the experiment's grid, by the keys of the settings.
    pub point: BTreeMap<String, Value>,
    /// Settings from the command line that differ from the row's own, as `key=value`.
    pub overrides: Vec<String>,
    /// Every setting of the method, defaults included.
    pub settings: Value,
    /// Those that differ from the defaults.
    pub changed: Value,
    pub repetition: usize,
    /// The root of all randomness.
    pub seed: u64,
}

impl Cell {
    /// SHA-256 over everything the result depends on; names of experiments and rows are left out, and of the
    /// settings those at their defaults, so that a new setting makes no old result void.
    pub(crate) fn key(&self) -> String {
        let mut identity = json!({
            "dataset": self.dataset, "checksum": self.checksum, "n_clusters": self.n_clusters,
            "pattern": self.pattern, "fold": self.fold, "method": self.method,
            "changed": self.changed, "repetition": self.repetition, "seed": self.seed,
        });
        if let Some(mask) = self.mask {
            identity["mask"] = mask.into();
        }
        // serde_json keeps objects sorted by key, so equal settings give equal text.
        format!("{:x}", Sha256::digest(identity.to_string()))
    }

    /// Whether another cell of the same row has the same data, method and settings.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.method == other.method
            && self.checksum == other.checksum
            && self.n_clusters == other.n_clusters
            && self.changed == other.changed
            && agree(&self.settings, &other.settings)
    }

    pub(crate) fn title(&self) -> String {
        let fold = self.fold.map_or_else(String::new, |fold| format!(" fold {fold}"));
        let Self { dataset, pattern, label, repetition, .. } = self;
        format!("{dataset} {pattern}{fold} {label} repetition {repetition}")
    }

    /// The seeds in words, with which `cdimc mask` draws the same mask and the method finds the same labels.
    pub(crate) fn seeds(&self) -> String {
        let [mask, method] = [self.mask_seed(), self.method_seed()].map(|seed| json!(seed));
        let drawn = self.fold.map_or_else(|| format!("mask seed {mask}, "), |_| String::new());
        format!("{drawn}method seed {method}")
    }

    /// The seed of a drawn mask: the same for every method.
    pub(crate) fn mask_seed(&self) -> Seed {
        let seed = Seed::new(self.seed).stream("masks").stream(&self.dataset);
        seed.stream(&self.pattern).nth(self.mask.unwrap_or(self.repetition) as u64)
    }

    /// The seed the method draws from: the same for every row of one method, and for both CDIMC-nets.
    pub(crate) fn method_seed(&self) -> Seed {
        let fold = self.fold.map_or(0, |fold| fold as u64 + 1);
        let seed = Seed::new(self.seed).stream("method").stream(registered(&self.method));
        seed.stream(&self.dataset).stream(&self.pattern).nth(fold).nth(self.repetition as u64)
    }
}

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
            revision: workspace::revision().unwrap_or_else(|| "unknown".into()),
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

    pub(crate) fn cell() -> Cell {
        Cell {
            experiment: "smoke".into(),
            dataset: "synthetic".into(),
            checksum: "c0ffee".into(),
            n_clusters: 4,
            pattern: "per-view:0.3".into(),
            method: "concat".into(),
            label: "concat".into(),
            settings: json!({"restarts": 20}),
            changed: json!({}),
            ..Cell::default()
        }
    }

    #[test]
    fn the_key_follows_the_result_and_nothing_else() {
        let key = cell().key();
        assert_eq!(key.len(), 64);
        let renamed = Cell { experiment: "other".into(), label: "row".into(), ..cell() };
        assert_eq!(renamed.key(), key);
        let learned = Cell { settings: json!({"restarts": 20, "components": null}), ..cell() };
        assert_eq!(learned.key(), key);
        let others = [
            Cell { changed: json!({"restarts": 1}), ..cell() },
            Cell { checksum: "decaf".into(), ..cell() },
            Cell { repetition: 1, ..cell() },
            Cell { fold: Some(0), ..cell() },
            Cell { mask: Some(3), ..cell() },
            Cell { seed: 1, ..cell() },
        ];
        assert!(others.iter().all(|other| other.key() != key));
    }

    #[test]
    fn all_methods_share_the_mask_and_no_two_the_method_seed() {
        let other = Cell { method: "mic".into(), ..cell() };
        assert_eq!(other.mask_seed(), cell().mask_seed());
        assert_ne!(other.method_seed(), cell().method_seed());
        let second = Cell { repetition: 1, ..cell() };
        assert_ne!(second.mask_seed(), cell().mask_seed());
        assert_ne!(second.method_seed(), cell().method_seed());
        let same_mask = Cell { mask: Some(0), ..second };
        assert_eq!(same_mask.mask_seed(), cell().mask_seed());
        assert_ne!(same_mask.method_seed(), cell().method_seed());
    }

    #[test]
    fn the_seeds_in_words_are_those_of_the_run_and_a_given_mask_has_none() {
        let words = cell().seeds();
        let numbers: Vec<u64> =
            words.split(' ').filter_map(|word| word.trim_end_matches(',').parse().ok()).collect();
        assert_eq!(
            numbers.iter().map(|&number| Seed::new(number)).collect::<Vec<_>>(),
            [cell().mask_seed(), cell().method_seed()]
        );
        let given = Cell { fold: Some(0), ..cell() };
        assert!(given.seeds().starts_with("method seed "), "{}", given.seeds());
    }

    /// A scored cell of its own seed.
    pub(crate) fn record(seed: u64, acc: f64) -> Record {
        let cell = Cell { seed, ..cell() };
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
