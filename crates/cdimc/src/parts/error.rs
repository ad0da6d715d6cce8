//! Why samples in parts cannot be read or fitted to.

use cdimc_core::ClusterError;
use std::error::Error;

/// Why parts cannot be read or fitted to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PartsError {
    /// A part cannot be read, or is none of the model's.
    #[error(transparent)]
    Part(#[from] Box<dyn Error + Send + Sync>),
    /// What the parts are fitted with.
    #[error(transparent)]
    Fit(#[from] ClusterError),
    /// Samples without ids, which cannot be distinguished from samples of other parts.
    #[error("{file}: parts of the samples are told apart by their ids: name the column with --id")]
    NoIds {
        /// The file.
        file: String,
    },
    /// A part without samples.
    #[error("{file}: no sample of this part has a value in any view")]
    Empty {
        /// One of its files.
        file: String,
    },
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
        /// Its name, quoted, or that there is none.
        found: String,
        /// The name in the earlier part.
        expected: String,
    },
    /// A view that none of the samples drawn has.
    #[error(
        "{view}: none of the {n_drawn} samples that the search sees has this view: raise search-samples, or leave it out"
    )]
    Unseen {
        /// The view.
        view: String,
        /// How many were drawn.
        n_drawn: usize,
    },
    /// A sample in two parts.
    #[error("id `{id}` is in {first} and again in {second}: a sample lies in one part")]
    Repeated {
        /// Its id.
        id: String,
        /// A file of the first part.
        first: String,
        /// A file of the second.
        second: String,
    },
    /// A part that has changed since it was read first.
    #[error(
        "{file}: this part has {found} samples, and had {expected} when it was read first: it has changed"
    )]
    Changed {
        /// One of its files.
        file: String,
        /// Samples now.
        found: usize,
        /// Samples then.
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
