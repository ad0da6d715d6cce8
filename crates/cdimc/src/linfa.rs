//! Traits of linfa: a method clusters a linfa `Dataset` that holds the columns of all views.

use ::linfa::dataset::DatasetBase;
use ::linfa::traits::{Fit, PredictInplace};
use cdimc_core::{ClusterError, Clusterer, Model, Silent};
use cdimc_data::{DataError, MultiView, Seed};
use ndarray::{Array1, ArrayBase, Axis, Data, Ix2, Slice};
use std::ops::Range;

/// A method with what linfa's `Fit` does not pass: the columns of each view, number of clusters and seed.
///
/// A sample is missing from a view if all values of the view's columns are NaN.
#[derive(Debug, Clone)]
pub struct ColumnViews<C> {
    /// The method, such as `TMixture` or `CdimcNet`.
    pub method: C,
    /// Columns of each view.
    pub views: Vec<Range<usize>>,
    /// Number of clusters.
    pub n_clusters: usize,
    /// Seed of all randomness.
    pub seed: Seed,
}

/// A trained model of [`ColumnViews`]; linfa's `Predict` gives the cluster of each sample, `None` if it has no value.
#[derive(Debug)]
pub struct ColumnModel {
    /// The model.
    pub model: Box<dyn Model>,
    views: Vec<Range<usize>>,
}

/// Error of a clustering of a linfa dataset.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinfaError {
    /// The columns cannot be views.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The method fails, or has no model.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// A range of columns is empty, or ends beyond the last one.
    #[error("columns of a view = {columns:?}: must be some of the {found} columns of the dataset")]
    Columns {
        /// Columns of the view.
        columns: Range<usize>,
        /// Number of columns of the dataset.
        found: usize,
    },
    /// Error of linfa.
    #[error(transparent)]
    Linfa(#[from] ::linfa::Error),
}

impl<C: Clusterer, D: Data<Elem = f64>, T> Fit<ArrayBase<D, Ix2>, T, LinfaError>
    for ColumnViews<C>
{
    type Object = ColumnModel;

    fn fit(&self, dataset: &DatasetBase<ArrayBase<D, Ix2>, T>) -> Result<ColumnModel, LinfaError> {
        let (_, given, data) = split(&dataset.records, &self.views)?;
        if let Some(view) = (0..self.views.len()).find(|view| !given.contains(view)) {
            return Err(DataError::ViewWithoutSample { view }.into());
        }
        let fitted = self.method.fit(&data, self.n_clusters, self.seed, &Silent)?;
        let keeps_none = || ClusterError::Model(format!("{}: keeps no model", self.method.name()));
        Ok(ColumnModel { model: fitted.model.ok_or_else(keeps_none)?, views: self.views.clone() })
    }
}

impl ColumnModel {
    /// Returns the cluster of each sample, `None` for a sample without a value.
    ///
    /// # Errors
    /// If the columns or a value differ from what the model was trained on.
    pub fn try_predict<D: Data<Elem = f64>>(
        &self,
        records: &ArrayBase<D, Ix2>,
    ) -> Result<Array1<Option<usize>>, LinfaError> {
        let mut labels = Array1::from_elem(records.nrows(), None);
        if records.iter().all(|x| x.is_nan()) {
            return Ok(labels);
        }
        let (rows, given, data) = split(records, &self.views)?;
        for (row, label) in rows.into_iter().zip(self.model.predict_from(&data, &given)?.labels) {
            labels[row] = Some(label);
        }
        Ok(labels)
    }
}

impl<D: Data<Elem = f64>> PredictInplace<ArrayBase<D, Ix2>, Array1<Option<usize>>> for ColumnModel {
    /// # Panics
    /// Where [`ColumnModel::try_predict`] returns an error: linfa's trait returns none.
    #[allow(clippy::panic)]
    fn predict_inplace(&self, records: &ArrayBase<D, Ix2>, labels: &mut Array1<Option<usize>>) {
        match self.try_predict(records) {
            Ok(found) => *labels = found,
            Err(error) => panic!("{error}"),
        }
    }

    fn default_target(&self, records: &ArrayBase<D, Ix2>) -> Array1<Option<usize>> {
        Array1::from_elem(records.nrows(), None)
    }
}

/// Returns the samples with a value, the views with a value, and the values of both.
fn split<D: Data<Elem = f64>>(
    records: &ArrayBase<D, Ix2>,
    views: &[Range<usize>],
) -> Result<(Vec<usize>, Vec<usize>, MultiView), LinfaError> {
    let found = records.ncols();
    if let Some(columns) = views.iter().find(|columns| columns.is_empty() || columns.end > found) {
        return Err(LinfaError::Columns { columns: columns.clone(), found });
    }
    let of_view = |&view: &usize| records.slice_axis(Axis(1), Slice::from(views[view].clone()));
    let has_value = |view: &usize| of_view(view).iter().any(|x| !x.is_nan());
    let given: Vec<usize> = (0..views.len()).filter(has_value).collect();
    let has_value =
        |row: &usize| given.iter().any(|v| of_view(v).row(*row).iter().any(|x| !x.is_nan()));
    let rows: Vec<usize> = (0..records.nrows()).filter(has_value).collect();
    let values = given.iter().map(|view| of_view(view).select(Axis(0), &rows)).collect();
    Ok((rows, given, MultiView::from_nan_rows(values)?))
}
