//! Nearest neighbors by a kd-tree over a few leading principal coordinates, filtered and refined.
//!
//! A projection never lengthens a distance. Some near points of the tree, measured in full, give a
//! radius; the tree gives all points within that radius; full distances decide among them.

use crate::closest::{Candidate, Closest};
use crate::cloud::Cloud;
use crate::exhaustive;
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par, Side};
use kiddo::{ImmutableKdTree, SquaredEuclidean};
use rayon::prelude::*;
use std::num::NonZeroUsize;

/// Dimensions that a tree can have; beyond the last, trees look at most of the points.
const DIMENSIONS: [usize; 4] = [4, 8, 12, 16];
/// Points that the principal axes are taken from; any orthonormal axes give the right neighbors.
const SAMPLE: usize = 1024;

/// The rule of [`Search::Auto`](crate::Search::Auto), from measurements: at least this many points, this many
/// for each feature, and this share of the variance on the first few axes.
const FEWEST_POINTS: usize = 5000;
const POINTS_A_FEATURE: usize = 32;
const LEADING: usize = 4;
const SHARE: f64 = 0.99;

/// The neighbors of every point, nearest first; `1 <= n_neighbors < n_points`.
///
/// Points that a tree cannot be built over are left to the exhaustive search.
pub(crate) fn nearest(cloud: &Cloud, n_neighbors: usize) -> Vec<Vec<Candidate>> {
    let axes = cloud.scale().and_then(|scale| Axes::principal(cloud, scale));
    nearest_along(cloud, axes, n_neighbors)
}

/// The same by the search that the rule of [`Search::Auto`](crate::Search::Auto) takes.
pub(crate) fn nearest_where_it_pays(cloud: &Cloud, n_neighbors: usize) -> Vec<Vec<Candidate>> {
    let enough = FEWEST_POINTS.max(POINTS_A_FEATURE * cloud.n_features());
    let scale = cloud.scale().filter(|_| cloud.n_points() >= enough);
    let axes = scale.and_then(|scale| Axes::principal(cloud, scale));
    nearest_along(cloud, axes.filter(|axes| axes.share(LEADING) >= SHARE), n_neighbors)
}

/// By a tree over these axes, or by all pairs where there are none.
fn nearest_along(cloud: &Cloud, axes: Option<Axes>, n_neighbors: usize) -> Vec<Vec<Candidate>> {
    let found = axes.and_then(|axes| match axes.tree_dimension() {
        4 => Tree::<4>::new(cloud, &axes).map(|tree| tree.nearest(n_neighbors)),
        8 => Tree::<8>::new(cloud, &axes).map(|tree| tree.nearest(n_neighbors)),
        12 => Tree::<12>::new(cloud, &axes).map(|tree| tree.nearest(n_neighbors)),
        _ => Tree::<16>::new(cloud, &axes).map(|tree| tree.nearest(n_neighbors)),
    });
    found.unwrap_or_else(|| exhaustive::nearest(cloud, n_neighbors))
}

/// Orthonormal directions of most variance first.
pub(crate) struct Axes {
    scale: f64,
    /// `(n_features, n_axes)`: at most as many as a tree can have.
    axes: Mat<f64>,
    /// The share of the variance along all axes up to each.
    pub(crate) shares: Vec<f64>,
    /// How much longer than its original a projection can be, at most: 1 but for rounding.
    stretch: f64,
}

impl Axes {
    /// The principal axes, or the coordinates themselves if a tree can have them all.
    pub(crate) fn principal(cloud: &Cloud, scale: f64) -> Option<Self> {
        let (n_features, n_points) = (cloud.n_features(), cloud.n_points());
        if n_features <= DIMENSIONS[DIMENSIONS.len() - 1] {
            let axes = Mat::identity(n_features, n_features);
            let shares = (1..=n_features).map(|a| if a == n_features { 1.0 } else { 0.0 });
            return Some(Self { scale, axes, shares: shares.collect(), stretch: 1.0 });
        }
        let step = n_points.div_ceil(SAMPLE);
        let sample: Vec<Vec<f64>> =
            (0..n_points).step_by(step).map(|i| cloud.scaled(i, scale).collect()).collect();
        let sample = Mat::from_fn(sample.len(), n_features, |i, j| sample[i][j]);
        let mut covariance = Mat::zeros(n_features, n_features);
        matmul(&mut covariance, Accum::Replace, sample.transpose(), &sample, 1.0, Par::Seq);
        let eigen = covariance.self_adjoint_eigen(Side::Lower).ok()?;
        // Eigenvalues ascend.
        let n_axes = DIMENSIONS[DIMENSIONS.len() - 1];
        let axes = Mat::from_fn(n_features, n_axes, |i, a| eigen.U()[(i, n_features - 1 - a)]);
        let total: f64 = (0..n_features).map(|a| covariance[(a, a)]).sum();
        let mut sum = 0.0;
        let shares = (0..n_axes).map(|a| {
            sum += eigen.S()[n_features - 1 - a];
            sum / total
        });
        let shares = shares.collect();
        // ‖A‖² <= 1 + ‖AᵀA - I‖ for the axes A as computed.
        let mut defect = Mat::identity(n_axes, n_axes);
        matmul(&mut defect, Accum::Add, axes.transpose(), &axes, -1.0, Par::Seq);
        let stretch = (1.0 + defect.norm_l2()).sqrt();
        stretch.is_finite().then_some(Self { scale, axes, shares, stretch })
    }

    /// The share of the variance that the first axes hold.
    fn share(&self, n_axes: usize) -> f64 {
        self.shares[n_axes.min(self.shares.len()) - 1]
    }

    /// The fewest dimensions of a tree that hold nine tenths of the variance, or else the most.
    fn tree_dimension(&self) -> usize {
        let enough = |&d: &usize| d >= self.axes.ncols() || self.shares[d - 1] >= 0.9;
        DIMENSIONS.into_iter().find(enough).unwrap_or(DIMENSIONS[DIMENSIONS.len() - 1])
    }
}

/// A kd-tree of `K` dimensions over the projected points.
struct Tree<'a, const K: usize> {
    cloud: &'a Cloud<'a>,
    projected: Vec<[f64; K]>,
    tree: ImmutableKdTree<f64, K>,
    scale: f64,
    stretch: f64,
    /// At least what rounding adds to the distance of two projected points.
    slack: f64,
}

impl<'a, const K: usize> Tree<'a, K> {
    fn new(cloud: &'a Cloud, axes: &Axes) -> Option<Self> {
        let n_axes = axes.axes.ncols().min(K);
        let project = |i: usize| {
            let mut projected = [0.0; K];
            for (j, x) in cloud.scaled(i, axes.scale).enumerate() {
                for (a, p) in projected[..n_axes].iter_mut().enumerate() {
                    *p += x * axes.axes[(j, a)];
                }
            }
            projected
        };
        let projected: Vec<[f64; K]> = (0..cloud.n_points()).into_par_iter().map(project).collect();
        // A coordinate is a sum of m products, each at most 2 as scaled coordinates are: it is off by
        // at most 2m γ(m + 2), u = 2⁻⁵³, and a difference of K of them by 2 √K times that.
        let m = axes.axes.nrows() as f64;
        let slack = 4.0 * m * (m + 4.0) * f64::EPSILON * (K as f64).sqrt();
        let tree = ImmutableKdTree::new_from_slice(&projected).ok()?;
        Some(Self { cloud, projected, tree, scale: axes.scale, stretch: axes.stretch, slack })
    }

    fn nearest(&self, n_neighbors: usize) -> Vec<Vec<Candidate>> {
        (0..self.cloud.n_points())
            .into_par_iter()
            .map(|i| self.nearest_of(i, n_neighbors).into_sorted())
            .collect()
    }

    fn nearest_of(&self, i: usize, n_neighbors: usize) -> Closest {
        let mut closest = Closest::new(n_neighbors);
        // Twice as many as needed make the radius much smaller at little cost; the point itself is
        // among them unless others equal it.
        let first = NonZeroUsize::new(2 * n_neighbors + 1).unwrap_or(NonZeroUsize::MIN);
        let query = self.tree.query(&self.projected[i]);
        let first = query.nearest_n::<SquaredEuclidean<f64>>(first).execute();
        for near in first.iter().filter(|near| near.item as usize != i) {
            closest.offer(self.cloud.squared_distance(i, near.item as usize), near.item);
        }
        let radius = self.radius(closest.reach());
        let query = self.tree.query(&self.projected[i]);
        let within = query.within::<SquaredEuclidean<f64>>(radius).unsorted().execute();
        let mut measured: Vec<u32> = first.iter().map(|near| near.item).collect();
        measured.sort_unstable();
        let mut radius = radius;
        for near in within {
            let j = near.item;
            if near.distance <= radius && j as usize != i && measured.binary_search(&j).is_err() {
                closest.offer(self.cloud.squared_distance(i, j as usize), j);
                radius = self.radius(closest.reach());
            }
        }
        closest
    }

    /// A squared distance in the tree that no point exceeds whose full squared distance is at most
    /// `reach`; the factor covers the roundings within the tree.
    fn radius(&self, reach: f64) -> f64 {
        let distance = reach.sqrt() * self.scale * self.stretch + self.slack;
        distance * distance * (1.0 + 1e-12) + f64::MIN_POSITIVE
    }
}
