//! How the rows of one view become coordinates.

use crate::coordinates::Kind;
use crate::coordinates::leading::{self, product};
use crate::coordinates::normal_scores::NormalScores;
use crate::coordinates::profile::{ColumnProfile, resolutions};
use crate::coordinates::sparse::SparseRows;
use cdimc_core::ClusterError;
use cdimc_data::Matrix;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, Mat, MatRef, Par};
use ndarray::{Array2, ArrayView1, ArrayView2};
use rayon::prelude::*;

/// Rows read together.
const ROWS: usize = 256;
/// Parts of a sum over rows, which threads share.
const PARTS: usize = 16;
/// Beyond this size no matrix of inner products is formed.
const LARGEST_GRAM: usize = 3000;
/// Columns whose deviation is below this share of their largest value count as constant.
const CONSTANT: f64 = 1e-12;
/// Columns of which others leave no more than this share of the variance say nothing that those do not.
const EXPLAINED: f64 = 1e-3;
/// A sum of more numbers than this is not held for all parts at once.
const LARGE_SUM: usize = 1 << 20;
/// Parts of a large sum that are held at once.
const AT_ONCE: usize = 4;

/// The map from the rows of a view to coordinates (specification, section 1).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Projection {
    pub(crate) kind: Kind,
    /// Of the columns in `ranks`, which come before all else.
    pub(crate) scores: Option<NormalScores>,
    /// The mean of every column; zeros in `unit`.
    pub(crate) means: Vec<f64>,
    /// What every column is divided by, 0 where it is constant; in `unit` ones, and 0 where a column is zeros alone.
    pub(crate) scales: Vec<f64>,
    /// `(n_features, q)`, or `None` if the columns themselves are the coordinates.
    pub(crate) directions: Option<Array2<f64>>,
    /// The means of the coordinates, which are subtracted last.
    pub(crate) shift: Vec<f64>,
    /// The variance of the coordinates below which values say nothing.
    pub(crate) resolutions: Vec<f64>,
}

impl Projection {
    /// That of the rows `rows` of a view, whose columns have these profiles, with `q` coordinates at most.
    ///
    /// # Errors
    /// If a decomposition does not converge.
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
        fitted.directions = if q + 1 < d.min(n) {
            Some(fitted.leading_directions(x, rows, q)?)
        } else if n <= d {
            // Centered rows span one direction less than there are of them.
            Some(fitted.leading_directions(x, rows, (n - 1).max(1))?)
        } else if kind == Kind::Unit {
            // On a sphere no column is a sum of others.
            None
        } else {
            fitted.independent_columns(x, rows)
        };
        let relative = fitted.relative_resolutions(columns);
        fitted.resolutions = resolutions(&relative, columns, fitted.directions.as_ref());
        fitted.shift = vec![0.0; fitted.width()];
        let mut shift = vec![0.0; fitted.width()];
        fitted.each_block(x, rows, |_, coordinates| {
            for row in coordinates.rows() {
                shift.iter_mut().zip(row).for_each(|(s, z)| *s += z / rows.len() as f64);
            }
        });
        fitted.shift = shift;
        Ok(fitted)
    }

    /// Number of coordinates.
    pub(crate) fn width(&self) -> usize {
        self.directions.as_ref().map_or(self.means.len(), Array2::ncols)
    }

    /// Those of the rows `rows` of `x` that have a direction, as all have but in `unit`: one of zeros has none, nor has one
    /// of what no sample of the fit had. A view of zeros alone in the fit keeps its rows.
    pub(crate) fn with_direction(&self, x: &Matrix, mut rows: Vec<usize>) -> Vec<usize> {
        if self.kind != Kind::Unit || self.scales.iter().all(|&scale| scale == 0.0) {
            return rows;
        }
        let says = |(j, x): (usize, &f64)| *x != 0.0 && self.scales[j] > 0.0;
        let mut buffer = Vec::new();
        rows.retain(|&i| match x.sparse() {
            Some(sparse) => {
                let (columns, values) = sparse.row(i);
                columns.iter().map(|&j| j as usize).zip(values).any(says)
            }
            None => x.row(i, &mut buffer).iter().enumerate().any(says),
        });
        rows
    }

    /// Calls `visit` with the coordinates of the rows `rows` of `x`, `(n_rows, q)`, block by block, and the
    /// number of the first.
    pub(crate) fn each_block(
        &self,
        x: &Matrix,
        rows: &[usize],
        mut visit: impl FnMut(usize, ArrayView2<'_, f64>),
    ) {
        // So many blocks at a time that threads have work and memory stays small.
        for (start, part) in (0..).step_by(PARTS * ROWS).zip(rows.chunks(PARTS * ROWS)) {
            let blocks: Vec<Array2<f64>> =
                part.par_chunks(ROWS).map(|rows| self.coordinates(x, rows)).collect();
            for (block, coordinates) in blocks.iter().enumerate() {
                visit(start + block * ROWS, coordinates.view());
            }
        }
    }

    /// The coordinates of some rows, `(n_rows, q)`.
    fn coordinates(&self, x: &Matrix, rows: &[usize]) -> Array2<f64> {
        let mut z = match &self.directions {
            None => self.prepared(x, rows),
            Some(directions) => {
                let mut z = match self.sparse_rows(x) {
                    Some(sparse) => sparse.times(rows, directions.view()),
                    None => dot(self.prepared(x, rows).view(), directions.view()),
                };
                if self.kind == Kind::Unit {
                    z.rows_mut().into_iter().for_each(|mut row| {
                        let length = length(row.view());
                        row.mapv_inplace(|x| if length > 0.0 { x / length } else { 0.0 });
                    });
                }
                z
            }
        };
        z.rows_mut().into_iter().for_each(|mut row| {
            row.iter_mut().zip(&self.shift).for_each(|(x, shift)| *x -= shift);
        });
        z
    }

    /// The rows of a view that is sparse, and so wide that its zeros are better left out of every sum.
    fn sparse_rows<'a>(&'a self, x: &'a Matrix) -> Option<SparseRows<'a>> {
        let sparse = x.sparse().filter(|_| self.scores.is_none() && x.ncols() > LARGEST_GRAM)?;
        Some(SparseRows::new(sparse, self.kind, &self.means, &self.scales))
    }

    /// Rows before the directions are applied: of unit length, or centered and scaled.
    fn prepared(&self, x: &Matrix, rows: &[usize]) -> Array2<f64> {
        let mut prepared = self.given(x, rows);
        for mut row in prepared.rows_mut() {
            if self.kind == Kind::Unit {
                // What no sample of the fit had says nothing.
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

    /// Rows as they are given, or their normal scores.
    fn given(&self, x: &Matrix, rows: &[usize]) -> Array2<f64> {
        let mut given = x.rows(rows);
        if let Some(scores) = &self.scores {
            scores.apply(given.view_mut());
        }
        given
    }

    /// Column means, and the deviation of each column or, in `centered`, of all together.
    fn scale(&mut self, columns: &[ColumnProfile]) {
        self.means = columns.iter().map(|column| column.mean).collect();
        // The mean of many equal values is not quite their value.
        let varies = |column: &ColumnProfile| {
            !column.is_constant() && column.deviation > CONSTANT * column.mean.abs()
        };
        let scale = |column| if varies(column) { column.deviation } else { 0.0 };
        self.scales = columns.iter().map(scale).collect();
        if self.kind == Kind::Centered {
            let d = columns.len() as f64;
            let top = self.scales.iter().copied().fold(0.0, f64::max);
            let mean_square = |s: &f64| if top > 0.0 { (s / top) * (s / top) / d } else { 0.0 };
            let all = self.scales.iter().map(mean_square).sum::<f64>().sqrt() * top;
            self.scales.iter_mut().for_each(|s| *s = if *s > 0.0 { all } else { 0.0 });
        }
    }

    /// The resolutions of the columns in the units that the directions are applied to.
    fn relative_resolutions(&self, columns: &[ColumnProfile]) -> Vec<f64> {
        // What a column is divided by in `unit` differs from row to row.
        let length = columns.iter().map(ColumnProfile::mean_square).sum::<f64>().sqrt();
        let relative = |(column, &scale): (&ColumnProfile, &f64)| {
            let scale = if self.kind == Kind::Unit { length } else { scale };
            if scale > 0.0 { column.resolution / scale } else { 0.0 }
        };
        columns.iter().zip(&self.scales).map(relative).collect()
    }

    /// Those of the columns that the ones before them do not explain, `(n_features, q)`, or `None` if that is
    /// all of them.
    ///
    /// A constant, a total, a column in another unit: where a scatter has no width, what it shrinks towards has one, and
    /// each such direction would draw samples into the largest cluster.
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
        // The Cholesky factor of the columns kept, line by line.
        let (mut kept, mut factor) = (Vec::new(), Vec::<Vec<f64>>::new());
        for j in 0..d {
            let mut line: Vec<f64> = Vec::new();
            for (&other, of_other) in kept.iter().zip(&factor) {
                let explained: f64 = line.iter().zip(of_other).map(|(a, b)| a * b).sum();
                line.push((gram[(j, other)] - explained) / of_other[line.len()]);
            }
            let left = gram[(j, j)] - line.iter().map(|x| x * x).sum::<f64>();
            if left > EXPLAINED * gram[(j, j)] {
                line.push(left.sqrt());
                factor.push(line);
                kept.push(j);
            }
        }
        // Where nothing varies, one column stands for the view.
        if kept.is_empty() {
            kept.push(0);
        }
        let column = |(i, a): (usize, usize)| f64::from(u8::from(i == kept[a]));
        (kept.len() < d).then(|| Array2::from_shape_fn((d, kept.len()), column))
    }

    /// The `q` leading right singular directions of the prepared rows, `(n_features, q)`.
    fn leading_directions(
        &self,
        x: &Matrix,
        rows: &[usize],
        q: usize,
    ) -> Result<Array2<f64>, ClusterError> {
        let (n, d) = (rows.len(), x.ncols());
        if n.min(d) > LARGEST_GRAM {
            let sparse = self.sparse_rows(x);
            let leading = leading::of_operator(d, q, |b| {
                if let Some(sparse) = &sparse {
                    return sparse.gram_times(rows, b);
                }
                self.sum_over_rows(x, rows, (d, b.ncols()), |rows, sum| {
                    let rows = faer_view(rows);
                    let image = product(rows, b);
                    let (rows, image) = (rows.transpose(), image.as_ref());
                    faer::linalg::matmul::matmul(
                        sum.as_mut(),
                        Accum::Add,
                        rows,
                        image,
                        1.0,
                        Par::Seq,
                    );
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
        // Wide: from the inner products of the rows.
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

    /// The sum of what `add` adds for each block of prepared rows, in fixed parts.
    fn sum_over_rows(
        &self,
        x: &Matrix,
        rows: &[usize],
        shape: (usize, usize),
        add: impl Fn(ArrayView2<'_, f64>, &mut Mat<f64>) + Sync,
    ) -> Mat<f64> {
        let size = rows.len().div_ceil(PARTS).max(ROWS);
        let part = |rows: &[usize]| {
            let mut sum = Mat::zeros(shape.0, shape.1);
            rows.chunks(ROWS).for_each(|rows| add(self.prepared(x, rows).view(), &mut sum));
            sum
        };
        let at_once = if shape.0 * shape.1 > LARGE_SUM { AT_ONCE } else { PARTS };
        let mut all = Mat::zeros(shape.0, shape.1);
        for rows in rows.chunks(at_once * size) {
            let parts: Vec<Mat<f64>> = rows.par_chunks(size).map(part).collect();
            parts.iter().for_each(|part| all += part);
        }
        all
    }
}

/// Numbers that a fit of `q` coordinates holds at its largest, for `n` rows of `d` columns.
pub(crate) fn numbers_held(n: f64, d: f64, q: f64) -> f64 {
    let parts = |size: f64| (if size > LARGE_SUM as f64 { AT_ONCE } else { PARTS }) as f64 * size;
    if n.min(d) > LARGEST_GRAM as f64 {
        leading::numbers_held(d, q) + parts(d * q)
    } else if d <= n {
        // The sum, its other triangle filled in, and what finds the eigenvectors.
        3.0 * d * d + parts(d * d)
    } else {
        n * d + 3.0 * n * n + d * q
    }
}

/// The Euclidean length, without overflow.
pub(crate) fn length(row: ArrayView1<'_, f64>) -> f64 {
    let largest = row.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
    if (1e-100..1e100).contains(&largest) {
        row.iter().map(|x| x * x).sum::<f64>().sqrt()
    } else if largest > 0.0 {
        largest * row.iter().map(|x| (x / largest) * (x / largest)).sum::<f64>().sqrt()
    } else {
        0.0
    }
}

/// Adds the lower triangle of the product of a matrix with its transpose.
fn add_gram(sum: &mut Mat<f64>, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    let (lower, whole) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    triangular::matmul(sum.as_mut(), lower, Accum::Add, a, whole, b, whole, 1.0, Par::Seq);
}

fn faer_view(a: ArrayView2<'_, f64>) -> MatRef<'_, f64> {
    let (rows, columns) = a.dim();
    match a.to_slice() {
        Some(values) => MatRef::from_row_major_slice(values, rows, columns),
        None => unreachable!("arrays are made here in standard layout"),
    }
}

fn to_array(a: MatRef<'_, f64>) -> Array2<f64> {
    Array2::from_shape_fn((a.nrows(), a.ncols()), |(i, j)| a[(i, j)])
}

/// `a` `b` in standard layout.
fn dot(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>) -> Array2<f64> {
    let mut c = vec![0.0; a.nrows() * b.ncols()];
    let to = faer::MatMut::from_row_major_slice_mut(&mut c, a.nrows(), b.ncols());
    faer::linalg::matmul::matmul(to, Accum::Replace, faer_view(a), faer_view(b), 1.0, Par::Seq);
    match Array2::from_shape_vec((a.nrows(), b.ncols()), c) {
        Ok(product) => product,
        Err(_) => unreachable!("as many numbers as the shape says"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_data::Seed;
    use ndarray::{Axis, concatenate, stack};
    use rand::Rng;

    fn random(n: usize, d: usize) -> Array2<f64> {
        let mut rng = Seed::new(1).rng();
        Array2::from_shape_fn((n, d), |_| rng.gen_range(1.0..2.0))
    }

    fn fitted(view: &Array2<f64>, q: usize, kind: Kind) -> Projection {
        let rows: Vec<usize> = (0..view.nrows()).collect();
        let columns = ColumnProfile::of_columns(&view.clone().into(), &rows, None);
        Projection::fit(&view.clone().into(), &rows, &columns, q, kind).unwrap()
    }

    fn coordinates(view: &Array2<f64>, kind: Kind) -> Array2<f64> {
        let rows: Vec<usize> = (0..view.nrows()).collect();
        fitted(view, 20, kind).coordinates(&view.clone().into(), &rows)
    }

    #[test]
    fn a_column_of_zeros_says_nothing_of_new_samples_in_unit() {
        let seen = concatenate![Axis(1), random(60, 4), Array2::zeros((60, 1))];
        let projection = fitted(&seen, 20, Kind::Unit);
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
        assert_eq!(coordinates(&all, Kind::Standard), coordinates(&own, Kind::Standard));
        // The total of ranks is not the rank of the total.
        assert_eq!(fitted(&all, 20, Kind::Ranks).width(), 5);
        assert_eq!(fitted(&constant, 20, Kind::Centered).width(), 1);
    }

    #[test]
    fn rows_fewer_than_columns_have_one_coordinate_less_than_there_are() {
        for kind in Kind::ALL {
            for n in [1, 2, 6] {
                assert_eq!(fitted(&random(n, 40), 20, kind).width(), (n - 1).max(1), "{kind:?}");
            }
        }
    }

    #[test]
    fn many_equal_values_are_constant() {
        let view = concatenate![Axis(1), Array2::from_elem((100_001, 1), 0.1), random(100_001, 1)];
        assert_eq!(fitted(&view, 20, Kind::Standard).scales[0], 0.0);
    }
}
