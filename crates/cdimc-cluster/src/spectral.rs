//! Spectral clustering of the latents (Ng, Jordan and Weiss, NIPS 2001; DOI 10.5555/2980539.2980649), for connected
//! clusters that are not round.

use cdimc_core::linear_algebra::Krylov;
use cdimc_core::{ClusterError, KMeans, KMeansFit};
use cdimc_data::Seed;
use cdimc_graph::{KnnGraph, Search};
use faer::{Mat, MatRef};
use ndarray::{Array2, ArrayView2};

/// Number of neighbors of a latent, as in the graphs of the views.
const N_NEIGHBORS: usize = 10;
/// k-means needs the subspace with few digits.
const KRYLOV: Krylov = Krylov { blocks: 8, spare: 6, restarts: 8, tolerance: 1e-4 };

/// Runs k-means on the rows of the leading eigenvectors of D^(-1/2) N D^(-1/2), where N is the nearest-neighbor graph
/// of `z`, `(n_samples, latent)`.
pub(crate) fn spectral_labels(
    z: ArrayView2<'_, f32>,
    kmeans: &KMeans,
    seed: Seed,
) -> Result<KMeansFit, ClusterError> {
    let n = z.nrows();
    let places: Vec<u32> = (0..n as u32).collect();
    let points = z.mapv(f64::from);
    let neighbors = N_NEIGHBORS.min(n - 1);
    let graph = KnnGraph::of_view(points.view(), &places, n, neighbors, Search::Auto)?;
    let weight = |i: usize| 1.0 / (graph.neighbors(i).len().max(1) as f64).sqrt();
    let weights: Vec<f64> = (0..n).map(weight).collect();
    // Half the identity is added, so that no eigenvalue is negative.
    let apply = |x: MatRef<'_, f64>| {
        Mat::from_fn(n, x.ncols(), |i, j| {
            let of = |&other: &u32| weights[other as usize] * x[(other as usize, j)];
            let sum: f64 = graph.neighbors(i).iter().map(of).sum();
            0.5 * (x[(i, j)] + weights[i] * sum)
        })
    };
    let vectors = KRYLOV.leading("cdimc-net", n, kmeans.n_clusters, apply)?.vectors;
    let mut rows = Array2::from_shape_fn((n, vectors.ncols()), |(i, j)| vectors[(i, j)]);
    unit_rows(&mut rows);
    kmeans.fit(rows.view(), seed)
}

/// Divides every row by its length; a row of zeros is unchanged.
pub(crate) fn unit_rows(rows: &mut Array2<f64>) {
    for mut row in rows.rows_mut() {
        let length = row.dot(&row).sqrt();
        if length > 0.0 {
            row /= length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_rings_are_two_clusters() {
        let z = Array2::from_shape_fn((200, 2), |(i, j)| {
            let (radius, angle) = (if i < 100 { 1.0 } else { 4.0 }, i as f32 * 0.0628);
            radius * if j == 0 { angle.cos() } else { angle.sin() }
        });
        let inner = |labels: &[usize]| labels[..100].iter().filter(|&&l| l == labels[0]).count();
        let outer = |labels: &[usize]| labels[100..].iter().filter(|&&l| l == labels[0]).count();
        let found = spectral_labels(z.view(), &KMeans::new(2), Seed::new(1)).unwrap().labels;
        assert_eq!((inner(&found), outer(&found)), (100, 0));
        let round = KMeans::new(2).fit(z.view(), Seed::new(1)).unwrap().labels;
        assert!(outer(&round) > 0);
    }
}
