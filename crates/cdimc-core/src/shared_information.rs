//! Traits for shared information: a method can use it without a dependency on the method that computes it.

use crate::archive::Archive;
use crate::{ClusterError, Observer};
use cdimc_data::{Matrix, MultiView, Seed};
use ndarray::Array2;
use serde_json::Value;
use std::fmt::Debug;
use std::sync::Arc;

/// Information that the views of some data share under clusters of its samples.
pub trait SharedInformation: Send + Sync {
    /// Returns T, the shared information under these clusters in nats; high if the views agree.
    ///
    /// # Panics
    /// If there is not one label per sample, in the order of the data, or a label is not below the number of clusters.
    fn of(&self, labels: &[usize]) -> f64;

    /// Returns whether T is larger under `labels` than under `others` by more than sampling error.
    ///
    /// # Panics
    /// Same as [`of`](Self::of).
    fn is_more(&self, labels: &[usize], others: &[usize]) -> bool;
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
