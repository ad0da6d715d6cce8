//! The numbers the paper prints, for comparison with ours.

use crate::table::Summary;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Table 2 of the paper.
pub(crate) struct Published {
    /// Where the numbers come from.
    pub source: String,
    pub entries: Vec<Entry>,
}

/// What the paper prints for a method on a data set under a pattern; percent.
pub(crate) struct Entry {
    pub dataset: String,
    pub pattern: String,
    pub method: String,
    pub acc: Summary,
    pub nmi: Summary,
}

/// The form of the file: for every method, mean and, where printed, standard deviation for every rate.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    source: String,
    rates: Vec<f64>,
    datasets: BTreeMap<String, DatasetTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DatasetTable {
    /// The kind of missing pattern.
    pattern: String,
    methods: BTreeMap<String, BTreeMap<String, Vec<Vec<f64>>>>,
}

impl Published {
    /// The table that comes with the workspace.
    pub(crate) fn table() -> anyhow::Result<Self> {
        let File { source, rates, datasets } = toml::from_str(include_str!("../published.toml"))?;
        let mut entries = Vec::new();
        for (dataset, DatasetTable { pattern, methods }) in &datasets {
            for (method, scores) in methods {
                for (i, rate) in rates.iter().enumerate() {
                    let number = |score: &str| Summary::printed(&scores[score][i]);
                    entries.push(Entry {
                        dataset: dataset.clone(),
                        pattern: format!("{pattern}:{rate}"),
                        method: method.clone(),
                        acc: number("acc"),
                        nmi: number("nmi"),
                    });
                }
            }
        }
        Ok(Self { source, entries })
    }

    /// What the paper prints for this data set, missing pattern and method.
    pub(crate) fn entry(&self, dataset: &str, pattern: &str, method: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| {
            (entry.dataset.as_str(), entry.pattern.as_str(), entry.method.as_str())
                == (dataset, pattern, method)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_row_has_four_rates_and_plausible_values() {
        let published = Published::table().unwrap();
        assert_eq!(published.entries.len(), 4 * 28);
        let is_plausible = |entry: &Entry| {
            [entry.acc, entry.nmi].iter().all(|number| (5.0..100.0).contains(&number.mean))
        };
        assert!(published.entries.iter().all(is_plausible));
    }
}
