//! The command `cdimc`, for the script of the package.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the command with these arguments and returns its exit code; `program` is the command line that starts it.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, program: Vec<OsString>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| cdimc::command::main(program, arguments))
}
