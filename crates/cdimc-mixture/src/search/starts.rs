//! Starts: k-means on the randomly weighted, concatenated views, and a few iterations of EM.

use crate::model::moments::Moments;
use crate::model::passes::moments_of;
use crate::observations::Observations;
use crate::responsibilities::Responsibilities;
use crate::search::Search;
use crate::watch::Watch;
use cdimc_core::{ClusterError, KMeans};
use cdimc_data::Seed;
use rand::Rng;

/// EM iterations before starts are compared.
const EM_ITERATIONS: usize = 6;
/// Share of each sample that label smoothing spreads over all clusters (Szegedy et al., CVPR 2016).
pub(crate) const SMOOTHING: f64 = 0.1;

/// Returns the samples ordered by similarity, so that few clusters are active in any block of samples.
pub(crate) fn order(
    observations: &Observations,
    n_clusters: usize,
    seed: Seed,
) -> Result<Vec<usize>, ClusterError> {
    let points = observations.side_by_side(&vec![1.0; observations.n_views()]);
    let k_means = KMeans { restarts: 1, ..KMeans::new(n_clusters) };
    let labels = k_means.fit(points.view(), seed.stream("order"))?.labels;
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by_key(|&i| labels[i]);
    Ok(order)
}

/// State of a start after its first iterations.
pub(crate) struct Start {
    pub(crate) index: usize,
    pub(crate) log_likelihood: f64,
    /// Input of the next M step.
    pub(crate) moments: Moments,
}

/// Runs start number `index`.
pub(crate) fn run_start(
    search: &Search<'_>,
    index: usize,
    watch: &Watch<'_>,
) -> Result<Start, ClusterError> {
    watch.check(f64::NEG_INFINITY)?;
    let seed = search.seed.stream("starts").nth(index as u64);
    let n_views = search.observations.n_views();
    let mut weights = vec![1.0; n_views];
    if index > 0 {
        // Flat Dirichlet distribution: exponential variables over their sum.
        let mut rng = seed.stream("weights").rng();
        weights.fill_with(|| -(1.0 - rng.r#gen::<f64>()).ln());
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w = (*w / sum * n_views as f64).sqrt());
    }
    let points = search.observations.side_by_side(&weights);
    let k_means = KMeans { restarts: 1, ..KMeans::new(search.n_clusters) };
    let labels = k_means.fit(points.view(), seed.stream("k-means"))?.labels;
    drop(points);
    let responsibilities = Responsibilities::from_labels(&labels, search.n_clusters);
    let moments = moments_of(search.observations, &responsibilities).mixed_with_uniform(SMOOTHING);
    let em = crate::model::em::Em { iterations: EM_ITERATIONS, ..search.em(watch) };
    let fit = em.run(moments)?;
    Ok(Start { index, log_likelihood: fit.log_likelihood, moments: fit.moments })
}
