//! Splits the samples for methods of paired data: observed in every view, or in exactly one.

use super::observed_rows::{scatter_rows, unit_rows};
use super::settings::require;
use cdimc_core::ClusterError;
use cdimc_data::MultiView;
use ndarray::{Array2, ArrayView2, Axis, concatenate, s};

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
