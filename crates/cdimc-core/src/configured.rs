//! Methods whose settings are given as JSON.

use crate::Clusterer;
use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// A method with all its settings.
pub struct Configured {
    /// The method, ready to cluster.
    pub clusterer: Box<dyn Clusterer>,
    /// All settings, defaults included.
    pub settings: Value,
    /// Returns defaults and schema of the settings, as [`settings_of`].
    pub described: fn() -> String,
}

/// Error of a request for a method.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MethodError {
    /// There is no method of this name.
    #[error("unknown method `{name}`: must be one of {known}")]
    Unknown {
        /// Requested name.
        name: String,
        /// Known names, separated by commas.
        known: String,
    },
    /// A setting is unknown, has another type or is out of range.
    #[error("settings of {method}: {message}")]
    Settings {
        /// Name of the method.
        method: &'static str,
        /// Reason.
        message: String,
    },
}

/// Returns the method `T` with the settings of a JSON object; missing settings keep their default, null changes nothing.
///
/// # Errors
/// If a setting is unknown, has another type or is out of range.
pub fn configure<T>(method: &'static str, settings: Value) -> Result<Configured, MethodError>
where
    T: Clusterer + Default + DeserializeOwned + Serialize + JsonSchema + 'static,
{
    configure_with(method, settings, |method: T| method)
}

/// Like [`configure`]; `complete` adds the other parts that a method needs.
///
/// # Errors
/// Same as [`configure`].
pub fn configure_with<T>(
    method: &'static str,
    settings: Value,
    complete: impl FnOnce(T) -> T,
) -> Result<Configured, MethodError>
where
    T: Clusterer + Default + DeserializeOwned + Serialize + JsonSchema + 'static,
{
    let refused = |message| MethodError::Settings { method, message };
    let method_with: T = if settings.is_null() {
        T::default()
    } else {
        serde_path_to_error::deserialize(settings).map_err(|error| refused(rule_of(&error)))?
    };
    let method_with = complete(method_with);
    method_with.check().map_err(|e| refused(e.to_string()))?;
    let settings = serde_json::to_value(&method_with).map_err(|e| refused(e.to_string()))?;
    Ok(Configured { clusterer: Box::new(method_with), settings, described: settings_of::<T> })
}

/// Returns the name of the setting that is wrong, and the rule that it breaks.
fn rule_of(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    let rule = error.inner().to_string().replace("expected usize", "expected a whole number");
    if rule.starts_with("unknown field") { rule } else { format!("{}: {rule}", error.path()) }
}

/// Returns the settings of `T` as JSON: `defaults` in order of declaration, and `schema`, the JSON Schema with
/// descriptions, types and choices.
pub fn settings_of<T: Default + Serialize + JsonSchema>() -> String {
    #[derive(Serialize)]
    struct Described<T> {
        defaults: T,
        schema: Schema,
    }
    let inline = SchemaSettings::default().with(|settings| settings.inline_subschemas = true);
    let schema = inline.into_generator().into_root_schema_for::<T>();
    serde_json::to_string(&Described { defaults: T::default(), schema }).unwrap_or_default()
}
