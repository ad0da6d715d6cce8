//! How a cell is run: the only place where a method and the truth meet.

use crate::cell::Cell;
use crate::checkpoint::{Checkpoint, Keeper, Spent};
use crate::methods::ByTruth;
use crate::record::{Outcome, Seconds, Status};
use crate::source;
use anyhow::{Context, Result, ensure};
use cdimc_core::{ClusterError, Clustering, Observer, Step};
use cdimc_data::{MaskReport, MultiView};
use cdimc_metrics::scores;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

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

/// Loads the data, applies the missing pattern, runs the method and scores its labels. Resumes from the checkpoint if
/// there is one.
///
/// # Errors
/// If the data are not those the cell was planned for. What goes wrong inside the method is an outcome.
pub(crate) fn run(
    cell: &Cell,
    checkpoint: &Checkpoint,
    report: &(dyn Fn(Progress) + Sync),
) -> Result<Outcome> {
    let dataset = source::load(&cell.dataset)?;
    let checksum = source::checksum(&dataset);
    ensure!(
        checksum == cell.checksum,
        "data set {}: checksum = {checksum}: must be that of the plan, {}",
        cell.dataset,
        cell.checksum
    );
    let mask = source::mask(&dataset, &cell.pattern, cell.fold, cell.mask_seed())?;
    let missing_rates = MaskReport::new(&mask).missing_rates();
    let (data, truth) = dataset.into_observed(mask)?;
    let truth =
        truth.with_context(|| format!("data set {}: no labels to score by", cell.dataset))?;

    let stages = Mutex::new(Stages::default());
    let lock = || stages.lock().unwrap_or_else(PoisonError::into_inner);
    let watch = |step: &Step| {
        lock().step(step);
        report(Progress {
            stage: step.stage.into(),
            epoch: step.done,
            of: step.of,
            loss: step.loss,
        });
    };
    let spent = || lock().spent();
    let observer = Keeper::new(checkpoint, &watch, &spent);
    let found = match ByTruth::of(&cell.method) {
        Some(chosen) => choose(chosen, cell, (&data, &truth), &observer)?,
        None => {
            let method = cdimc::method(&cell.method, cell.settings.clone())?;
            let resumed = checkpoint.read().and_then(|(begun, earlier)| {
                *lock() = Stages::after(earlier);
                match method.resume(&begun, &data, &observer) {
                    // It is none of this method: as if there were none.
                    Err(ClusterError::Model(_)) => None,
                    resumed => Some(resumed),
                }
            });
            let fitted = resumed.unwrap_or_else(|| {
                *lock() = Stages::default();
                method.fit(&data, cell.n_clusters, cell.method_seed(), &observer)
            });
            fitted.map(|fitted| (fitted.clustering, None))
        }
    };
    let Spent { seconds, peak_memory_bytes } = spent();
    let (clustering, note) = match found {
        Ok(found) => found,
        Err(ClusterError::Inapplicable { reason, .. }) => {
            return Ok(Outcome::without_scores(Status::Skipped, reason));
        }
        Err(e @ (ClusterError::Diverged { .. } | ClusterError::Unusable { .. })) => {
            let outcome = Outcome::without_scores(Status::Unusable, e.to_string());
            return Ok(Outcome { missing_rates, seconds, ..outcome });
        }
        Err(e) => return Ok(Outcome::without_scores(Status::Failed, e.to_string())),
    };
    Ok(Outcome {
        status: Status::Scored,
        reason: note,
        scores: Some(
            scores(&truth, &clustering.labels)?
                .iter()
                .map(|(name, score)| (name.to_owned(), score))
                .collect(),
        ),
        missing_rates,
        curves: clustering.curves,
        seconds,
        peak_memory_bytes,
    })
}

/// Labels with a note, or what kept the method from them.
type Found = std::result::Result<(Clustering, Option<String>), ClusterError>;

/// The seconds of every stage so far, and what an earlier process spent.
struct Stages {
    started: Instant,
    last_step: Instant,
    last_stage: Option<&'static str>,
    earlier: Spent,
    stages: BTreeMap<String, f64>,
}

impl Default for Stages {
    fn default() -> Self {
        Self::after(Spent { seconds: Seconds::default(), peak_memory_bytes: None })
    }
}

impl Stages {
    fn after(earlier: Spent) -> Self {
        let (now, stages) = (Instant::now(), earlier.seconds.stages.clone());
        Self { started: now, last_step: now, last_stage: None, earlier, stages }
    }

    /// What lies between two steps belongs to the stage of the second.
    fn step(&mut self, step: &Step) {
        let spent = std::mem::replace(&mut self.last_step, Instant::now()).elapsed().as_secs_f64();
        *self.stages.entry(step.stage.to_owned()).or_default() += spent;
        self.last_stage = Some(step.stage);
    }

    /// What was spent up to now; what came after the last step belongs to its stage.
    fn spent(&self) -> Spent {
        let mut stages = self.stages.clone();
        if let Some(seconds) = self.last_stage.and_then(|stage| stages.get_mut(stage)) {
            *seconds += self.last_step.elapsed().as_secs_f64();
        }
        let total = self.earlier.seconds.total + self.started.elapsed().as_secs_f64();
        let peak_memory_bytes = peak_memory_bytes().max(self.earlier.peak_memory_bytes);
        Spent { seconds: Seconds { total, stages }, peak_memory_bytes }
    }
}

/// The candidate whose labels fit the truth best.
fn choose(
    chosen: &ByTruth,
    cell: &Cell,
    (data, truth): (&MultiView, &[usize]),
    observer: &dyn Observer,
) -> Result<Found> {
    let each = match (chosen.candidates)(cell, data, observer)? {
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

/// The largest resident set of this process so far, where the system reports it.
pub(crate) fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Seconds that all threads of this process have computed so far, where the system reports it.
pub(crate) fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the name, in hundredths: the user's and the system's.
    let fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let hundredths = fields.take(2).map(|field| field.parse::<f64>().ok());
    Some(hundredths.sum::<Option<f64>>()? / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::Keeping;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    /// A short training on the synthetic views.
    fn net() -> Cell {
        let settings = serde_json::json!({
            "batch-size": 32, "pretrain": { "epochs": 4 },
            "finetune": { "rounds": 3, "minimum-rounds": 3, "epochs-per-round": 1 },
        });
        let settings = crate::methods::configured(crate::methods::AUTHORS, settings).unwrap();
        let checksum = source::facts("synthetic").unwrap().checksum;
        Cell { method: "cdimc-net".into(), settings, checksum, ..crate::cell::tests::cell() }
    }

    fn same(mut outcome: Outcome) -> String {
        (outcome.seconds, outcome.peak_memory_bytes) = (Seconds::default(), None);
        serde_json::to_string(&outcome).unwrap()
    }

    #[test]
    fn a_killed_cell_resumes_to_the_same_record() {
        let folder = tempfile::tempdir().unwrap();
        let keeping = Keeping::below(folder.path(), Duration::ZERO, "some");
        let (cell, checkpoint) = (net(), keeping.of("key"));
        let whole = run(&cell, &keeping.of("whole"), &|_| ()).unwrap();
        assert_eq!(whole.status, Status::Scored, "{:?}", whole.reason);
        for killed_at in [("pretrain", 3), ("kmeans", 1), ("finetune", 2)] {
            let killed = catch_unwind(AssertUnwindSafe(|| {
                run(&cell, &checkpoint, &|at| assert!((at.stage.as_str(), at.epoch) != killed_at))
            }));
            assert!(killed.is_err() && checkpoint.is_there());
            let steps = Mutex::new(Vec::new());
            let report = |at: Progress| steps.lock().unwrap().push((at.stage, at.epoch));
            let resumed = run(&cell, &checkpoint, &report).unwrap();
            // The interrupted step runs again, and no earlier step does.
            assert_eq!(steps.into_inner().unwrap()[0], (killed_at.0.to_owned(), killed_at.1));
            assert!(resumed.seconds.stages.contains_key("pretrain"));
            assert_eq!(same(resumed), same(whole.clone()));
            checkpoint.remove();
        }
    }

    #[test]
    fn data_other_than_planned_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoint = Keeping::below(folder.path(), Duration::ZERO, "some").of("key");
        let other = Cell { checksum: "c0ffee".into(), ..net() };
        let error = run(&other, &checkpoint, &|_| ()).unwrap_err().to_string();
        assert!(error.starts_with("data set synthetic: checksum = "), "{error}");
        assert!(error.ends_with("must be that of the plan, c0ffee"), "{error}");
    }

    #[test]
    fn a_checkpoint_of_something_else_is_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoint = Keeping::below(folder.path(), Duration::ZERO, "some").of("key");
        let cell = net();
        let whole = run(&cell, &checkpoint, &|_| ()).unwrap();
        assert!(checkpoint.is_there());
        let other = Cell { seed: 1, fold: None, ..net() };
        let afresh = run(&other, &checkpoint, &|_| ()).unwrap();
        assert_ne!(same(afresh), same(whole));
    }
}
