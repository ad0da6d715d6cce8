//! The two versions of a view that CDIMC-net uses (authors' code): the geometry version, whose distances order the samples
//! and define the graphs, and the standardized version, the input of the network.
//!
//! Sums run in NumPy's order, so that both versions equal the authors' arrays bit for bit.

use crate::{DataError, MultiView};
use ndarray::{Array2, ArrayView1, ArrayView2};
use serde::{Deserialize, Serialize};

/// Largest standard deviation of a constant column, relative to its largest magnitude. The authors' code uses the same
/// number without a scale.
const CONSTANT_SD_SHARE: f64 = 10.0 * f64::EPSILON;

/// Returns the geometry version of `view` for the samples `rows`, `(rows.len(), n_features)`: missing rows are filled with
/// the column means, every row is scaled to unit Euclidean norm, zero rows stay zero (authors' code).
///
/// The means are taken over all observed rows of the data, not only over `rows`.
///
/// ```
/// use cdimc_data::{MultiView, geometry_version};
/// use ndarray::array;
/// let view = array![[6.0, 0.0], [0.0, 8.0], [f64::NAN, f64::NAN]];
/// let data = MultiView::from_nan_rows(vec![view, array![[1.0], [1.0], [1.0]]])?;
/// assert_eq!(geometry_version(&data, 0, &[2, 0]), array![[0.6, 0.8], [1.0, 0.0]]);
/// # Ok::<(), cdimc_data::DataError>(())
/// ```
///
/// # Panics
/// If there is no such view or sample.
pub fn geometry_version(data: &MultiView, view: usize, rows: &[usize]) -> Array2<f64> {
    let x = data.view(view);
    let means = column_means(x, &data.mask().observed_rows(view));
    let filled: Vec<f64> = unit(ArrayView1::from(&means)).collect();
    let mut out = Array2::zeros((rows.len(), filled.len()));
    for (&sample, mut row) in rows.iter().zip(out.outer_iter_mut()) {
        if data.mask().is_observed(sample, view) {
            row.iter_mut().zip(unit(x.row(sample))).for_each(|(to, x)| *to = x);
        } else {
            row.assign(&ArrayView1::from(&filled));
        }
    }
    out
}

/// Column means and scales over the observed rows of a view. The network reads `(x - mean) / scale`, and 0 for a missing
/// sample (authors' code).
///
/// The scale is the population standard deviation. It is 0 for a column whose standard deviation is below ten machine
/// epsilons of its largest magnitude ([`unit_of`]). Such a column is ignored in new samples too, because the network was
/// never trained on other values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standardizer {
    /// Mean of each column over the observed rows.
    pub mean: Vec<f64>,
    /// Standard deviation of each column; 0 if the column is constant.
    pub scale: Vec<f64>,
}

impl Standardizer {
    /// Computes means and scales of the observed rows of `view`.
    ///
    /// # Errors
    /// If the view has fewer than two observed rows.
    ///
    /// # Panics
    /// If there is no such view.
    pub fn fit(data: &MultiView, view: usize) -> Result<Self, DataError> {
        let rows = data.mask().observed_rows(view);
        if rows.len() < 2 {
            return Err(DataError::Other(format!(
                "view {view} has {} observed samples: at least 2 are needed",
                rows.len()
            )));
        }
        let x = data.view(view);
        let mut mean = column_means(x, &rows);
        let units: Vec<f64> =
            x.columns().into_iter().map(|c| unit_of(rows.iter().map(|&row| c[row]))).collect();
        let squares = column_sums(x, &rows, |x, column| {
            let difference = (x - mean[column]) / units[column];
            difference * difference
        });
        let mut scale: Vec<f64> = squares.iter().map(|s| (s / rows.len() as f64).sqrt()).collect();
        for (column, (mean, scale)) in mean.iter_mut().zip(&mut scale).enumerate() {
            let first = x[[rows[0], column]];
            if rows.iter().all(|&row| x[[row, column]] == first) {
                // Rounding can make the computed mean of equal values differ from them.
                (*mean, *scale) = (first, 0.0);
            } else if *scale < CONSTANT_SD_SHARE {
                *scale = 0.0;
            } else {
                *scale *= units[column];
            }
        }
        Ok(Self { mean, scale })
    }

    /// Number of features.
    pub fn width(&self) -> usize {
        self.mean.len()
    }

    /// Returns the standardized values of one row; never NaN or infinite.
    pub fn apply(&self, row: ArrayView1<'_, f64>) -> impl Iterator<Item = f64> {
        row.into_iter().zip(&self.mean).zip(&self.scale).map(|((x, mean), scale)| {
            let z = if *scale > 0.0 { (x - mean) / scale } else { 0.0 };
            if z.is_nan() { 0.0 } else { z.clamp(f64::MIN, f64::MAX) }
        })
    }

    /// Undoes the standardization: `row * scale + mean`.
    pub fn invert(&self, row: ArrayView1<'_, f64>) -> impl Iterator<Item = f64> {
        row.into_iter().zip(&self.mean).zip(&self.scale).map(|((z, mean), scale)| z * scale + mean)
    }

    /// Returns the network input of `view` for the samples `rows`: the positions in `rows` of the observed samples, ascending,
    /// and their standardized values, `(n_observed, n_features)`.
    ///
    /// # Errors
    /// If the view has another number of features than the fitted view.
    ///
    /// # Panics
    /// If there is no such view or sample.
    pub fn transform(
        &self,
        data: &MultiView,
        view: usize,
        rows: &[usize],
    ) -> Result<(Vec<u32>, Array2<f32>), DataError> {
        if data.width(view) != self.width() {
            let (found, expected) = (data.width(view), self.width());
            return Err(DataError::Other(format!(
                "view {view} has {found} features: {expected} are expected"
            )));
        }
        let is_observed = |&i: &usize| data.mask().is_observed(rows[i], view);
        let observed: Vec<u32> = (0..rows.len()).filter(is_observed).map(|i| i as u32).collect();
        let narrow = |z: f64| (z as f32).clamp(f32::MIN, f32::MAX);
        let mut out = Array2::zeros((observed.len(), self.width()));
        for (&position, mut to) in observed.iter().zip(out.outer_iter_mut()) {
            let from = data.view(view);
            let values = self.apply(from.row(rows[position as usize]));
            to.iter_mut().zip(values).for_each(|(to, z)| *to = narrow(z));
        }
        Ok((observed, out))
    }
}

/// Divides the row by its Euclidean norm; a zero row is unchanged.
fn unit(row: ArrayView1<'_, f64>) -> impl Iterator<Item = f64> {
    let unit = unit_of(row.iter().copied());
    let squares: Vec<f64> = row.iter().map(|x| (x / unit) * (x / unit)).collect();
    let norm = pairwise_sum(&squares).sqrt();
    let divisor = if norm == 0.0 { 1.0 } else { norm };
    row.into_iter().map(move |x| x / unit / divisor)
}

/// Returns the largest power of two not above the largest magnitude, at least [`f64::MIN_POSITIVE`]; 1 if all `values`
/// are 0.
///
/// Division by it is exact. Afterwards the squares of the numbers and their sum neither overflow nor underflow, in any
/// unit.
///
/// ```
/// assert_eq!(cdimc_data::unit_of([0.3, -5.0]), 4.0);
/// ```
pub fn unit_of(values: impl IntoIterator<Item = f64>) -> f64 {
    let greatest = values.into_iter().fold(0.0_f64, |greatest, x| greatest.max(x.abs()));
    if greatest == 0.0 {
        return 1.0;
    }
    // The exponent bits.
    f64::from_bits(greatest.to_bits() & f64::INFINITY.to_bits()).max(f64::MIN_POSITIVE)
}

/// Mean of each column over `rows`.
fn column_means(x: ArrayView2<'_, f64>, rows: &[usize]) -> Vec<f64> {
    column_sums(x, rows, |x, _| x).iter().map(|sum| sum / rows.len() as f64).collect()
}

/// Sum of `f(value, column)` over `rows` per column, in NumPy's order: row after row, except that a single column is one
/// contiguous run with pairwise summation.
fn column_sums(x: ArrayView2<'_, f64>, rows: &[usize], f: impl Fn(f64, usize) -> f64) -> Vec<f64> {
    if x.ncols() == 1 {
        let column: Vec<f64> = rows.iter().map(|&row| f(x[[row, 0]], 0)).collect();
        return vec![pairwise_sum(&column)];
    }
    let mut sums = vec![0.0; x.ncols()];
    for &row in rows {
        for (column, (sum, &value)) in sums.iter_mut().zip(x.row(row)).enumerate() {
            *sum += f(value, column);
        }
    }
    sums
}

/// NumPy's sum of a contiguous run: eight partial sums in blocks of at most 128, halved above.
fn pairwise_sum(x: &[f64]) -> f64 {
    if x.len() < 8 {
        return x.iter().sum();
    }
    if x.len() > 128 {
        let half = x.len() / 2;
        let (left, right) = x.split_at(half - half % 8);
        return pairwise_sum(left) + pairwise_sum(right);
    }
    let (first, rest) = x.split_at(8);
    let mut s: [f64; 8] = std::array::from_fn(|i| first[i]);
    let blocks = rest.chunks_exact(8);
    let tail = blocks.remainder();
    for block in blocks {
        s.iter_mut().zip(block).for_each(|(s, x)| *s += x);
    }
    let sum = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
    tail.iter().fold(sum, |sum, x| sum + x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ViewMask;
    use ndarray::{Array1, array};

    fn two_views(first: Array2<f64>) -> MultiView {
        let ones = Array2::ones((first.nrows(), 1));
        MultiView::from_nan_rows(vec![first, ones]).unwrap()
    }

    #[test]
    fn absent_rows_are_filled_before_rows_are_scaled() {
        let data = two_views(array![[6.0, 0.0], [0.0, 8.0], [f64::NAN, f64::NAN]]);
        let filled = geometry_version(&data, 0, &[0, 1, 2]);
        assert_eq!(filled, array![[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]);
    }

    #[test]
    fn zero_rows_survive_the_row_normalization() {
        let data = two_views(array![[0.0, 0.0], [3.0, 4.0]]);
        assert_eq!(geometry_version(&data, 0, &[0, 1]), array![[0.0, 0.0], [0.6, 0.8]]);
        let zeros = two_views(array![[0.0, 0.0], [f64::NAN, f64::NAN]]);
        assert_eq!(geometry_version(&zeros, 0, &[1]), array![[0.0, 0.0]]);
    }

    #[test]
    fn standardized_values_can_be_inverted() {
        let data = two_views(array![[1.0, -2.0], [3.0, 0.0], [f64::NAN, f64::NAN], [8.0, 8.0]]);
        let standardizer = Standardizer::fit(&data, 0).unwrap();
        let z: Array1<f64> = standardizer.apply(data.view(0).row(1)).collect();
        let back: Vec<f64> = standardizer.invert(z.view()).collect();
        approx::assert_abs_diff_eq!(back[0], 3.0, epsilon = 1e-12);
    }

    #[test]
    fn constant_columns_are_ignored_in_new_samples() {
        // 0.1 has no exact mean in binary, and 1e300 has no finite variance.
        let column =
            |c: f64| Array2::from_shape_fn((7, 2), |(i, j)| if j == 0 { c } else { i as f64 });
        for constant in [0.1, -1234.1, 1e300, 0.0] {
            let data = two_views(column(constant));
            let standardizer = Standardizer::fit(&data, 0).unwrap();
            assert_eq!((standardizer.mean[0], standardizer.scale[0]), (constant, 0.0));
            for data in [data, two_views(column(constant + 25.0))] {
                let (_, z) = standardizer.transform(&data, 0, &[0, 6]).unwrap();
                assert_eq!(z.column(0).to_vec(), vec![0.0, 0.0]);
            }
            let filled: Vec<f64> = standardizer.invert(array![0.7, 0.0].view()).collect();
            assert_eq!(filled[0], constant);
        }
    }

    #[test]
    fn one_observed_row_is_an_error() {
        let mask = ViewMask::new(array![[true, true], [false, true]]).unwrap();
        let data = MultiView::new(vec![array![[1.0], [2.0]]; 2], mask).unwrap();
        let error = Standardizer::fit(&data, 0).unwrap_err().to_string();
        assert_eq!(error, "view 0 has 1 observed samples: at least 2 are needed");
    }

    #[test]
    fn a_view_of_another_width_is_an_error() {
        let data = two_views(array![[1.0, 2.0], [3.0, 5.0]]);
        let standardizer = Standardizer::fit(&data, 0).unwrap();
        let error = standardizer.transform(&data, 1, &[0]).unwrap_err().to_string();
        assert_eq!(error, "view 1 has 1 features: 2 are expected");
    }

    // import numpy as np; i = np.arange(1000.); x = np.sqrt(i) * 0.1
    // print(repr(x.sum()), repr(x[:130].sum()), repr(x[:7].sum()))
    #[test]
    fn sums_run_in_the_order_of_numpy() {
        let x: Vec<f64> = (0..1000).map(|i| f64::from(i).sqrt() * 0.1).collect();
        assert_eq!(pairwise_sum(&x), 2_106.583_311_087_905_7);
        assert_eq!(pairwise_sum(&x[..130]), 98.224_692_614_115_74);
        assert_eq!(pairwise_sum(&x[..7]), 1.083_182_209_022_494);
    }
}
