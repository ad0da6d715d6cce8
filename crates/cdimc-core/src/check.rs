//! Range checks of settings; each error gives the setting, its value and the rule.

use crate::ClusterError;
use std::fmt::Display;

/// Checks that `value` obeys `rule`.
///
/// # Errors
/// [`ClusterError::Setting`] if it does not.
pub fn setting<T: Display>(
    name: &'static str,
    value: T,
    rule: &'static str,
    obeys: impl Fn(&T) -> bool,
) -> Result<(), ClusterError> {
    if obeys(&value) {
        Ok(())
    } else {
        Err(ClusterError::Setting { name, value: value.to_string(), rule })
    }
}

/// Checks that every count is at least 1.
///
/// # Errors
/// [`ClusterError::Setting`] for the first count that is 0.
pub fn at_least_one(counts: &[(&'static str, usize)]) -> Result<(), ClusterError> {
    let check = |&(name, count)| setting(name, count, "must be at least 1", |&count| count > 0);
    counts.iter().try_for_each(check)
}

/// Checks that a real setting is positive and finite.
///
/// # Errors
/// [`ClusterError::Setting`] if it is not.
pub fn positive(name: &'static str, value: f64) -> Result<(), ClusterError> {
    setting(name, value, "must be positive and finite", |x| *x > 0.0 && x.is_finite())
}

/// Checks that a real setting is at least 0 and finite.
///
/// # Errors
/// [`ClusterError::Setting`] if it is not.
pub fn not_negative(name: &'static str, value: f64) -> Result<(), ClusterError> {
    setting(name, value, "must be at least 0 and finite", |x| *x >= 0.0 && x.is_finite())
}

/// Checks that a real setting lies in [0, 1), as a decay or a momentum does.
///
/// # Errors
/// [`ClusterError::Setting`] if it does not.
pub fn below_one(name: &'static str, value: f64) -> Result<(), ClusterError> {
    setting(name, value, "must lie in [0, 1)", |x| (0.0..1.0).contains(x))
}
