//! A method of the registry with its settings, and its fit.

use crate::call::{Call, Fault, advice, value_error};
use crate::model::{Model, Prediction};
use crate::tables::{View, tables};
use cdimc::analysis::{Analysis, Number};
use cdimc::cluster_number::NumberRange;
use cdimc::core::Observer;
use cdimc::data::Seed;
use cdimc::markers::LISTED;
use cdimc::sample_table::SampleTable;
use cdimc::{Configured, training_set};
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
    ) -> PyResult<Py<Fit>> {
        let (tables, configured, strict) = (tables(views)?, Arc::clone(&self.0), call.strict);
        let (number, seed) = number_and_seed;
        let number = match number {
            Given::Known(n_clusters) => Number::Known(n_clusters),
            Given::Within(from, to) => Number::Within(NumberRange { from, to, seeds: None }),
        };
        let work = move |observer: &dyn Observer| -> Result<_, Fault> {
            let joined = training_set(tables, strict)?;
            let mut analysis = Analysis::new(&configured, &joined, number, Seed::new(seed));
            analysis.tests_markers = tests_markers;
            let outcome = analysis.run(observer)?;
            // These run on the call's threads too, because threads of the process do not survive a fork.
            let table = SampleTable::of_fit(&outcome, &joined);
            let markers = outcome.markers(&joined, LISTED);
            let markers = markers.table(&joined.names, &joined.features);
            Ok((joined, outcome, table, markers))
        };
        let (found, n_steps) = call.run(py, work)?;
        let (mut joined, mut outcome, table, markers) = found.map_err(value_error)?;
        let chosen = to_value(outcome.cluster_number).unwrap_or(Value::Null);
        let curves = std::mem::take(&mut outcome.clustering.curves);
        let warnings = outcome.warnings.iter().map(|warning| advice(&warning.line()));
        let model = outcome.model.map(|model| Py::new(py, Model::new(model.without_samples())));
        let fit = Fit {
            features: std::mem::take(&mut joined.features),
            curves: curves.into_iter().map(|curve| (curve.name, curve.values)).collect(),
            markers,
            n_clusters: outcome.n_clusters,
            n_steps,
            cluster_number: chosen.to_string(),
            cluster_warnings: warnings.collect(),
            model: model.transpose()?,
        };
        let prediction = Prediction::new(py, joined, outcome.clustering, table)?;
        Py::new(py, PyClassInitializer::from(prediction).add_subclass(fit))
    }
}

/// Result of a fit: the clusters of its samples, and what else it found.
#[pyclass(frozen, get_all, extends = Prediction, module = "cdimc._cdimc")]
pub(crate) struct Fit {
    features: Vec<Vec<String>>,
    curves: Vec<(String, Vec<f64>)>,
    /// Header and rows of the command's `markers.csv`.
    markers: (Vec<&'static str>, Vec<Vec<String>>),
    n_clusters: usize,
    n_steps: usize,
    cluster_number: String,
    cluster_warnings: Vec<String>,
    model: Option<Py<Model>>,
}
