//! What can go wrong in the network.

use cdimc_core::ClusterError;

/// The ways a network cannot be built or trained; every message states the rule and the value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NnError {
    /// candle refused an operation.
    #[error("tensor operation: {0}")]
    Tensor(#[from] candle_core::Error),
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
    /// Data of other widths than the network's.
    #[error("view {view} has {found} features, the network was made for {expected}")]
    Width {
        /// 0-based view.
        view: usize,
        /// Features the network takes.
        expected: usize,
        /// Features given.
        found: usize,
    },
    /// Another number of views than the network's.
    #[error("views = {found}: the network was made for {expected}")]
    Views {
        /// Views the network takes.
        expected: usize,
        /// Views given.
        found: usize,
    },
    /// A device that this build or machine does not have.
    #[error("device {device}: {reason}")]
    Device {
        /// The device asked for.
        device: String,
        /// Why there is none.
        reason: String,
    },
    /// Parts of different sizes that belong together.
    #[error("{what} = {found}: must be {expected}")]
    Shape {
        /// What was counted.
        what: &'static str,
        /// What it must be.
        expected: usize,
        /// What it is.
        found: usize,
    },
    /// Observed rows that are not a set of samples.
    #[error("view {view}: observed rows must ascend and lie below {n_samples}")]
    Rows {
        /// 0-based view.
        view: usize,
        /// Number of samples.
        n_samples: usize,
    },
    /// A sample that eq. 4 has no average for.
    #[error("sample {sample} has no view: every sample needs at least one")]
    NoView {
        /// 0-based sample.
        sample: usize,
    },
    /// Bytes that hold no weights.
    #[error("weights: {0}")]
    Format(String),
}

impl From<NnError> for ClusterError {
    fn from(error: NnError) -> Self {
        Self::Part(Box::new(error))
    }
}
