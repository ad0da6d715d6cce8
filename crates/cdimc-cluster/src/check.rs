//! One way to hold a setting against its rule.

use crate::ClusterError;
use std::fmt::Display;

/// The error that names setting, value and rule, unless `value` obeys it.
pub(crate) fn setting<T: Display>(
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
