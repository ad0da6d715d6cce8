//! Information about clusters, by which runs, first centers and rounds of fine-tuning are chosen without labels.

use cdimc_core::SharedInformation;
use cdimc_graph::KnnGraph;
use std::sync::Arc;

/// Information √(TM) in nats under labels in training order.
///
/// T measures how well the views predict each other through the clusters. M measures how well neighbors in a view
/// predict each other's cluster: the sum over views of the mutual information
/// Σ p(a, b) ln(p(a, b) / (p(a) p(b))) over pairs of clusters, where p(a, b) is the fraction of edges from a to b. M is
/// ours; the graphs are from eq. 6. Which solution has the largest geometric mean does not depend on the scales of T
/// and M. It is 0 if T or M is not positive; without edges, the information is T.
pub(crate) struct Information {
    /// Computes T in the caller's order.
    pub(crate) shared: Box<dyn SharedInformation>,
    /// The caller's sample at every position of the training order.
    pub(crate) order: Vec<usize>,
    /// Graphs of the views in training order.
    pub(crate) graphs: Arc<Vec<KnnGraph>>,
}

impl SharedInformation for Information {
    fn terms(&self, labels: &[usize]) -> Vec<f64> {
        let n = labels.len();
        let mut of_samples = vec![0; n];
        self.order.iter().zip(labels).for_each(|(&i, &label)| of_samples[i] = label);
        let shared = self.shared.terms(&of_samples);
        // T is a mean over the samples that have a term, the result one over all.
        let n_shared = shared.iter().filter(|term| !term.is_nan()).count().max(1);
        let weight = n as f64 / n_shared as f64;
        let of_sample = |&i: &usize| if shared[i].is_nan() { 0.0 } else { weight * shared[i] };
        let t: Vec<f64> = self.order.iter().map(of_sample).collect();
        let has_edges = |graph: &KnnGraph| (0..n).any(|i| !graph.neighbors(i).is_empty());
        if !self.graphs.iter().any(has_edges) {
            return t;
        }
        let mut m = vec![0.0; n];
        self.graphs.iter().for_each(|graph| add_neighbors(&mut m, graph, labels));
        let mean = |terms: &[f64]| terms.iter().sum::<f64>() / n as f64;
        let ratio = mean(&m) / mean(&t);
        if !(ratio > 0.0 && ratio.is_finite()) {
            return vec![0.0; n];
        }
        // The derivative of √(TM); these terms have the mean √(TM).
        let root = ratio.sqrt();
        t.iter().zip(&m).map(|(t, m)| 0.5 * (root * t + m / root)).collect()
    }
}

/// Adds to the term of every sample its part of the mutual information between the clusters at both ends of an edge.
fn add_neighbors(terms: &mut [f64], graph: &KnnGraph, labels: &[usize]) {
    let n_clusters = labels.iter().max().map_or(0, |&most| most + 1);
    let mut joint = vec![0_u32; n_clusters * n_clusters];
    let ends = |i: usize| graph.neighbors(i).iter().map(move |&j| (labels[i], labels[j as usize]));
    (0..terms.len()).flat_map(ends).for_each(|(a, b)| joint[a * n_clusters + b] += 1);
    let sum = |counts: &[u32]| -> f64 { counts.iter().map(|&count| f64::from(count)).sum() };
    let sums: Vec<f64> = joint.chunks_exact(n_clusters.max(1)).map(sum).collect();
    let n_ends: f64 = sums.iter().sum();
    let scale = terms.len() as f64 / n_ends.max(1.0);
    for (i, term) in terms.iter_mut().enumerate() {
        let log_ratio = |(a, b): (usize, usize)| {
            (f64::from(joint[a * n_clusters + b]) * n_ends / (sums[a] * sums[b])).ln()
        };
        *term += scale * ends(i).map(log_ratio).sum::<f64>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Terms of samples in the caller's order.
    struct Terms(Vec<f64>);

    impl SharedInformation for Terms {
        fn terms(&self, labels: &[usize]) -> Vec<f64> {
            self.0.iter().zip(labels).map(|(term, &label)| term + label as f64).collect()
        }
    }

    #[test]
    fn the_result_is_the_geometric_mean_of_what_views_and_neighbors_share() {
        // In training order: 0-1 and 2-3 are neighbors in the first view, 0-1 in the second; none in the third.
        let graph = |edges: &[(usize, usize)]| KnnGraph::from_edges(4, edges.to_vec()).unwrap();
        let information = |first: f64, graphs: Vec<KnnGraph>| {
            let shared = Box::new(Terms(vec![first, f64::NAN, 3.0, f64::NAN]));
            Information { shared, order: vec![3, 2, 1, 0], graphs: Arc::new(graphs) }
        };
        let graphs = || vec![graph(&[(0, 1), (2, 3)]), graph(&[(0, 1)]), graph(&[])];
        let of = information(1.0, graphs());
        let is = |labels: &[usize], t: f64, m: f64| {
            let found = of.of(labels);
            assert!((found - (t * m).sqrt()).abs() < 1e-12, "{labels:?}: {found}");
        };
        // T is 2, the mean of 1 and 3, plus the mean label of these two samples: 0.5, 1 and 0.
        let ln2 = 2.0_f64.ln();
        // Neighbors have equal clusters, of two equal ones in the first view, and of a single one in the second.
        is(&[0, 0, 1, 1], 2.5, ln2);
        // Neighbors have different clusters: as informative.
        is(&[0, 1, 0, 1], 3.0, 2.0 * ln2);
        // In one cluster, neighbors predict nothing.
        is(&[0; 4], 2.0, 0.0);
        // Negative T is no information.
        assert_eq!(information(-9.0, graphs()).of(&[0, 0, 1, 1]), 0.0);
        // Without edges, T is all there is.
        assert_eq!(information(1.0, vec![graph(&[])]).of(&[0, 0, 1, 1]), 2.5);
    }
}
