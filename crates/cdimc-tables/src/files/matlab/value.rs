//! Values in `.mat` files of both versions.

use cdimc_data::Matrix;

/// Largest nesting of cells; deeper files are circular or malicious.
pub(super) const MAX_DEPTH: usize = 16;
/// From this number on, an `f64` does not hold every whole number.
pub(super) const FIRST_INEXACT: f64 = (1_u64 << 53) as f64;

/// Value of a variable or a cell.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub(crate) enum MatValue {
    /// Real numbers or logicals of any class.
    Numeric {
        /// Extent of every dimension, two at least.
        shape: Vec<usize>,
        /// The values in MATLAB's order: the first dimension runs fastest.
        values: Vec<f64>,
        /// The same as whole numbers, if they have 64 bits and an `f64` rounds one of them.
        exact: Option<Vec<i128>>,
    },
    /// A sparse matrix.
    Sparse(Matrix),
    /// A cell array, flattened with the first dimension running fastest.
    Cells(Vec<MatValue>),
    /// A character array.
    Text(String),
    /// A matrix of an unsupported kind, described.
    UnreadMatrix(&'static str),
    /// Another unsupported class, described.
    Unsupported(&'static str),
}
