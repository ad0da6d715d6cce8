//! k-means: greedy k-means++ starts, Lloyd's iteration, the best of several restarts.
//!
//! Arthur and Vassilvitskii (SODA 2007) with scikit-learn's greedy choice and stopping rule.

use crate::ClusterError;
use cdimc_data::Seed;
use ndarray::{Array2, ArrayView1, ArrayView2};
use rand::Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// k-means with restarts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct KMeans {
    /// Number of clusters, in `1..=n_samples`.
    pub n_clusters: usize,
    /// Independent starts, of which the one of least inertia wins: 20, as the authors' code.
    pub restarts: usize,
    /// Most iterations of one start: 300.
    pub max_iterations: usize,
    /// A start has converged when the centers move, in squares summed, at most by this share of
    /// the mean variance of a column: 1e-4.
    pub tolerance: f64,
}

/// What k-means found.
#[derive(Debug, Clone, PartialEq)]
pub struct KMeansFit {
    /// The cluster of every sample. No number below the greatest label is left out.
    pub labels: Vec<usize>,
    /// `(n_clusters, n_features)`: the means of the clusters.
    pub centers: Array2<f64>,
    /// Sum of the squared distances of the samples to their centers.
    pub inertia: f64,
}

/// A coordinate of a point: `f32` or `f64`.
pub trait Coordinate: Copy + Into<f64> + Send + Sync {}
impl Coordinate for f32 {}
impl Coordinate for f64 {}

impl KMeans {
    /// k-means with 20 restarts, at most 300 iterations each and a tolerance of 1e-4.
    pub fn new(n_clusters: usize) -> Self {
        Self { n_clusters, restarts: 20, max_iterations: 300, tolerance: 1e-4 }
    }

    /// Groups the rows of `points`, `(n_samples, n_features)`.
    ///
    /// # Errors
    /// If `n_clusters` is not in `1..=n_samples`, a setting is out of range, or a coordinate is not
    /// finite.
    pub fn fit<T: Coordinate>(
        &self,
        points: ArrayView2<T>,
        seed: Seed,
    ) -> Result<KMeansFit, ClusterError> {
        let n_samples = points.nrows();
        let setting = |name, value: String, rule| Err(ClusterError::Setting { name, value, rule });
        if !(1..=n_samples).contains(&self.n_clusters) {
            let rule = "must lie between 1 and the number of samples";
            return setting("clusters", self.n_clusters.to_string(), rule);
        }
        if self.restarts == 0 {
            return setting("restarts", "0".into(), "at least one is needed");
        }
        if let Some(&x) = points.iter().find(|&&x| !x.into().is_finite()) {
            return setting("k-means coordinate", x.into().to_string(), "must be finite");
        }
        let points = points.map(|&x| x.into());
        let threshold =
            self.tolerance * points.var_axis(ndarray::Axis(0), 0.0).mean().unwrap_or(0.0);
        let fits: Vec<KMeansFit> = (0..self.restarts)
            .into_par_iter()
            .map(|start| self.one_start(points.view(), threshold, seed.nth(start as u64)))
            .collect();
        let mut best: Option<KMeansFit> = None;
        for fit in fits {
            if best.as_ref().is_none_or(|best| fit.inertia < best.inertia) {
                best = Some(fit);
            }
        }
        best.ok_or(ClusterError::Setting {
            name: "restarts",
            value: "0".into(),
            rule: "at least one is needed",
        })
    }

    fn one_start(&self, points: ArrayView2<f64>, threshold: f64, seed: Seed) -> KMeansFit {
        let mut centers = plus_plus(points, self.n_clusters, seed);
        let mut labels = vec![usize::MAX; points.nrows()];
        for _ in 0..self.max_iterations {
            let (new_labels, distances) = assign(points, &centers);
            let settled = new_labels == labels;
            labels = new_labels;
            let moved = update(points, &mut labels, distances, &mut centers);
            if settled || moved <= threshold {
                break;
            }
        }
        let (labels, distances) = assign(points, &centers);
        let mut fit = KMeansFit { labels, centers, inertia: distances.iter().sum() };
        compact(&mut fit);
        fit
    }
}

fn squared_distance(a: ArrayView1<f64>, b: ArrayView1<f64>) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn assign(points: ArrayView2<f64>, centers: &Array2<f64>) -> (Vec<usize>, Vec<f64>) {
    let nearest = |x: ArrayView1<f64>| {
        let mut best = (0, f64::INFINITY);
        for (c, center) in centers.outer_iter().enumerate() {
            let distance = squared_distance(x, center);
            if distance < best.1 {
                best = (c, distance);
            }
        }
        best
    };
    points.outer_iter().map(nearest).unzip()
}

/// Replaces the centers by the means of their samples and gives the squared distance they moved;
/// an empty cluster takes the sample farthest from its center.
fn update(
    points: ArrayView2<f64>,
    labels: &mut [usize],
    mut distances: Vec<f64>,
    centers: &mut Array2<f64>,
) -> f64 {
    let mut counts = vec![0_usize; centers.nrows()];
    for &label in labels.iter() {
        counts[label] += 1;
    }
    for empty in 0..counts.len() {
        if counts[empty] > 0 {
            continue;
        }
        let mut farthest = 0;
        for i in 0..distances.len() {
            if distances[i] > distances[farthest] {
                farthest = i;
            }
        }
        if distances[farthest] == 0.0 {
            break;
        }
        distances[farthest] = 0.0;
        counts[labels[farthest]] -= 1;
        counts[empty] = 1;
        labels[farthest] = empty;
    }
    let mut means = Array2::<f64>::zeros(centers.raw_dim());
    for (x, &label) in points.outer_iter().zip(labels.iter()) {
        let mut sum = means.row_mut(label);
        sum += &x;
    }
    let mut moved = 0.0;
    for (c, &count) in counts.iter().enumerate() {
        if count > 0 {
            let mut mean = means.row_mut(c);
            mean /= count as f64;
            moved += squared_distance(mean.view(), centers.row(c));
            centers.row_mut(c).assign(&mean);
        }
    }
    moved
}

/// Greedy k-means++: each further center is the best of 2 + ln k samples drawn with probability
/// proportional to their squared distance from the centers so far.
fn plus_plus(points: ArrayView2<f64>, n_clusters: usize, seed: Seed) -> Array2<f64> {
    let mut rng = seed.rng();
    let trials = 2 + (n_clusters as f64).ln() as usize;
    let mut centers = Array2::zeros((n_clusters, points.ncols()));
    let first = rng.gen_range(0..points.nrows());
    centers.row_mut(0).assign(&points.row(first));
    let mut closest: Vec<f64> =
        points.outer_iter().map(|x| squared_distance(x, points.row(first))).collect();
    for c in 1..n_clusters {
        let total: f64 = closest.iter().sum();
        let mut best: Option<(f64, usize, Vec<f64>)> = None;
        for _ in 0..trials {
            let mut left = rng.r#gen::<f64>() * total;
            let drawn = closest
                .iter()
                .position(|&d| {
                    left -= d;
                    left < 0.0
                })
                .unwrap_or(points.nrows() - 1);
            let distances: Vec<f64> = points
                .outer_iter()
                .zip(&closest)
                .map(|(x, &d)| squared_distance(x, points.row(drawn)).min(d))
                .collect();
            let potential = distances.iter().sum();
            if best.as_ref().is_none_or(|best| potential < best.0) {
                best = Some((potential, drawn, distances));
            }
        }
        if let Some((_, drawn, distances)) = best {
            centers.row_mut(c).assign(&points.row(drawn));
            closest = distances;
        }
    }
    centers
}

/// Renumbers the clusters so that those without a sample come last.
fn compact(fit: &mut KMeansFit) {
    let n_clusters = fit.centers.nrows();
    let mut used = vec![false; n_clusters];
    for &label in &fit.labels {
        used[label] = true;
    }
    let mut order: Vec<usize> = (0..n_clusters).collect();
    order.sort_by_key(|&c| !used[c]);
    let mut number = vec![0; n_clusters];
    for (new, &old) in order.iter().enumerate() {
        number[old] = new;
    }
    fit.centers = fit.centers.select(ndarray::Axis(0), &order);
    for label in &mut fit.labels {
        *label = number[*label];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn two_far_groups_are_found() {
        let points = array![[0.0_f32, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]];
        let fit = KMeans::new(2).fit(points.view(), Seed::new(1)).unwrap();
        assert_eq!(fit.labels[0], fit.labels[1]);
        assert_eq!(fit.labels[2], fit.labels[3]);
        assert_ne!(fit.labels[0], fit.labels[2]);
        assert_eq!(fit.inertia, 1.0);
    }

    #[test]
    fn fewer_distinct_points_than_clusters_leave_the_last_clusters_empty() {
        let points = array![[1.0], [2.0], [1.0], [2.0]];
        let fit = KMeans::new(3).fit(points.view(), Seed::new(1)).unwrap();
        assert_eq!(fit.inertia, 0.0);
        assert!(fit.labels.iter().all(|&label| label < 2));
    }

    #[test]
    fn no_cluster_and_more_clusters_than_samples_are_errors() {
        let points = array![[1.0], [2.0]];
        for n_clusters in [0, 3] {
            assert!(KMeans::new(n_clusters).fit(points.view(), Seed::new(1)).is_err());
        }
    }
}
