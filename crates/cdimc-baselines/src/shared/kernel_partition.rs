//! Result and stopping rule of the multiple kernel methods.

use cdimc_core::ClusterError;
use ndarray::Array2;

/// Result of the iteration of [`MkkmIkMkc`](crate::MkkmIkMkc) or [`MkkmIk`](crate::MkkmIk).
#[derive(Debug, Clone)]
pub(crate) struct KernelPartition {
    /// H, `(n_samples, n_clusters)`, orthonormal columns.
    pub embedding: Array2<f64>,
    /// γ, the weight of every kernel, on the simplex.
    #[cfg_attr(not(test), expect(dead_code, reason = "compared with the reference"))]
    pub weights: Vec<f64>,
    /// The objective after every iteration.
    pub objectives: Vec<f64>,
}

/// Returns the views whose kernel is not all 0. A kernel of zeros has no unexplained part and would get all the weight.
///
/// # Errors
/// [`ClusterError::Inapplicable`] if there is no such view.
pub(crate) fn informative_views(
    method: &'static str,
    blocks: &[Array2<f64>],
) -> Result<Vec<usize>, ClusterError> {
    let informative = |&view: &usize| blocks[view].iter().any(|&x| x != 0.0);
    let views: Vec<usize> = (0..blocks.len()).filter(informative).collect();
    if views.is_empty() {
        let reason = "no view has two rows that differ".to_owned();
        return Err(ClusterError::Inapplicable { method, reason });
    }
    Ok(views)
}

/// Extends the weights of `informative` views to all `n_views` views.
pub(crate) fn weights_of_all(weights: &[f64], informative: &[usize], n_views: usize) -> Vec<f64> {
    let mut all = vec![0.0; n_views];
    informative.iter().zip(weights).for_each(|(&view, &weight)| all[view] = weight);
    all
}

/// Returns whether to stop: after the last iteration, or after three when the relative change of the objective is below
/// `tolerance` (authors' code).
pub(crate) fn should_stop(objectives: &[f64], max_iterations: usize, tolerance: f64) -> bool {
    let settled = match objectives {
        [_, .., before, now] => (before - now).abs() < tolerance * now.abs(),
        _ => false,
    };
    settled || objectives.len() >= max_iterations
}
