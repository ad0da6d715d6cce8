//! Shape and parameters of the network, independent of the engine.

use crate::{NetworkInput, NnError, error::check_count};
use cdimc_core::check::at_least_one;
use cdimc_data::Seed;
use ndarray::{Array1, Array2};
use rand::Rng;

/// Layer widths as functions of the view's width m and the latent width k.
///
/// The encoder has m, h, h, wide, k units and the decoder k, k, wide, h, h, m, with h = round(`hidden_ratio` m), ties
/// to even (authors' code; the paper omits the decoder's first k-to-k layer).
#[derive(Debug, Clone, PartialEq)]
pub struct Architecture {
    /// Width of the hidden layers as a fraction of the view's width. Default of the paper (Table 1).
    pub hidden_ratio: f64,
    /// Width of the layer next to the latent. Default of the paper.
    pub wide: usize,
    /// Whether each decoder starts with the authors' extra k-to-k layer.
    pub square_decoder_layer: bool,
}

impl Default for Architecture {
    fn default() -> Self {
        Self { hidden_ratio: 0.8, wide: 1500, square_decoder_layer: true }
    }
}

impl Architecture {
    /// Returns the widths of the encoder and of the decoder of a view with `m` features, for a `k`-wide latent.
    fn widths(&self, m: usize, k: usize) -> [Vec<usize>; 2] {
        let h = ((self.hidden_ratio * m as f64).round_ties_even() as usize).max(1);
        let encoder = vec![m, h, h, self.wide, k];
        let square = self.square_decoder_layer.then_some(k);
        let decoder = square.into_iter().chain(encoder.iter().copied().rev()).collect();
        [encoder, decoder]
    }

    /// Returns the number of parameters of the network for views of these widths, without building it.
    pub fn n_parameters(&self, widths: &[usize], latent: usize) -> u128 {
        let layer = |pair: &[usize]| (pair[0] as u128 + 1).saturating_mul(pair[1] as u128);
        let chain = |widths: Vec<usize>| -> u128 {
            widths.windows(2).map(layer).fold(0, u128::saturating_add)
        };
        let chains = widths.iter().flat_map(|&m| self.widths(m, latent));
        chains.map(chain).fold(0, u128::saturating_add)
    }
}

/// An affine layer x W^T + b.
#[derive(Debug, Clone, PartialEq)]
pub struct Dense {
    /// `(n_out, n_in)`, as PyTorch and candle store it.
    pub weight: Array2<f32>,
    /// `(n_out)`.
    pub bias: Array1<f32>,
}

/// Parameters of one view's autoencoder; `ReLU` follows every layer except the last of each chain.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewWeights {
    /// From the view's features to the latent.
    pub encoder: Vec<Dense>,
    /// From the fused latent to the view's features.
    pub decoder: Vec<Dense>,
}

/// Parameters of the whole network, or arrays of the same shape: gradients, momenta.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// One entry per view.
    pub views: Vec<ViewWeights>,
}

impl Weights {
    /// Returns Glorot-uniform weights U(-a, a), a = sqrt(6 / (`n_in` + `n_out`)), and zero biases (authors' code).
    pub fn glorot(
        architecture: &Architecture,
        widths: &[usize],
        latent: usize,
        seed: Seed,
    ) -> Self {
        let chain = |widths: &[usize], seed: Seed| -> Vec<Dense> {
            let mut rng = seed.rng();
            let layer = |pair: &[usize]| {
                let (n_in, n_out) = (pair[0], pair[1]);
                let a = (6.0 / (n_in + n_out) as f64).sqrt() as f32;
                let weight = Array2::from_shape_simple_fn((n_out, n_in), || rng.gen_range(-a..=a));
                Dense { weight, bias: Array1::zeros(n_out) }
            };
            widths.windows(2).map(layer).collect()
        };
        let view = |(v, &m): (usize, &usize)| {
            let seed = seed.nth(v as u64);
            let [encoder, decoder] = architecture.widths(m, latent);
            ViewWeights {
                encoder: chain(&encoder, seed.stream("encoder")),
                decoder: chain(&decoder, seed.stream("decoder")),
            }
        };
        Self { views: widths.iter().enumerate().map(view).collect() }
    }

    /// Width of the latent.
    ///
    /// # Panics
    /// If there is no view.
    pub fn latent(&self) -> usize {
        self.views[0].encoder.last().map_or(0, |layer| layer.bias.len())
    }

    pub(crate) fn n_parameters(&self) -> usize {
        self.layers().map(|layer| layer.weight.len() + layer.bias.len()).sum()
    }

    /// All layers, view by view, encoder before decoder.
    pub fn layers(&self) -> impl Iterator<Item = &Dense> {
        self.views.iter().flat_map(|view| view.encoder.iter().chain(&view.decoder))
    }

    /// Checks that the widths of consecutive layers agree, all encoders end in one latent width and all decoders start
    /// with it. Decoders may be missing.
    ///
    /// # Errors
    /// If widths disagree; the message names them.
    pub fn check(&self) -> Result<(), NnError> {
        at_least_one(&[("views", self.views.len())])?;
        for ViewWeights { encoder, decoder } in &self.views {
            let (Some(first), Some(last)) = (encoder.first(), encoder.last()) else {
                return Err(NnError::Unfit("weights: an encoder without layers".to_owned()));
            };
            check_count("latent width of an encoder", self.latent(), last.n_out())?;
            let mut width = first.n_in();
            for layer in encoder.iter().chain(decoder) {
                check_count("columns of a weight", width, layer.n_in())?;
                check_count("length of a bias", layer.n_out(), layer.bias.len())?;
                width = layer.n_out();
            }
            if let Some(last) = decoder.last() {
                check_count("width of a reconstruction", first.n_in(), last.n_out())?;
            }
        }
        Ok(())
    }

    /// Checks that every view has a decoder, as training and reconstruction require.
    ///
    /// # Errors
    /// If a view has none.
    pub fn check_decoders(&self) -> Result<(), NnError> {
        if self.views.iter().any(|view| view.decoder.is_empty()) {
            return Err(NnError::Unfit("weights: a decoder without layers".to_owned()));
        }
        Ok(())
    }

    /// Checks that `input` has the views and widths of this network.
    ///
    /// # Errors
    /// If it has not; the message names the view.
    pub fn check_input(&self, input: &NetworkInput) -> Result<(), NnError> {
        check_count("views", self.views.len(), input.views.len())?;
        for (v, (weights, observed)) in self.views.iter().zip(&input.views).enumerate() {
            let (expected, found) = (weights.encoder[0].n_in(), observed.values.ncols());
            check_count(&format!("features of view {v}"), expected, found)?;
        }
        Ok(())
    }
}

impl Dense {
    pub(crate) fn n_in(&self) -> usize {
        self.weight.ncols()
    }

    pub(crate) fn n_out(&self) -> usize {
        self.weight.nrows()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_network_for_handwritten_has_the_authors_number_of_parameters() {
        let widths = [240, 76, 216, 47, 64];
        let weights = Weights::glorot(&Architecture::default(), &widths, 10, Seed::new(0));
        assert_eq!(weights.n_parameters(), 2_048_689);
        assert_eq!(Architecture::default().n_parameters(&widths, 10), 2_048_689);
        let absurd =
            Architecture { hidden_ratio: 1e300, wide: usize::MAX, ..Architecture::default() };
        assert!(absurd.n_parameters(&widths, 10) > 1 << 100);
        assert_eq!(weights.latent(), 10);
    }
}
