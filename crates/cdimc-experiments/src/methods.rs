//! The methods of experiments: the methods of the registry, CDIMC-net with its authors' settings, and a
//! choice by the true labels, which the registry must not list.

use crate::cell::Cell;
use crate::settings::{keys, merge};
use anyhow::{Result, bail};
use cdimc_cluster::CdimcNet;
use cdimc_core::MethodError;
use serde_json::Value;
use std::borrow::Cow;

/// CDIMC-net with the settings of its authors' code. `cdimc-net` has the method's defaults, as everywhere else.
pub(crate) const AUTHORS: &str = "cdimc-net-authors";

/// k-means on every view alone, and the view whose labels fit the truth best, with the settings of `best-view`. No
/// method may choose so: it shows what an oracle would get, and is no [`Clusterer`](cdimc_core::Clusterer).
pub(crate) const BSV: &str = "bsv";

/// The registry's name of the method that experiments call `name`.
pub(crate) fn registered(name: &str) -> &str {
    if name == AUTHORS { CdimcNet::NAME } else { name }
}

/// The settings against which a cell's changed settings are recorded: the method's defaults, except that both
/// CDIMC-nets are recorded against the authors' settings, as in the earliest records.
pub(crate) fn reference(name: &str) -> Result<Value> {
    configured(if name == CdimcNet::NAME { AUTHORS } else { name }, Value::Null)
}

/// Returns settings as cells and records have them: under the names that they had first, so that records of all versions
/// are found and compared.
pub(crate) fn recorded(name: &str, settings: Value) -> Value {
    if registered(name) == CdimcNet::NAME { CdimcNet::first_names(settings) } else { settings }
}

/// Returns the settings with which a cell runs.
pub(crate) fn of_run(cell: &Cell) -> Value {
    let settings = cell.settings.clone();
    if cell.method == CdimcNet::NAME { CdimcNet::of_saved(settings) } else { settings }
}

/// The name of a cell's row. Earlier records use other names for CDIMC-net: `cdimc-net` for the authors' settings,
/// and a longer name for the defaults.
pub(crate) fn row(cell: &Cell) -> Cow<'_, str> {
    let label = &cell.label;
    if label == "cdimc-net, chosen by shared information" {
        return CdimcNet::NAME.into();
    }
    let is_set = |key: &String| {
        let mut overrides = cell.overrides.iter().filter_map(|setting| setting.split_once('='));
        cell.point.contains_key(key) || overrides.any(|(set, _)| set == key)
    };
    match label.strip_prefix(CdimcNet::NAME) {
        Some(rest)
            if (rest.is_empty() || rest.starts_with(' '))
                && keys(&cell.changed).iter().all(is_set) =>
        {
            format!("{AUTHORS}{rest}").into()
        }
        _ => label.into(),
    }
}

/// Every setting of a method, with these written over its defaults.
pub(crate) fn configured(name: &str, mut settings: Value) -> Result<Value> {
    if name == AUTHORS {
        let mut all = serde_json::to_value(CdimcNet::authors_code())?;
        if !settings.is_null() {
            merge(&mut all, &CdimcNet::todays_names(settings));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;
    use crate::settings::{agree, changed};
    use serde_json::json;
    use std::path::Path;

    /// Settings have other names today than in the first records.
    #[test]
    fn shipped_records_match_the_current_settings() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results/records");
        let records = crate::records::read(&Path::new(folder).join("handwritten.jsonl")).unwrap();
        for name in [CdimcNet::NAME, AUTHORS] {
            let settings = configured(name, Value::Null).unwrap();
            let differing = changed(&settings, &reference(name).unwrap());
            let (differing, settings) = (recorded(name, differing), recorded(name, settings));
            let found = records.iter().filter(|Record { cell, .. }| {
                let of_method = cell.method == CdimcNet::NAME && cell.repetition == 0;
                of_method && cell.changed == differing && agree(&cell.settings, &settings)
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
            let method = registered(name).to_owned();
            let recorded = recorded(name, settings.clone());
            let cell = Cell { method, settings: recorded, ..crate::cell::tests::cell() };
            let method = cdimc::configured(&cell.method, of_run(&cell)).unwrap();
            assert_eq!(method.settings, settings, "{name}");
        }
    }

    #[test]
    fn cdimc_net_means_the_defaults_and_earlier_records_get_the_names_of_today() {
        let defaults = serde_json::to_value(CdimcNet::default()).unwrap();
        assert_eq!(configured("cdimc-net", Value::Null).unwrap(), defaults);
        let authors = serde_json::to_value(CdimcNet::authors_code()).unwrap();
        assert_eq!(configured(AUTHORS, Value::Null).unwrap(), authors);
        let row = |label: &str, changed: Value, point: &[&str], overrides: &[&str]| {
            let point = point.iter().map(|&key| (key.to_owned(), Value::Null)).collect();
            let overrides = overrides.iter().map(|&text| text.to_owned()).collect();
            let cell = crate::cell::tests::cell();
            row(&Cell { label: label.into(), changed, point, overrides, ..cell }).into_owned()
        };
        let ours = json!({"restarts": 3, "alpha": 0.1});
        assert_eq!(row("cdimc-net", json!({}), &[], &[]), AUTHORS);
        assert_eq!(row("cdimc-net", json!({"alpha": 0.1}), &[], &["alpha=0.1"]), AUTHORS);
        let grid = row("cdimc-net alpha=0.1", json!({"alpha": 0.1}), &["alpha"], &[]);
        assert_eq!(grid, "cdimc-net-authors alpha=0.1");
        assert_eq!(row("cdimc-net", ours.clone(), &[], &["alpha=0.1"]), "cdimc-net");
        assert_eq!(row("cdimc-net, chosen by shared information", ours, &[], &[]), "cdimc-net");
        for label in ["daimc", "without graph", AUTHORS] {
            assert_eq!(row(label, json!({}), &[], &[]), label);
        }
    }
}
