//! How many clusters: one proposed number with the runner-up, by criteria that see no labels.
//!
//! Shared information on samples held out of a fit of the mixture decides where samples have two views
//! or more ([`cdimc_mixture::propose`]). Elsewhere three criteria are ranked side by side: stability over
//! seeds, silhouette of the embedding, and the eigengap of the graph all views share.

use crate::graph::{GraphError, KnnGraph, Search};
use crate::metrics::ari;
use cdimc_cluster::{Clusterer, Clustering};
use cdimc_data::{MultiView, Seed, geometry_version};
use cdimc_mixture::{HeldOut, propose};
use faer::{Mat, MatRef, Side};
use ndarray::ArrayView2;
use rand::seq::index::sample;
use serde::{Deserialize, Serialize};

/// Beyond this many samples the silhouette is that of a random part, drawn by the seed.
const SILHOUETTE_SAMPLES: usize = 4000;

/// Up to this many samples all eigenvalues are computed, from the matrix itself.
const WHOLE_SAMPLES: usize = 1000;
/// Vectors beyond those asked for, which speed up the last of them.
const SPARE: usize = 6;
/// Products with the matrix that span a subspace, and subspaces at most.
const BLOCKS: usize = 8;
const RESTARTS: usize = 30;
/// Eigenvalues that moved by less have arrived.
const ARRIVED: f64 = 1e-7;

/// What speaks for one number of clusters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Candidate {
    /// The number of clusters k.
    pub n_clusters: usize,
    /// What the views share on held-out samples; none where no sample has two views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<HeldOut>,
    /// Mean adjusted Rand index between the clusterings of all pairs of seeds; 1 where there is one seed.
    pub stability: f64,
    /// Mean silhouette of the embedding, averaged over the seeds; in [-1, 1].
    pub silhouette: f64,
    /// Eigenvalue k+1 less eigenvalue k of the normalized Laplacian of the fused graph.
    pub eigengap: f64,
    /// Mean of the candidate's ranks under the three criteria; the smallest is chosen.
    pub mean_rank: f64,
}

/// The candidates and the one chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClusterNumber {
    /// The number of clusters chosen.
    pub chosen: usize,
    /// The next best.
    #[serde(default)]
    pub runner_up: Option<usize>,
    /// One sentence that says why.
    pub reason: String,
    /// All candidates, by number of clusters.
    pub candidates: Vec<Candidate>,
    /// Clusterings of each candidate.
    pub n_seeds: usize,
}

impl Candidate {
    /// What `found`, clusterings into `n_clusters` clusters with one seed each, say for their number.
    ///
    /// `eigenvalues`: the smallest eigenvalues of the fused graph's Laplacian, ascending.
    pub fn new(n_clusters: usize, found: &[Clustering], eigenvalues: &[f64], seed: Seed) -> Self {
        let scores = found.iter().filter_map(|clustering| {
            let embedding = clustering.embedding.as_ref()?;
            Some(silhouette(embedding.view(), &clustering.labels, seed))
        });
        Self {
            n_clusters,
            held_out: None,
            stability: stability(found),
            silhouette: mean(scores),
            eigengap: match (eigenvalues.get(n_clusters), eigenvalues.get(n_clusters - 1)) {
                (Some(next), Some(this)) => next - this,
                _ => 0.0,
            },
            mean_rank: 0.0,
        }
    }
}

/// Chooses among the candidates, each of `n_seeds` clusterings: by what the views share on held-out
/// samples where it is known of all, else by ranks.
pub fn decide(mut candidates: Vec<Candidate>, n_seeds: usize) -> ClusterNumber {
    candidates.sort_by_key(|candidate| candidate.n_clusters);
    let curve: Option<Vec<HeldOut>> = candidates.iter().map(|c| c.held_out.clone()).collect();
    let mut number = by_ranks(candidates, n_seeds);
    if let Some(proposal) = curve.and_then(|curve| propose(&curve)) {
        number.chosen = proposal.n_clusters;
        number.runner_up = proposal.runner_up;
        number.reason = format!("k = {}: {}", proposal.n_clusters, proposal.reason);
    }
    number
}

/// Best first under each criterion, ties share the better rank; the smallest mean rank is chosen, the
/// smaller number of clusters on ties.
fn by_ranks(mut candidates: Vec<Candidate>, n_seeds: usize) -> ClusterNumber {
    let rank = |value: f64, all: &[f64]| 1.0 + all.iter().filter(|&&x| x > value).count() as f64;
    let criteria: [fn(&Candidate) -> f64; 3] = [|c| c.stability, |c| c.silhouette, |c| c.eigengap];
    for criterion in criteria {
        let values: Vec<f64> = candidates.iter().map(criterion).collect();
        for (candidate, &value) in candidates.iter_mut().zip(&values) {
            candidate.mean_rank += rank(value, &values) / 3.0;
        }
    }
    let best = candidates.iter().min_by(|a, b| a.mean_rank.total_cmp(&b.mean_rank));
    let (chosen, reason) = best.map_or((0, String::new()), |best| {
        let wins = |name, criterion: fn(&Candidate) -> f64| {
            candidates.iter().all(|c| criterion(c) <= criterion(best)).then_some(name)
        };
        let names = ["stability over seeds", "silhouette", "eigengap"];
        let won: Vec<&str> =
            names.into_iter().zip(criteria).filter_map(|(name, c)| wins(name, c)).collect();
        let because = match won.as_slice() {
            [] => "second best under several criteria, best under their mean".to_owned(),
            won => format!("best {}", won.join(", best ")),
        };
        (
            best.n_clusters,
            format!("k = {}: mean rank {:.2}; {because}", best.n_clusters, best.mean_rank),
        )
    });
    let others = candidates.iter().filter(|candidate| candidate.n_clusters != chosen);
    let runner_up = others.min_by(|a, b| a.mean_rank.total_cmp(&b.mean_rank));
    let runner_up = runner_up.map(|candidate| candidate.n_clusters);
    ClusterNumber { chosen, runner_up, reason, candidates, n_seeds }
}

/// Clusterings of `data` by `method` with `n_seeds` seeds drawn from `seed`.
///
/// # Errors
/// As the method.
pub fn repeat(
    method: &dyn Clusterer,
    data: &MultiView,
    n_clusters: usize,
    n_seeds: usize,
    seed: Seed,
) -> Result<Vec<Clustering>, cdimc_cluster::ClusterError> {
    (0..n_seeds as u64).map(|s| method.cluster(data, n_clusters, seed.nth(s))).collect()
}

/// Mean adjusted Rand index over all pairs of clusterings; 1 where there is no pair.
fn stability(found: &[Clustering]) -> f64 {
    let pairs = (0..found.len()).flat_map(|a| (a + 1..found.len()).map(move |b| (a, b)));
    let scores: Vec<f64> =
        pairs.filter_map(|(a, b)| ari(&found[a].labels, &found[b].labels).ok()).collect();
    if scores.is_empty() { 1.0 } else { mean(scores.into_iter()) }
}

/// Mean silhouette (b - a) / max(a, b) of the points, a the mean distance to the own cluster's others
/// and b that to the nearest other cluster; 0 for a cluster of one (Rousseeuw 1987,
/// DOI 10.1016/0377-0427(87)90125-7). Of many points a random part is taken.
pub fn silhouette(points: ArrayView2<'_, f64>, labels: &[usize], seed: Seed) -> f64 {
    let n = points.nrows();
    let chosen: Vec<usize> = if n > SILHOUETTE_SAMPLES {
        sample(&mut seed.stream("silhouette").rng(), n, SILHOUETTE_SAMPLES).into_vec()
    } else {
        (0..n).collect()
    };
    let n_clusters = labels.iter().max().map_or(0, |&most| most + 1);
    let mut sizes = vec![0_usize; n_clusters];
    chosen.iter().for_each(|&i| sizes[labels[i]] += 1);
    let of_sample = |&i: &usize| {
        let mut sums = vec![0.0; n_clusters];
        for &j in &chosen {
            let squared: f64 =
                points.row(i).iter().zip(points.row(j)).map(|(x, y)| (x - y) * (x - y)).sum();
            sums[labels[j]] += squared.sqrt();
        }
        let own = labels[i];
        if sizes[own] < 2 {
            return 0.0;
        }
        let a = sums[own] / (sizes[own] - 1) as f64;
        let others = (0..n_clusters).filter(|&c| c != own && sizes[c] > 0);
        let b = others.map(|c| sums[c] / sizes[c] as f64).fold(f64::INFINITY, f64::min);
        if b.is_finite() && a.max(b) > 0.0 { (b - a) / a.max(b) } else { 0.0 }
    };
    mean(chosen.iter().map(of_sample))
}

/// The `n_values` smallest eigenvalues of the normalized Laplacian I - D^(-1/2) N D^(-1/2) of the mean of
/// the views' neighbor graphs (eq. 6), ascending.
///
/// # Errors
/// If a view has too few samples for a graph.
pub fn graph_eigenvalues(
    data: &MultiView,
    n_neighbors: usize,
    n_values: usize,
    seed: Seed,
) -> Result<Vec<f64>, GraphError> {
    let n = data.n_samples();
    let mut graphs = Vec::with_capacity(data.n_views());
    for view in 0..data.n_views() {
        let rows = data.mask().observed_rows(view);
        let points = geometry_version(data, view, &rows);
        let rows: Vec<u32> = rows.into_iter().map(|i| i as u32).collect();
        graphs.push(KnnGraph::of_view(points.view(), &rows, n, n_neighbors, Search::Auto)?);
    }
    let degree =
        |i: usize| graphs.iter().map(|g| g.neighbors(i).len()).sum::<usize>().max(1) as f64;
    let scale = (0..n).map(|i| degree(i).sqrt().recip()).collect();
    let shifted = ShiftedAdjacency { graphs, scale };
    let n_values = n_values.min(n);
    if n <= WHOLE_SAMPLES {
        return Ok(shifted.smallest_of_all(n_values));
    }
    // The largest of I + S are the smallest of the Laplacian I - S.
    Ok(shifted.largest(n_values, seed).into_iter().map(|x| 2.0 - x).collect())
}

/// I + D^(-1/2) N D^(-1/2): no eigenvalue is negative, and the largest belong to the Laplacian's smallest.
#[derive(Debug)]
struct ShiftedAdjacency {
    graphs: Vec<KnnGraph>,
    scale: Vec<f64>,
}

impl ShiftedAdjacency {
    /// The `n_values` smallest eigenvalues of the Laplacian, from a matrix of `n * n` numbers.
    fn smallest_of_all(&self, n_values: usize) -> Vec<f64> {
        let n = self.scale.len();
        let mut laplacian = Mat::<f64>::identity(n, n);
        for graph in &self.graphs {
            for i in 0..n {
                for &j in graph.neighbors(i) {
                    let j = j as usize;
                    laplacian[(i, j)] -= self.scale[i] * self.scale[j];
                }
            }
        }
        // Without convergence there is no eigengap to judge by; the other criteria remain.
        let mut values = laplacian.self_adjoint_eigenvalues(Side::Lower).unwrap_or_default();
        values.truncate(n_values);
        values
    }

    /// The `n_values` largest eigenvalues, descending: Rayleigh-Ritz in the span of X, AX, A²X, ..., begun
    /// again from the best vectors found (Saad, "Numerical Methods for Large Eigenvalue Problems", chapter 6).
    fn largest(&self, n_values: usize, seed: Seed) -> Vec<f64> {
        let n = self.scale.len();
        let width = (n_values + SPARE).min(n);
        let blocks = BLOCKS.min(n / width).max(1);
        let mut rng = seed.stream("eigenvectors").rng();
        let mut vectors = Mat::from_fn(n, width, |_, _| rand::Rng::gen_range(&mut rng, -1.0..1.0));
        let mut values = vec![0.0_f64; n_values];
        for _ in 0..RESTARTS {
            let mut basis = Mat::<f64>::zeros(n, width * blocks);
            for block in 0..blocks {
                vectors = vectors.qr().compute_thin_Q();
                basis.subcols_mut(block * width, width).copy_from(&vectors);
                vectors = self.times(vectors.as_ref());
            }
            let basis = basis.qr().compute_thin_Q();
            let inside = basis.transpose() * self.times(basis.as_ref());
            // Without convergence there is no eigengap to judge by; the other criteria remain.
            let Ok(eigen) = inside.self_adjoint_eigen(Side::Lower) else { return Vec::new() };
            let last = inside.nrows() - 1;
            let found: Vec<f64> = (0..n_values).map(|i| eigen.S()[last - i]).collect();
            let moved = found.iter().zip(&values).map(|(new, old)| (new - old).abs());
            let moved = moved.fold(0.0, f64::max);
            values = found;
            if moved < ARRIVED {
                break;
            }
            vectors = &basis * eigen.U().subcols(last + 1 - width, width);
        }
        values
    }

    /// The product with `x`, `(n, n_columns)`.
    fn times(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        let mut product = x.to_owned();
        for column in 0..x.ncols() {
            for i in 0..self.scale.len() {
                let neighbors = self.graphs.iter().flat_map(|graph| graph.neighbors(i));
                let sum: f64 =
                    neighbors.map(|&j| self.scale[j as usize] * x[(j as usize, column)]).sum();
                product[(i, column)] += self.scale[i] * sum;
            }
        }
        product
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};

    /// Three far groups of ten points in two views.
    fn three_groups() -> (MultiView, Vec<usize>) {
        let labels: Vec<usize> = (0..30).map(|i| i / 10).collect();
        let view = |shift: f64| {
            Array2::from_shape_fn((30, 2), |(i, j)| {
                let angle = labels[i] as f64 * 2.1 + shift;
                let center = if j == 0 { angle.cos() } else { angle.sin() };
                center + 0.01 * ((i * 7 + j * 3) % 10) as f64
            })
        };
        (MultiView::from_nan_rows(vec![view(0.0), view(0.5)]).unwrap(), labels)
    }

    #[test]
    fn as_many_eigenvalues_are_zero_as_the_graph_has_parts() {
        let (data, _) = three_groups();
        let values = graph_eigenvalues(&data, 4, 6, Seed::new(0)).unwrap();
        assert!(values[..3].iter().all(|x| x.abs() < 1e-6), "{values:?}");
        assert!(values[3] > 0.05, "{values:?}");
    }

    /// Equal parts give equal eigenvalues. (faer's Lanczos iteration did not end on Handwritten at 30 %.)
    #[test]
    fn eigenvalues_of_many_samples_are_those_of_the_whole_matrix() {
        let view = Array2::from_shape_fn((1200, 2), |(i, j)| {
            (100 * (i / 60) * (1 + j)) as f64 + ((i * 37 + j * 11) % 60) as f64 / 60.0
        });
        let rows: Vec<u32> = (0..1200).collect();
        let graph = KnnGraph::of_view(view.view(), &rows, 1200, 5, Search::Auto).unwrap();
        let scale: Vec<f64> =
            (0..1200).map(|i| (graph.neighbors(i).len().max(1) as f64).sqrt().recip()).collect();
        let shifted = ShiftedAdjacency { graphs: vec![graph], scale };
        let whole = shifted.smallest_of_all(30);
        let largest = shifted.largest(30, Seed::new(0));
        for (smallest, largest) in whole.iter().zip(&largest) {
            assert!((smallest - (2.0 - largest)).abs() < 1e-4, "{whole:?} {largest:?}");
        }
    }

    #[test]
    fn the_silhouette_prefers_the_true_groups() {
        let points = array![[0.0], [0.1], [5.0], [5.1]];
        let right = silhouette(points.view(), &[0, 0, 1, 1], Seed::new(0));
        let wrong = silhouette(points.view(), &[0, 1, 0, 1], Seed::new(0));
        assert!(right > 0.9 && wrong < 0.0, "{right} {wrong}");
    }

    #[test]
    fn the_true_number_of_groups_is_chosen() {
        let (data, _) = three_groups();
        let method = crate::method("concat", serde_json::Value::Null).unwrap();
        let eigenvalues = graph_eigenvalues(&data, 4, 7, Seed::new(0)).unwrap();
        let candidates = (2..=5)
            .map(|k| {
                let mut found = repeat(method.as_ref(), &data, k, 3, Seed::new(1)).unwrap();
                found.iter_mut().for_each(|c| c.embedding = Some(data.view(0).to_owned()));
                Candidate::new(k, &found, &eigenvalues, Seed::new(0))
            })
            .collect();
        let number = decide(candidates, 3);
        assert_eq!(number.chosen, 3, "{number:?}");
        assert!(number.reason.starts_with("k = 3: mean rank 1.00"), "{}", number.reason);
        assert!(number.runner_up.is_some_and(|k| k != 3), "{number:?}");
    }
}
