//! Complete views with known classes, for experiments and tests; methods never receive them.

use crate::multi_view::check_shapes;
use crate::{DataError, MultiView, ViewMask};
use ndarray::Array2;

/// Named data set: complete views, and the class of each sample if it is known.
#[derive(Debug, Clone)]
pub struct Dataset {
    name: String,
    views: Vec<Array2<f64>>,
    labels: Option<Vec<usize>>,
}

impl Dataset {
    /// Returns a data set of these views, `(n_samples, n_features)` each, and one label per sample.
    ///
    /// # Errors
    /// If there is no view, sample or feature, or the lengths disagree.
    pub fn new(
        name: impl Into<String>,
        views: Vec<Array2<f64>>,
        labels: Option<Vec<usize>>,
    ) -> Result<Self, DataError> {
        let expected = check_shapes(views.iter().map(Array2::dim))?;
        match &labels {
            Some(labels) if labels.len() != expected => Err(DataError::Other(format!(
                "labels = {}, samples = {expected}: one label is needed for each sample",
                labels.len()
            ))),
            _ => Ok(Self { name: name.into(), views, labels }),
        }
    }

    /// Name of the data set.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of samples.
    pub fn n_samples(&self) -> usize {
        self.views[0].nrows()
    }

    /// Number of views.
    pub fn n_views(&self) -> usize {
        self.views.len()
    }

    /// Complete views, `(n_samples, n_features)` each.
    pub fn views(&self) -> &[Array2<f64>] {
        &self.views
    }

    /// Class of each sample, if known.
    pub fn labels(&self) -> Option<&[usize]> {
        self.labels.as_deref()
    }

    /// Number of distinct labels; 0 if the classes are unknown.
    pub fn n_classes(&self) -> usize {
        self.labels.iter().flatten().collect::<std::collections::BTreeSet<_>>().len()
    }

    /// Returns the data with the cells hidden by `mask`, for a method; the data set is unchanged.
    ///
    /// # Errors
    /// If the shapes disagree or an observed value is not finite.
    pub fn observe(&self, mask: ViewMask) -> Result<MultiView, DataError> {
        MultiView::new(self.views.clone(), mask)
    }

    /// Like [`Dataset::observe`], without a copy of the views; also returns the labels.
    ///
    /// # Errors
    /// If the shapes disagree or an observed value is not finite.
    pub fn into_observed(
        self,
        mask: ViewMask,
    ) -> Result<(MultiView, Option<Vec<usize>>), DataError> {
        Ok((MultiView::new(self.views, mask)?, self.labels))
    }
}
