//! One run of the method: a pre-training, the first centers, and fine-tuning.

use super::centers::{InOrder, MIN_GAIN_NATS, first_centers};
use super::prepared::Prepared;
use crate::{CdimcNet, Choice, Finetuning};
use cdimc_core::{ClusterError, KMeans, SharedInformation, Step};
use cdimc_data::Seed;
use cdimc_nn::{Goal, Trainer, TrainingData, Weights, batches, trainer};
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

/// Number of rounds of fine-tuning without a gain of shared information after which it ends.
const MAX_ROUNDS_WITHOUT_GAIN: usize = 5;

/// Stage of the training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Pre-training of encoders and decoders (section 3.4, step 2).
    Pretrain,
    /// First centers on the pre-trained latents (Algorithm 1, initialization).
    Kmeans,
    /// Self-paced fine-tuning of the encoders (section 3.4, step 3).
    Finetune,
    /// The run has ended.
    Done,
}

impl Stage {
    /// Returns the name, as in settings and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pretrain => "pretrain",
            Self::Kmeans => "kmeans",
            Self::Finetune => "finetune",
            Self::Done => "done",
        }
    }
}

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
    pub(crate) curves: Curves,
}

/// Stage of a run, and its progress.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum State {
    /// Number of finished epochs of pre-training.
    Pretraining { epochs_done: usize },
    /// Before the k-means on the latents.
    Clustering,
    /// Between two rounds of Algorithm 1, or after the last.
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
    /// Weight of the graph.
    pub(crate) alpha: f64,
    pub(crate) weights: Weights,
    pub(crate) pretrained: Weights,
    /// `(n_clusters, latent)`.
    pub(crate) centers: Array2<f32>,
    /// The clusters of the samples in training order.
    pub(crate) labels: Vec<usize>,
    pub(crate) shared_information: Option<f64>,
    pub(crate) curves: Curves,
}

/// Recorded curves, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Curves(BTreeMap<&'static str, Vec<f64>>);

impl Curves {
    /// Names in the order of the result: the mean loss of every epoch of pre-training, T of the first clusters and after
    /// every round, and after every round the mean clustering loss, the mean age, the number of samples selected, and the
    /// share of samples whose cluster changed.
    pub(crate) const NAMES: [&'static str; 6] = [
        "pretrain-loss",
        "shared-information",
        "finetune-loss",
        "age",
        "selected",
        "labels-changed",
    ];

    /// Appends values to a curve.
    pub(crate) fn extend(&mut self, name: &'static str, values: impl IntoIterator<Item = f64>) {
        self.0.entry(name).or_default().extend(values);
    }

    /// Returns the curves that have values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &Vec<f64>)> {
        let named = Self::NAMES.into_iter().filter_map(|name| Some((name, self.0.get(name)?)));
        named.filter(|(_, values)| !values.is_empty())
    }
}

/// Settings and data that all runs of a training share.
#[derive(Clone, Copy)]
pub(crate) struct Common<'a> {
    pub(crate) settings: &'a CdimcNet,
    pub(crate) prepared: &'a Prepared,
    pub(crate) n_clusters: usize,
    pub(crate) seed: Seed,
}

impl<'a> Common<'a> {
    /// Returns T of labels in training order; `None` if it chooses nothing.
    pub(crate) fn shared(&self) -> Option<InOrder<'a>> {
        let order = &self.prepared.order;
        self.prepared.shared_information.as_deref().map(|shared| InOrder { shared, order })
    }

    /// Returns whether shared information chooses centers and rounds.
    fn chooses(&self) -> bool {
        self.settings.choice == Choice::SharedInformation
    }
}

impl Run {
    /// Returns the run before its first step.
    pub(crate) fn new(
        common: Common<'_>,
        alpha: f64,
        restart: usize,
    ) -> Result<Self, ClusterError> {
        let seed = common.seed.stream("weights");
        // A single run equals the first of several.
        let seed = if restart == 0 { seed } else { seed.nth(restart as u64) };
        let architecture = common.settings.layer_widths();
        let views = common.prepared.input.views.iter();
        let widths: Vec<usize> = views.map(|view| view.values.ncols()).collect();
        let weights = Weights::glorot(&architecture, &widths, common.n_clusters, seed);
        let mut run = Self::from_weights(common, (alpha, restart), weights)?;
        run.enter(common.settings, State::Pretraining { epochs_done: 0 })?;
        Ok(run)
    }

    /// Returns a run with these weights and no state.
    pub(crate) fn from_weights(
        common: Common<'_>,
        (alpha, restart): (f64, usize),
        weights: Weights,
    ) -> Result<Self, ClusterError> {
        let Prepared { input, graphs, .. } = common.prepared;
        let data = TrainingData { input: Arc::clone(input), graphs: Arc::clone(graphs), alpha };
        let trainer = trainer(common.settings.engine(), common.settings.device, data, weights)?;
        let state = State::Pretraining { epochs_done: 0 };
        let (pretrained, best, curves) = (None, None, Curves::default());
        Ok(Self { alpha, restart, trainer, state, pretrained, best, curves })
    }

    /// Enters `state`, skipping a pre-training without epochs; every stage starts with a fresh optimizer.
    pub(crate) fn enter(&mut self, settings: &CdimcNet, state: State) -> Result<(), ClusterError> {
        self.state = match state {
            State::Pretraining { epochs_done } if epochs_done >= settings.pretrain.epochs => {
                State::Clustering
            }
            state => state,
        };
        match self.state {
            State::Pretraining { .. } => self.trainer.start(settings.pretrain_optimizer())?,
            State::Clustering => {}
            State::Finetuning(_) => self.trainer.start(settings.finetune.optimizer())?,
        }
        Ok(())
    }

    /// Returns the stage of the next step.
    pub(crate) fn stage(&self, settings: &CdimcNet) -> Stage {
        match &self.state {
            State::Pretraining { .. } => Stage::Pretrain,
            State::Clustering => Stage::Kmeans,
            State::Finetuning(f) if f.settled || f.rounds_done >= settings.finetune.rounds => {
                Stage::Done
            }
            State::Finetuning(_) => Stage::Finetune,
        }
    }

    /// Returns whether it has taken a step.
    pub(crate) fn has_begun(&self) -> bool {
        self.curves.iter().next().is_some() || self.pretrained.is_some()
    }

    /// Takes one step: an epoch of pre-training, the first centers, or a round of fine-tuning; returns `None` after the
    /// last.
    pub(crate) fn step(&mut self, common: Common<'_>) -> Result<Option<Step>, ClusterError> {
        match self.state {
            State::Pretraining { epochs_done } => {
                self.pretrain_epoch(common, epochs_done).map(Some)
            }
            State::Clustering => self.cluster_latents(common).map(Some),
            State::Finetuning(_) => self.finetune_round(common),
        }
    }

    /// Trains one epoch on eq. 7.
    fn pretrain_epoch(&mut self, common: Common<'_>, epoch: usize) -> Result<Step, ClusterError> {
        let (settings, n_samples) = (common.settings, common.prepared.input.n_samples);
        self.trainer.set_learning_rate(settings.learning_rate_in(epoch))?;
        let batches: Vec<_> = batches(0..n_samples, settings.batch_size).collect();
        let loss = self.trainer.train(&batches, Goal::Reconstruction)?;
        if !loss.is_finite() {
            return Err(ClusterError::Diverged { stage: Stage::Pretrain.name(), epoch });
        }
        self.curves.extend("pretrain-loss", [loss]);
        let (epoch, of) = (epoch + 1, settings.pretrain.epochs);
        self.state =
            if epoch < of { State::Pretraining { epochs_done: epoch } } else { State::Clustering };
        tracing::debug!(stage = "pretrain", epoch, of, loss);
        Ok(Step { stage: Stage::Pretrain.name(), done: epoch, of, loss: Some(loss) })
    }

    /// Computes the centers and first labels of Algorithm 1 on the latents of pre-training.
    fn cluster_latents(&mut self, common: Common<'_>) -> Result<Step, ClusterError> {
        let z = self.trainer.embed()?;
        if z.iter().any(|x| !x.is_finite()) {
            return Err(ClusterError::Diverged { stage: Stage::Kmeans.name(), epoch: 0 });
        }
        let kmeans = KMeans::new(common.n_clusters);
        let (shared, seed) = (common.shared(), common.seed.stream("kmeans"));
        let found = match &shared {
            Some(shared) if common.chooses() => first_centers(z.view(), &kmeans, shared, seed)?,
            _ => kmeans.fit(z.view(), seed)?,
        };
        let loss = found.inertia / z.nrows() as f64;
        let mut encoders = self.trainer.weights()?;
        encoders.views.iter_mut().for_each(|view| view.decoder.clear());
        self.pretrained = Some(encoders);
        if let Some(shared) = shared {
            let shared_information = shared.of(&found.labels);
            tracing::debug!(stage = "kmeans", loss, shared_information);
            self.curves.extend("shared-information", [shared_information]);
            let labels = found.labels.clone();
            self.best = Some(BestRound { round: 0, shared_information, encoders: None, labels });
        }
        let centers = found.centers.mapv(|u| u as f32);
        self.enter(common.settings, State::Finetuning(Finetuning::new(centers, found.labels)))?;
        Ok(Step { stage: Stage::Kmeans.name(), done: 1, of: 1, loss: Some(loss) })
    }

    /// Runs one round of Algorithm 1.
    fn finetune_round(&mut self, common: Common<'_>) -> Result<Option<Step>, ClusterError> {
        let State::Finetuning(finetuning) = &mut self.state else { return Ok(None) };
        let settings = &common.settings.finetune;
        let Some(round) = finetuning.round(self.trainer.as_mut(), common.settings)? else {
            return Ok(None);
        };
        self.curves.extend("finetune-loss", [round.loss]);
        self.curves.extend("age", settings.self_paced.then_some(round.age));
        self.curves.extend("selected", [round.selected as f64]);
        self.curves.extend("labels-changed", [round.labels_changed]);
        let (epoch, of, loss) = (finetuning.rounds_done, settings.rounds, round.loss);
        if let (Some(shared), Some(best)) = (common.shared(), &mut self.best) {
            let value = shared.of(&finetuning.labels);
            self.curves.extend("shared-information", [value]);
            if !common.chooses() || value > best.shared_information + MIN_GAIN_NATS {
                let mut encoders = self.trainer.weights()?;
                encoders.views.iter_mut().for_each(|view| view.decoder.clear());
                *best = BestRound {
                    round: epoch,
                    shared_information: value,
                    encoders: Some(encoders),
                    labels: finetuning.labels.clone(),
                };
            } else if epoch >= best.round + MAX_ROUNDS_WITHOUT_GAIN {
                finetuning.settled = true;
            }
        }
        let (age, selected) = (round.age, round.selected);
        tracing::debug!(stage = "finetune", epoch, of, loss, age, selected);
        Ok(Some(Step { stage: Stage::Finetune.name(), done: epoch, of, loss: Some(loss) }))
    }

    /// Returns the result of a run that has ended.
    pub(crate) fn trained(self) -> Result<Trained, ClusterError> {
        let (State::Finetuning(Finetuning { centers, labels, .. }), Some(pretrained)) =
            (self.state, self.pretrained)
        else {
            return Err(ClusterError::Model("the training has not ended".into()));
        };
        let mut weights = self.trainer.weights()?;
        let (labels, shared_information) = match self.best {
            Some(BestRound { shared_information, encoders, labels, .. }) => {
                let encoders = encoders.unwrap_or_else(|| pretrained.clone());
                for (view, best) in weights.views.iter_mut().zip(encoders.views) {
                    view.encoder = best.encoder;
                }
                (labels, Some(shared_information))
            }
            None => (labels, None),
        };
        let (alpha, curves) = (self.alpha, self.curves);
        Ok(Trained { alpha, weights, pretrained, centers, labels, shared_information, curves })
    }
}
