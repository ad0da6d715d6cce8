//! All methods of the workspace by their names on the command line.

use cdimc_cluster::{CdimcModel, CdimcNet};
use cdimc_core::archive::Archive;
use cdimc_core::{
    ClusterError, Clusterer, Configured, MethodError, Model, configure, configure_with,
};
use cdimc_mixture::{MixtureModel, TMixture};
use serde_json::Value;

/// The command's default method.
pub const DEFAULT_METHOD: &str = TMixture::NAME;

/// Names of all methods: `t-mixture`, CDIMC-net and the compared methods.
pub fn method_names() -> Vec<&'static str> {
    [&[TMixture::NAME, CdimcNet::NAME][..], cdimc_baselines::NAMES].concat()
}

/// Returns the method `name` with these settings, a JSON object of its kebab-case fields; absent fields have their
/// defaults.
///
/// # Errors
/// If there is no such method, a key is unknown to it, or a value has another type or is out of range.
pub fn method(name: &str, settings: Value) -> Result<Box<dyn Clusterer>, MethodError> {
    configured(name, settings).map(|method| method.clusterer)
}

/// Like [`method`], but also returns all settings that the method will use.
///
/// # Errors
/// Same as [`method`].
pub fn configured(name: &str, settings: Value) -> Result<Configured, MethodError> {
    match name {
        TMixture::NAME => configure::<TMixture>(TMixture::NAME, settings),
        CdimcNet::NAME => {
            let analyzed = |net: CdimcNet| net.with_analysis(TMixture::default());
            configure_with(CdimcNet::NAME, settings, analyzed)
        }
        _ => match cdimc_baselines::configured(name, settings) {
            Err(MethodError::Unknown { name, .. }) => {
                Err(MethodError::Unknown { name, known: method_names().join(", ") })
            }
            result => result,
        },
    }
}

/// Reads a model of any method from the bytes of [`Model::to_bytes`].
///
/// # Errors
/// If the bytes are not a model, or were truncated or changed.
pub fn read_model(bytes: &[u8]) -> Result<Box<dyn Model>, ClusterError> {
    match Archive::kind_of(bytes).as_deref() {
        Some(MixtureModel::KIND) => Ok(Box::new(MixtureModel::from_bytes(bytes)?)),
        _ => Ok(Box::new(CdimcModel::from_bytes(bytes, &TMixture::default())?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn several_runs_of_the_network_compete_by_default() {
        let settings = |value: Value| configured(CdimcNet::NAME, value).map(|c| c.settings);
        let found = settings(Value::Null).unwrap();
        assert_eq!(
            (&found["restarts"], &found["choice"], &found["input"]),
            (&json!(4), &json!("shared-information"), &json!("coordinates"))
        );
        let error = settings(json!({ "restarts": 0 })).unwrap_err().to_string();
        assert_eq!(error, "settings of cdimc-net: restarts = 0: must be at least 1");
        let error = settings(json!({ "choice": "truth" })).unwrap_err().to_string();
        assert!(error.contains("expected `shared-information` or `inertia`"), "{error}");
    }

    /// Returns the settings of CDIMC-net in a file of the examples.
    fn settings_of(file: &str) -> Value {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/").to_owned() + file;
        let settings: Value = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        configured(CdimcNet::NAME, settings).unwrap().settings
    }

    #[test]
    fn the_file_of_the_paper_is_a_method() {
        let found = settings_of("paper.toml");
        assert_eq!(found["advanced"]["square-decoder-layer"], json!(false));
        assert_eq!(found["advanced"]["age-rule"], json!("paper"));
    }

    #[test]
    fn the_authors_code_file_holds_the_settings_of_the_authors_code() {
        let found = settings_of("authors-code.toml");
        assert_eq!(found, serde_json::to_value(CdimcNet::authors_code()).unwrap());
    }
}
