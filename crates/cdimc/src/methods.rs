//! Every method of the workspace by the name the command line spells.

use cdimc_baselines::{Configured, MethodError, configure};
use cdimc_cluster::archive::Archive;
use cdimc_cluster::{CdimcModel, CdimcNet, ClusterError, Clusterer, Model};
use cdimc_mixture::{MixtureModel, TMixture};
use serde_json::Value;

/// The method that the command uses unless told otherwise.
pub const DEFAULT_METHOD: &str = TMixture::NAME;

/// The names of all methods: the mixture, CDIMC-net and those it is compared with.
pub fn method_names() -> Vec<&'static str> {
    [TMixture::NAME, CdimcNet::NAME]
        .into_iter()
        .chain(cdimc_baselines::NAMES.iter().copied())
        .collect()
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
    match name {
        TMixture::NAME => configure::<TMixture>(TMixture::NAME, settings),
        CdimcNet::NAME => configure::<CdimcNet>(CdimcNet::NAME, settings),
        _ => match cdimc_baselines::configured(name, settings) {
            Err(MethodError::Unknown { name, .. }) => {
                Err(MethodError::Unknown { name, known: method_names().join(", ") })
            }
            result => result,
        },
    }
}

/// The model in the bytes that [`Model::to_bytes`] gave, of whatever method.
///
/// # Errors
/// If they are no model, or were cut or changed.
pub fn read_model(bytes: &[u8]) -> Result<Box<dyn Model>, ClusterError> {
    match Archive::kind_of(bytes).as_deref() {
        Some(MixtureModel::KIND) => Ok(Box::new(MixtureModel::from_bytes(bytes)?)),
        _ => Ok(Box::new(CdimcModel::from_bytes(bytes)?)),
    }
}
