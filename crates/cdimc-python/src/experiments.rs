//! Functions for experiments: masks, scores, data sets with known classes.

use crate::call::value_error;
use cdimc::data::{Dataset, MissingPattern, Seed, SyntheticViews};
use cdimc::tables::TableError;
use cdimc::tables::datasets::Catalog;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;

type Arrays = Vec<Py<PyArray2<f64>>>;
type Classes = Option<Py<PyArray1<i64>>>;

/// Returns a mask of a pattern in the command's syntax, `(n_samples, n_views)`, true if observed.
#[pyfunction]
pub(crate) fn mask(
    py: Python<'_>,
    pattern: &str,
    shape: (usize, usize),
    seed: u64,
) -> PyResult<Py<PyArray2<bool>>> {
    let pattern: MissingPattern = pattern.parse().map_err(value_error)?;
    let mask = pattern.mask(shape.0, shape.1, Seed::new(seed)).map_err(value_error)?;
    Ok(mask.entries().to_owned().into_pyarray(py).unbind())
}

/// Returns all scores by name.
#[pyfunction]
pub(crate) fn scores(
    truth: Vec<usize>,
    found: Vec<usize>,
) -> PyResult<BTreeMap<&'static str, f64>> {
    let scores = cdimc::metrics::scores(&truth, &found).map_err(value_error)?;
    Ok(scores.iter().collect())
}

/// Returns the class of each cluster in the best matching.
#[pyfunction]
pub(crate) fn match_labels(
    truth: Vec<usize>,
    found: Vec<usize>,
) -> PyResult<BTreeMap<usize, Option<usize>>> {
    cdimc::metrics::match_labels(&truth, &found).map_err(value_error)
}

/// Returns the names of the data sets with manifests.
#[pyfunction]
pub(crate) fn dataset_names() -> PyResult<Vec<String>> {
    let catalog = Catalog::from_env(None).map_err(value_error)?;
    Ok(catalog.manifests().map(|manifest| manifest.name.clone()).collect())
}

/// Returns the names of the views of a data set, the views, and the class of each sample.
#[pyfunction]
pub(crate) fn dataset(
    py: Python<'_>,
    name: &str,
    folder: Option<PathBuf>,
) -> PyResult<(Vec<String>, Arrays, Classes)> {
    let load = || {
        let catalog = Catalog::from_env(folder)?;
        let names = catalog.manifest(name)?.views.iter().map(|view| view.name.clone()).collect();
        Ok::<_, TableError>((names, catalog.load(name)?))
    };
    let (names, data): (Vec<String>, Dataset) = py.detach(load).map_err(value_error)?;
    Ok((names, arrays(py, &data), classes(py, &data)))
}

/// Returns the views of synthetic data described by JSON, and the class of each sample.
#[pyfunction]
pub(crate) fn synthetic(
    py: Python<'_>,
    description: &str,
    seed: u64,
) -> PyResult<(Arrays, Classes)> {
    let description: SyntheticViews = serde_json::from_str(description).map_err(value_error)?;
    let data = description.generate(Seed::new(seed)).map_err(value_error)?;
    Ok((arrays(py, &data), classes(py, &data)))
}

fn arrays(py: Python<'_>, data: &Dataset) -> Arrays {
    data.views().iter().map(|view| view.to_owned().into_pyarray(py).unbind()).collect()
}

fn classes(py: Python<'_>, data: &Dataset) -> Classes {
    let numbers = |labels: &[usize]| labels.iter().map(|&label| label as i64).collect::<Vec<_>>();
    data.labels().map(|labels| numbers(labels).into_pyarray(py).unbind())
}
