//! Lloyd's iteration from given centers, with Hamerly's bounds (SDM 2010): a sample that is surely
//! nearer to its center than to any other is left alone.

use super::nearest::Centers;
use super::points::{Coordinate, Points, add, squared_distance};
use ndarray::{Array2, ArrayView1, ArrayViewMut1};

/// The clusters of an iteration, and what it knows about the distances to their centers.
#[derive(Clone)]
pub(super) struct Partition {
    pub(super) labels: Vec<u32>,
    pub(super) centers: Array2<f64>,
    pub(super) sums: Sums,
    pub(super) bounds: Vec<Bounds>,
}

/// Sums and counts of the samples of each cluster.
#[derive(Clone)]
pub(super) struct Sums {
    sums: Array2<f64>,
    pub(super) counts: Vec<usize>,
}

/// What is known about the distances of a sample.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// At least the distance to its own center.
    pub(super) own: f64,
    /// At most the distance to any other.
    pub(super) other: f64,
}

pub(super) const UNKNOWN: Bounds = Bounds { own: f64::INFINITY, other: 0.0 };
const UNLABELED: u32 = u32::MAX;

/// Iterates until no label changes, the centers move by no more than `threshold` (squares summed),
/// or `max_iterations` are done.
pub(super) fn iterate<T: Coordinate>(
    points: &Points<T>,
    mut partition: Partition,
    max_iterations: usize,
    threshold: f64,
) -> Partition {
    for _ in 0..max_iterations {
        let changed = assign(points, &mut partition);
        if changed.is_empty() {
            break;
        }
        for &(i, old) in &changed {
            partition.sums.transfer(points, i, old, partition.labels[i]);
        }
        fill_empty_clusters(points, &mut partition);
        let means = partition.sums.means(&partition.centers);
        let moves = partition.move_to(means);
        if moves.iter().map(|m| m * m).sum::<f64>() <= threshold {
            break;
        }
    }
    partition
}

impl Partition {
    /// No sample belongs to any of the centers as yet.
    pub(super) fn unlabeled<T: Coordinate>(points: &Points<T>, centers: Array2<f64>) -> Self {
        Self {
            labels: vec![UNLABELED; points.n_samples()],
            sums: Sums::of(points, &[], centers.nrows()),
            centers,
            bounds: vec![UNKNOWN; points.n_samples()],
        }
    }

    /// Sum of the squared distances to the centers, which are the means of their samples:
    /// Σ‖x‖² - `Σ n_c` ‖c‖², counted from the origin.
    pub(super) fn inertia<T: Coordinate>(&self, points: &Points<T>) -> f64 {
        let total: f64 = points.norms.iter().sum();
        let of_cluster = |(center, &count): (ArrayView1<f64>, &usize)| {
            count as f64 * squared_distance(entries(&center), &points.origin)
        };
        let between: f64 = self.centers.outer_iter().zip(&self.sums.counts).map(of_cluster).sum();
        let inertia = total - between;
        // What rounding leaves of equal numbers is no distance.
        if inertia <= 1e-14 * total { 0.0 } else { inertia }
    }

    /// Moves the centers and loosens the bounds accordingly; returns how far each has moved.
    fn move_to(&mut self, centers: Array2<f64>) -> Vec<f64> {
        let old = std::mem::replace(&mut self.centers, centers);
        self.loosen(&old)
    }

    /// Lets the bounds follow the centers, which were at `old`; returns how far each has moved.
    pub(super) fn loosen(&mut self, old: &Array2<f64>) -> Vec<f64> {
        let pairs = self.centers.outer_iter().zip(old.outer_iter());
        let moves: Vec<f64> =
            pairs.map(|(new, old)| squared_distance(entries(&new), entries(&old)).sqrt()).collect();
        let (mut farthest, mut most, mut second) = (0, 0.0, 0.0);
        for (c, &moved) in moves.iter().enumerate() {
            if moved > most {
                (farthest, second, most) = (c as u32, most, moved);
            } else if moved > second {
                second = moved;
            }
        }
        for (bounds, &label) in self.bounds.iter_mut().zip(&self.labels) {
            bounds.own += moves[label as usize];
            bounds.other -= if label == farthest { second } else { most };
        }
        moves
    }
}

impl Sums {
    /// The sums of the first `labels.len()` samples.
    pub(super) fn of<T: Coordinate>(points: &Points<T>, labels: &[u32], n_clusters: usize) -> Self {
        let sums = Array2::zeros((n_clusters, points.n_features()));
        let mut sums = Self { sums, counts: vec![0; n_clusters] };
        for (i, &label) in labels.iter().enumerate() {
            sums.transfer(points, i, UNLABELED, label);
        }
        sums
    }

    /// Moves sample `i` from a cluster, or none, to another.
    pub(super) fn transfer<T: Coordinate>(
        &mut self,
        points: &Points<T>,
        i: usize,
        from: u32,
        to: u32,
    ) {
        let mut add_to = |c: u32, factor| {
            let sum = self.sums.row_mut(c as usize).into_slice().unwrap_or(&mut []);
            add(sum, factor, points.row(i));
        };
        if from != UNLABELED {
            self.counts[from as usize] -= 1;
            add_to(from, -1.0);
        }
        self.counts[to as usize] += 1;
        add_to(to, 1.0);
    }

    /// The means; an empty cluster keeps its center.
    pub(super) fn means(&self, centers: &Array2<f64>) -> Array2<f64> {
        let mut means = centers.clone();
        for (c, mean) in means.outer_iter_mut().enumerate() {
            self.mean(c, mean);
        }
        means
    }

    /// Writes the mean of cluster `c`, if it has samples, to `center`.
    pub(super) fn mean(&self, c: usize, mut center: ArrayViewMut1<f64>) {
        let count = self.counts[c] as f64;
        if count > 0.0 {
            center.zip_mut_with(&self.sums.row(c), |mean, sum| *mean = sum / count);
        }
    }
}

/// Gives every sample whose bounds leave a doubt to its nearest center, of equally near ones the
/// first; returns the samples that changed with their old labels.
fn assign<T: Coordinate>(points: &Points<T>, partition: &mut Partition) -> Vec<(usize, u32)> {
    let Partition { labels, centers, bounds, .. } = partition;
    let doubtful = which(bounds.iter().map(|bounds| bounds.own > bounds.other));
    let mut changed = Vec::new();
    Centers::new(points, centers).each_nearest(&doubtful, |i, near| {
        bounds[i] = near.bounds();
        let label = near.label as u32;
        if labels[i] != label {
            changed.push((i, labels[i]));
            labels[i] = label;
        }
    });
    changed
}

/// Gives each empty cluster the sample farthest from its center, while any is off its center by
/// more than the rounding of a mean.
fn fill_empty_clusters<T: Coordinate>(points: &Points<T>, partition: &mut Partition) {
    let Partition { labels, centers, sums, bounds } = partition;
    if !sums.counts.contains(&0) {
        return;
    }
    let distance = |(i, &label): (usize, &u32)| {
        squared_distance(points.row(i), entries(&centers.row(label as usize)))
    };
    let mut distances: Vec<f64> = labels.iter().enumerate().map(distance).collect();
    for empty in 0..sums.counts.len() {
        if sums.counts[empty] > 0 {
            continue;
        }
        let mut farthest = 0;
        for (i, &distance) in distances.iter().enumerate() {
            if distance > distances[farthest] {
                farthest = i;
            }
        }
        let row = points.row(farthest).iter();
        let squared_norm: f64 = row.map(|&x| x.into()).map(|x: f64| x * x).sum();
        if distances[farthest] <= 1e-24 * squared_norm {
            return;
        }
        distances[farthest] = 0.0;
        sums.transfer(points, farthest, labels[farthest], empty as u32);
        labels[farthest] = empty as u32;
        bounds[farthest] = UNKNOWN;
    }
}

/// The numbers of a row of an array in standard layout.
pub(super) fn entries<'a>(row: &ArrayView1<'a, f64>) -> &'a [f64] {
    match row.to_slice() {
        Some(numbers) => numbers,
        None => unreachable!("centers are made here in standard layout"),
    }
}

/// The indices of what is true.
pub(super) fn which(conditions: impl ExactSizeIterator<Item = bool>) -> Vec<usize> {
    let mut indices = vec![0; conditions.len()];
    let mut count = 0;
    for (i, condition) in conditions.enumerate() {
        // Written in any case and kept by counting it: a branch would often be mispredicted.
        indices[count] = i;
        count += usize::from(condition);
    }
    indices.truncate(count);
    indices
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_data::Seed;
    use linfa::DatasetBase;
    use linfa::traits::Fit;
    use linfa_clustering::KMeansInit;
    use ndarray::s;
    use rand::Rng;

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
            let ours = iterate(&points, Partition::unlabeled(&points, start), 300, 0.0);
            let centers = Sums::of(&points, &ours.labels, 5).means(&Array2::zeros((5, 6)));
            approx::assert_abs_diff_eq!(centers, *linfa.centroids(), epsilon = 1e-10);
            let theirs = linfa.inertia() * 700.0;
            approx::assert_relative_eq!(ours.inertia(&points), theirs, max_relative = 1e-10);
        }
    }

    #[test]
    fn an_empty_cluster_takes_the_farthest_sample() {
        let samples = ndarray::array![[0.0], [1.0], [2.0], [50.0]];
        let points = Points::new(samples.view());
        // No sample is near the second center.
        let start = Partition::unlabeled(&points, ndarray::array![[1.0], [1000.0]]);
        let ended = iterate(&points, start, 300, 0.0);
        assert_eq!(ended.labels, [0, 0, 0, 1]);
        assert_eq!(ended.inertia(&points), 2.0);
    }
}
