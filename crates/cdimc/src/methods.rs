//! Every method of the workspace by the name the command line spells.

use crate::restarts::Restarts;
use cdimc_cluster::{CdimcModel, CdimcNet};
use cdimc_core::archive::Archive;
use cdimc_core::{ClusterError, Clusterer, Configured, MethodError, Model, configure, settings_of};
use cdimc_mixture::{MixtureModel, TMixture};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The setting of a method that can be run several times.
const RESTARTS: &str = "restarts";

/// The command's default method.
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

/// As [`method`], together with every setting it will use.
///
/// # Errors
/// As [`method`].
pub fn configured(name: &str, settings: Value) -> Result<Configured, MethodError> {
    match name {
        TMixture::NAME => configure::<TMixture>(TMixture::NAME, settings),
        CdimcNet::NAME => with_restarts(settings),
        _ => match cdimc_baselines::configured(name, settings) {
            Err(MethodError::Unknown { name, .. }) => {
                Err(MethodError::Unknown { name, known: method_names().join(", ") })
            }
            result => result,
        },
    }
}

/// Cognitive deep incomplete multi-view clustering: an encoder a view, one latent a sample, fused from the views that it
/// has, and clusters that are learned from easy samples to hard ones.
#[derive(Serialize, JsonSchema)]
#[serde(default)]
struct WithRestarts {
    #[serde(flatten)]
    network: CdimcNet,
    /// Runs, of which that wins on whose clusters the views agree most.
    restarts: usize,
}

impl Default for WithRestarts {
    fn default() -> Self {
        Self { network: CdimcNet::default(), restarts: 1 }
    }
}

fn with_restarts(mut settings: Value) -> Result<Configured, MethodError> {
    let asked = settings.as_object_mut().and_then(|settings| settings.remove(RESTARTS));
    let runs = match &asked {
        None => 1,
        Some(value) => value.as_u64().filter(|&runs| runs > 0).ok_or_else(|| {
            let message = format!("{RESTARTS} = {value}: must be a whole number of at least 1");
            MethodError::Settings { method: CdimcNet::NAME, message }
        })? as usize,
    };
    let mut network = configure::<CdimcNet>(CdimcNet::NAME, settings)?;
    network.described = settings_of::<WithRestarts>;
    if runs > 1 {
        network.settings[RESTARTS] = runs.into();
        network.clusterer = Box::new(Restarts { method: network.clusterer, runs });
    }
    Ok(network)
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn restarts_are_a_setting_of_the_network() {
        let settings = |value: Value| configured(CdimcNet::NAME, value).map(|c| c.settings);
        let one = settings(Value::Null).unwrap();
        assert_eq!(settings(json!({ "restarts": 1 })).unwrap(), one);
        let three = settings(json!({ "restarts": 3, "alpha": 0.5 })).unwrap();
        assert_eq!((&three["restarts"], &three["alpha"]), (&json!(3), &json!(0.5)));
        for wrong in [json!(0), json!(1.5), json!("2")] {
            let error = settings(json!({ "restarts": wrong })).unwrap_err().to_string();
            assert!(error.contains("must be a whole number of at least 1"), "{error}");
        }
        assert!(settings(json!({ "restart": 2 })).is_err());
    }
}
