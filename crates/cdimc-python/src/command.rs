//! The command `cdimc`, for the script that is installed with the package.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the command with these arguments and gives its exit code; `program` is the command line that leads here.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, program: Vec<OsString>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| cdimc::command::main(program, arguments))
}
