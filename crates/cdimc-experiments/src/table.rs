//! Records in tables: which rows there are, and the mean and deviation of each; and the numbers that the paper prints.

use crate::cell::{Circumstances, Record, Status};
use crate::methods;
use cdimc_cluster::CdimcNet;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// The rows of one table: the same data set and missing pattern.
pub(crate) struct Table<'a> {
    pub dataset: &'a str,
    pub pattern: &'a str,
    pub rows: Vec<Row<'a>>,
}

/// All runs of one method with the same settings, at least one.
pub(crate) struct Row<'a> {
    pub label: String,
    pub records: Vec<&'a Record>,
}

/// Mean and standard deviation (n - 1) of some values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Summary {
    pub mean: f64,
    /// None of a single value.
    pub deviation: Option<f64>,
    pub n: usize,
    pub lowest: f64,
    pub highest: f64,
}

impl Summary {
    /// None of no values.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().collect();
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
        let deviation = (n > 1).then(|| (squares / (n as f64 - 1.0)).sqrt());
        let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (n > 0).then_some(Self { mean, deviation, n, lowest, highest })
    }

    /// As someone printed it: the mean, and the deviation if there is one.
    pub(crate) fn printed(numbers: &[f64]) -> Self {
        let (mean, deviation) = (numbers[0], numbers.get(1).copied());
        Self { mean, deviation, n: 1, lowest: mean, highest: mean }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}", self.mean)?;
        self.deviation.map_or(Ok(()), |deviation| write!(f, " ± {deviation:.2}"))
    }
}

pub(crate) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / 1_048_576.0
}

/// The value as text, a dash for none.
pub(crate) fn or_dash(value: Option<impl fmt::Display>) -> String {
    value.map_or_else(|| "–".into(), |value| value.to_string())
}

impl<'a> Row<'a> {
    pub(crate) fn method(&self) -> &'a str {
        methods::registered(&self.records[0].cell.method)
    }

    /// Whether the row is a method under its own name, without further settings: what the paper's tables show.
    pub(crate) fn is_plain(&self) -> bool {
        methods::registered(&self.label) == self.method()
    }

    pub(crate) fn point(&self) -> &'a BTreeMap<String, Value> {
        &self.records[0].cell.point
    }

    /// A score times 100 over the runs.
    pub(crate) fn percent(&self, score: &str) -> Option<Summary> {
        Summary::of(self.percents(score))
    }

    /// Scores times 100 as text.
    pub(crate) fn scores<const N: usize>(&self, names: [&str; N]) -> [String; N] {
        names.map(|score| or_dash(self.percent(score)))
    }

    /// A score times 100 of every run that has it.
    pub(crate) fn percents(&self, score: &str) -> Vec<f64> {
        let scores = self.records.iter().filter_map(|record| record.outcome.score(score));
        scores.map(|score| 100.0 * score).collect()
    }

    pub(crate) fn scored(&self) -> impl Iterator<Item = &'a Record> + Clone {
        self.records.iter().copied().filter(|record| record.outcome.scores.is_some())
    }

    /// How many runs have scores, of how many where not all have.
    pub(crate) fn runs(&self, all: usize) -> String {
        let scored = self.scored().count();
        if scored == all { scored.to_string() } else { format!("{scored} of {all}") }
    }
}

/// The tables of an experiment's records, rows in the paper's order of methods.
pub(crate) fn tables(records: &[Record]) -> Vec<Table<'_>> {
    let mut tables: Vec<Table> = Vec::new();
    for record in standing(records) {
        let cell = &record.cell;
        let at = tables.iter().position(|t| t.dataset == cell.dataset && t.pattern == cell.pattern);
        let at = at.unwrap_or_else(|| {
            tables.push(Table { dataset: &cell.dataset, pattern: &cell.pattern, rows: Vec::new() });
            tables.len() - 1
        });
        let label = if cell.overrides.is_empty() {
            cell.label.clone()
        } else {
            format!("{} ({})", cell.label, cell.overrides.join(" "))
        };
        let rows = &mut tables[at].rows;
        match rows.iter_mut().find(|row| row.label == label) {
            Some(row) => row.records.push(record),
            None => rows.push(Row { label, records: vec![record] }),
        }
    }
    for table in &mut tables {
        table.rows.sort_by_key(|row| rank(row.method()));
    }
    tables
}

/// The records that count: of each run of the experiment the newest, if its row still has these settings.
pub(crate) fn standing(records: &[Record]) -> Vec<&Record> {
    let mut rows: BTreeMap<_, BTreeMap<_, &Record>> = BTreeMap::new();
    for record in records {
        let c = &record.cell;
        let named = (&c.dataset, &c.pattern, &c.label, &c.overrides);
        let row = rows.entry(named).or_default();
        let kept = row.entry((c.fold, c.repetition, c.seed)).or_insert(record);
        if record.circumstances.finished > kept.circumstances.finished {
            *kept = record;
        }
    }
    let mut kept = Vec::new();
    for row in rows.values() {
        let Some(newest) = row.values().max_by_key(|r| r.circumstances.finished) else { continue };
        kept.extend(row.values().copied().filter(|record| newest.cell.is_like(&record.cell)));
    }
    kept
}

/// Why records of this status have no scores, by row and data set: the reason of the first run, and the number of
/// runs. Reasons of the others differ in the sample or the epoch they name.
pub(crate) fn reasons<'a>(
    records: &[&'a Record],
    status: Status,
) -> BTreeMap<(&'a str, &'a str), (&'a str, usize)> {
    let mut reasons = BTreeMap::new();
    for record in records.iter().filter(|record| record.outcome.status == status) {
        let reason = record.outcome.reason.as_deref().unwrap_or("no reason given");
        let row = (record.cell.label.as_str(), record.cell.dataset.as_str());
        reasons.entry(row).or_insert((reason, 0)).1 += 1;
    }
    reasons
}

/// Where and with what records were made, and how many of them.
pub(crate) fn places<'a>(records: impl Iterator<Item = &'a Record>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for Record { circumstances, .. } in records {
        let Circumstances { threads, jobs, revision, cpu, system, .. } = circumstances;
        let place =
            format!("{cpu}, {system}, revision {revision}, {threads} thread(s), {jobs} at a time");
        *counts.entry(place).or_default() += 1;
    }
    counts
}

/// Mean seconds, and mean MiB, of the runs.
pub(crate) fn costs<'a>(runs: impl Iterator<Item = &'a Record> + Clone) -> [Option<Summary>; 2] {
    let bytes = runs.clone().filter_map(|run| run.outcome.peak_memory_bytes);
    [Summary::of(runs.map(|run| run.outcome.seconds.total)), Summary::of(bytes.map(mebibytes))]
}

/// The paper's order of methods: BSV, the compared methods, what the paper does not have, CDIMC-net.
pub(crate) fn rank(method: &str) -> usize {
    let compared = cdimc_baselines::NAMES;
    match compared.iter().position(|&known| known == method) {
        Some(rank) => rank + 1,
        None if method == "bsv" => 0,
        None => compared.len() + 1 + usize::from(method == CdimcNet::NAME),
    }
}

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
    use crate::cell::tests::record;

    #[test]
    fn runs_of_settings_that_a_row_has_no_more_do_not_count() {
        let mut records = [record(1, 0.9), record(2, 0.7), record(1, 0.5)];
        records[2].cell.changed = serde_json::json!({"restarts": 50});
        records[2].circumstances.finished = 2;
        let seeds = |records: &[Record]| -> Vec<u64> {
            standing(records).into_iter().map(|record| record.cell.seed).collect()
        };
        assert_eq!(seeds(&records[..2]), [1, 2]);
        assert_eq!(seeds(&records), [1]);
        records[2].cell.changed = records[0].cell.changed.clone();
        records[2].cell.method = "mic".into();
        assert_eq!(seeds(&records), [1]);
    }

    #[test]
    fn a_table_is_a_data_set_under_a_pattern_and_a_row_what_ran_alike() {
        let mut records = [record(1, 0.9), record(2, 0.7), record(3, 0.5), record(4, 0.4)];
        records[2].cell.overrides = vec!["restarts=1".into()];
        records[3].cell.pattern = "per-view:0.5".into();
        let tables = tables(&records);
        assert_eq!(tables.len(), 2);
        let labels: Vec<&str> = tables[0].rows.iter().map(|row| row.label.as_str()).collect();
        assert_eq!(labels, ["concat", "concat (restarts=1)"]);
        let row = &tables[0].rows[0];
        assert_eq!(row.percent("acc").unwrap().to_string(), "80.00 ± 14.14");
        assert_eq!(row.percent("ari"), None);
        assert!(row.is_plain() && !tables[0].rows[1].is_plain());
    }

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
