//! One JSON file for each finished cell: everything a table or figure is rendered from.

use crate::cell::Cell;
use anyhow::{Context, Result};
use cdimc_cluster::Curve;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;

/// What became of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// The method gave labels and they were scored.
    Scored,
    /// The method does not apply to such data.
    Skipped,
    /// The method failed or its process died.
    Failed,
}

/// How well labels agree with the truth; fractions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct CellScores {
    pub acc: f64,
    /// Normalised by the arithmetic mean of the entropies.
    pub nmi: f64,
    pub nmi_geometric: f64,
    pub nmi_max: f64,
    pub nmi_min: f64,
    pub ari: f64,
    pub purity: f64,
    /// Over pairs of samples, as the following two.
    pub precision: f64,
    pub recall: f64,
    pub f: f64,
}

/// Wall-clock seconds of the method, stage by stage; stages a method lacks are 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Seconds {
    /// Scaling, arrangement and graphs.
    pub prepare: f64,
    pub pretrain: f64,
    /// k-means on the latents, or the whole method where it has no stages.
    pub cluster: f64,
    pub finetune: f64,
    pub total: f64,
}

/// What a worker found out about a cell.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub status: Status,
    /// Why a cell was skipped or failed; for `bsv`, the view the truth chose.
    pub reason: Option<String>,
    pub scores: Option<CellScores>,
    pub curves: Vec<Curve>,
    pub seconds: Seconds,
    /// Largest resident set of the worker's process, data set included.
    pub peak_memory_bytes: Option<u64>,
}

impl Outcome {
    /// A cell without scores.
    pub(crate) fn without_scores(status: Status, reason: impl Into<String>) -> Self {
        Self {
            status,
            reason: Some(reason.into()),
            scores: None,
            curves: Vec::new(),
            seconds: Seconds::default(),
            peak_memory_bytes: None,
        }
    }
}

/// Where and with what a cell ran.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Circumstances {
    pub threads: usize,
    /// Other cells that ran at the same time at most, this one included.
    pub jobs: usize,
    pub revision: String,
    pub host: String,
    pub cpu: String,
    /// Seconds since 1970 at the end of the cell.
    pub finished: u64,
}

/// A finished cell.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub key: String,
    #[serde(flatten)]
    pub cell: Cell,
    #[serde(flatten)]
    pub outcome: Outcome,
    #[serde(flatten)]
    pub circumstances: Circumstances,
}

impl Record {
    /// The file's name within the experiment's folder.
    pub(crate) fn file_name(cell: &Cell) -> String {
        let plain = |text: &str| -> String {
            let keep =
                |c: char| if c.is_ascii_alphanumeric() || ".-=".contains(c) { c } else { '-' };
            text.chars().map(keep).collect()
        };
        let fold = cell.fold.map_or_else(String::new, |fold| format!("_fold{fold}"));
        let (dataset, pattern, label) = (&cell.dataset, plain(&cell.pattern), plain(&cell.label));
        let key = &cell.key()[..16];
        format!("{dataset}_{pattern}{fold}_{label}_{}_{key}.json", cell.repetition)
    }

    /// Writes the record whole or not at all.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        let text = serde_json::to_vec_pretty(self)?;
        write_whole(&folder.join(Self::file_name(&self.cell)), &text)
    }

    /// The record of `cell`, if there is a readable one.
    pub(crate) fn find(folder: &Path, cell: &Cell) -> Option<Self> {
        let text = std::fs::read(folder.join(Self::file_name(cell))).ok()?;
        let record: Self = serde_json::from_slice(&text).ok()?;
        (record.key == cell.key()).then_some(record)
    }

    /// All readable records of a folder, in the order of their names.
    pub(crate) fn read_all(folder: &Path) -> Result<Vec<Self>> {
        let mut paths = Vec::new();
        let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                paths.push(path);
            }
        }
        paths.sort();
        let read =
            |path: &std::path::PathBuf| serde_json::from_slice(&std::fs::read(path).ok()?).ok();
        Ok(paths.iter().filter_map(read).collect())
    }
}

/// Writes a file through a temporary one beside it, so that no reader ever sees half of it.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|e| e.error)?;
        Ok(())
    };
    write().with_context(|| path.display().to_string())
}
