//! Settings of methods with their defaults and ranges, and refusals of data.

use cdimc_core::ClusterError;
use cdimc_core::check::{at_least_one, setting};
use std::fmt::Arguments;

/// Largest count that determines memory before any computation: k-means starts, which run together, and units of a
/// layer.
const MAX_COUNT: usize = 10_000;

/// Defines the settings of a method, each with its default. Files and programs write their names in kebab-case.
macro_rules! settings {
    (
        $(#[$of_method:meta])*
        pub struct $method:ident {
            $($(#[$of_setting:meta])* pub $setting:ident: $kind:ty = $default:expr,)+
        }
    ) => {
        $(#[$of_method])*
        #[derive(Debug, Clone, PartialEq)]
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
        pub struct $method {
            $($(#[$of_setting])* pub $setting: $kind,)+
        }

        impl Default for $method {
            fn default() -> Self {
                Self { $($setting: $default,)+ }
            }
        }
    };
}
pub(crate) use settings;

/// Checks that all counts and the `restarts` of k-means are at least 1, and limits the restarts.
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
pub(crate) fn at_most(counts: &[(&'static str, usize)]) -> Result<(), ClusterError> {
    let check = |&(name, count): &(&'static str, usize)| {
        setting(name, count, "must be at most 10000", |&count| count <= MAX_COUNT)
    };
    counts.iter().try_for_each(check)
}

/// Checks that `method` can use the data; the `reason` says why not.
pub(crate) fn require(
    holds: bool,
    method: &'static str,
    reason: impl FnOnce() -> String,
) -> Result<(), ClusterError> {
    if holds { Ok(()) } else { Err(ClusterError::Inapplicable { method, reason: reason() }) }
}

/// Checks that `method` has a view left. Views are made nonnegative, and views of zeros are dropped, before this check.
pub(crate) fn require_views<T>(views: &[T], method: &'static str) -> Result<(), ClusterError> {
    let reason = || "made nonnegative, every value of every view is 0".to_owned();
    require(!views.is_empty(), method, reason)
}

/// Returns the error for a factorization that overflowed in an iteration or chunk. Unlike [`ClusterError::Diverged`] it
/// does not advise a smaller learning rate.
pub(crate) fn not_finite(method: &'static str, place: Arguments<'_>) -> ClusterError {
    ClusterError::Unusable { method, reason: format!("{place} left numbers that are not finite") }
}
