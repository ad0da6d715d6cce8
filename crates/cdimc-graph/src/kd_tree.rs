//! Nearest neighbors by a kd-tree over a few leading principal coordinates, with exact refinement.
//!
//! A projection never increases a distance. The full distances of some points that are near in the tree give a radius;
//! the tree returns all points within it; their full distances select the neighbors.

use crate::closest::{Candidate, Closest};
use crate::cloud::Cloud;
use cdimc_core::linear_algebra::symmetric_eigen;
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use kiddo::{ImmutableKdTree, SquaredEuclidean};
use rayon::prelude::*;
use std::num::NonZeroUsize;

/// Dimensions of the tree; a tree with many more would visit most points.
const DIMENSIONS: usize = 4;
/// Largest number of points for the principal axes; any orthonormal axes give the right neighbors.
const MAX_AXES_SAMPLE: usize = 1024;

/// Conditions of [`Search::Auto`](crate::Search::Auto), from measurements: number of points, points per feature, and
/// share of the variance along the axes.
const MIN_POINTS: usize = 5000;
const MIN_POINTS_PER_FEATURE: usize = 32;
const MIN_VARIANCE_SHARE: f64 = 0.99;

/// Orthonormal directions in order of decreasing variance.
struct Axes {
    scale: f64,
    /// `(n_features, n_axes)`, with at most `DIMENSIONS` axes.
    axes: Mat<f64>,
    /// Share of the variance along the axes.
    share: f64,
    /// Largest ratio of a projected length to its original: 1, except for rounding.
    stretch: f64,
}

impl Axes {
    /// Returns the principal axes, or the coordinates themselves if the tree has dimensions for all of them.
    fn principal(cloud: &Cloud) -> Option<Self> {
        let (n_features, n_points, scale) = (cloud.n_features, cloud.n_points(), cloud.scale?);
        if n_features <= DIMENSIONS {
            let axes = Mat::identity(n_features, n_features);
            return Some(Self { scale, axes, share: 1.0, stretch: 1.0 });
        }
        let step = n_points.div_ceil(MAX_AXES_SAMPLE);
        let sample: Vec<Vec<f64>> =
            (0..n_points).step_by(step).map(|i| cloud.scaled(i, scale).collect()).collect();
        let sample = Mat::from_fn(sample.len(), n_features, |i, j| sample[i][j]);
        let mut covariance = Mat::zeros(n_features, n_features);
        matmul(&mut covariance, Accum::Replace, sample.transpose(), &sample, 1.0, Par::Seq);
        let eigen = symmetric_eigen("kd-tree", covariance.as_ref()).ok()?;
        // Eigenvalues are ascending.
        let axes =
            Mat::from_fn(n_features, DIMENSIONS, |i, a| eigen.vectors[(i, n_features - 1 - a)]);
        let along: f64 = (0..DIMENSIONS).map(|a| eigen.values[n_features - 1 - a]).sum();
        let total: f64 = (0..n_features).map(|a| covariance[(a, a)]).sum();
        // ‖A‖² <= 1 + ‖AᵀA - I‖ for the computed axes A.
        let mut defect = Mat::identity(DIMENSIONS, DIMENSIONS);
        matmul(&mut defect, Accum::Add, axes.transpose(), &axes, -1.0, Par::Seq);
        let stretch = (1.0 + defect.norm_l2()).sqrt();
        stretch.is_finite().then_some(Self { scale, axes, share: along / total, stretch })
    }
}

/// A kd-tree over the projected points.
pub(crate) struct Tree<'a> {
    cloud: &'a Cloud<'a>,
    axes: Axes,
    projected: Vec<[f64; DIMENSIONS]>,
    tree: ImmutableKdTree<f64, DIMENSIONS>,
    /// Upper bound of the rounding error of the distance of two projected points.
    slack: f64,
}

impl<'a> Tree<'a> {
    /// Returns a tree of the points. `None` if none can be built, or if it `must_pay` and all pairs are faster.
    pub(crate) fn new(cloud: &'a Cloud, must_pay: bool) -> Option<Self> {
        let enough = MIN_POINTS.max(MIN_POINTS_PER_FEATURE * cloud.n_features);
        if must_pay && cloud.n_points() < enough {
            return None;
        }
        let pays = |axes: &Axes| !must_pay || axes.share >= MIN_VARIANCE_SHARE;
        let axes = Axes::principal(cloud).filter(pays)?;
        let project = |i: usize| {
            let mut projected = [0.0; DIMENSIONS];
            for (j, x) in cloud.scaled(i, axes.scale).enumerate() {
                for (a, p) in projected[..axes.axes.ncols()].iter_mut().enumerate() {
                    *p += x * axes.axes[(j, a)];
                }
            }
            projected
        };
        let projected: Vec<[f64; DIMENSIONS]> =
            (0..cloud.n_points()).into_par_iter().map(project).collect();
        // A coordinate is a sum of m products of at most 2 each, since scaled coordinates are at most 2. Its error is at most
        // 2m γ(m + 2), u = 2⁻⁵³; the error of a difference of K = 4 coordinates is at most 2 √K times that.
        let m = axes.axes.nrows() as f64;
        let slack = 4.0 * m * (m + 4.0) * f64::EPSILON * (DIMENSIONS as f64).sqrt();
        let tree = ImmutableKdTree::new_from_slice(&projected).ok()?;
        Some(Self { cloud, axes, projected, tree, slack })
    }

    /// Returns the neighbors of every point, nearest first; requires `1 <= n_neighbors < n_points`.
    pub(crate) fn nearest(&self, n_neighbors: usize) -> Vec<Vec<Candidate>> {
        (0..self.cloud.n_points())
            .into_par_iter()
            .map(|i| self.nearest_of(i, n_neighbors).into_sorted())
            .collect()
    }

    fn nearest_of(&self, i: usize, n_neighbors: usize) -> Closest {
        let mut closest = Closest::new(n_neighbors);
        // Twice the required number makes the radius much smaller at little cost. The list has the point itself, unless other
        // points equal it.
        let first = NonZeroUsize::new(2 * n_neighbors + 1).unwrap_or(NonZeroUsize::MIN);
        let query = self.tree.query(&self.projected[i]);
        let first = query.nearest_n::<SquaredEuclidean<f64>>(first).execute();
        for near in first.iter().filter(|near| near.item as usize != i) {
            closest.offer(self.cloud.squared_distance(i, near.item as usize), near.item);
        }
        let mut radius = self.radius(closest.reach());
        let query = self.tree.query(&self.projected[i]);
        let within = query.within::<SquaredEuclidean<f64>>(radius).unsorted().execute();
        let mut measured: Vec<u32> = first.iter().map(|near| near.item).collect();
        measured.sort_unstable();
        for near in within {
            let j = near.item;
            if near.distance <= radius && j as usize != i && measured.binary_search(&j).is_err() {
                closest.offer(self.cloud.squared_distance(i, j as usize), j);
                radius = self.radius(closest.reach());
            }
        }
        closest
    }

    /// Squared tree distance that bounds all points with a full squared distance of at most `reach`; the factor covers the
    /// rounding within the tree.
    fn radius(&self, reach: f64) -> f64 {
        let distance = reach.sqrt() * self.axes.scale * self.axes.stretch + self.slack;
        distance * distance * (1.0 + 1e-12) + f64::MIN_POSITIVE
    }
}
