//! Columns of a view on the scale of its coordinates.

use crate::coordinates::Kind;
use crate::coordinates::{length, projection::Projection};
use crate::fitted::MixtureModel;
use cdimc_data::Matrix;
use ndarray::ArrayView1;

/// Rows of a view on the scale of the model: original columns, for `ranks` normal scores, for `unit` rows of unit
/// length.
///
/// Constants that `standard` and `centered` subtract and divide by are omitted.
#[derive(Debug)]
pub struct ColumnScale<'a> {
    projection: &'a Projection,
    /// Lengths of the rows; empty unless the kind is `unit`.
    lengths: Vec<f64>,
}

impl MixtureModel {
    /// Returns the scale for the rows `rows` of a view, `(n_samples, n_features)`.
    ///
    /// # Panics
    /// If the model lacks this view, or `x` lacks a row.
    pub fn scale(&self, view: usize, x: &Matrix, rows: &[usize]) -> ColumnScale<'_> {
        let projection = &self.projections[view];
        let mut buffer = Vec::new();
        let mut length_of = |&i: &usize| match x.sparse() {
            Some(sparse) => length(ArrayView1::from(sparse.row(i).1)),
            None => length(ArrayView1::from(x.row(i, &mut buffer))),
        };
        let lengths = match projection.kind {
            Kind::Unit => rows.iter().map(&mut length_of).collect(),
            _ => Vec::new(),
        };
        ColumnScale { projection, lengths }
    }
}

impl ColumnScale<'_> {
    /// Returns the scaled values of column `j`, given its original values.
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
