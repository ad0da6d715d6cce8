//! The methods of experiments, and their settings as JSON: merged key by key, and found by their dotted paths.
//!
//! They are the methods of the registry, CDIMC-net with its authors' settings, and a choice by the true labels, which the
//! registry must not list.

use anyhow::{Context, Result, bail, ensure};
use cdimc_cluster::CdimcNet;
use cdimc_core::MethodError;
use serde_json::Value;
use std::str::FromStr;

/// CDIMC-net with the settings of its authors' code. `cdimc-net` has the method's defaults, as everywhere else.
pub(crate) const AUTHORS: &str = "cdimc-net-authors";

/// k-means on every view alone, and the view whose labels fit the truth best, with the settings of `best-view`. No
/// method may choose so: it shows what an oracle would get, and is no [`Clusterer`](cdimc_core::Clusterer).
pub(crate) const BSV: &str = "bsv";

/// The registry's name of the method that experiments call `name`.
pub(crate) fn registered(name: &str) -> &str {
    if name == AUTHORS { CdimcNet::NAME } else { name }
}

/// Every setting of a method, with these written over its defaults.
pub(crate) fn configured(name: &str, mut settings: Value) -> Result<Value> {
    if name == AUTHORS {
        let mut all = serde_json::to_value(CdimcNet::authors_code())?;
        if !settings.is_null() {
            merge(&mut all, &settings);
        }
        settings = all;
    }
    let settings_of = if name == BSV { "best-view" } else { registered(name) };
    match cdimc::configured(settings_of, settings) {
        Ok(method) => Ok(method.settings),
        Err(MethodError::Unknown { name, known }) => {
            bail!("unknown method `{name}`: must be one of {known}, {AUTHORS}, {BSV}")
        }
        Err(e) => Err(e.into()),
    }
}

/// One `key=value` of the command line, the value a number, a truth value, or else a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Setting {
    /// A dotted path.
    pub key: String,
    pub value: Value,
}

impl FromStr for Setting {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (key, value) = text.split_once('=').context("must be key=value")?;
        ensure!(!key.is_empty(), "must be key=value");
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
        Ok(Self { key: key.to_owned(), value })
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = self.value.as_str().map_or_else(|| self.value.to_string(), str::to_owned);
        write!(f, "{}={value}", self.key)
    }
}

/// Writes `further` over `settings`, key by key.
pub(crate) fn merge(settings: &mut Value, further: &Value) {
    match (settings, further) {
        (Value::Object(settings), Value::Object(further)) => {
            for (key, value) in further {
                merge(settings.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (settings, further) => *settings = further.clone(),
    }
}

/// Sets the dotted path `key` of `settings`.
pub(crate) fn set(settings: &mut Value, key: &str, value: Value) {
    let nested = key.rsplit('.').fold(value, |inner, part| serde_json::json!({ part: inner }));
    merge(settings, &nested);
}

/// The value at the dotted path `key`.
pub(crate) fn at<'a>(settings: &'a Value, key: &str) -> Option<&'a Value> {
    key.split('.').try_fold(settings, |inner, part| inner.get(part))
}

/// Whether `settings` have the dotted path `key`; below a setting that is null there may be any.
pub(crate) fn has(settings: &Value, key: &str) -> bool {
    let is_open =
        |above: &str| at(settings, above).map_or_else(|| has(settings, above), Value::is_null);
    at(settings, key).is_some() || key.rsplit_once('.').is_some_and(|(above, _)| is_open(above))
}

/// The dotted paths of all single settings.
pub(crate) fn keys(settings: &Value) -> Vec<String> {
    let Value::Object(map) = settings else { return Vec::new() };
    let below = |(key, value): (&String, &Value)| match keys(value) {
        inner if inner.is_empty() => vec![key.clone()],
        inner => inner.into_iter().map(|path| format!("{key}.{path}")).collect(),
    };
    map.iter().flat_map(below).collect()
}

/// What of `settings` differs from `defaults`; an empty object if nothing does.
pub(crate) fn changed(settings: &Value, defaults: &Value) -> Value {
    let (Value::Object(settings), Value::Object(defaults)) = (settings, defaults) else {
        return settings.clone();
    };
    let differing = settings.iter().filter(|(key, value)| defaults.get(*key) != Some(value));
    let inner = |(key, value): (&String, &Value)| match defaults.get(key) {
        Some(default) if default.is_object() => (key.clone(), changed(value, default)),
        _ => (key.clone(), value.clone()),
    };
    differing.map(inner).collect()
}

/// Whether two settings agree in every key that both have.
pub(crate) fn agree(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.iter().all(|(key, value)| other.get(key).is_none_or(|o| agree(value, o)))
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::Record;
    use serde_json::json;
    use std::path::Path;

    #[test]
    fn shipped_records_match_the_current_settings() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results/records");
        let records = crate::records::read(&Path::new(folder).join("handwritten.jsonl")).unwrap();
        for (name, settings) in
            [(CdimcNet::NAME, CdimcNet::default()), (AUTHORS, CdimcNet::authors_code())]
        {
            let settings = serde_json::to_value(settings).unwrap();
            assert_eq!(configured(name, Value::Null).unwrap(), settings);
            let found = records.iter().filter(|Record { cell, .. }| {
                let is_first = cell.method == name && cell.repetition == 0;
                is_first && cell.settings == settings && cell.changed == json!({})
            });
            assert_eq!(found.count(), 40, "{name}: ten masks at four rates");
        }
    }

    #[test]
    fn a_cell_runs_with_the_settings_of_its_row() {
        let no_dropout = json!({ "advanced": { "view-dropout": 0.0 } });
        for (name, changed) in
            [(CdimcNet::NAME, Value::Null), (CdimcNet::NAME, no_dropout), (AUTHORS, Value::Null)]
        {
            let settings = configured(name, changed).unwrap();
            let method = cdimc::configured(registered(name), settings.clone()).unwrap();
            assert_eq!(method.settings, settings, "{name}");
        }
    }

    #[test]
    fn values_of_the_command_line_have_their_natural_type() {
        let value = |text: &str| text.parse::<Setting>().unwrap().value;
        assert_eq!(value("alpha=1e-3"), json!(1e-3));
        assert_eq!(value("order=file"), json!("file"));
        assert_eq!(value("a.b=true"), json!(true));
        assert!("alpha".parse::<Setting>().is_err() && "=3".parse::<Setting>().is_err());
        assert_eq!("order=file".parse::<Setting>().unwrap().to_string(), "order=file");
    }

    #[test]
    fn settings_are_merged_key_by_key() {
        let mut settings = json!({"pretrain": {"epochs": 500, "momentum": 0.95}});
        set(&mut settings, "pretrain.epochs", json!(5));
        set(&mut settings, "alpha", json!(0.1));
        assert_eq!(settings, json!({"pretrain": {"epochs": 5, "momentum": 0.95}, "alpha": 0.1}));
    }

    #[test]
    fn keys_are_found_by_their_paths() {
        let settings = json!({"pretrain": {"epochs": 500}, "alpha": 0.1, "wide": null});
        assert_eq!(keys(&settings), ["alpha", "pretrain.epochs", "wide"]);
        for key in ["alpha", "pretrain", "pretrain.epochs", "wide", "wide.layers"] {
            assert!(has(&settings, key), "{key}");
        }
        for key in ["beta", "alpha.x", "pretrain.rounds", ""] {
            assert!(!has(&settings, key), "{key}");
            assert_eq!(at(&settings, key), None, "{key}");
        }
        assert_eq!(at(&settings, "pretrain.epochs"), Some(&json!(500)));
    }

    #[test]
    fn what_differs_from_the_defaults_is_all_that_is_left() {
        let defaults = json!({"pretrain": {"epochs": 500, "momentum": 0.95}, "alpha": 0.1});
        assert_eq!(changed(&defaults, &defaults), json!({}));
        let settings = json!({"pretrain": {"epochs": 5, "momentum": 0.95}, "alpha": 0.1});
        assert_eq!(changed(&settings, &defaults), json!({"pretrain": {"epochs": 5}}));
    }

    #[test]
    fn a_setting_of_later_days_is_no_disagreement() {
        let old = json!({"alpha": 0.1, "pretrain": {"epochs": 5}});
        let new = json!({"alpha": 0.1, "pretrain": {"epochs": 5, "warm": false}, "components": 3});
        assert!(agree(&old, &new) && agree(&new, &old));
        assert!(!agree(&old, &json!({"pretrain": {"epochs": 6}})));
    }
}
