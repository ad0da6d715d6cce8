//! The training of CDIMC-net step by step, so that the caller owns the clock, the progress and the stop.

use super::centers::{InOrder, most_shared};
use crate::{
    Assignment, CdimcModel, CdimcNet, Choice, Finetuning,
    components::{Components, n_directions},
};
use cdimc_core::{
    ClusterError, Clustering, Curve, Observer, SharedInformation, Step,
    confidence::relative_margins,
};
use cdimc_data::{MultiView, Seed, Standardizer, geometry_version};
use cdimc_graph::{KnnGraph, Search};
use cdimc_mixture::TMixture;
use cdimc_nn::{NetworkInput, ObservedView, Trainer, TrainingData, Weights, batches, trainer};
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The share of what views share that fine-tuning may lose. It draws samples to wrong centers too, up to a cluster that
/// takes most of them; a loss of a few hundredths says nothing (docs/methods/cdimc-net.md).
const MOST_LOST: f64 = 0.1;

/// A CDIMC-net in training.
pub struct Training {
    pub(crate) settings: CdimcNet,
    pub(crate) n_clusters: usize,
    pub(crate) seed: Seed,
    /// The caller's sample at every position of the training order.
    pub(crate) order: Vec<usize>,
    pub(crate) standardizers: Vec<Standardizer>,
    /// Of the views that are reduced.
    components: Vec<Option<Components>>,
    pub(crate) on: TrainingData,
    /// Tells what the views share under clusters, where something is chosen by it.
    shared_information: Option<Box<dyn SharedInformation>>,
    pub(crate) trainer: Box<dyn Trainer>,
    pub(crate) state: State,
    /// The best of the pre-trainings that have ended, while there are others to come.
    pub(crate) best: Option<Pretrained>,
    /// The encoders as pre-training left them, without decoders, in fine-tuning.
    pub(crate) pretrained: Option<Weights>,
    pub(crate) curves: Curves,
}

/// Where the training stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum State {
    /// In pre-training `restart`, with this many epochs done.
    Pretraining { restart: usize, epochs_done: usize },
    /// Before the k-means on the latents of pre-training `restart`.
    Clustering { restart: usize },
    /// Between two rounds of Algorithm 1, or after the last.
    Finetuning(Finetuning),
}

/// What a pre-training led to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pretrained {
    pub(crate) weights: Weights,
    /// `(n_clusters, latent)`.
    pub(crate) centers: Array2<f32>,
    /// The clusters of the samples in training order.
    pub(crate) labels: Vec<usize>,
}

/// A part of the training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Pre-training of encoders and decoders (section 3.4, step 2).
    Pretrain,
    /// k-means on the pre-trained latents (Algorithm 1, initialization).
    Kmeans,
    /// Self-paced fine-tuning of the encoders (section 3.4, step 3).
    Finetune,
    /// Nothing is left to do.
    Done,
}

impl Stage {
    /// The name, as in settings and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pretrain => "pretrain",
            Self::Kmeans => "kmeans",
            Self::Finetune => "finetune",
            Self::Done => "done",
        }
    }
}

/// What is recorded along the way.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Curves {
    /// The mean loss of the batches of every epoch of all pre-trainings.
    pub(crate) pretrain_loss: Vec<f64>,
    /// What the views share under the first clusters of every pre-training, then under the fine-tuned ones, and again
    /// under the first ones if these are the answer; nothing where nobody asks.
    pub(crate) shared_information: Vec<f64>,
    /// The mean clustering loss after every round.
    pub(crate) finetune_loss: Vec<f64>,
    /// The age after every round; nothing without self-pacing.
    pub(crate) age: Vec<f64>,
    /// Number of samples selected after every round.
    pub(crate) selected: Vec<f64>,
    /// Share of samples whose cluster changed in every round.
    pub(crate) labels_changed: Vec<f64>,
}

impl Curves {
    pub(crate) fn named(&self) -> [(&'static str, &Vec<f64>); 6] {
        [
            ("pretrain-loss", &self.pretrain_loss),
            ("shared-information", &self.shared_information),
            ("finetune-loss", &self.finetune_loss),
            ("age", &self.age),
            ("selected", &self.selected),
            ("labels-changed", &self.labels_changed),
        ]
    }

    /// The pre-training that is fine-tuned, of those that have ended: the first of the most shared information.
    fn chosen(&self) -> usize {
        let better = |best, (r, &t): (usize, &f64)| {
            if t > self.shared_information[best] { r } else { best }
        };
        self.shared_information.iter().enumerate().fold(0, better)
    }
}

/// What a training starts from, besides the data.
pub(crate) struct Start {
    pub(crate) settings: CdimcNet,
    pub(crate) n_clusters: usize,
    pub(crate) seed: Seed,
    /// The samples in training order.
    pub(crate) order: Vec<usize>,
    pub(crate) weights: Weights,
}

impl Training {
    /// Shuffles and arranges the samples, builds the graphs and draws the weights.
    pub(crate) fn new(
        settings: CdimcNet,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
    ) -> Result<Self, ClusterError> {
        let kmeans = settings.kmeans.with_clusters(n_clusters);
        let rows = settings.order.rows(data.n_samples(), seed);
        let order =
            settings.arrangement.arrange(data, rows, &kmeans, seed.stream("arrangement"))?;
        let weights = initial_weights(&settings, &settings.input_widths(data), n_clusters, seed, 0);
        let start = Start { settings, n_clusters, seed, order, weights };
        let mut training = Self::from_start(data, start)?;
        training.enter(State::Pretraining { restart: 0, epochs_done: 0 })?;
        Ok(training)
    }

    /// The training before its first step.
    pub(crate) fn from_start(data: &MultiView, start: Start) -> Result<Self, ClusterError> {
        let Start { settings, n_clusters, seed, order, weights } = start;
        let graphs = graphs(data, &order, settings.neighbors, settings.alpha)?;
        let (standardizers, mut input) = network_input(data, &order)?;
        let components = reduce(&mut input, data, settings.components)?;
        let (input, graphs) = (Arc::new(input), Arc::new(graphs));
        let on = TrainingData { input, graphs, alpha: settings.alpha };
        let asks = settings.restarts > 1 || settings.kmeans.choice == Choice::SharedInformation;
        // Views that no sample has together share nothing, whatever the clusters.
        let shared_information = if asks && data.mask().shares_samples() {
            Some(TMixture::default().shared_information(data, n_clusters)?)
        } else {
            None
        };
        let trainer = trainer(settings.engine(), settings.device, on.clone(), weights)?;
        let state = State::Pretraining { restart: 0, epochs_done: 0 };
        let (best, pretrained, curves) = (None, None, Curves::default());
        Ok(Self {
            settings,
            n_clusters,
            seed,
            order,
            standardizers,
            components,
            on,
            shared_information,
            trainer,
            state,
            best,
            pretrained,
            curves,
        })
    }

    /// The settings it was started with.
    pub fn settings(&self) -> &CdimcNet {
        &self.settings
    }

    /// The part of the training that the next step belongs to.
    pub fn stage(&self) -> Stage {
        match &self.state {
            State::Pretraining { .. } => Stage::Pretrain,
            State::Clustering { .. } => Stage::Kmeans,
            State::Finetuning(f) if f.settled || f.rounds_done >= self.settings.finetune.rounds => {
                Stage::Done
            }
            State::Finetuning(_) => Stage::Finetune,
        }
    }

    /// One pre-training epoch, the k-means, or one fine-tuning round; `None` when nothing is left to do.
    ///
    /// # Errors
    /// If the engine fails or a loss stops being a number.
    pub fn step(&mut self) -> Result<Option<Step>, ClusterError> {
        match self.state {
            State::Pretraining { restart, epochs_done } => {
                self.pretrain_epoch(restart, epochs_done).map(Some)
            }
            State::Clustering { restart } => self.cluster_latents(restart).map(Some),
            State::Finetuning(_) => self.finetune_round(),
        }
    }

    /// Takes the steps that are left, reporting each to `observer`; then as [`Training::finish`].
    ///
    /// # Errors
    /// As [`Training::step`]; [`ClusterError::Interrupted`] with a checkpoint when `observer` stops it.
    pub fn run(
        mut self,
        observer: &Observer<'_>,
    ) -> Result<(CdimcModel, Clustering), ClusterError> {
        while let Some(step) = self.step()? {
            observer.report(&step).or_else(|_| {
                Err(ClusterError::Interrupted { checkpoint: Some(self.checkpoint()?) })
            })?;
            observer.checkpoint(|| self.checkpoint())?;
        }
        self.finish()
    }

    /// The trained model, and the clustering of the samples in the caller's order; takes the steps that
    /// are left, if any. Where something is chosen by what the views share, and fine-tuning has lost more than a tenth of
    /// it, the answer is what it began with.
    ///
    /// # Errors
    /// As [`Training::step`].
    pub fn finish(mut self) -> Result<(CdimcModel, Clustering), ClusterError> {
        while self.step()?.is_some() {}
        let (State::Finetuning(Finetuning { centers, .. }), Some(pretrained)) =
            (self.state, self.pretrained)
        else {
            return Err(ClusterError::Model("the training has not ended".into()));
        };
        let weights = self.trainer.weights()?;
        drop(self.trainer);
        let (chosen, epochs) = (self.curves.chosen(), self.settings.pretrain.epochs);
        let loss = self.curves.pretrain_loss.chunks(epochs.max(1)).nth(chosen);
        self.curves.pretrain_loss = loss.unwrap_or_default().to_vec();
        let mut model = CdimcModel {
            settings: self.settings,
            standardizers: self.standardizers,
            components: self.components,
            weights,
            pretrained,
            centers,
        };
        let input = in_callers_order(&self.on.input, &self.order);
        let (mut z, mut assignment) = model.clusters(&input)?;
        if let Some(shared) = &self.shared_information {
            let before = self.curves.shared_information.get(chosen).copied();
            let after = shared.of(&assignment.labels);
            self.curves.shared_information.push(after);
            if let Some(before) = before.filter(|&before| before - after > MOST_LOST * before.abs())
            {
                tracing::info!(before, after, "fine-tuning lost what the views share: undone");
                model.undo_finetuning();
                (z, assignment) = model.clusters(&input)?;
                self.curves.shared_information.push(before);
            }
        }
        let Assignment { labels, losses, margins } = assignment;
        let recorded = self.curves.named().into_iter().filter(|(_, values)| !values.is_empty());
        let curve =
            |(name, values): (&str, &Vec<f64>)| Curve { name: name.into(), values: values.clone() };
        let clustering = Clustering {
            confidence: Some(relative_margins(&losses, &margins)),
            losses: Some(losses),
            embedding: Some(z.mapv(f64::from)),
            curves: recorded.map(curve).collect(),
            ..Clustering::from_labels(labels)
        };
        Ok((model, clustering))
    }

    /// Enters `state`, skipping a stage without epochs; every stage starts with a fresh optimizer.
    pub(crate) fn enter(&mut self, state: State) -> Result<(), ClusterError> {
        self.state = match state {
            State::Pretraining { restart, epochs_done }
                if epochs_done >= self.settings.pretrain.epochs =>
            {
                State::Clustering { restart }
            }
            state => state,
        };
        match self.state {
            State::Pretraining { .. } => {
                self.trainer.start(self.settings.pretrain.optimizer())?;
            }
            State::Clustering { .. } => {}
            State::Finetuning(_) => self.trainer.start(self.settings.finetune.optimizer())?,
        }
        Ok(())
    }

    /// How many pre-trainings there are: one where nothing tells which is the best.
    pub(crate) fn n_restarts(&self) -> usize {
        if self.shared_information.is_some() { self.settings.restarts } else { 1 }
    }

    /// One epoch on eq. 7, batch by batch.
    fn pretrain_epoch(&mut self, restart: usize, epoch: usize) -> Result<Step, ClusterError> {
        self.trainer.set_learning_rate(self.settings.pretrain.learning_rate_in(epoch))?;
        let (mut sum, mut n_batches) = (0.0, 0);
        for batch in batches(0..self.on.input.n_samples, self.settings.batch_size) {
            sum += self.trainer.pretrain_step(batch)?;
            n_batches += 1;
        }
        let loss = sum / f64::from(n_batches);
        if !loss.is_finite() {
            return Err(ClusterError::Diverged { stage: Stage::Pretrain.name(), epoch });
        }
        self.curves.pretrain_loss.push(loss);
        let (epoch, of) = (epoch + 1, self.settings.pretrain.epochs);
        self.state = if epoch < of {
            State::Pretraining { restart, epochs_done: epoch }
        } else {
            State::Clustering { restart }
        };
        tracing::debug!(stage = "pretrain", restart, epoch, of, loss);
        let (done, of) = (restart * of + epoch, self.n_restarts().saturating_mul(of));
        Ok(Step { stage: Stage::Pretrain.name(), done, of, loss: Some(loss) })
    }

    /// The centers and first labels of Algorithm 1 on the latents of one pre-training; after it the next one begins, or
    /// the fine-tuning of the best.
    fn cluster_latents(&mut self, restart: usize) -> Result<Step, ClusterError> {
        let z = self.trainer.embed()?;
        if z.iter().any(|x| !x.is_finite()) {
            return Err(ClusterError::Diverged { stage: Stage::Kmeans.name(), epoch: 0 });
        }
        let (kmeans, seed) =
            (self.settings.kmeans.with_clusters(self.n_clusters), self.seed.stream("kmeans"));
        let found = if let Some(shared) = &self.shared_information {
            let shared = InOrder { shared: shared.as_ref(), order: &self.order };
            let (found, information) = match self.settings.kmeans.choice {
                Choice::Inertia => {
                    let found = kmeans.fit(z.view(), seed)?;
                    let information = shared.of(&found.labels);
                    (found, information)
                }
                Choice::SharedInformation => most_shared(z.view(), &kmeans, &shared, seed)?,
            };
            self.curves.shared_information.push(information);
            found
        } else {
            kmeans.fit(z.view(), seed)?
        };
        let loss = found.inertia / self.on.input.n_samples as f64;
        tracing::debug!(stage = "kmeans", restart, loss);
        if self.best.is_none() || self.curves.chosen() == restart {
            let centers = found.centers.mapv(|u| u as f32);
            let weights = self.trainer.weights()?;
            self.best = Some(Pretrained { weights, centers, labels: found.labels });
        }
        let (next, of) = (restart + 1, self.n_restarts());
        if next < of {
            let widths =
                self.on.input.views.iter().map(|view| view.values.ncols()).collect::<Vec<_>>();
            self.put(initial_weights(&self.settings, &widths, self.n_clusters, self.seed, next))?;
            self.enter(State::Pretraining { restart: next, epochs_done: 0 })?;
        } else if let Some(Pretrained { mut weights, centers, labels }) = self.best.take() {
            if self.curves.chosen() != restart {
                self.put(weights.clone())?;
            }
            weights.views.iter_mut().for_each(|view| view.decoder.clear());
            self.pretrained = Some(weights);
            self.enter(State::Finetuning(Finetuning::new(centers, labels)))?;
        }
        Ok(Step { stage: Stage::Kmeans.name(), done: next, of, loss: Some(loss) })
    }

    /// Has `weights` trained from here on.
    fn put(&mut self, weights: Weights) -> Result<(), ClusterError> {
        let Self { settings, on, .. } = self;
        self.trainer = trainer(settings.engine(), settings.device, on.clone(), weights)?;
        Ok(())
    }

    /// One round of Algorithm 1.
    fn finetune_round(&mut self) -> Result<Option<Step>, ClusterError> {
        let State::Finetuning(finetuning) = &mut self.state else { return Ok(None) };
        let (settings, batch_size) = (&self.settings.finetune, self.settings.batch_size);
        let Some(round) = finetuning.round(self.trainer.as_mut(), settings, batch_size)? else {
            return Ok(None);
        };
        self.curves.finetune_loss.push(round.loss);
        if settings.self_paced {
            self.curves.age.push(round.age);
        }
        self.curves.selected.push(round.selected as f64);
        self.curves.labels_changed.push(round.labels_changed);
        let (epoch, of, loss) = (finetuning.rounds_done, settings.rounds, round.loss);
        let (age, selected) = (round.age, round.selected);
        tracing::debug!(stage = "finetune", epoch, of, loss, age, selected);
        Ok(Some(Step { stage: Stage::Finetune.name(), done: epoch, of, loss: Some(loss) }))
    }
}

/// The weights from which pre-training `restart` begins, of views of these widths.
fn initial_weights(
    settings: &CdimcNet,
    widths: &[usize],
    n_clusters: usize,
    seed: Seed,
    restart: usize,
) -> Weights {
    let seed = seed.stream("weights");
    // A single pre-training is the first of several.
    let seed = if restart == 0 { seed } else { seed.nth(restart as u64) };
    Weights::glorot(&settings.architecture, widths, n_clusters, seed)
}

/// The neighbor graph of every view over the samples in `order`; without edges if they have no weight.
fn graphs(
    data: &MultiView,
    order: &[usize],
    neighbors: usize,
    alpha: f64,
) -> Result<Vec<KnnGraph>, ClusterError> {
    let n_samples = order.len();
    let graph = |view| {
        if alpha == 0.0 {
            return KnnGraph::from_edges(n_samples, []);
        }
        let (places, rows): (Vec<u32>, Vec<usize>) = (0_u32..)
            .zip(order.iter().copied())
            .filter(|&(_, sample)| data.mask().is_observed(sample, view))
            .unzip();
        let points = geometry_version(data, view, &rows);
        KnnGraph::of_view(points.view(), &places, n_samples, neighbors, Search::Auto)
    };
    Ok((0..data.n_views()).map(graph).collect::<Result<_, _>>()?)
}

/// The standardized views of the samples in `order`, and what standardizes them.
fn network_input(
    data: &MultiView,
    order: &[usize],
) -> Result<(Vec<Standardizer>, NetworkInput), ClusterError> {
    let mut standardizers = Vec::with_capacity(data.n_views());
    let mut views = Vec::with_capacity(data.n_views());
    for view in 0..data.n_views() {
        let standardizer = Standardizer::fit(data, view)?;
        let (rows, values) = standardizer.transform(data, view, order)?;
        standardizers.push(standardizer);
        views.push(ObservedView { rows, values });
    }
    Ok((standardizers, NetworkInput { n_samples: order.len(), views }))
}

/// Reduces the views that are to be reduced to their leading directions, and gives these.
fn reduce(
    input: &mut NetworkInput,
    data: &MultiView,
    asked: Option<usize>,
) -> Result<Vec<Option<Components>>, ClusterError> {
    let reduced = |(view, observed): (usize, &mut ObservedView)| {
        let Some(n) = n_directions(asked, data, view) else { return Ok(None) };
        let components = Components::fit(observed.values.view(), n)?;
        observed.values = components.coordinates(observed.values.view());
        Ok(Some(components))
    };
    input.views.iter_mut().enumerate().map(reduced).collect()
}

/// The same input in the caller's order of samples.
fn in_callers_order(input: &NetworkInput, order: &[usize]) -> NetworkInput {
    let views = input.views.iter().map(|view| {
        let samples: Vec<u32> =
            view.rows.iter().map(|&place| order[place as usize] as u32).collect();
        let mut positions: Vec<usize> = (0..samples.len()).collect();
        positions.sort_by_key(|&position| samples[position]);
        ObservedView {
            rows: positions.iter().map(|&position| samples[position]).collect(),
            values: view.values.select(ndarray::Axis(0), &positions),
        }
    });
    NetworkInput { n_samples: input.n_samples, views: views.collect() }
}
