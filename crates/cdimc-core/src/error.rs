//! Errors of clustering methods.

use cdimc_data::DataError;
use std::error::Error;

/// Error of a clustering method; every message gives the value and the rule.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The data are unusable.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A part of the method failed, such as its graph, its network or a decomposition.
    #[error(transparent)]
    Part(Box<dyn Error + Send + Sync>),
    /// The number of clusters is impossible.
    #[error("clusters = {n_clusters}: must lie in 2..={n_samples}, the number of samples")]
    ClusterCount {
        /// Requested number of clusters.
        n_clusters: usize,
        /// Number of samples.
        n_samples: usize,
    },
    /// A setting is out of range.
    #[error("{name} = {value}: {rule}")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// Value of the setting.
        value: String,
        /// Rule that the value breaks.
        rule: &'static str,
    },
    /// The method cannot treat such data.
    #[error("{method} does not apply: {reason}")]
    Inapplicable {
        /// Name of the method.
        method: &'static str,
        /// Reason.
        reason: String,
    },
    /// A loss or iterate became NaN or infinite.
    #[error(
        "{stage} diverged in epoch {epoch}: the loss is not a number; try a smaller learning rate"
    )]
    Diverged {
        /// Stage: `pretrain`, `finetune`, or the name of an iteration.
        stage: &'static str,
        /// Epoch or iteration, from 0.
        epoch: usize,
    },
    /// The result of a method is unusable.
    #[error("{method} found nothing usable: {reason}")]
    Unusable {
        /// Name of the method.
        method: &'static str,
        /// Reason.
        reason: String,
    },
    /// The observer stopped the method.
    #[error("interrupted")]
    Interrupted {
        /// Input of [`Clusterer::resume`](crate::Clusterer::resume), if the method has checkpoints.
        checkpoint: Option<Vec<u8>>,
    },
    /// A model or checkpoint file is unusable.
    #[error("{0}")]
    Model(String),
}
