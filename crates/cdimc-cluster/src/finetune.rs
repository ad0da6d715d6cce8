//! Self-paced fine-tuning of the network and the assignment to frozen centers (paper, Algorithm 1).

use super::self_paced::{Pace, Scope};
use crate::CdimcNet;
use cdimc_core::ClusterError;
use cdimc_nn::{Goal, Optimizer, Targets, Trainer, batches};
use ndarray::{Array2, ArrayView1, ArrayView2};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Share of samples that change cluster in a round, xi, below which fine-tuning ends (authors' code).
const MIN_MOVED_SHARE: f64 = 1e-7;

/// Settings of Algorithm 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Finetune {
    /// Maximum number of rounds, T. With 0 the first clusters on the pre-trained latents are the result.
    pub rounds: usize,
    /// Epochs of network training per round, Maxiter.
    pub epochs_per_round: usize,
    /// Learning rate of Adam, which updates the encoders (paper, section 4.1).
    pub learning_rate: f64,
    /// Whether samples enter from easy to hard; if not, all are selected in every round (paper, Figure 3).
    pub self_paced: bool,
    /// Samples whose losses determine an age.
    pub age_scope: Scope,
}

impl Default for Finetune {
    fn default() -> Self {
        Self {
            rounds: 20,
            epochs_per_round: 7,
            learning_rate: 1e-4,
            self_paced: true,
            age_scope: Scope::Cluster,
        }
    }
}

impl Finetune {
    /// Returns Adam with the usual decays (paper, section 4.1; authors' code).
    pub fn optimizer(&self) -> Optimizer {
        Optimizer::Adam { learning_rate: self.learning_rate, beta1: 0.9, beta2: 0.999 }
    }
}

/// Algorithm 1 between two rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Finetuning {
    /// Frozen centers U, `(n_clusters, latent)`.
    pub(crate) centers: Array2<f32>,
    /// Cluster of every sample, s, `(n_samples)`.
    pub labels: Vec<usize>,
    /// Ages and the samples they select.
    pub(crate) pace: Pace,
    /// Number of finished rounds.
    pub(crate) rounds_done: usize,
    /// Whether the stopping rule holds.
    pub(crate) settled: bool,
}

/// Numbers of one round of Algorithm 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Round {
    /// Mean clustering loss of all samples after the round.
    pub loss: f64,
    /// Mean age over the samples after the round (eq. 9).
    pub age: f64,
    /// Number of samples selected for the next round (eq. 15).
    pub selected: usize,
    /// Share of samples whose cluster changed in the round: 1 - (1/n) sum of S^t S^(t-1) (Algorithm 1).
    pub labels_changed: f64,
}

impl Finetuning {
    /// Returns the initial state of Algorithm 1: `centers`, `(n_clusters, latent)`, and `labels` from k-means on the
    /// pre-trained latents, with every sample selected.
    pub fn new(centers: Array2<f32>, labels: Vec<usize>) -> Self {
        let pace = Pace::all(labels.len(), centers.nrows());
        Self { centers, labels, pace, rounds_done: 0, settled: false }
    }

    /// Takes one round of Algorithm 1 on `trainer`; returns `None` when it has ended.
    ///
    /// The optimizer must have been started with [`Finetune::optimizer`] before the first round.
    ///
    /// # Errors
    /// If the engine fails or a loss is NaN.
    pub fn round(
        &mut self,
        trainer: &mut dyn Trainer,
        net: &CdimcNet,
    ) -> Result<Option<Round>, ClusterError> {
        let (settings, advanced) = (&net.finetune, &net.advanced);
        if self.has_ended(settings) {
            return Ok(None);
        }
        self.update_network(trainer, net)?;
        let Assignment { labels, losses, .. } =
            Assignment::new(trainer.embed()?.view(), self.centers.view());
        let loss = losses.iter().sum::<f64>() / losses.len() as f64;
        self.refuse_nan(loss)?;
        let changed = labels.iter().zip(&self.labels).filter(|(after, before)| after != before);
        let labels_changed = changed.count() as f64 / labels.len() as f64;
        self.labels = labels;
        if settings.self_paced {
            let rule = (advanced.age_rule, settings.age_scope);
            self.pace.update(rule, (&losses, &self.labels), (self.rounds_done, settings.rounds));
        }
        self.rounds_done += 1;
        self.settled =
            self.rounds_done >= advanced.minimum_rounds && labels_changed < MIN_MOVED_SHARE;
        let selected = self.pace.selected.iter().filter(|&&r| r).count();
        let age = self.pace.mean_age(&self.labels);
        Ok(Some(Round { loss, age, selected, labels_changed }))
    }

    /// Returns whether there is no further round.
    pub(crate) fn has_ended(&self, settings: &Finetune) -> bool {
        self.settled || self.rounds_done >= settings.rounds
    }

    /// Trains the encoders for `epochs_per_round` epochs on eq. 11 (step 1).
    fn update_network(
        &self,
        trainer: &mut dyn Trainer,
        net: &CdimcNet,
    ) -> Result<(), ClusterError> {
        let goal = Goal::Clusters(Targets {
            centers: self.centers.view(),
            labels: &self.labels,
            selected: &self.pace.selected,
            normalization: net.advanced.normalization,
        });
        let batches: Vec<_> = batches(0..self.labels.len(), net.batch_size).collect();
        for _ in 0..net.finetune.epochs_per_round {
            self.refuse_nan(trainer.train(&batches, goal)?)?;
        }
        Ok(())
    }

    fn refuse_nan(&self, loss: f64) -> Result<(), ClusterError> {
        if loss.is_finite() {
            Ok(())
        } else {
            Err(ClusterError::Diverged { stage: "finetune", epoch: self.rounds_done })
        }
    }
}

/// Assignment of samples to frozen centers: nearest center, distance and confidence (paper, eq. 13).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Assignment {
    /// Nearest center, s (eq. 13); the smaller number on ties.
    pub(crate) labels: Vec<usize>,
    /// Squared distance to the nearest center, Kloss (eq. 15).
    pub(crate) losses: Vec<f64>,
    /// Squared distance to the second nearest center minus the loss; larger is more certain.
    pub(crate) margins: Vec<f64>,
}

impl Assignment {
    /// Compares the latents `z`, `(n_samples, latent)`, with `centers`, `(n_clusters, latent)`.
    ///
    /// Distances are sums of squared differences in double precision, which are never negative.
    pub(crate) fn new(z: ArrayView2<'_, f32>, centers: ArrayView2<'_, f32>) -> Self {
        let nearest = |z: ArrayView1<'_, f32>| {
            let (mut label, mut first, mut second) = (0, f64::INFINITY, f64::INFINITY);
            for (j, u) in centers.rows().into_iter().enumerate() {
                let differences = z.iter().zip(u).map(|(&z, &u)| f64::from(z) - f64::from(u));
                let distance = differences.map(|d| d.powi(2)).sum::<f64>();
                // A distance that is NaN must not be the smallest.
                if distance < first || distance.is_nan() {
                    (label, second, first) = (j, first, distance);
                } else if distance < second {
                    second = distance;
                }
            }
            (label, first, second - first)
        };
        let (labels, losses, margins) = z.rows().into_iter().map(nearest).collect();
        Self { labels, losses, margins }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn the_nearest_center_is_chosen_and_the_smaller_number_on_ties() {
        let centers = array![[0.0_f32], [4.0], [10.0]];
        let found = Assignment::new(array![[1.0_f32], [2.0], [11.0]].view(), centers.view());
        assert_eq!(found.labels, [0, 0, 2]);
        assert_eq!(found.losses, [1.0, 4.0, 1.0]);
        assert_eq!(found.margins, [8.0, 0.0, 48.0]);
    }

    #[test]
    fn a_latent_that_is_not_a_number_has_no_finite_loss() {
        let centers = array![[0.0_f32], [4.0]];
        let found = Assignment::new(array![[f32::NAN]].view(), centers.view());
        assert!(found.losses[0].is_nan());
    }
}
