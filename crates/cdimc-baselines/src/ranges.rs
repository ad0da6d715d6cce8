//! The rules that settings of several methods share.

use cdimc_cluster::ClusterError;

/// Holds a count against its least value, 1.
pub(crate) fn at_least_one(name: &'static str, value: usize) -> Result<(), ClusterError> {
    rule(value > 0, name, value, "must be at least 1")
}

/// Holds a real setting against being positive and finite.
pub(crate) fn positive(name: &'static str, value: f64) -> Result<(), ClusterError> {
    rule(value > 0.0 && value.is_finite(), name, value, "must be positive and finite")
}

/// Holds a real setting against being at least 0 and finite.
pub(crate) fn not_negative(name: &'static str, value: f64) -> Result<(), ClusterError> {
    rule(value >= 0.0 && value.is_finite(), name, value, "must be at least 0 and finite")
}

/// Holds a setting against `rule`.
pub(crate) fn rule(
    kept: bool,
    name: &'static str,
    value: impl Copy + ToString,
    rule: &'static str,
) -> Result<(), ClusterError> {
    if kept {
        return Ok(());
    }
    Err(ClusterError::Setting { name, value: value.to_string(), rule })
}
