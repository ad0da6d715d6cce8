//! Repair: where few samples link two groups of views, two clusters may be interchanged between the groups.
//! Exchanges them within a subset of the views (specification, section 3).

// The kernels and their callees must be inlined into one function compiled for the running processor.
#![allow(clippy::inline_always)]

use crate::model::Mixture;
use crate::model::kernel::{MAX_EXPONENT, exp, ln};
use crate::model::passes::{Densities, add_logs, expectation, in_parts};
use crate::observations::{BLOCK, Block, Observations};
use crate::search::merge_split::near_pairs;
use crate::search::{MAX_ROUNDS, Optimum, Search};
use crate::watch::Watch;
use cdimc_core::ClusterError;
use pulp::{Arch, Simd, WithSimd};

/// Moves per round that get full EM.
const TRIES: usize = 6;
/// Largest number of views for which all subsets are exchanged; beyond it, only single views and pairs.
const ALL_SUBSETS_LIMIT: usize = 6;

/// Repeats the most promising exchange of two clusters within a subset of the views until no move improves `found`;
/// returns whether one did.
pub(crate) fn improve(
    search: &Search<'_>,
    found: &mut Optimum,
    watch: &Watch<'_>,
) -> Result<bool, ClusterError> {
    let observations = search.observations;
    let subsets = subsets(observations.n_views());
    if subsets.is_empty() {
        return Ok(false);
    }
    for round in 0..MAX_ROUNDS {
        let fit = &found.fit;
        watch.check(fit.log_likelihood)?;
        let pairs = near_pairs(fit);
        let values = values_of_exchanges(observations, &fit.mixture, &subsets, &pairs);
        let mut moves: Vec<usize> = (0..values.len()).collect();
        moves.sort_by(|&x, &y| values[y].total_cmp(&values[x]));
        let moves = moves.into_iter().take(TRIES).map(|index| {
            let exchanged =
                fit.mixture.exchanged(&subsets[index / pairs.len()], pairs[index % pairs.len()]);
            expectation(observations, &exchanged).2
        });
        match search.first_better(found, moves, watch)? {
            Some(better) => *found = better,
            None => return Ok(round > 0),
        }
    }
    Ok(true)
}

/// Returns subsets of up to half of the views, one of each complementary pair.
fn subsets(n_views: usize) -> Vec<Vec<usize>> {
    if n_views > ALL_SUBSETS_LIMIT {
        let pairs = (0..n_views).flat_map(|v| (0..v).map(move |w| vec![w, v]));
        return (0..n_views).map(|v| vec![v]).chain(pairs).collect();
    }
    let members = |set: u32| (0..n_views).filter(|v| set >> v & 1 == 1).collect::<Vec<_>>();
    let all = (1_u32..1 << n_views).map(members);
    all.filter(|s| 2 * s.len() < n_views || (2 * s.len() == n_views && s[0] == 0)).collect()
}

/// Returns the log densities of all samples in view `v`, `(n_blocks, n_clusters, BLOCK)`; 0 where it is missing.
fn logs_of_view(observations: &Observations, mixture: &Mixture, v: usize) -> Vec<f64> {
    let size = mixture.n_clusters() * BLOCK;
    let mut logs = vec![0.0; observations.blocks.len() * size];
    in_parts(observations, &mut logs, size, |blocks: &[Block], logs| {
        let mut densities = Densities::default();
        for (block, logs) in blocks.iter().zip(logs.chunks_exact_mut(size)) {
            densities.of(&block.views[v], &mixture.views[v], mixture.nu);
            add_logs(logs, &block.views[v], &densities.logs);
        }
    });
    logs
}

/// Returns the log-likelihoods after each exchange, by subset and pair.
fn values_of_exchanges(
    observations: &Observations,
    mixture: &Mixture,
    subsets: &[Vec<usize>],
    pairs: &[(usize, usize)],
) -> Vec<f64> {
    let size = mixture.n_clusters() * BLOCK;
    let logs_of_view = |v| logs_of_view(observations, mixture, v);
    let views: Vec<Vec<f64>> = (0..observations.n_views()).map(logs_of_view).collect();
    let mut joint = vec![0.0; observations.blocks.len() * size];
    joint.chunks_exact_mut(size).for_each(|joint| mixture.start(joint));
    for view in &views {
        joint.iter_mut().zip(view).for_each(|(sum, x)| *sum += x);
    }
    let of_part = |blocks: &[Block], joint: &mut [f64]| {
        let mut values = vec![0.0; subsets.len() * pairs.len()];
        let mut sums = vec![0.0; size];
        for (block, joint) in blocks.iter().zip(joint.chunks_exact_mut(size)) {
            let at = block.first / BLOCK * size;
            let maxima = subtract_maxima(joint);
            let total: f64 = maxima[..block.len].iter().sum();
            let rests = rests(joint, pairs);
            for (s, subset) in subsets.iter().enumerate() {
                sums.fill(0.0);
                for &v in subset {
                    sums.iter_mut().zip(&views[v][at..at + size]).for_each(|(sum, x)| *sum += x);
                }
                for (p, &(a, b)) in pairs.iter().enumerate() {
                    let of = |c: usize| c * BLOCK..c * BLOCK + block.len;
                    let exchange = Exchange {
                        joint: [&joint[of(a)], &joint[of(b)]],
                        subset: [&sums[of(a)], &sums[of(b)]],
                        rest: &rests[of(p)],
                    };
                    values[s * pairs.len() + p] += total + Arch::new().dispatch(exchange);
                }
            }
        }
        values
    };
    let parts = in_parts(observations, &mut joint, size, of_part);
    let mut values = vec![0.0; subsets.len() * pairs.len()];
    for part in parts {
        values.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
    }
    values
}

/// Subtracts the maximum of each sample from `joint`, `(n_clusters, BLOCK)`; returns the maxima.
fn subtract_maxima(joint: &mut [f64]) -> Vec<f64> {
    let mut maxima = vec![f64::NEG_INFINITY; BLOCK];
    for logs in joint.chunks_exact(BLOCK) {
        maxima.iter_mut().zip(logs).for_each(|(maximum, x)| *maximum = maximum.max(*x));
    }
    for logs in joint.chunks_exact_mut(BLOCK) {
        logs.iter_mut().zip(&maxima).for_each(|(x, maximum)| *x -= maximum);
    }
    maxima
}

/// Returns for each pair the sum of the exponentials of all other clusters, `(n_pairs, BLOCK)`.
fn rests(joint: &[f64], pairs: &[(usize, usize)]) -> Vec<f64> {
    let mut exponentials = joint.to_vec();
    Arch::new().dispatch(Exponentials(&mut exponentials));
    let mut rests = vec![0.0; pairs.len() * BLOCK];
    for (rest, &(a, b)) in rests.chunks_exact_mut(BLOCK).zip(pairs) {
        for (c, of_cluster) in exponentials.chunks_exact(BLOCK).enumerate() {
            if c != a && c != b {
                rest.iter_mut().zip(of_cluster).for_each(|(sum, x)| *sum += x);
            }
        }
    }
    rests
}

/// Replaces numbers by their exponentials.
struct Exponentials<'a>(&'a mut [f64]);

impl WithSimd for Exponentials<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for x in self.0 {
            *x = exp(*x);
        }
    }
}

/// Log densities of two clusters of a block, relative to the maximum of each sample. Returns the sum of the
/// relative log-likelihoods after their exchange.
struct Exchange<'a> {
    joint: [&'a [f64]; 2],
    /// Log densities in the exchanged views.
    subset: [&'a [f64]; 2],
    /// Sum of the exponentials of all other clusters.
    rest: &'a [f64],
}

impl WithSimd for Exchange<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let Self { joint: [a, b], subset: [of_a, of_b], rest } = self;
        let mut logs = [0.0; BLOCK];
        let ends = a.iter().zip(b).zip(of_a.iter().zip(of_b)).zip(rest);
        for (log, (((a, b), (of_a, of_b)), rest)) in logs.iter_mut().zip(ends) {
            let difference = of_b - of_a;
            let (a, b) = (a + difference, b - difference);
            // A larger ratio to the former best than e⁷⁰⁰ would overflow.
            let bounded = |x| if x < MAX_EXPONENT { x } else { MAX_EXPONENT };
            let (a, b) = (bounded(a), bounded(b));
            *log = ln(rest + exp(a) + exp(b));
        }
        logs[..rest.len()].iter().sum()
    }
}
