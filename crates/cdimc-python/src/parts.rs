//! Sums of EM over samples in parts, which machines exchange.

use crate::call::value_error;
use cdimc::data::Seed;
use cdimc::mixture;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Sums of EM over the samples of a part; the sums of all parts add up.
#[pyclass(frozen, module = "cdimc._cdimc")]
pub(crate) struct Pass(pub(crate) mixture::Pass);

#[pymethods]
impl Pass {
    /// Reads a pass from bytes.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        mixture::Pass::from_bytes(bytes).map(Self).map_err(value_error)
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let bytes = PyBytes::new(py, &self.0.to_bytes().map_err(value_error)?);
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (bytes,)))
    }

    /// Number of samples.
    #[getter]
    fn n_samples(&self) -> usize {
        self.0.n_samples()
    }

    /// Mean log-likelihood per sample in nats, up to a constant per view.
    #[getter]
    fn mean_log_likelihood(&self) -> f64 {
        self.0.mean_log_likelihood()
    }

    /// Returns the sum of passes under one model: neighbors in pairs, then pairs of pairs, and so on.
    #[staticmethod]
    fn sum(passes: Vec<PyRef<'_, Self>>) -> PyResult<Self> {
        let sum = mixture::Pass::sum(passes.iter().map(|pass| pass.0.clone()).collect());
        let none = || value_error("passes = 0: there must be one at least");
        sum.map_err(value_error)?.map(Self).ok_or_else(none)
    }

    /// Returns whether EM ends with this pass; `before` is the previous pass.
    fn settles(&self, before: &Self) -> bool {
        self.0.settles(&before.0)
    }
}

/// Returns the samples, ascending, in `0..n_samples`, for the search of a mixture with these settings.
#[pyfunction]
pub(crate) fn samples_to_search(
    settings: &str,
    n_samples: usize,
    seed: u64,
) -> PyResult<Vec<usize>> {
    let method: mixture::TMixture = serde_json::from_str(settings).map_err(value_error)?;
    Ok(method.samples_to_search(n_samples, Seed::new(seed)))
}
