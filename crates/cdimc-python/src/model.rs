//! A trained model of any method, in the file format of the command.

use crate::call::{Call, Fault, advice, value_error};
use crate::parts::Pass;
use crate::tables::{View, columns, filled, tables};
use cdimc::NamedModel;
use cdimc::core::{Clustering, Observer};
use cdimc::data::Seed;
use cdimc::reasons::Reasons;
use cdimc::sample_table::SampleTable;
use cdimc::tables::{Joined, Table};
use numpy::{IntoPyArray, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;
use std::sync::Arc;

/// Trained model with the names of its views and columns.
#[pyclass(frozen, module = "cdimc._cdimc")]
pub(crate) struct Model(Arc<NamedModel>);

impl Model {
    pub(crate) fn new(model: NamedModel) -> Self {
        Self(Arc::new(model))
    }

    /// Runs `work` on the tables of `views`, outside the interpreter.
    fn run<T: Send + 'static>(
        &self,
        py: Python<'_>,
        views: Vec<View<'_>>,
        call: &Call<'_>,
        work: impl FnOnce(&NamedModel, Vec<Table>, bool, &dyn Observer) -> Result<T, Fault>
        + Send
        + 'static,
    ) -> PyResult<T> {
        let (tables, strict, named) = (tables(views)?, call.strict, Arc::clone(&self.0));
        let work = move |observer: &dyn Observer| work(&named, tables, strict, observer);
        call.run(py, work)?.0.map_err(value_error)
    }
}

#[pymethods]
impl Model {
    /// Reads the model from the bytes of a file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        NamedModel::from_bytes(bytes).map(Self::new).map_err(value_error)
    }

    /// Reads the model from a file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        NamedModel::load(&path).map(Self::new).map_err(value_error)
    }

    /// Returns the bytes of the file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.to_bytes().map_err(value_error)?))
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }

    /// Name of the method that made the model.
    #[getter]
    fn method(&self) -> &'static str {
        self.0.model.method()
    }

    /// Settings of the training, as JSON.
    #[getter]
    fn settings(&self) -> String {
        self.0.model.settings().to_string()
    }

    /// Findings of the fit about the data, as JSON.
    #[getter]
    fn facts(&self) -> String {
        self.0.model.facts().to_string()
    }

    /// Number of clusters.
    #[getter]
    fn n_clusters(&self) -> usize {
        self.0.model.n_clusters()
    }

    /// Name of each view.
    #[getter]
    fn view_names(&self) -> Vec<String> {
        self.0.views.iter().map(|view| view.name.clone()).collect()
    }

    /// Name of each column of each view.
    #[getter]
    fn feature_names(&self) -> Vec<Vec<String>> {
        self.0.views.iter().map(|view| view.features.clone()).collect()
    }

    /// Predicts the clusters of new samples with any subset of the views.
    fn predict(
        &self,
        py: Python<'_>,
        views: Vec<View<'_>>,
        call: Call<'_>,
    ) -> PyResult<Prediction> {
        let (joined, found) = self.run(py, views, &call, |named, tables, strict, _| {
            let (joined, which) = named.join(tables, strict)?;
            let found = named.predict(&joined, &which)?;
            Ok((joined, found))
        })?;
        let table = SampleTable::new(&found, &joined);
        Prediction::new(py, joined, found, table)
    }

    /// Computes the sums of EM over samples with any subset of the views.
    fn pass_over(&self, py: Python<'_>, views: Vec<View<'_>>, call: Call<'_>) -> PyResult<Pass> {
        let pass = self.run(py, views, &call, |named, tables, strict, _| {
            let (joined, which) = named.arrange(tables, strict)?;
            Ok(named.pass_over(&joined, &which)?)
        });
        pass.map(Pass)
    }

    /// Returns the model after the M step of a pass over all samples.
    fn after(&self, pass: &Pass) -> PyResult<Self> {
        self.0.after(&pass.0).map(Self::new).map_err(value_error)
    }

    /// Returns the model with all quantities that are computed from the samples of the search.
    fn completed(
        &self,
        py: Python<'_>,
        views: Vec<View<'_>>,
        seed: u64,
        call: Call<'_>,
    ) -> PyResult<Self> {
        let model = self.run(py, views, &call, move |named, tables, strict, _| {
            let joined = cdimc::training_set(tables, strict)?;
            Ok(named.completed(&joined, Seed::new(seed))?)
        });
        model.map(Self::new)
    }

    /// Returns the stability of the clusters of the fit in subsamples, as JSON, and the samples.
    fn stability(
        &self,
        py: Python<'_>,
        views: Vec<View<'_>>,
        subsamples_and_seed: (usize, u64),
        call: Call<'_>,
    ) -> PyResult<(Vec<String>, Vec<String>, String)> {
        let (n_subsamples, seed) = subsamples_and_seed;
        self.run(py, views, &call, move |named, tables, strict, observer| {
            let joined = named.training_set(tables, strict)?;
            let seed = Seed::new(seed).stream("stability");
            let found = named.fitted_to(&joined)?.stability(n_subsamples, seed, observer)?;
            Ok((joined.ids, joined.unobserved, serde_json::to_string(&found)?))
        })
    }

    /// Returns the reasons for the clusters of the samples `ids`, or of all samples, as a table.
    fn explain(
        &self,
        py: Python<'_>,
        views: Vec<View<'_>>,
        ids_and_seed: (Vec<String>, u64),
        call: Call<'_>,
    ) -> PyResult<(Vec<&'static str>, Vec<Vec<String>>)> {
        let (ids, seed) = ids_and_seed;
        let found = self.run(py, views, &call, move |named, tables, strict, _| {
            let (joined, which) = named.join(tables, strict)?;
            Ok(named.reasons(&joined, &which, &ids, Seed::new(seed))?)
        })?;
        Ok(Reasons::table(&found))
    }

    /// Returns all views of samples with any subset of them, with missing values filled in.
    fn impute(&self, py: Python<'_>, views: Vec<View<'_>>, call: Call<'_>) -> PyResult<Imputation> {
        let (joined, views) = self.run(py, views, &call, |named, tables, strict, _| {
            let (joined, which) = named.join(tables, strict)?;
            let views = named.impute(&joined, &which)?;
            Ok((joined, views))
        })?;
        Ok(Imputation {
            data_warnings: joined.remarks().map(|text| advice(text)).collect(),
            samples: joined.ids,
            unobserved: joined.unobserved,
            filled: filled(joined.filled),
            views: views.into_iter().map(|view| view.into_pyarray(py).unbind()).collect(),
        })
    }
}

/// Clusters of samples, one entry per sample with a value in some view.
#[pyclass(frozen, get_all, subclass, module = "cdimc._cdimc")]
pub(crate) struct Prediction {
    samples: Vec<String>,
    unobserved: Vec<String>,
    filled: Vec<(String, String, usize)>,
    data_warnings: Vec<String>,
    columns: Py<PyDict>,
    probabilities: Option<Py<PyArray2<f64>>>,
    embedding: Option<Py<PyArray2<f64>>>,
}

impl Prediction {
    pub(crate) fn new(
        py: Python<'_>,
        joined: Joined,
        found: Clustering,
        table: SampleTable,
    ) -> PyResult<Self> {
        Ok(Self {
            data_warnings: joined.remarks().map(|text| advice(text)).collect(),
            samples: joined.ids,
            unobserved: joined.unobserved,
            filled: filled(joined.filled),
            columns: columns(py, table)?,
            probabilities: found.probabilities.map(|p| p.into_pyarray(py).unbind()),
            embedding: found.embedding.map(|h| h.into_pyarray(py).unbind()),
        })
    }
}

/// Completed views, one row per sample with a value in some view.
#[pyclass(frozen, get_all, module = "cdimc._cdimc")]
pub(crate) struct Imputation {
    samples: Vec<String>,
    unobserved: Vec<String>,
    filled: Vec<(String, String, usize)>,
    data_warnings: Vec<String>,
    views: Vec<Py<PyArray2<f64>>>,
}
