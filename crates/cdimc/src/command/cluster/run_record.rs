//! `run.json`: everything needed to repeat a run.

use super::clinical::ClinicalInput;
use crate::analysis::CLUSTER_NUMBER;
use crate::cluster_number::{Candidate, ClusterNumber, NumberRange, TRIALS};
use crate::command::input::Input;
use crate::core::CHECKPOINT;
use crate::mixture::Stability;
use crate::tables::datasets::sha256;
use crate::verdict::Verdict;
use crate::warnings::Warning;
use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Options, input and results of `cdimc cluster`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct RunRecord {
    pub(crate) command: String,
    pub(crate) version: String,
    pub(crate) status: Status,
    pub(crate) input: Input,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) clinical: Option<ClinicalInput>,
    pub(crate) files: Vec<FileRecord>,
    pub(crate) method: String,
    /// Every setting, defaults included.
    pub(crate) settings: serde_json::Value,
    /// Absent until it is chosen.
    pub(crate) n_clusters: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) k_range: Option<NumberRange>,
    /// Number of subsamples for the stability of the clusters, if it was given.
    pub(crate) n_subsamples: Option<usize>,
    /// Whether each picture of the report is also a separate file.
    #[serde(default)]
    pub(crate) figures: bool,
    /// Whether text that a spreadsheet would take for a formula is escaped.
    #[serde(default)]
    pub(crate) escape_formulas: bool,
    pub(crate) seed: u64,
    pub(crate) threads: usize,
    /// The numbers of clusters that were tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) trials: Vec<Candidate>,
    /// The chosen number of clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cluster_number: Option<ClusterNumber>,
    /// The last checkpoint of an unfinished fit with that number.
    #[serde(skip)]
    pub(crate) checkpoint: Option<Vec<u8>>,
    /// Parts of unfinished computations that follow the fit, as JSON.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) parts: BTreeMap<String, String>,
    pub(crate) n_samples: usize,
    pub(crate) unobserved: Vec<String>,
    /// Stability of the clusters in subsamples; null if it was not computed.
    pub(crate) stability: Option<Stability>,
    /// Warnings about the files: ids, codes for "not measured", rows that are not samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) data_warnings: Vec<String>,
    /// How far to trust the clusters, and doubts that are not among the warnings.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(crate) verdict: Option<Verdict>,
    /// Warnings that the clusters may be meaningless.
    #[serde(skip_deserializing)]
    pub(crate) warnings: Vec<Warning>,
    /// Findings of the fit about the data.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub(crate) facts: serde_json::Value,
    /// Comparison of the clusters with the clinical table.
    #[serde(flatten, skip_deserializing)]
    pub(crate) comparison: serde_json::Map<String, serde_json::Value>,
    pub(crate) seconds: Seconds,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Status {
    /// `--resume` can continue the run.
    #[default]
    Interrupted,
    Finished,
}

/// Seconds by stage, in order of first appearance; a resumed run adds to them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Seconds(Vec<(String, f64)>);

impl Seconds {
    pub(super) fn add(&mut self, stage: &str, seconds: f64) {
        match self.0.iter_mut().find(|(name, _)| name == stage) {
            Some((_, sum)) => *sum += seconds,
            None => self.0.push((stage.to_owned(), seconds)),
        }
    }

    pub(super) fn pairs(&self) -> Vec<(&str, f64)> {
        self.0.iter().map(|(stage, seconds)| (stage.as_str(), *seconds)).collect()
    }
}

/// An input file with its checksum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileRecord {
    pub(crate) path: String,
    /// `None` for a pipe or device, which cannot be read again.
    pub(crate) sha256: Option<String>,
}

impl RunRecord {
    /// Stores bytes of an analysis under their name, which [`get`](Self::get) returns.
    pub(crate) fn put(&mut self, name: &str, bytes: Vec<u8>) {
        match name {
            CHECKPOINT => self.checkpoint = Some(bytes),
            TRIALS => self.trials = serde_json::from_slice(&bytes).unwrap_or_default(),
            CLUSTER_NUMBER => self.cluster_number = serde_json::from_slice(&bytes).ok(),
            part => {
                self.parts.insert(part.to_owned(), String::from_utf8_lossy(&bytes).into_owned());
            }
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<Vec<u8>> {
        match name {
            CHECKPOINT => self.checkpoint.clone(),
            TRIALS => serde_json::to_vec(&self.trials).ok(),
            CLUSTER_NUMBER => serde_json::to_vec(self.cluster_number.as_ref()?).ok(),
            part => self.parts.get(part).map(|part| part.clone().into_bytes()),
        }
    }

    pub(crate) fn load(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("{shown}: there is no interrupted run: begin it again"))?;
        serde_json::from_str(&text)
            .with_context(|| format!("{shown}: not a record of a cluster run"))
    }

    /// Returns the input files as they are now.
    pub(crate) fn read_files(&self) -> anyhow::Result<Vec<FileRecord>> {
        let record = |path: PathBuf| {
            let shown = path.display();
            let checksum = || -> io::Result<Option<String>> {
                // A pipe that is opened a second time would wait for bytes that are gone.
                let is_file = std::fs::metadata(&path)?.is_file();
                is_file.then(|| sha256(File::open(&path)?)).transpose()
            };
            let sha256 = checksum().with_context(|| format!("{shown}: cannot read"))?;
            Ok(FileRecord { path: shown.to_string(), sha256 })
        };
        let clinical = self.clinical.as_ref().map(|clinical| clinical.file.clone());
        self.input.files().into_iter().chain(clinical).map(record).collect()
    }

    /// Returns the progress of the run in one line, and the point at which `--resume` begins.
    pub(crate) fn left(&self) -> String {
        let (done, method) = (self.trials.len(), &self.method);
        match (&self.checkpoint, self.n_clusters, self.k_range) {
            (Some(_), Some(n_clusters), _) => {
                format!("there is a checkpoint of {method} with {n_clusters} clusters")
            }
            (_, None, Some(range)) => {
                // A test decides on one cluster, without a trial.
                let of = range.to + 1 - range.from.max(2);
                format!("{done} of {of} numbers of clusters are tried; the others are left")
            }
            _ => format!("there is no checkpoint of {method}: its fit starts again"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cluster_does_not_count_as_a_tried_number() {
        let k_range = Some(NumberRange { from: 1, to: 5, seeds: None });
        let record = RunRecord { k_range, ..RunRecord::default() };
        assert_eq!(record.left(), "0 of 4 numbers of clusters are tried; the others are left");
    }

    #[test]
    fn seconds_of_a_stage_add_up() {
        let mut seconds = Seconds::default();
        seconds.add("read", 1.0);
        seconds.add("pretrain", 2.0);
        seconds.add("read", 0.5);
        assert_eq!(seconds.pairs(), [("read", 1.5), ("pretrain", 2.0)]);
    }
}
