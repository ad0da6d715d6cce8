//! k-means: greedy k-means++ starts, Lloyd's iteration, the best of several restarts.
//!
//! It follows Arthur and Vassilvitskii (SODA 2007) with the greedy seeding, the stopping rule and the treatment of
//! empty clusters of scikit-learn's `KMeans`. All restarts run together: one matrix product gives the distances to
//! the centers of all of them.

mod lloyd;
mod points;
mod seeding;

pub use points::Coordinate;

use crate::check::setting;
use crate::{ClusterError, squared_distance};
use cdimc_data::Seed;
use lloyd::{Partition, Sums};
use ndarray::{Array2, ArrayView2, Axis};
use points::{Points, entries};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// k-means with restarts.
///
/// ```
/// use cdimc_core::KMeans;
/// use cdimc_data::Seed;
/// let points = ndarray::array![[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]];
/// let fit = KMeans::new(2).fit(points.view(), Seed::new(1))?;
/// assert_eq!(fit.labels[0], fit.labels[1]);
/// assert_ne!(fit.labels[0], fit.labels[2]);
/// assert_eq!(fit.inertia, 1.0);
/// # Ok::<(), cdimc_core::ClusterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct KMeans {
    /// Number of clusters, in `1..=n_samples`.
    pub n_clusters: usize,
    /// Number of independent starts; the one with the lowest inertia wins. 20, as in the authors' code.
    pub restarts: usize,
    /// Largest number of iterations per start: 300.
    pub max_iterations: usize,
    /// Convergence threshold: the iteration stops when no label changes, or when the summed squared movement of the
    /// centers is at most this fraction of the mean column variance. 1e-4.
    pub tolerance: f64,
}

/// Result of k-means.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct KMeansFit {
    /// Nearest center per sample, the first one for ties. Clusters without samples have the last numbers; they occur
    /// only if there are fewer distinct samples than clusters.
    pub labels: Vec<usize>,
    /// `(n_clusters, n_features)`: means of the clusters of the last iteration; an empty cluster keeps its center.
    pub centers: Array2<f64>,
    /// Sum of the squared distances of the samples to their centers.
    pub inertia: f64,
}

impl KMeans {
    /// Returns k-means with 20 restarts, at most 300 iterations each and a tolerance of 1e-4.
    pub fn new(n_clusters: usize) -> Self {
        Self { n_clusters, restarts: 20, max_iterations: 300, tolerance: 1e-4 }
    }

    /// Groups the rows of `points`, `(n_samples, n_features)`.
    ///
    /// The iteration finds nearest centers by matrix products, the final labels come from direct differences; both use
    /// double precision. The result does not depend on the number of threads. Memory beside the points is linear in the
    /// number of samples.
    ///
    /// # Errors
    /// If `n_clusters` is not in `1..=n_samples`, a setting is out of range, or a coordinate or the
    /// variance is not finite, or the coordinates are so small that the variance is 0.
    pub fn fit<T: Coordinate>(
        &self,
        points: ArrayView2<T>,
        seed: Seed,
    ) -> Result<KMeansFit, ClusterError> {
        self.run(points, seed, |points, ended| {
            let inertias: Vec<f64> = ended.iter().map(|p| p.inertia(points)).collect();
            let best = (0..ended.len()).min_by(|&a, &b| inertias[a].total_cmp(&inertias[b]));
            finish(points, &ended[best.unwrap_or(0)])
        })
    }

    /// Like [`fit`](Self::fit), but returns the results of all restarts.
    ///
    /// # Errors
    /// Same as [`fit`](Self::fit).
    pub fn fit_each<T: Coordinate>(
        &self,
        points: ArrayView2<T>,
        seed: Seed,
    ) -> Result<Vec<KMeansFit>, ClusterError> {
        self.run(points, seed, |points, ended| ended.iter().map(|p| finish(points, p)).collect())
    }

    /// Runs Lloyd's iteration from every start; returns what `result` makes of the ends.
    fn run<T: Coordinate, R>(
        &self,
        points: ArrayView2<T>,
        seed: Seed,
        result: impl FnOnce(&Points<T>, &[Partition]) -> R,
    ) -> Result<R, ClusterError> {
        self.check(points)?;
        let points = points.as_standard_layout();
        let points = &Points::new(points.view());
        let variance = points.mean_variance();
        let range = "must be finite, and positive unless all samples are equal";
        setting("k-means variance", variance, range, |v| {
            v.is_finite() && (*v > 0.0 || points.are_equal())
        })?;
        let starts = seeding::centers(points, self.n_clusters, self.restarts, seed);
        let threshold = self.tolerance * variance;
        Ok(result(points, &lloyd::iterate(points, starts, self.max_iterations, threshold)))
    }

    fn check<T: Coordinate>(&self, points: ArrayView2<T>) -> Result<(), ClusterError> {
        let clusters = "must lie between 1 and the number of samples";
        setting("clusters", self.n_clusters, clusters, |k| (1..=points.nrows()).contains(k))?;
        setting("k-means features", points.ncols(), "at least one is needed", |&m| m > 0)?;
        let steps = self.restarts.min(self.max_iterations);
        setting("k-means restarts or iterations", steps, "at least one is needed", |&n| n > 0)?;
        setting("k-means tolerance", self.tolerance, "must be at least 0", |&t| t >= 0.0)?;
        let mut coordinates = points.iter().map(|&x| x.into());
        match coordinates.find(|x: &f64| !x.is_finite()) {
            Some(x) => setting("k-means coordinate", x, "must be finite", |_| false),
            None => Ok(()),
        }
    }
}

/// Computes the means of the clusters and assigns every sample to the nearest mean.
fn finish<T: Coordinate>(points: &Points<T>, partition: &Partition) -> KMeansFit {
    let sums = Sums::of(points, partition);
    let centers = sums.means(&partition.centers);
    let used: Vec<usize> = (0..sums.counts.len()).filter(|&c| sums.counts[c] > 0).collect();
    let rows: Vec<&[f64]> = entries(&centers).chunks_exact(points.n_features()).collect();
    let nearest = |i: usize| {
        let distances = used.iter().map(|&c| (c, squared_distance(points.row(i), rows[c])));
        let least = distances.reduce(|least, other| if other.1 < least.1 { other } else { least });
        least.unwrap_or_default()
    };
    let found: Vec<(usize, f64)> = (0..points.n_samples()).into_par_iter().map(nearest).collect();
    let inertia = found.iter().map(|(_, distance)| distance).sum();
    // Clusters without a sample come last.
    let mut has_samples = vec![false; centers.nrows()];
    found.iter().for_each(|&(label, _)| has_samples[label] = true);
    let mut order: Vec<usize> = (0..has_samples.len()).collect();
    order.sort_by_key(|&cluster| !has_samples[cluster]);
    let mut numbers = vec![0; order.len()];
    order.iter().enumerate().for_each(|(new, &old)| numbers[old] = new);
    let labels = found.into_iter().map(|(label, _)| numbers[label]).collect();
    KMeansFit { labels, centers: centers.select(Axis(0), &order), inertia }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;
    use proptest::prelude::*;
    use rand::Rng;

    /// Samples around corners of a cube, `offset` away from 0.
    fn blobs(n_samples: usize, n_features: usize, offset: f64, seed: u64) -> Array2<f64> {
        let mut rng = Seed::new(seed).rng();
        Array2::from_shape_fn((n_samples, n_features), |(i, j)| {
            offset + ((i % 4) >> (j % 2) & 1) as f64 * 8.0 + rng.r#gen::<f64>()
        })
    }

    proptest! {
        #[test]
        fn labels_are_the_nearest_centers_and_inertia_their_distances(
            n_samples in 1..300_usize, n_features in 1..12_usize, n_clusters in 1..7_usize,
            grid in any::<bool>(), seed in any::<u64>(),
        ) {
            let n_clusters = n_clusters.min(n_samples);
            let points = blobs(n_samples, n_features, 0.0, seed);
            let points = if grid { points.mapv(f64::round) } else { points };
            let k_means = KMeans { restarts: 3, ..KMeans::new(n_clusters) };
            let fit = k_means.fit(points.view(), Seed::new(seed)).unwrap();
            let mut inertia = 0.0;
            for (x, &label) in points.outer_iter().zip(&fit.labels) {
                let distance = |c: usize| (&x - &fit.centers.row(c)).mapv(|d| d * d).sum();
                let least = (0..n_clusters).map(distance).fold(f64::INFINITY, f64::min);
                prop_assert!(distance(label) <= least * (1.0 + 1e-12));
                inertia += distance(label);
            }
            prop_assert!((inertia - fit.inertia).abs() <= 1e-10 * (1.0 + inertia));
            let greatest = fit.labels.iter().max().unwrap();
            prop_assert!((0..=*greatest).all(|c| fit.labels.contains(&c)));
        }
    }

    #[test]
    fn blobs_are_found_in_either_precision_and_far_from_zero() {
        for offset in [0.0, 1e4] {
            let points = blobs(600, 20, offset, 5);
            let narrow = points.mapv(|x| x as f32);
            let fits = [
                KMeans::new(4).fit(points.view(), Seed::new(3)).unwrap(),
                KMeans::new(4).fit(narrow.view(), Seed::new(3)).unwrap(),
            ];
            for fit in fits {
                assert!((0..600).all(|i| fit.labels[i] == fit.labels[i % 4]));
                assert!(fit.inertia < 600.0 * 20.0 / 11.0, "uniform noise has variance 1/12");
            }
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let points = blobs(900, 7, 0.0, 1).mapv(|x| x as f32);
        let with_threads = |n_threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
            pool.install(|| KMeans::new(6).fit(points.view(), Seed::new(2)).unwrap())
        };
        assert_eq!(with_threads(1), with_threads(3));
    }

    #[test]
    fn the_result_is_the_restart_of_least_inertia() {
        let points = blobs(300, 3, 0.0, 8);
        let k_means = KMeans { restarts: 5, ..KMeans::new(9) };
        let each = k_means.fit_each(points.view(), Seed::new(4)).unwrap();
        assert_eq!(each.len(), 5);
        assert!(each.iter().any(|fit| fit.inertia > 1.001 * each[0].inertia.min(each[1].inertia)));
        let least = each.into_iter().reduce(|a, b| if b.inertia < a.inertia { b } else { a });
        assert_eq!(Some(k_means.fit(points.view(), Seed::new(4)).unwrap()), least);
    }

    #[test]
    fn fewer_distinct_points_than_clusters_leave_the_last_clusters_empty() {
        let points = array![[0.1], [0.7], [0.1], [0.7], [0.1], [0.1]];
        let fit = KMeans::new(4).fit(points.view(), Seed::new(1)).unwrap();
        assert!(fit.inertia < 1e-30);
        assert!(fit.labels.iter().all(|&label| label < 2));
        let same = KMeans::new(3).fit(Array2::<f32>::ones((5, 2)).view(), Seed::new(1)).unwrap();
        assert_eq!((same.labels, same.inertia), (vec![0; 5], 0.0));
        // Empty clusters are not at the origin.
        assert_eq!(same.centers, Array2::<f64>::ones((3, 2)));
    }

    #[test]
    fn settings_out_of_range_and_infinities_are_errors() {
        let negative = KMeans { tolerance: -1.0, ..KMeans::new(1) };
        let finite = "must be finite, and positive unless all samples are equal";
        let between = "must lie between 1 and the number of samples";
        for (k_means, points, value, rule) in [
            (KMeans::new(0), [1.0, 2.0], "clusters = 0", between),
            (KMeans::new(3), [1.0, 2.0], "clusters = 3", between),
            (negative, [1.0, 2.0], "k-means tolerance = -1", "must be at least 0"),
            (KMeans::new(1), [1.0, f64::NAN], "k-means coordinate = NaN", "must be finite"),
            (KMeans::new(1), [1e200, -1e200], "k-means variance = inf", finite),
            (KMeans::new(1), [1e-200, 2e-200], "k-means variance = 0", finite),
        ] {
            let points = array![[points[0]], [points[1]]];
            let error = k_means.fit(points.view(), Seed::new(1)).unwrap_err();
            assert_eq!(error.to_string(), format!("{value}: {rule}"));
        }
    }
}
