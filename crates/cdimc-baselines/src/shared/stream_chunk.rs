//! Consecutive samples of a stream: what a one-pass method sees at a time.

use cdimc_core::ClusterError;
use cdimc_data::{DataError, MultiView};
use ndarray::{Array2, ArrayView2, ArrayViewMut1, Axis};

/// Some samples of all views; rows that were not observed are NaN.
///
/// Unlike a [`MultiView`], a chunk may observe no sample at all in one of the views.
#[doc(hidden)] // Reached by tests; neither the command nor Python has streams.
#[derive(Debug, Clone)]
pub struct Chunk {
    views: Vec<Array2<f64>>,
    observed: Array2<bool>,
}

impl Chunk {
    /// The chunk with these views, `(n_samples, n_features)` each, of which `observed`,
    /// `(n_samples, n_views)`, says which rows count; all others are overwritten by NaN.
    ///
    /// # Errors
    /// If the shapes disagree, a sample is observed in no view, or an observed value is not finite.
    pub fn new(views: Vec<Array2<f64>>, observed: Array2<bool>) -> Result<Self, ClusterError> {
        let n_samples = views.first().ok_or(DataError::NoViews)?.nrows();
        if n_samples == 0 {
            return Err(DataError::NoSamples.into());
        }
        let (found_samples, found_views) = observed.dim();
        if (found_samples, found_views) != (n_samples, views.len()) {
            let n_views = views.len();
            return Err(
                DataError::MaskShape { n_samples, n_views, found_samples, found_views }.into()
            );
        }
        if let Some(sample) = observed.outer_iter().position(|row| !row.iter().any(|&o| o)) {
            return Err(DataError::SampleWithoutView { sample }.into());
        }
        let mut hidden = Vec::with_capacity(views.len());
        for (view, x) in views.into_iter().enumerate() {
            if x.nrows() != n_samples {
                let found = x.nrows();
                return Err(DataError::SampleCount { view, expected: n_samples, found }.into());
            }
            if x.ncols() == 0 {
                return Err(DataError::NoFeatures { view }.into());
            }
            let mut x = if x.is_standard_layout() { x } else { x.as_standard_layout().to_owned() };
            for (sample, mut row) in x.outer_iter_mut().enumerate() {
                if !observed[[sample, view]] {
                    row.fill(f64::NAN);
                } else if let Some(feature) = row.iter().position(|x| !x.is_finite()) {
                    let value = row[feature];
                    return Err(DataError::NotFinite { view, sample, feature, value }.into());
                }
            }
            hidden.push(x);
        }
        Ok(Self { views: hidden, observed })
    }

    /// The samples `rows` of `data`, in that order.
    ///
    /// # Panics
    /// If a row is out of range.
    pub fn of_rows(data: &MultiView, rows: &[usize]) -> Self {
        let views: Vec<usize> = (0..data.n_views()).collect();
        Self::of_views(data, &views, rows)
    }

    /// As [`Chunk::of_rows`], of some of the views. A sample may be observed in none of them.
    pub(crate) fn of_views(data: &MultiView, views: &[usize], rows: &[usize]) -> Self {
        let observed = data.mask().entries().select(Axis(0), rows).select(Axis(1), views);
        let views = views.iter().map(|&v| data.view(v).select(Axis(0), rows)).collect();
        Self { views, observed }
    }

    /// Number of samples.
    pub fn n_samples(&self) -> usize {
        self.observed.nrows()
    }

    /// Number of features of every view.
    pub fn widths(&self) -> Vec<usize> {
        self.views.iter().map(Array2::ncols).collect()
    }

    /// View `view`, `(n_samples, n_features)`, NaN where unobserved.
    pub fn view(&self, view: usize) -> ArrayView2<'_, f64> {
        self.views[view].view()
    }

    /// Whether sample `sample` was observed in view `view`.
    pub fn is_observed(&self, sample: usize, view: usize) -> bool {
        self.observed[[sample, view]]
    }

    /// The samples observed in `view`, ascending.
    pub fn observed_rows(&self, view: usize) -> Vec<usize> {
        (0..self.n_samples()).filter(|&i| self.observed[[i, view]]).collect()
    }

    /// Divides the values of each view by its unit.
    pub(crate) fn divide(&mut self, units: &[f64]) {
        self.views.iter_mut().zip(units).for_each(|(view, unit)| *view /= *unit);
    }

    /// The values of an observed sample, to be replaced by other finite ones.
    pub(crate) fn row_mut(&mut self, view: usize, sample: usize) -> ArrayViewMut1<'_, f64> {
        self.views[view].row_mut(sample)
    }

    /// Checks that the views have the widths of the stream this chunk is for.
    pub(crate) fn check_widths(
        &self,
        method: &'static str,
        widths: &[usize],
    ) -> Result<(), ClusterError> {
        let found = self.widths();
        if found == widths {
            return Ok(());
        }
        let reason = format!("a chunk with views of {found:?} features in a stream of {widths:?}");
        Err(ClusterError::Inapplicable { method, reason })
    }
}

/// The number of clusters that what a stream starts from, one `name` a view, is made for.
pub(crate) fn n_clusters_of_all(
    name: &'static str,
    of_views: impl Iterator<Item = usize>,
) -> Result<usize, ClusterError> {
    let found: Vec<usize> = of_views.collect();
    match found.first() {
        Some(&k) if k >= 2 && found.iter().all(|&other| other == k) => Ok(k),
        _ => {
            let value = format!("{found:?}");
            let rule = "must be of one number of clusters, at least 2";
            Err(ClusterError::Setting { name, value, rule })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn hidden_rows_are_nan_and_a_view_may_be_absent() {
        let views = vec![array![[1.0], [2.0]], array![[f64::INFINITY], [4.0]]];
        let chunk = Chunk::new(views.clone(), array![[true, false], [true, false]]).unwrap();
        assert!(chunk.view(1).iter().all(|x| x.is_nan()));
        assert!(chunk.observed_rows(1).is_empty());
        let error = Chunk::new(views, array![[true, true], [true, false]]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "view 1, sample 0, feature 0 = inf: observed values must be finite"
        );
    }

    #[test]
    fn a_sample_without_view_is_an_error() {
        let error = Chunk::new(vec![array![[1.0]]], array![[false]]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "sample 0 is observed in no view: every sample needs at least one"
        );
    }
}
