//! Applies the network: fused latents of samples with any subset of views, and reconstructions.

use crate::{Dense, Fusion, NetworkInput, NnError, Weights, error::check_count, trainer};
use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};
use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;

/// Smallest number of rows in a product. Products with fewer rows, or with one row, use other routines that sum in
/// another order. With this minimum a sample has the same bits alone and in a larger batch.
const MIN_ROWS: usize = 4;

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

/// Applies the layers, with `ReLU` after each except the last.
fn chain(layers: &[Dense], x: ArrayView2<'_, f32>) -> Array2<f32> {
    let n_rows = x.nrows();
    let mut x = if (1..MIN_ROWS).contains(&n_rows) {
        let repeated: [usize; MIN_ROWS] = std::array::from_fn(|i| i % n_rows);
        x.select(Axis(0), &repeated)
    } else {
        x.to_owned()
    };
    for (i, layer) in layers.iter().enumerate() {
        let mut y = Array2::zeros((x.nrows(), layer.n_out()));
        for mut row in y.rows_mut() {
            row.assign(&layer.bias);
        }
        product(&mut y, &x, &layer.weight);
        if i + 1 < layers.len() {
            y.mapv_inplace(|y| if y > 0.0 { y } else { 0.0 * y });
        }
        x = y;
    }
    x.slice_move(ndarray::s![..n_rows, ..])
}

/// y <- y + x w^T.
fn product(y: &mut Array2<f32>, x: &Array2<f32>, w: &Array2<f32>) {
    let (n, m) = y.dim();
    let (Some(x), Some(w)) = (x.as_slice(), w.as_slice()) else {
        *y += &x.dot(&w.t());
        return;
    };
    if let Some(y) = y.as_slice_mut() {
        matmul(
            MatMut::from_row_major_slice_mut(y, n, m),
            Accum::Add,
            MatRef::from_row_major_slice(x, n, w.len() / m.max(1)),
            MatRef::from_row_major_slice(w, m, w.len() / m.max(1)).transpose(),
            1.0,
            Par::Seq,
        );
    }
}
