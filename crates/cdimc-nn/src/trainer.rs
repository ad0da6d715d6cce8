//! Engines for training steps, and their common interface.

use crate::{
    Fusion, NetworkInput, NnError, Optimizer, OptimizerState, Weights, error::check_count,
};
use cdimc_core::check::{at_least_one, not_negative, setting};
use cdimc_graph::KnnGraph;
use ndarray::{Array2, ArrayView2};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{ops::Range, sync::Arc};

/// Engine that computes the training steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Explicit forward and backward passes with matrix products; CPU only.
    #[default]
    Fused,
    /// Explicit gradients on candle's tensors; CPU and CUDA.
    Candle,
}

/// Device that computes the training steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
    /// The first NVIDIA GPU; needs the feature `cuda`.
    Cuda,
}

impl Device {
    /// Returns the default engine of the device.
    pub fn engine(self) -> Engine {
        match self {
            Self::Cpu => Engine::Fused,
            Self::Cuda => Engine::Candle,
        }
    }
}

/// Targets of the fused latents in fine-tuning (eq. 11).
#[derive(Debug, Clone, Copy)]
pub struct Targets<'a> {
    /// Frozen centers U, `(n_clusters, latent)`.
    pub centers: ArrayView2<'a, f32>,
    /// Cluster s of every sample, `(n_samples)`.
    pub labels: &'a [usize],
    /// Whether the sample is selected, r of eq. 15, `(n_samples)`.
    pub selected: &'a [bool],
    /// Divisor of the clustering term.
    pub normalization: Normalization,
}

/// Divisor of the clustering term of a batch, besides the latent width k.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Normalization {
    /// Number of selected samples of the batch (authors' code).
    #[default]
    Selected,
    /// Number of samples of the batch (paper, eq. 11).
    Batch,
}

impl Normalization {
    pub(crate) fn divisor(self, n_selected: usize, n_batch: usize) -> usize {
        match self {
            Self::Selected => n_selected,
            Self::Batch => n_batch,
        }
    }
}

/// Loss of a training step.
#[derive(Debug, Clone, Copy)]
pub enum Goal<'a> {
    /// Pre-training: reconstruction of the views (eq. 7).
    Reconstruction,
    /// The same from some of the views: only these enter the mean of a sample (eq. 4), and all are reconstructed.
    ReconstructionFrom(&'a Fusion),
    /// Fine-tuning: distance from the centers (eq. 11). A batch without selected samples has only the graph term.
    /// Decoders do not change.
    Clusters(Targets<'a>),
}

/// Training data of a network.
#[derive(Debug, Clone)]
pub struct TrainingData {
    /// Samples, in training order.
    pub input: Arc<NetworkInput>,
    /// One graph per view, over all samples; edges of unobserved samples are ignored.
    pub graphs: Arc<Vec<KnnGraph>>,
    /// Weight of the graph term (eq. 7), at least 0.
    pub alpha: f64,
}

impl TrainingData {
    /// Checks that data, graphs and the network's `weights` fit together.
    pub(crate) fn check(&self, weights: &Weights) -> Result<(), NnError> {
        let Self { input, graphs, alpha } = self;
        at_least_one(&[("samples", input.n_samples)])?;
        weights.check()?;
        weights.check_decoders()?;
        input.check()?;
        weights.check_input(input)?;
        check_count("graphs", input.views.len(), graphs.len())?;
        for graph in graphs.iter() {
            check_count("nodes of a graph", input.n_samples, graph.n_nodes())?;
        }
        Ok(not_negative("alpha", *alpha)?)
    }

    /// Checks the arguments of [`Trainer::train`].
    pub(crate) fn check_step(
        &self,
        batches: &[Range<usize>],
        goal: Goal<'_>,
        latent: usize,
    ) -> Result<(), NnError> {
        let n_samples = self.input.n_samples;
        at_least_one(&[("batches", batches.len())])?;
        for batch in batches {
            let holds = batch.start < batch.end && batch.end <= n_samples;
            let rule = "must be a non-empty range of samples";
            setting("batch", format!("{batch:?}"), rule, |_| holds)?;
        }
        let Targets { centers, labels, selected, .. } = match goal {
            Goal::Reconstruction => return Ok(()),
            Goal::ReconstructionFrom(fusion) => return fusion.check(&self.input),
            Goal::Clusters(targets) => targets,
        };
        check_count("columns of the centers", latent, centers.ncols())?;
        check_count("labels", n_samples, labels.len())?;
        check_count("selections", n_samples, selected.len())?;
        let below = |&&label: &&usize| label < centers.nrows();
        let rule = "must be below the number of centers";
        Ok(labels.iter().try_for_each(|label| setting("label", label, rule, below))?)
    }
}

/// A network in training on fixed data. Batches are ranges of samples in training order.
///
/// # Errors
/// All methods fail if the engine fails, and, except [`embed`](Self::embed) and [`weights`](Self::weights), if no stage
/// has started or an argument does not fit.
#[allow(clippy::missing_errors_doc)] // They are the same for all methods.
pub trait Trainer: Send {
    /// Starts a stage: resets the optimizer's state and keeps the weights.
    fn start(&mut self, optimizer: Optimizer) -> Result<(), NnError>;

    /// Sets the learning rate of the next steps and keeps the optimizer's state.
    fn set_learning_rate(&mut self, learning_rate: f64) -> Result<(), NnError>;

    /// Takes one step per batch, in order, and returns the mean loss.
    fn train(&mut self, batches: &[Range<usize>], goal: Goal<'_>) -> Result<f64, NnError>;

    /// Returns the fused latents H* of all samples (eq. 4), `(n_samples, latent)`.
    fn embed(&mut self) -> Result<Array2<f32>, NnError>;

    /// Returns the current weights.
    fn weights(&self) -> Result<Weights, NnError>;

    /// Returns the optimizer's state for resuming: the number of steps and the moments (one for SGD, two for Adam),
    /// each of the shape of the weights.
    fn optimizer_state(&self) -> Result<OptimizerState, NnError>;

    /// Resumes from `state`, after [`Trainer::start`] with the same optimizer.
    fn restore_optimizer(&mut self, state: &OptimizerState) -> Result<(), NnError>;
}

/// Number of rows computed at once outside training.
pub(crate) const BLOCK_ROWS: usize = 256;

/// Returns the samples `0..n_samples` in blocks of rows.
pub(crate) fn blocks(n_samples: usize) -> impl Iterator<Item = Range<usize>> {
    batches(0..n_samples, BLOCK_ROWS)
}

/// Splits the samples into batches of `size`; the last may be smaller.
///
/// # Panics
/// If `size` is 0.
pub fn batches(samples: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    samples
        .clone()
        .step_by(size)
        .map(move |start| start..start.saturating_add(size).min(samples.end))
}
