//! The directions to which the network reduces a view that is wider than it has samples.
//!
//! The layers of such a view would have more weights than it has values, and memory and time grow with the
//! square of its width; its samples span no more directions than they are.

use cdimc_core::linear_algebra::{SymmetricEigen, product, symmetric_eigen};
use cdimc_core::{ClusterError, Cost};
use cdimc_data::MultiView;
use faer::Mat;
use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;

/// Directions of less than this share of the largest variance are rounding.
const RANK: f64 = 1e-10;
/// How many directions a view wider than samples gets unless told otherwise.
pub(crate) const DEFAULT: usize = 128;

/// The directions of the standardized rows of a view along which they vary most, orthonormal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Components {
    /// `(n_features, n_directions)`; columns of zeros where the rows span fewer.
    pub(crate) directions: Array2<f32>,
    /// The one divisor of all coordinates, after which their mean variance is 1.
    pub(crate) scale: f64,
}

/// To how many directions `view` is reduced; `None` if it keeps its columns.
pub(crate) fn n_directions(asked: Option<usize>, data: &MultiView, view: usize) -> Option<usize> {
    let most = match asked {
        Some(0) => return None,
        Some(most) => most,
        None if data.width(view) > data.n_samples() => DEFAULT,
        None => return None,
    };
    // Rows around their mean span one direction fewer than they are.
    let spanned = data.mask().n_observed(view).saturating_sub(1).max(1);
    Some(most.min(spanned)).filter(|&n| n < data.width(view))
}

impl Components {
    /// The `n` leading directions of these rows, `(n_rows, n_features)`.
    ///
    /// # Errors
    /// If the eigen-decomposition does not converge.
    pub(crate) fn fit(rows: ArrayView2<'_, f32>, n: usize) -> Result<Self, ClusterError> {
        let (n_rows, n_features) = rows.dim();
        let z = Mat::from_fn(n_rows, n_features, |i, j| f64::from(rows[[i, j]]));
        // The smaller of the two matrices of products has the same eigenvalues.
        let by_rows = n_rows <= n_features;
        let gram = if by_rows {
            product(z.as_ref(), z.as_ref().transpose())
        } else {
            product(z.as_ref().transpose(), z.as_ref())
        };
        let SymmetricEigen { values, vectors } = symmetric_eigen("cdimc-net", gram.as_ref())?;
        let last = values.len() - 1;
        let floor = RANK * values[last].max(f64::MIN_POSITIVE);
        let kept = |j: usize| (j <= last && values[last - j] > floor).then(|| last - j);
        let sum: f64 = (0..n).filter_map(kept).map(|at| values[at]).sum();
        let variance = sum / (n_rows * n) as f64;
        let mut leading = Mat::zeros(gram.nrows(), n);
        for (j, at) in (0..n).filter_map(|j| Some((j, kept(j)?))) {
            let divisor = if by_rows { values[at].sqrt() } else { 1.0 };
            (0..gram.nrows()).for_each(|i| leading[(i, j)] = vectors[(i, at)] / divisor);
        }
        let directions =
            if by_rows { product(z.as_ref().transpose(), leading.as_ref()) } else { leading };
        Ok(Self {
            directions: Array2::from_shape_fn((n_features, n), |(i, j)| directions[(i, j)] as f32),
            scale: if variance > 0.0 { variance.sqrt() } else { 1.0 },
        })
    }

    /// What it takes to reduce `n_rows` rows of `n_features` to `n` directions: the rows in double precision, their
    /// products, the eigenvectors of these with three matrices of that size to find them in, and the directions.
    pub(crate) fn cost(n_rows: usize, n_features: usize, n: usize) -> Cost {
        let values = n_rows as f64 * n_features as f64;
        let side = n_rows.min(n_features) as f64;
        let directions = n_features as f64 * n as f64;
        Cost {
            bytes: 8.0 * values + 40.0 * side * side + 12.0 * directions,
            operations: 2.0 * values * (side + 2.0 * n as f64) + 9.0 * side.powi(3),
        }
    }

    /// The coordinates of these rows, `(n_rows, n_directions)`; of each row alone, so that the same row has
    /// the same bits among any others.
    pub(crate) fn coordinates(&self, rows: ArrayView2<'_, f32>) -> Array2<f32> {
        let n = self.directions.ncols();
        let mut out = Array2::zeros((rows.nrows(), n));
        let pairs = out.axis_iter_mut(Axis(0)).into_par_iter().zip(rows.axis_iter(Axis(0)));
        pairs.for_each(|(mut to, row)| {
            let mut sums = vec![0.0; n];
            for (&x, direction) in row.iter().zip(self.directions.rows()) {
                let add = |(sum, &d): (&mut f64, &f32)| *sum += f64::from(x) * f64::from(d);
                sums.iter_mut().zip(direction).for_each(add);
            }
            to.iter_mut().zip(sums).for_each(|(to, sum)| *to = (sum / self.scale) as f32);
        });
        out
    }

    /// The rows of these coordinates, `(n_rows, n_features)`.
    pub(crate) fn rows(&self, coordinates: ArrayView2<'_, f32>) -> Array2<f32> {
        coordinates.dot(&self.directions.t()) * self.scale as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;
    use cdimc_data::Seed;
    use ndarray::Array1;
    use rand::Rng;

    /// Centered rows.
    fn rows(n_rows: usize, n_features: usize) -> Array2<f32> {
        let mut rng = Seed::new(1).rng();
        let mut x = Array2::from_shape_simple_fn((n_rows, n_features), || rng.gen_range(-1.0..1.0));
        let mean: Array1<f32> = x.sum_axis(Axis(0)) / n_rows as f32;
        x -= &mean;
        x
    }

    #[test]
    fn as_many_directions_as_rows_span_lose_nothing() {
        for (n_rows, n_features) in [(12, 40), (40, 12)] {
            let x = rows(n_rows, n_features);
            let n = n_features.min(n_rows - 1);
            let components = Components::fit(x.view(), n).unwrap();
            let coordinates = components.coordinates(x.view());
            assert_abs_diff_eq!(components.rows(coordinates.view()), x, epsilon = 1e-5);
            let squares: f32 = coordinates.iter().map(|c| c * c).sum();
            assert_abs_diff_eq!(squares / (n_rows * n) as f32, 1.0, epsilon = 1e-4);
        }
    }

    #[test]
    fn directions_that_rows_do_not_span_are_zeros() {
        let mut x = rows(9, 30);
        for i in 0..9 {
            let row = x.row(i % 3).to_owned();
            x.row_mut(i).assign(&row);
        }
        let mean: Array1<f32> = x.sum_axis(Axis(0)) / 9.0;
        x -= &mean;
        let found = Components::fit(x.view(), 5).unwrap();
        assert!(found.directions.column(1).iter().any(|&d| d != 0.0));
        assert!(found.directions.column(2).iter().all(|&d| d == 0.0));
        let equal = Components::fit(Array2::zeros((4, 9)).view(), 3).unwrap();
        assert_eq!((equal.scale, equal.directions), (1.0, Array2::zeros((9, 3))));
    }

    #[test]
    fn only_views_wider_than_samples_are_reduced_unless_asked() {
        let views = vec![Array2::from_elem((20, 20), 1.0), Array2::from_elem((20, 21), 1.0)];
        let data = MultiView::from_nan_rows(views).unwrap();
        let both = |asked| [n_directions(asked, &data, 0), n_directions(asked, &data, 1)];
        assert_eq!(both(None), [None, Some(19)]);
        assert_eq!(both(Some(0)), [None, None]);
        assert_eq!(both(Some(5)), [Some(5), Some(5)]);
        assert_eq!(both(Some(100)), [Some(19), Some(19)]);
    }
}
