//! Swaps of a center of the best start for a sample, drawn as in k-means++, where one is needed more
//! (Lattanzi and Sohler, ICML 2019); each is followed by the whole iteration.

use super::lloyd::{Bounds, Partition, UNKNOWN};
use super::nearest::{Centers, Nearest};
use super::points::{Coordinate, Points};
use cdimc_data::Seed;
use ndarray::ArrayView1;
use rand::Rng;
use rayon::prelude::*;

/// Swaps tried at a time from the same centers, in parallel.
const TOGETHER: usize = 4;

/// Tries `n_swaps` of them and keeps what lowers the inertia; `converge` takes a partition to an optimum.
pub(super) fn improve<T: Coordinate>(
    points: &Points<T>,
    mut best: (f64, Partition),
    n_swaps: usize,
    seed: Seed,
    converge: impl Fn(Partition) -> (f64, Partition) + Sync,
) -> (f64, Partition) {
    let n_clusters = best.1.centers.nrows();
    let mut rng = seed.stream("swaps").rng();
    for first in (0..n_swaps).step_by(TOGETHER) {
        if n_clusters == 1 || best.0 == 0.0 {
            break;
        }
        let n_together = TOGETHER.min(n_swaps - first);
        let draws: Vec<f64> = (0..n_together).map(|_| rng.r#gen()).collect();
        let swapped = swaps(points, &best.1, &draws);
        let ended: Vec<(f64, Partition)> = swapped.into_par_iter().map(&converge).collect();
        for other in ended {
            if other.0 < best.0 {
                best = other;
            }
        }
    }
    best
}

/// For each draw, uniform in [0, 1), the partition with the sample it falls on, with probability
/// proportional to the squared distance, in the place of the center that it spares best.
fn swaps<T: Coordinate>(
    points: &Points<T>,
    partition: &Partition,
    draws: &[f64],
) -> Vec<Partition> {
    let all: Vec<usize> = (0..points.n_samples()).collect();
    let mut near = Vec::with_capacity(all.len());
    Centers::new(points, &partition.centers).each_nearest(&all, |_, of| near.push(of));
    let mut total = 0.0;
    let cumulative: Vec<f64> = near
        .iter()
        .map(|near| {
            total += near.own;
            total
        })
        .collect();
    let sample_of = |draw: &f64| {
        let threshold = draw * total;
        cumulative.partition_point(|&sum| sum <= threshold).min(near.len() - 1)
    };
    let samples: Vec<usize> = draws.iter().map(sample_of).collect();
    let new = points.centers_at(&samples);
    let prepared = Centers::new(points, &new);
    let n_clusters = partition.centers.nrows();
    let start = || Trial { costs: vec![0.0; n_clusters], bounds: Vec::with_capacity(near.len()) };
    let mut trials: Vec<Trial> = samples.iter().map(|_| start()).collect();
    prepared.each_scores(&all, |i, scores| {
        let Nearest { label, own, other, slack } = near[i];
        for (trial, &score) in trials.iter_mut().zip(scores) {
            let distance = prepared.squared_distance(i, score);
            trial.costs[label] += distance.min(other) - distance.min(own);
            let least = (other - slack).min(distance - prepared.slack(i)).max(0.0);
            trial.bounds.push(Bounds { own: (own + slack).sqrt(), other: least.sqrt() });
        }
    });
    let swap = |(center, trial): (ArrayView1<f64>, Trial)| {
        let Trial { costs, mut bounds } = trial;
        let least = (0..n_clusters).reduce(|a, b| if costs[b] < costs[a] { b } else { a });
        let replaced = least.unwrap_or(0);
        for ((bounds, near), &label) in bounds.iter_mut().zip(&near).zip(&partition.labels) {
            if near.label == replaced || near.label != label as usize {
                *bounds = UNKNOWN;
            }
        }
        let mut swapped = Partition { bounds, ..partition.clone() };
        swapped.centers.row_mut(replaced).assign(&center);
        swapped
    };
    new.outer_iter().zip(trials).map(swap).collect()
}

/// A sample as a further center.
struct Trial {
    /// What it would cost for each center it replaced, beyond what it saves.
    costs: Vec<f64>,
    /// The bounds of all samples to their centers and, with it, to the others.
    bounds: Vec<Bounds>,
}
