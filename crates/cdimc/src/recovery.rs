//! Accuracy of imputed views: measured rows are hidden, imputed and compared with the measured values.
//!
//! The model is compared with two simple methods: the means of the columns, and the mean of the nearest
//! neighbors in the other views.

use crate::numbers::mean;
use cdimc_core::ClusterError;
use cdimc_data::{MultiView, Seed, Standardizer, ViewMask};
use ndarray::{Array1, Array2};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

/// Fraction of the measured rows of a view that are hidden, and their maximum number.
const HIDDEN: f64 = 0.1;
const MOST_HIDDEN: usize = 500;
/// Number of neighbors of a hidden row, and maximum number of samples that are searched.
const NEIGHBORS: usize = 10;
const MOST_CANDIDATES: usize = 5000;

/// Note for data with too few rows to hide a tenth of them.
pub(crate) const NOTHING_HIDDEN: &str =
    "the accuracy is unknown: no view has ten measured rows of samples with another view";

/// Accuracy of the imputed rows of one view.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Recovery {
    /// The view of the model.
    pub view: usize,
    /// Rows that were hidden.
    pub hidden_rows: usize,
    /// R²: the recovered fraction of the variance of hidden rows, with columns in units of their standard deviations.
    pub r2: f64,
    /// Root mean square error of the model, in standard deviations of the columns.
    pub error: f64,
    /// Root mean square error of the column means, in the same units.
    pub error_of_means: f64,
    /// Root mean square error of the mean of the nearest neighbors; `None` if no sample shares a view.
    pub error_of_neighbors: Option<f64>,
}

/// Hides rows of each view that have another view, one view at a time, and fills them in; view `i` of
/// `data` is view `views[i]` of the model. Views with too few such rows are left out. `impute` returns every view of the
/// model, which has these standardizers.
///
/// # Errors
/// Same as `impute`.
pub fn recoveries(
    impute: impl Fn(&MultiView) -> Result<Vec<Array2<f64>>, ClusterError>,
    standardizers: &[Standardizer],
    data: &MultiView,
    views: &[usize],
    seed: Seed,
) -> Result<Vec<Recovery>, ClusterError> {
    let mask = data.mask();
    let mut found = Vec::new();
    for given in 0..data.n_views() {
        let seed = seed.stream("hidden rows").nth(given as u64);
        let mut rows: Vec<usize> =
            mask.observed_rows(given).into_iter().filter(|&i| mask.n_views_of(i) > 1).collect();
        let n_hidden = ((HIDDEN * rows.len() as f64) as usize).min(MOST_HIDDEN);
        if n_hidden == 0 {
            continue;
        }
        rows.shuffle(&mut seed.rng());
        rows.truncate(n_hidden);
        let mut entries = mask.entries().to_owned();
        rows.iter().for_each(|&i| entries[[i, given]] = false);
        let tables = (0..data.n_views()).map(|v| data.view(v).to_owned()).collect();
        let hidden = MultiView::new(tables, ViewMask::new(entries)?)?;
        let view = views[given];
        let filled = &impute(&hidden)?[view];
        let scale = Array1::from(standardizers[view].scale.clone());
        // In a constant column no error can be counted in standard deviations.
        let scale = scale.mapv(|s| if s > 0.0 { s } else { 1.0 });
        // Mean squared error of a guess for the hidden row at a place.
        let error = |guess: &dyn Fn(usize) -> Array1<f64>| {
            let squares = rows.iter().enumerate().map(|(place, &i)| {
                let off = (&guess(place) - &data.view(given).row(i)) / &scale;
                off.dot(&off) / scale.len() as f64
            });
            squares.sum::<f64>() / n_hidden as f64
        };
        let mean_of = |rows: &[usize]| {
            let zeros = Array1::zeros(scale.len());
            rows.iter().fold(zeros, |sum, &i| sum + data.view(given).row(i)) / rows.len() as f64
        };
        let (center, means) = (mean_of(&rows), mean_of(&hidden.mask().observed_rows(given)));
        let left = error(&|place| filled.row(rows[place]).to_owned());
        let total = error(&|_| center.clone());
        let scales: Vec<_> = views.iter().map(|&view| &standardizers[view]).collect();
        let nearest = means_of_nearest(&hidden, given, &scales, &rows, seed);
        found.push(Recovery {
            view,
            hidden_rows: n_hidden,
            r2: if total > 0.0 { 1.0 - left / total } else { 0.0 },
            error: left.sqrt(),
            error_of_means: error(&|_| means.clone()).sqrt(),
            error_of_neighbors: nearest.map(|found| error(&|place| found[place].clone()).sqrt()),
        });
    }
    Ok(found)
}

/// Returns for each of the `rows` the mean of the view `wanted` over the nearest samples that share another view with it.
fn means_of_nearest(
    data: &MultiView,
    wanted: usize,
    scales: &[&Standardizer],
    rows: &[usize],
    seed: Seed,
) -> Option<Vec<Array1<f64>>> {
    let mask = data.mask();
    let mut candidates = mask.observed_rows(wanted);
    if candidates.len() > MOST_CANDIDATES {
        candidates.shuffle(&mut seed.stream("candidates").rng());
        candidates.truncate(MOST_CANDIDATES);
    }
    let square = |((x, y), s): ((&f64, &f64), &f64)| {
        if *s > 0.0 { ((x - y) / s).powi(2) } else { 0.0 }
    };
    // Mean squared difference over the columns of the views that both samples have.
    let distance = |i: usize, j: usize| {
        let in_view = |v: usize| {
            let (view, scale) = (data.view(v), &scales[v].scale);
            let pairs = view.row(i).into_iter().zip(view.row(j)).zip(scale);
            pairs.map(square).sum::<f64>() / scale.len() as f64
        };
        let is_shared =
            |&v: &usize| v != wanted && mask.is_observed(i, v) && mask.is_observed(j, v);
        mean((0..data.n_views()).filter(is_shared).map(in_view))
    };
    let mean_of_nearest = |&i: &usize| {
        let mut near: Vec<(f64, usize)> =
            candidates.iter().filter_map(|&j| Some((distance(i, j)?, j))).collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0));
        near.truncate(NEIGHBORS);
        let found = near.iter().map(|&(_, j)| data.view(wanted).row(j).to_owned());
        Some(found.reduce(|sum, row| sum + row)? / near.len() as f64)
    };
    rows.iter().map(mean_of_nearest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_truth_is_recovered_whole_and_an_offset_is_the_error() {
        let angle = |i: usize| i as f64 / 100.0 * std::f64::consts::PI;
        let first = Array2::from_shape_fn((100, 2), |(i, j)| (angle(i) * (j + 1) as f64).sin());
        let second = Array2::from_shape_fn((100, 3), |(i, j)| (angle(i) + j as f64).cos());
        let views = vec![first, second];
        let data = MultiView::from_nan_rows(views.clone()).unwrap();
        let ones = |width| Standardizer { mean: vec![0.0; width], scale: vec![1.0; width] };
        for off in [0.0_f64, 0.25] {
            // The true values plus `off`, whatever is hidden.
            let impute = |_: &MultiView| Ok(views.iter().map(|view| view + off).collect());
            let standardizers = [ones(2), ones(3)];
            let found = recoveries(impute, &standardizers, &data, &[0, 1], Seed::new(1));
            let found = found.unwrap();
            assert_eq!(
                found.iter().map(|r| (r.view, r.hidden_rows)).collect::<Vec<_>>(),
                [(0, 10), (1, 10)]
            );
            for recovery in found {
                assert!((recovery.error - off).abs() < 1e-12, "{recovery:?}");
                assert!((recovery.r2 < 1.0) == (off > 0.0), "{recovery:?}");
                assert!(recovery.error_of_means > 0.3, "{recovery:?}");
                // Along a curve, neighbors in one view are also near in the other.
                assert!(recovery.error_of_neighbors.unwrap() < 0.25, "{recovery:?}");
            }
        }
    }
}
