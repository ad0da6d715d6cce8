//! One cell of an experiment: data set x missing pattern x method x repetition, and how it is run.

use crate::record::{CellScores, Outcome, Seconds, Status};
use crate::source;
use anyhow::{Context, Result};
use cdimc_baselines::BestView;
use cdimc_cluster::{ClusterError, Clustering, Observer, Step};
use cdimc_data::{MultiView, Seed};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Everything a cell's result depends on, and the names under which a table shows it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Cell {
    pub experiment: String,
    pub dataset: String,
    /// SHA-256 of the data set's values and labels.
    pub checksum: String,
    pub n_clusters: usize,
    /// The missing pattern's text.
    pub pattern: String,
    /// Which of the authors' masks, where one is used; otherwise the mask is drawn.
    pub fold: Option<usize>,
    pub method: String,
    /// The row of the table.
    pub label: String,
    /// Settings from the command line, as `key=value`.
    pub overrides: Vec<String>,
    /// Every setting of the method, defaults included.
    pub settings: Value,
    pub repetition: usize,
    /// The root of all randomness.
    pub seed: u64,
}

impl Cell {
    /// SHA-256 over everything the result depends on; names of experiments and rows are left out.
    pub(crate) fn key(&self) -> String {
        let identity = serde_json::json!({
            "dataset": self.dataset, "checksum": self.checksum, "n_clusters": self.n_clusters,
            "pattern": self.pattern, "fold": self.fold, "method": self.method,
            "settings": self.settings, "repetition": self.repetition, "seed": self.seed,
        });
        // serde_json keeps objects sorted by key, so equal settings give equal text.
        hex(&Sha256::digest(identity.to_string()))
    }

    /// The seed of a drawn mask: the same for every method.
    pub(crate) fn mask_seed(&self) -> Seed {
        let seed = Seed::new(self.seed).stream("masks").stream(&self.dataset);
        seed.stream(&self.pattern).nth(self.repetition as u64)
    }

    /// The seed the method draws from: the same for every row of one method.
    fn method_seed(&self) -> Seed {
        let fold = self.fold.map_or(0, |fold| fold as u64 + 1);
        let seed = Seed::new(self.seed).stream("method").stream(&self.method);
        seed.stream(&self.dataset).stream(&self.pattern).nth(fold).nth(self.repetition as u64)
    }
}

/// How far a running cell is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Progress {
    pub stage: String,
    /// Epochs of the stage that are done.
    pub epoch: usize,
    /// Epochs of the stage.
    pub of: usize,
    pub loss: Option<f64>,
}

/// Loads the data, hides what the pattern hides, lets the method cluster and scores its labels.
///
/// # Errors
/// If the data are not those the cell was planned for. What goes wrong inside the method is an outcome.
pub(crate) fn run(cell: &Cell, report: &(dyn Fn(Progress) + Sync)) -> Result<Outcome> {
    let dataset = source::load(&cell.dataset)?;
    let size = (dataset.n_samples(), dataset.n_views());
    let mask = source::mask(&cell.dataset, size, &cell.pattern, cell.fold, cell.mask_seed())?;
    let (data, truth) = dataset.into_observed(mask)?;
    let truth =
        truth.with_context(|| format!("data set {}: no labels to score by", cell.dataset))?;

    let stages = Mutex::new(Stages::default());
    let watch = |step: &Step| {
        stages.lock().unwrap_or_else(PoisonError::into_inner).step(step);
        report(Progress {
            stage: step.stage.into(),
            epoch: step.done,
            of: step.of,
            loss: step.loss,
        });
        ControlFlow::Continue(())
    };
    let observer = Observer::new(&watch);
    let started = Instant::now();
    let found = match ByTruth::of(&cell.method) {
        Some(chosen) => chosen.run(cell, &data, &truth, &observer)?,
        None => cdimc::method(&cell.method, cell.settings.clone())?
            .fit(&data, cell.n_clusters, cell.method_seed(), &observer)
            .map(|fitted| (fitted.clustering, None)),
    };
    let (clustering, note) = match found {
        Ok(found) => found,
        Err(ClusterError::Inapplicable { reason, .. }) => {
            return Ok(Outcome::without_scores(Status::Skipped, reason));
        }
        Err(e) => return Ok(Outcome::without_scores(Status::Failed, e.to_string())),
    };
    let total = started.elapsed().as_secs_f64();
    let stages = stages.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Outcome {
        status: Status::Scored,
        reason: note,
        scores: Some(score(&truth, &clustering.labels)?),
        curves: clustering.curves,
        seconds: stages.seconds(total),
        peak_memory_bytes: peak_memory_bytes(),
    })
}

/// Labels with a note, or what kept the method from them.
type Found = std::result::Result<(Clustering, Option<String>), ClusterError>;

/// The seconds of every stage so far.
struct Stages {
    last_step: Instant,
    seconds: Vec<(&'static str, f64)>,
}

impl Default for Stages {
    fn default() -> Self {
        Self { last_step: Instant::now(), seconds: Vec::new() }
    }
}

impl Stages {
    /// What lies between two steps belongs to the stage of the second.
    fn step(&mut self, step: &Step) {
        let spent = std::mem::replace(&mut self.last_step, Instant::now()).elapsed().as_secs_f64();
        match self.seconds.last_mut() {
            Some((stage, seconds)) if *stage == step.stage => *seconds += spent,
            _ => self.seconds.push((step.stage, spent)),
        }
    }

    /// The columns of a record; what came after the last step belongs to its stage.
    fn seconds(self, total: f64) -> Seconds {
        let mut found = Seconds { total, ..Seconds::default() };
        let last = self.seconds.len().saturating_sub(1);
        for (i, (stage, seconds)) in self.seconds.into_iter().enumerate() {
            let after = if i == last { self.last_step.elapsed().as_secs_f64() } else { 0.0 };
            *match stage {
                "prepare" => &mut found.prepare,
                "pretrain" => &mut found.pretrain,
                "finetune" => &mut found.finetune,
                _ => &mut found.cluster,
            } += seconds + after;
        }
        found
    }
}

/// A method whose candidates the truth chooses from. No method may choose so; it shows what an oracle
/// would get. The one exception to everything being a [`Clusterer`](cdimc_cluster::Clusterer).
pub(crate) struct ByTruth {
    pub name: &'static str,
    /// The method whose settings it has.
    pub settings_of: &'static str,
    candidates: Candidates,
}

type Candidates = fn(
    &Cell,
    &MultiView,
    &Observer<'_>,
) -> Result<std::result::Result<Vec<Clustering>, ClusterError>>;

/// BSV: k-means on every view alone, and the view whose labels fit the truth best.
const BY_TRUTH: [ByTruth; 1] = [ByTruth {
    name: "bsv",
    settings_of: "best-view",
    candidates: |cell, data, observer| {
        let method: BestView = serde_json::from_value(cell.settings.clone())?;
        Ok(method.each_view(data, cell.n_clusters, cell.method_seed(), observer))
    },
}];

impl ByTruth {
    /// The entry of this name, if the truth chooses there.
    pub(crate) fn of(name: &str) -> Option<&'static Self> {
        BY_TRUTH.iter().find(|method| method.name == name)
    }

    fn run(
        &self,
        cell: &Cell,
        data: &MultiView,
        truth: &[usize],
        observer: &Observer<'_>,
    ) -> Result<Found> {
        let each = match (self.candidates)(cell, data, observer)? {
            Ok(each) => each,
            Err(e) => return Ok(Err(e)),
        };
        let mut best: Option<(f64, usize, Clustering)> = None;
        for (view, clustering) in each.into_iter().enumerate() {
            let acc = cdimc_metrics::accuracy(truth, &clustering.labels)?;
            if best.as_ref().is_none_or(|(highest, ..)| acc > *highest) {
                best = Some((acc, view, clustering));
            }
        }
        let (_, view, clustering) = best.context("no view")?;
        Ok(Ok((clustering, Some(format!("view {view}, chosen by the truth")))))
    }
}

fn score(truth: &[usize], labels: &[usize]) -> Result<CellScores> {
    use cdimc_metrics::NmiNormalizer::{Arithmetic, Geometric, Max, Min};
    let nmi = |normalizer| cdimc_metrics::nmi(truth, labels, normalizer);
    let pairs = cdimc_metrics::pairwise(truth, labels)?;
    Ok(CellScores {
        acc: cdimc_metrics::accuracy(truth, labels)?,
        nmi: nmi(Arithmetic)?,
        nmi_geometric: nmi(Geometric)?,
        nmi_max: nmi(Max)?,
        nmi_min: nmi(Min)?,
        ari: cdimc_metrics::ari(truth, labels)?,
        purity: cdimc_metrics::purity(truth, labels)?,
        precision: pairs.precision,
        recall: pairs.recall,
        f: pairs.f,
    })
}

/// The largest resident set of this process so far, where the system tells.
pub(crate) fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cell() -> Cell {
        Cell {
            experiment: "smoke".into(),
            dataset: "synthetic".into(),
            checksum: "c0ffee".into(),
            n_clusters: 4,
            pattern: "per-view:0.3".into(),
            fold: None,
            method: "concat".into(),
            label: "concat".into(),
            overrides: Vec::new(),
            settings: json!({"restarts": 20}),
            repetition: 0,
            seed: 0,
        }
    }

    #[test]
    fn the_key_follows_the_result_and_nothing_else() {
        let key = cell().key();
        assert_eq!(key.len(), 64);
        let renamed = Cell { experiment: "other".into(), label: "row".into(), ..cell() };
        assert_eq!(renamed.key(), key);
        let others = [
            Cell { settings: json!({"restarts": 1}), ..cell() },
            Cell { checksum: "decaf".into(), ..cell() },
            Cell { repetition: 1, ..cell() },
            Cell { fold: Some(0), ..cell() },
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
    }
}
