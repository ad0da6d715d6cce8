//! Points with what every search needs to know of them beforehand.

use crate::squared_distance;

/// Points row after row, their mean, scale and duplicates.
pub(crate) struct Cloud<'a> {
    points: &'a [f64],
    n_features: usize,
    mean: Vec<f64>,
    /// The power of two that brings the greatest coordinate, less the mean, into 1..2; none if the
    /// squares of the coordinates leave the range of `f64`, or all points are equal.
    scale: Option<f64>,
    /// The first point equal to each point: in a sparse view most pairs may be equal.
    representative: Vec<u32>,
}

impl<'a> Cloud<'a> {
    /// At least one point of `n_features >= 1` finite coordinates.
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
        Self {
            points,
            n_features,
            mean,
            scale,
            representative: representatives(points, n_features),
        }
    }

    pub(crate) fn n_points(&self) -> usize {
        self.representative.len()
    }

    pub(crate) fn n_features(&self) -> usize {
        self.n_features
    }

    pub(crate) fn scale(&self) -> Option<f64> {
        self.scale
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.points[i * self.n_features..(i + 1) * self.n_features]
    }

    /// The coordinates of point `i` less the mean, times `scale`.
    pub(crate) fn scaled(&self, i: usize, scale: f64) -> impl Iterator<Item = f64> {
        self.row(i).iter().zip(&self.mean).map(move |(x, m)| (x - m) * scale)
    }

    /// The squared Euclidean distance: the one that decides in every search.
    pub(crate) fn squared_distance(&self, i: usize, j: usize) -> f64 {
        if self.representative[i] == self.representative[j] {
            0.0
        } else {
            squared_distance(self.row(i), self.row(j))
        }
    }
}

/// The first point equal to each point, found among those of equal sum.
fn representatives(points: &[f64], n_features: usize) -> Vec<u32> {
    let row = |i: u32| &points[i as usize * n_features..(i as usize + 1) * n_features];
    let mut order: Vec<(f64, u32)> = points
        .chunks_exact(n_features)
        .zip(0..)
        .map(|(row, i)| (row.iter().map(|x| x.abs()).sum(), i))
        .collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut representative: Vec<u32> = (0..order.len() as u32).collect();
    for pair in order.windows(2) {
        let candidate = representative[pair[0].1 as usize];
        if row(candidate) == row(pair[1].1) {
            representative[pair[1].1 as usize] = candidate;
        }
    }
    representative
}
