//! One run of the method: a pre-training, the first centers, and fine-tuning.

use super::centers::{MIN_GAIN_NATS, first_centers};
use super::prepared::Prepared;
use crate::{CdimcNet, Choice, Finetuning, Round};
use cdimc_core::{ClusterError, Curve, KMeans, SharedInformation, Step};
use cdimc_nn::{Goal, Trainer, TrainingData, Weights, batches, trainer};
use ndarray::Array2;
use std::sync::Arc;

/// Number of rounds of fine-tuning without a gain of shared information after which it ends.
const MAX_ROUNDS_WITHOUT_GAIN: usize = 5;

/// Names of the curves of a run, in the order of the result: the mean loss of every epoch of pre-training, √(TM) of the first
/// clusters and after every round, and after every round the mean clustering loss, the mean age, the number of samples
/// selected, and the share of samples whose cluster changed.
pub(crate) const CURVES: [&str; 6] =
    ["pretrain-loss", "shared-information", "finetune-loss", "age", "selected", "labels-changed"];

/// A network in training.
pub(crate) struct Run {
    /// Weight of the graph.
    pub(crate) alpha: f64,
    pub(crate) restart: usize,
    pub(crate) trainer: Box<dyn Trainer>,
    pub(crate) state: State,
    /// Encoders after pre-training, without decoders.
    pub(crate) pretrained: Option<Weights>,
    /// Best round of fine-tuning so far, if shared information chooses.
    pub(crate) best: Option<BestRound>,
    pub(crate) curves: Vec<Curve>,
}

/// Stage of a run, and its progress.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum State {
    /// Pre-training of encoders and decoders (section 3.4, step 2), and the number of finished epochs.
    Pretraining { epochs_done: usize },
    /// Before the k-means on the latents (Algorithm 1, initialization).
    Clustering,
    /// Between two rounds of Algorithm 1 (section 3.4, step 3), or after the last.
    Finetuning(Finetuning),
}

/// A round of fine-tuning; round 0 is the start.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BestRound {
    pub(crate) round: usize,
    pub(crate) shared_information: f64,
    /// Encoders after this round, without decoders; `None` in round 0, which has the pre-trained ones.
    pub(crate) encoders: Option<Weights>,
    /// The clusters of the samples in training order.
    pub(crate) labels: Vec<usize>,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Trained {
    pub(crate) weights: Weights,
    pub(crate) pretrained: Weights,
    /// `(n_clusters, latent)`.
    pub(crate) centers: Array2<f32>,
    /// The clusters of the samples in training order.
    pub(crate) labels: Vec<usize>,
    pub(crate) curves: Vec<Curve>,
}

impl State {
    /// Returns the name of the stage in steps and checkpoints.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Pretraining { .. } => "pretrain",
            Self::Clustering => "kmeans",
            Self::Finetuning(_) => "finetune",
        }
    }
}

impl Run {
    /// Returns the run with the weight and round `next`, before its first step.
    pub(crate) fn new(prepared: &Prepared, next: (f64, usize)) -> Result<Self, ClusterError> {
        let (_, restart) = next;
        let seed = prepared.seed.stream("weights");
        // A single run equals the first of several.
        let seed = if restart == 0 { seed } else { seed.nth(restart as u64) };
        let views = prepared.input.views.iter();
        let widths: Vec<usize> = views.map(|view| view.values.ncols()).collect();
        let architecture = prepared.settings.layer_widths();
        let weights = Weights::glorot(&architecture, &widths, prepared.n_clusters, seed);
        let state = match prepared.settings.pretrain.epochs {
            0 => State::Clustering,
            _ => State::Pretraining { epochs_done: 0 },
        };
        Self::in_state(prepared, next, weights, state)
    }

    /// Returns a run with these weights that enters `state`; every stage starts with a fresh optimizer.
    pub(crate) fn in_state(
        prepared: &Prepared,
        (alpha, restart): (f64, usize),
        weights: Weights,
        state: State,
    ) -> Result<Self, ClusterError> {
        let Prepared { settings, input, graphs, .. } = prepared;
        let data = TrainingData { input: Arc::clone(input), graphs: Arc::clone(graphs), alpha };
        let mut trainer = trainer(settings.engine(), settings.device, data, weights)?;
        match state {
            State::Pretraining { .. } => trainer.start(settings.pretrain_optimizer())?,
            State::Clustering => {}
            State::Finetuning(_) => trainer.start(settings.finetune.optimizer())?,
        }
        let (pretrained, best, curves) = (None, None, Vec::new());
        Ok(Self { alpha, restart, trainer, state, pretrained, best, curves })
    }

    /// Returns whether the run has taken its last step.
    pub(crate) fn has_ended(&self, settings: &CdimcNet) -> bool {
        matches!(&self.state, State::Finetuning(state) if state.has_ended(&settings.finetune))
    }

    /// Takes one step: an epoch of pre-training, the first centers, or a round of fine-tuning; returns `None` after the
    /// last.
    pub(crate) fn step(&mut self, prepared: &Prepared) -> Result<Option<Step>, ClusterError> {
        match self.state {
            State::Pretraining { epochs_done } => {
                self.pretrain_epoch(prepared, epochs_done).map(Some)
            }
            State::Clustering => self.cluster_latents(prepared).map(Some),
            State::Finetuning(_) => self.finetune_round(prepared),
        }
    }

    /// Trains one epoch on eq. 7.
    fn pretrain_epoch(&mut self, prepared: &Prepared, epoch: usize) -> Result<Step, ClusterError> {
        let Prepared { settings, input, seed, .. } = prepared;
        let dropout = settings.advanced.view_dropout;
        let seed = seed.stream("view-dropout").nth(self.restart as u64).nth(epoch as u64);
        let partial = (dropout > 0.0).then(|| input.fusion_with_dropout(dropout, seed));
        let goal = partial.as_ref().map_or(Goal::Reconstruction, Goal::ReconstructionFrom);
        self.trainer.set_learning_rate(settings.learning_rate_in(epoch))?;
        let batches: Vec<_> = batches(0..input.n_samples, settings.batch_size).collect();
        let loss = self.trainer.train(&batches, goal)?;
        let stage = self.state.name();
        if !loss.is_finite() {
            return Err(ClusterError::Diverged { stage, epoch });
        }
        record(&mut self.curves, "pretrain-loss", loss);
        let (epoch, of) = (epoch + 1, settings.pretrain.epochs);
        self.state =
            if epoch < of { State::Pretraining { epochs_done: epoch } } else { State::Clustering };
        tracing::debug!(stage, epoch, of, loss);
        Ok(Step { stage, done: epoch, of, loss: Some(loss) })
    }

    /// Computes the centers and first labels of Algorithm 1 on the latents of pre-training.
    fn cluster_latents(&mut self, prepared: &Prepared) -> Result<Step, ClusterError> {
        let Prepared { settings, n_clusters, seed, information, .. } = prepared;
        let stage = self.state.name();
        let z = self.trainer.embed()?;
        if z.iter().any(|x| !x.is_finite()) {
            return Err(ClusterError::Diverged { stage, epoch: 0 });
        }
        let (kmeans, seed) = (KMeans::new(*n_clusters), seed.stream("kmeans"));
        let found = match information {
            Some(information) if settings.choice == Choice::SharedInformation => {
                first_centers(z.view(), &kmeans, information, seed)?
            }
            _ => kmeans.fit(z.view(), seed)?,
        };
        let loss = found.inertia / z.nrows() as f64;
        self.pretrained = Some(encoders(self.trainer.as_ref())?);
        if let Some(information) = information {
            let shared_information = information.of(&found.labels);
            tracing::debug!(stage, loss, shared_information);
            record(&mut self.curves, "shared-information", shared_information);
            let labels = found.labels.clone();
            self.best = Some(BestRound { round: 0, shared_information, encoders: None, labels });
        }
        let centers = found.centers.mapv(|u| u as f32);
        self.state = State::Finetuning(Finetuning::new(centers, found.labels));
        self.trainer.start(settings.finetune.optimizer())?;
        Ok(Step { stage, done: 1, of: 1, loss: Some(loss) })
    }

    /// Runs one round of Algorithm 1.
    fn finetune_round(&mut self, prepared: &Prepared) -> Result<Option<Step>, ClusterError> {
        let Self { state, trainer, best, curves, .. } = self;
        let (stage, settings) = (state.name(), &prepared.settings);
        let State::Finetuning(finetuning) = state else { return Ok(None) };
        let Some(round) = finetuning.round(trainer.as_mut(), settings)? else { return Ok(None) };
        let Round { loss, age, selected, labels_changed } = round;
        record(curves, "finetune-loss", loss);
        if settings.finetune.self_paced {
            record(curves, "age", age);
        }
        record(curves, "selected", selected as f64);
        record(curves, "labels-changed", labels_changed);
        let (done, of) = (finetuning.rounds_done, settings.finetune.rounds);
        if let (Some(information), Some(best)) = (&prepared.information, best) {
            let shared_information = information.of(&finetuning.labels);
            record(curves, "shared-information", shared_information);
            let is_better = shared_information > best.shared_information + MIN_GAIN_NATS;
            if settings.choice == Choice::Inertia || is_better {
                let encoders = Some(encoders(trainer.as_ref())?);
                let labels = finetuning.labels.clone();
                *best = BestRound { round: done, shared_information, encoders, labels };
            } else if done >= best.round + MAX_ROUNDS_WITHOUT_GAIN {
                finetuning.settled = true;
            }
        }
        tracing::debug!(stage, epoch = done, of, loss, age, selected);
        Ok(Some(Step { stage, done, of, loss: Some(loss) }))
    }

    /// Returns the result of a run that has ended.
    pub(crate) fn trained(self) -> Result<Trained, ClusterError> {
        let (State::Finetuning(Finetuning { centers, labels, .. }), Some(pretrained)) =
            (self.state, self.pretrained)
        else {
            return Err(ClusterError::Model("the training has not ended".into()));
        };
        let (weights, curves) = (self.trainer.weights()?, self.curves);
        let mut trained = Trained { weights, pretrained, centers, labels, curves };
        if let Some(best) = self.best {
            let encoders = best.encoders.unwrap_or_else(|| trained.pretrained.clone());
            for (view, best) in trained.weights.views.iter_mut().zip(encoders.views) {
                view.encoder = best.encoder;
            }
            trained.labels = best.labels;
        }
        Ok(trained)
    }
}

/// Returns the current weights without decoders.
fn encoders(trainer: &dyn Trainer) -> Result<Weights, ClusterError> {
    let mut weights = trainer.weights()?;
    weights.views.iter_mut().for_each(|view| view.decoder.clear());
    Ok(weights)
}

/// Appends a value to the curve `name`.
fn record(curves: &mut Vec<Curve>, name: &str, value: f64) {
    match curves.iter_mut().find(|curve| curve.name == name) {
        Some(curve) => curve.values.push(value),
        None => curves.push(Curve { name: name.into(), values: vec![value] }),
    }
}
