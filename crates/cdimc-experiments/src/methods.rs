//! The methods of experiments: the methods of the registry, CDIMC-net with its authors' settings, and a
//! choice by the true labels, which the registry must not list.

use crate::settings::merge;
use anyhow::{Result, bail};
use cdimc_cluster::CdimcNet;
use cdimc_core::MethodError;
use serde_json::Value;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;
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
}
