//! Why a method can fail to give a clustering.

use cdimc_data::DataError;
use std::error::Error;

/// The ways a method can fail; every message states the rule and the value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// Unusable data.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A part of the method failed, such as its graph or its network.
    #[error(transparent)]
    Part(Box<dyn Error + Send + Sync>),
    /// A number of clusters that no partition has.
    #[error("clusters = {n_clusters}: must lie in 2..={n_samples}, the number of samples")]
    ClusterCount {
        /// Clusters asked for.
        n_clusters: usize,
        /// Samples of the data.
        n_samples: usize,
    },
    /// A setting outside its range.
    #[error("{name} = {value}: {rule}")]
    Setting {
        /// The setting's name.
        name: &'static str,
        /// Its value.
        value: String,
        /// What it must obey.
        rule: &'static str,
    },
    /// Data that the method is not made for.
    #[error("{method} does not apply: {reason}")]
    Inapplicable {
        /// The method's name.
        method: &'static str,
        /// Why not.
        reason: String,
    },
    /// A loss or iterate stopped being a number.
    #[error(
        "{stage} diverged in epoch {epoch}: the loss is not a number; try a smaller learning rate"
    )]
    Diverged {
        /// The stage: `pretrain`, `finetune`, or an iteration's name.
        stage: &'static str,
        /// 0-based epoch or iteration.
        epoch: usize,
    },
    /// A decomposition did not converge.
    #[error("{method}: {operation} failed on a {rows} x {columns} matrix")]
    LinearAlgebra {
        /// The method's name.
        method: &'static str,
        /// The decomposition.
        operation: &'static str,
        /// Rows of its operand.
        rows: usize,
        /// Columns of its operand.
        columns: usize,
    },
    /// What a method found is of no use.
    #[error("{method} found nothing usable: {reason}")]
    Unusable {
        /// The method's name.
        method: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The observer stopped the method.
    #[error("interrupted")]
    Interrupted {
        /// What [`Clusterer::resume`](crate::Clusterer::resume) resumes from, where the method has it.
        checkpoint: Option<Vec<u8>>,
    },
    /// Another number of views than the model's.
    #[error("views = {found}: the model was made for {expected}")]
    ModelViews {
        /// Views of the model.
        expected: usize,
        /// Views given.
        found: usize,
    },
    /// A view of another width than the model's.
    #[error("view {view} has {found} features, the model was made for {expected}")]
    ModelWidth {
        /// 0-based view of the model.
        view: usize,
        /// Features the model takes.
        expected: usize,
        /// Features given.
        found: usize,
    },
    /// A model or checkpoint file that cannot be used.
    #[error("{0}")]
    Model(String),
}
