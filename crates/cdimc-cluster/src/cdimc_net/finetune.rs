//! Self-paced fine-tuning of the network and the assignment to frozen centers (paper, Algorithm 1).

use crate::{AgeRule, Assignment, Pace};
use cdimc_core::{
    ClusterError,
    check::{at_least_one, positive, setting},
};
use cdimc_nn::{Normalization, Optimizer, Targets, Trainer, batches};
use ndarray::Array2;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of Algorithm 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Finetune {
    /// Most rounds, T. With 0 the first clusters on the pre-trained latents are the result.
    pub rounds: usize,
    /// Epochs of network training in a round, Maxiter.
    pub epochs_per_round: usize,
    /// Which optimizer updates the encoders; Adam (paper, section 4.1).
    pub optimizer: FinetuneOptimizer,
    /// Its step length.
    pub learning_rate: f64,
    /// Whether samples enter from easy to hard; without, all count in every round (paper, Figure 3).
    pub self_paced: bool,
    /// How the age grows and what it lets in.
    pub age: AgeRule,
    /// What the clustering term of a batch is divided by.
    pub normalization: Normalization,
    /// The training stops when the share of samples that changed cluster in a round is below this, xi;
    /// 1e-7, so that none may change.
    pub stop_tolerance: f64,
    /// Rounds before that rule applies; 81. In the paper it applies after every round, which is 1.
    pub minimum_rounds: usize,
}

/// The optimizer of fine-tuning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FinetuneOptimizer {
    /// Adam with the usual decays 0.9 and 0.999 and epsilon 1e-8 (paper, section 4.1; authors' code).
    #[default]
    Adam,
    /// Stochastic gradient descent without momentum (paper, section 3.3).
    Sgd,
}

impl Default for Finetune {
    fn default() -> Self {
        Self {
            rounds: 20,
            epochs_per_round: 7,
            optimizer: FinetuneOptimizer::Adam,
            learning_rate: 1e-4,
            self_paced: true,
            age: AgeRule::default(),
            normalization: Normalization::Selected,
            stop_tolerance: 1e-7,
            minimum_rounds: 81,
        }
    }
}

impl Finetune {
    /// Checks every setting.
    ///
    /// # Errors
    /// If one is out of range.
    pub fn check(&self) -> Result<(), ClusterError> {
        at_least_one(&[("finetune.epochs-per-round", self.epochs_per_round)])?;
        positive("finetune.learning-rate", self.learning_rate)?;
        setting("finetune.stop-tolerance", self.stop_tolerance, "must be at least 0", |x| *x >= 0.0)
    }

    /// The optimizer as the engines know it.
    pub fn optimizer(&self) -> Optimizer {
        let learning_rate = self.learning_rate;
        match self.optimizer {
            FinetuneOptimizer::Adam => {
                Optimizer::Adam { learning_rate, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
            }
            FinetuneOptimizer::Sgd => Optimizer::Sgd { learning_rate, momentum: 0.0 },
        }
    }
}

/// Algorithm 1 between two rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Finetuning {
    /// The frozen centers U, `(n_clusters, latent)`.
    pub centers: Array2<f32>,
    /// The cluster of every sample, s, `(n_samples)`.
    pub labels: Vec<usize>,
    /// The age and the samples it lets in.
    pub pace: Pace,
    /// Rounds done.
    pub rounds_done: usize,
    /// Whether the stopping rule has held.
    pub settled: bool,
}

/// What one round of Algorithm 1 did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Round {
    /// The mean clustering loss of all samples after it.
    pub loss: f64,
    /// The mean age over the samples after it (eq. 9).
    pub age: f64,
    /// Number of samples selected for the next round (eq. 15).
    pub selected: usize,
    /// Share of samples whose cluster changed in it.
    pub labels_changed: f64,
}

impl Finetuning {
    /// The initialization of Algorithm 1: `centers`, `(n_clusters, latent)`, and `labels` from the
    /// k-means on the pre-trained latents, and every sample selected.
    pub fn new(centers: Array2<f32>, labels: Vec<usize>) -> Self {
        let pace = Pace::all(labels.len(), centers.nrows());
        Self { centers, labels, pace, rounds_done: 0, settled: false }
    }

    /// One round of Algorithm 1 on `trainer`, in batches of `batch_size`; `None` when it has ended.
    ///
    /// The optimizer must have been started with [`Finetune::optimizer`] before the first round.
    ///
    /// # Errors
    /// If the engine fails or a loss is not a number.
    pub fn round(
        &mut self,
        trainer: &mut dyn Trainer,
        settings: &Finetune,
        batch_size: usize,
    ) -> Result<Option<Round>, ClusterError> {
        if self.settled || self.rounds_done >= settings.rounds {
            return Ok(None);
        }
        self.update_network(trainer, settings, batch_size)?;
        let assignment = Assignment::new(trainer.embed()?.view(), self.centers.view());
        let loss = assignment.mean_loss();
        self.refuse_nan(loss)?;
        let labels_changed = share_changed(&self.labels, &assignment.labels);
        self.labels = assignment.labels;
        if settings.self_paced {
            let (round, rounds) = (self.rounds_done, settings.rounds);
            let losses = (assignment.losses.as_slice(), self.labels.as_slice());
            self.pace.update(settings.age, losses, (round, rounds));
        }
        self.rounds_done += 1;
        self.settled =
            self.rounds_done >= settings.minimum_rounds && labels_changed < settings.stop_tolerance;
        let selected = self.pace.n_selected();
        let age = self.pace.mean_age(&self.labels);
        Ok(Some(Round { loss, age, selected, labels_changed }))
    }

    /// Step 1: the encoders take `epochs_per_round` epochs on eq. 11.
    fn update_network(
        &self,
        trainer: &mut dyn Trainer,
        settings: &Finetune,
        batch_size: usize,
    ) -> Result<(), ClusterError> {
        let targets = Targets {
            centers: self.centers.view(),
            labels: &self.labels,
            selected: &self.pace.selected,
            normalization: settings.normalization,
        };
        for _ in 0..settings.epochs_per_round {
            for batch in batches(0..self.labels.len(), batch_size) {
                self.refuse_nan(trainer.finetune_step(batch, targets)?)?;
            }
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

/// Share of samples whose cluster differs: 1 - (1/n) sum of S^t S^(t-1) (Algorithm 1).
fn share_changed(before: &[usize], after: &[usize]) -> f64 {
    let changed = before.iter().zip(after).filter(|(b, a)| b != a).count();
    changed as f64 / before.len() as f64
}
