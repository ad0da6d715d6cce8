//! Observed rows of a view for factorizations, ways to scale them and make them nonnegative, and the rows of paired views:
//! of samples that are observed in every view, or in exactly one.

use super::settings::require;
use cdimc_core::ClusterError;
use cdimc_data::{MultiView, unit_of};
use ndarray::{Array1, Array2, ArrayView2, Axis, concatenate, s};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Observed rows of one view and their samples.
#[derive(Debug, Clone)]
pub(crate) struct Observed {
    /// Sample of every row, ascending.
    pub(crate) rows: Vec<usize>,
    /// `(n_observed, n_features)`.
    pub(crate) x: Array2<f64>,
}

impl Observed {
    /// Returns the observed rows of `view` without scaling.
    pub(crate) fn raw(data: &MultiView, view: usize) -> Self {
        Self { rows: data.mask().observed_rows(view), x: data.observed(view) }
    }

    /// Returns the observed rows of `view`, each scaled to unit length.
    pub(crate) fn unit(data: &MultiView, view: usize) -> Self {
        let mut observed = Self::raw(data, view);
        unit_rows(&mut observed.x);
        observed
    }

    pub(crate) fn mean(&self) -> Array1<f64> {
        self.x.sum_axis(Axis(0)) / self.rows.len() as f64
    }

    /// Returns `(n_samples, n_features)`: observed rows in their places, their mean in all others.
    pub(crate) fn filled(&self, n_samples: usize) -> Array2<f64> {
        let mut filled = Array2::zeros((n_samples, self.x.ncols()));
        filled += &self.mean();
        for (x, &row) in self.x.outer_iter().zip(&self.rows) {
            filled.row_mut(row).assign(&x);
        }
        filled
    }

    /// Scales every column to mean 0 and variance 1 over the observed rows; constant columns become 0.
    pub(crate) fn standardize(&mut self) {
        self.x.columns_mut().into_iter().for_each(|mut c| c /= unit_of(c.iter().copied()));
        let mean = self.mean();
        for (j, mut column) in self.x.columns_mut().into_iter().enumerate() {
            column -= mean[j];
            let scale = (column.iter().map(|x| x * x).sum::<f64>() / column.len() as f64).sqrt();
            let rounding = 1e-12 * mean[j].abs();
            column.mapv_inplace(|x| if scale > rounding { x / scale } else { 0.0 });
        }
    }
}

pub(crate) fn n_observed_values(data: &MultiView) -> f64 {
    (0..data.n_views()).map(|v| (data.mask().n_observed(v) * data.width(v)) as f64).sum()
}

/// Scales every row to unit length without overflow; a row of zeros is unchanged.
pub(crate) fn unit_rows(x: &mut Array2<f64>) {
    for mut row in x.outer_iter_mut() {
        row /= unit_of(row.iter().copied());
        let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length > 0.0 {
            row /= length;
        }
    }
}

/// Moves row i of `rows` to `places[i]`, `(places.len(), n_columns)`; `places` is a permutation.
pub(crate) fn scatter_rows(rows: &Array2<f64>, places: &[usize]) -> Array2<f64> {
    let mut restored = Array2::zeros(rows.raw_dim());
    for (row, &place) in rows.outer_iter().zip(places) {
        restored.row_mut(place).assign(&row);
    }
    restored
}

/// Method that makes a view nonnegative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Nonnegative {
    /// Sets negative values to 0 (the OMVC authors' driver).
    Clip,
    /// Scales rows to unit length, then subtracts the smallest value of the view if it is negative.
    UnitShift,
    /// Scales every column to [0, 1] over the observed rows; constant columns become 0.
    MinMax,
}

impl Nonnegative {
    /// Applies the method to the observed rows `x` of a view.
    pub(crate) fn apply(self, x: &mut Array2<f64>) {
        match self {
            Self::Clip => x.mapv_inplace(|x| x.max(0.0)),
            Self::UnitShift => {
                unit_rows(x);
                let least = x.iter().copied().fold(0.0, f64::min);
                *x -= least;
            }
            Self::MinMax => {
                let fold = |start, pick: fn(f64, f64) -> f64| {
                    x.fold_axis(Axis(0), start, |&best, &x| pick(best, x))
                };
                let (low, high) = (fold(f64::INFINITY, f64::min), fold(-f64::INFINITY, f64::max));
                let range = (&high - &low).mapv(|range| if range > 0.0 { range } else { 1.0 });
                *x -= &low;
                *x /= &range;
            }
        }
    }
}

/// Observed rows of views in which every sample is observed in all views or in exactly one.
#[derive(Debug, Clone)]
pub(crate) struct PairedViews {
    /// Rows of each view, `(n_paired + n_single, n_features)`: samples of all views first, in the same order in every
    /// view, then the samples of only that view.
    pub(crate) rows: Vec<Array2<f64>>,
    pub(crate) n_paired: usize,
    /// Sample of every row of a stacked result: paired, single of view 0, of view 1, ...
    order: Vec<usize>,
}

impl PairedViews {
    /// Splits `data`, which passed [`PairedViews::check`], with samples of each kind in the order of `rows`, a
    /// permutation.
    pub(crate) fn new(data: &MultiView, rows: &[usize]) -> Self {
        let (mask, n_views) = (data.mask(), data.n_views());
        let kind =
            |views: usize| rows.iter().copied().filter(move |&i| mask.n_views_of(i) == views);
        let paired: Vec<usize> = kind(n_views).collect();
        let mut order = paired.clone();
        let mut views = Vec::with_capacity(n_views);
        for v in 0..n_views {
            let single: Vec<usize> = kind(1).filter(|&i| mask.is_observed(i, v)).collect();
            let rows: Vec<usize> = paired.iter().chain(&single).copied().collect();
            views.push(data.view(v).select(Axis(0), &rows));
            order.extend(single);
        }
        Self { rows: views, n_paired: paired.len(), order }
    }

    /// Splits `data` in the order of its samples, with every row scaled to unit length.
    pub(crate) fn unit(data: &MultiView) -> Self {
        let in_order: Vec<usize> = (0..data.n_samples()).collect();
        let mut views = Self::new(data, &in_order);
        views.rows.iter_mut().for_each(unit_rows);
        views
    }

    /// Checks that `data` can be split for `method`.
    ///
    /// # Errors
    /// [`ClusterError::Inapplicable`] with fewer than two views, without a sample of all views, or with a sample that has
    /// several views but not all.
    pub(crate) fn check(method: &'static str, data: &MultiView) -> Result<(), ClusterError> {
        let (n_samples, n_views) = (data.n_samples(), data.n_views());
        require(n_views > 1, method, || "one view: needs at least two".to_owned())?;
        let seen: Vec<usize> = (0..n_samples).map(|i| data.mask().n_views_of(i)).collect();
        for (sample, &seen) in seen.iter().enumerate() {
            require(seen == 1 || seen == n_views, method, || {
                format!(
                    "sample {sample} has {seen} of {n_views} views: must have all or exactly one"
                )
            })?;
        }
        let has_paired = seen.contains(&n_views);
        require(has_paired, method, || "no sample has all views: needs at least one".to_owned())
    }

    /// Checks that `data` can be split for a `method` of exactly two views.
    pub(crate) fn check_two(method: &'static str, data: &MultiView) -> Result<(), ClusterError> {
        let n_views = data.n_views();
        require(n_views == 2, method, || format!("{n_views} views: needs exactly two"))?;
        Self::check(method, data)
    }

    /// Rows of `view` of the paired samples.
    pub(crate) fn paired(&self, view: usize) -> ArrayView2<'_, f64> {
        self.rows[view].slice(s![..self.n_paired, ..])
    }

    /// Rows of `view` of the samples with only this view.
    pub(crate) fn single(&self, view: usize) -> ArrayView2<'_, f64> {
        self.rows[view].slice(s![self.n_paired.., ..])
    }

    /// Returns the rows of a stack in the caller's order of samples.
    pub(crate) fn restore(&self, stacked: &Array2<f64>) -> Array2<f64> {
        scatter_rows(stacked, &self.order)
    }
}

/// Joins the parts of a representation along `axis`.
pub(crate) fn stack(axis: Axis, parts: &[ArrayView2<'_, f64>]) -> Array2<f64> {
    let fit = |_| unreachable!("the parts of a representation fit together");
    concatenate(axis, parts).unwrap_or_else(fit)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ndarray::array;

    /// Returns two views of two groups; a quarter of the rows is missing in each.
    pub(crate) fn two_groups() -> MultiView {
        let mut views: Vec<Array2<f64>> = (0..2)
            .map(|v| {
                Array2::from_shape_fn((40, 4), |(i, j)| {
                    let near = if i % 2 == j % 2 { 3.0 } else { 0.0 };
                    near + 0.1 * ((i * 5 + j * 3 + v) % 7) as f64
                })
            })
            .collect();
        for i in (0..40).step_by(4) {
            views[0].row_mut(i).fill(f64::NAN);
            views[1].row_mut(i + 1).fill(f64::NAN);
        }
        MultiView::from_nan_rows(views).unwrap()
    }

    #[test]
    fn rows_are_scaled_before_the_mean_fills_the_gaps() {
        let x = array![[3.0, 4.0], [f64::NAN, f64::NAN], [0.0, 2.0], [0.0, 0.0]];
        let other = array![[1.0], [1.0], [1.0], [1.0]];
        let data = MultiView::from_nan_rows(vec![x, other]).unwrap();
        let observed = Observed::unit(&data, 0);
        assert_eq!(observed.rows, vec![0, 2, 3]);
        let mean = observed.mean();
        approx::assert_abs_diff_eq!(mean, array![0.2, 0.6], epsilon = 1e-15);
        let filled = observed.filled(4);
        assert_eq!(filled.row(1), mean);
        assert_eq!(filled.row(2), array![0.0, 1.0]);
        assert_eq!(filled.row(3), array![0.0, 0.0]);
    }

    #[test]
    fn constant_columns_become_zero_when_standardized() {
        let x = array![[0.1, 1.0], [0.1, 3.0], [0.1, 5.0]];
        let data = MultiView::from_nan_rows(vec![x]).unwrap();
        let mut observed = Observed::raw(&data, 0);
        observed.standardize();
        assert_eq!(observed.x.column(0), array![0.0, 0.0, 0.0]);
        approx::assert_abs_diff_eq!(observed.x[[2, 1]], 1.5_f64.sqrt(), epsilon = 1e-15);
    }

    #[test]
    fn every_method_gives_nonnegative_values() {
        let applied = |how: Nonnegative| {
            let mut x = array![[-3.0, 4.0], [1.0, 4.0], [0.0, 0.0]];
            how.apply(&mut x);
            x
        };
        assert_eq!(applied(Nonnegative::Clip), array![[0.0, 4.0], [1.0, 4.0], [0.0, 0.0]]);
        assert_eq!(applied(Nonnegative::MinMax), array![[0.0, 1.0], [1.0, 1.0], [0.75, 0.0]]);
        let shifted = applied(Nonnegative::UnitShift);
        approx::assert_abs_diff_eq!(shifted.row(0), array![0.0, 1.4], epsilon = 1e-15);
        approx::assert_abs_diff_eq!(shifted.row(2), array![0.6, 0.6], epsilon = 1e-15);
    }
}
