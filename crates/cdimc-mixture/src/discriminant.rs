//! Discriminant coordinates: the plane of the cluster means, whitened within clusters.

use crate::coordinates::leading;
use crate::model::Mixture;
use crate::model::components::Pooled;
use crate::observations::Observations;
use faer::Mat;
use ndarray::Array2;

/// Maximum number of coordinates.
const MAX_DIRECTIONS: usize = 10;
/// Probabilities below this are ignored.
const MIN_PROBABILITY: f64 = 1e-12;

/// Map from the coordinates of the views to common coordinates that separate the clusters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Discriminant {
    /// Directions, `(q, r)` per view.
    pub(crate) directions: Vec<Array2<f64>>,
    /// Cluster means, `(n_clusters, r)` per view.
    pub(crate) means: Vec<Array2<f64>>,
}

impl Discriminant {
    /// Finds the leading directions of the concatenated cluster means, whitened by the pooled scatters P.
    pub(crate) fn new(mixture: &Mixture, pooled: &[Pooled]) -> Self {
        let k = mixture.n_clusters();
        let total: usize = mixture.views.iter().map(|view| view.width).sum();
        let weights: Vec<f64> = mixture.log_weights.iter().map(|w| w.exp()).collect();
        let sum: f64 = weights.iter().sum();
        // Whitened by the inverse Cholesky factor of P, centered by the weights of the clusters.
        let views = mixture.views.iter().zip(pooled);
        let inverse: Vec<_> = views.map(|(view, p)| inverse_factor(p, view.width)).collect();
        let mut centered = Array2::<f64>::zeros((k, total));
        let mut start = 0;
        for (view, inverse) in mixture.views.iter().zip(&inverse) {
            let q = view.width;
            let mean = |c: usize, b: usize| view.means[c * q + b];
            let middle = |b| (0..k).map(|c| weights[c] * mean(c, b)).sum::<f64>() / sum;
            let middle: Vec<f64> = (0..q).map(middle).collect();
            let differences = Array2::from_shape_fn((k, q), |(c, b)| mean(c, b) - middle[b]);
            let whitened = differences.dot(&inverse.t());
            centered.slice_mut(ndarray::s![.., start..start + q]).assign(&whitened);
            start += q;
        }
        // The inner products of the k weighted means suffice.
        let gram = Mat::from_fn(k, k, |a, b| {
            (weights[a] * weights[b]).sqrt() * centered.row(a).dot(&centered.row(b))
        });
        let r = (k - 1).min(MAX_DIRECTIONS).min(total).max(1);
        let directions = leading::of_matrix(gram.as_ref(), r).map_or_else(
            // Without distinct means, all planes are equivalent.
            |_| Array2::zeros((total, r)),
            |leading| {
                let r = leading.values.len();
                Array2::from_shape_fn((total, r), |(b, j)| {
                    let along =
                        |c: usize| weights[c].sqrt() * leading.vectors[(c, j)] * centered[[c, b]];
                    let length = leading.values[j].max(f64::MIN_POSITIVE).sqrt();
                    (0..k).map(along).sum::<f64>() / length
                })
            },
        );
        let (mut of_views, mut of_means) = (Vec::new(), Vec::new());
        let mut start = 0;
        for (view, inverse) in mixture.views.iter().zip(&inverse) {
            let q = view.width;
            let own = directions.slice(ndarray::s![start..start + q, ..]);
            let of_view = inverse.t().dot(&own);
            let means = Array2::from_shape_fn((k, q), |(c, b)| view.means[c * q + b]);
            of_means.push(means.dot(&of_view));
            of_views.push(of_view);
            start += q;
        }
        Self { directions: of_views, means: of_means }
    }

    /// Returns the coordinates of every sample, `(n_samples, r)`; a missing view is replaced by the mean of its
    /// clusters, weighted by `probabilities`, `(n_samples, n_clusters)`.
    pub(crate) fn embed(
        &self,
        observations: &Observations,
        probabilities: &Array2<f64>,
    ) -> Array2<f64> {
        let r = self.directions.first().map_or(0, Array2::ncols);
        let mut embedded = Array2::zeros((observations.n_samples, r));
        for (v, (directions, means)) in self.directions.iter().zip(&self.means).enumerate() {
            let mut missing = vec![true; observations.n_samples];
            observations.each_row(v, |i, z| {
                missing[i] = false;
                for (b, &z) in z.iter().enumerate() {
                    embedded.row_mut(i).scaled_add(z, &directions.row(b));
                }
            });
            for i in (0..missing.len()).filter(|&i| missing[i]) {
                for (c, &p) in
                    probabilities.row(i).iter().enumerate().filter(|(_, p)| **p > MIN_PROBABILITY)
                {
                    embedded.row_mut(i).scaled_add(p, &means.row(c));
                }
            }
        }
        embedded
    }
}

/// Returns the inverse Cholesky factor of `pooled`, `(q, q)`; reads only the lower triangle.
fn inverse_factor(pooled: &[f64], q: usize) -> Array2<f64> {
    let mut factor = Array2::<f64>::zeros((q, q));
    for i in 0..q {
        for j in 0..=i {
            let inside: f64 = (0..j).map(|p| factor[[i, p]] * factor[[j, p]]).sum();
            let rest = pooled[i * q + j] - inside;
            factor[[i, j]] =
                if i == j { rest.max(f64::MIN_POSITIVE).sqrt() } else { rest / factor[[j, j]] };
        }
    }
    let mut inverse = Array2::<f64>::zeros((q, q));
    for j in 0..q {
        inverse[[j, j]] = 1.0 / factor[[j, j]];
        for i in j + 1..q {
            let inside: f64 = (j..i).map(|p| factor[[i, p]] * inverse[[p, j]]).sum();
            inverse[[i, j]] = -inside / factor[[i, i]];
        }
    }
    inverse
}
