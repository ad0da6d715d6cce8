//! What the multiple kernel methods end in, and when.

use super::clusters_of_rows::ReadOut;
use cdimc_cluster::{ClusterError, Clustering};
use ndarray::Array2;

/// Where the iteration of [`MkkmIkMkc`](crate::MkkmIkMkc) or [`MkkmIk`](crate::MkkmIk) ended.
#[derive(Debug, Clone)]
pub struct KernelPartition {
    /// H, `(n_samples, n_clusters)`, orthonormal columns.
    pub embedding: Array2<f64>,
    /// γ, the weight of every kernel, on the simplex.
    pub weights: Vec<f64>,
    /// The objective after every iteration.
    pub objectives: Vec<f64>,
}

impl KernelPartition {
    /// k-means on the rows of H scaled to unit length.
    pub(crate) fn read(self, read_out: ReadOut<'_>) -> Result<Clustering, ClusterError> {
        read_out.of_unit_rows(self.embedding, self.objectives)
    }
}

/// Whether no further iteration is due: after the last, or after three once the objective changed by
/// less than this share (authors' code).
pub(crate) fn is_over(objectives: &[f64], max_iterations: usize, tolerance: f64) -> bool {
    let settled = match objectives {
        [_, .., before, now] => (before - now).abs() < tolerance * now.abs(),
        _ => false,
    };
    settled || objectives.len() >= max_iterations
}
