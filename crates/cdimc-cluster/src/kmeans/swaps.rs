//! Swaps of a center of the best start for a sample, drawn as in k-means++, where one is needed more
//! (Lattanzi and Sohler, ICML 2019); each is followed by the whole iteration.

use super::lloyd::Partition;
use super::points::{Centers, Coordinate, Points};
use cdimc_data::Seed;
use ndarray::Array2;
use rand::Rng;
use rayon::prelude::*;

/// Swaps tried at a time from the same centers, in parallel.
const TOGETHER: usize = 4;

/// Tries `n_swaps` of them and keeps what lowers the inertia; `converge` takes centers to an optimum.
pub(super) fn improve<T: Coordinate>(
    points: &Points<T>,
    mut best: (f64, Partition),
    n_swaps: usize,
    seed: Seed,
    converge: impl Fn(Array2<f64>) -> (f64, Partition) + Sync,
) -> (f64, Partition) {
    let n_clusters = best.1.centers.nrows();
    let mut rng = seed.stream("swaps").rng();
    for first in (0..n_swaps).step_by(TOGETHER) {
        if n_clusters == 1 || best.0 == 0.0 {
            break;
        }
        let near = NearestTwo::new(points, &best.1.centers);
        let n_together = TOGETHER.min(n_swaps - first);
        let draws: Vec<f64> = (0..n_together).map(|_| rng.r#gen()).collect();
        let swapped = near.swaps(points, &best.1.centers, &draws);
        let ended: Vec<(f64, Partition)> = swapped.into_par_iter().map(&converge).collect();
        for other in ended {
            if other.0 < best.0 {
                best = other;
            }
        }
    }
    best
}

/// Of every sample: its nearest center, and the squared distances to that and to the next.
struct NearestTwo(Vec<(usize, f64, f64)>);

impl NearestTwo {
    fn new<T: Coordinate>(points: &Points<T>, centers: &Array2<f64>) -> Self {
        let prepared = Centers::new(points, centers.view());
        let all: Vec<usize> = (0..points.n_samples()).collect();
        let mut near = Vec::with_capacity(all.len());
        prepared.each_products(points, &all, |i, products| {
            let mut two = (0, f64::INFINITY, f64::INFINITY);
            for (c, &product) in products.iter().enumerate() {
                let distance = points.distance_by_product(i, &prepared, c, product);
                if distance < two.1 {
                    two = (c, distance, two.1);
                } else if distance < two.2 {
                    two.2 = distance;
                }
            }
            near.push(two);
        });
        Self(near)
    }

    /// For each draw, uniform in [0, 1), the centers with the sample it falls on, with probability
    /// proportional to the squared distance, in the place of the center that it spares best.
    fn swaps<T: Coordinate>(
        &self,
        points: &Points<T>,
        centers: &Array2<f64>,
        draws: &[f64],
    ) -> Vec<Array2<f64>> {
        let mut total = 0.0;
        let cumulative: Vec<f64> = self
            .0
            .iter()
            .map(|(_, own, _)| {
                total += own;
                total
            })
            .collect();
        let sample_of = |draw: &f64| {
            let threshold = draw * total;
            cumulative.partition_point(|&sum| sum <= threshold).min(self.0.len() - 1)
        };
        let samples: Vec<usize> = draws.iter().map(sample_of).collect();
        let new = points.centers_at(&samples);
        let prepared = Centers::new(points, new.view());
        let all: Vec<usize> = (0..points.n_samples()).collect();
        // What each new center would cost for each center it replaced, beyond what it saves.
        let mut costs = Array2::<f64>::zeros((samples.len(), centers.nrows()));
        prepared.each_products(points, &all, |i, products| {
            let (c, own, next) = self.0[i];
            for (x, &product) in products.iter().enumerate() {
                let distance = points.distance_by_product(i, &prepared, x, product);
                costs[[x, c]] += distance.min(next) - distance.min(own);
            }
        });
        let swap = |(new, costs): (ndarray::ArrayView1<f64>, ndarray::ArrayView1<f64>)| {
            let least = (0..costs.len()).reduce(|a, b| if costs[b] < costs[a] { b } else { a });
            let mut swapped = centers.clone();
            swapped.row_mut(least.unwrap_or(0)).assign(&new);
            swapped
        };
        new.outer_iter().zip(costs.outer_iter()).map(swap).collect()
    }
}
