//! A trained model of any method; R holds the bytes of its file.

use crate::job::{IntoR, Job};
use crate::tables::{clusters, filled, tables};
use crate::value::{from_json, matrix, text_columns};
use crate::{answer, text};
use cdimc::NamedModel;
use cdimc::core::Observer;
use cdimc::data::Seed;
use cdimc::reasons::Reasons;
use cdimc::sample_table::SampleTable;
use cdimc::tables::Table;
use extendr_api::prelude::*;
use serde_json::to_value;

/// Returns the content of a model file: method, settings, facts, and the names of views and columns.
#[extendr]
fn model_describe(bytes: Raw) -> List {
    let describe = |named: NamedModel| {
        let views: Vec<&str> = named.views.iter().map(|view| view.name.as_str()).collect();
        let features = named.views.iter().map(|view| &view.features);
        list!(
            method = named.model.method(),
            settings = from_json(&named.model.settings()),
            facts = from_json(&named.model.facts()),
            n_clusters = named.model.n_clusters() as i32,
            view_names = views,
            features = List::from_values(features)
        )
        .into()
    };
    answer(NamedModel::from_bytes(bytes.as_slice()).map(describe).map_err(text))
}

/// Starts work on the model and the tables of `views`.
fn start(
    bytes: &Raw,
    views: &List,
    n_threads: i32,
    work: impl FnOnce(NamedModel, Vec<Table>, &dyn Observer) -> std::result::Result<IntoR, String>
    + Send
    + 'static,
) -> List {
    let start = || {
        let (named, tables) =
            (NamedModel::from_bytes(bytes.as_slice()).map_err(text)?, tables(views)?);
        Job::start(n_threads, move |observer| work(named, tables, observer))
    };
    answer(start())
}

/// Predicts the clusters of new samples with any subset of the views.
#[extendr]
fn model_predict(bytes: Raw, views: List, strict: bool, n_threads: i32) -> List {
    start(&bytes, &views, n_threads, move |named, tables, _| {
        let (joined, which) = named.join(tables, strict).map_err(text)?;
        let found = named.predict(&joined, &which).map_err(text)?;
        let table = SampleTable::new(&found, &joined);
        Ok(Box::new(move || clusters(&found, table, &joined).into()) as IntoR)
    })
}

/// Returns the reasons for the clusters of the samples `ids`, or of all samples, as columns of text.
#[extendr]
fn model_explain(
    bytes: Raw,
    views: List,
    ids: Vec<String>,
    seed: f64,
    strict: bool,
    n_threads: i32,
) -> List {
    start(&bytes, &views, n_threads, move |named, tables, _| {
        let (joined, which) = named.join(tables, strict).map_err(text)?;
        let seed = Seed::new(seed as u64);
        let found = named.reasons(&joined, &which, &ids, seed).map_err(text)?;
        let (header, rows) = Reasons::table(&found);
        Ok(Box::new(move || text_columns(&header, &rows).into()) as IntoR)
    })
}

/// Returns all views of samples with any subset of them, with missing values filled in.
#[extendr]
fn model_impute(bytes: Raw, views: List, strict: bool, n_threads: i32) -> List {
    start(&bytes, &views, n_threads, move |named, tables, _| {
        let (joined, which) = named.join(tables, strict).map_err(text)?;
        let views = named.impute(&joined, &which).map_err(text)?;
        let into_r = move || {
            list!(
                samples = &joined.ids,
                unobserved = &joined.unobserved,
                filled = filled(&joined.filled),
                data_warnings = joined.remarks().map(text).collect::<Vec<_>>(),
                views = List::from_values(views.iter().map(matrix))
            )
            .into()
        };
        Ok(Box::new(into_r) as IntoR)
    })
}

/// Returns the stability of the clusters of the fit in subsamples.
#[extendr]
fn model_stability(
    bytes: Raw,
    views: List,
    n_subsamples: i32,
    seed: f64,
    strict: bool,
    n_threads: i32,
) -> List {
    start(&bytes, &views, n_threads, move |named, tables, observer| {
        let joined = named.training_set(tables, strict).map_err(text)?;
        let seed = Seed::new(seed as u64).stream("stability");
        let fitted = named.fitted_to(&joined).map_err(text)?;
        let found = fitted.stability(n_subsamples as usize, seed, observer).map_err(text)?;
        let into_r = move || {
            let found = to_value(&found).unwrap_or_default();
            list!(samples = joined.ids, unobserved = joined.unobserved, found = from_json(&found))
                .into()
        };
        Ok(Box::new(into_r) as IntoR)
    })
}

extendr_module! {
    mod model;
    fn model_describe;
    fn model_predict;
    fn model_explain;
    fn model_impute;
    fn model_stability;
}
