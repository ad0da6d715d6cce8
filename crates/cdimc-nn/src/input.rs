//! The data as the network reads it: standardized, single precision, only what was observed.

use crate::NnError;
use ndarray::{Array2, ArrayView2, s};
use std::ops::Range;

/// One view: the samples that have it and their standardized values.
#[derive(Debug, Clone)]
pub struct ObservedView {
    /// The samples observed in this view, ascending.
    pub rows: Vec<u32>,
    /// Their values, `(rows.len(), n_features)`, in standard layout.
    pub values: Array2<f32>,
}

impl ObservedView {
    /// Number of features.
    pub(crate) fn n_features(&self) -> usize {
        self.values.ncols()
    }

    /// The positions in `rows` whose samples lie in `batch`: one run, since `rows` ascend.
    pub(crate) fn positions(&self, batch: &Range<usize>) -> Range<usize> {
        let below = |end: usize| self.rows.partition_point(|&row| (row as usize) < end);
        below(batch.start)..below(batch.end)
    }

    /// The observed samples that lie in `batch`.
    pub(crate) fn rows_of(&self, batch: &Range<usize>) -> &[u32] {
        &self.rows[self.positions(batch)]
    }

    /// The values at these positions.
    pub(crate) fn block(&self, positions: Range<usize>) -> ArrayView2<'_, f32> {
        self.values.slice(s![positions, ..])
    }
}

/// All views of the samples `0..n_samples`, in training order.
#[derive(Debug, Clone)]
pub struct NetworkInput {
    /// Number of samples, observed or not.
    pub n_samples: usize,
    /// One entry a view.
    pub views: Vec<ObservedView>,
}

impl NetworkInput {
    /// Number of views that observe each sample: the denominators of eq. 4.
    fn views_of_samples(&self) -> Vec<u32> {
        let mut count = vec![0; self.n_samples];
        for view in &self.views {
            for &row in &view.rows {
                count[row as usize] += 1;
            }
        }
        count
    }

    /// 1 / number of views of each sample.
    pub(crate) fn shares(&self) -> Vec<f32> {
        self.views_of_samples().into_iter().map(|count| 1.0 / count as f32).collect()
    }

    /// Whether the rows of every view are samples, each once and in order, and every sample has a view.
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
