//! Lloyd's iteration from several sets of centers at once; one matrix product serves all of them.

use super::points::{Coordinate, Points, entries};
use crate::squared_distance;
use ndarray::{Array2, Axis, concatenate};
use rayon::prelude::*;

/// Clusters during the iteration.
pub(super) struct Partition {
    pub(super) labels: Vec<u32>,
    pub(super) centers: Array2<f64>,
    pub(super) sums: Sums,
    converged: bool,
}

/// Sum and count of the samples per cluster.
pub(super) struct Sums {
    sums: Array2<f64>,
    pub(super) counts: Vec<usize>,
}

const UNLABELED: u32 = u32::MAX;

/// Iterates from each of `starts`, which have equal numbers of centers, until no label changes, the summed squared
/// movement of the centers is at most `threshold`, or `max_iterations` are done.
pub(super) fn iterate<T: Coordinate>(
    points: &Points<T>,
    starts: Vec<Array2<f64>>,
    max_iterations: usize,
    threshold: f64,
) -> Vec<Partition> {
    let mut partitions: Vec<Partition> =
        starts.into_iter().map(|centers| Partition::unlabeled(points, centers)).collect();
    for _ in 0..max_iterations {
        let mut active: Vec<_> = partitions.iter_mut().filter(|p| !p.converged).collect();
        if active.is_empty() {
            break;
        }
        let labels = nearest(points, &active);
        let n_active = active.len();
        active.par_iter_mut().enumerate().for_each(|(r, partition)| {
            partition.update(points, labels.iter().skip(r).step_by(n_active), threshold);
        });
    }
    partitions
}

/// Returns the nearest center per sample and partition, the first one for ties: `(n_samples, n_partitions)`, row-major.
fn nearest<T: Coordinate>(points: &Points<T>, partitions: &[&mut Partition]) -> Vec<u32> {
    let n_clusters = partitions[0].centers.nrows();
    let centers: Vec<_> = partitions.iter().map(|partition| partition.centers.view()).collect();
    let centers = concatenate(Axis(0), &centers)
        .unwrap_or_else(|_| unreachable!("centers are as wide as the points"));
    let blocks = points.distances(&centers, |_, distances| -> Vec<u32> {
        let of_partitions = distances.chunks_exact(n_clusters);
        let nearest = of_partitions.map(|distances| {
            let (mut label, mut least) = (0, f64::INFINITY);
            for (c, &distance) in (0..).zip(distances) {
                if distance < least {
                    (label, least) = (c, distance);
                }
            }
            label
        });
        nearest.collect()
    });
    blocks.concat()
}

impl Partition {
    /// Returns a partition whose samples have no label yet.
    fn unlabeled<T: Coordinate>(points: &Points<T>, centers: Array2<f64>) -> Self {
        let labels = vec![UNLABELED; points.n_samples()];
        Self { labels, sums: Sums::zero(&centers), centers, converged: false }
    }

    /// Sum of the squared distances to the centers, which are the means of their samples:
    /// Σ‖x‖² - `Σ n_c` ‖c‖², with x and c relative to the mean of all samples.
    pub(super) fn inertia<T: Coordinate>(&self, points: &Points<T>) -> f64 {
        let total: f64 = points.norms.iter().sum();
        let centers = entries(&self.centers).chunks_exact(points.n_features());
        let of_cluster = |(center, &count): (&[f64], &usize)| count as f64 * points.norm_of(center);
        let between: f64 = centers.zip(&self.sums.counts).map(of_cluster).sum();
        let inertia = total - between;
        // The rest is rounding error of equal points.
        if inertia <= 1e-14 * total { 0.0 } else { inertia }
    }

    /// Sets the labels and recomputes the means.
    fn update<'l, T: Coordinate>(
        &mut self,
        points: &Points<T>,
        labels: impl Iterator<Item = &'l u32>,
        threshold: f64,
    ) {
        let mut changed = false;
        for (i, (old, new)) in self.labels.iter_mut().zip(labels).enumerate() {
            if *old != *new {
                self.sums.transfer(points.row(i), *old, *new);
                *old = *new;
                changed = true;
            }
        }
        if !changed {
            self.converged = true;
            return;
        }
        self.fill_empty_clusters(points);
        let means = self.sums.means(&self.centers);
        let moved = squared_distance(entries(&means), entries(&self.centers));
        self.centers = means;
        self.converged = moved <= threshold;
    }

    /// Moves the sample farthest from its center into each empty cluster, unless all samples lie on their centers within
    /// rounding.
    fn fill_empty_clusters<T: Coordinate>(&mut self, points: &Points<T>) {
        let Self { labels, centers, sums, .. } = self;
        if !sums.counts.contains(&0) {
            return;
        }
        let centers: Vec<_> = entries(centers).chunks_exact(points.n_features()).collect();
        let distance =
            |(i, &label): (usize, &u32)| squared_distance(points.row(i), centers[label as usize]);
        let mut distances: Vec<f64> = labels.iter().enumerate().map(distance).collect();
        for empty in 0..sums.counts.len() {
            if sums.counts[empty] > 0 {
                continue;
            }
            let farther =
                |most: usize, i: usize| if distances[i] > distances[most] { i } else { most };
            let farthest = (0..distances.len()).fold(0, farther);
            let row = points.row(farthest);
            let squared_norm: f64 = row.iter().map(|&x| x.into()).map(|x: f64| x * x).sum();
            if distances[farthest] <= 1e-24 * squared_norm {
                return;
            }
            distances[farthest] = 0.0;
            sums.transfer(row, labels[farthest], empty as u32);
            labels[farthest] = empty as u32;
        }
    }
}

impl Sums {
    fn zero(centers: &Array2<f64>) -> Self {
        Self { sums: Array2::zeros(centers.raw_dim()), counts: vec![0; centers.nrows()] }
    }

    /// Returns the sums over all points.
    pub(super) fn of<T: Coordinate>(points: &Points<T>, partition: &Partition) -> Self {
        let mut sums = Self::zero(&partition.centers);
        for (i, &label) in partition.labels.iter().enumerate() {
            sums.transfer(points.row(i), UNLABELED, label);
        }
        sums
    }

    /// Moves a sample from one cluster, or from [`UNLABELED`], to another.
    fn transfer<T: Coordinate>(&mut self, row: &[T], from: u32, to: u32) {
        if from != UNLABELED {
            self.counts[from as usize] -= 1;
            let sum = self.sums.row_mut(from as usize);
            sum.into_iter().zip(row).for_each(|(sum, &x)| *sum -= x.into());
        }
        self.counts[to as usize] += 1;
        let sum = self.sums.row_mut(to as usize);
        sum.into_iter().zip(row).for_each(|(sum, &x)| *sum += x.into());
    }

    /// Returns the means; an empty cluster keeps its center.
    pub(super) fn means(&self, centers: &Array2<f64>) -> Array2<f64> {
        let mut means = centers.clone();
        let clusters = means.outer_iter_mut().zip(self.sums.outer_iter()).zip(&self.counts);
        for ((mut mean, sum), &count) in clusters.filter(|(_, count)| **count > 0) {
            mean.assign(&(&sum / count as f64));
        }
        means
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_data::Seed;
    use linfa::DatasetBase;
    use linfa::traits::Fit;
    use linfa_clustering::KMeansInit;
    use ndarray::{array, s};
    use rand::Rng;

    fn end<T: Coordinate>(points: &Points<T>, start: Array2<f64>) -> Partition {
        iterate(points, vec![start], 300, 0.0).remove(0)
    }

    #[test]
    fn from_the_same_centers_linfa_ends_at_the_same_ones() {
        for seed in 0..20 {
            let mut rng = Seed::new(seed).rng();
            let samples =
                Array2::from_shape_fn((700, 6), |(i, _)| (i % 4) as f64 + rng.r#gen::<f64>() * 1.5);
            let start = samples.slice(s![0..5, ..]).to_owned();
            let linfa = linfa_clustering::KMeans::params(5)
                .init_method(KMeansInit::Precomputed(start.clone()))
                .n_runs(1)
                .tolerance(1e-12)
                .fit(&DatasetBase::from(samples.clone()))
                .unwrap();
            let points = Points::new(samples.view());
            let ours = end(&points, start);
            let centers = Sums::of(&points, &ours).means(&ours.centers);
            approx::assert_abs_diff_eq!(centers, *linfa.centroids(), epsilon = 1e-10);
            let theirs = linfa.inertia() * 700.0;
            approx::assert_relative_eq!(ours.inertia(&points), theirs, max_relative = 1e-10);
        }
    }

    #[test]
    fn starts_are_independent() {
        let mut rng = Seed::new(1).rng();
        let samples = Array2::from_shape_simple_fn((400, 3), || rng.r#gen::<f64>());
        let points = Points::new(samples.view());
        let starts = [0, 50, 100].map(|i| samples.slice(s![i..i + 6, ..]).to_owned());
        let together = iterate(&points, starts.to_vec(), 300, 1e-6);
        for (start, ended) in starts.into_iter().zip(together) {
            let alone = iterate(&points, vec![start], 300, 1e-6).remove(0);
            assert_eq!(alone.labels, ended.labels);
        }
    }

    #[test]
    fn an_empty_cluster_takes_the_farthest_sample() {
        let samples = array![[0.0], [1.0], [2.0], [50.0]];
        let points = Points::new(samples.view());
        // No sample is near the second center.
        let ended = end(&points, array![[1.0], [1000.0]]);
        assert_eq!(ended.labels, [0, 0, 0, 1]);
        assert_eq!(ended.inertia(&points), 2.0);
    }
}
