//! The engine behind the R package `cdimc`.
//!
//! Whatever takes a moment is a [`Job`](job::Job) on threads of its own: R starts it, asks for its steps, and stops it
//! when the user interrupts. Settings and findings go through as R lists, models as the bytes of their files, errors as
//! text: conditions, defaults and documentation are R's.

mod experiments;
mod fit;
mod job;
mod model;
mod tables;
mod value;

use extendr_api::prelude::*;

/// A result as R looks at it: `list(value, error)`, one of which is NULL.
pub(crate) fn answer(result: std::result::Result<Robj, String>) -> List {
    match result {
        Ok(value) => list!(value = value, error = NULL),
        Err(error) => list!(value = NULL, error = error),
    }
}

/// An error as its text.
pub(crate) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

extendr_module! {
    mod cdimc;
    use experiments;
    use fit;
    use job;
    use model;
}
