//! Association of the views of a sample given its cluster, for imputation.
//!
//! The likelihood assumes independent views given the cluster. Residuals from the cluster means are often
//! correlated, so the residuals of a missing view are regressed on the residuals of observed views:
//! `E[r_v | r_o] = C_vo (C_oo + λ I)⁻¹ r_o`.

use crate::columns::ColumnMeans;
use crate::model::Mixture;
use crate::observations::{Block, Observations};
use cdimc_core::ClusterError;
use cdimc_core::linear_algebra::{solve_positive_definite, symmetric_eigen};
use cdimc_data::MultiView;
use faer::Mat;
use ndarray::{Array2, ArrayView1, ArrayView2, Axis, s};
use std::collections::BTreeMap;

/// Maximum number of coordinates over all views, where the covariance takes 32 MB; beyond it, clusters alone
/// impute.
const MAX_COORDINATES: usize = 2000;
/// Ridge λ, in units of the variance of each view; chosen by imputation errors (docs/notes/thresholds.md).
const RESIDUAL_RIDGE: f64 = 0.3;
/// Ridge of the regression of columns on the coordinates of their view.
const LOADINGS_RIDGE: f64 = 1e-3;
/// Maximum number of blocks of samples that are read.
const MAX_BLOCKS: usize = 100;
/// Minimum number of samples of a covariance.
const MIN_SAMPLES: f64 = 2.0;

/// Joint distribution of the residuals of all views.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Association {
    /// Root mean square residual of the coordinates, per view.
    pub(crate) scales: Vec<f64>,
    /// Covariance C of the residuals in units of `scales`, `(Q, Q)` over the coordinates of all views: pairwise
    /// over samples with both views, projected to the nearest positive semidefinite matrix.
    pub(crate) covariance: Array2<f64>,
    /// Loadings of the columns on the coordinates, `(q, n_features)` per view.
    pub(crate) loadings: Vec<Array2<f64>>,
}

impl Association {
    /// Fits the association; `probabilities` returns a block's, `(n, n_clusters)`; `None` for too many coordinates.
    pub(crate) fn of(
        data: &MultiView,
        observations: &Observations,
        (mixture, columns): (&Mixture, &[ColumnMeans]),
        probabilities: impl Fn(&Block) -> Array2<f64>,
    ) -> Option<Self> {
        let starts = starts(&observations.widths);
        let (n_views, total) = (observations.n_views(), *starts.last()?);
        if n_views < 2 || total > MAX_COORDINATES {
            return None;
        }
        let range = |v: usize| starts[v]..starts[v + 1];
        let mut products = Array2::<f64>::zeros((total, total));
        let mut counts = Array2::<f64>::zeros((n_views, n_views));
        let zeros = |v: usize| Array2::zeros((observations.widths[v], columns[v].all.len()));
        let mut with_columns: Vec<Array2<f64>> = (0..n_views).map(zeros).collect();
        let (step, mut buffer) = (observations.blocks.len().div_ceil(MAX_BLOCKS), Vec::new());
        for block in observations.blocks.iter().step_by(step) {
            let p = probabilities(block);
            let residuals = residuals(block, mixture, &p.view(), &starts);
            let observed = observed(block);
            products += &residuals.t().dot(&residuals);
            counts += &observed.t().dot(&observed);
            for (v, with_columns) in with_columns.iter_mut().enumerate() {
                let rows: Vec<usize> =
                    block.views[v].samples.iter().map(|&i| usize::from(i)).collect();
                let mut off = -p.select(Axis(0), &rows).dot(&columns[v].shrunk);
                for (mut off, &i) in off.rows_mut().into_iter().zip(&rows) {
                    let row = data.matrix(v).row(block.first + i, &mut buffer);
                    off += &ArrayView1::from(row);
                }
                let own = residuals.slice(s![.., range(v)]).select(Axis(0), &rows);
                *with_columns += &own.t().dot(&off);
            }
        }
        let mut scales = vec![0.0; n_views];
        let mut loadings = Vec::with_capacity(n_views);
        for (v, with_columns) in with_columns.into_iter().enumerate() {
            let n = counts[[v, v]].max(1.0);
            let variances = &products.slice(s![range(v), range(v)]) / n;
            let variance = variances.diag().mean()?;
            scales[v] = variance.sqrt();
            loadings.push(if variance > 0.0 {
                let ridge = LOADINGS_RIDGE * variance;
                solved(&variances.view(), ridge, &with_columns.view()).ok()? * (scales[v] / n)
            } else {
                with_columns * 0.0
            });
        }
        let covariance = Array2::from_shape_fn((total, total), |(i, j)| {
            let (a, b) = (view_of(&starts, i), view_of(&starts, j));
            let (n, unit) = (counts[[a, b]], scales[a] * scales[b]);
            if n < MIN_SAMPLES || unit == 0.0 {
                return 0.0;
            }
            // Shrinks covariances of few samples.
            let trust = if a == b { 1.0 } else { n / (n + total as f64) };
            trust * products[[i, j]] / (n * unit)
        });
        let covariance = positive_part(covariance)?;
        let finite = covariance.iter().chain(&scales).chain(loadings.iter().flatten());
        finite.into_iter().all(|x| x.is_finite()).then(|| Self { scales, covariance, loadings })
    }

    /// Adds the predicted residuals to missing rows of `filled`, `(n_samples, n_features)` per view.
    pub(crate) fn add_to(
        &self,
        filled: &mut [Array2<f64>],
        observations: &Observations,
        mixture: &Mixture,
        (probabilities, is_missing): (&Array2<f64>, &dyn Fn(usize, usize) -> bool),
    ) {
        let starts = starts(&observations.widths);
        for block in &observations.blocks {
            let samples = block.first..block.first + block.len;
            let p = probabilities.slice(s![samples, ..]);
            let mut residuals = residuals(block, mixture, &p, &starts);
            for (j, mut column) in residuals.columns_mut().into_iter().enumerate() {
                let scale = self.scales[view_of(&starts, j)];
                column /= if scale > 0.0 { scale } else { 1.0 };
            }
            // Samples with the same views share a regression.
            let mut alike: BTreeMap<Vec<bool>, Vec<usize>> = BTreeMap::new();
            for (i, observed) in observed(block).rows().into_iter().enumerate() {
                if (0..filled.len()).any(|v| is_missing(block.first + i, v)) {
                    let pattern = observed.iter().map(|&seen| seen > 0.0).collect();
                    alike.entry(pattern).or_default().push(i);
                }
            }
            for (observed, rows) in alike {
                let expected = self.expected(&residuals.select(Axis(0), &rows), &observed, &starts);
                let Some(expected) = expected else { continue };
                for (expected, &i) in expected.rows().into_iter().zip(&rows) {
                    let sample = block.first + i;
                    for v in (0..filled.len()).filter(|&v| is_missing(sample, v)) {
                        let own = expected.slice(s![starts[v]..starts[v + 1]]);
                        let mut row = filled[v].row_mut(sample);
                        row += &own.dot(&self.loadings[v]);
                    }
                }
            }
        }
    }

    /// Returns the predictions `C_·o (C_oo + λ I)⁻¹ r_o` from `residuals`, both `(n, Q)`, of samples with the same
    /// views; `None` without views or solution.
    fn expected(
        &self,
        residuals: &Array2<f64>,
        observed: &[bool],
        starts: &[usize],
    ) -> Option<Array2<f64>> {
        let is_seen = |&i: &usize| observed[view_of(starts, i)];
        let seen: Vec<usize> = (0..self.covariance.nrows()).filter(is_seen).collect();
        if seen.is_empty() {
            return None;
        }
        let rows = self.covariance.select(Axis(0), &seen);
        let own = rows.select(Axis(1), &seen);
        let known = residuals.select(Axis(1), &seen);
        // Older models may have indefinite covariances; then clusters alone impute.
        Some(solved(&own.view(), RESIDUAL_RIDGE, &known.t()).ok()?.t().dot(&rows))
    }
}

/// Returns the first coordinate of each view among all coordinates, and the end of the last.
fn starts(widths: &[usize]) -> Vec<usize> {
    let mut starts = vec![0];
    starts.extend(widths.iter().scan(0, |end, &q| {
        *end += q;
        Some(*end)
    }));
    starts
}

fn view_of(starts: &[usize], coordinate: usize) -> usize {
    starts.partition_point(|&start| start <= coordinate) - 1
}

/// Returns 1 where a sample of the block has a view, `(n, n_views)`.
fn observed(block: &Block) -> Array2<f64> {
    let mut observed = Array2::zeros((block.len, block.views.len()));
    for (v, view) in block.views.iter().enumerate() {
        view.samples.iter().for_each(|&i| observed[[usize::from(i), v]] = 1.0);
    }
    observed
}

/// Returns the residuals of the coordinates from the cluster means, `(n, Q)`; 0 for a missing view.
fn residuals(
    block: &Block,
    mixture: &Mixture,
    probabilities: &ArrayView2<'_, f64>,
    starts: &[usize],
) -> Array2<f64> {
    let mut residuals = Array2::zeros((block.len, starts[starts.len() - 1]));
    for (v, (view, components)) in block.views.iter().zip(&mixture.views).enumerate() {
        let q = components.width;
        for (j, &i) in view.samples.iter().enumerate() {
            let i = usize::from(i);
            let mut row = residuals.slice_mut(s![i, starts[v]..starts[v + 1]]);
            row.iter_mut().zip(view.row(j, q)).for_each(|(to, z)| *to = z);
            for (&p, mean) in probabilities.row(i).iter().zip(components.means.chunks_exact(q)) {
                row.iter_mut().zip(mean).for_each(|(to, mean)| *to -= p * mean);
            }
        }
    }
    residuals
}

/// Returns (A + `ridge` I)⁻¹ B.
fn solved(
    a: &ArrayView2<'_, f64>,
    ridge: f64,
    b: &ArrayView2<'_, f64>,
) -> Result<Array2<f64>, ClusterError> {
    let ((n, columns), on_diagonal) = (b.dim(), |i, j| if i == j { ridge } else { 0.0 });
    let mut system = Mat::from_fn(n, n, |i, j| a[[i, j]] + on_diagonal(i, j));
    let mut x = Mat::from_fn(n, columns, |i, j| b[[i, j]]);
    solve_positive_definite(crate::NAME, system.as_mut(), x.as_mut())?;
    Ok(Array2::from_shape_fn((n, columns), |(i, j)| x[(i, j)]))
}

/// Returns a symmetric matrix with negative eigenvalues set to 0; pairwise covariances can have some.
fn positive_part(a: Array2<f64>) -> Option<Array2<f64>> {
    let n = a.nrows();
    let matrix = Mat::from_fn(n, n, |i, j| a[[i, j]]);
    let eigen = symmetric_eigen(crate::NAME, matrix.as_ref()).ok()?.descending();
    if eigen.values.iter().all(|&value| value >= 0.0) {
        return Some(a);
    }
    let vectors = Array2::from_shape_fn((n, n), |(i, j)| eigen.vectors[(i, j)]);
    let mut scaled = vectors.clone();
    for (mut column, value) in scaled.columns_mut().into_iter().zip(&eigen.values) {
        column *= value.max(0.0);
    }
    Some(scaled.dot(&vectors.t()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solutions_are_of_the_matrix_with_the_ridge() {
        let a = ndarray::array![[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 0.7]];
        let b = ndarray::array![[1.0, 0.0], [-2.0, 4.0], [0.5, 3.0]];
        let x = solved(&a.view(), 0.1, &b.view()).unwrap();
        let product = (&a + &(Array2::<f64>::eye(3) * 0.1)).dot(&x);
        approx::assert_abs_diff_eq!(product, b, epsilon = 1e-12);
    }

    #[test]
    fn only_negative_eigenvalues_are_removed() {
        let positive = ndarray::array![[2.0, 0.5], [0.5, 1.0]];
        assert_eq!(positive_part(positive.clone()).unwrap(), positive);
        // Eigenvalues 3 and -1, of (1, 1) and (1, -1).
        let part = positive_part(ndarray::array![[1.0, 2.0], [2.0, 1.0]]).unwrap();
        approx::assert_abs_diff_eq!(part, Array2::from_elem((2, 2), 1.5), epsilon = 1e-12);
    }

    #[test]
    fn every_coordinate_has_its_view() {
        let starts = starts(&[2, 1, 3]);
        assert_eq!(starts, [0, 2, 3, 6]);
        let views: Vec<usize> = (0..6).map(|i| view_of(&starts, i)).collect();
        assert_eq!(views, [0, 0, 1, 2, 2, 2]);
    }
}
