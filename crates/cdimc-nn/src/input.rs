//! Input of the network: standardized observed values in single precision.

use crate::NnError;
use ndarray::{Array2, ArrayView2, s};
use std::ops::Range;

/// One view: its samples and their standardized values.
#[derive(Debug, Clone)]
pub struct ObservedView {
    /// Samples observed in this view, ascending.
    pub rows: Vec<u32>,
    /// Their values, `(rows.len(), n_features)`, in standard layout.
    pub values: Array2<f32>,
}

impl ObservedView {
    /// Number of features.
    pub(crate) fn n_features(&self) -> usize {
        self.values.ncols()
    }

    /// Returns the positions in `rows` of the samples in `batch`, a range because `rows` ascend.
    pub(crate) fn positions(&self, batch: &Range<usize>) -> Range<usize> {
        let below = |end: usize| self.rows.partition_point(|&row| (row as usize) < end);
        below(batch.start)..below(batch.end)
    }

    /// Returns the observed samples in `batch`.
    pub(crate) fn rows_of(&self, batch: &Range<usize>) -> &[u32] {
        &self.rows[self.positions(batch)]
    }

    /// Returns the values at these positions.
    pub(crate) fn block(&self, positions: Range<usize>) -> ArrayView2<'_, f32> {
        self.values.slice(s![positions, ..])
    }
}

/// All views of the samples `0..n_samples`, in training order.
#[derive(Debug, Clone)]
pub struct NetworkInput {
    /// Number of samples, observed or not.
    pub n_samples: usize,
    /// One entry per view.
    pub views: Vec<ObservedView>,
}

impl NetworkInput {
    /// Returns the number of views of each sample, the denominators of eq. 4.
    fn views_of_samples(&self) -> Vec<u32> {
        let mut count = vec![0; self.n_samples];
        for view in &self.views {
            for &row in &view.rows {
                count[row as usize] += 1;
            }
        }
        count
    }

    /// Returns 1 / number of views of each sample.
    pub(crate) fn shares(&self) -> Vec<f32> {
        self.views_of_samples().into_iter().map(|count| 1.0 / count as f32).collect()
    }

    /// Checks that the rows of every view are samples in ascending order, and every sample has a view.
    pub(crate) fn check(&self) -> Result<(), NnError> {
        for (view, observed) in self.views.iter().enumerate() {
            let rows = &observed.rows;
            let ascend = rows.windows(2).all(|pair| pair[0] < pair[1]);
            let inside = rows.last().is_none_or(|&row| (row as usize) < self.n_samples);
            if !(ascend && inside) {
                return Err(NnError::Rows { view, n_samples: self.n_samples });
            }
            if observed.values.nrows() != rows.len() {
                return Err(NnError::Shape {
                    what: "rows of values of a view",
                    expected: rows.len(),
                    found: observed.values.nrows(),
                });
            }
            if !observed.values.is_standard_layout() {
                return Err(NnError::Setting {
                    name: "values of a view",
                    value: format!("strides {:?}", observed.values.strides()),
                    rule: "must be in standard layout",
                });
            }
        }
        match self.views_of_samples().iter().position(|&count| count == 0) {
            Some(sample) => Err(NnError::NoView { sample }),
            None => Ok(()),
        }
    }
}
