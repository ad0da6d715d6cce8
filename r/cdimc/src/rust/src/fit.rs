//! A method with its settings, and its fit.

use crate::job::{IntoR, Job};
use crate::tables::{clusters, tables};
use crate::value::{from_json, or_null, text_columns, to_json};
use crate::{answer, text};
use cdimc::analysis::{Analysis, Number, Outcome};
use cdimc::cluster_number::NumberRange;
use cdimc::data::Seed;
use cdimc::markers::LISTED;
use cdimc::sample_table::SampleTable;
use cdimc::tables::Joined;
use cdimc::training_set;
use extendr_api::prelude::*;
use serde_json::{Value, to_value};

/// Returns the names of all methods, default first.
#[extendr]
fn methods() -> Vec<&'static str> {
    cdimc::method_names()
}

/// Returns all settings of a method, with defaults.
#[extendr]
fn settings_of(method: &str, settings: Robj) -> List {
    let configured =
        to_json(&settings).and_then(|settings| cdimc::configured(method, settings).map_err(text));
    answer(configured.map(|configured| from_json(&configured.settings)))
}

/// Clusters the samples of views. `number` is the number of clusters, or the smallest and largest to try; `seed` is the
/// root seed, or the root seed and the number of a stream. Markers are tested on request.
#[extendr]
fn fit(
    method: &str,
    settings: Robj,
    views: List,
    number: &[f64],
    seed: &[f64],
    tests_markers: bool,
    strict: bool,
    n_threads: i32,
) -> List {
    let start = || {
        let configured = cdimc::configured(method, to_json(&settings)?).map_err(text)?;
        let tables = tables(&views)?;
        let number = match *number {
            [n_clusters] => Number::Known(n_clusters as usize),
            [from, to] => {
                let (from, to) = (from as usize, to as usize);
                Number::Within(NumberRange { from, to, seeds: None })
            }
            _ => {
                return Err(
                    "number of clusters: must be one number, or the first and last to try".into()
                );
            }
        };
        let root = Seed::new(seed.first().map_or(0, |&seed| seed as u64));
        let seed = seed.get(1).map_or(root, |&nth| root.nth(nth as u64));
        Job::start(n_threads, move |observer| {
            let joined = training_set(tables, strict).map_err(text)?;
            let mut analysis = Analysis::new(&configured, &joined, number, seed);
            analysis.tests_markers = tests_markers;
            let outcome = analysis.run(observer).map_err(text)?;
            let model = outcome.model.as_ref().map(|model| model.to_bytes().map_err(text));
            let model = model.transpose()?;
            Ok(Box::new(move || fitted(&joined, outcome, model)) as IntoR)
        })
    };
    answer(start())
}

fn fitted(joined: &Joined, outcome: Outcome, model: Option<Vec<u8>>) -> Robj {
    let markers = outcome.markers(joined, LISTED);
    let number = to_value(&outcome.cluster_number).unwrap_or(Value::Null);
    let facts = outcome.facts();
    let table = SampleTable::of_fit(&outcome, joined);
    let found = outcome.clustering;
    let (header, rows) = markers.table(&joined.names, &joined.features);
    let curves =
        found.curves.iter().map(|curve| (curve.name.as_str(), Robj::from(curve.values.clone())));
    let entries = joined.data.mask().entries();
    let warnings: Vec<String> =
        outcome.warnings.iter().map(|warning| text(warning.line())).collect();
    list!(
        found = clusters(&found, table, joined),
        view_names = &joined.names,
        features = List::from_values(&joined.features),
        observed = RMatrix::new_matrix(entries.nrows(), entries.ncols(), |i, v| Rbool::from(
            entries[[i, v]]
        )),
        curves = List::from_pairs(curves),
        markers = text_columns(&header, &rows),
        n_clusters = outcome.n_clusters as i32,
        cluster_number = from_json(&number),
        facts = from_json(&facts),
        cluster_warnings = warnings,
        model = or_null(model.map(|bytes| Raw::from_bytes(&bytes)))
    )
    .into()
}

extendr_module! {
    mod fit;
    fn methods;
    fn settings_of;
    fn fit;
}
