//! The columns of a view as its coordinates take them.

use crate::coordinates::Kind;
use crate::coordinates::projection::{Projection, length};
use crate::fitted::MixtureModel;
use ndarray::ArrayView2;

/// Some rows of a view on the scale that the model used: columns as given, but for `ranks` their normal scores, and for
/// `unit` every row divided by its length.
///
/// What `standard` and `centered` subtract and divide by is the same for all rows of a column.
#[derive(Debug)]
pub struct Scale<'a> {
    projection: &'a Projection,
    x: ArrayView2<'a, f64>,
    rows: &'a [usize],
    /// Of the rows; empty unless the kind is `unit`.
    lengths: Vec<f64>,
}

impl MixtureModel {
    /// The rows `rows` of a view, `(n_samples, n_features)`, on the scale that the model used.
    ///
    /// # Panics
    /// If the model has not this view, or there is no such row.
    pub fn scale<'a>(
        &'a self,
        view: usize,
        x: ArrayView2<'a, f64>,
        rows: &'a [usize],
    ) -> Scale<'a> {
        let projection = &self.projections[view];
        let lengths = match projection.kind {
            Kind::Unit => rows.iter().map(|&i| length(x.row(i))).collect(),
            _ => Vec::new(),
        };
        Scale { projection, x, rows, lengths }
    }
}

impl Scale<'_> {
    /// The values of a column.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn column(&self, j: usize) -> Vec<f64> {
        let given = self.rows.iter().map(|&i| self.x[[i, j]]);
        match (&self.projection.scores, self.projection.kind) {
            (Some(scores), _) => given.map(|x| scores.of(x, j)).collect(),
            (None, Kind::Unit) => {
                let unit = |(x, &length)| if length > 0.0 { x / length } else { 0.0 };
                given.zip(&self.lengths).map(unit).collect()
            }
            (None, _) => given.collect(),
        }
    }
}
