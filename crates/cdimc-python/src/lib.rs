//! The Python module `cdimc._cdimc`: the engine behind the estimators of `python/cdimc`.
//!
//! Everything is generic over the registry of methods: a `Method` is a name with settings, its `fit` returns labels and a
//! `Model`. Conventions, defaults and documentation are in Python.

// PyO3 passes arguments by value.
#![allow(clippy::needless_pass_by_value)]

mod call;
mod clinical;
mod command;
mod experiments;
mod log;
mod method;
mod model;
mod parts;
mod tables;

/// Engine of the package `cdimc`.
#[pyo3::pymodule(name = "_cdimc")]
mod module {
    #[pymodule_export]
    use crate::clinical::{compare, text_advice};
    #[pymodule_export]
    use crate::command::command;
    #[pymodule_export]
    use crate::experiments::{dataset, dataset_names, mask, match_labels, scores, synthetic};
    #[pymodule_export]
    use crate::method::{Fit, Method, method_names};
    #[pymodule_export]
    use crate::model::{Imputation, Model, Prediction};
    #[pymodule_export]
    use crate::parts::{Pass, samples_to_search};
    #[pymodule_export]
    const DEFAULT_METHOD: &str = cdimc::DEFAULT_METHOD;

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
