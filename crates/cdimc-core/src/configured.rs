//! Methods with settings that come as JSON.

use crate::Clusterer;
use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// A method together with all its settings.
pub struct Configured {
    /// The method, ready to cluster.
    pub clusterer: Box<dyn Clusterer>,
    /// Every setting it will use, defaults included.
    pub settings: Value,
    /// What [`settings_of`] says of the method's settings.
    pub described: fn() -> String,
}

/// A request for a method that cannot be met.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MethodError {
    /// No method of this name.
    #[error("unknown method `{name}`: must be one of {known}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// The names there are, separated by commas.
        known: String,
    },
    /// Settings that the method does not have, of another type or out of range.
    #[error("settings of {method}: {message}")]
    Settings {
        /// The method's name.
        method: &'static str,
        /// What is wrong with them.
        message: String,
    },
}

/// `T` with these settings, a JSON object; what it leaves out keeps its default, null changes nothing.
///
/// # Errors
/// If a key is unknown to `T`, or a value has another type or is out of range.
pub fn configure<T>(method: &'static str, settings: Value) -> Result<Configured, MethodError>
where
    T: Clusterer + Default + DeserializeOwned + Serialize + JsonSchema + 'static,
{
    configure_with(method, settings, |method: T| method)
}

/// As [`configure`]; `complete` adds what a method needs besides its settings.
///
/// # Errors
/// As [`configure`].
pub fn configure_with<T>(
    method: &'static str,
    settings: Value,
    complete: impl FnOnce(T) -> T,
) -> Result<Configured, MethodError>
where
    T: Clusterer + Default + DeserializeOwned + Serialize + JsonSchema + 'static,
{
    let refused = |message| MethodError::Settings { method, message };
    let refuse = |e: serde_json::Error| refused(e.to_string());
    let method_with: T = if settings.is_null() {
        T::default()
    } else {
        serde_json::from_value(settings).map_err(refuse)?
    };
    let method_with = complete(method_with);
    method_with.check().map_err(|e| refused(e.to_string()))?;
    let settings = serde_json::to_value(&method_with).map_err(refuse)?;
    Ok(Configured { clusterer: Box::new(method_with), settings, described: settings_of::<T> })
}

/// The settings `T` as JSON: `defaults`, in the order in which they are declared, and `schema`, their JSON Schema with
/// their words, types and choices.
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
