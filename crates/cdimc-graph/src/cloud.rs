//! Points with the statistics that every search needs.

use cdimc_core::squared_distance;

/// Points in row-major order, with their mean and scale.
pub(crate) struct Cloud<'a> {
    points: &'a [f64],
    pub(crate) n_features: usize,
    mean: Vec<f64>,
    /// Power of two that brings the largest centered coordinate into 1..2; `None` if squares of the coordinates leave the
    /// range of `f64`, or if all points are equal.
    pub(crate) scale: Option<f64>,
}

impl<'a> Cloud<'a> {
    /// Wraps at least one point of `n_features >= 1` finite coordinates.
    pub(crate) fn new(points: &'a [f64], n_features: usize) -> Self {
        let n_points = points.len() / n_features;
        let mut mean = vec![0.0; n_features];
        for row in points.chunks_exact(n_features) {
            for (m, x) in mean.iter_mut().zip(row) {
                *m += x / n_points as f64;
            }
        }
        let greatest = points
            .chunks_exact(n_features)
            .flat_map(|row| row.iter().zip(&mean).map(|(x, m)| (x - m).abs()))
            .fold(0.0, f64::max);
        let is_ordinary = (1e-100..1e100).contains(&greatest);
        let scale = is_ordinary.then(|| (-greatest.log2().floor()).exp2());
        Self { points, n_features, mean, scale }
    }

    pub(crate) fn n_points(&self) -> usize {
        self.points.len() / self.n_features
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.points[i * self.n_features..(i + 1) * self.n_features]
    }

    /// Centered coordinates of point `i`, times `scale`.
    pub(crate) fn scaled(&self, i: usize, scale: f64) -> impl Iterator<Item = f64> {
        self.row(i).iter().zip(&self.mean).map(move |(x, m)| (x - m) * scale)
    }

    /// Squared Euclidean distance, as compared in every search.
    pub(crate) fn squared_distance(&self, i: usize, j: usize) -> f64 {
        squared_distance(self.row(i), self.row(j))
    }
}
