//! The engine behind the R package `cdimc`.
//!
//! Long computations are a [`Job`](job::Job) on their own threads: R starts it, polls its steps, and stops it if the user
//! interrupts. Settings and findings are passed as R lists, models as the bytes of their files, errors as text.
//! Conditions, defaults and documentation are in R.

mod experiments;
mod fit;
mod job;
mod model;
mod tables;
mod value;

use extendr_api::prelude::*;

/// Returns a result in the form `list(value, error)`; one of them is NULL.
pub(crate) fn answer(result: std::result::Result<Robj, String>) -> List {
    match result {
        Ok(value) => list!(value = value, error = NULL),
        Err(error) => list!(value = NULL, error = error),
    }
}

/// Converts an error or warning to text, with advice in the words of R.
pub(crate) fn text(error: impl std::fmt::Display) -> String {
    cdimc::advice::Language::R.advice(&error.to_string())
}

extendr_module! {
    mod cdimc;
    use experiments;
    use fit;
    use job;
    use model;
    use tables;
}
