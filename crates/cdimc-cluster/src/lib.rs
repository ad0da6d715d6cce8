#![doc = include_str!("../README.md")]

mod centers;
mod checkpoint;
mod contest;
mod finetune;
mod information;
mod input;
mod model;
mod prepared;
mod run;
mod self_paced;
mod training;

pub use centers::Choice;
pub use finetune::{Finetune, Finetuning, Round};
pub use input::Input;
pub use model::CdimcModel;
pub use self_paced::{AgeRule, Scope};
pub use training::Training;

use cdimc_core::{
    ClusterError, Clusterer, Clustering, Cost, Fitted, Observer, RowOrder, ViewAnalysis,
    check::{at_least_one, below_one, not_negative, positive, setting},
    check_n_clusters,
};
use cdimc_data::{MultiView, Seed};
use cdimc_nn::{Architecture, Device, Engine, Normalization, Optimizer};
use contest::Contest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Cognitive deep incomplete multi-view clustering: one autoencoder per view, one latent per sample that is fused from
/// its views, and clusters that are learned from easy samples to hard ones.
///
/// # References
/// J. Wen, Z. Zhang, Y. Xu, B. Zhang, L. Fei, G.-S. Xie, "CDIMC-net: Cognitive Deep Incomplete Multi-view Clustering
/// Network", IJCAI 2020.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct CdimcNet {
    /// Input of the network for every view.
    pub input: Input,
    /// Maximum number of coordinates per view, if `input` is `coordinates`.
    pub directions: usize,
    /// Nearest neighbors of a sample in the graph of a view (eq. 6), below the number of samples.
    pub neighbors: usize,
    /// Weight of the graph term in both losses (eq. 7 and 10). 0: no graph (Figure 3). Of several weights, one is
    /// chosen on the data.
    pub alpha: OneOrMore,
    /// Number of samples per batch.
    pub batch_size: usize,
    /// Device that computes the training steps.
    pub device: Device,
    /// Number of rounds of whole runs, each from new initial weights. After every round the better half of the values
    /// of `alpha` remains, by shared information. The defaults make five runs: two, then one per round. The authors'
    /// code has 1.
    pub restarts: usize,
    /// How the first centers and the last round of fine-tuning are chosen.
    pub choice: Choice,
    /// Pre-training (section 3.4, step 2).
    pub pretrain: Pretrain,
    /// Fine-tuning (section 3.4, step 3).
    pub finetune: Finetune,
    /// Settings that only comparisons with the paper and the authors' code need.
    pub advanced: Advanced,
    /// Chooses coordinates and measures shared information, which the default settings need; not a setting.
    #[serde(skip)]
    pub analysis: Option<Arc<dyn ViewAnalysis>>,
}

/// Settings that only comparisons with the paper and the authors' code need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Advanced {
    /// Order in which the samples are read before k-means arranges them.
    pub order: RowOrder,
    /// Width of the hidden layers, relative to the inputs of a view; by default 0.8 for columns (paper) and 2 for
    /// coordinates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden_ratio: Option<f64>,
    /// Width of the layer next to the latent one; by default 1500 for columns (paper) and 200 for coordinates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wide: Option<usize>,
    /// Whether each decoder starts with a k-to-k layer, as in the authors' code; the paper prints none.
    pub square_decoder_layer: bool,
    /// Engine that computes the training steps; by default the engine of the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<Engine>,
    /// Schedule of the learning rate of pre-training.
    pub decay: Decay,
    /// Fraction of the last step of pre-training that is kept, in [0, 1).
    pub momentum: f64,
    /// Probability with which a view of a sample is left out of the mean of eq. 4 in an epoch of pre-training, in
    /// [0, 1). One view always stays. The paper and the authors' code leave none out.
    pub view_dropout: f64,
    /// How the age selects samples.
    pub age_rule: AgeRule,
    /// Divisor of the clustering term of a batch.
    pub normalization: Normalization,
    /// Rounds of fine-tuning after which a round that moves no sample ends it. In the paper this is 1.
    pub minimum_rounds: usize,
}

/// One value, or several values to choose from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMore {
    /// One value.
    One(f64),
    /// Several values to choose from.
    Several(Vec<f64>),
}

impl OneOrMore {
    /// Returns all values.
    pub fn values(&self) -> &[f64] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Several(values) => values,
        }
    }
}

/// Settings of pre-training by stochastic gradient descent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Pretrain {
    /// Number of epochs. With 0 fine-tuning starts from the initial weights (Figure 3).
    pub epochs: usize,
    /// Learning rate of the first epoch. The authors' code has 0.01.
    pub learning_rate: f64,
}

/// Schedule of the learning rate over the epochs of pre-training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Decay {
    /// Decreases linearly, to 0 after the last epoch.
    #[default]
    Linear,
    /// Constant (authors' code).
    None,
}

impl Default for CdimcNet {
    fn default() -> Self {
        Self {
            input: Input::Coordinates,
            directions: 40,
            neighbors: 10,
            alpha: OneOrMore::Several(vec![0.01, 0.1]),
            batch_size: 128,
            device: Device::Cpu,
            restarts: 4,
            choice: Choice::SharedInformation,
            pretrain: Pretrain::default(),
            finetune: Finetune::default(),
            advanced: Advanced::default(),
            analysis: None,
        }
    }
}

impl Default for Advanced {
    fn default() -> Self {
        Self {
            order: RowOrder::Shuffled,
            hidden_ratio: None,
            wide: None,
            square_decoder_layer: false,
            engine: None,
            decay: Decay::Linear,
            momentum: 0.95,
            view_dropout: 0.5,
            age_rule: AgeRule::Code,
            normalization: Normalization::Selected,
            minimum_rounds: 81,
        }
    }
}

impl Default for Pretrain {
    fn default() -> Self {
        Self { epochs: 400, learning_rate: 0.02 }
    }
}

impl CdimcNet {
    /// Name of the method on the command line.
    pub const NAME: &'static str = "cdimc-net";

    /// Returns the settings of the authors' code: standardized columns, one run, one age for all samples, and the
    /// k-means of least inertia.
    pub fn authors_code() -> Self {
        Self {
            input: Input::Columns,
            alpha: OneOrMore::One(1e-3),
            restarts: 1,
            choice: Choice::Inertia,
            pretrain: Pretrain { epochs: 500, learning_rate: 0.01 },
            finetune: Finetune { rounds: 100, age_scope: Scope::All, ..Finetune::default() },
            advanced: Advanced {
                square_decoder_layer: true,
                decay: Decay::None,
                view_dropout: 0.0,
                ..Advanced::default()
            },
            ..Self::default()
        }
    }

    /// Adds an analysis of what views share, such as `TMixture::default()`.
    #[must_use]
    pub fn with_analysis(self, analysis: impl ViewAnalysis + 'static) -> Self {
        Self { analysis: Some(Arc::new(analysis)), ..self }
    }

    /// Same as [`Clusterer::fit`], but returns the model as its own type.
    ///
    /// # Errors
    /// Same as [`Clusterer::fit`].
    pub fn train(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<(CdimcModel, Clustering), ClusterError> {
        observer.step("prepare", 0, 1, None)?;
        let training = self.start(data, n_clusters, seed, observer)?;
        observer.step("prepare", 1, 1, None)?;
        training.run(observer)
    }

    /// Prepares the training, which the caller then runs step by step (section 3.4, step 1).
    ///
    /// # Errors
    /// If a setting is out of range, `n_clusters` is not in `2..=n_samples`, `neighbors` is not below
    /// `n_samples`, a view has fewer than two observed samples, there is no such device, or `observer` stops it.
    pub fn start(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Training, ClusterError> {
        self.check()?;
        check_n_clusters(n_clusters, data.n_samples())?;
        self.applies(data, n_clusters)?;
        Training::new(self.clone(), data, (n_clusters, seed), observer)
    }

    /// Returns whether shared information chooses runs, centers or rounds.
    pub(crate) fn chooses(&self) -> bool {
        let n_runs = self.restarts.max(self.alpha.values().len());
        n_runs > 1 || self.choice == Choice::SharedInformation
    }

    /// Returns the widths of the layers.
    pub(crate) fn layer_widths(&self) -> Architecture {
        let (hidden_ratio, wide) = match self.input {
            Input::Columns => (0.8, 1500),
            Input::Coordinates => (2.0, 200),
        };
        Architecture {
            hidden_ratio: self.advanced.hidden_ratio.unwrap_or(hidden_ratio),
            wide: self.advanced.wide.unwrap_or(wide),
            square_decoder_layer: self.advanced.square_decoder_layer,
        }
    }

    /// Returns the maximum number of parameters of the network.
    fn n_parameters(&self, data: &MultiView, n_clusters: usize) -> u128 {
        let n_inputs = |width: usize| match self.input {
            Input::Columns => width,
            // A view of few more columns keeps them all.
            Input::Coordinates => width.min(self.directions + 1),
        };
        let widths: Vec<usize> = data.widths().into_iter().map(n_inputs).collect();
        self.layer_widths().n_parameters(&widths, n_clusters)
    }

    /// Returns the engine that computes the training steps.
    pub fn engine(&self) -> Engine {
        self.advanced.engine.unwrap_or_else(|| self.device.engine())
    }

    /// Returns the optimizer of pre-training: SGD (section 3.3), by default with the momentum of the authors' code.
    pub(crate) fn pretrain_optimizer(&self) -> Optimizer {
        let (learning_rate, momentum) = (self.pretrain.learning_rate, self.advanced.momentum);
        Optimizer::Sgd { learning_rate, momentum }
    }

    /// Returns the learning rate in an epoch of pre-training, counted from 0.
    pub(crate) fn learning_rate_in(&self, epoch: usize) -> f64 {
        let Pretrain { epochs, learning_rate } = self.pretrain;
        match self.advanced.decay {
            Decay::Linear => learning_rate * (1.0 - epoch as f64 / epochs as f64),
            Decay::None => learning_rate,
        }
    }
}

impl Clusterer for CdimcNet {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn check(&self) -> Result<(), ClusterError> {
        let Architecture { hidden_ratio, wide, .. } = self.layer_widths();
        at_least_one(&[
            ("neighbors", self.neighbors),
            ("directions", self.directions),
            ("values of alpha", self.alpha.values().len()),
            ("batch-size", self.batch_size),
            ("restarts", self.restarts),
            ("advanced.wide", wide),
            ("finetune.epochs-per-round", self.finetune.epochs_per_round),
        ])?;
        self.alpha.values().iter().try_for_each(|&alpha| not_negative("alpha", alpha))?;
        positive("advanced.hidden-ratio", hidden_ratio)?;
        positive("pretrain.learning-rate", self.pretrain.learning_rate)?;
        below_one("advanced.momentum", self.advanced.momentum)?;
        below_one("advanced.view-dropout", self.advanced.view_dropout)?;
        positive("finetune.learning-rate", self.finetune.learning_rate)?;
        let needs_analysis = self.input == Input::Coordinates || self.chooses();
        let rule = "is needed for coordinates and choices on the data: call \
                    CdimcNet::with_analysis(TMixture::default())";
        setting("analysis", "none", rule, |_| self.analysis.is_some() || !needs_analysis)
    }

    fn applies(&self, data: &MultiView, n_clusters: usize) -> Result<(), ClusterError> {
        // A view with fewer observed rows connects them all; in a whole table so few rows are a mistake.
        let rule = "must be less than the number of samples";
        setting("neighbors", self.neighbors, rule, |&n| n < data.n_samples())?;
        let n_parameters = self.n_parameters(data, n_clusters);
        let rule = "must be at most 2147483648: take a smaller wide or hidden-ratio, or input = \
                    \"coordinates\"";
        setting("parameters of the architecture", n_parameters, rule, |&n| n <= 1 << 31)?;
        let is_alone = |&view: &usize| data.mask().n_observed(view) < 2;
        let Some(view) = (0..data.n_views()).find(is_alone) else { return Ok(()) };
        let reason = format!(
            "view {view} has 1 observed sample, which has neither a deviation nor a neighbor: at \
             least 2 are needed, or leave the view out"
        );
        Err(ClusterError::Inapplicable { method: Self::NAME, reason })
    }

    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Fitted, ClusterError> {
        Ok(self.train(data, n_clusters, seed, observer)?.into())
    }

    fn resume(
        &self,
        checkpoint: &[u8],
        data: &MultiView,
        observer: &dyn Observer,
    ) -> Result<Fitted, ClusterError> {
        let training = Training::resume(data, checkpoint, self.analysis.clone(), observer)?;
        if training.settings() != self {
            let reason = "the checkpoint was made with other settings: the same are needed";
            return Err(ClusterError::Model(reason.into()));
        }
        Ok(training.run(observer)?.into())
    }

    /// Memory: every parameter has a value and two moments of the optimizer. Encoders, which are half of the
    /// parameters, also have their values after pre-training and after the best round, and in the answer so far. An
    /// interruption adds the arrays of a checkpoint and its bytes. Time: an epoch multiplies and adds three times per
    /// parameter and sample.
    fn cost(&self, data: &MultiView, n_clusters: usize) -> Option<Cost> {
        let parameters = self.n_parameters(data, n_clusters) as f64;
        let finetune = &self.finetune;
        let epochs =
            self.pretrain.epochs as f64 + finetune.rounds as f64 * finetune.epochs_per_round as f64;
        let runs = Contest::new(self, data.mask().shares_samples()).n_runs() as f64;
        let values: usize =
            (0..data.n_views()).map(|v| data.mask().n_observed(v) * data.width(v)).sum();
        // Bytes of a number in single precision, and of the weights, moments and answer per parameter.
        let (single, copies) = (4.0, 5.5);
        Some(Cost {
            bytes: single * (3.0 * copies * parameters + 2.0 * values as f64),
            operations: runs * 6.0 * parameters * epochs * data.n_samples() as f64,
        })
    }

    /// Uses a fifth of the epochs and rounds, and one round of runs.
    fn shortened(&self) -> Option<Box<dyn Clusterer>> {
        let mut net = Self { restarts: 1, ..self.clone() };
        net.pretrain.epochs = net.pretrain.epochs.div_ceil(5);
        net.finetune.rounds = net.finetune.rounds.div_ceil(5);
        Some(Box::new(net))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learning_rates_decrease_linearly_except_in_the_authors_code() {
        let pretrain = Pretrain { epochs: 4, learning_rate: 0.5 };
        let falling = CdimcNet { pretrain, ..CdimcNet::default() };
        let lengths: Vec<f64> = (0..4).map(|epoch| falling.learning_rate_in(epoch)).collect();
        assert_eq!(lengths, [0.5, 0.375, 0.25, 0.125]);
        let constant = CdimcNet::authors_code();
        assert!((0..500).all(|epoch| constant.learning_rate_in(epoch) == 0.01));
    }
}
