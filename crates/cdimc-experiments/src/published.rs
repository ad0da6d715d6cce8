//! The numbers the paper prints, for comparison with ours.

use serde::Deserialize;
use std::collections::BTreeMap;

/// Table 2 of the paper.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Published {
    /// Where the numbers come from.
    pub source: String,
    rates: Vec<f64>,
    datasets: BTreeMap<String, DatasetTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DatasetTable {
    /// The kind of missing pattern.
    pattern: String,
    methods: BTreeMap<String, Row>,
}

/// Mean and, where printed, standard deviation for every rate; percent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    acc: Vec<Vec<f64>>,
    nmi: Vec<Vec<f64>>,
}

/// What the paper prints for a method on a data set under a pattern.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Entry {
    pub acc: Number,
    pub nmi: Number,
}

/// A published number, percent: `94.22 ± 1.07`, or `52.80` where no deviation is printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Number {
    pub mean: f64,
    pub deviation: Option<f64>,
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2}", self.mean)?;
        self.deviation.map_or(Ok(()), |deviation| write!(f, " ± {deviation:.2}"))
    }
}

impl Published {
    /// The table that comes with the workspace.
    pub(crate) fn table() -> anyhow::Result<Self> {
        Ok(toml::from_str(include_str!("../published.toml"))?)
    }

    /// What the paper prints for this data set, missing pattern and method.
    pub(crate) fn entry(&self, dataset: &str, pattern: &str, method: &str) -> Option<Entry> {
        let (kind, rate) = pattern.split_once(':')?;
        let table = self.datasets.get(dataset).filter(|table| table.pattern == kind)?;
        let rate: f64 = rate.parse().ok()?;
        let column = self.rates.iter().position(|&r| r == rate)?;
        let row = table.methods.get(method)?;
        Some(Entry { acc: number(row.acc.get(column)?)?, nmi: number(row.nmi.get(column)?)? })
    }
}

impl Published {
    /// Everything the paper prints: data set, pattern, method and numbers.
    pub(crate) fn entries(&self) -> Vec<(&str, String, &str, Entry)> {
        let mut entries = Vec::new();
        for (dataset, table) in &self.datasets {
            for method in table.methods.keys() {
                for rate in &self.rates {
                    let pattern = format!("{}:{rate}", table.pattern);
                    if let Some(entry) = self.entry(dataset, &pattern, method) {
                        entries.push((dataset.as_str(), pattern, method.as_str(), entry));
                    }
                }
            }
        }
        entries
    }
}

fn number(cell: &[f64]) -> Option<Number> {
    match *cell {
        [mean, deviation] => Some(Number { mean, deviation: Some(deviation) }),
        [mean] => Some(Number { mean, deviation: None }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_cell_has_four_rates_and_a_plausible_value() {
        let published = Published::table().unwrap();
        assert_eq!(published.datasets.values().map(|table| table.methods.len()).sum::<usize>(), 28);
        for row in published.datasets.values().flat_map(|table| table.methods.values()) {
            for cells in [&row.acc, &row.nmi] {
                assert_eq!(cells.len(), published.rates.len());
                assert!(
                    cells
                        .iter()
                        .all(|cell| number(cell).is_some() && (5.0..100.0).contains(&cell[0]))
                );
            }
        }
    }

    #[test]
    fn a_cell_is_found_by_data_set_pattern_and_method() {
        let published = Published::table().unwrap();
        let entry = published.entry("handwritten", "per-view:0.3", "cdimc-net").unwrap();
        assert_eq!(
            (entry.acc.to_string().as_str(), entry.nmi.to_string().as_str()),
            ("94.22 ± 1.07", "89.21 ± 1.11")
        );
        assert_eq!(
            published.entry("mnist4000", "paired:0.5", "pmvc-cgan").unwrap().acc.to_string(),
            "52.80"
        );
        assert!(published.entry("handwritten", "paired:0.3", "cdimc-net").is_none());
        assert!(published.entry("handwritten", "per-view:0.2", "cdimc-net").is_none());
    }
}
