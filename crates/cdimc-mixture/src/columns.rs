//! The clusters in the columns of a view as they were given.

use cdimc_data::{MultiView, Standardizer};
use ndarray::Array2;

/// Rows that the mean of all samples counts as in the means that fill in missing views.
const SHRINKAGE: f64 = 1.0;
/// The least deviation within clusters, as a share of that of all samples.
const LEAST_WITHIN: f64 = 1e-3;
/// Deviations below this share of the mean are rounding.
const ROUNDING: f64 = 1e-12;

/// Means and deviations of the columns of a view.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ColumnMeans {
    /// Of all observed samples.
    pub(crate) all: Vec<f64>,
    /// Their deviation; 0 for a constant column.
    pub(crate) spread: Vec<f64>,
    /// The deviation within clusters.
    pub(crate) within: Vec<f64>,
    /// `(n_clusters, n_features)`: of the observed samples of each cluster, that of all where it has none.
    pub(crate) means: Array2<f64>,
    /// The same, a little towards the mean of all.
    pub(crate) shrunk: Array2<f64>,
}

impl ColumnMeans {
    /// Those of view `v` under `labels`.
    pub(crate) fn of(data: &MultiView, v: usize, labels: &[usize], n_clusters: usize) -> Self {
        let x = data.view(v);
        let rows = data.mask().observed_rows(v);
        let d = x.ncols();
        let mut sums = Array2::<f64>::zeros((n_clusters, d));
        let mut counts = vec![0.0_f64; n_clusters];
        // Counted from a first row, so that large values do not hide small differences.
        let origin = x.row(rows[0]);
        for &i in &rows {
            counts[labels[i]] += 1.0;
            let mut sum = sums.row_mut(labels[i]);
            sum.iter_mut().zip(x.row(i).iter().zip(origin)).for_each(|(s, (x, o))| *s += x - o);
        }
        let n = rows.len() as f64;
        let mean = |j: usize| sums.column(j).sum() / n + origin[j];
        let all: Vec<f64> = (0..d).map(mean).collect();
        let towards = |weight: f64| {
            Array2::from_shape_fn((n_clusters, d), |(c, j)| {
                let total = counts[c] + weight;
                if total > 0.0 {
                    (sums[[c, j]] + weight * (all[j] - origin[j])) / total + origin[j]
                } else {
                    all[j]
                }
            })
        };
        let (means, shrunk) = (towards(0.0), towards(SHRINKAGE));
        let (mut spread, mut within) = (vec![0.0; d], vec![0.0; d]);
        for &i in &rows {
            for (j, &x) in x.row(i).iter().enumerate() {
                spread[j] += (x - all[j]) * (x - all[j]) / n;
                let own = x - means[[labels[i], j]];
                within[j] += own * own / n;
            }
        }
        spread.iter_mut().chain(&mut within).for_each(|s| *s = s.sqrt());
        Self { all, spread, within, means, shrunk }
    }

    /// Mean of cluster `c` less that of all, in deviations within clusters; 0 for a constant column.
    pub(crate) fn difference(&self, c: usize, column: usize) -> f64 {
        let (within, spread) = (self.within[column], self.spread[column]);
        let difference = self.means[[c, column]] - self.all[column];
        // A column that the clusters explain wholly has no deviation of its own left.
        let unit = within.max(LEAST_WITHIN * spread);
        if unit > ROUNDING * self.all[column].abs() && unit > 0.0 { difference / unit } else { 0.0 }
    }

    pub(crate) fn standardizer(&self) -> Standardizer {
        let scale = self.spread.iter().map(|&s| if s > 0.0 { s } else { 1.0 }).collect();
        Standardizer { mean: self.all.clone(), scale }
    }
}
