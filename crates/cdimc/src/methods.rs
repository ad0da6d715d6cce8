//! Every method of the workspace by the name the command line spells.

use cdimc_baselines::{Configured, MethodError};
use cdimc_cluster::Clusterer;
use serde_json::Value;

/// The names of all methods: CDIMC-net and those it is compared with.
pub fn method_names() -> Vec<&'static str> {
    cdimc_baselines::NAMES.to_vec()
}

/// The method `name` with these settings, a JSON object of its kebab-case fields; what it leaves out
/// keeps its default.
///
/// # Errors
/// If there is no such method, a key is unknown to it or a value has another type.
pub fn method(name: &str, settings: Value) -> Result<Box<dyn Clusterer>, MethodError> {
    configured(name, settings).map(|method| method.clusterer)
}

/// As [`method`], with every setting it will use beside it.
///
/// # Errors
/// As [`method`].
pub fn configured(name: &str, settings: Value) -> Result<Configured, MethodError> {
    match cdimc_baselines::configured(name, settings) {
        Err(MethodError::Unknown { name, .. }) => {
            Err(MethodError::Unknown { name, known: method_names().join(", ") })
        }
        result => result,
    }
}
