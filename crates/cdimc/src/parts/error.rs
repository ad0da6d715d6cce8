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
    /// No part has a sample with a value; the first file.
    #[error("{0} and all other parts: no sample has a value in any view")]
    Empty(String),
    /// A view with other columns than in an earlier part.
    #[error(
        "column `{column}` is in {with} and not in {without}: all parts of a view must have the same columns"
    )]
    Columns {
        /// The column.
        column: String,
        /// The file with the column.
        with: String,
        /// The file without it.
        without: String,
    },
    /// Too few drawn samples have the view.
    #[error(
        "{view}: {n} of the {n_drawn} samples in the search have this view, at least 2 are needed: raise search-samples, or \
         leave it out"
    )]
    Unseen {
        /// The view.
        view: String,
        /// Number of drawn samples with the view.
        n: usize,
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
