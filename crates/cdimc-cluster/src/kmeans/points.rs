//! Distances from all points to some centers, by matrix products.

use faer::linalg::matmul::matmul;
use faer::traits::ComplexField;
use faer::{Accum, MatMut, MatRef, Par};
use ndarray::{Array2, ArrayView1, ArrayView2};
use rayon::prelude::*;
use std::ops::Range;

/// Rows that are multiplied at a time: few enough for a core's cache.
pub(super) const BLOCK: usize = 256;

/// A coordinate of a point: `f32` or `f64`.
pub trait Coordinate: sealed::Multiply + Copy + Into<f64> + Send + Sync {}
impl Coordinate for f32 {}
impl Coordinate for f64 {}

mod sealed {
    /// What k-means does in the precision of its points.
    pub trait Multiply: Sized {
        /// The nearest number of this precision.
        fn rounded(x: f64) -> Self;

        /// The products of the rows of `a` with those of `b`, each of `width` numbers, into
        /// `products`, which has a row for each row of `a`.
        fn multiply(a: &[Self], b: &[Self], width: usize, products: &mut Vec<Self>);
    }

    impl Multiply for f32 {
        fn rounded(x: f64) -> Self {
            x as Self
        }

        fn multiply(a: &[Self], b: &[Self], width: usize, products: &mut Vec<Self>) {
            super::multiply(a, b, width, products);
        }
    }

    impl Multiply for f64 {
        fn rounded(x: f64) -> Self {
            x
        }

        fn multiply(a: &[Self], b: &[Self], width: usize, products: &mut Vec<Self>) {
            super::multiply(a, b, width, products);
        }
    }
}

fn multiply<T: ComplexField + Copy>(a: &[T], b: &[T], width: usize, products: &mut Vec<T>) {
    let (n_rows, n_columns) = (a.len() / width, b.len() / width);
    products.resize(n_rows * n_columns, T::zero_impl());
    matmul(
        MatMut::from_row_major_slice_mut(products, n_rows, n_columns),
        Accum::Replace,
        MatRef::from_row_major_slice(a, n_rows, width),
        MatRef::from_row_major_slice(b, n_columns, width).transpose(),
        T::one_impl(),
        Par::Seq,
    );
}

/// The points, their mean, and how far they are from it.
pub(super) struct Points<'a, T> {
    values: ArrayView2<'a, T>,
    rows: &'a [T],
    mean: Vec<f64>,
    /// Squared distances from the mean.
    norms: Vec<f64>,
}

impl<'a, T: Coordinate> Points<'a, T> {
    /// The rows of `values`, which are in standard layout.
    pub(super) fn new(values: ArrayView2<'a, T>) -> Self {
        let mut mean = vec![0.0; values.ncols()];
        for row in values.outer_iter() {
            for (m, &x) in mean.iter_mut().zip(row) {
                *m += x.into();
            }
        }
        mean.iter_mut().for_each(|m| *m /= values.nrows() as f64);
        let mut points =
            Self { values, rows: values.to_slice().unwrap_or(&[]), mean, norms: vec![] };
        let mean = ArrayView1::from(&points.mean);
        points.norms = (0..points.n_samples())
            .into_par_iter()
            .map(|i| points.squared_distance(i, mean))
            .collect();
        points
    }

    pub(super) fn n_samples(&self) -> usize {
        self.values.nrows()
    }

    pub(super) fn n_features(&self) -> usize {
        self.values.ncols()
    }

    /// The mean over the columns of their variance.
    pub(super) fn mean_variance(&self) -> f64 {
        self.norms.iter().sum::<f64>() / (self.n_samples() * self.n_features().max(1)) as f64
    }

    pub(super) fn row(&self, i: usize) -> &[T] {
        let m = self.n_features();
        &self.rows[i * m..(i + 1) * m]
    }

    /// The squared distance of sample `i` to `center`, from direct differences.
    pub(super) fn squared_distance(&self, i: usize, center: ArrayView1<f64>) -> f64 {
        const LANES: usize = 8;
        let mut sums = [0.0; LANES];
        let row = self.row(i);
        let difference = |x: T, c: f64| {
            let difference = x.into() - c;
            difference * difference
        };
        match center.as_slice() {
            Some(center) => {
                let (rows, row_rest) = row.as_chunks::<LANES>();
                let (centers, center_rest) = center.as_chunks::<LANES>();
                for (x, c) in rows.iter().zip(centers) {
                    for ((sum, &x), &c) in sums.iter_mut().zip(x).zip(c) {
                        *sum += difference(x, c);
                    }
                }
                for ((sum, &x), &c) in sums.iter_mut().zip(row_rest).zip(center_rest) {
                    *sum += difference(x, c);
                }
                sums.iter().sum()
            }
            None => row.iter().zip(center).map(|(&x, &c)| difference(x, c)).sum(),
        }
    }

    /// The rows of `samples`, one after another.
    pub(super) fn rows(&self, samples: Range<usize>) -> &[T] {
        &self.rows[samples.start * self.n_features()..samples.end * self.n_features()]
    }

    /// The samples as centers.
    pub(super) fn centers_at(&self, samples: &[usize]) -> Array2<f64> {
        let mut centers = Array2::zeros((samples.len(), self.n_features()));
        for (mut center, &sample) in centers.outer_iter_mut().zip(samples) {
            center.iter_mut().zip(self.row(sample)).for_each(|(c, &x)| *c = x.into());
        }
        centers
    }

    /// The squared distance of sample `i` to center `c`, given their product.
    pub(super) fn distance_by_product(
        &self,
        i: usize,
        centers: &Centers<T>,
        c: usize,
        product: T,
    ) -> f64 {
        (self.norms[i] + 2.0 * (centers.offsets[c] - product.into())).max(0.0)
    }
}

/// Centers made ready for products with the points.
///
/// With c' = c - mean, ‖x - c‖² = ‖x - mean‖² + 2 (½‖c'‖² + mean·c' - x·c'): the product alone
/// rounds in the precision of the points, and for points far from 0 it is of their spread.
pub(super) struct Centers<T> {
    /// The centers less the mean, `(n_centers, n_features)`.
    shifted: Vec<T>,
    /// ½‖c'‖² + mean·c'.
    offsets: Vec<f64>,
}

impl<T: Coordinate> Centers<T> {
    pub(super) fn new(points: &Points<T>, centers: ArrayView2<f64>) -> Self {
        let mut shifted = Vec::with_capacity(centers.len());
        let mut offsets = Vec::with_capacity(centers.nrows());
        for center in centers.outer_iter() {
            let mut offset = 0.0;
            for (c, mean) in center.iter().zip(&points.mean) {
                let rounded = T::rounded(c - mean);
                let x: f64 = rounded.into();
                offset += x * (x / 2.0 + mean);
                shifted.push(rounded);
            }
            offsets.push(offset);
        }
        Self { shifted, offsets }
    }

    pub(super) fn n_centers(&self) -> usize {
        self.offsets.len()
    }

    /// The products of `rows`, row after row, with each center, `(n_rows, n_centers)`.
    pub(super) fn products(&self, rows: &[T], products: &mut Vec<T>) {
        T::multiply(rows, &self.shifted, self.shifted.len() / self.n_centers(), products);
    }

    /// Calls `visit` with each of `samples`, which are in increasing order, and its products with
    /// the centers.
    pub(super) fn each_products(
        &self,
        points: &Points<T>,
        samples: &[usize],
        mut visit: impl FnMut(usize, &[T]),
    ) {
        let (mut gathered, mut products) = (Vec::new(), Vec::new());
        for of_block in samples.chunk_by(|a, b| a / BLOCK == b / BLOCK) {
            let start = of_block[0] / BLOCK * BLOCK;
            let block = start..points.n_samples().min(start + BLOCK);
            // Copying rows together pays when few of the block are wanted.
            let is_sparse = 2 * of_block.len() < block.len();
            if is_sparse {
                gathered.clear();
                of_block.iter().for_each(|&i| gathered.extend_from_slice(points.row(i)));
            }
            let rows = if is_sparse { &gathered } else { points.rows(block) };
            self.products(rows, &mut products);
            for (position, &i) in of_block.iter().enumerate() {
                let row = if is_sparse { position } else { i - start };
                visit(i, &products[row * self.n_centers()..(row + 1) * self.n_centers()]);
            }
        }
    }
}
