//! Joins tables into the samples of a fit; refuses data with nothing to cluster.

use crate::tables::{JoinError, Joined, Table, join};

/// Error of tables that cannot be the samples of a fit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainingSetError {
    /// There is only one sample in these files.
    #[error("{0}: only one sample: at least two are needed")]
    OneSample(String),
    /// Only one sample has the view in this file.
    #[error("{0}: only one row has values: a view needs at least two, or is left out")]
    OneRow(String),
    /// The tables cannot be joined.
    #[error(transparent)]
    Join(#[from] JoinError),
}

/// Joins the tables of a training set; each view needs at least two samples.
///
/// # Errors
/// If a view has fewer samples, or same as [`join`].
pub fn training_set(tables: Vec<Table>, strict: bool) -> Result<Joined, TrainingSetError> {
    let files: Vec<String> = tables.iter().map(|table| table.path.display().to_string()).collect();
    let joined = join(tables, strict)?;
    if joined.data.n_samples() < 2 {
        return Err(TrainingSetError::OneSample(files.join(", ")));
    }
    let with_one = (0..files.len()).find(|&view| joined.data.mask().n_observed(view) < 2);
    match with_one {
        Some(view) => Err(TrainingSetError::OneRow(files[view].clone())),
        None => Ok(joined),
    }
}
