//! A method of the registry with its settings, and its fit.

use crate::call::{Call, value_error};
use crate::model::Model;
use crate::tables::{View, filled, labels, tables};
use cdimc::analysis::{Analysis, Interim, Number, Outcome};
use cdimc::cluster_number::NumberRange;
use cdimc::core::Observer;
use cdimc::data::Seed;
use cdimc::markers::LISTED;
use cdimc::tables::Joined;
use cdimc::{Configured, training_set};
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use serde_json::{Value, to_value};
use std::sync::Arc;

/// Returns the names of all methods, default first.
#[pyfunction]
pub(crate) fn method_names() -> Vec<&'static str> {
    cdimc::method_names()
}

/// A method with all its settings.
#[pyclass(frozen, module = "cdimc._cdimc")]
pub(crate) struct Method(Arc<Configured>);

/// Number of clusters, or the smallest and largest to try.
#[derive(FromPyObject, Clone, Copy)]
enum Given {
    Known(usize),
    Within(usize, usize),
}

#[pymethods]
impl Method {
    /// Returns the method `name` with these settings as JSON; missing settings keep their default.
    #[new]
    fn new(name: &str, settings: &str) -> PyResult<Self> {
        let settings = serde_json::from_str(settings).map_err(value_error)?;
        let configured = cdimc::configured(name, settings).map_err(value_error)?;
        Ok(Self(Arc::new(configured)))
    }

    /// All settings as JSON, defaults included.
    #[getter]
    fn settings(&self) -> String {
        self.0.settings.to_string()
    }

    /// Defaults in order, and schema of the settings, as JSON.
    #[getter]
    fn described(&self) -> String {
        (self.0.described)()
    }

    /// Clusters the samples of the views, with a seed, and optionally tests markers.
    fn fit(
        &self,
        py: Python<'_>,
        views: Vec<View<'_>>,
        number_and_seed: (Given, u64),
        tests_markers: bool,
        call: Call<'_>,
    ) -> PyResult<Fit> {
        let (tables, configured, strict) = (tables(views)?, Arc::clone(&self.0), call.strict);
        let (number, seed) = number_and_seed;
        let number = match number {
            Given::Known(n_clusters) => Number::Known(n_clusters),
            Given::Within(from, to) => Number::Within(NumberRange { from, to, seeds: None }),
        };
        let work =
            move |observer: &Observer<'_>| -> Result<_, Box<dyn std::error::Error + Send + Sync>> {
                let joined = training_set(tables, strict)?;
                let mut analysis = Analysis::new(&configured, &joined, number, Seed::new(seed));
                analysis.tests_markers = tests_markers;
                let outcome = analysis.run(&mut Interim::default(), observer)?;
                // Runs on the call's threads too, because threads of the process do not survive a fork.
                let markers = outcome.markers(&joined, LISTED);
                let markers = markers.table(&joined.names, &joined.features);
                Ok((joined, outcome, markers))
            };
        let (found, n_steps) = call.run(py, work)?;
        let (joined, outcome, markers) = found.map_err(value_error)?;
        Fit::new(py, joined, outcome, markers, n_steps)
    }
}

/// Header and rows of the command's `markers.csv`.
type MarkersTable = (Vec<&'static str>, Vec<Vec<String>>);

/// Result of a fit, one entry per sample with a value in some view.
#[pyclass(frozen, get_all, module = "cdimc._cdimc")]
pub(crate) struct Fit {
    samples: Vec<String>,
    unobserved: Vec<String>,
    filled: Vec<(String, String, usize)>,
    features: Vec<Vec<String>>,
    labels: Py<PyArray1<i64>>,
    losses: Option<Py<PyArray1<f64>>>,
    confidence: Option<Py<PyArray1<f64>>>,
    probabilities: Option<Py<PyArray2<f64>>>,
    embedding: Option<Py<PyArray2<f64>>>,
    curves: Vec<(String, Vec<f64>)>,
    /// Header and rows of the command's `markers.csv`.
    markers: MarkersTable,
    n_clusters: usize,
    n_steps: usize,
    cluster_number: String,
    data_warnings: Vec<String>,
    cluster_warnings: Vec<String>,
    model: Option<Py<Model>>,
}

impl Fit {
    fn new(
        py: Python<'_>,
        joined: Joined,
        outcome: Outcome,
        markers: MarkersTable,
        n_steps: usize,
    ) -> PyResult<Self> {
        let vector = |values: Vec<f64>| values.into_pyarray(py).unbind();
        let chosen = to_value(outcome.cluster_number).unwrap_or(Value::Null);
        let found = outcome.clustering;
        Ok(Self {
            samples: joined.ids,
            unobserved: joined.unobserved,
            filled: filled(joined.filled),
            features: joined.features,
            labels: labels(py, found.labels),
            losses: found.losses.map(vector),
            confidence: found.confidence.map(vector),
            probabilities: found.probabilities.map(|p| p.into_pyarray(py).unbind()),
            embedding: found.embedding.map(|h| h.into_pyarray(py).unbind()),
            curves: found.curves.into_iter().map(|curve| (curve.name, curve.values)).collect(),
            markers,
            n_clusters: outcome.n_clusters,
            n_steps,
            cluster_number: chosen.to_string(),
            data_warnings: joined.warnings,
            cluster_warnings: outcome.warnings.into_iter().map(|warning| warning.text).collect(),
            model: outcome
                .model
                .map(|model| Py::new(py, Model::new(model.without_samples())))
                .transpose()?,
        })
    }
}
