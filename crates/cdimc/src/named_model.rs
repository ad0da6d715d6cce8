//! A trained model together with the names of its views and columns, in one file.

use crate::methods::read_model;
use crate::tables::Joined;
use cdimc_core::{ClusterError, Clustering, Model, archive::load, note};
use cdimc_mixture::{FittedMixture, MixtureModel, TMixture};
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::path::Path;

/// Key of the names in the metadata of a model file.
const KEY: &str = "cdimc.views";

/// Names of a view and of its columns, from the user's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedView {
    /// Name of the view.
    pub name: String,
    /// Name of each column, in the order of the model.
    pub features: Vec<String>,
}

/// A trained model with the names of its views and columns.
#[derive(Debug)]
pub struct NamedModel {
    /// The model, of any method.
    pub model: Box<dyn Model>,
    /// One entry per view, in the order of the model.
    pub views: Vec<NamedView>,
}

impl NamedModel {
    /// Returns the model with the names of its training tables.
    pub fn new(model: Box<dyn Model>, trained_on: &Joined) -> Self {
        let views = trained_on.names.iter().zip(&trained_on.features);
        let named = |(name, features): (&String, &Vec<String>)| NamedView {
            name: name.clone(),
            features: features.clone(),
        };
        Self { model, views: views.map(named).collect() }
    }

    /// Returns the bytes of a safetensors file, with the names in its metadata.
    ///
    /// # Errors
    /// Same as [`Model::archive`], or if the names cannot be written as JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ClusterError> {
        let names = serde_json::to_string(&self.views)
            .map_err(|error| ClusterError::Model(format!("names of the views: {error}")))?;
        let mut archive = self.model.archive()?;
        archive.put_note(KEY, names);
        archive.to_bytes()
    }

    /// Clusters new samples that come from [`Self::join`].
    ///
    /// # Errors
    /// Same as [`Model::predict_from`], or if a result is not finite.
    pub fn predict(&self, joined: &Joined, which: &[usize]) -> Result<Clustering, ClusterError> {
        self.checked(self.model.predict_from(&joined.data, which)?)
    }

    /// Returns clusters if their numbers are finite.
    pub(crate) fn checked(&self, found: Clustering) -> Result<Clustering, ClusterError> {
        let numbers = [&found.losses, &found.confidence].into_iter().flatten().flatten();
        let arrays = [&found.probabilities, &found.embedding].into_iter().flatten().flatten();
        self.check_finite(numbers.chain(arrays))?;
        Ok(found)
    }

    /// Returns the model if it is a mixture.
    pub fn mixture(&self) -> Option<&MixtureModel> {
        let model: &dyn Any = &*self.model;
        model.downcast_ref().or_else(|| self.fitted_mixture().map(FittedMixture::model))
    }

    /// Returns the mixture with the samples of its fit; a model from a file has none.
    pub(crate) fn fitted_mixture(&self) -> Option<&FittedMixture> {
        let model: &dyn Any = &*self.model;
        model.downcast_ref()
    }

    /// Returns the model without the samples of its fit.
    #[must_use]
    pub fn without_samples(self) -> Self {
        match self.fitted_mixture() {
            Some(fitted) => Self { model: Box::new(fitted.model().clone()), ..self },
            None => self,
        }
    }

    /// Returns the mixture with the samples of its fit, which have the views of the model in order.
    ///
    /// # Errors
    /// If the model is not a mixture, or these samples do not have its views.
    pub fn fitted_to(&self, samples: &Joined) -> Result<FittedMixture, ClusterError> {
        self.as_mixture("can do this")?.clone().fitted_to(&samples.data)
    }

    /// Returns the mixture, or the error that only a mixture has this ability.
    pub(crate) fn as_mixture(&self, ability: &str) -> Result<&MixtureModel, ClusterError> {
        self.mixture().ok_or_else(|| {
            let (method, mixture) = (self.model.method(), TMixture::NAME);
            ClusterError::Model(format!("{method}: only {mixture} {ability}"))
        })
    }

    /// Returns every view of new samples, with missing values filled in.
    ///
    /// # Errors
    /// Same as [`Model::impute_from`], or if a value is not finite.
    pub fn impute(
        &self,
        joined: &Joined,
        which: &[usize],
    ) -> Result<Vec<Array2<f64>>, ClusterError> {
        let views = self.model.impute_from(&joined.data, which)?;
        self.check_finite(views.iter().flatten())?;
        Ok(views)
    }

    fn check_finite<'a>(
        &self,
        values: impl IntoIterator<Item = &'a f64>,
    ) -> Result<(), ClusterError> {
        match values.into_iter().find(|x| !x.is_finite()) {
            None => Ok(()),
            Some(x) => Err(ClusterError::Unusable {
                method: self.model.method(),
                reason: format!("a result of the model is {x}: must be finite"),
            }),
        }
    }

    /// Reads a model file; a file without names gets `view0`, `view1`, ... and numbered columns.
    ///
    /// # Errors
    /// If the file cannot be read, is damaged or has no model; the message names the file.
    pub fn load(path: &Path) -> Result<Self, ClusterError> {
        load(path, Self::from_bytes)
    }

    /// Reads the model from the bytes of a file, like [`NamedModel::load`].
    ///
    /// # Errors
    /// If the bytes are damaged or have no model.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ClusterError> {
        let unusable = |error: &dyn std::fmt::Display| ClusterError::Model(error.to_string());
        let model = read_model(bytes)?;
        let views: Vec<NamedView> = match note(bytes, KEY)? {
            Some(text) => serde_json::from_str(&text).map_err(|e| unusable(&e))?,
            None => numbered(&model.widths()),
        };
        if !views.iter().map(|view| view.features.len()).eq(model.widths()) {
            return Err(unusable(&"its names do not fit its views"));
        }
        Ok(Self { model, views })
    }
}

fn numbered(widths: &[usize]) -> Vec<NamedView> {
    let view = |(v, &width): (usize, &usize)| NamedView {
        name: format!("view{v}"),
        features: (0..width).map(|j| j.to_string()).collect(),
    };
    widths.iter().enumerate().map(view).collect()
}
