//! The points of k-means, and their squared distances to many centers at once.

use crate::squared_distance;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

/// A coordinate of a point: `f32` or `f64`.
pub trait Coordinate: Copy + Into<f64> + Send + Sync {}
impl Coordinate for f32 {}
impl Coordinate for f64 {}

/// Number of samples in a thread's block.
const BLOCK_SIZE: usize = 256;

/// The points, with their mean: distances relative to the mean lose the fewest digits.
pub(super) struct Points<'a, T> {
    values: ArrayView2<'a, T>,
    mean: Vec<f64>,
    /// Squared distances from the mean.
    pub(super) norms: Vec<f64>,
}

impl<'a, T: Coordinate> Points<'a, T> {
    /// Wraps `values`, which must be in standard layout and have at least one feature.
    pub(super) fn new(values: ArrayView2<'a, T>) -> Self {
        let n_samples = values.nrows() as f64;
        let mut mean = vec![0.0; values.ncols()];
        for row in values.rows() {
            mean.iter_mut().zip(row).for_each(|(sum, &x)| *sum += x.into());
        }
        mean.iter_mut().for_each(|m| *m /= n_samples);
        let mut points = Self { values, mean, norms: Vec::new() };
        let norm = |i| squared_distance(points.row(i), &points.mean);
        points.norms = (0..values.nrows()).into_par_iter().map(norm).collect();
        points
    }

    pub(super) fn n_samples(&self) -> usize {
        self.values.nrows()
    }

    pub(super) fn n_features(&self) -> usize {
        self.values.ncols()
    }

    /// Mean variance of the columns.
    pub(super) fn mean_variance(&self) -> f64 {
        self.norms.iter().sum::<f64>() / self.values.len() as f64
    }

    pub(super) fn are_equal(&self) -> bool {
        let same = |(&x, &first): (&T, &T)| x.into() == first.into();
        self.values.rows().into_iter().all(|row| row.iter().zip(self.row(0)).all(same))
    }

    pub(super) fn row(&self, i: usize) -> &[T] {
        let n_features = self.n_features();
        let values = self.values.to_slice().unwrap_or_default();
        &values[i * n_features..(i + 1) * n_features]
    }

    /// Returns these samples as centers.
    pub(super) fn centers_at(&self, samples: &[usize]) -> Array2<f64> {
        Array2::from_shape_fn((samples.len(), self.n_features()), |(c, j)| {
            self.values[(samples[c], j)].into()
        })
    }

    /// Squared distance of a center from the mean.
    pub(super) fn norm_of(&self, center: &[f64]) -> f64 {
        squared_distance(center, &self.mean)
    }

    /// Calls `visit` per block of samples with its first sample and the squared distances to all `centers`,
    /// `(n_block, n_centers)` row-major; returns the results in the order of the blocks.
    ///
    /// ‖x - c‖² = ‖x‖² - 2 x·c + ‖c‖², with x and c relative to the mean.
    pub(super) fn distances<R: Send>(
        &self,
        centers: &Array2<f64>,
        visit: impl Fn(usize, &[f64]) -> R + Sync,
    ) -> Vec<R> {
        let (n_centers, n_features) = centers.dim();
        let counted =
            |row: &[f64]| row.iter().zip(&self.mean).map(|(c, m)| c - m).collect::<Vec<_>>();
        let coordinates: Vec<f64> =
            entries(centers).chunks_exact(n_features).flat_map(counted).collect();
        let norms: Vec<f64> =
            coordinates.chunks_exact(n_features).map(|c| c.iter().map(|x| x * x).sum()).collect();
        let centers = MatRef::from_row_major_slice(&coordinates, n_centers, n_features);
        let n_blocks = self.n_samples().div_ceil(BLOCK_SIZE);
        let of_block = |(buffers, block): (&mut (Vec<f64>, Vec<f64>), usize)| {
            let start = block * BLOCK_SIZE;
            let rows = start..(start + BLOCK_SIZE).min(self.n_samples());
            let (x, distances) = buffers;
            x.clear();
            for i in rows.clone() {
                x.extend(self.row(i).iter().zip(&self.mean).map(|(&x, m)| x.into() - m));
            }
            distances.resize(rows.len() * n_centers, 0.0);
            let products = MatMut::from_row_major_slice_mut(distances, rows.len(), n_centers);
            let x = MatRef::from_row_major_slice(x, rows.len(), n_features);
            matmul(products, Accum::Replace, x, centers.transpose(), -2.0, Par::Seq);
            for (distances, x) in distances.chunks_exact_mut(n_centers).zip(&self.norms[rows]) {
                for (distance, c) in distances.iter_mut().zip(&norms) {
                    *distance = distance_of(*distance, x + c);
                }
            }
            visit(start, distances)
        };
        (0..n_blocks).into_par_iter().map_init(Default::default, |b, i| of_block((b, i))).collect()
    }
}

/// Squared distance from -2 x·c and ‖x‖² + ‖c‖²; 0 if it is only the rounding error of equal points.
fn distance_of(product: f64, squares: f64) -> f64 {
    const ROUNDING: f64 = 1e-14;
    let distance = product + squares;
    if distance > ROUNDING * squares { distance } else { 0.0 }
}

/// Entries of an array in standard layout.
pub(super) fn entries(array: &Array2<f64>) -> &[f64] {
    array.as_slice().unwrap_or_else(|| unreachable!("centers are made here in standard layout"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn products_give_the_distances_of_direct_differences() {
        let values =
            Array2::from_shape_fn((300, 7), |(i, j)| 1e3 + ((i * 31 + j * 17) % 97) as f64);
        let points = Points::new(values.view());
        let centers = points.centers_at(&[3, 299, 0]);
        let blocks = points.distances(&centers, |start, distances| (start, distances.to_vec()));
        assert_eq!(blocks.iter().map(|(start, _)| *start).collect::<Vec<_>>(), [0, 256]);
        let found: Vec<f64> = blocks.into_iter().flat_map(|(_, distances)| distances).collect();
        for (i, found) in found.chunks_exact(3).enumerate() {
            for (center, &found) in entries(&centers).chunks_exact(7).zip(found) {
                let expected = squared_distance(points.row(i), center);
                assert!((found - expected).abs() <= 1e-9, "{i}: {found} {expected}");
            }
        }
    }

    #[test]
    fn equal_points_are_at_distance_0() {
        let values = array![[0.1_f32, 1e5], [0.1, 1e5], [-7.0, 0.0]];
        let points = Points::new(values.view());
        let found = points.distances(&points.centers_at(&[0]), |_, distances| distances.to_vec());
        assert_eq!(found[0][..2], [0.0, 0.0]);
    }
}
