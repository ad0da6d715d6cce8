//! Products with the prepared rows of a sparse view, without making them dense.
//!
//! Rows of `unit` are s / |s|. Rows of `standard` and `centered` are (s - m) / σ, the sum of a sparse row and a
//! constant row: P B = S (B / σ) - 1 (mᵀ B / σ).

// Code compiled for one processor must be inlined into one function.
#![allow(clippy::inline_always)]

use crate::coordinates::{Kind, length};
use cdimc_data::Sparse;
use faer::{Mat, MatRef};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use pulp::Arch;
use rayon::prelude::*;

/// Parallel parts of a sum over rows.
const PARTS: usize = 16;

/// Prepared rows P of a sparse view.
pub(crate) struct SparseRows<'a> {
    x: &'a Sparse,
    is_unit: bool,
    means: &'a [f64],
    /// Column factors 1 / σ; 0 for a constant column.
    factors: Vec<f64>,
}

impl<'a> SparseRows<'a> {
    pub(crate) fn new(x: &'a Sparse, kind: Kind, means: &'a [f64], scales: &[f64]) -> Self {
        let is_unit = kind == Kind::Unit;
        let factor = |&scale: &f64| if scale > 0.0 { 1.0 / scale } else { 0.0 };
        Self { x, is_unit, means, factors: scales.iter().map(factor).collect() }
    }

    /// Returns the rows `rows` of P times `b`, `(n_features, q)`.
    pub(crate) fn times(&self, rows: &[usize], b: ArrayView2<'_, f64>) -> Array2<f64> {
        let scaled = self.scaled(b.nrows(), b.ncols(), |j, a| b[[j, a]]);
        let mut images = Array2::zeros((rows.len(), b.ncols()));
        Arch::new().dispatch(|| {
            for (mut to, &i) in images.outer_iter_mut().zip(rows) {
                to.assign(&ArrayView1::from(&self.image(i, &scaled)));
            }
        });
        images
    }

    /// Returns `PᵀP b` over the rows `rows`, in fixed parts, so that the result does not depend on threads.
    pub(crate) fn gram_times(&self, rows: &[usize], b: MatRef<'_, f64>) -> Mat<f64> {
        let (d, q) = (b.nrows(), b.ncols());
        let scaled = self.scaled(d, q, |j, a| b[(j, a)]);
        let part = |rows: &[usize]| {
            let (mut sum, mut total) = (vec![0.0; d * q], vec![0.0; q]);
            // Compiled for the running processor; the order of additions is the same, so every bit is.
            Arch::new().dispatch(|| {
                for &i in rows {
                    let image = self.image(i, &scaled);
                    let factor = self.factor_of_row(i);
                    let (columns, values) = self.x.row(i);
                    for (&j, &x) in columns.iter().zip(values) {
                        let x = x * factor;
                        let to = &mut sum[j as usize * q..][..q];
                        to.iter_mut().zip(&image).for_each(|(to, z)| *to += x * z);
                    }
                    total.iter_mut().zip(&image).for_each(|(to, z)| *to += z);
                }
            });
            (sum, total)
        };
        let size = rows.len().div_ceil(PARTS).max(1);
        let parts: Vec<_> = rows.par_chunks(size).map(part).collect();
        let (mut sum, mut total) = (vec![0.0; d * q], vec![0.0; q]);
        for (of_part, total_of_part) in &parts {
            sum.iter_mut().zip(of_part).for_each(|(to, x)| *to += x);
            total.iter_mut().zip(total_of_part).for_each(|(to, x)| *to += x);
        }
        let mean = |j: usize| if self.is_unit { 0.0 } else { self.means[j] };
        Mat::from_fn(d, q, |j, a| self.factors[j] * (sum[j * q + a] - mean(j) * total[a]))
    }

    /// Returns B / σ by rows, and mᵀ B / σ.
    fn scaled(&self, d: usize, q: usize, b: impl Fn(usize, usize) -> f64) -> Scaled {
        let mut scaled = Scaled { values: Vec::with_capacity(d * q), of_means: vec![0.0; q] };
        for j in 0..d {
            for a in 0..q {
                let value = self.factors[j] * b(j, a);
                scaled.values.push(value);
                if !self.is_unit {
                    scaled.of_means[a] += self.means[j] * value;
                }
            }
        }
        scaled
    }

    /// Returns row `i` of P times B.
    #[inline(always)]
    fn image(&self, i: usize, b: &Scaled) -> Vec<f64> {
        let q = b.of_means.len();
        let mut image = vec![0.0; q];
        let (columns, values) = self.x.row(i);
        for (&j, &x) in columns.iter().zip(values) {
            let from = &b.values[j as usize * q..][..q];
            image.iter_mut().zip(from).for_each(|(z, b)| *z += x * b);
        }
        let factor = self.factor_of_row(i);
        image.iter_mut().zip(&b.of_means).for_each(|(z, mean)| *z = *z * factor - mean);
        image
    }

    /// Returns the factor of row `i`: 1 / |s| in `unit`, else 1.
    fn factor_of_row(&self, i: usize) -> f64 {
        if !self.is_unit {
            return 1.0;
        }
        let (columns, values) = self.x.row(i);
        let informative =
            columns.iter().zip(values).filter(|&(&j, _)| self.factors[j as usize] > 0.0);
        let length = length(informative.map(|(_, &x)| x).collect::<Array1<f64>>().view());
        if length > 0.0 { 1.0 / length } else { 0.0 }
    }
}

/// B / σ, `(n_features, q)` by rows, and mᵀ B / σ.
struct Scaled {
    values: Vec<f64>,
    of_means: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_data::Seed;
    use rand::Rng;

    #[test]
    fn sparse_and_dense_products_agree() {
        let (n, d, q) = (40, 30, 3);
        let mut rng = Seed::new(1).rng();
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for _ in 0..n {
            for j in (0..d).filter(|_| rng.gen_bool(0.2)).collect::<Vec<_>>() {
                columns.push(j as u32);
                values.push(rng.gen_range(-1.0..5.0));
            }
            starts.push(values.len());
        }
        let x = Sparse::from_rows(d, starts, columns, values).unwrap();
        let b = Array2::from_shape_fn((d, q), |_| rng.gen_range(-1.0..1.0));
        let means: Vec<f64> = (0..d).map(|_| rng.gen_range(0.0..1.0)).collect();
        let scales: Vec<f64> = (0..d).map(|j| if j == 4 { 0.0 } else { 0.5 + j as f64 }).collect();
        let rows: Vec<usize> = (0..n).filter(|i| i % 3 != 1).collect();
        for kind in [Kind::Unit, Kind::Standard] {
            let mut dense = x.dense().select(ndarray::Axis(0), &rows);
            let scales: Vec<f64> = match kind {
                Kind::Unit => scales.iter().map(|s| s.min(1.0).ceil()).collect(),
                _ => scales.clone(),
            };
            for mut row in dense.rows_mut() {
                for (j, x) in row.iter_mut().enumerate() {
                    let mean = if kind == Kind::Unit { 0.0 } else { means[j] };
                    *x = if scales[j] > 0.0 { (*x - mean) / scales[j] } else { 0.0 };
                }
                if kind == Kind::Unit {
                    let length = length(row.view()).max(f64::MIN_POSITIVE);
                    row.mapv_inplace(|x| x / length);
                }
            }
            let sparse = SparseRows::new(&x, kind, &means, &scales);
            let off = &sparse.times(&rows, b.view()) - &dense.dot(&b);
            assert!(off.iter().all(|x| x.abs() < 1e-12), "{kind:?}");
            let expected = dense.t().dot(&dense.dot(&b));
            let gram = sparse.gram_times(&rows, Mat::from_fn(d, q, |j, a| b[[j, a]]).as_ref());
            let off = expected.indexed_iter().map(|((j, a), x)| (gram[(j, a)] - x).abs());
            assert!(off.fold(0.0, f64::max) < 1e-11, "{kind:?}");
        }
    }
}
