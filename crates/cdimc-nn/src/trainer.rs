//! One interface for a training step, whichever engine computes it.

use crate::{NnError, Weights};
use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How gradients become steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "name")]
pub enum Optimizer {
    /// u <- momentum u + g; theta <- theta - `learning_rate` u, u starting at 0 (as PyTorch).
    #[serde(rename_all = "kebab-case")]
    Sgd {
        /// Step length.
        learning_rate: f64,
        /// Share of the last step kept, in [0, 1).
        momentum: f64,
    },
    /// Adam with bias correction and no weight decay (as PyTorch).
    #[serde(rename_all = "kebab-case")]
    Adam {
        /// Step length.
        learning_rate: f64,
        /// Decay of the mean of gradients.
        beta1: f64,
        /// Decay of the mean of squared gradients.
        beta2: f64,
        /// Added to the root in the denominator.
        epsilon: f64,
    },
}

/// What fine-tuning pulls the fused latents towards (eq. 11).
#[derive(Debug, Clone, Copy)]
pub struct Targets<'a> {
    /// The frozen centres U, `(n_clusters, latent)`.
    pub centers: ArrayView2<'a, f32>,
    /// The cluster s of every sample, `(n_samples)`.
    pub labels: &'a [usize],
    /// Whether the sample counts, r of eq. 15, `(n_samples)`.
    pub selected: &'a [bool],
    /// What the clustering term is divided by.
    pub normalization: Normalization,
}

/// What the clustering term of a batch is divided by, besides the latent width k.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Normalization {
    /// The batch's selected samples (authors' code).
    #[default]
    Selected,
    /// All samples of the batch (paper, eq. 11).
    Batch,
}

/// A network in training on fixed data. Batches are ranges of samples in training order.
pub trait Trainer: Send {
    /// Starts a stage: fresh optimiser state, weights kept.
    ///
    /// # Errors
    /// If the engine cannot hold the state.
    fn start(&mut self, optimizer: Optimizer) -> Result<(), NnError>;

    /// One step on the pre-training loss of one batch (eq. 7), which is returned.
    ///
    /// # Errors
    /// If the engine fails.
    fn pretrain_step(&mut self, batch: Range<usize>) -> Result<f64, NnError>;

    /// One step on the fine-tuning loss of one batch (eq. 11, divided as [`Targets::normalization`]
    /// says; a batch without a selected sample has the graph term only), which is returned. Decoders
    /// do not move.
    ///
    /// # Errors
    /// If the engine fails.
    fn finetune_step(&mut self, batch: Range<usize>, targets: Targets<'_>) -> Result<f64, NnError>;

    /// Loss and gradients of the pre-training loss of one batch, without a step.
    ///
    /// # Errors
    /// If the engine fails.
    fn pretrain_gradients(&mut self, batch: Range<usize>) -> Result<(f64, Weights), NnError>;

    /// Loss and gradients of the fine-tuning loss of one batch, without a step; zero for decoders.
    ///
    /// # Errors
    /// If the engine fails.
    fn finetune_gradients(
        &mut self,
        batch: Range<usize>,
        targets: Targets<'_>,
    ) -> Result<(f64, Weights), NnError>;

    /// The fused latents H* of all samples (eq. 4), `(n_samples, latent)`.
    ///
    /// # Errors
    /// If the engine fails.
    fn fused(&mut self) -> Result<Array2<f32>, NnError>;

    /// The weights as they are now.
    ///
    /// # Errors
    /// If the engine fails.
    fn weights(&self) -> Result<Weights, NnError>;

    /// The optimiser's state, to go on later: the number of steps taken and its moments (one for SGD,
    /// two for Adam), each of the shape of the weights.
    ///
    /// # Errors
    /// If the engine fails.
    fn optimizer_state(&self) -> Result<OptimizerState, NnError>;

    /// Goes on from `state`, after [`Trainer::start`] with the same optimiser.
    ///
    /// # Errors
    /// If the shapes disagree or the engine fails.
    fn restore_optimizer(&mut self, state: &OptimizerState) -> Result<(), NnError>;
}

/// The state of an optimiser between two steps.
#[derive(Debug, Clone, PartialEq)]
pub struct OptimizerState {
    /// Steps taken since the stage started.
    pub steps: u64,
    /// SGD: the momentum u. Adam: the means of gradients and of squared gradients.
    pub moments: Vec<Weights>,
}
