//! Input of the network: standardized observed values in single precision.

use crate::{NnError, error::check_count};
use cdimc_core::check::setting;
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
    /// Returns the positions in `rows` of the samples in `batch`, a range because `rows` ascend.
    pub(crate) fn positions(&self, batch: &Range<usize>) -> Range<usize> {
        let below = |end: usize| self.rows.partition_point(|&row| (row as usize) < end);
        below(batch.start)..below(batch.end)
    }

    /// Returns the observed samples in `batch`.
    pub(crate) fn rows_of(&self, batch: &Range<usize>) -> &[u32] {
        &self.rows[self.positions(batch)]
    }

    /// Returns the values of the observed samples in `batch`.
    pub(crate) fn values_of(&self, batch: &Range<usize>) -> ArrayView2<'_, f32> {
        self.values.slice(s![self.positions(batch), ..])
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
    /// Returns 1 / number of views of each sample (eq. 4), infinite for a sample without views.
    pub(crate) fn shares(&self) -> Vec<f32> {
        let mut counts = vec![0_u32; self.n_samples];
        self.views.iter().flat_map(|view| &view.rows).for_each(|&row| counts[row as usize] += 1);
        counts.into_iter().map(|count| 1.0 / count as f32).collect()
    }

    /// Checks that the rows of every view are samples in ascending order, and every sample has a view.
    pub(crate) fn check(&self) -> Result<(), NnError> {
        for (v, ObservedView { rows, values }) in self.views.iter().enumerate() {
            let ascend = rows.windows(2).all(|pair| pair[0] < pair[1]);
            if !ascend || rows.last().is_some_and(|&row| row as usize >= self.n_samples) {
                let n_samples = self.n_samples;
                let rule = format!("observed rows must ascend and lie below {n_samples}");
                return Err(NnError::Unfit(format!("view {v}: {rule}")));
            }
            check_count("rows of values of a view", rows.len(), values.nrows())?;
            let strides = format!("strides {:?}", values.strides());
            setting("values of a view", strides, "must be in standard layout", |_| {
                values.is_standard_layout()
            })?;
        }
        match self.shares().iter().position(|share| share.is_infinite()) {
            Some(sample) => Err(NnError::Unfit(format!(
                "sample {sample} has no view: every sample needs at least one"
            ))),
            None => Ok(()),
        }
    }
}
