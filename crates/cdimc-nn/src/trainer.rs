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

impl Normalization {
    pub(crate) fn divisor(self, n_selected: usize, n_batch: usize) -> usize {
        match self {
            Self::Selected => n_selected,
            Self::Batch => n_batch,
        }
    }
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

/// Rows computed at once outside training.
const BLOCK: usize = 256;

/// The samples `0..n_samples` in blocks of rows.
pub(crate) fn blocks(n_samples: usize) -> impl Iterator<Item = Range<usize>> {
    (0..n_samples).step_by(BLOCK).map(move |start| start..(start + BLOCK).min(n_samples))
}

/// The optimiser of the stage that has started.
pub(crate) fn started(optimizer: Option<Optimizer>) -> Result<Optimizer, NnError> {
    optimizer.ok_or_else(|| NnError::Setting {
        name: "optimizer",
        value: "none".to_owned(),
        rule: "a stage must be started before its first step",
    })
}

pub(crate) fn check_batch(batch: &Range<usize>, n_samples: usize) -> Result<(), NnError> {
    if batch.start < batch.end && batch.end <= n_samples {
        return Ok(());
    }
    Err(NnError::Setting {
        name: "batch",
        value: format!("{batch:?}"),
        rule: "must be a non-empty range of samples",
    })
}

impl Optimizer {
    /// Whether every setting lies in its range.
    ///
    /// # Errors
    /// If not, naming the setting.
    pub fn check(&self) -> Result<(), NnError> {
        let rate = |name, value: f64| {
            let holds = value.is_finite() && value > 0.0;
            setting(name, value, holds, "must be finite and above 0")
        };
        let decay = |name, value: f64| {
            setting(name, value, (0.0..1.0).contains(&value), "must lie in [0, 1)")
        };
        match *self {
            Self::Sgd { learning_rate, momentum } => {
                rate("learning-rate", learning_rate)?;
                decay("momentum", momentum)
            }
            Self::Adam { learning_rate, beta1, beta2, epsilon } => {
                rate("learning-rate", learning_rate)?;
                decay("beta1", beta1)?;
                decay("beta2", beta2)?;
                rate("epsilon", epsilon)
            }
        }
    }

    /// Number of moments that the optimiser keeps of each parameter.
    pub(crate) fn n_moments(self) -> usize {
        match self {
            Self::Sgd { .. } => 1,
            Self::Adam { .. } => 2,
        }
    }
}

fn setting(name: &'static str, value: f64, holds: bool, rule: &'static str) -> Result<(), NnError> {
    if holds { Ok(()) } else { Err(NnError::Setting { name, value: value.to_string(), rule }) }
}

impl Targets<'_> {
    pub(crate) fn check(&self, n_samples: usize, latent: usize) -> Result<(), NnError> {
        let shape = |what, expected, found| {
            if expected == found { Ok(()) } else { Err(NnError::Shape { what, expected, found }) }
        };
        shape("columns of the centers", latent, self.centers.ncols())?;
        shape("labels", n_samples, self.labels.len())?;
        shape("selections", n_samples, self.selected.len())?;
        let n_clusters = self.centers.nrows();
        match self.labels.iter().find(|&&label| label >= n_clusters) {
            Some(label) => Err(NnError::Setting {
                name: "label",
                value: label.to_string(),
                rule: "must be below the number of centers",
            }),
            None => Ok(()),
        }
    }
}

impl OptimizerState {
    pub(crate) fn check(&self, optimizer: Optimizer, weights: &Weights) -> Result<(), NnError> {
        let shape = |what, expected, found| {
            if expected == found { Ok(()) } else { Err(NnError::Shape { what, expected, found }) }
        };
        shape("moments", optimizer.n_moments(), self.moments.len())?;
        for moment in &self.moments {
            shape("layers of a moment", weights.layers().count(), moment.layers().count())?;
            for (expected, found) in weights.layers().zip(moment.layers()) {
                shape("rows of a moment", expected.n_out(), found.n_out())?;
                shape("columns of a moment", expected.n_in(), found.n_in())?;
                shape("bias of a moment", expected.bias.len(), found.bias.len())?;
            }
        }
        Ok(())
    }
}
