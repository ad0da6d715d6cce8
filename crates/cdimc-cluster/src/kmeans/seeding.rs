//! Greedy k-means++ (Arthur and Vassilvitskii, SODA 2007, section 7), for all restarts at once, so
//! that one matrix product serves the candidates of every restart.

use super::nearest::Centers;
use super::points::{Coordinate, Points};
use cdimc_data::Seed;
use ndarray::Array2;
use pulp::Arch;
use rand::Rng;
use rayon::prelude::*;

/// Samples that a thread takes at a time.
const BLOCK: usize = 256;

/// The first centers of each restart.
///
/// Each further center is the one of 2 + ⌊ln k⌋ samples, drawn with probability proportional to
/// their squared distance from the centers so far, that leaves the least sum of these distances.
pub(super) fn centers<T: Coordinate>(
    points: &Points<T>,
    n_clusters: usize,
    restarts: usize,
    seed: Seed,
) -> Vec<Array2<f64>> {
    let n_samples = points.n_samples();
    let trials = 2 + (n_clusters as f64).ln() as usize;
    let mut rngs: Vec<_> = (0..restarts).map(|r| seed.nth(r as u64).rng()).collect();
    let first = rngs.iter_mut().map(|rng| vec![rng.gen_range(0..n_samples)]);
    let mut chosen: Vec<Vec<usize>> = first.collect();
    // (n_samples, restarts): squared distances to the closest center so far.
    let mut closest = vec![f64::INFINITY; n_samples * restarts];
    let mut cumulative = vec![0.0; n_samples];
    for n_chosen in 1..n_clusters {
        let newest: Vec<usize> = chosen.iter().map(|samples| samples[n_chosen - 1]).collect();
        approach(points, &newest, &mut closest);
        let mut candidates = Vec::with_capacity(restarts * trials);
        for (r, rng) in rngs.iter_mut().enumerate() {
            let mut total = 0.0;
            for (cumulative, distances) in cumulative.iter_mut().zip(closest.chunks(restarts)) {
                total += distances[r];
                *cumulative = total;
            }
            candidates.extend((0..trials).map(|_| {
                let threshold = rng.r#gen::<f64>() * total;
                cumulative.partition_point(|&sum| sum <= threshold).min(n_samples - 1)
            }));
        }
        let potentials = potentials(points, &candidates, trials, &closest);
        for (r, samples) in chosen.iter_mut().enumerate() {
            let of_restart = r * trials..(r + 1) * trials;
            let best =
                of_restart.reduce(
                    |best, other| {
                        if potentials[other] < potentials[best] { other } else { best }
                    },
                );
            samples.extend(best.map(|best| candidates[best]));
        }
    }
    chosen.iter().map(|samples| points.centers_at(samples)).collect()
}

/// Takes the newest center of each restart into account.
fn approach<T: Coordinate>(points: &Points<T>, newest: &[usize], closest: &mut [f64]) {
    let restarts = newest.len();
    let newest_centers = points.centers_at(newest);
    let centers = Centers::new(points, &newest_centers);
    closest.par_chunks_mut(BLOCK * restarts).enumerate().for_each(|(block, closest)| {
        let start = block * BLOCK;
        let samples: Vec<usize> = (start..start + closest.len() / restarts).collect();
        centers.each_scores(&samples, |i, scores| {
            let closest = &mut closest[(i - start) * restarts..][..restarts];
            // What rounding makes of equal samples is no distance.
            let slack = centers.slack(i);
            Arch::new().dispatch(|| {
                for (closest, &score) in closest.iter_mut().zip(scores) {
                    let distance = centers.squared_distance(i, score);
                    let distance = if distance <= slack { 0.0 } else { distance };
                    *closest = if distance < *closest { distance } else { *closest };
                }
            });
        });
    });
    for (r, &sample) in newest.iter().enumerate() {
        closest[sample * restarts + r] = 0.0;
    }
}

/// The sum of the squared distances that each candidate would leave to its restart.
fn potentials<T: Coordinate>(
    points: &Points<T>,
    candidates: &[usize],
    trials: usize,
    closest: &[f64],
) -> Vec<f64> {
    let restarts = candidates.len() / trials;
    let candidate_centers = points.centers_at(candidates);
    let centers = Centers::new(points, &candidate_centers);
    let of_block = |(block, closest): (usize, &[f64])| {
        let start = block * BLOCK;
        let samples: Vec<usize> = (start..start + closest.len() / restarts).collect();
        let mut sums = vec![0.0; candidates.len()];
        centers.each_scores(&samples, |i, scores| {
            let closest = &closest[(i - start) * restarts..][..restarts];
            let of_restarts = sums.chunks_exact_mut(trials).zip(scores.chunks_exact(trials));
            for ((sums, scores), &closest) in of_restarts.zip(closest) {
                for (sum, &score) in sums.iter_mut().zip(scores) {
                    *sum += centers.squared_distance(i, score).min(closest);
                }
            }
        });
        sums
    };
    let blocks = closest.par_chunks(BLOCK * restarts).enumerate();
    let sums: Vec<Vec<f64>> = blocks.map(of_block).collect();
    // Added up in the order of the blocks, whoever computed them.
    let mut potentials = vec![0.0; candidates.len()];
    for sums in sums {
        potentials.iter_mut().zip(sums).for_each(|(potential, sum)| *potential += sum);
    }
    potentials
}
