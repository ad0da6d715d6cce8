//! First centers of fine-tuning.
//!
//! The k-means of least inertia often merges two classes and splits a third. From it and from the other solutions with
//! the most shared information (√(TM)), two centers merge and a third splits while it grows (merge and split:
//! Ueda et al., SMEM, Neural Comput. 12, 2000).

use cdimc_core::linear_algebra::Krylov;
use cdimc_core::{ClusterError, KMeans, KMeansFit, SharedInformation};
use cdimc_data::Seed;
use cdimc_graph::{KnnGraph, Search};
use faer::{Mat, MatRef};
use ndarray::{Array2, ArrayView2, Axis};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Criterion for the first centers and the round of fine-tuning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// The information that views and neighbors share about the clusters, √(TM): centers merge and split while it
    /// grows, and the round of fine-tuning with the largest is the result.
    #[default]
    SharedInformation,
    /// The k-means of least inertia, and the last round (authors' code).
    Inertia,
}

/// Number of extra single-start k-means runs.
const N_SINGLE_STARTS: usize = 20;
/// Number of best candidates that are refined by moving centers.
const N_REFINED: usize = 4;
/// Number of nearest pairs of centers that may merge.
const N_NEAREST_PAIRS: usize = 8;
/// Number of clusters with the largest inertia that may split.
const N_WIDEST_CLUSTERS: usize = 5;
/// Number of starts of the k-means that halves a cluster.
const N_SPLIT_STARTS: usize = 3;
/// Number of neighbors of a latent, as in the graphs of the views.
const N_NEIGHBORS: usize = 10;
/// k-means needs the subspace with few digits.
const KRYLOV: Krylov = Krylov { blocks: 8, spare: 6, restarts: 8, tolerance: 1e-4 };
/// Smallest gain of a move, and smallest difference of two candidates, in nats.
pub(crate) const MIN_GAIN_NATS: f64 = 1e-4;

/// Returns the first centers on the latents `z`, `(n_samples, latent)`, and the clusters of the samples: the candidate
/// with the least inertia among those whose shared information is within chance of the largest.
///
/// Candidates are k-means of the latents (the least inertia of many starts, and single starts), k-means of their
/// directions from the mean, spectral clusters of their neighbor graph, and the best of these after moves of centers.
pub(crate) fn first_centers(
    z: ArrayView2<'_, f32>,
    kmeans: &KMeans,
    shared: &impl SharedInformation,
    seed: Seed,
) -> Result<KMeansFit, ClusterError> {
    let single = KMeans { restarts: 1, ..kmeans.clone() };
    let valued = |found: KMeansFit| (shared.of(&found.labels), found);
    let mut found = vec![valued(kmeans.fit(z, seed)?)];
    let mut others = Vec::new();
    for i in 0..N_SINGLE_STARTS {
        others.push(single.fit(z, seed.stream("starts").nth(i as u64))?);
    }
    let of_directions = kmeans.fit(directions(z).view(), seed.stream("directions"))?.labels;
    let of_graph = spectral_labels(z, kmeans, seed.stream("spectral"))?.labels;
    for labels in [of_directions, of_graph] {
        others.extend(around_means(z, kmeans, &labels)?);
    }
    for other in others.into_iter().map(valued) {
        if found.iter().all(|(value, _)| (value - other.0).abs() > MIN_GAIN_NATS) {
            found.push(other);
        }
    }
    found[1..].sort_by(|a, b| b.0.total_cmp(&a.0));
    for i in 0..found.len().min(1 + N_REFINED) {
        found.push(merge_and_split(z, kmeans, found[i].clone(), shared, seed.stream("moves"))?);
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let most = found[0].1.labels.clone();
    found.retain(|(_, other)| !shared.is_more(&most, &other.labels));
    let least = found.into_iter().reduce(|a, b| if b.1.inertia < a.1.inertia { b } else { a });
    let Some((_, fit)) = least else { unreachable!("no solution shares more than itself") };
    Ok(fit)
}

/// Returns the directions of the rows of `z` from their mean, as rows of unit length.
fn directions(z: ArrayView2<'_, f32>) -> Array2<f64> {
    let mut rows = z.mapv(f64::from);
    if let Some(mean) = rows.mean_axis(Axis(0)) {
        rows -= &mean;
    }
    unit_rows(&mut rows);
    rows
}

/// Spectral clustering (Ng, Jordan and Weiss, NIPS 2001; DOI 10.5555/2980539.2980649), for connected clusters that are
/// not round: runs k-means on the rows of the leading eigenvectors of D^(-1/2) N D^(-1/2), where N is the nearest-neighbor graph
/// of `z`, `(n_samples, latent)`.
fn spectral_labels(
    z: ArrayView2<'_, f32>,
    kmeans: &KMeans,
    seed: Seed,
) -> Result<KMeansFit, ClusterError> {
    let n = z.nrows();
    let places: Vec<usize> = (0..n).collect();
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
fn unit_rows(rows: &mut Array2<f64>) {
    for mut row in rows.rows_mut() {
        let length = row.dot(&row).sqrt();
        if length > 0.0 {
            row /= length;
        }
    }
}

/// Returns the means of `z` under `labels` after one more iteration of k-means, or `None` if a cluster has no sample.
fn around_means(
    z: ArrayView2<'_, f32>,
    kmeans: &KMeans,
    labels: &[usize],
) -> Result<Option<KMeansFit>, ClusterError> {
    let mut centers = Array2::<f64>::zeros((kmeans.n_clusters, z.ncols()));
    let mut counts = vec![0_usize; kmeans.n_clusters];
    for (row, &label) in z.rows().into_iter().zip(labels) {
        centers.row_mut(label).zip_mut_with(&row, |sum, &x| *sum += f64::from(x));
        counts[label] += 1;
    }
    if counts.contains(&0) {
        return Ok(None);
    }
    centers.rows_mut().into_iter().zip(&counts).for_each(|(mut row, &n)| row /= n as f64);
    let once = KMeans { max_iterations: 1, ..kmeans.clone() };
    Ok(once.fit_from(z, vec![centers])?.pop())
}

/// Improves `found`, a solution of `kmeans` on the latents `z`, `(n_samples, latent)`: repeats the best merge of two
/// centers and split of a third while the shared information, initially `most`, grows. Returns the solution and its
/// shared information.
fn merge_and_split(
    z: ArrayView2<'_, f32>,
    kmeans: &KMeans,
    (mut most, mut found): (f64, KMeansFit),
    shared: &impl SharedInformation,
    seed: Seed,
) -> Result<(f64, KMeansFit), ClusterError> {
    for round in 0.. {
        let moved = kmeans.fit_from(z, moves(z, &found, seed.nth(round))?)?;
        let valued = moved.into_iter().map(|fit| (shared.of(&fit.labels), fit));
        match valued.reduce(|best, other| if other.0 > best.0 { other } else { best }) {
            Some((value, fit)) if value > most + MIN_GAIN_NATS => (most, found) = (value, fit),
            _ => break,
        }
        tracing::debug!(stage = "kmeans", round, shared_information = most);
    }
    Ok((most, found))
}

/// Returns the centers after each move: every near pair merges while a wide cluster outside it splits.
fn moves(
    z: ArrayView2<'_, f32>,
    found: &KMeansFit,
    seed: Seed,
) -> Result<Vec<Array2<f64>>, ClusterError> {
    let centers = &found.centers;
    let n_clusters = centers.nrows();
    let distance = |a: usize, b: usize| (&centers.row(a) - &centers.row(b)).mapv(|d| d * d).sum();
    let mut members = vec![Vec::new(); n_clusters];
    found.labels.iter().enumerate().for_each(|(i, &label)| members[label].push(i));
    let inertia = |c: usize| -> f64 {
        let of_member =
            |&i: &usize| (&z.row(i).mapv(f64::from) - &centers.row(c)).mapv(|d| d * d).sum();
        members[c].iter().map(of_member).sum()
    };
    let pairs = (0..n_clusters).flat_map(|a| (0..a).map(move |b| (a, b)));
    let mut pairs: Vec<_> = pairs.map(|(a, b)| (distance(a, b), a, b)).collect();
    pairs.sort_by(|x, y| x.0.total_cmp(&y.0));
    let mut wide: Vec<_> =
        (0..n_clusters).filter(|&c| members[c].len() > 1).map(|c| (inertia(c), c)).collect();
    wide.sort_by(|x, y| y.0.total_cmp(&x.0));
    let halving = KMeans { restarts: N_SPLIT_STARTS, ..KMeans::new(2) };
    let mut moves = Vec::new();
    for &(_, c) in wide.iter().take(N_WIDEST_CLUSTERS) {
        let of_cluster = z.select(Axis(0), &members[c]);
        let halves = halving.fit(of_cluster.view(), seed.nth(c as u64))?.centers;
        for &(_, a, b) in pairs.iter().take(N_NEAREST_PAIRS).filter(|&&(_, a, b)| a != c && b != c)
        {
            let (n_a, n_b) = (members[a].len() as f64, members[b].len() as f64);
            let mut moved = centers.clone();
            if n_a + n_b > 0.0 {
                let both = (&centers.row(a) * n_a + &centers.row(b) * n_b) / (n_a + n_b);
                moved.row_mut(a).assign(&both);
            }
            moved.row_mut(b).assign(&halves.row(0));
            moved.row_mut(c).assign(&halves.row(1));
            moves.push(moved);
        }
    }
    Ok(moves)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// A value of labels; differences above `chance` count.
    struct Valued<F> {
        value: F,
        chance: f64,
    }

    impl<F: Fn(&[usize]) -> f64 + Send + Sync> SharedInformation for Valued<F> {
        fn terms(&self, labels: &[usize]) -> Vec<f64> {
            vec![(self.value)(labels)]
        }

        fn is_more(&self, labels: &[usize], others: &[usize]) -> bool {
            self.of(labels) - self.of(others) > self.chance
        }
    }

    fn valued<F: Fn(&[usize]) -> f64 + Send + Sync>(value: F) -> Valued<F> {
        Valued { value, chance: 0.0 }
    }

    /// Returns six blobs on a line, and their numbers.
    fn blobs() -> (Array2<f32>, Vec<usize>) {
        let truth: Vec<usize> = (0..240).map(|i| i % 6).collect();
        let z = Array2::from_shape_fn((240, 2), |(i, j)| {
            10.0 * truth[i] as f32 * (1 - j) as f32 + ((i * 7 + j * 3) % 11) as f32 / 11.0
        });
        (z, truth)
    }

    /// Returns the share of pairs of samples on which labels and truth agree.
    fn pairs_alike(labels: &[usize], truth: &[usize]) -> f64 {
        let n = labels.len();
        let alike = |i: usize, j: usize| (labels[i] == labels[j]) == (truth[i] == truth[j]);
        let count: usize = (0..n).map(|i| (0..i).filter(|&j| alike(i, j)).count()).sum();
        count as f64 / (n * (n - 1) / 2) as f64
    }

    #[test]
    fn a_planted_bad_solution_is_repaired_and_every_move_gains() {
        let (z, truth) = blobs();
        let kmeans = KMeans::new(6);
        // One center for two pairs of blobs each, and two blobs of two.
        let at = [5.0, 25.0, 39.7, 40.3, 49.7, 50.3];
        let planted = Array2::from_shape_fn((6, 2), |(c, j)| at[c] * (1 - j) as f64 + 0.5);
        let bad = kmeans.fit_from(z.view(), vec![planted]).unwrap().remove(0);
        let before = pairs_alike(&bad.labels, &truth);
        assert!(before < 0.97, "{before}");
        let valued_at = Mutex::new(Vec::new());
        let value = valued(|labels| {
            let value = pairs_alike(labels, &truth);
            valued_at.lock().unwrap().push(value);
            value
        });
        let mend = || {
            let bad = (before, bad.clone());
            merge_and_split(z.view(), &kmeans, bad, &value, Seed::new(1)).unwrap()
        };
        let (most, found) = mend();
        assert_eq!((pairs_alike(&found.labels, &truth), most), (1.0, 1.0));
        // Two moves were needed; no move without gain was kept.
        let values = std::mem::take(&mut *valued_at.lock().unwrap());
        assert_eq!(values.iter().copied().fold(0.0, f64::max), most);
        assert!(values.iter().any(|&v| v > before && v < most));
        assert_eq!(mend(), (most, found));
    }

    #[test]
    fn no_center_moves_without_gain() {
        let (z, _) = blobs();
        let kmeans = KMeans::new(6);
        let found = kmeans.fit(z.view(), Seed::new(2)).unwrap();
        let same = first_centers(z.view(), &kmeans, &valued(|_| 3.0), Seed::new(2)).unwrap();
        assert_eq!(same, found);
    }

    #[test]
    fn the_least_inertia_is_not_the_only_start() {
        // Evenly spread, so that every start of k-means ends in another solution.
        let z = Array2::from_shape_fn((240, 2), |(i, j)| {
            (i as f32 * [0.618_034, 0.754_878][j]).fract()
        });
        let (kmeans, seed) = (KMeans::new(6), Seed::new(2));
        let single = KMeans { restarts: 1, ..kmeans.clone() };
        let start = |i| single.fit(z.view(), seed.stream("starts").nth(i)).unwrap();
        let starts = (0..N_SINGLE_STARTS as u64).map(start);
        let wanted = starts.max_by(|a, b| a.inertia.total_cmp(&b.inertia)).unwrap();
        let value = valued(|labels| pairs_alike(labels, &wanted.labels).floor());
        let least = kmeans.fit(z.view(), seed).unwrap();
        let moved = |from| merge_and_split(z.view(), &kmeans, from, &value, seed.stream("moves"));
        assert_eq!(moved((0.0, least.clone())).unwrap().0, 0.0);
        assert_eq!(first_centers(z.view(), &kmeans, &value, seed).unwrap(), wanted);
        // A difference within chance decides nothing.
        let by_chance = Valued { value: &value.value, chance: 1.0 };
        let found = first_centers(z.view(), &kmeans, &by_chance, seed).unwrap();
        assert!(found.inertia <= least.inertia && least.inertia < wanted.inertia);
    }

    #[test]
    fn fewer_distinct_latents_than_clusters_are_accepted() {
        let z = Array2::from_shape_fn((9, 2), |(i, _)| (i % 2) as f32);
        let kmeans = KMeans::new(4);
        let spread = valued(|labels| labels.iter().sum::<usize>() as f64);
        assert!(first_centers(z.view(), &kmeans, &spread, Seed::new(2)).is_ok());
    }

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
