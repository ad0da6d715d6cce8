//! A trained CDIMC-net: clusters of new samples with any subset of views, and missing views filled in.

use super::archived_weights::{put_weights, read_weights};
use crate::{Assignment, CdimcNet, components::Components};
use cdimc_core::{
    ClusterError, Clusterer, Model, Prediction, archive::Archive, check::setting, check_views,
    confidence::relative_margins,
};
use cdimc_data::{DataError, MultiView, Standardizer, write_whole};
use cdimc_nn::{NetworkInput, ObservedView, ViewWeights, Weights};
use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};
use std::{fs, path::Path};

const KIND: &str = "cdimc model";

/// A trained network, the centers of its clusters, and how raw values become its input.
#[derive(Debug, Clone, PartialEq)]
pub struct CdimcModel {
    pub(crate) settings: CdimcNet,
    pub(crate) standardizers: Vec<Standardizer>,
    /// The directions that the network reads of a view in place of its columns, where it is reduced.
    pub(crate) components: Vec<Option<Components>>,
    pub(crate) weights: Weights,
    /// The encoders as pre-training left them, without decoders: those that the decoders belong to.
    pub(crate) pretrained: Weights,
    /// The frozen centers U, `(n_clusters, latent)`.
    pub(crate) centers: Array2<f32>,
}

/// The part of a model file that is not arrays.
#[derive(Serialize, Deserialize)]
struct Description {
    settings: CdimcNet,
    n_views: usize,
}

impl CdimcModel {
    /// The settings it was trained with.
    pub fn settings(&self) -> &CdimcNet {
        &self.settings
    }

    /// The frozen centers U, `(n_clusters, latent)`.
    pub fn centers(&self) -> ArrayView2<'_, f32> {
        self.centers.view()
    }

    /// The network.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Takes the encoders as pre-training left them; the decoders and centers have not moved since.
    pub(crate) fn undo_finetuning(&mut self) {
        for (view, pretrained) in self.weights.views.iter_mut().zip(&self.pretrained.views) {
            view.encoder.clone_from(&pretrained.encoder);
        }
    }

    /// The latents of the samples of `input`, `(n_samples, latent)`, and their clusters.
    pub(crate) fn clusters(
        &self,
        input: &NetworkInput,
    ) -> Result<(Array2<f32>, Assignment), ClusterError> {
        let z = self.weights.embed(input)?;
        let assignment = Assignment::new(z.view(), self.centers());
        Ok((z, assignment))
    }

    /// View `view` of the model, with the observed rows of view `given` of the data.
    fn completed(
        &self,
        data: &MultiView,
        given: Option<usize>,
        view: usize,
        z: ArrayView2<'_, f32>,
    ) -> Result<Array2<f64>, ClusterError> {
        let observed = |i: usize| given.is_some_and(|given| data.mask().is_observed(i, given));
        let missing: Vec<usize> = (0..data.n_samples()).filter(|&i| !observed(i)).collect();
        let standardizer = &self.standardizers[view];
        let mut values = match given {
            Some(given) => data.view(given).to_owned(),
            None => Array2::zeros((data.n_samples(), standardizer.width())),
        };
        let mut decoded = self.weights.decode(z.select(Axis(0), &missing).view(), view)?;
        if let Some(components) = &self.components[view] {
            decoded = components.rows(decoded.view());
        }
        for (&i, row) in missing.iter().zip(decoded.rows()) {
            let row = row.mapv(f64::from);
            values.row_mut(i).iter_mut().zip(standardizer.invert(row.view())).for_each(
                |(to, value)| {
                    *to = value;
                },
            );
        }
        Ok(values)
    }

    /// The data as the network reads them, views that they lack being unobserved.
    fn network_input(
        &self,
        data: &MultiView,
        views: &[usize],
    ) -> Result<NetworkInput, ClusterError> {
        check_views(&self.widths(), data, views)?;
        let rows: Vec<usize> = (0..data.n_samples()).collect();
        let observed = |(view, standardizer): (usize, &Standardizer)| {
            let (rows, values) = match views.iter().position(|&v| v == view) {
                Some(given) => standardizer.transform(data, given, &rows)?,
                None => (Vec::new(), Array2::zeros((0, standardizer.width()))),
            };
            let values = match &self.components[view] {
                Some(components) => components.coordinates(values.view()),
                None => values,
            };
            Ok(ObservedView { rows, values })
        };
        let views = self.standardizers.iter().enumerate().map(observed);
        Ok(NetworkInput {
            n_samples: data.n_samples(),
            views: views.collect::<Result<_, DataError>>()?,
        })
    }

    /// Writes the model to a safetensors file with its settings, whole or not at all.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), ClusterError> {
        Ok(write_whole(path.as_ref(), &self.to_bytes()?)?)
    }

    /// Reads a model that [`CdimcModel::save`] wrote.
    ///
    /// # Errors
    /// If the file cannot be read, is no model, or was cut or changed.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ClusterError> {
        let path = path.as_ref();
        let bytes = fs::read(path)
            .map_err(|e| ClusterError::Model(format!("cannot read {}: {e}", path.display())))?;
        Self::from_bytes(&bytes)
            .map_err(|e| ClusterError::Model(format!("{}: {e}", path.display())))
    }

    /// The model in the content of a file.
    ///
    /// # Errors
    /// As [`CdimcModel::load`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ClusterError> {
        let archive = Archive::from_bytes(KIND, bytes)?;
        let Description { settings, n_views } = archive.description()?;
        settings.check()?;
        let weights = read_weights(&archive, "", n_views)?;
        weights.check_decoders()?;
        let pretrained = read_weights(&archive, "pretrained.", n_views)?;
        let centers: Array2<f32> = archive.matrix("centers")?;
        setting("centers of the model", centers.nrows(), "must be at least 2", |&n| n >= 2)?;
        let standardizer = |v| {
            let mean = archive.list(&format!("view{v}.mean"))?;
            let scale = archive.list(&format!("view{v}.scale"))?;
            Ok(Standardizer { mean, scale })
        };
        let standardizers =
            (0..n_views).map(standardizer).collect::<Result<Vec<_>, ClusterError>>()?;
        let reduced = |v| {
            let name = format!("view{v}.directions");
            if !archive.has(&name) {
                return Ok(None);
            }
            let scale = archive.list(&format!("view{v}.direction-scale"))?;
            let directions = archive.matrix(&name)?;
            Ok(Some(Components { directions, scale: scale.first().copied().unwrap_or(1.0) }))
        };
        let components = (0..n_views).map(reduced).collect::<Result<Vec<_>, ClusterError>>()?;
        let fits_all = |weights: &Weights| {
            let views = weights.views.iter().zip(&standardizers).zip(&components);
            views.into_iter().all(|((view, s), c)| fits_view(view, s, c.as_ref()))
        };
        let fits = centers.ncols() == weights.latent()
            && pretrained.latent() == weights.latent()
            && fits_all(&weights)
            && fits_all(&pretrained);
        if !fits {
            return Err(ClusterError::Model(format!("{KIND}: its arrays do not fit together")));
        }
        Ok(Self { settings, standardizers, components, weights, pretrained, centers })
    }
}

impl Model for CdimcModel {
    fn method(&self) -> &'static str {
        CdimcNet::NAME
    }

    fn n_clusters(&self) -> usize {
        self.centers.nrows()
    }

    fn standardizers(&self) -> &[Standardizer] {
        &self.standardizers
    }

    fn settings(&self) -> serde_json::Value {
        serde_json::to_value(&self.settings).unwrap_or_default()
    }

    fn predict_from(&self, data: &MultiView, views: &[usize]) -> Result<Prediction, ClusterError> {
        let (z, Assignment { labels, losses, margins }) =
            self.clusters(&self.network_input(data, views)?)?;
        Ok(Prediction {
            labels,
            confidence: relative_margins(&losses, &margins),
            losses: Some(losses),
            probabilities: None,
            unusual: None,
            embedding: z.mapv(f64::from),
        })
    }

    /// The common representation that the decoders read is the pre-trained encoders', which learned
    /// together with them: fine-tuning contracts the samples to their centers (section 3.4, step 3), and
    /// the differences among the samples of a cluster are lost on the way.
    fn impute_from(
        &self,
        data: &MultiView,
        views: &[usize],
    ) -> Result<Vec<Array2<f64>>, ClusterError> {
        let z = self.pretrained.embed(&self.network_input(data, views)?)?;
        (0..self.standardizers.len())
            .map(|view| {
                let given = views.iter().position(|&v| v == view);
                self.completed(data, given, view, z.view())
            })
            .collect()
    }

    fn archive(&self) -> Result<Archive, ClusterError> {
        let description =
            Description { settings: self.settings.clone(), n_views: self.standardizers.len() };
        let mut archive = Archive::new(KIND, &description)?;
        put_weights(&mut archive, "", &self.weights);
        put_weights(&mut archive, "pretrained.", &self.pretrained);
        archive.put_matrix("centers", self.centers.view());
        for (v, standardizer) in self.standardizers.iter().enumerate() {
            archive.put(format!("view{v}.mean"), standardizer.mean.iter().copied());
            archive.put(format!("view{v}.scale"), standardizer.scale.iter().copied());
        }
        for (v, components) in self.components.iter().enumerate() {
            if let Some(Components { directions, scale }) = components {
                archive.put_matrix(format!("view{v}.directions"), directions.view());
                archive.put(format!("view{v}.direction-scale"), [*scale]);
            }
        }
        Ok(archive)
    }
}

fn fits_view(
    view: &ViewWeights,
    standardizer: &Standardizer,
    components: Option<&Components>,
) -> bool {
    let width = view.encoder.first().map_or(0, |layer| layer.weight.ncols());
    let n_features = standardizer.mean.len();
    let shape = components.map_or((n_features, n_features), |c| c.directions.dim());
    standardizer.scale.len() == n_features && shape == (n_features, width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_core::Observer;
    use cdimc_data::Seed;
    use cdimc_nn::Architecture;
    use ndarray::s;

    #[test]
    fn a_model_without_decoders_or_with_less_than_two_centers_is_refused() {
        let view = Array2::from_shape_fn((12, 3), |(i, j)| ((i * 2 + j) as f64).sin());
        let data = MultiView::from_nan_rows(vec![view.clone(), view]).unwrap();
        let architecture = Architecture { wide: 3, ..Architecture::default() };
        let mut net = CdimcNet { neighbors: 2, architecture, ..CdimcNet::default() };
        (net.pretrain.epochs, net.finetune.rounds) = (1, 1);
        let (model, _) = net.train(&data, 2, Seed::new(1), &Observer::silent()).unwrap();
        let refusal = |damage: fn(&mut CdimcModel)| {
            let mut model = model.clone();
            damage(&mut model);
            CdimcModel::from_bytes(&model.to_bytes().unwrap()).err().map(|e| e.to_string())
        };
        assert_eq!(refusal(|_| {}), None);
        let without_decoder = refusal(|model| model.weights.views[1].decoder.clear());
        assert_eq!(without_decoder.unwrap(), "weights: a decoder without layers");
        let none = refusal(|model| model.centers = model.centers.slice(s![..0, ..]).to_owned());
        assert_eq!(none.unwrap(), "centers of the model = 0: must be at least 2");
        let one = refusal(|model| model.centers = model.centers.slice(s![..1, ..]).to_owned());
        assert_eq!(one.unwrap(), "centers of the model = 1: must be at least 2");
    }
}
