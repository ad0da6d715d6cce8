//! Checkpoints: saves and resumes a training, with the same result bit for bit.

use super::contest::Reached;
use super::model::{put_weights, read_weights};
use super::prepared::Prepared;
use super::run::{BestRound, CURVES, Run, State, Trained};
use super::self_paced::Pace;
use crate::{CdimcNet, Finetuning, Training};
use cdimc_core::{ClusterError, Curve, Observer, ViewAnalysis, archive::Archive};
use cdimc_data::{MultiView, Seed};
use cdimc_nn::{NetworkInput, OptimizerState, Weights};
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::sync::Arc;

const KIND: &str = "cdimc checkpoint";

/// The part of a checkpoint that is not arrays.
#[derive(Serialize, Deserialize)]
struct Description {
    settings: Value,
    n_clusters: usize,
    n_views: usize,
    seed: Seed,
    /// Finished runs.
    ended: Vec<Reached>,
    /// Current run; `None` after the last.
    run: Option<RunDescription>,
    best: Option<BestDescription>,
    /// SHA-256 of the network's input.
    fingerprint: String,
}

/// Current run.
#[derive(Serialize, Deserialize)]
struct RunDescription {
    stage: String,
    /// Epochs of pre-training or rounds of fine-tuning done.
    epoch: usize,
    settled: bool,
    optimizer_steps: u64,
    optimizer_moments: usize,
    /// Number and shared information of the best round of fine-tuning so far.
    best_round: Option<(usize, f64)>,
}

/// Number of the run with the best result so far.
#[derive(Serialize, Deserialize)]
struct BestDescription {
    run: usize,
}

impl Training {
    /// Returns everything needed to resume the training, as the content of a safetensors file.
    ///
    /// # Errors
    /// If the engine cannot return its state.
    pub fn checkpoint(&self) -> Result<Vec<u8>, ClusterError> {
        let Prepared { settings, n_clusters, seed, input, .. } = &self.prepared;
        let optimizer = match &self.run {
            Some(run) if run.state != State::Clustering => run.trainer.optimizer_state()?,
            _ => OptimizerState { steps: 0, moments: Vec::new() },
        };
        let description = Description {
            settings: serde_json::to_value(settings).unwrap_or_default(),
            n_clusters: *n_clusters,
            n_views: input.views.len(),
            seed: *seed,
            ended: self.contest.ended.clone(),
            run: self.run.as_ref().map(|run| RunDescription::of(run, &optimizer)),
            best: self.best.as_ref().map(|&(run, _)| BestDescription { run }),
            fingerprint: fingerprint(input),
        };
        let mut archive = Archive::new(KIND, &description)?;
        // Each is freed as soon as it is in the archive.
        for (i, moment) in optimizer.moments.into_iter().enumerate() {
            put_weights(&mut archive, &format!("moment{i}."), &moment);
        }
        if let Some(run) = &self.run {
            put_run(&mut archive, run)?;
        }
        if let Some((_, trained)) = &self.best {
            put_weights(&mut archive, "best.", &trained.weights);
            put_weights(&mut archive, "best.pretrained.", &trained.pretrained);
            archive.put_matrix("best.centers", trained.centers.view());
            put_numbers(&mut archive, "best.labels", &trained.labels);
            put_curves(&mut archive, "best.", &trained.curves);
        }
        archive.to_bytes()
    }

    /// Returns the training that [`Training::checkpoint`] saved, on the same data and with the same `analysis`.
    ///
    /// # Errors
    /// If `checkpoint` is not a checkpoint, was truncated or changed, or belongs to other data, or `observer` stops the
    /// preparation of the data.
    pub fn resume(
        data: &MultiView,
        checkpoint: &[u8],
        analysis: Option<Arc<dyn ViewAnalysis>>,
        observer: &dyn Observer,
    ) -> Result<Self, ClusterError> {
        let archive = Archive::from_bytes(KIND, checkpoint)?;
        let found: Description = archive.description()?;
        let settings: CdimcNet = serde_json::from_value(found.settings)
            .map_err(|error| ClusterError::Model(format!("{KIND}: {error}")))?;
        let settings = CdimcNet { analysis, ..settings };
        let mut training = settings.start(data, found.n_clusters, found.seed, observer)?;
        let is_same = fingerprint(&training.prepared.input) == found.fingerprint;
        if !is_same || found.n_views != data.n_views() {
            let reason = "the checkpoint was made on other data: the same are needed";
            return Err(ClusterError::Model(reason.into()));
        }
        let Self { prepared, contest, run, best } = &mut training;
        let is_known = found.ended.iter().all(|run| contest.alphas.contains(&run.alpha))
            && found.ended.len() <= contest.n_runs();
        contest.ended = found.ended;
        *run = match (found.run, contest.next()) {
            (Some(found), Some(next)) if is_known => {
                Some(read_run(prepared, &archive, next, &found)?)
            }
            (None, None) if is_known => None,
            _ => return Err(archive.misfit()),
        };
        if let Some(BestDescription { run: number }) = found.best {
            let trained = Trained {
                weights: read_weights(&archive, "best.", found.n_views)?,
                pretrained: read_weights(&archive, "best.pretrained.", found.n_views)?,
                centers: archive.matrix("best.centers")?,
                labels: numbers(&archive, "best.labels")?,
                curves: read_curves(&archive, "best.")?,
            };
            let Trained { weights, pretrained, centers, labels, .. } = &trained;
            weights.check_decoders()?;
            let fits = number < contest.ended.len()
                && prepared.fits(weights, centers, labels)
                && prepared.fits(pretrained, centers, labels);
            if !fits {
                return Err(archive.misfit());
            }
            *best = Some((number, trained));
        }
        Ok(training)
    }
}

impl Prepared {
    /// Returns whether a network, centers and labels fit these data.
    fn fits(&self, weights: &Weights, centers: &Array2<f32>, labels: &[usize]) -> bool {
        let n_clusters = self.n_clusters;
        weights.latent() == n_clusters
            && weights.check_input(&self.input).is_ok()
            && centers.dim() == (n_clusters, n_clusters)
            && labels.len() == self.order.len()
            && labels.iter().all(|&label| label < n_clusters)
    }
}

impl RunDescription {
    fn of(run: &Run, optimizer: &OptimizerState) -> Self {
        let (epoch, settled) = match &run.state {
            State::Pretraining { epochs_done } => (*epochs_done, false),
            State::Clustering => (0, false),
            State::Finetuning(f) => (f.rounds_done, f.settled),
        };
        Self {
            stage: run.state.name().into(),
            epoch,
            settled,
            optimizer_steps: optimizer.steps,
            optimizer_moments: optimizer.moments.len(),
            best_round: run.best.as_ref().map(|best| (best.round, best.shared_information)),
        }
    }
}

/// Adds the arrays of the current run. The caller adds the optimizer's moments.
fn put_run(archive: &mut Archive, run: &Run) -> Result<(), ClusterError> {
    put_weights(archive, "", &run.trainer.weights()?);
    put_curves(archive, "", &run.curves);
    if let Some(pretrained) = &run.pretrained {
        put_weights(archive, "pretrained.", pretrained);
    }
    if let State::Finetuning(f) = &run.state {
        archive.put_matrix("centers", f.centers.view());
        put_numbers(archive, "labels", &f.labels);
        archive.put("selection", f.pace.selected.iter().map(|&r| u8::from(r)));
        // Archives hold finite numbers; an age is infinite before the first round.
        archive.put("ages", f.pace.ages.iter().map(|age| age.min(f64::MAX)));
    }
    if let Some(best) = &run.best {
        put_numbers(archive, "best-round.labels", &best.labels);
        if let Some(encoders) = &best.encoders {
            put_weights(archive, "best-round.", encoders);
        }
    }
    Ok(())
}

/// Returns the run that [`put_run`] added.
fn read_run(
    prepared: &Prepared,
    archive: &Archive,
    of: (f64, usize),
    found: &RunDescription,
) -> Result<Run, ClusterError> {
    let n_views = prepared.input.views.len();
    let weights = read_weights(archive, "", n_views)?;
    let age = |stored: f64| if stored == f64::MAX { f64::INFINITY } else { stored };
    let state = match found.stage.as_str() {
        "pretrain" => State::Pretraining { epochs_done: found.epoch },
        "kmeans" => State::Clustering,
        "finetune" => State::Finetuning(Finetuning {
            centers: archive.matrix("centers")?,
            labels: numbers(archive, "labels")?,
            pace: Pace {
                ages: archive.list("ages")?.into_iter().map(age).collect(),
                selected: archive.list::<u8>("selection")?.into_iter().map(|r| r != 0).collect(),
            },
            rounds_done: found.epoch,
            settled: found.settled,
        }),
        _ => return Err(archive.misfit()),
    };
    let mut run = Run::in_state(prepared, of, weights, state)?;
    if let State::Finetuning(Finetuning { centers, labels, pace, .. }) = &run.state {
        let pretrained = read_weights(archive, "pretrained.", n_views)?;
        let fits = prepared.fits(&pretrained, centers, labels)
            && pace.selected.len() == labels.len()
            && pace.ages.len() == prepared.n_clusters;
        if !fits {
            return Err(archive.misfit());
        }
        if let Some((round, shared_information)) = found.best_round {
            let labels = numbers(archive, "best-round.labels")?;
            let encoders = match round {
                0 => None,
                _ => Some(read_weights(archive, "best-round.", n_views)?),
            };
            if !prepared.fits(encoders.as_ref().unwrap_or(&pretrained), centers, &labels) {
                return Err(archive.misfit());
            }
            run.best = Some(BestRound { round, shared_information, encoders, labels });
        }
        run.pretrained = Some(pretrained);
    }
    if run.state != State::Clustering {
        let moment = |i| read_weights(archive, &format!("moment{i}."), n_views);
        let moments = (0..found.optimizer_moments).map(moment).collect::<Result<_, _>>()?;
        let state = OptimizerState { steps: found.optimizer_steps, moments };
        run.trainer.restore_optimizer(&state)?;
    }
    run.curves = read_curves(archive, "")?;
    Ok(run)
}

fn put_curves(archive: &mut Archive, prefix: &str, curves: &[Curve]) {
    for Curve { name, values } in curves {
        archive.put(format!("{prefix}{name}"), values.iter().copied());
    }
}

fn read_curves(archive: &Archive, prefix: &str) -> Result<Vec<Curve>, ClusterError> {
    let stored = CURVES.into_iter().filter(|name| archive.has(&format!("{prefix}{name}")));
    let read = |name: &str| {
        let values = archive.list(&format!("{prefix}{name}"))?;
        Ok(Curve { name: name.into(), values })
    };
    stored.map(read).collect()
}

fn put_numbers(archive: &mut Archive, name: &str, numbers: &[usize]) {
    archive.put(name, numbers.iter().map(|&number| number as u32));
}

/// Positions or labels.
fn numbers(archive: &Archive, name: &str) -> Result<Vec<usize>, ClusterError> {
    Ok(archive.list::<u32>(name)?.into_iter().map(|i| i as usize).collect())
}

/// Returns the SHA-256 of the observed values and their positions.
fn fingerprint(input: &NetworkInput) -> String {
    let mut hash = Sha256::new();
    for view in &input.views {
        hash.update(format!("{:?}", view.values.shape()));
        view.rows.iter().for_each(|row| hash.update(row.to_le_bytes()));
        view.values.iter().for_each(|value| hash.update(value.to_le_bytes()));
    }
    format!("{:x}", hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_core::Silent;
    use cdimc_mixture::TMixture;

    fn finetuning(training: &mut Training) -> &mut Finetuning {
        match &mut training.run.as_mut().unwrap().state {
            State::Finetuning(finetuning) => finetuning,
            _ => panic!("not in fine-tuning"),
        }
    }

    #[test]
    fn arrays_that_do_not_fit_the_network_are_refused() {
        let view = Array2::from_shape_fn((12, 3), |(i, j)| ((i * 2 + j) as f64).sin());
        let data = MultiView::from_nan_rows(vec![view.clone(), view]).unwrap();
        let net = CdimcNet { neighbors: 2, restarts: 2, ..CdimcNet::authors_code() };
        let mut net = net.with_analysis(TMixture::default());
        (net.advanced.wide, net.pretrain.epochs, net.finetune.rounds) = (Some(3), 1, 3);
        let damaged = |damage: fn(&mut Training)| {
            let mut training = net.start(&data, 2, Seed::new(1), &Silent).unwrap();
            // The first run, and the epoch and the first centers of the second.
            for _ in 0..7 {
                training.step().unwrap();
            }
            damage(&mut training);
            let checkpoint = training.checkpoint().unwrap();
            let analysis = net.analysis.clone();
            Training::resume(&data, &checkpoint, analysis, &Silent).err().map(|e| e.to_string())
        };
        assert_eq!(damaged(|_| {}), None);
        let damages: [fn(&mut Training); 8] = [
            |t| finetuning(t).centers = Array2::zeros((2, 1)),
            |t| finetuning(t).centers = Array2::zeros((1, 2)),
            |t| finetuning(t).labels.truncate(3),
            |t| finetuning(t).pace.selected.truncate(3),
            |t| finetuning(t).pace.ages.truncate(1),
            |t| {
                let run = t.run.as_mut().unwrap();
                for view in &mut run.pretrained.as_mut().unwrap().views {
                    view.encoder.remove(0);
                    view.encoder[0].weight = Array2::zeros((view.encoder[0].bias.len(), 7));
                }
            },
            |t| t.best.as_mut().unwrap().1.labels[0] = 2,
            |t| t.contest.ended[0].alpha = 0.5,
        ];
        for damage in damages {
            let error = damaged(damage).unwrap();
            assert_eq!(error, "cdimc checkpoint: its arrays do not fit together");
        }
    }
}
