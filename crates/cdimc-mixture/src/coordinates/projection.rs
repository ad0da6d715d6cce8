//! Map from the rows of one view to coordinates.

use crate::coordinates::leading::{self, KRYLOV_WIDE, product};
use crate::coordinates::normal_scores::NormalScores;
use crate::coordinates::profile::{ColumnProfile, resolutions};
use crate::coordinates::sparse::SparseRows;
use crate::coordinates::{Kind, length};
use cdimc_core::ClusterError;
use cdimc_data::Matrix;
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, Mat, MatRef, Par};
use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;
use std::sync::Arc;

/// Rows per block.
const BLOCK_ROWS: usize = 256;
/// Parallel parts of a sum over rows.
const PARTS: usize = 16;
/// Largest Gram matrix that is formed.
const MAX_GRAM_SIZE: usize = 3000;
/// A column with a smaller SD relative to its mean counts as constant.
const MIN_RELATIVE_SD: f64 = 1e-12;
/// A column is dropped if the columns before it leave no more than this share of its variance unexplained.
const MIN_VARIANCE_SHARE: f64 = 1e-3;
/// Size from which a sum is large, in numbers.
const LARGE_SUM_NUMBERS: usize = 1 << 20;
/// Parts of a large sum in memory at the same time.
const LARGE_SUM_PARTS: usize = 4;

/// Map from the rows of a view to coordinates (specification, section 1).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Projection {
    pub(crate) kind: Kind,
    /// Normal scores, applied first; `ranks` only.
    pub(crate) scores: Option<NormalScores>,
    /// Column means; zeros in `unit`.
    pub(crate) means: Vec<f64>,
    /// Divisors of the columns, 0 for a constant column; in `unit` 1, or 0 for a column of zeros.
    pub(crate) scales: Vec<f64>,
    /// Directions, `(n_features, q)`; `None` if the columns themselves are the coordinates. Clones share them.
    pub(crate) directions: Option<Arc<Array2<f64>>>,
    /// Means of the coordinates, subtracted last.
    pub(crate) shift: Vec<f64>,
    /// Variance of each coordinate that rounding alone gives.
    pub(crate) resolutions: Vec<f64>,
}

impl Projection {
    /// Fits at most `q` coordinates to the rows `rows` of a view with the column profiles `columns`.
    pub(crate) fn fit(
        x: &Matrix,
        rows: &[usize],
        columns: &[ColumnProfile],
        q: usize,
        kind: Kind,
    ) -> Result<Self, ClusterError> {
        let d = x.ncols();
        let mut fitted = Self {
            kind,
            scores: (kind == Kind::Ranks).then(|| NormalScores::fit(x, rows)),
            means: vec![0.0; d],
            scales: vec![1.0; d],
            directions: None,
            shift: Vec::new(),
            resolutions: Vec::new(),
        };
        let of_scores = fitted.scores.as_ref().map(|scores| scores.profiles(x, rows, columns));
        let columns = of_scores.as_deref().unwrap_or(columns);
        if kind == Kind::Unit {
            let is_zeros = |column: &ColumnProfile| column.is_constant() && column.mean == 0.0;
            fitted.scales = columns.iter().map(|c| if is_zeros(c) { 0.0 } else { 1.0 }).collect();
        } else {
            fitted.scale(columns);
        }
        let n = rows.len();
        let directions = if q + 1 < d.min(n) {
            Some(fitted.leading_directions(x, rows, q)?)
        } else if n <= d {
            // n centered rows span n - 1 directions.
            Some(fitted.leading_directions(x, rows, (n - 1).max(1))?)
        } else if kind == Kind::Unit {
            // Columns of unit rows are not linearly dependent.
            None
        } else {
            fitted.independent_columns(x, rows)
        };
        fitted.directions = directions.map(Arc::new);
        let relative = fitted.relative_resolutions(columns);
        fitted.resolutions = resolutions(&relative, columns, fitted.directions.as_deref());
        fitted.shift = vec![0.0; fitted.width()];
        let mut shift = vec![0.0; fitted.width()];
        for row in fitted.of_rows(x, rows).rows() {
            shift.iter_mut().zip(row).for_each(|(s, z)| *s += z / n as f64);
        }
        fitted.shift = shift;
        Ok(fitted)
    }

    pub(crate) fn width(&self) -> usize {
        self.directions.as_deref().map_or(self.means.len(), Array2::ncols)
    }

    /// Returns the rows `rows` of `x` that have a direction. In `unit`, these have a nonzero value in a column that
    /// was not all zeros in the fit; if all columns were, every row is kept.
    pub(crate) fn nonzero_rows(&self, x: &Matrix, mut rows: Vec<usize>) -> Vec<usize> {
        if self.kind != Kind::Unit || self.scales.iter().all(|&scale| scale == 0.0) {
            return rows;
        }
        rows.retain(|&i| x.stored(i).any(|(j, x)| x != 0.0 && self.scales[j] > 0.0));
        rows
    }

    /// Returns the coordinates of the rows `rows` of `x`, `(n_rows, q)`, by blocks in parallel.
    pub(crate) fn of_rows(&self, x: &Matrix, rows: &[usize]) -> Array2<f64> {
        let mut all = Array2::zeros((rows.len(), self.width()));
        let blocks = all.axis_chunks_iter_mut(Axis(0), BLOCK_ROWS).zip(rows.chunks(BLOCK_ROWS));
        let blocks: Vec<_> = blocks.collect();
        blocks.into_par_iter().for_each(|(mut to, rows)| to.assign(&self.coordinates(x, rows)));
        all
    }

    /// Returns the coordinates of one block of rows.
    fn coordinates(&self, x: &Matrix, rows: &[usize]) -> Array2<f64> {
        let mut z = match (&self.directions, self.sparse_rows(x)) {
            (None, _) => self.prepared(x, rows),
            (Some(directions), Some(sparse)) => sparse.times(rows, directions.view()),
            (Some(directions), None) => dot(self.prepared(x, rows).view(), directions.view()),
        };
        for mut row in z.rows_mut() {
            if self.kind == Kind::Unit && self.directions.is_some() {
                let length = length(row.view());
                row.mapv_inplace(|x| if length > 0.0 { x / length } else { 0.0 });
            }
            row.iter_mut().zip(&self.shift).for_each(|(x, shift)| *x -= shift);
        }
        z
    }

    /// Returns the rows of a sparse view that is too wide to be made dense.
    fn sparse_rows<'a>(&'a self, x: &'a Matrix) -> Option<SparseRows<'a>> {
        let sparse = x.sparse().filter(|_| self.scores.is_none() && x.ncols() > MAX_GRAM_SIZE)?;
        Some(SparseRows::new(sparse, self.kind, &self.means, &self.scales))
    }

    /// Returns the rows before the directions are applied: with unit length, or centered and scaled.
    pub(crate) fn prepared(&self, x: &Matrix, rows: &[usize]) -> Array2<f64> {
        let mut prepared = self.given(x, rows);
        for mut row in prepared.rows_mut() {
            if self.kind == Kind::Unit {
                // Columns that were all zeros in the fit are ignored.
                row.iter_mut().zip(&self.scales).for_each(|(x, scale)| *x *= scale);
                let length = length(row.view());
                row.mapv_inplace(|x| if length > 0.0 { x / length } else { 0.0 });
            } else {
                let columns = row.iter_mut().zip(self.means.iter().zip(&self.scales));
                columns.for_each(|(x, (mean, scale))| {
                    *x = if *scale > 0.0 { (*x - mean) / scale } else { 0.0 };
                });
            }
        }
        prepared
    }

    /// Returns the original rows, or their normal scores.
    fn given(&self, x: &Matrix, rows: &[usize]) -> Array2<f64> {
        let mut given = x.rows(rows);
        if let Some(scores) = &self.scores {
            scores.apply(given.view_mut());
        }
        given
    }

    /// Sets the column means and the SDs, in `centered` one pooled SD.
    fn scale(&mut self, columns: &[ColumnProfile]) {
        self.means = columns.iter().map(|column| column.mean).collect();
        // The mean of many equal values has a rounding error.
        let varies = |column: &ColumnProfile| {
            !column.is_constant() && column.sd > MIN_RELATIVE_SD * column.mean.abs()
        };
        let scale = |column| if varies(column) { column.sd } else { 0.0 };
        self.scales = columns.iter().map(scale).collect();
        if self.kind == Kind::Centered {
            let d = columns.len() as f64;
            let top = self.scales.iter().copied().fold(0.0, f64::max);
            let mean_square = |s: &f64| if top > 0.0 { (s / top) * (s / top) / d } else { 0.0 };
            let all = self.scales.iter().map(mean_square).sum::<f64>().sqrt() * top;
            self.scales.iter_mut().for_each(|s| *s = if *s > 0.0 { all } else { 0.0 });
        }
    }

    /// Returns the resolutions of the columns, in the units to which the directions apply.
    fn relative_resolutions(&self, columns: &[ColumnProfile]) -> Vec<f64> {
        // In `unit` the divisor varies by row, so the root mean square is used.
        let length = columns.iter().map(ColumnProfile::mean_square).sum::<f64>().sqrt();
        let relative = |(column, &scale): (&ColumnProfile, &f64)| {
            let scale = if self.kind == Kind::Unit { length } else { scale };
            if scale > 0.0 { column.resolution / scale } else { 0.0 }
        };
        columns.iter().zip(&self.scales).map(relative).collect()
    }

    /// Selects the columns that the columns before them do not explain, `(n_features, q)`; `None` if all are
    /// selected.
    ///
    /// Constants, totals and columns repeated in another unit have zero variance within clusters, but not in the
    /// pooled scatter, and would draw samples into the largest cluster.
    fn independent_columns(&self, x: &Matrix, rows: &[usize]) -> Option<Array2<f64>> {
        let (n, d) = (rows.len(), x.ncols());
        let sums = self.sum_over_rows(x, rows, (d, 1), |rows, sum| {
            for row in rows.rows() {
                row.iter().enumerate().for_each(|(j, x)| sum[(j, 0)] += x);
            }
        });
        let gram = self.sum_over_rows(x, rows, (d, d), |rows, sum| {
            let centered = |(i, j)| rows[[i, j]] - sums[(j, 0)] / n as f64;
            let centered = Array2::from_shape_fn(rows.dim(), centered);
            let rows = faer_view(centered.view());
            add_gram(sum, rows.transpose(), rows);
        });
        // Cholesky factor of the selected columns, by rows.
        let (mut kept, mut factor) = (Vec::new(), Vec::<Vec<f64>>::new());
        for j in 0..d {
            let mut line: Vec<f64> = Vec::new();
            for (&other, of_other) in kept.iter().zip(&factor) {
                let explained: f64 = line.iter().zip(of_other).map(|(a, b)| a * b).sum();
                line.push((gram[(j, other)] - explained) / of_other[line.len()]);
            }
            let left = gram[(j, j)] - line.iter().map(|x| x * x).sum::<f64>();
            if left > MIN_VARIANCE_SHARE * gram[(j, j)] {
                line.push(left.sqrt());
                factor.push(line);
                kept.push(j);
            }
        }
        // A view without variance keeps one column.
        if kept.is_empty() {
            kept.push(0);
        }
        let column = |(i, a): (usize, usize)| f64::from(u8::from(i == kept[a]));
        (kept.len() < d).then(|| Array2::from_shape_fn((d, kept.len()), column))
    }

    /// Returns the `q` leading right singular directions of the prepared rows, `(n_features, q)`.
    fn leading_directions(
        &self,
        x: &Matrix,
        rows: &[usize],
        q: usize,
    ) -> Result<Array2<f64>, ClusterError> {
        let (n, d) = (rows.len(), x.ncols());
        if n.min(d) > MAX_GRAM_SIZE {
            let sparse = self.sparse_rows(x);
            let leading = KRYLOV_WIDE.leading(crate::NAME, d, q, |b| {
                if let Some(sparse) = &sparse {
                    return sparse.gram_times(rows, b);
                }
                self.sum_over_rows(x, rows, (d, b.ncols()), |rows, sum| {
                    let rows = faer_view(rows);
                    let image = product(rows, b);
                    let (rows, image) = (rows.transpose(), image.as_ref());
                    matmul(sum.as_mut(), Accum::Add, rows, image, 1.0, Par::Seq);
                })
            })?;
            return Ok(to_array(leading.vectors.as_ref()));
        }
        if d <= n {
            let gram = self.sum_over_rows(x, rows, (d, d), |rows, sum| {
                let rows = faer_view(rows);
                add_gram(sum, rows.transpose(), rows);
            });
            return Ok(to_array(leading::of_matrix(gram.as_ref(), q)?.vectors.as_ref()));
        }
        // Wide: from the Gram matrix of the rows.
        let prepared = self.prepared(x, rows);
        let wide = faer_view(prepared.view());
        let mut gram = Mat::zeros(n, n);
        add_gram(&mut gram, wide, wide.transpose());
        let leading = leading::of_matrix(gram.as_ref(), q)?;
        let mut directions = to_array(product(wide.transpose(), leading.vectors.as_ref()).as_ref());
        for (mut column, value) in directions.columns_mut().into_iter().zip(&leading.values) {
            let singular = value.max(f64::MIN_POSITIVE).sqrt();
            column.mapv_inplace(|x| x / singular);
        }
        Ok(directions)
    }

    /// Sums `add` over blocks of prepared rows, in fixed parts.
    fn sum_over_rows(
        &self,
        x: &Matrix,
        rows: &[usize],
        shape: (usize, usize),
        add: impl Fn(ArrayView2<'_, f64>, &mut Mat<f64>) + Sync,
    ) -> Mat<f64> {
        let size = rows.len().div_ceil(PARTS).max(BLOCK_ROWS);
        let part = |rows: &[usize]| {
            let mut sum = Mat::zeros(shape.0, shape.1);
            rows.chunks(BLOCK_ROWS).for_each(|rows| add(self.prepared(x, rows).view(), &mut sum));
            sum
        };
        let at_once = if shape.0 * shape.1 > LARGE_SUM_NUMBERS { LARGE_SUM_PARTS } else { PARTS };
        let mut all = Mat::zeros(shape.0, shape.1);
        for rows in rows.chunks(at_once * size) {
            let parts: Vec<Mat<f64>> = rows.par_chunks(size).map(part).collect();
            parts.iter().for_each(|part| all += part);
        }
        all
    }
}

/// Returns the peak memory of a fit of `q` coordinates to `n` rows of `d` columns, in numbers.
pub(crate) fn numbers_held(n: f64, d: f64, q: f64) -> f64 {
    let parts = |size: f64| {
        (if size > LARGE_SUM_NUMBERS as f64 { LARGE_SUM_PARTS } else { PARTS }) as f64 * size
    };
    if n.min(d) > MAX_GRAM_SIZE as f64 {
        KRYLOV_WIDE.numbers_held(d, q) + parts(d * q)
    } else if d <= n {
        // The sum, its full copy, and the eigensolver.
        3.0 * d * d + parts(d * d)
    } else {
        n * d + 3.0 * n * n + d * q
    }
}

/// Adds the lower triangle of the product of `a` with its transpose `b`.
fn add_gram(sum: &mut Mat<f64>, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    let (lower, whole) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    triangular::matmul(sum.as_mut(), lower, Accum::Add, a, whole, b, whole, 1.0, Par::Seq);
}

fn faer_view(a: ArrayView2<'_, f64>) -> MatRef<'_, f64> {
    let (rows, columns) = a.dim();
    let values = a.to_slice().unwrap_or_else(|| unreachable!("made here in standard layout"));
    MatRef::from_row_major_slice(values, rows, columns)
}

fn to_array(a: MatRef<'_, f64>) -> Array2<f64> {
    Array2::from_shape_fn((a.nrows(), a.ncols()), |(i, j)| a[(i, j)])
}

/// Returns the product of `a` and `b` in standard layout.
fn dot(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>) -> Array2<f64> {
    let mut c = vec![0.0; a.nrows() * b.ncols()];
    let to = faer::MatMut::from_row_major_slice_mut(&mut c, a.nrows(), b.ncols());
    matmul(to, Accum::Replace, faer_view(a), faer_view(b), 1.0, Par::Seq);
    let product = Array2::from_shape_vec((a.nrows(), b.ncols()), c);
    product.unwrap_or_else(|_| unreachable!("as many numbers as the shape requires"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_data::Seed;
    use ndarray::{concatenate, stack};
    use rand::Rng;

    fn random(n: usize, d: usize) -> Array2<f64> {
        let mut rng = Seed::new(1).rng();
        Array2::from_shape_fn((n, d), |_| rng.gen_range(1.0..2.0))
    }

    fn fitted(view: &Array2<f64>, kind: Kind) -> Projection {
        let rows: Vec<usize> = (0..view.nrows()).collect();
        let columns = ColumnProfile::of_columns(&view.clone().into(), &rows, None);
        Projection::fit(&view.clone().into(), &rows, &columns, 20, kind).unwrap()
    }

    #[test]
    fn unit_ignores_columns_that_were_all_zeros_in_the_fit() {
        let seen = concatenate![Axis(1), random(60, 4), Array2::zeros((60, 1))];
        let projection = fitted(&seen, Kind::Unit);
        let coordinates = |flag: f64| {
            let mut new = seen.clone();
            new.column_mut(4).fill(flag);
            projection.coordinates(&new.into(), &[0, 1, 2])
        };
        assert_eq!(coordinates(1e-4), coordinates(0.0));
        assert_eq!(coordinates(1e6), coordinates(0.0));
    }

    #[test]
    fn constants_totals_and_other_units_add_no_coordinate() {
        let own = random(60, 4);
        let constant = Array2::from_elem((60, 2), 3.0);
        let total = own.sum_axis(Axis(1));
        // Pounds for kilograms, to one decimal.
        let in_pounds = own.column(1).mapv(|x| (220.5 * x).round() / 10.0);
        let further = stack![Axis(1), total, in_pounds];
        let all = concatenate![Axis(1), own, constant, further];
        let coordinates = |view: &Array2<f64>| {
            let (rows, fitted) = ((0..60).collect::<Vec<_>>(), fitted(view, Kind::Standard));
            (fitted.coordinates(&view.clone().into(), &rows), fitted.resolutions)
        };
        assert_eq!(coordinates(&all), coordinates(&own));
        // The total of ranks is not the rank of the total.
        assert_eq!(fitted(&all, Kind::Ranks).width(), 5);
        assert_eq!(fitted(&constant, Kind::Centered).width(), 1);
    }

    #[test]
    fn rows_fewer_than_columns_have_one_coordinate_less_than_there_are() {
        for kind in Kind::ALL {
            for n in [1, 2, 6] {
                assert_eq!(fitted(&random(n, 40), kind).width(), (n - 1).max(1), "{kind:?}");
            }
        }
    }

    #[test]
    fn many_equal_values_are_constant() {
        let view = concatenate![Axis(1), Array2::from_elem((100_001, 1), 0.1), random(100_001, 1)];
        assert_eq!(fitted(&view, Kind::Standard).scales[0], 0.0);
    }
}
