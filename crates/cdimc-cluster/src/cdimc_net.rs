//! CDIMC-net: its settings and its one verb; below it the parts of the method.
//!
//! J. Wen, Z. Zhang, Y. Xu, B. Zhang, L. Fei, G.-S. Xie, "CDIMC-net: Cognitive Deep Incomplete Multi-view
//! Clustering Network", IJCAI 2020. Constants that the paper leaves open are those of the authors' code,
//! but for the number and the steps of pre-trainings, the choice of centers, and a fine-tuning that loses what the views
//! share, which is undone.

mod archived_weights;
mod arrange;
mod assignment;
mod centers;
mod checkpoint;
mod finetune;
mod model;
mod self_paced;
mod training;

pub use arrange::Arrangement;
pub use assignment::Assignment;
pub use centers::Choice;
pub use finetune::{Finetune, FinetuneOptimizer, Finetuning, Round};
pub use model::CdimcModel;
pub use self_paced::{AgeRule, Comparison, Deviation, FirstRound, Pace, Update};
pub use training::{Stage, Training};

use crate::components::{Components, n_directions};
use cdimc_core::{
    ClusterError, Clusterer, Clustering, Cost, Fitted, KMeans, Observer, RowOrder,
    check::{at_least_one, below_one, not_negative, positive, setting},
    check_n_clusters,
};
use cdimc_data::{MultiView, Seed};
use cdimc_nn::{Architecture, Device, Engine, Optimizer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cognitive deep incomplete multi-view clustering: an encoder a view, one latent a sample, fused from the views that it
/// has, and clusters that are learned from easy samples to hard ones.
///
/// ```
/// use cdimc_core::Clusterer;
/// use cdimc_cluster::{CdimcNet, Pretrain};
/// let net = CdimcNet { batch_size: 256, ..CdimcNet::default() };
/// assert!(net.check().is_ok());
/// let net = CdimcNet { pretrain: Pretrain { momentum: 1.5, ..Pretrain::default() }, ..net };
/// assert_eq!(net.check().unwrap_err().to_string(), "pretrain.momentum = 1.5: must lie in [0, 1)");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct CdimcNet {
    /// The order in which the samples are read before they are arranged; shuffled.
    pub order: RowOrder,
    /// How they are put in training order; in blocks of a k-means (paper, section 3.4, step 1).
    pub arrangement: Arrangement,
    /// Nearest neighbors of a sample in the graph of a view (eq. 6), below the number of samples; 10.
    pub neighbors: usize,
    /// Weight of the graph term in both losses (eq. 7 and 10); 0.001. With 0 there is no graph (Figure 3).
    pub alpha: f64,
    /// Samples in a batch; 128.
    pub batch_size: usize,
    /// Leading directions to which a wider view is reduced before the network; by default 128 for a view with
    /// more columns than there are samples, and none for others. With 0 every view keeps its columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub components: Option<usize>,
    /// The widths of the layers.
    pub architecture: Architecture,
    /// What computes the training steps; by default the device's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<Engine>,
    /// Where they are computed; on the processor.
    pub device: Device,
    /// Pre-trainings, each from weights of its own; the one on whose first clusters the views agree most is fine-tuned.
    /// 3; the authors' code has 1.
    pub restarts: usize,
    /// Pre-training (section 3.4, step 2).
    pub pretrain: Pretrain,
    /// The k-means of the arrangement and of the first centers.
    pub kmeans: KMeansSettings,
    /// Fine-tuning (section 3.4, step 3).
    pub finetune: Finetune,
}

/// The settings of pre-training by stochastic gradient descent; the defaults are the authors' code, but for the step length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Pretrain {
    /// Passes over the samples; 500. With 0 fine-tuning starts from the initial weights (Figure 3).
    pub epochs: usize,
    /// Step length at first; 0.03. The authors' code has 0.01.
    pub learning_rate: f64,
    /// How the step length falls from epoch to epoch; linearly. The authors' code keeps it.
    pub decay: Decay,
    /// Share of the last step that is kept, in [0, 1); 0.95.
    pub momentum: f64,
}

/// How the step length falls over the epochs of a pre-training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Decay {
    /// In equal parts, to nothing after the last.
    #[default]
    Linear,
    /// It does not (authors' code).
    None,
}

/// The settings of k-means; the number of clusters comes with the data. The defaults are the authors' code, but for the
/// choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct KMeansSettings {
    /// Starts, of which the best is kept; 20.
    pub restarts: usize,
    /// Most iterations of a start; 300.
    pub max_iterations: usize,
    /// Movement of the centers that ends a start, relative to the variance; 1e-4.
    pub tolerance: f64,
    /// How the first centers of fine-tuning are chosen; by what the views share.
    pub choice: Choice,
}

impl Default for CdimcNet {
    fn default() -> Self {
        Self {
            order: RowOrder::Shuffled,
            arrangement: Arrangement::KmeansBlocks,
            neighbors: 10,
            alpha: 1e-3,
            batch_size: 128,
            components: None,
            architecture: Architecture::default(),
            engine: None,
            device: Device::Cpu,
            restarts: 3,
            pretrain: Pretrain::default(),
            kmeans: KMeansSettings::default(),
            finetune: Finetune::default(),
        }
    }
}

impl Default for Pretrain {
    fn default() -> Self {
        Self { epochs: 500, learning_rate: 0.03, decay: Decay::Linear, momentum: 0.95 }
    }
}

impl Default for KMeansSettings {
    fn default() -> Self {
        Self { restarts: 20, max_iterations: 300, tolerance: 1e-4, choice: Choice::default() }
    }
}

impl CdimcNet {
    /// The name of the method on the command line.
    pub const NAME: &'static str = "cdimc-net";

    /// The settings of the authors' code: one pre-training by steps of one length, and the k-means of least inertia.
    pub fn authors_code() -> Self {
        let pretrain = Pretrain { learning_rate: 0.01, decay: Decay::None, ..Pretrain::default() };
        let kmeans = KMeansSettings { choice: Choice::Inertia, ..KMeansSettings::default() };
        Self { restarts: 1, pretrain, kmeans, ..Self::default() }
    }

    /// As [`Clusterer::fit`], the model by its own type.
    ///
    /// # Errors
    /// As [`Clusterer::fit`].
    pub fn train(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &Observer<'_>,
    ) -> Result<(CdimcModel, Clustering), ClusterError> {
        observer.step("prepare", 0, 1, None)?;
        let training = self.start(data, n_clusters, seed)?; // shuffle, arrange, graphs
        observer.step("prepare", 1, 1, None)?;
        training.run(observer) // pre-train and k-means, each several times, fine-tune the best, undo the order
    }

    /// Prepares the training, which then goes step by step at the caller's pace (section 3.4, step 1).
    ///
    /// # Errors
    /// If a setting is out of range, `n_clusters` is not in `2..=n_samples`, `neighbors` is not below
    /// `n_samples`, a view has fewer than two observed samples, or there is no such device.
    pub fn start(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
    ) -> Result<Training, ClusterError> {
        self.check()?;
        check_n_clusters(n_clusters, data.n_samples())?;
        self.applies(data, n_clusters)?;
        Training::new(self.clone(), data, n_clusters, seed)
    }

    /// What the network reads of every view of `data`: its columns, or directions of them.
    pub(crate) fn input_widths(&self, data: &MultiView) -> Vec<usize> {
        let width = |view| n_directions(self.components, data, view).unwrap_or(data.width(view));
        (0..data.n_views()).map(width).collect()
    }

    /// The engine that will compute the training steps.
    pub fn engine(&self) -> Engine {
        self.engine.unwrap_or_else(|| self.device.engine())
    }
}

impl Pretrain {
    /// The optimizer as the engines know it.
    pub fn optimizer(&self) -> Optimizer {
        Optimizer::Sgd { learning_rate: self.learning_rate, momentum: self.momentum }
    }

    /// The step length in an epoch, the first being 0.
    pub(crate) fn learning_rate_in(&self, epoch: usize) -> f64 {
        match self.decay {
            Decay::Linear => self.learning_rate * (1.0 - epoch as f64 / self.epochs as f64),
            Decay::None => self.learning_rate,
        }
    }
}

impl KMeansSettings {
    /// The k-means into `n_clusters` clusters.
    pub fn with_clusters(&self, n_clusters: usize) -> KMeans {
        KMeans {
            n_clusters,
            restarts: self.restarts,
            max_iterations: self.max_iterations,
            tolerance: self.tolerance,
        }
    }
}

impl Clusterer for CdimcNet {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn check(&self) -> Result<(), ClusterError> {
        at_least_one(&[("neighbors", self.neighbors)])?;
        not_negative("alpha", self.alpha)?;
        at_least_one(&[("batch-size", self.batch_size), ("restarts", self.restarts)])?;
        positive("architecture.hidden-ratio", self.architecture.hidden_ratio)?;
        at_least_one(&[("architecture.wide", self.architecture.wide)])?;
        positive("pretrain.learning-rate", self.pretrain.learning_rate)?;
        below_one("pretrain.momentum", self.pretrain.momentum)?;
        at_least_one(&[
            ("kmeans.restarts", self.kmeans.restarts),
            ("kmeans.max-iterations", self.kmeans.max_iterations),
        ])?;
        // All starts are in memory together.
        setting("kmeans.restarts", self.kmeans.restarts, "must be at most 10000", |&n| {
            n <= 10_000
        })?;
        not_negative("kmeans.tolerance", self.kmeans.tolerance)?;
        self.finetune.check()
    }

    fn applies(&self, data: &MultiView, n_clusters: usize) -> Result<(), ClusterError> {
        // A view with fewer observed rows joins them all; a whole table that small is a mistake.
        setting(
            "neighbors",
            self.neighbors,
            "must be less than the number of samples",
            |&neighbors| neighbors < data.n_samples(),
        )?;
        setting(
            "parameters of the architecture",
            self.architecture.n_parameters(&self.input_widths(data), n_clusters),
            "must be at most 2147483648: take a smaller wide or hidden-ratio, or fewer components",
            |&n| n <= 1 << 31,
        )?;
        match (0..data.n_views()).find(|&view| data.mask().n_observed(view) < 2) {
            Some(view) => Err(ClusterError::Inapplicable {
                method: Self::NAME,
                reason: format!(
                    "view {view} has 1 observed sample, which has neither a deviation nor a \
                     neighbor: at least 2 are needed, or leave the view out"
                ),
            }),
            None => Ok(()),
        }
    }

    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &Observer<'_>,
    ) -> Result<Fitted, ClusterError> {
        Ok(fitted(self.train(data, n_clusters, seed, observer)?))
    }

    fn resume(
        &self,
        checkpoint: &[u8],
        data: &MultiView,
        observer: &Observer<'_>,
    ) -> Result<Fitted, ClusterError> {
        let training = Training::resume(data, checkpoint)?;
        if training.settings() != self {
            let reason = "the checkpoint was made with other settings: the same are needed";
            return Err(ClusterError::Model(reason.into()));
        }
        let fitted = fitted(training.run(observer)?);
        fitted.clustering.check(Self::NAME)?;
        Ok(fitted)
    }

    /// Of every parameter there are the weight and two moments of the optimizer, and of the encoders, which are half
    /// of them, the weight after pre-training: in training, and when it is interrupted as the arrays of a checkpoint
    /// and as its bytes too. An epoch multiplies and adds three times with each parameter for every sample. Views
    /// are reduced one after the other.
    fn cost(&self, data: &MultiView, n_clusters: usize) -> Option<Cost> {
        let parameters =
            self.architecture.n_parameters(&self.input_widths(data), n_clusters) as f64;
        let epochs = self.restarts as f64 * self.pretrain.epochs as f64
            + self.finetune.rounds as f64 * self.finetune.epochs_per_round as f64;
        let values: usize =
            (0..data.n_views()).map(|v| data.mask().n_observed(v) * data.width(v)).sum();
        let reduction = |view| {
            let n = n_directions(self.components, data, view)?;
            Some(Components::cost(data.mask().n_observed(view), data.width(view), n))
        };
        let reductions: Vec<Cost> = (0..data.n_views()).filter_map(reduction).collect();
        let largest = reductions.iter().map(|cost| cost.bytes).fold(0.0, f64::max);
        let reducing: f64 = reductions.iter().map(|cost| cost.operations).sum();
        Some(Cost {
            bytes: 3.0 * 3.5 * 4.0 * parameters + 3.0 * 4.0 * values as f64 + largest,
            operations: 6.0 * parameters * data.n_samples() as f64 * epochs + reducing,
        })
    }

    /// A fifth of the epochs and rounds, and one pre-training.
    fn shortened(&self) -> Option<Box<dyn Clusterer>> {
        let mut net = Self { restarts: 1, ..self.clone() };
        net.pretrain.epochs = net.pretrain.epochs.div_ceil(5);
        net.finetune.rounds = net.finetune.rounds.div_ceil(5);
        Some(Box::new(net))
    }
}

fn fitted((model, clustering): (CdimcModel, Clustering)) -> Fitted {
    Fitted { clustering, model: Some(Box::new(model)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_fall_in_equal_parts_and_those_of_the_authors_code_do_not() {
        let falling = Pretrain { epochs: 4, learning_rate: 0.5, ..Pretrain::default() };
        let lengths: Vec<f64> = (0..4).map(|epoch| falling.learning_rate_in(epoch)).collect();
        assert_eq!(lengths, [0.5, 0.375, 0.25, 0.125]);
        let constant = CdimcNet::authors_code().pretrain;
        assert!((0..500).all(|epoch| constant.learning_rate_in(epoch) == 0.01));
    }
}
