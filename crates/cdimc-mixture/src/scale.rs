//! Columns of a view as markers compare them.

use crate::fitted::MixtureModel;

impl MixtureModel {
    /// Returns the normal scores of the values `given` of a column, or `None` if the view is not in `ranks`.
    ///
    /// They are in the order of the values. The rows of unit length of `unit` would not be: a constant column follows the
    /// lengths of the rows.
    ///
    /// # Panics
    /// If there is no such view or column.
    pub fn normal_scores(&self, view: usize, column: usize, given: &[f64]) -> Option<Vec<f64>> {
        let scores = self.projections[view].scores.as_ref()?;
        Some(given.iter().map(|&x| scores.of(x, column)).collect())
    }
}
