//! Input of methods: several views of the same samples, NaN where unobserved, without labels.

use crate::{DataError, Matrix, ViewMask};
use ndarray::{Array2, ArrayView2};

/// Largest size of a value: the mean of a million such values is finite.
const MAX_VALUE: f64 = 1e302;

/// Several views of the same samples; rows hidden by the mask are NaN.
#[derive(Debug, Clone)]
pub struct MultiView {
    /// One `(n_samples, n_features)` matrix per view.
    views: Vec<Matrix>,
    mask: ViewMask,
}

impl MultiView {
    /// Returns the views with every row that `mask` hides set to NaN.
    ///
    /// `views`: one `(n_samples, n_features)` matrix each, dense or sparse.
    ///
    /// # Errors
    /// If there is no view, sample or feature, the shapes disagree, or an observed value is not finite or larger than
    /// 1e302.
    pub fn new(views: Vec<impl Into<Matrix>>, mask: ViewMask) -> Result<Self, DataError> {
        let views: Vec<Matrix> = views.into_iter().map(Into::into).collect();
        let n_samples = check_shapes(views.iter().map(Matrix::dim))?;
        mask.check_shape(n_samples, views.len())?;
        let mut hidden = Vec::with_capacity(views.len());
        for (v, view) in views.into_iter().enumerate() {
            let found = view.find(|i, x| {
                let is_valid = x.abs() <= MAX_VALUE;
                !is_valid && mask.is_observed(i, v)
            });
            if let Some((sample, feature, value)) = found {
                return Err(DataError::NotFinite { view: v, sample, feature, value });
            }
            hidden.push(view.hide_rows(|i| !mask.is_observed(i, v)));
        }
        Ok(Self { views: hidden, mask })
    }

    /// Returns the views with a mask derived from them: a row of NaN is unobserved.
    ///
    /// # Errors
    /// Same as [`MultiView::new`]; a single NaN in an observed row is an error.
    pub fn from_nan_rows(views: Vec<impl Into<Matrix>>) -> Result<Self, DataError> {
        let views: Vec<Matrix> = views.into_iter().map(Into::into).collect();
        let n_samples = check_shapes(views.iter().map(Matrix::dim))?;
        let observed =
            Array2::from_shape_fn((n_samples, views.len()), |(i, v)| !views[v].is_missing(i));
        Self::new(views, ViewMask::new(observed)?)
    }

    /// Number of samples.
    pub fn n_samples(&self) -> usize {
        self.mask.n_samples()
    }

    /// Number of views.
    pub fn n_views(&self) -> usize {
        self.views.len()
    }

    /// Number of features of `view`.
    ///
    /// # Panics
    /// If there is no such view.
    pub fn width(&self, view: usize) -> usize {
        self.views[view].ncols()
    }

    /// Number of features of every view.
    pub fn widths(&self) -> Vec<usize> {
        self.views.iter().map(Matrix::ncols).collect()
    }

    /// View `view`, `(n_samples, n_features)`, in standard layout, NaN where unobserved. A sparse view is copied to dense once;
    /// [`MultiView::matrix`] avoids the copy.
    ///
    /// # Panics
    /// If there is no such view.
    pub fn view(&self, view: usize) -> ArrayView2<'_, f64> {
        self.views[view].dense().view()
    }

    /// View `view`, `(n_samples, n_features)`, dense or sparse as stored; unobserved rows are missing.
    ///
    /// # Panics
    /// If there is no such view.
    pub fn matrix(&self, view: usize) -> &Matrix {
        &self.views[view]
    }

    /// Returns the observed rows of `view`, `(n_observed, n_features)`, in sample order.
    ///
    /// # Panics
    /// If there is no such view.
    pub fn observed(&self, view: usize) -> Array2<f64> {
        self.views[view].rows(&self.mask.observed_rows(view))
    }

    /// Mask of observed (sample, view) cells.
    pub fn mask(&self) -> &ViewMask {
        &self.mask
    }

    /// Returns the samples `rows`, in that order.
    ///
    /// # Errors
    /// If `rows` is empty or leaves a view without samples.
    ///
    /// # Panics
    /// If a row is out of range.
    pub fn select_rows(&self, rows: &[usize]) -> Result<Self, DataError> {
        let mask = self.mask.select_rows(rows)?;
        let views = self.views.iter().map(|view| view.select_rows(rows)).collect();
        Ok(Self { views, mask })
    }
}

/// Checks the shapes of the views and returns their common number of rows.
pub(crate) fn check_shapes(
    shapes: impl Iterator<Item = (usize, usize)> + Clone,
) -> Result<usize, DataError> {
    let (expected, _) = shapes.clone().next().ok_or(DataError::NoViews)?;
    if expected == 0 {
        return Err(DataError::NoSamples);
    }
    for (view, (found, n_features)) in shapes.enumerate() {
        if found != expected {
            return Err(DataError::Other(format!(
                "view {view} has {found} samples, view 0 has {expected}: all views must have one row for each \
                 sample"
            )));
        }
        if n_features == 0 {
            return Err(DataError::NoFeatures { view });
        }
    }
    Ok(expected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn hidden_rows_are_nan_from_the_start() {
        let mask = ViewMask::new(array![[true, false], [false, true]]).unwrap();
        let views = vec![array![[1.0], [2.0]], array![[f64::INFINITY], [4.0]]];
        let data = MultiView::new(views, mask).unwrap();
        assert!(data.view(0)[[1, 0]].is_nan() && data.view(1)[[0, 0]].is_nan());
        assert_eq!(data.observed(1), array![[4.0]]);
    }

    #[test]
    fn rows_of_nan_define_the_mask() {
        let views = vec![array![[1.0, 2.0], [f64::NAN, f64::NAN]], array![[1.0], [2.0]]];
        let data = MultiView::from_nan_rows(views).unwrap();
        assert_eq!(data.mask().observed_rows(0), vec![0]);
        let half = vec![array![[1.0, f64::NAN]]];
        assert!(MultiView::from_nan_rows(half).is_err());
    }

    #[test]
    fn views_of_different_lengths_are_an_error() {
        let e = MultiView::from_nan_rows(vec![array![[1.0]], array![[1.0], [2.0]]]).unwrap_err();
        assert_eq!(
            e.to_string(),
            "view 1 has 2 samples, view 0 has 1: all views must have one row for each sample"
        );
    }
}
