//! Starts: k-means on the views side by side, weighted at random, and a few iterations of EM.

use crate::model::moments::Moments;
use crate::model::passes::moments_of;
use crate::observations::Observations;
use crate::responsibilities::Responsibilities;
use crate::search::Search;
use crate::watch::Watch;
use cdimc_core::{ClusterError, KMeans};
use cdimc_data::Seed;
use rand::Rng;

/// Iterations after which starts are compared.
const ITERATIONS: usize = 6;
/// The share of a sample that is spread evenly over all clusters: label smoothing (Szegedy et al., CVPR 2016).
pub(crate) const SMOOTHING: f64 = 0.1;

/// The samples in an order in which those that are alike lie next to one another, so that a pass finds few clusters near
/// any few of them.
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

/// Where in `order` each sample is.
pub(crate) fn places(order: &[usize]) -> Vec<usize> {
    let mut places = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, &i)| places[i] = place);
    places
}

/// A start after its first iterations.
pub(crate) struct Tried {
    pub(crate) start: usize,
    pub(crate) log_likelihood: f64,
    /// The sums of the next M step.
    pub(crate) moments: Moments,
}

/// The `start`-th start.
pub(crate) fn attempt(
    search: &Search<'_>,
    start: usize,
    watch: &Watch<'_>,
) -> Result<Tried, ClusterError> {
    watch.check(f64::NEG_INFINITY)?;
    let seed = search.seed.stream("starts").nth(start as u64);
    let n_views = search.observations.n_views();
    let mut weights = vec![1.0; n_views];
    if start > 0 {
        // A flat Dirichlet draw: exponential variables over their sum.
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
    let em = crate::model::em::Em { iterations: ITERATIONS, ..search.em(watch) };
    let fit = em.run(moments)?;
    Ok(Tried { start, log_likelihood: fit.log_likelihood, moments: fit.moments })
}

/// The `n` starts of highest likelihood.
pub(crate) fn best(tried: &[Tried], n: usize) -> Vec<&Tried> {
    let mut best: Vec<&Tried> = tried.iter().collect();
    best.sort_by(|a, b| b.log_likelihood.total_cmp(&a.log_likelihood));
    best.truncate(n);
    best
}
