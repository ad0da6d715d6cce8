//! The columns of a view as its coordinates take them.

use crate::coordinates::Kind;
use crate::coordinates::projection::{Projection, length};
use crate::fitted::MixtureModel;
use cdimc_data::Matrix;
use ndarray::ArrayView1;

/// Some rows of a view on the scale that the model used: columns as given, but for `ranks` their normal scores, and for
/// `unit` every row divided by its length.
///
/// What `standard` and `centered` subtract and divide by is the same for all rows of a column.
#[derive(Debug)]
pub struct Scale<'a> {
    projection: &'a Projection,
    /// Of the rows; empty unless the kind is `unit`.
    lengths: Vec<f64>,
}

impl MixtureModel {
    /// The rows `rows` of a view, `(n_samples, n_features)`, on the scale that the model used.
    ///
    /// # Panics
    /// If the model has not this view, or there is no such row.
    pub fn scale(&self, view: usize, x: &Matrix, rows: &[usize]) -> Scale<'_> {
        let projection = &self.projections[view];
        let mut buffer = Vec::new();
        // Zeros add nothing to a length.
        let mut length_of = |&i: &usize| match x.sparse() {
            Some(sparse) => length(ArrayView1::from(sparse.row(i).1)),
            None => length(ArrayView1::from(x.row(i, &mut buffer))),
        };
        let lengths = match projection.kind {
            Kind::Unit => rows.iter().map(&mut length_of).collect(),
            _ => Vec::new(),
        };
        Scale { projection, lengths }
    }
}

impl Scale<'_> {
    /// The values of a column, given as they are.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn of_column(&self, j: usize, given: &[f64]) -> Vec<f64> {
        match (&self.projection.scores, self.projection.kind) {
            (Some(scores), _) => given.iter().map(|&x| scores.of(x, j)).collect(),
            (None, Kind::Unit) => {
                let unit = |(x, &length)| if length > 0.0 { x / length } else { 0.0 };
                given.iter().zip(&self.lengths).map(unit).collect()
            }
            (None, _) => given.to_vec(),
        }
    }
}
