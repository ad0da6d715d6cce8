//! The last step of methods that end in a representation: k-means on its rows.

use cdimc_cluster::{ClusterError, KMeans};
use cdimc_data::Seed;
use ndarray::Array2;

/// How many clusters, and how many starts of k-means to choose the best from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadOut {
    pub(crate) n_clusters: usize,
    pub(crate) restarts: usize,
}

/// k-means on the rows of `representation` `(n_samples, n_clusters)` scaled to unit length; zero rows stay.
pub(crate) fn read_out(
    representation: &Array2<f64>,
    how: ReadOut,
    seed: Seed,
) -> Result<Vec<usize>, ClusterError> {
    let mut rows = representation.clone();
    for mut row in rows.outer_iter_mut() {
        let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length > 0.0 {
            row /= length;
        }
    }
    k_means(&rows, how, seed)
}

/// k-means on the rows of `points` as they are.
pub(crate) fn k_means(
    points: &Array2<f64>,
    how: ReadOut,
    seed: Seed,
) -> Result<Vec<usize>, ClusterError> {
    let ReadOut { n_clusters, restarts } = how;
    let k_means = KMeans { restarts, ..KMeans::new(n_clusters) };
    Ok(k_means.fit(points.view(), seed)?.labels)
}
