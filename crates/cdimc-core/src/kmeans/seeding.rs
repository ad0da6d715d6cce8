//! Greedy k-means++ (Arthur and Vassilvitskii, SODA 2007, section 7) for all restarts at once; one matrix product serves
//! the candidates of every restart.

use super::points::{Coordinate, Points};
use cdimc_data::Seed;
use ndarray::Array2;
use rand::Rng;

/// Returns the initial centers of each restart.
///
/// For each further center, 2 + ⌊ln k⌋ candidate samples are drawn with probability proportional to their squared
/// distance from the centers so far. The candidate that leaves the smallest sum of squared distances is taken.
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
        let distances = points.distances(&points.centers_at(&newest), |_, block| block.to_vec());
        for (closest, distance) in closest.iter_mut().zip(distances.iter().flatten()) {
            *closest = closest.min(*distance);
        }
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
        let potentials = potentials(points, &candidates, &closest, restarts);
        for (r, samples) in chosen.iter_mut().enumerate() {
            let of_restart = r * trials..(r + 1) * trials;
            let best = of_restart.min_by(|&a, &b| potentials[a].total_cmp(&potentials[b]));
            samples.extend(best.map(|best| candidates[best]));
        }
    }
    chosen.iter().map(|samples| points.centers_at(samples)).collect()
}

/// Sum of squared distances that each candidate would leave to its restart.
fn potentials<T: Coordinate>(
    points: &Points<T>,
    candidates: &[usize],
    closest: &[f64],
    restarts: usize,
) -> Vec<f64> {
    let trials = candidates.len() / restarts;
    let of_blocks = points.distances(&points.centers_at(candidates), |start, distances| {
        let mut sums = vec![0.0; candidates.len()];
        let closest = closest[start * restarts..].chunks_exact(restarts);
        for (distances, closest) in distances.chunks_exact(candidates.len()).zip(closest) {
            let of_restarts = sums.chunks_exact_mut(trials).zip(distances.chunks_exact(trials));
            for ((sums, distances), closest) in of_restarts.zip(closest) {
                for (sum, distance) in sums.iter_mut().zip(distances) {
                    *sum += distance.min(*closest);
                }
            }
        }
        sums
    });
    // Block order, so that the sums do not depend on the number of threads.
    let mut potentials = vec![0.0; candidates.len()];
    for sums in of_blocks {
        potentials.iter_mut().zip(sums).for_each(|(potential, sum)| *potential += sum);
    }
    potentials
}
