//! What every trained model can do, whatever method made it.

use crate::{ClusterError, Clustering, archive::Archive};
use cdimc_data::{MultiView, Standardizer};
use ndarray::Array2;
use serde_json::Value;
use std::any::Any;
use std::fmt::Debug;

/// A trained model: it clusters new samples with any subset of its views, and fills in missing views.
pub trait Model: Any + Send + Sync + Debug {
    /// The method that made it, as the command line spells it.
    fn method(&self) -> &'static str;

    /// Number of clusters.
    fn n_clusters(&self) -> usize;

    /// The mean and the spread of every column of each view over the training samples.
    fn standardizers(&self) -> &[Standardizer];

    /// The clusters of samples of some views: view `i` of `data` is view `views[i]` of the model.
    ///
    /// # Errors
    /// If `views` does not name as many different views of the model as `data` has, or a width differs.
    fn predict_from(&self, data: &MultiView, views: &[usize]) -> Result<Clustering, ClusterError>;

    /// Every view of the model for the samples of some views, `(n_samples, n_features)` each: observed
    /// values as they are, missing ones as the model makes them out of the others.
    ///
    /// # Errors
    /// As [`Model::predict_from`].
    fn impute_from(
        &self,
        data: &MultiView,
        views: &[usize],
    ) -> Result<Vec<Array2<f64>>, ClusterError>;

    /// What a file of the model holds.
    ///
    /// # Errors
    /// If its settings cannot be written as JSON.
    fn archive(&self) -> Result<Archive, ClusterError>;

    /// The model as the bytes of a safetensors file with a checksum over everything.
    ///
    /// # Errors
    /// As [`Model::archive`], or if an array cannot be described.
    fn to_bytes(&self) -> Result<Vec<u8>, ClusterError> {
        self.archive()?.to_bytes()
    }

    /// Number of features of every view.
    fn widths(&self) -> Vec<usize> {
        self.standardizers().iter().map(Standardizer::width).collect()
    }

    /// The settings it was made with, as JSON; null where it does not keep them.
    fn settings(&self) -> Value {
        Value::Null
    }

    /// What the fit found out about the data, as JSON for records and reports; null for nothing.
    fn facts(&self) -> Value {
        Value::Null
    }

    /// The clusters of samples that have the model's views, each any subset of them.
    ///
    /// On the samples of the training it gives the labels of the training.
    ///
    /// # Errors
    /// If the number of views or a width differs from the model's.
    fn predict(&self, data: &MultiView) -> Result<Clustering, ClusterError> {
        self.predict_from(data, &all_views(&self.widths(), data)?)
    }

    /// Every view of samples that have the model's views, missing values filled in.
    ///
    /// # Errors
    /// As [`Model::predict`].
    fn impute(&self, data: &MultiView) -> Result<Vec<Array2<f64>>, ClusterError> {
        self.impute_from(data, &all_views(&self.widths(), data)?)
    }
}

/// The numbers of all views of a model with these `widths`, if `data` has the same number.
fn all_views(widths: &[usize], data: &MultiView) -> Result<Vec<usize>, ClusterError> {
    let (expected, found) = (widths.len(), data.n_views());
    if expected == found {
        Ok((0..expected).collect())
    } else {
        Err(ClusterError::ModelViews { expected, found })
    }
}

/// Checks that `views` names a different view of a model with these `widths` for every view of `data`,
/// of the same width.
///
/// # Errors
/// If it does not.
pub fn check_views(
    widths: &[usize],
    data: &MultiView,
    views: &[usize],
) -> Result<(), ClusterError> {
    let mut seen = vec![false; widths.len()];
    let distinct =
        views.iter().all(|&view| view < widths.len() && !std::mem::replace(&mut seen[view], true));
    if !distinct || views.len() != data.n_views() {
        return Err(ClusterError::Setting {
            name: "views",
            value: format!("{views:?}"),
            rule: "must name a different view of the model for every view of the data",
        });
    }
    for (given, &view) in views.iter().enumerate() {
        let (expected, found) = (widths[view], data.width(given));
        if expected != found {
            return Err(ClusterError::ModelWidth { view, expected, found });
        }
    }
    Ok(())
}
