//! The trait of trained models.

use crate::{ClusterError, Clustering, archive::Archive};
use cdimc_data::{DataError, MultiView, Standardizer, write_whole};
use ndarray::Array2;
use serde_json::Value;
use std::any::Any;
use std::fmt::Debug;
use std::path::Path;

/// A trained model: clusters new samples with any subset of its views, and fills in missing views.
pub trait Model: Any + Send + Sync + Debug {
    /// Name of the method that made the model, as on the command line.
    fn method(&self) -> &'static str;

    /// Number of clusters.
    fn n_clusters(&self) -> usize;

    /// Mean and scale of every column of each view over the training samples.
    fn standardizers(&self) -> &[Standardizer];

    /// Clusters samples with some views: view `i` of `data` is view `views[i]` of the model.
    ///
    /// # Errors
    /// If `views` does not name one different view of the model per view of `data`, or a width differs.
    fn predict_from(&self, data: &MultiView, views: &[usize]) -> Result<Clustering, ClusterError>;

    /// Returns every view of the model for samples with some views, `(n_samples, n_features)` each: observed values are
    /// unchanged, missing ones are predicted from the others.
    ///
    /// # Errors
    /// Same as [`Model::predict_from`].
    fn impute_from(
        &self,
        data: &MultiView,
        views: &[usize],
    ) -> Result<Vec<Array2<f64>>, ClusterError>;

    /// Returns the content of a model file.
    ///
    /// # Errors
    /// If the settings cannot be written as JSON.
    fn archive(&self) -> Result<Archive, ClusterError>;

    /// Returns the bytes of the model's safetensors file, with a checksum over all of them.
    ///
    /// # Errors
    /// Same as [`Model::archive`], or if an array cannot be described.
    fn to_bytes(&self) -> Result<Vec<u8>, ClusterError> {
        self.archive()?.to_bytes()
    }

    /// Writes the model to a safetensors file, completely or not at all.
    ///
    /// # Errors
    /// Same as [`Model::to_bytes`], or if the file cannot be written.
    fn save(&self, path: &Path) -> Result<(), ClusterError> {
        Ok(write_whole(path, &self.to_bytes()?)?)
    }

    /// Number of features of every view.
    fn widths(&self) -> Vec<usize> {
        self.standardizers().iter().map(Standardizer::width).collect()
    }

    /// Settings of the training as JSON; null if the model does not hold them.
    fn settings(&self) -> Value {
        Value::Null
    }

    /// Findings of the fit about the data, as JSON for records and reports; null if there are none.
    fn facts(&self) -> Value {
        Value::Null
    }

    /// Clusters samples that have the views of the model, each sample any subset of them.
    ///
    /// On the training samples it returns the labels of the training.
    ///
    /// # Errors
    /// If the number of views or a width differs from the model's.
    fn predict(&self, data: &MultiView) -> Result<Clustering, ClusterError> {
        self.predict_from(data, &all_views(&self.widths(), data)?)
    }

    /// Returns every view of samples that have the views of the model, with missing values filled in.
    ///
    /// # Errors
    /// Same as [`Model::predict`].
    fn impute(&self, data: &MultiView) -> Result<Vec<Array2<f64>>, ClusterError> {
        self.impute_from(data, &all_views(&self.widths(), data)?)
    }
}

/// Returns the indices of all views of a model with these `widths`, if `data` has as many views.
fn all_views(widths: &[usize], data: &MultiView) -> Result<Vec<usize>, ClusterError> {
    let (expected, found) = (widths.len(), data.n_views());
    if expected == found {
        Ok((0..expected).collect())
    } else {
        Err(unfit(format!("views = {found}: the model was made for {expected}")))
    }
}

/// Checks that `views` names a different view of a model with these `widths` per view of `data`, of the same width.
///
/// # Errors
/// If one of these does not hold.
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
            return Err(unfit(format!(
                "view {view} has {found} features, the model was made for {expected}"
            )));
        }
    }
    Ok(())
}

/// Returns the error of data that do not have the views of a model.
fn unfit(text: String) -> ClusterError {
    DataError::Other(text).into()
}
