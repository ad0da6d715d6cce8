//! Merge and split: merges the two clusters with the smallest loss and splits a third with the largest gain
//! (specification, section 3; Ueda et al., SMEM, Neural Comput. 12, 2000).

use crate::model::components::{Components, Pooled};
use crate::model::em::{Em, Fit, TOLERANCE};
use crate::model::moments::Moments;
use crate::model::passes::{Densities, moments_of};
use crate::observations::{BLOCK, BlockView, Observations};
use crate::responsibilities::Responsibilities;
use crate::search::{MAX_CHANGED_SHARE, MAX_ROUNDS, Optimum, Search, starts};
use crate::watch::Watch;
use cdimc_core::{ClusterError, KMeans};
use cdimc_data::Seed;

/// Moves per round that get full EM.
const TRIES: usize = 4;
/// Minimum number of samples of a cluster that is split.
const MIN_SAMPLES: usize = 10;
/// Maximum number of EM iterations on a split, and their tolerance.
const SPLIT_ITERATIONS: usize = 15;
const SPLIT_TOLERANCE: f64 = 10.0 * TOLERANCE;
/// Responsibilities below this are left out of the likelihood of a group.
const MIN_RESPONSIBILITY: f64 = 1e-12;
/// Keeps the weight of an empty cluster positive.
const MIN_WEIGHT: f64 = 1e-12;
/// Largest number of clusters for which all pairs are compared.
const ALL_PAIRS_LIMIT: usize = 16;
/// Nearest clusters compared with each cluster beyond [`ALL_PAIRS_LIMIT`].
const N_NEIGHBORS: usize = 8;

/// Repeats the most promising merge-and-split until no move improves `found`.
pub(crate) fn improve(
    search: &Search<'_>,
    found: &mut Optimum,
    seed: Seed,
    watch: &Watch<'_>,
) -> Result<(), ClusterError> {
    let mut splits = Vec::new();
    for round in 0..MAX_ROUNDS {
        let fit = &found.fit;
        let losses = merge_losses(search, fit);
        splits = self::splits(search, fit, splits, seed.nth(round as u64), watch)?;
        let mut moves = Vec::new();
        for split in &splits {
            for &(loss, a, b) in losses.iter().filter(|&&(_, a, b)| split.c != a && split.c != b) {
                moves.push((split.gain - loss, split, a, b));
            }
        }
        moves.sort_by(|x, y| y.0.total_cmp(&x.0));
        let moves =
            moves.into_iter().take(TRIES).map(|(_, split, a, b)| split.merged(&fit.moments, a, b));
        match search.first_better(found, moves, watch)? {
            Some(better) => *found = better,
            None => break,
        }
    }
    Ok(())
}

/// Returns the log-likelihood of each of `groups`, unions of clusters of `observations`, as one cluster with the scatters
/// `pooled`.
pub(crate) fn values_of_groups(
    search: &Search<'_>,
    (observations, responsibilities): (&Observations, &Responsibilities),
    pooled: &[Pooled],
    groups: &[Vec<usize>],
) -> Vec<f64> {
    let moments = moments_of(observations, responsibilities).merged(groups);
    let n = search.observations.n_samples as f64;
    let weighted = |size: &f64| size * (size / n + MIN_WEIGHT).ln();
    let mut values: Vec<f64> = moments.sizes.iter().map(weighted).collect();
    let mut densities = Densities::default();
    for (v, of_view) in moments.views.iter().enumerate() {
        let resolutions = &search.observations.resolutions[v];
        let components = Components::fit(of_view, &pooled[v], resolutions, search.prior);
        let members = members(observations, responsibilities, v);
        for (g, group) in groups.iter().enumerate() {
            let component = components.select(&[g]);
            for (rows, responsibilities) in group.iter().map(|&c| &members[c]) {
                densities.of(rows, &component, search.prior.nu);
                let logs = responsibilities.iter().zip(&densities.logs);
                values[g] += logs.map(|(r, log)| r * log).sum::<f64>();
            }
        }
    }
    values
}

/// Returns the rows of view `v` that belong to each cluster, and their responsibilities.
fn members(
    observations: &Observations,
    responsibilities: &Responsibilities,
    v: usize,
) -> Vec<(BlockView, Vec<f64>)> {
    let k = responsibilities.n_clusters;
    let mut members = vec![(BlockView::default(), Vec::new()); k];
    let blocks = observations.blocks.iter();
    for (block, values) in blocks.zip(responsibilities.values.chunks_exact(k * BLOCK)) {
        let view = &block.views[v];
        for (j, &i) in view.samples.iter().enumerate() {
            for (c, (rows, of_rows)) in members.iter_mut().enumerate() {
                let r = values[c * BLOCK + i as usize];
                if r > MIN_RESPONSIBILITY {
                    rows.push(0, view.row(j, observations.widths[v]));
                    of_rows.push(r);
                }
            }
        }
    }
    members
}

/// Returns (loss, a, b) for merging each pair of [`near_pairs`].
fn merge_losses(search: &Search<'_>, fit: &Fit) -> Vec<(f64, usize, usize)> {
    let pairs = near_pairs(fit);
    let single = (0..search.n_clusters).map(|c| vec![c]);
    let sets: Vec<_> = single.chain(pairs.iter().map(|&(a, b)| vec![a, b])).collect();
    let rows = (search.observations, &fit.responsibilities);
    let values = values_of_groups(search, rows, &fit.pooled, &sets);
    let losses = pairs.iter().zip(&values[search.n_clusters..]);
    losses.map(|(&(a, b), merged)| (values[a] + values[b] - merged, a, b)).collect()
}

/// Returns all pairs (a, b) with b < a; beyond [`ALL_PAIRS_LIMIT`], pairs of nearest clusters. The distance is the
/// squared Mahalanobis distance of the means, summed over the views, the smaller of both directions.
pub(crate) fn near_pairs(fit: &Fit) -> Vec<(usize, usize)> {
    let k = fit.mixture.n_clusters();
    if k <= ALL_PAIRS_LIMIT {
        return (0..k).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
    }
    let distance = |a: usize, b: usize| -> f64 {
        fit.mixture.views.iter().map(|view| view.squared_distance(a, b)).sum()
    };
    let mut pairs = Vec::new();
    for a in 0..k {
        let mut others: Vec<(f64, usize)> =
            (0..k).filter(|&b| b != a).map(|b| (distance(a, b).min(distance(b, a)), b)).collect();
        others.sort_by(|x, y| x.0.total_cmp(&y.0));
        pairs.extend(others.iter().take(N_NEIGHBORS).map(|&(_, b)| (a.max(b), a.min(b))));
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Split of one cluster into two halves.
struct Split {
    c: usize,
    gain: f64,
    samples: Vec<usize>,
    /// Sums of the halves.
    halves: Moments,
}

/// Returns the splits of all clusters; reuses `known` splits of clusters that hardly changed.
fn splits(
    search: &Search<'_>,
    fit: &Fit,
    mut known: Vec<Split>,
    seed: Seed,
    watch: &Watch<'_>,
) -> Result<Vec<Split>, ClusterError> {
    let labels = fit.responsibilities.labels();
    let mut found = Vec::new();
    for c in 0..search.n_clusters {
        let samples: Vec<usize> = (0..labels.len()).filter(|&i| labels[i] == c).collect();
        if samples.len() < MIN_SAMPLES {
            continue;
        }
        if let Some(index) =
            known.iter().position(|split| split.c == c && split.is_current(&samples))
        {
            found.push(known.swap_remove(index));
            continue;
        }
        let observations = search.observations.select(&samples);
        let halves = halve(search, &observations, &fit.pooled, seed.nth(c as u64), watch)?;
        let rows = (&observations, &halves.responsibilities);
        let sets = [vec![0], vec![1], vec![0, 1]];
        let values = values_of_groups(search, rows, &fit.pooled, &sets);
        let gain = values[0] + values[1] - values[2];
        found.push(Split { c, gain, samples, halves: halves.moments });
    }
    Ok(found)
}

/// Splits the samples of one cluster in two by k-means and EM.
fn halve(
    search: &Search<'_>,
    observations: &Observations,
    pooled: &[Pooled],
    seed: Seed,
    watch: &Watch<'_>,
) -> Result<Fit, ClusterError> {
    let points = observations.side_by_side(&vec![1.0; observations.n_views()]);
    let k_means = KMeans { restarts: 1, ..KMeans::new(2) };
    let labels = k_means.fit(points.view(), seed)?.labels;
    let halves = Responsibilities::from_labels(&labels, 2);
    let moments = moments_of(observations, &halves).mixed_with_uniform(starts::SMOOTHING);
    let em = Em {
        observations,
        iterations: SPLIT_ITERATIONS,
        tolerance: SPLIT_TOLERANCE,
        fixed_pooled: Some(pooled),
        ..search.em(watch)
    };
    em.run(moments)
}

impl Split {
    /// Returns whether the cluster still has nearly the samples that were split.
    fn is_current(&self, samples: &[usize]) -> bool {
        let kept = samples.iter().filter(|&i| self.samples.binary_search(i).is_ok()).count();
        let changed = samples.len() + self.samples.len() - 2 * kept;
        changed as f64 <= MAX_CHANGED_SHARE * samples.len() as f64
    }

    /// Returns the sums `from` of all clusters with a and b merged as a, and one half of the split cluster as b.
    fn merged(&self, from: &Moments, a: usize, b: usize) -> Moments {
        let k = from.n_clusters();
        let mut halves = self.halves.clone();
        halves.scale(from.sizes[self.c] / halves.sizes.iter().sum::<f64>());
        let mut moved = from.clone();
        moved.append(&halves);
        let mut groups: Vec<Vec<usize>> = (0..k).map(|c| vec![c]).collect();
        (groups[a], groups[b], groups[self.c]) = (vec![a, b], vec![k + 1], vec![k]);
        moved.merged(&groups)
    }
}
