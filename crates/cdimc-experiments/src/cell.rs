//! One cell of an experiment: data set x missing pattern x method x repetition, and what names it.

use crate::methods::registered;
use crate::settings::agree;
use cdimc_data::Seed;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

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
}
