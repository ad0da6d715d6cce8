//! The Python module `cdimc._cdimc`: the engine behind the estimators of `python/cdimc`.
//!
//! Everything is generic over the registry of methods: a `Method` is a name and settings, its
//! `fit` gives labels and a `Model`. Conventions, defaults and documentation are Python's.

// PyO3 hands arguments over by value.
#![allow(clippy::needless_pass_by_value)]

mod call;
mod clinical;
mod experiments;
mod log;
mod method;
mod model;
mod tables;

/// The engine of the package `cdimc`.
#[pyo3::pymodule(name = "_cdimc")]
mod module {
    #[pymodule_export]
    use crate::clinical::compare;
    #[pymodule_export]
    use crate::experiments::{dataset, dataset_names, mask, match_labels, scores, synthetic};
    #[pymodule_export]
    use crate::method::{Fit, Method, method_names};
    #[pymodule_export]
    use crate::model::{Imputation, Model, Prediction};
    use pyo3::prelude::*;

    #[pymodule_export]
    const DEFAULT_METHOD: &str = cdimc::DEFAULT_METHOD;

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    // PyO3 asks for a result.
    #[allow(clippy::unnecessary_wraps)]
    #[pymodule_init]
    fn init(_: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::log::install();
        Ok(())
    }
}
