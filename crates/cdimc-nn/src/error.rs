//! Errors of the network.

use cdimc_core::ClusterError;

/// Reason why a network cannot be built or trained; every message states the rule and the value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NnError {
    /// candle failed.
    #[error("tensor operation: {0}")]
    Tensor(#[from] candle_core::Error),
    /// Settings, data and network do not fit together, or the device is missing.
    #[error("{0}")]
    Unfit(String),
}

impl From<NnError> for ClusterError {
    fn from(error: NnError) -> Self {
        Self::Part(Box::new(error))
    }
}

impl From<ClusterError> for NnError {
    fn from(error: ClusterError) -> Self {
        Self::Unfit(error.to_string())
    }
}

/// Checks that a count is as expected.
pub(crate) fn check_count(what: &str, expected: usize, found: usize) -> Result<(), NnError> {
    if found == expected {
        Ok(())
    } else {
        Err(NnError::Unfit(format!("{what} = {found}: must be {expected}")))
    }
}
