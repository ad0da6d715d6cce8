//! The mask of observed (sample, view) cells: the diagonal matrices W of the paper (section 3.1).

use crate::DataError;
use ndarray::{Array2, ArrayView2};

/// Mask `(n_samples, n_views)`, true if observed; every sample has at least one view and every view at least one
/// sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewMask(Array2<bool>);

impl ViewMask {
    /// Returns the mask with these entries, `(n_samples, n_views)`.
    ///
    /// # Errors
    /// If there is no sample or no view, a sample has no view, or a view has no sample.
    pub fn new(observed: Array2<bool>) -> Result<Self, DataError> {
        if observed.ncols() == 0 {
            return Err(DataError::NoViews);
        }
        if observed.nrows() == 0 {
            return Err(DataError::NoSamples);
        }
        if let Some(sample) = observed.rows().into_iter().position(|row| !row.iter().any(|&o| o)) {
            return Err(DataError::SampleWithoutView { sample });
        }
        if let Some(view) = observed.columns().into_iter().position(|c| !c.iter().any(|&o| o)) {
            return Err(DataError::ViewWithoutSample { view });
        }
        let standard = observed.is_standard_layout();
        Ok(Self(if standard { observed } else { observed.as_standard_layout().into_owned() }))
    }

    /// Returns the mask without missing cells.
    ///
    /// # Errors
    /// If `n_samples` or `n_views` is 0.
    pub fn complete(n_samples: usize, n_views: usize) -> Result<Self, DataError> {
        Self::new(Array2::from_elem((n_samples, n_views), true))
    }

    /// Checks that data with this shape can have the mask.
    pub(crate) fn check_shape(&self, n_samples: usize, n_views: usize) -> Result<(), DataError> {
        let (rows, columns) = self.0.dim();
        if (rows, columns) == (n_samples, n_views) {
            return Ok(());
        }
        Err(DataError::Other(format!(
            "mask is {rows} x {columns}, data is {n_samples} x {n_views} (samples x views): they must agree"
        )))
    }

    /// Number of samples.
    pub fn n_samples(&self) -> usize {
        self.0.nrows()
    }

    /// Number of views.
    pub fn n_views(&self) -> usize {
        self.0.ncols()
    }

    /// Returns whether `sample` is observed in `view`.
    ///
    /// # Panics
    /// If either index is out of range.
    pub fn is_observed(&self, sample: usize, view: usize) -> bool {
        self.0[[sample, view]]
    }

    /// Entries, `(n_samples, n_views)`.
    pub fn entries(&self) -> ArrayView2<'_, bool> {
        self.0.view()
    }

    /// Returns the samples observed in `view`, ascending.
    ///
    /// # Panics
    /// If there is no such view.
    pub fn observed_rows(&self, view: usize) -> Vec<usize> {
        (0..self.n_samples()).filter(|&i| self.0[[i, view]]).collect()
    }

    /// Number of samples observed in `view`.
    ///
    /// # Panics
    /// If there is no such view.
    pub fn n_observed(&self, view: usize) -> usize {
        self.0.column(view).iter().filter(|&&o| o).count()
    }

    /// Number of views that observe `sample`.
    ///
    /// # Panics
    /// If there is no such sample.
    pub fn n_views_of(&self, sample: usize) -> usize {
        self.0.row(sample).iter().filter(|&&o| o).count()
    }

    /// Returns whether any sample has two views; without such a sample the data do not relate the views.
    pub fn shares_samples(&self) -> bool {
        (0..self.n_samples()).any(|i| self.n_views_of(i) > 1)
    }

    /// Adds one sample per view that no sample of `samples` has, so that a subsample does not lose a rare view.
    ///
    /// # Panics
    /// If a sample is out of range.
    pub fn cover_views(&self, samples: &mut Vec<usize>) {
        for view in 0..self.n_views() {
            let has = |i: &usize| self.is_observed(*i, view);
            if !samples.iter().any(has) {
                samples.extend((0..self.n_samples()).find(has));
            }
        }
    }

    /// Returns the mask of the samples `rows`, in that order.
    pub(crate) fn select_rows(&self, rows: &[usize]) -> Result<Self, DataError> {
        Self::new(self.0.select(ndarray::Axis(0), rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn a_sample_without_view_and_a_view_without_sample_are_errors() {
        let message = |entries| ViewMask::new(entries).unwrap_err().to_string();
        let expected = "sample 1 is observed in no view: every sample needs at least one";
        assert_eq!(message(array![[true, true], [false, false]]), expected);
        let expected = "view 1 is observed for no sample: drop it or give it data";
        assert_eq!(message(array![[true, false], [true, false]]), expected);
    }

    #[test]
    fn a_part_of_the_samples_keeps_every_view() {
        let mask = ViewMask::new(array![[true, false], [true, false], [true, true]]).unwrap();
        let mut samples = vec![1];
        mask.cover_views(&mut samples);
        assert_eq!(samples, [1, 2]);
        mask.cover_views(&mut samples);
        assert_eq!(samples, [1, 2]);
    }

    #[test]
    fn views_share_samples_if_one_has_two_views() {
        let apart = ViewMask::new(array![[true, false], [false, true]]).unwrap();
        assert!(!apart.shares_samples());
        assert!(ViewMask::new(array![[true, true], [false, true]]).unwrap().shares_samples());
    }
}
