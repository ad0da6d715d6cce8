//! Traits for shared information: a method can use it without a dependency on the method that computes it.

use crate::archive::Archive;
use crate::{ClusterError, Observer};
use cdimc_data::{Matrix, MultiView, Seed};
use ndarray::Array2;
use serde_json::Value;
use std::fmt::Debug;
use std::sync::Arc;

/// One-sided 5 % critical value of a mean difference, in standard errors.
pub const CRITICAL_Z: f64 = 1.645;

/// Information that the views of some data share under clusters of its samples.
pub trait SharedInformation: Send + Sync {
    /// Returns the term of every sample in nats; NaN for a sample that shares nothing, such as one with a single view.
    ///
    /// # Panics
    /// If there is not one label per sample, in the order of the data, or a label is not below the number of clusters.
    fn terms(&self, labels: &[usize]) -> Vec<f64>;

    /// Returns the shared information under these clusters in nats, the mean of the terms; high if the views agree.
    ///
    /// # Panics
    /// Same as [`terms`](Self::terms).
    fn of(&self, labels: &[usize]) -> f64 {
        let terms = self.terms(labels).into_iter().filter(|term| !term.is_nan());
        let (total, n) = terms.fold((0.0, 0_u32), |(total, n), term| (total + term, n + 1));
        total / f64::from(n.max(1))
    }

    /// Returns whether shared information is larger under `labels` than under `others` by more than sampling error.
    ///
    /// # Panics
    /// Same as [`terms`](Self::terms).
    fn is_more(&self, labels: &[usize], others: &[usize]) -> bool {
        let (terms, of_others) = (self.terms(labels), self.terms(others));
        standard_errors(terms.iter().zip(&of_others).map(|(a, b)| a - b)) > CRITICAL_Z
    }
}

/// Returns the mean of the non-NaN `differences` in units of its standard error.
pub fn standard_errors(differences: impl Iterator<Item = f64>) -> f64 {
    let differences: Vec<f64> = differences.filter(|x| !x.is_nan()).collect();
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let squares: f64 = differences.iter().map(|x| (x - mean).powi(2)).sum();
    mean / (squares / (n - 1.0) / n).sqrt()
}

/// Maps the rows of every view to a few coordinates.
pub trait ViewCoordinates: Debug + Send + Sync {
    /// Returns the kind of coordinates of every view, as a JSON array for model files and reports.
    fn kinds(&self) -> Value;

    /// Returns the number of columns of every view.
    fn n_features(&self) -> Vec<usize>;

    /// Returns the number of coordinates of every view.
    fn widths(&self) -> Vec<usize>;

    /// Returns the `rows` of a view that have coordinates.
    ///
    /// # Panics
    /// Same as [`of_rows`](Self::of_rows).
    fn with_coordinates(&self, view: usize, rows_of: &Matrix, rows: Vec<usize>) -> Vec<usize>;

    /// Returns the coordinates of some rows of a view, `(n_rows, n_coordinates)`.
    ///
    /// # Panics
    /// If there is no such view or row, or `rows_of` has another number of columns than the view.
    fn of_rows(&self, view: usize, rows_of: &Matrix, rows: &[usize]) -> Array2<f64>;

    /// Returns T of labelings of the samples of `data` into `n_clusters` clusters, measured in these coordinates.
    fn shared_information(&self, data: &MultiView, n_clusters: usize)
    -> Box<dyn SharedInformation>;

    /// Adds the coordinates of view `v` as arrays `view{v}.*`.
    fn put(&self, archive: &mut Archive);
}

/// Size of an analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnalysisSize {
    /// Number of clusters.
    pub n_clusters: usize,
    /// Maximum number of coordinates per view.
    pub max_width: usize,
}

/// Selects coordinates for views and computes their shared information; the mixture implements it, CDIMC-net uses it.
pub trait ViewAnalysis: Debug + Send + Sync {
    /// Returns the coordinates with the largest shared information.
    ///
    /// # Errors
    /// If a decomposition does not converge, or `observer` stops the search.
    fn coordinates(
        &self,
        data: &MultiView,
        size: AnalysisSize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Arc<dyn ViewCoordinates>, ClusterError>;

    /// Returns T of labelings of the samples of `data`, computed in coordinates of this `size`.
    ///
    /// # Errors
    /// If the views have no coordinates.
    fn information(
        &self,
        data: &MultiView,
        size: AnalysisSize,
    ) -> Result<Box<dyn SharedInformation>, ClusterError>;

    /// Reads coordinates of these `kinds` that [`ViewCoordinates::put`] added.
    ///
    /// # Errors
    /// If a kind is unknown, an array is missing, or shapes disagree.
    fn read_coordinates(
        &self,
        archive: &Archive,
        kinds: &Value,
    ) -> Result<Arc<dyn ViewCoordinates>, ClusterError>;
}

/// Two analyses are equal if `Debug` writes the same settings.
impl PartialEq for dyn ViewAnalysis {
    fn eq(&self, other: &Self) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_in_standard_errors_of_common_samples() {
        // Mean 2, variance 1.
        let value = standard_errors([1.0, f64::NAN, 2.0, 3.0].into_iter());
        assert!((value - 12.0_f64.sqrt()).abs() < 1e-12, "{value}");
        // Equal clusters have no standard error.
        assert!(standard_errors([0.0; 3].into_iter()).is_nan());
    }
}
