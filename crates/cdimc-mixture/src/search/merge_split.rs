//! Merge and split: two clusters become one where that costs least, a third two where that gains most
//! (specification, section 3; Ueda et al., SMEM, Neural Comput. 12, 2000).

use crate::model::components::{Components, Pooled};
use crate::model::em::{Em, Fit, TOLERANCE};
use crate::model::moments::Moments;
use crate::model::passes::{Densities, moments_of};
use crate::observations::{BLOCK, BlockView, Observations};
use crate::responsibilities::Responsibilities;
use crate::search::{Found, ROUNDS, Search, starts};
use crate::watch::Watch;
use cdimc_core::{ClusterError, KMeans};
use cdimc_data::Seed;

/// Fewest samples of a cluster that is split.
const LEAST_SAMPLES: usize = 10;
/// The share of a sample that is spread evenly over all clusters before EM.
const SMOOTHING: f64 = 0.02;
/// EM on a split: iterations at most, and its tolerance.
const SPLIT_ITERATIONS: usize = 15;
const SPLIT_TOLERANCE: f64 = 10.0 * TOLERANCE;
/// The share of a cluster's samples that may change before it is split anew.
const CHANGE: f64 = 0.02;
/// Responsibilities below this are left out of the likelihood of a group.
const NEGLIGIBLE: f64 = 1e-12;
/// What keeps the share of a cluster without samples from 0.
const LEAST_SHARE: f64 = 1e-12;
/// Up to this many clusters all pairs are compared, beyond it each with this many near ones.
const ALL_PAIRS: usize = 16;
/// See [`ALL_PAIRS`].
const NEAR: usize = 8;

/// Merges two clusters and splits a third where that gains, of the combinations that promise most; until none does.
pub(crate) fn improve(
    search: &Search<'_>,
    found: &mut Found,
    seed: Seed,
    watch: &Watch<'_>,
) -> Result<(), ClusterError> {
    let mut splits = Vec::new();
    for round in 0..ROUNDS {
        let fit = &found.fit;
        let groups = Groups::new(search, fit);
        let losses = groups.merge_losses(fit);
        splits = self::splits(search, fit, &groups, splits, seed.nth(round as u64), watch)?;
        let mut moves = Vec::new();
        for split in &splits {
            for &(loss, a, b) in losses.iter().filter(|&&(_, a, b)| split.c != a && split.c != b) {
                moves.push((split.gain - loss, split, a, b));
            }
        }
        moves.sort_by(|x, y| y.0.total_cmp(&x.0));
        let moves = moves.into_iter().take(search.effort.tries).map(|(_, split, a, b)| {
            let moved = split.and_merge(&fit.responsibilities, a, b);
            moments_of(search.observations, &moved).mixed_with_uniform(SMOOTHING)
        });
        match search.first_better(found, moves, watch)? {
            Some(better) => *found = better,
            None => break,
        }
    }
    Ok(())
}

/// The rows of every cluster and their responsibilities, for the likelihoods of groups.
pub(crate) struct Groups<'a> {
    search: &'a Search<'a>,
    moments: Moments,
    /// The pooled scatters that groups share.
    pooled: &'a [Pooled],
    /// Of every view and cluster.
    members: Vec<Vec<Members>>,
}

/// The rows of a view that belong to a cluster.
#[derive(Default)]
struct Members {
    rows: BlockView,
    responsibilities: Vec<f64>,
}

impl<'a> Groups<'a> {
    pub(crate) fn new(search: &'a Search<'a>, fit: &'a Fit) -> Self {
        let moments = moments_of(search.observations, &fit.responsibilities);
        let members = members(search.observations, &fit.responsibilities);
        Self { search, moments, pooled: &fit.pooled, members }
    }

    /// What each of `groups`, unions of clusters, adds to the log-likelihood as one cluster.
    pub(crate) fn values(&self, groups: &[Vec<usize>]) -> Vec<f64> {
        let moments = self.moments.merged(groups);
        let n = self.search.observations.n_samples;
        let mut values: Vec<f64> =
            moments.sizes.iter().map(|size| size * (size / n as f64 + LEAST_SHARE).ln()).collect();
        let nu = self.search.prior.nu;
        let mut densities = Densities::default();
        for (v, of_view) in moments.views.iter().enumerate() {
            let components = Components::fit(
                of_view,
                &self.pooled[v],
                &self.search.observations.resolutions[v],
                self.search.prior,
            );
            for (g, group) in groups.iter().enumerate() {
                let component = components.one(g);
                for members in group.iter().map(|&c| &self.members[v][c]) {
                    densities.of(&members.rows, &component, nu);
                    let logs = members.responsibilities.iter().zip(&densities.logs);
                    values[g] += logs.map(|(r, log)| r * log).sum::<f64>();
                }
            }
        }
        values
    }

    /// What merging a and b costs, for all pairs or, of many clusters, the near ones: (cost, a, b).
    fn merge_losses(&self, fit: &Fit) -> Vec<(f64, usize, usize)> {
        let k = self.moments.n_clusters();
        let mut groups: Vec<Vec<usize>> = (0..k).map(|c| vec![c]).collect();
        let pairs = near_pairs(fit);
        groups.extend(pairs.iter().map(|&(a, b)| vec![a, b]));
        let values = self.values(&groups);
        let loss = |(pair, &(a, b)): (usize, &(usize, usize))| {
            (values[a] + values[b] - values[k + pair], a, b)
        };
        pairs.iter().enumerate().map(loss).collect()
    }
}

/// All pairs (a, b) with b < a or, of many clusters, those near one another: by the squared distances of
/// their means under either's scatter, summed over the views.
pub(crate) fn near_pairs(fit: &Fit) -> Vec<(usize, usize)> {
    let k = fit.mixture.n_clusters();
    if k <= ALL_PAIRS {
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
        pairs.extend(others.iter().take(NEAR).map(|&(_, b)| (a.max(b), a.min(b))));
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

fn members(observations: &Observations, responsibilities: &Responsibilities) -> Vec<Vec<Members>> {
    let k = responsibilities.n_clusters;
    let of_view = |v: usize| {
        let q = observations.widths[v];
        let mut members: Vec<Members> = (0..k).map(|_| Members::default()).collect();
        let blocks = observations.blocks.iter();
        for (block, values) in blocks.zip(responsibilities.values.chunks_exact(k * BLOCK)) {
            let view = &block.views[v];
            for (j, &i) in view.samples.iter().enumerate() {
                for (c, members) in members.iter_mut().enumerate() {
                    let r = values[c * BLOCK + i as usize];
                    if r > NEGLIGIBLE {
                        members.rows.push(0, view.row(j, q));
                        members.responsibilities.push(r);
                    }
                }
            }
        }
        members
    };
    (0..observations.n_views()).map(of_view).collect()
}

/// The halving of a cluster.
struct Split {
    /// The cluster.
    c: usize,
    gain: f64,
    samples: Vec<usize>,
    halves: Responsibilities,
}

/// The splits of all clusters; of those that hardly changed since `known`, the known ones.
fn splits(
    search: &Search<'_>,
    fit: &Fit,
    groups: &Groups<'_>,
    mut known: Vec<Split>,
    seed: Seed,
    watch: &Watch<'_>,
) -> Result<Vec<Split>, ClusterError> {
    let labels = fit.responsibilities.labels();
    let mut found = Vec::new();
    for c in 0..search.n_clusters {
        let samples: Vec<usize> = (0..labels.len()).filter(|&i| labels[i] == c).collect();
        if samples.len() < LEAST_SAMPLES {
            continue;
        }
        if let Some(index) = known.iter().position(|split| split.c == c && split.holds(&samples)) {
            found.push(known.swap_remove(index));
            continue;
        }
        let observations = search.observations.select(&samples);
        let halves = halve(search, &observations, groups.pooled, seed.nth(c as u64), watch)?;
        let gain = gain(search, &observations, &halves, groups.pooled);
        found.push(Split { c, gain, samples, halves });
    }
    Ok(found)
}

/// Two clusters on the samples of one: k-means and EM.
fn halve(
    search: &Search<'_>,
    observations: &Observations,
    pooled: &[Pooled],
    seed: Seed,
    watch: &Watch<'_>,
) -> Result<Responsibilities, ClusterError> {
    let points = observations.side_by_side(&vec![1.0; observations.n_views()]);
    let k_means = KMeans { restarts: 1, ..KMeans::new(2) };
    let labels = k_means.fit(points.view(), seed)?.labels;
    let halves = Responsibilities::from_labels(&labels, 2);
    let moments = moments_of(observations, &halves).mixed_with_uniform(starts::SMOOTHING);
    let em = Em {
        observations,
        iterations: SPLIT_ITERATIONS,
        tolerance: SPLIT_TOLERANCE,
        held: Some(pooled),
        ..search.em(watch)
    };
    Ok(em.run(moments)?.responsibilities)
}

/// What the halves add to the log-likelihood beyond what their union does.
fn gain(
    search: &Search<'_>,
    observations: &Observations,
    halves: &Responsibilities,
    pooled: &[Pooled],
) -> f64 {
    let groups = Groups {
        search,
        moments: moments_of(observations, halves),
        pooled,
        members: members(observations, halves),
    };
    let values = groups.values(&[vec![0], vec![1], vec![0, 1]]);
    values[0] + values[1] - values[2]
}

impl Split {
    /// Whether the cluster's samples are still nearly those that were split.
    fn holds(&self, samples: &[usize]) -> bool {
        let kept = samples.iter().filter(|&i| self.samples.binary_search(i).is_ok()).count();
        let changed = samples.len() + self.samples.len() - 2 * kept;
        changed as f64 <= CHANGE * samples.len() as f64
    }

    /// The responsibilities with a and b as one cluster a, and half of the split one as b.
    fn and_merge(&self, from: &Responsibilities, a: usize, b: usize) -> Responsibilities {
        let mut moved = from.clone();
        for values in moved.values.chunks_exact_mut(from.block_size()) {
            for i in 0..BLOCK {
                values[a * BLOCK + i] += values[b * BLOCK + i];
                values[b * BLOCK + i] = 0.0;
            }
        }
        for (half, &i) in self.samples.iter().enumerate() {
            let r = from.at(i, self.c);
            *moved.at_mut(i, b) = r * self.halves.at(half, 1);
            *moved.at_mut(i, self.c) = r * self.halves.at(half, 0);
        }
        moved
    }
}
