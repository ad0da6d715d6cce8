//! Checks and errors shared by several methods.

use cdimc_core::{
    ClusterError,
    check::{at_least_one, setting},
};
use std::fmt::Arguments;

/// Largest count that determines memory before any computation: k-means starts, which run together, and units of a
/// layer.
const MAX_COUNT: usize = 10_000;

/// Checks that all counts and the `restarts` of k-means are at least 1, and limits the restarts.
///
/// # Errors
/// [`ClusterError::Setting`] for the first invalid count.
pub(crate) fn counts(
    counts: &[(&'static str, usize)],
    restarts: usize,
) -> Result<(), ClusterError> {
    let restarts = [("restarts", restarts)];
    at_least_one(counts)?;
    at_least_one(&restarts)?;
    at_most(&restarts)
}

/// Checks that no count exceeds [`MAX_COUNT`].
///
/// # Errors
/// [`ClusterError::Setting`] for the first count that does.
pub(crate) fn at_most(counts: &[(&'static str, usize)]) -> Result<(), ClusterError> {
    let check = |&(name, count): &(&'static str, usize)| {
        setting(name, count, "must be at most 10000", |&count| count <= MAX_COUNT)
    };
    counts.iter().try_for_each(check)
}

/// Returns the error for a factorization that overflowed in an iteration or chunk. Unlike [`ClusterError::Diverged`] it
/// does not advise a smaller learning rate.
pub(crate) fn not_finite(method: &'static str, place: Arguments<'_>) -> ClusterError {
    ClusterError::Unusable { method, reason: format!("{place} left numbers that are not finite") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_counts_are_refused_by_name() {
        assert!(at_most(&[("restarts", 0), ("widths", MAX_COUNT)]).is_ok());
        let error = at_most(&[("restarts", 20), ("widths", 1_000_000_000_000)]).unwrap_err();
        assert_eq!(error.to_string(), "widths = 1000000000000: must be at most 10000");
    }

    #[test]
    fn a_factorization_that_overflows_gets_no_advice_on_a_learning_rate() {
        assert_eq!(
            not_finite("mic", format_args!("round 3")).to_string(),
            "mic found nothing usable: round 3 left numbers that are not finite"
        );
    }
}
