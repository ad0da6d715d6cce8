//! What `.mat` files of both kinds hold.

use cdimc_data::Matrix;

/// Cells nest; a file that nests deeper goes in circles, or is made to exhaust the stack.
pub(super) const MAX_DEPTH: usize = 16;
/// From here on not every whole number is an `f64`.
pub(super) const EXACT: f64 = (1_u64 << 53) as f64;

/// What a variable or a cell of a `.mat` file holds.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub(crate) enum MatValue {
    /// Real numbers or logicals of any class.
    Numeric {
        /// Extent of every dimension, two at least.
        shape: Vec<usize>,
        /// The values in MATLAB's order: the first dimension runs fastest.
        values: Vec<f64>,
        /// The same as whole numbers, where they are of 64 bits and an `f64` rounds one of them.
        exact: Option<Vec<i128>>,
    },
    /// A sparse matrix.
    Sparse(Matrix),
    /// A cell array, flattened with the first dimension running fastest.
    Cells(Vec<MatValue>),
    /// A character array.
    Text(String),
    /// A matrix of a kind that is not read: what it is.
    UnreadMatrix(&'static str),
    /// Another class that is not read: its name.
    Unsupported(&'static str),
}
