//! Errors of the network.

use cdimc_core::ClusterError;

/// Reason why a network cannot be built or trained; every message states the rule and the value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NnError {
    /// candle failed.
    #[error("tensor operation: {0}")]
    Tensor(#[from] candle_core::Error),
    /// A setting is out of range.
    #[error("{name} = {value}: {rule}")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// Its value.
        value: String,
        /// Rule for the setting.
        rule: &'static str,
    },
    /// The widths of the data and the network differ.
    #[error("view {view} has {found} features, the network was made for {expected}")]
    Width {
        /// 0-based view.
        view: usize,
        /// Number of features of the network.
        expected: usize,
        /// Number of features of the data.
        found: usize,
    },
    /// The numbers of views of the data and the network differ.
    #[error("views = {found}: the network was made for {expected}")]
    Views {
        /// Number of views of the network.
        expected: usize,
        /// Number of views of the data.
        found: usize,
    },
    /// This build or machine lacks the device.
    #[error("device {device}: {reason}")]
    Device {
        /// Requested device.
        device: String,
        /// Reason.
        reason: String,
    },
    /// The sizes of related parts differ.
    #[error("{what} = {found}: must be {expected}")]
    Shape {
        /// The counted quantity.
        what: &'static str,
        /// Expected count.
        expected: usize,
        /// Actual count.
        found: usize,
    },
    /// Observed rows are not a set of samples.
    #[error("view {view}: observed rows must ascend and lie below {n_samples}")]
    Rows {
        /// 0-based view.
        view: usize,
        /// Number of samples.
        n_samples: usize,
    },
    /// A sample has no view to average in eq. 4.
    #[error("sample {sample} has no view: every sample needs at least one")]
    NoView {
        /// 0-based sample.
        sample: usize,
    },
    /// The bytes are not weights.
    #[error("weights: {0}")]
    Format(String),
}

impl From<NnError> for ClusterError {
    fn from(error: NnError) -> Self {
        Self::Part(Box::new(error))
    }
}
