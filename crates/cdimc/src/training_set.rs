//! Joins tables into the samples of a fit; refuses data with nothing to cluster.

use crate::tables::{Joined, Table, TableError, join};

/// Joins the tables of a training set; each view needs at least two samples.
///
/// # Errors
/// If a view has fewer samples, or same as [`join`].
pub fn training_set(tables: Vec<Table>, strict: bool) -> Result<Joined, TableError> {
    let files: Vec<String> = tables.iter().map(|table| table.path.display().to_string()).collect();
    let joined = join(tables, strict)?;
    if joined.data.n_samples() < 2 {
        let files = files.join(", ");
        return Err(format!("{files}: only one sample: at least two are needed").into());
    }
    let with_one = (0..files.len()).find(|&view| joined.data.mask().n_observed(view) < 2);
    match with_one.map(|view| &files[view]) {
        Some(file) => Err(format!(
            "{file}: only one row has values: a view needs at least two, or is left out"
        )
        .into()),
        None => Ok(joined),
    }
}
