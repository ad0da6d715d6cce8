//! How a cell is run, with checkpoints: the only place where a method and the truth meet.

use crate::cell::{Cell, Outcome, Seconds, Status};
use crate::methods::{BSV, registered};
use crate::{datasets, workspace};
use anyhow::{Context, Result, ensure};
use cdimc_baselines::BestView;
use cdimc_core::{
    CHECKPOINT, ClusterError, Clusterer, Clustering, Fitted, Observer, Step, archive,
};
use cdimc_data::{MaskReport, MultiView, write_whole};
use cdimc_metrics::scores;
use serde::{Deserialize, Serialize};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The folder of checkpoints in the folder of an experiment.
const FOLDER: &str = "checkpoints";
/// The name of the note in a checkpoint of a cell: the program that wrote it, and what the cell cost.
const NOTE: &str = "cell";

/// Loads the data, applies the missing pattern, runs the method and scores its labels. Resumes from the checkpoint if
/// there is one.
///
/// # Errors
/// If the data are not those the cell was planned for. What goes wrong inside the method is an outcome.
pub(crate) fn run(
    cell: &Cell,
    checkpoints: &Checkpoints,
    report: &(dyn Fn(String) + Sync),
) -> Result<Outcome> {
    let dataset = datasets::load(&cell.dataset)?;
    let checksum = datasets::checksum(&dataset);
    ensure!(
        checksum == cell.checksum,
        "data set {}: checksum = {checksum}: must be that of the plan, {}",
        cell.dataset,
        cell.checksum
    );
    let mask = datasets::mask(&dataset, &cell.pattern, cell.fold, cell.mask_seed())?;
    let missing_rates = MaskReport::new(&mask).missing_rates();
    let (data, truth) = dataset.into_observed(mask)?;
    let truth =
        truth.with_context(|| format!("data set {}: no labels to score by", cell.dataset))?;

    let times = Mutex::new(Times::after(Spent::default()));
    let watch = Watch { key: cell.key(), checkpoints, report, times };
    let found = if cell.method == BSV {
        let method: BestView = serde_json::from_value(cell.settings.clone())?;
        let each = method.each_view(&data, cell.n_clusters, cell.method_seed(), &watch);
        each.map(|each| best_view(each, &truth))
    } else {
        let method = cdimc::method(registered(&cell.method), cell.settings.clone())?;
        let fitted = watch
            .resumed(method.as_ref(), &data)
            .unwrap_or_else(|| method.fit(&data, cell.n_clusters, cell.method_seed(), &watch));
        fitted.map(|fitted| Ok((fitted.clustering, None)))
    };
    let Spent { seconds, peak_memory_bytes } = watch.spent();
    let (clustering, note) = match found {
        Ok(found) => found?,
        Err(ClusterError::Inapplicable { reason, .. }) => {
            return Ok(Outcome::without_scores(Status::Skipped, reason));
        }
        Err(e @ (ClusterError::Diverged { .. } | ClusterError::Unusable { .. })) => {
            let outcome = Outcome::without_scores(Status::Unusable, e.to_string());
            return Ok(Outcome { missing_rates, seconds, ..outcome });
        }
        Err(e) => return Ok(Outcome::without_scores(Status::Failed, e.to_string())),
    };
    let scores = scores(&truth, &clustering.labels)?;
    Ok(Outcome {
        status: Status::Scored,
        reason: note,
        scores: Some(scores.iter().map(|(name, score)| (name.to_owned(), score)).collect()),
        missing_rates,
        curves: clustering.curves,
        seconds,
        peak_memory_bytes,
    })
}

/// The observer of a running cell: it reports the steps, times the stages and keeps checkpoints.
struct Watch<'a> {
    key: String,
    checkpoints: &'a Checkpoints,
    report: &'a (dyn Fn(String) + Sync),
    times: Mutex<Times>,
}

/// When a cell was last heard from, in which stage, and what it has spent until then.
struct Times {
    heard: Instant,
    last_checkpoint: Instant,
    stage: Option<&'static str>,
    spent: Spent,
}

impl Times {
    fn after(spent: Spent) -> Self {
        let now = Instant::now();
        Self { heard: now, last_checkpoint: now, stage: None, spent }
    }

    /// Adds the time since the cell was last heard from; it belongs to this stage, if there is one.
    fn add_up(&mut self, stage: Option<&'static str>) {
        let spent = std::mem::replace(&mut self.heard, Instant::now()).elapsed().as_secs_f64();
        let seconds = &mut self.spent.seconds;
        seconds.total += spent;
        if let Some(stage) = stage {
            *seconds.stages.entry(stage.to_owned()).or_default() += spent;
        }
        self.stage = stage;
    }
}

impl Watch<'_> {
    fn times(&self) -> MutexGuard<'_, Times> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resumes a method from its checkpoint; `None` if it has none.
    fn resumed(
        &self,
        method: &dyn Clusterer,
        data: &MultiView,
    ) -> Option<Result<Fitted, ClusterError>> {
        let (begun, earlier) = self.checkpoints.read(&self.key)?;
        *self.times() = Times::after(earlier);
        let resumed = method.resume(&begun, data, self);
        // It is none of this method: as if there were none.
        if matches!(resumed, Err(ClusterError::Model(_))) {
            *self.times() = Times::after(Spent::default());
            return None;
        }
        Some(resumed)
    }

    /// What was spent up to now; what came after the last step belongs to its stage.
    fn spent(&self) -> Spent {
        let mut times = self.times();
        let stage = times.stage;
        times.add_up(stage);
        let Spent { seconds, peak_memory_bytes } = times.spent.clone();
        Spent { seconds, peak_memory_bytes: workspace::peak_memory_bytes().max(peak_memory_bytes) }
    }
}

impl Observer for Watch<'_> {
    fn on_step(&self, step: &Step) -> ControlFlow<()> {
        self.times().add_up(Some(step.stage));
        let loss = step.loss.map_or_else(String::new, |loss| format!(", loss {loss:.5}"));
        (self.report)(format!("{} {}/{}{loss}", step.stage, step.done, step.of));
        ControlFlow::Continue(())
    }

    fn is_due(&self) -> bool {
        self.times().last_checkpoint.elapsed() >= self.checkpoints.every
    }

    fn store(&self, name: &str, bytes: Vec<u8>) {
        if name == CHECKPOINT {
            // Without it the cell loses more to a kill, and nothing else.
            let _ = self.checkpoints.write(&self.key, &bytes, self.spent());
            self.times().last_checkpoint = Instant::now();
        }
    }
}

/// The view whose labels fit the truth best, and a note that names it.
fn best_view(each: Vec<Clustering>, truth: &[usize]) -> Result<(Clustering, Option<String>)> {
    let mut best: Option<(f64, usize, Clustering)> = None;
    for (view, clustering) in each.into_iter().enumerate() {
        let acc = cdimc_metrics::accuracy(truth, &clustering.labels)?;
        if best.as_ref().is_none_or(|(highest, ..)| acc > *highest) {
            best = Some((acc, view, clustering));
        }
    }
    let (_, view, clustering) = best.context("no view")?;
    Ok((clustering, Some(format!("view {view}, chosen by the truth"))))
}

/// Where cells keep their checkpoints, by their keys, and how often.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Checkpoints {
    folder: PathBuf,
    pub every: Duration,
    /// The digest of the program that may resume them.
    program: String,
}

/// What a cell cost up to its checkpoint.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Spent {
    pub seconds: Seconds,
    pub peak_memory_bytes: Option<u64>,
}

impl Checkpoints {
    /// In the folder of an experiment, by the program of this digest.
    pub(crate) fn below(experiment: &Path, every: Duration, program: &str) -> Self {
        Self { folder: experiment.join(FOLDER), every, program: program.to_owned() }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.safetensors"))
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.path(key).is_file()
    }

    /// Reads the method's checkpoint and its costs so far; `None` if there is none that this program may resume.
    pub(crate) fn read(&self, key: &str) -> Option<(Vec<u8>, Spent)> {
        let bytes = fs::read(self.path(key)).ok()?;
        let note = archive::note(&bytes, NOTE).ok()??;
        let (program, spent): (String, Spent) = serde_json::from_str(&note).ok()?;
        (program == self.program).then_some((bytes, spent))
    }

    /// Puts a checkpoint of the method in place of that before it.
    pub(crate) fn write(&self, key: &str, state: &[u8], spent: Spent) -> Result<()> {
        let note = serde_json::to_string(&(&self.program, spent))?;
        let bytes = archive::with_note(state, NOTE, note)?;
        fs::create_dir_all(&self.folder)?;
        Ok(write_whole(&self.path(key), &bytes)?)
    }

    /// Removes the file with what killed processes left of it, and the folder after the last of them.
    pub(crate) fn remove(&self, key: &str) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(key) {
                // What stays costs room and nothing else.
                let _ = fs::remove_file(entry.path());
            }
        }
        let _ = fs::remove_dir(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::Archive;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// A checkpoint at every step.
    fn always(folder: &Path) -> Checkpoints {
        Checkpoints::below(folder, Duration::ZERO, "some")
    }

    /// A short training on the synthetic views.
    fn net() -> Cell {
        let settings = serde_json::json!({
            "batch-size": 32, "pretrain": { "epochs": 4 }, "advanced": { "minimum-rounds": 3 },
            "finetune": { "rounds": 3, "epochs-per-round": 1 },
        });
        let settings = crate::methods::configured(crate::methods::AUTHORS, settings).unwrap();
        let checksum = datasets::checksum(&datasets::load("synthetic").unwrap());
        Cell {
            method: crate::methods::AUTHORS.into(),
            settings,
            checksum,
            ..crate::cell::tests::cell()
        }
    }

    fn same(mut outcome: Outcome) -> String {
        (outcome.seconds, outcome.peak_memory_bytes) = (Seconds::default(), None);
        serde_json::to_string(&outcome).unwrap()
    }

    #[test]
    fn a_killed_cell_resumes_to_the_same_record() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (cell, checkpoints) = (net(), always(folder.path()));
        let whole = run(&cell, &always(other.path()), &|_| ()).unwrap();
        assert_eq!(whole.status, Status::Scored, "{:?}", whole.reason);
        for killed_at in ["pretrain 3/", "kmeans 1/", "finetune 2/"] {
            let killed = catch_unwind(AssertUnwindSafe(|| {
                run(&cell, &checkpoints, &|at| assert!(!at.starts_with(killed_at)))
            }));
            assert!(killed.is_err() && checkpoints.has(&cell.key()));
            let steps = Mutex::new(Vec::new());
            let report = |at: String| steps.lock().unwrap().push(at);
            let resumed = run(&cell, &checkpoints, &report).unwrap();
            // The interrupted step runs again, and no earlier step does.
            assert!(steps.into_inner().unwrap()[0].starts_with(killed_at));
            assert!(resumed.seconds.stages.contains_key("pretrain"));
            assert_eq!(same(resumed), same(whole.clone()));
            checkpoints.remove(&cell.key());
        }
    }

    #[test]
    fn data_other_than_planned_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = always(folder.path());
        let other = Cell { checksum: "c0ffee".into(), ..net() };
        let error = run(&other, &checkpoints, &|_| ()).unwrap_err().to_string();
        assert!(error.starts_with("data set synthetic: checksum = "), "{error}");
        assert!(error.ends_with("must be that of the plan, c0ffee"), "{error}");
    }

    #[test]
    fn a_checkpoint_of_something_else_is_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let (cell, checkpoints) = (net(), always(folder.path()));
        let whole = run(&cell, &checkpoints, &|_| ()).unwrap();
        assert!(checkpoints.has(&cell.key()));
        let other = Cell { seed: 1, fold: None, ..net() };
        let (state, spent) = checkpoints.read(&cell.key()).unwrap();
        checkpoints.write(&other.key(), &state, spent).unwrap();
        let afresh = run(&other, &checkpoints, &|_| ()).unwrap();
        assert_ne!(same(afresh), same(whole));
    }

    #[test]
    fn a_checkpoint_is_read_by_the_program_that_wrote_it_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let by = |program| Checkpoints::below(folder.path(), Duration::ZERO, program);
        let (ours, key) = (by("a"), "key");
        assert!(!ours.has(key) && ours.read(key).is_none());
        let bytes = Archive::new("some", &1).unwrap().to_bytes().unwrap();
        ours.write(key, &bytes, Spent { peak_memory_bytes: Some(7), ..Spent::default() }).unwrap();
        let (bytes, found) = ours.read(key).unwrap();
        assert_eq!(found.peak_memory_bytes, Some(7));
        assert_eq!(Archive::from_bytes("some", &bytes).unwrap().description::<u8>().unwrap(), 1);
        assert!(by("b").read(key).is_none());
        let path = ours.path(key);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert!(ours.read(key).is_none());
        fs::write(path.with_extension("safetensors.7.partial"), "half").unwrap();
        ours.remove(key);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
