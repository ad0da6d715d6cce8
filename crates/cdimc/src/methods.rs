//! Every method of the workspace by the name the command line spells.

use cdimc_baselines::{Configured, MethodError, configure};
use cdimc_cluster::{CdimcModel, CdimcNet, ClusterError, Clusterer, Model};
use serde_json::Value;

/// The method that the command uses unless told otherwise.
pub const DEFAULT_METHOD: &str = CdimcNet::NAME;

/// The names of all methods: CDIMC-net and those it is compared with.
pub fn method_names() -> Vec<&'static str> {
    std::iter::once(CdimcNet::NAME).chain(cdimc_baselines::NAMES.iter().copied()).collect()
}

/// The method `name` with these settings, a JSON object of its kebab-case fields; what it leaves out
/// keeps its default.
///
/// # Errors
/// If there is no such method, a key is unknown to it, or a value has another type or is out of range.
pub fn method(name: &str, settings: Value) -> Result<Box<dyn Clusterer>, MethodError> {
    configured(name, settings).map(|method| method.clusterer)
}

/// As [`method`], with every setting it will use beside it.
///
/// # Errors
/// As [`method`].
pub fn configured(name: &str, settings: Value) -> Result<Configured, MethodError> {
    if name == CdimcNet::NAME {
        return configure::<CdimcNet>(CdimcNet::NAME, settings);
    }
    match cdimc_baselines::configured(name, settings) {
        Err(MethodError::Unknown { name, .. }) => {
            Err(MethodError::Unknown { name, known: method_names().join(", ") })
        }
        result => result,
    }
}

/// The model in the bytes that [`Model::to_bytes`] gave, of whatever method.
///
/// # Errors
/// If they are no model, or were cut or changed.
pub fn read_model(bytes: &[u8]) -> Result<Box<dyn Model>, ClusterError> {
    Ok(Box::new(CdimcModel::from_bytes(bytes)?))
}
