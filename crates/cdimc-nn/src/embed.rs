//! Applies the network: fused latents of samples with any subset of views, and reconstructions.

use crate::{Dense, Fusion, NetworkInput, NnError, Weights, error::check_count, trainer};
use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;

impl Weights {
    /// Returns the fused latents of all samples (eq. 4), `(n_samples, latent)`: the mean over the views of a sample.
    /// Computed in blocks of rows.
    ///
    /// # Errors
    /// If `input` has other views or widths than the network, a sample has no view, or [`Weights::check`] fails.
    pub fn embed(&self, input: &NetworkInput) -> Result<Array2<f32>, NnError> {
        self.check()?;
        input.check()?;
        self.check_input(input)?;
        let Fusion { shares, .. } = input.fusion();
        let mut fused = Array2::<f32>::zeros((input.n_samples, self.latent()));
        let chunks = fused.axis_chunks_iter_mut(Axis(0), trainer::BLOCK_ROWS);
        let blocks: Vec<_> = trainer::blocks(input.n_samples).zip(chunks).collect();
        blocks.into_par_iter().for_each(|(block, mut z)| {
            for (weights, observed) in self.views.iter().zip(&input.views) {
                let latents = chain(&weights.encoder, observed.values_of(&block));
                for (&row, latent) in observed.rows_of(&block).iter().zip(latents.rows()) {
                    let mut z = z.row_mut(row as usize - block.start);
                    z += &latent;
                }
            }
            for (mut z, &share) in z.rows_mut().into_iter().zip(&shares[block]) {
                z *= share;
            }
        });
        Ok(fused)
    }

    /// Returns one view's reconstruction from fused latents `(n_samples, latent)`, in the units of [`NetworkInput`]:
    /// `(n_samples, n_features)`.
    ///
    /// # Errors
    /// If there is no such view, the latents have another width, a view has no decoder, or [`Weights::check`] fails.
    pub fn decode(
        &self,
        latents: ArrayView2<'_, f32>,
        view: usize,
    ) -> Result<Array2<f32>, NnError> {
        self.check()?;
        self.check_decoders()?;
        let Some(weights) = self.views.get(view) else {
            return Err(NnError::Unfit(format!("view = {view}: the network has no such view")));
        };
        check_count("width of the latents", self.latent(), latents.ncols())?;
        let n_features = weights.encoder[0].n_in();
        let mut decoded = Array2::zeros((latents.nrows(), n_features));
        for block in trainer::blocks(latents.nrows()) {
            let rows = ndarray::s![block, ..];
            decoded.slice_mut(rows).assign(&chain(&weights.decoder, latents.slice(rows)));
        }
        Ok(decoded)
    }
}

/// Applies the layers, with `ReLU` after each except the last. A row has the same bits alone and in a larger batch.
pub(crate) fn chain(layers: &[Dense], x: ArrayView2<'_, f32>) -> Array2<f32> {
    let mut x = x.to_owned();
    for (i, layer) in layers.iter().enumerate() {
        x = x.dot(&layer.weight.t()) + &layer.bias;
        if i + 1 < layers.len() {
            x.mapv_inplace(|x| if x < 0.0 { 0.0 } else { x });
        }
    }
    x
}
