//! Consecutive samples of a stream: what a one-pass method sees at a time.

use cdimc_data::MultiView;
use ndarray::{Array2, ArrayView2, ArrayViewMut1, Axis};

/// Some samples of all views; rows that were not observed are NaN.
///
/// Unlike a [`MultiView`], a chunk may observe no sample at all in one of the views, and a sample in none.
#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    views: Vec<Array2<f64>>,
    observed: Array2<bool>,
}

impl Chunk {
    /// The samples `rows` of the views `views` of `data`, in that order.
    ///
    /// # Panics
    /// If a row is out of range.
    pub(crate) fn of_views(data: &MultiView, views: &[usize], rows: &[usize]) -> Self {
        let observed = data.mask().entries().select(Axis(0), rows).select(Axis(1), views);
        let views = views.iter().map(|&v| data.view(v).select(Axis(0), rows)).collect();
        Self { views, observed }
    }

    /// Number of samples.
    pub(crate) fn n_samples(&self) -> usize {
        self.observed.nrows()
    }

    /// View `view`, `(n_samples, n_features)`, NaN where unobserved.
    pub(crate) fn view(&self, view: usize) -> ArrayView2<'_, f64> {
        self.views[view].view()
    }

    /// Whether sample `sample` was observed in view `view`.
    pub(crate) fn is_observed(&self, sample: usize, view: usize) -> bool {
        self.observed[[sample, view]]
    }

    /// Divides the values of each view by its unit.
    pub(crate) fn divide(&mut self, units: &[f64]) {
        self.views.iter_mut().zip(units).for_each(|(view, unit)| *view /= *unit);
    }

    /// The values of an observed sample, to be replaced by other finite ones.
    pub(crate) fn row_mut(&mut self, view: usize, sample: usize) -> ArrayViewMut1<'_, f64> {
        self.views[view].row_mut(sample)
    }
}
