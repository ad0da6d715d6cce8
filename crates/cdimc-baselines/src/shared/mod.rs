//! Code shared by several methods.

pub(crate) mod clusters_of_rows;
pub(crate) mod kernels;
pub(crate) mod linear_algebra;
pub(crate) mod observed_rows;
pub(crate) mod settings;
