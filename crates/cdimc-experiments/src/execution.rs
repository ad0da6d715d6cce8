//! How a cell is run: the only place where a method and the truth meet.

use crate::cell::Cell;
use crate::methods::ByTruth;
use crate::record::{Outcome, Seconds, Status};
use crate::source;
use anyhow::{Context, Result};
use cdimc_core::{ClusterError, Clustering, Observer, Step};
use cdimc_data::{MaskReport, MultiView};
use cdimc_metrics::scores;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
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

/// Loads the data, hides what the pattern hides, lets the method cluster and scores its labels.
///
/// # Errors
/// If the data are not those the cell was planned for. What goes wrong inside the method is an outcome.
pub(crate) fn run(cell: &Cell, report: &(dyn Fn(Progress) + Sync)) -> Result<Outcome> {
    let dataset = source::load(&cell.dataset)?;
    let mask = source::mask(&dataset, &cell.pattern, cell.fold, cell.mask_seed())?;
    let missing_rates = MaskReport::new(&mask).missing_rates();
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
        Some(chosen) => choose(chosen, cell, (&data, &truth), &observer)?,
        None => cdimc::method(&cell.method, cell.settings.clone())?
            .fit(&data, cell.n_clusters, cell.method_seed(), &observer)
            .map(|fitted| (fitted.clustering, None)),
    };
    let total = started.elapsed().as_secs_f64();
    let seconds = stages.into_inner().unwrap_or_else(PoisonError::into_inner).seconds(total);
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

    /// The seconds of each; what came after the last step belongs to its stage.
    fn seconds(mut self, total: f64) -> Seconds {
        if let Some((_, seconds)) = self.seconds.last_mut() {
            *seconds += self.last_step.elapsed().as_secs_f64();
        }
        let mut stages = BTreeMap::new();
        for (stage, seconds) in self.seconds {
            *stages.entry(stage.to_owned()).or_default() += seconds;
        }
        Seconds { total, stages }
    }
}

/// The candidate whose labels fit the truth best.
fn choose(
    chosen: &ByTruth,
    cell: &Cell,
    (data, truth): (&MultiView, &[usize]),
    observer: &Observer<'_>,
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
