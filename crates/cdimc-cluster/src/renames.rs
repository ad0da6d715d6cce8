//! Settings of earlier versions, as in saved runs, settings files and records of experiments.

use crate::CdimcNet;
use serde_json::Value;

/// First name and current name.
const RENAMED: [(&str, &str); 11] = [
    ("/order", "/advanced/order"),
    ("/engine", "/advanced/engine"),
    ("/architecture/hidden-ratio", "/advanced/hidden-ratio"),
    ("/architecture/wide", "/advanced/wide"),
    ("/architecture/square-decoder-layer", "/advanced/square-decoder-layer"),
    ("/pretrain/decay", "/advanced/decay"),
    ("/pretrain/momentum", "/advanced/momentum"),
    ("/kmeans/choice", "/choice"),
    ("/finetune/age/scope", "/finetune/age-scope"),
    ("/finetune/normalization", "/advanced/normalization"),
    ("/finetune/minimum-rounds", "/advanced/minimum-rounds"),
];

/// Former settings and their values in the paper, which are one rule now.
const PAPER: [(&str, &str); 3] = [
    ("/finetune/age/comparison", "at-most"),
    ("/finetune/age/update", "selection-first"),
    ("/finetune/age/first-round", "one"),
];

/// Returns former settings and their fixed current values.
fn fixed() -> [(&'static str, Value); 10] {
    [
        ("/arrangement", "kmeans-blocks".into()),
        ("/kmeans/restarts", 20.into()),
        ("/kmeans/max-iterations", 300.into()),
        ("/kmeans/tolerance", 1e-4.into()),
        ("/finetune/optimizer", "adam".into()),
        ("/finetune/age/deviation", "unbiased".into()),
        ("/finetune/age/comparison", "below".into()),
        ("/finetune/age/update", "age-first".into()),
        ("/finetune/age/first-round", "zero".into()),
        ("/finetune/stop-tolerance", 1e-7.into()),
    ]
}

/// Setting that earlier versions did not have.
const VIEW_DROPOUT: &str = "/advanced/view-dropout";

impl CdimcNet {
    /// Returns the settings in a checkpoint or experiment record under current names. They are complete, so a setting
    /// that is missing is newer.
    pub fn of_saved(settings: Value) -> Value {
        let mut settings = Self::todays_names(settings);
        if settings.pointer(VIEW_DROPOUT).is_none() {
            put(&mut settings, VIEW_DROPOUT, 0.0.into());
        }
        settings
    }

    /// Returns settings of any version under current names. A former setting with another value stays in place, so that
    /// reading the settings reports it.
    pub fn todays_names(mut settings: Value) -> Value {
        for (path, value) in fixed() {
            if settings.pointer(path) == Some(&value) {
                take(&mut settings, path);
            }
        }
        if PAPER.iter().all(|&(path, value)| settings.pointer(path).is_some_and(|x| x == value)) {
            for (path, _) in PAPER {
                take(&mut settings, path);
            }
            put(&mut settings, "/advanced/age-rule", "paper".into());
        }
        RENAMED.iter().for_each(|(first, today)| rename(&mut settings, first, today));
        settings
    }

    /// Returns settings under their first names, as in experiment records. [`Self::of_saved`] reads them.
    pub fn first_names(mut settings: Value) -> Value {
        // Records without view dropout are older than this setting.
        if settings.pointer(VIEW_DROPOUT) == Some(&0.0.into()) {
            take(&mut settings, VIEW_DROPOUT);
        }
        RENAMED.iter().for_each(|(first, today)| rename(&mut settings, today, first));
        settings
    }
}

/// Moves the value at the path `from` to `to`, unless `to` exists.
fn rename(settings: &mut Value, from: &str, to: &str) {
    if settings.pointer(to).is_some() {
        return;
    }
    if let Some(value) = take(settings, from) {
        put(settings, to, value);
    }
}

/// Sets the value at a path, and adds the tables on the way.
fn put(settings: &mut Value, path: &str, value: Value) {
    let mut at = settings;
    for key in path.split('/').skip(1) {
        if !(at.is_object() || at.is_null()) {
            return;
        }
        at = &mut at[key];
    }
    *at = value;
}

/// Removes the value at a path, and the tables that are empty without it.
fn take(settings: &mut Value, path: &str) -> Option<Value> {
    let (table, name) = path.rsplit_once('/')?;
    let map = settings.pointer_mut(table)?.as_object_mut()?;
    let taken = map.remove(name)?;
    if map.is_empty() {
        take(settings, table);
    }
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_of_earlier_versions_are_read_and_have_their_first_names_again() {
        let earlier = json!({
            "alpha": 0.001, "order": "file", "arrangement": "kmeans-blocks",
            "architecture": { "hidden-ratio": 0.8, "wide": 1500, "square-decoder-layer": true },
            "pretrain": { "epochs": 500, "momentum": 0.9, "decay": "none" },
            "kmeans": { "restarts": 20, "max-iterations": 300, "tolerance": 1e-4, "choice": "inertia" },
            "finetune": { "rounds": 100, "optimizer": "adam", "normalization": "batch", "stop-tolerance": 1e-7,
                "minimum-rounds": 1, "age": { "scope": "all", "deviation": "unbiased", "comparison": "below",
                    "update": "age-first", "first-round": "zero" } },
        });
        let today = json!({
            "alpha": 0.001, "choice": "inertia", "pretrain": { "epochs": 500 },
            "finetune": { "rounds": 100, "age-scope": "all" },
            "advanced": { "order": "file", "hidden-ratio": 0.8, "wide": 1500, "square-decoder-layer": true,
                "momentum": 0.9, "decay": "none", "normalization": "batch", "minimum-rounds": 1 },
        });
        assert_eq!(CdimcNet::todays_names(earlier), today);
        assert_eq!(CdimcNet::todays_names(today.clone()), today);
        assert!(serde_json::from_value::<CdimcNet>(today.clone()).is_ok());
        let paper = json!({ "finetune": { "age": { "comparison": "at-most", "update": "selection-first",
            "first-round": "one" } } });
        assert_eq!(CdimcNet::todays_names(paper), json!({ "advanced": { "age-rule": "paper" } }));
        let first = CdimcNet::first_names(today.clone());
        assert_eq!(
            first["finetune"],
            json!({ "rounds": 100, "age": { "scope": "all" },
            "normalization": "batch", "minimum-rounds": 1 })
        );
        assert_eq!(CdimcNet::todays_names(first), today);
        assert_eq!(CdimcNet::todays_names(Value::Null), Value::Null);
        let no_dropout = json!({ "advanced": { "view-dropout": 0.0 } });
        assert_eq!(CdimcNet::of_saved(json!({})), no_dropout);
        assert_eq!(CdimcNet::first_names(no_dropout), json!({}));
    }

    #[test]
    fn a_former_setting_with_another_value_is_reported() {
        let settings = CdimcNet::todays_names(json!({ "finetune": { "optimizer": "sgd" } }));
        let error = serde_json::from_value::<CdimcNet>(settings).unwrap_err().to_string();
        assert!(error.starts_with("unknown field `optimizer`, expected one of"), "{error}");
    }
}
