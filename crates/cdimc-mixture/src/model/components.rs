//! M step of a view: means and scatters of all clusters, shrunk towards the pooled scatter (specification, section
//! 2; Friedman, JASA 84, 1989).

// The kernel and its callees must be inlined into one function compiled for the running processor.
#![allow(clippy::inline_always)]

use crate::model::Prior;
use crate::model::kernel::CACHE_LINE;
use crate::model::moments::ViewMoments;
use pulp::{Arch, Simd, WithSimd};
use std::f64::consts::PI;

/// Avoids division by zero for an empty cluster.
pub(crate) const MIN_CLUSTER_SIZE: f64 = 1e-9;
/// Clusters factorized together.
const BATCH_CLUSTERS: usize = 8;
/// Share of the total variance that is added to the pooled scatter.
const RIDGE_SHARE: f64 = 1e-6;

/// Clusters of a view.
#[derive(Debug, Clone)]
pub(crate) struct Components {
    /// Number of coordinates q.
    pub(crate) width: usize,
    /// Means μ, `(n_clusters, q)`.
    pub(crate) means: Vec<f64>,
    /// Inverse Cholesky factors W of the scatters, Σ⁻¹ = Wᵀ W, `(n_clusters, q (q + 1) / 2)`.
    pub(crate) whitening: Vec<f64>,
    /// Offsets W μ, `(n_clusters, q)`, so that (z - μ)ᵀ Σ⁻¹ (z - μ) = ‖W z - W μ‖².
    pub(crate) offsets: Vec<f64>,
    /// Log normalizing constants -½ log|Σ| - ½ q log 2π.
    pub(crate) constants: Vec<f64>,
}

/// Pooled scatter P of a view, `(q, q)`; only the lower triangle is read.
pub(crate) type Pooled = Vec<f64>;

/// Returns the lower triangles of `S = Σ w (z - μ)(z - μ)ᵀ`, `(n_clusters, q, stride)`.
fn scatters(moments: &ViewMoments, means: &[f64]) -> Vec<f64> {
    let q = moments.width;
    let stride = q.next_multiple_of(CACHE_LINE);
    let mut scatters = moments.second.clone();
    let clusters = scatters.chunks_exact_mut(q * stride).zip(&moments.weights);
    let sums = moments.first.chunks_exact(q).zip(means.chunks_exact(q));
    for ((scatter, weight), (first, mean)) in clusters.zip(sums) {
        for (a, line) in scatter.chunks_exact_mut(stride).enumerate() {
            let (m, f) = (mean[a], first[a]);
            for ((s, &mean), &first) in line[..=a].iter_mut().zip(mean).zip(first) {
                *s += weight * m * mean - m * first - f * mean;
            }
        }
    }
    scatters
}

fn means(moments: &ViewMoments) -> Vec<f64> {
    let q = moments.width;
    let mean = |(c, x): (usize, &f64)| x / (moments.weights[c / q] + MIN_CLUSTER_SIZE);
    moments.first.iter().enumerate().map(mean).collect()
}

/// Returns P = Σ꜀ S꜀ / Σ꜀ N꜀ with the off-diagonal part shrunk by 1 - δ and a ridge on the diagonal.
pub(crate) fn pooled(moments: &ViewMoments, variances: &[f64], prior: &Prior) -> Pooled {
    let q = moments.width;
    let stride = q.next_multiple_of(CACHE_LINE);
    let scatters = scatters(moments, &means(moments));
    let total: f64 = moments.sizes.iter().map(|n| n + MIN_CLUSTER_SIZE).sum();
    let mut pooled = vec![0.0; q * q];
    for scatter in scatters.chunks_exact(q * stride) {
        for (to, from) in pooled.chunks_exact_mut(q).zip(scatter.chunks_exact(stride)) {
            to.iter_mut().zip(from).for_each(|(to, s)| *to += s / total);
        }
    }
    for a in 0..q {
        pooled[a * q..a * q + a].iter_mut().for_each(|p| *p *= 1.0 - prior.diagonal);
        pooled[a * q + a] = pooled[a * q + a].max(0.0) + RIDGE_SHARE * variances[a];
    }
    pooled
}

impl Components {
    /// Computes Σ꜀ = (S꜀ + κ q P) / (N꜀ + κ q); its diagonal s becomes s + ρ² / (s + ρ), with the `resolutions` ρ.
    pub(crate) fn fit(
        moments: &ViewMoments,
        pooled: &[f64],
        resolutions: &[f64],
        prior: &Prior,
    ) -> Self {
        let (q, k) = (moments.width, moments.sizes.len());
        let stride = q.next_multiple_of(CACHE_LINE);
        let means = means(moments);
        let scatters = scatters(moments, &means);
        let size = q * (q + 1) / 2;
        let strength = prior.kappa * q as f64;
        let mut whitening = vec![0.0; k * size];
        let mut constants = vec![0.0; k];
        let mut batch = vec![[0.0; BATCH_CLUSTERS]; size];
        for start in (0..k).step_by(BATCH_CLUSTERS) {
            // Padding lanes hold the pooled scatter; they are unused.
            for (a, pooled) in pooled.chunks_exact(q).enumerate() {
                for (to, p) in batch[a * (a + 1) / 2..].iter_mut().zip(&pooled[..=a]) {
                    *to = [strength * p; BATCH_CLUSTERS];
                }
            }
            let clusters = start..k.min(start + BATCH_CLUSTERS);
            for (lane, c) in clusters.clone().enumerate() {
                let total = 1.0 / (moments.sizes[c] + MIN_CLUSTER_SIZE + strength);
                let scatter = &scatters[c * q * stride..(c + 1) * q * stride];
                for (a, line) in scatter.chunks_exact(stride).enumerate() {
                    for (to, s) in batch[a * (a + 1) / 2..].iter_mut().zip(&line[..=a]) {
                        to[lane] = (to[lane] + s) * total;
                    }
                    let variance = &mut batch[a * (a + 3) / 2][lane];
                    *variance += resolution_floor(*variance, resolutions[a]);
                }
            }
            Arch::new().dispatch(InverseFactors { batch: &mut batch, width: q });
            for (lane, c) in clusters.enumerate() {
                let of_cluster = &mut whitening[c * size..(c + 1) * size];
                of_cluster.iter_mut().zip(&batch).for_each(|(to, from)| *to = from[lane]);
                let diagonal = (0..q).map(|a| batch[a * (a + 3) / 2][lane].ln());
                constants[c] = diagonal.sum::<f64>() - 0.5 * q as f64 * (2.0 * PI).ln();
            }
        }
        Self::new(q, means, whitening, constants)
    }

    /// Returns the clusters of `order`.
    pub(crate) fn select(&self, order: &[usize]) -> Self {
        let k = self.n_clusters();
        let of = |part: &[f64]| {
            let size = part.len() / k;
            order.iter().flat_map(|&c| &part[c * size..(c + 1) * size]).copied().collect()
        };
        Self {
            width: self.width,
            means: of(&self.means),
            whitening: of(&self.whitening),
            offsets: of(&self.offsets),
            constants: of(&self.constants),
        }
    }

    pub(crate) fn new(
        width: usize,
        means: Vec<f64>,
        whitening: Vec<f64>,
        constants: Vec<f64>,
    ) -> Self {
        let mut all = Self { width, means, whitening, offsets: Vec::new(), constants };
        let means = all.means.chunks_exact(width).enumerate();
        all.offsets = means.flat_map(|(c, mean)| all.whitened(c, mean)).collect();
        all
    }

    /// Returns the rows of W of cluster `c`, up to the diagonal.
    pub(crate) fn lines(&self, c: usize) -> impl Iterator<Item = &[f64]> {
        let w = &self.whitening[c * self.width * (self.width + 1) / 2..];
        (0..self.width).map(move |a| &w[a * (a + 1) / 2..][..=a])
    }

    /// Returns W z of cluster `c`.
    pub(crate) fn whitened(&self, c: usize, z: &[f64]) -> Vec<f64> {
        let product = |line: &[f64]| line.iter().zip(z).map(|(w, z)| w * z).sum();
        self.lines(c).map(product).collect()
    }

    /// Returns the squared Mahalanobis distance of the mean of `to` from cluster `from`.
    pub(crate) fn squared_distance(&self, from: usize, to: usize) -> f64 {
        let q = self.width;
        let difference: Vec<f64> =
            (0..q).map(|b| self.means[to * q + b] - self.means[from * q + b]).collect();
        self.whitened(from, &difference).iter().map(|y| y * y).sum()
    }

    pub(crate) fn n_clusters(&self) -> usize {
        self.constants.len()
    }
}

/// Returns ρ² / (s + ρ), the variance added for a resolution ρ: ρ for s = 0, negligible for s much larger than ρ.
fn resolution_floor(variance: f64, resolution: f64) -> f64 {
    if resolution > 0.0 { resolution * (resolution / (variance + resolution)) } else { 0.0 }
}

/// Replaces matrices by the inverses of their Cholesky factors.
struct InverseFactors<'a> {
    /// Interleaved lower triangles.
    batch: &'a mut [[f64; BATCH_CLUSTERS]],
    width: usize,
}

impl WithSimd for InverseFactors<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        factorize(self.batch, self.width);
        invert(self.batch, self.width);
    }
}

/// Replaces the interleaved lower triangles in `batch` by Cholesky factors.
#[inline(always)]
fn factorize(batch: &mut [[f64; BATCH_CLUSTERS]], q: usize) {
    for i in 0..q {
        let line = i * (i + 1) / 2;
        for j in 0..=i {
            let other = j * (j + 1) / 2;
            let mut sum = batch[line + j];
            for p in 0..j {
                let (x, y) = (batch[line + p], batch[other + p]);
                for l in 0..BATCH_CLUSTERS {
                    sum[l] = (-x[l]).mul_add(y[l], sum[l]);
                }
            }
            let pivot = batch[other + j];
            for l in 0..BATCH_CLUSTERS {
                // The prior keeps pivots positive, except for rounding errors on constant data.
                batch[line + j][l] = if i == j {
                    (if sum[l] > f64::MIN_POSITIVE { sum[l] } else { f64::MIN_POSITIVE }).sqrt()
                } else {
                    sum[l] / pivot[l]
                };
            }
        }
    }
}

/// Replaces the interleaved lower triangles in `batch` by their inverses.
#[inline(always)]
fn invert(batch: &mut [[f64; BATCH_CLUSTERS]], q: usize) {
    for i in 0..q {
        let line = i * (i + 1) / 2;
        let mut inverse = [0.0; BATCH_CLUSTERS];
        for l in 0..BATCH_CLUSTERS {
            inverse[l] = 1.0 / batch[line + i][l];
        }
        // From left to right, each entry depends only on entries not yet replaced.
        for j in 0..i {
            let mut sum = [0.0; BATCH_CLUSTERS];
            for p in j..i {
                let (x, y) = (batch[line + p], batch[p * (p + 1) / 2 + j]);
                for l in 0..BATCH_CLUSTERS {
                    sum[l] = x[l].mul_add(y[l], sum[l]);
                }
            }
            for l in 0..BATCH_CLUSTERS {
                batch[line + j][l] = -sum[l] * inverse[l];
            }
        }
        batch[line + i] = inverse;
    }
}
