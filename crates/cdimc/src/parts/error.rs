//! Errors of samples in parts.

use cdimc_core::ClusterError;
use std::error::Error;

/// Error of reading parts or fitting to them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PartsError {
    /// A part cannot be read, or does not fit the model.
    #[error(transparent)]
    Part(#[from] Box<dyn Error + Send + Sync>),
    /// The fit to the parts failed.
    #[error(transparent)]
    Fit(#[from] ClusterError),
    /// A file without ids, whose samples cannot be distinguished from samples of other parts.
    #[error("{0}: parts of the samples need ids: name the column with --id")]
    NoIds(String),
    /// A file of a part without samples.
    #[error("{0}: no sample of this part has a value in any view")]
    Empty(String),
    /// A view with other columns than in an earlier part.
    #[error(
        "{file}: column {column} is {found}, in {first} it is {expected}: all parts of a view must have the same columns"
    )]
    Columns {
        /// The file.
        file: String,
        /// The earlier file.
        first: String,
        /// Its number, from 1.
        column: usize,
        /// Its quoted name, or a note that it has none.
        found: String,
        /// The name in the earlier part.
        expected: String,
    },
    /// No drawn sample has the view.
    #[error(
        "{view}: none of the {n_drawn} samples in the search has this view: raise search-samples, or leave it out"
    )]
    Unseen {
        /// The view.
        view: String,
        /// Number of drawn samples.
        n_drawn: usize,
    },
    /// A sample in two parts.
    #[error(
        "id `{id}` is in {first} and again in {second}: a sample must be in one part, the files of one name"
    )]
    Repeated {
        /// Its id.
        id: String,
        /// A file of the first part.
        first: String,
        /// A file of the second.
        second: String,
    },
    /// A part has changed since it was first read.
    #[error(
        "{file}: this part has {found} samples, and had {expected} when it was read first: it has changed"
    )]
    Changed {
        /// One of its files.
        file: String,
        /// Number of samples now.
        found: usize,
        /// Number of samples at first.
        expected: usize,
    },
}

impl From<PartsError> for ClusterError {
    fn from(error: PartsError) -> Self {
        match error {
            PartsError::Fit(error) => error,
            error => Self::Part(Box::new(error)),
        }
    }
}
