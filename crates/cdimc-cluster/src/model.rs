//! A trained CDIMC-net: predicts clusters of new samples from any subset of views, and fills in missing views.

use super::finetune::Assignment;
use super::input::{InputViews, LinearMap};
use crate::CdimcNet;
use cdimc_core::{
    ClusterError, Clustering, Model, ViewAnalysis,
    archive::{self, Archive},
    check::setting,
    confidence::relative_margins,
};
use cdimc_data::{MultiView, Standardizer};
use cdimc_nn::{Dense, NetworkInput, ViewWeights, Weights};
use ndarray::{Array1, Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;

const KIND: &str = "cdimc model";

/// Largest number of weights of a layer that is joined with directions. A small file may describe a huge product.
const MAX_JOINED_WEIGHTS: usize = 1 << 24;

/// A trained network, its cluster centers, and the map from raw values to its input.
#[derive(Debug, Clone)]
pub struct CdimcModel {
    /// Settings of the training, including choices on the data. JSON, because a model of an earlier version may have
    /// former settings.
    pub(crate) settings: Value,
    pub(crate) views: InputViews,
    pub(crate) weights: Weights,
    /// Encoders after pre-training, without decoders: the decoders belong to these.
    pub(crate) pretrained: Weights,
    /// Frozen centers U, `(n_clusters, latent)`.
    pub(crate) centers: Array2<f32>,
}

/// The part of a model file that is not arrays.
#[derive(Serialize, Deserialize)]
struct Description {
    settings: Value,
    n_views: usize,
    /// Kinds of the coordinates that the network reads; `None` if it reads columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kinds: Option<Value>,
}

impl CdimcModel {
    /// Frozen centers U, `(n_clusters, latent)`.
    pub fn centers(&self) -> ArrayView2<'_, f32> {
        self.centers.view()
    }

    /// Weights of the network.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Returns the clusters of samples with the latents `z`, `(n_samples, latent)`.
    pub(crate) fn clustering(&self, z: ArrayView2<'_, f32>) -> Clustering {
        let Assignment { labels, losses, margins } = Assignment::new(z, self.centers());
        Clustering {
            confidence: Some(relative_margins(&losses, &margins)),
            losses: Some(losses),
            embedding: Some(z.mapv(f64::from)),
            ..Clustering::from_labels(labels)
        }
    }

    /// Returns the network's input for `data`.
    fn network_input(
        &self,
        data: &MultiView,
        views: &[usize],
    ) -> Result<NetworkInput, ClusterError> {
        let order: Vec<usize> = (0..data.n_samples()).collect();
        self.views.network_input(data, views, &order)
    }

    /// Reads a model written by [`Model::save`]. `analysis` reads its coordinates, if it has any.
    ///
    /// # Errors
    /// If the file cannot be read, is not a model, or was truncated or changed.
    pub fn load(path: impl AsRef<Path>, analysis: &dyn ViewAnalysis) -> Result<Self, ClusterError> {
        archive::load(path.as_ref(), |bytes| Self::from_bytes(bytes, analysis))
    }

    /// Reads a model from the content of a file.
    ///
    /// # Errors
    /// Same as [`CdimcModel::load`].
    pub fn from_bytes(bytes: &[u8], analysis: &dyn ViewAnalysis) -> Result<Self, ClusterError> {
        let archive = Archive::from_bytes(KIND, bytes)?;
        let Description { settings, n_views, kinds } = archive.description()?;
        let mut weights = read_weights(&archive, "", n_views)?;
        weights.check_decoders()?;
        let mut pretrained = read_weights(&archive, "pretrained.", n_views)?;
        for network in [&mut weights, &mut pretrained] {
            for (v, view) in network.views.iter_mut().enumerate() {
                join_directions(&archive, v, view)?;
            }
        }
        let centers: Array2<f32> = archive.matrix("centers")?;
        setting("centers of the model", centers.nrows(), "must be at least 2", |&n| n >= 2)?;
        let standardizer = |v| {
            let mean = archive.list(&format!("view{v}.mean"))?;
            let scale = archive.list(&format!("view{v}.scale"))?;
            Ok(Standardizer { mean, scale })
        };
        let standardizers =
            (0..n_views).map(standardizer).collect::<Result<Vec<_>, ClusterError>>()?;
        let read = |kinds| analysis.read_coordinates(&archive, kinds);
        let coordinates = kinds.as_ref().map(read).transpose()?;
        let n_maps = if kinds.is_some() { n_views } else { 0 };
        let maps = (0..n_maps).map(|v| read_map(&archive, v)).collect::<Result<_, _>>()?;
        let views = InputViews { standardizers, coordinates, maps };
        let fits = centers.ncols() == weights.latent()
            && pretrained.latent() == weights.latent()
            && views.fits(&weights)
            && views.fits(&pretrained);
        if !fits {
            return Err(archive.misfit());
        }
        Ok(Self { settings, views, weights, pretrained, centers })
    }
}

/// Adds the network's weights: `view{v}.encoder.{i}.weight`, `.bias`, and the same of the decoder, each after `prefix`.
pub(crate) fn put_weights(archive: &mut Archive, prefix: &str, weights: &Weights) {
    for (v, view) in weights.views.iter().enumerate() {
        for (chain, layers) in [("encoder", &view.encoder), ("decoder", &view.decoder)] {
            for (i, layer) in layers.iter().enumerate() {
                let name = format!("{prefix}view{v}.{chain}.{i}");
                archive.put_matrix(format!("{name}.weight"), layer.weight.view());
                archive.put(format!("{name}.bias"), layer.bias.iter().copied());
            }
        }
    }
}

/// Reads the layers of a network of `n_views` views that [`put_weights`] added.
pub(crate) fn read_weights(
    archive: &Archive,
    prefix: &str,
    n_views: usize,
) -> Result<Weights, ClusterError> {
    let layer = |name: String| -> Result<Dense, ClusterError> {
        let weight = archive.matrix(&format!("{name}.weight"))?;
        let bias = Array1::from_vec(archive.list(&format!("{name}.bias"))?);
        Ok(Dense { weight, bias })
    };
    let chain = |name: String| -> Result<Vec<Dense>, ClusterError> {
        let layers = (0..).map(|i| format!("{name}.{i}"));
        layers.take_while(|name| archive.has(&format!("{name}.weight"))).map(layer).collect()
    };
    let view = |v| {
        let encoder = chain(format!("{prefix}view{v}.encoder"))?;
        // The description may declare any number of views.
        if encoder.is_empty() {
            return Err(ClusterError::Model(format!("{prefix}view{v} has no encoder")));
        }
        Ok(ViewWeights { encoder, decoder: chain(format!("{prefix}view{v}.decoder"))? })
    };
    let weights = Weights { views: (0..n_views).map(view).collect::<Result<_, _>>()? };
    weights.check()?;
    Ok(weights)
}

/// Reads the map of view `v` from its columns to the network's input.
fn read_map(archive: &Archive, v: usize) -> Result<LinearMap, ClusterError> {
    let scale = archive.list(&format!("view{v}.input-scale"))?.first().copied().unwrap_or(1.0);
    Ok(LinearMap { scale, loadings: archive.matrix(&format!("view{v}.loadings"))? })
}

/// Joins the outer layers of view `v` with directions of its standardized columns, `(n_features, n_inputs)`, which
/// networks of earlier versions read: this network reads the columns.
fn join_directions(
    archive: &Archive,
    v: usize,
    view: &mut ViewWeights,
) -> Result<(), ClusterError> {
    // Coordinates have directions, too, but no such scale.
    let name = format!("view{v}.direction-scale");
    if !archive.has(&name) {
        return Ok(());
    }
    let scale = archive.list::<f64>(&name)?.first().map_or(1.0, |&scale| scale as f32);
    let directions: Array2<f32> = archive.matrix(&format!("view{v}.directions"))?;
    let n_hidden = view.decoder.last().map_or(0, |last| last.weight.ncols());
    let first = &mut view.encoder[0];
    let n_weights = first.weight.nrows().max(n_hidden).saturating_mul(directions.nrows());
    if directions.ncols() != first.weight.ncols() || n_weights > MAX_JOINED_WEIGHTS {
        return Err(archive.misfit());
    }
    first.weight = first.weight.dot(&directions.t()) / scale;
    if let Some(last) = view.decoder.last_mut() {
        last.weight = directions.dot(&last.weight) * scale;
        last.bias = directions.dot(&last.bias) * scale;
    }
    Ok(())
}

impl Model for CdimcModel {
    fn method(&self) -> &'static str {
        CdimcNet::NAME
    }

    fn n_clusters(&self) -> usize {
        self.centers.nrows()
    }

    fn standardizers(&self) -> &[Standardizer] {
        &self.views.standardizers
    }

    fn settings(&self) -> Value {
        self.settings.clone()
    }

    /// `chosen`: the weight of the graph, and the kind of coordinates of every view, if the network reads coordinates.
    fn facts(&self) -> Value {
        let kinds = self.views.coordinates.as_ref().map(|coordinates| coordinates.kinds());
        json!({ "chosen": { "alpha": self.settings["alpha"], "coordinates": kinds } })
    }

    fn predict_from(&self, data: &MultiView, views: &[usize]) -> Result<Clustering, ClusterError> {
        let z = self.weights.embed(&self.network_input(data, views)?)?;
        Ok(self.clustering(z.view()))
    }

    /// The decoders read the latents of the pre-trained encoders, with which they were trained. Fine-tuning contracts
    /// the samples to their centers (section 3.4, step 3) and loses the differences within a cluster.
    fn impute_from(
        &self,
        data: &MultiView,
        views: &[usize],
    ) -> Result<Vec<Array2<f64>>, ClusterError> {
        let z = self.pretrained.embed(&self.network_input(data, views)?)?;
        let completed = |(view, width): (usize, usize)| {
            let given = views.iter().position(|&v| v == view);
            let observed = |i: usize| given.is_some_and(|given| data.mask().is_observed(i, given));
            let missing: Vec<usize> = (0..data.n_samples()).filter(|&i| !observed(i)).collect();
            let mut values = match given {
                Some(given) => data.view(given).to_owned(),
                None => Array2::zeros((data.n_samples(), width)),
            };
            let decoded = self.weights.decode(z.select(Axis(0), &missing).view(), view)?;
            let rows = self.views.rows(view, decoded);
            missing.iter().zip(rows.rows()).for_each(|(&i, row)| values.row_mut(i).assign(&row));
            Ok(values)
        };
        self.widths().into_iter().enumerate().map(completed).collect()
    }

    fn archive(&self) -> Result<Archive, ClusterError> {
        let InputViews { standardizers, coordinates, maps } = &self.views;
        let kinds = coordinates.as_ref().map(|coordinates| coordinates.kinds());
        let (settings, n_views) = (self.settings.clone(), standardizers.len());
        let mut archive = Archive::new(KIND, &Description { settings, n_views, kinds })?;
        put_weights(&mut archive, "", &self.weights);
        put_weights(&mut archive, "pretrained.", &self.pretrained);
        archive.put_matrix("centers", self.centers.view());
        if let Some(coordinates) = coordinates {
            coordinates.put(&mut archive);
        }
        for (v, standardizer) in standardizers.iter().enumerate() {
            archive.put(format!("view{v}.mean"), standardizer.mean.iter().copied());
            archive.put(format!("view{v}.scale"), standardizer.scale.iter().copied());
        }
        for (v, LinearMap { scale, loadings }) in maps.iter().enumerate() {
            archive.put_matrix(format!("view{v}.loadings"), loadings.view());
            archive.put(format!("view{v}.input-scale"), [*scale]);
        }
        Ok(archive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_core::Silent;
    use cdimc_data::Seed;
    use cdimc_mixture::TMixture;

    #[test]
    fn a_model_without_decoders_or_with_less_than_two_centers_is_refused() {
        let view = Array2::from_shape_fn((12, 3), |(i, j)| ((i * 2 + j) as f64).sin());
        let data = MultiView::from_nan_rows(vec![view.clone(), view]).unwrap();
        let mut net = CdimcNet { neighbors: 2, ..CdimcNet::authors_code() };
        (net.advanced.wide, net.pretrain.epochs, net.finetune.rounds) = (Some(3), 1, 1);
        let (model, _) = net.train(&data, 2, Seed::new(1), &Silent).unwrap();
        let refusal = |damage: fn(&mut CdimcModel)| {
            let mut model = model.clone();
            damage(&mut model);
            let bytes = model.to_bytes().unwrap();
            CdimcModel::from_bytes(&bytes, &TMixture::default()).err().map(|e| e.to_string())
        };
        assert_eq!(refusal(|_| {}), None);
        let without_decoder = refusal(|model| model.weights.views[1].decoder.clear());
        assert_eq!(without_decoder.unwrap(), "weights: a decoder without layers");
        let one = refusal(|model| model.centers = Array2::zeros((1, 2)));
        assert_eq!(one.unwrap(), "centers of the model = 1: must be at least 2");
    }

    #[test]
    fn directions_whose_product_with_a_layer_is_huge_are_refused() {
        let joined = |n_features: usize| {
            let mut archive = Archive::new(KIND, &Value::Null).unwrap();
            archive.put("view0.direction-scale", [2.0]);
            archive.put_matrix("view0.directions", Array2::<f32>::ones((n_features, 1)).view());
            let first = Dense { weight: Array2::ones((30_000, 1)), bias: Array1::zeros(30_000) };
            let mut view = ViewWeights { encoder: vec![first], decoder: Vec::new() };
            let archive = Archive::from_bytes(KIND, &archive.to_bytes().unwrap()).unwrap();
            join_directions(&archive, 0, &mut view).map(|()| view.encoder[0].weight.clone())
        };
        assert_eq!(joined(4).unwrap(), Array2::from_elem((30_000, 4), 0.5));
        let error = joined(MAX_JOINED_WEIGHTS / 30_000 + 1).unwrap_err().to_string();
        assert_eq!(error, "cdimc model: its arrays do not fit together");
    }
}
