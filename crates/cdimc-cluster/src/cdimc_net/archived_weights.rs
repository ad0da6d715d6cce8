//! The network's weights in an archive: `view{v}.encoder.{i}.weight`, `.bias`, and the same of the decoder.

use cdimc_core::{ClusterError, archive::Archive};
use cdimc_nn::{Dense, ViewWeights, Weights};
use ndarray::Array1;

/// Adds every layer, its name after `prefix`.
pub(super) fn put_weights(archive: &mut Archive, prefix: &str, weights: &Weights) {
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
pub(super) fn read_weights(
    archive: &Archive,
    prefix: &str,
    n_views: usize,
) -> Result<Weights, ClusterError> {
    let layer = |name: &str| -> Result<Dense, ClusterError> {
        let weight = archive.matrix(&format!("{name}.weight"))?;
        let bias = Array1::from_vec(archive.list(&format!("{name}.bias"))?);
        Ok(Dense { weight, bias })
    };
    let chain = |name: String, mut layers: Vec<Dense>| -> Result<Vec<Dense>, ClusterError> {
        while archive.has(&format!("{name}.{}.weight", layers.len())) {
            layers.push(layer(&format!("{name}.{}", layers.len()))?);
        }
        Ok(layers)
    };
    let view = |v| {
        // The description may declare more views than there are first layers.
        let first = layer(&format!("{prefix}view{v}.encoder.0"))?;
        let encoder = chain(format!("{prefix}view{v}.encoder"), vec![first])?;
        Ok(ViewWeights { encoder, decoder: chain(format!("{prefix}view{v}.decoder"), vec![])? })
    };
    let weights = Weights { views: (0..n_views).map(view).collect::<Result<_, ClusterError>>()? };
    weights.check()?;
    Ok(weights)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_data::Seed;

    #[test]
    fn a_description_of_too_many_views_allocates_nothing() {
        let written = Weights::glorot(&cdimc_nn::Architecture::default(), &[3], 2, Seed::new(0));
        let mut archive = Archive::new("test file", &()).unwrap();
        put_weights(&mut archive, "", &written);
        assert!(read_weights(&archive, "", 1).unwrap() == written);
        let error = read_weights(&archive, "", usize::MAX).err().unwrap().to_string();
        assert_eq!(error, "test file: array view1.encoder.0.weight is not there");
    }
}
