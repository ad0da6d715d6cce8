//! The clusters in the columns of a view as they were given.

use crate::coordinates::projection::length;
use cdimc_data::{MultiView, Standardizer};
use ndarray::{Array1, Array2};

/// Rows that the mean of all samples counts as in the means that fill in missing views.
const SHRINKAGE: f64 = 1.0;

/// Means and deviations of the columns of a view.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ColumnMeans {
    /// Of all observed samples.
    pub(crate) all: Vec<f64>,
    /// Their deviation; 0 for a constant column.
    pub(crate) spread: Vec<f64>,
    /// `(n_clusters, n_features)`: of the observed samples of each cluster, a little towards that of all.
    pub(crate) shrunk: Array2<f64>,
}

impl ColumnMeans {
    /// Those of view `v` under `labels`.
    pub(crate) fn of(data: &MultiView, v: usize, labels: &[usize], n_clusters: usize) -> Self {
        let (x, mut buffer) = (data.matrix(v), Vec::new());
        let rows = data.mask().observed_rows(v);
        let d = x.ncols();
        let mut sums = Array2::<f64>::zeros((n_clusters, d));
        let mut counts = vec![0.0_f64; n_clusters];
        // Counted from a first row, so that large values do not hide small differences.
        let origin = x.row(rows[0], &mut buffer).to_vec();
        for &i in &rows {
            counts[labels[i]] += 1.0;
            let mut sum = sums.row_mut(labels[i]);
            let row = x.row(i, &mut buffer);
            sum.iter_mut().zip(row.iter().zip(&origin)).for_each(|(s, (x, o))| *s += x - o);
        }
        let n = rows.len() as f64;
        let mean = |j: usize| sums.column(j).sum() / n + origin[j];
        let all: Vec<f64> = (0..d).map(mean).collect();
        let shrunk = Array2::from_shape_fn((n_clusters, d), |(c, j)| {
            let towards_all = SHRINKAGE * (all[j] - origin[j]);
            (sums[[c, j]] + towards_all) / (counts[c] + SHRINKAGE) + origin[j]
        });
        let mut spread = vec![0.0; d];
        for &i in &rows {
            for (j, &x) in x.row(i, &mut buffer).iter().enumerate() {
                spread[j] += (x - all[j]) * (x - all[j]) / n;
            }
        }
        for (j, spread) in spread.iter_mut().enumerate() {
            *spread = if spread.is_finite() {
                spread.sqrt()
            } else {
                // The squares of large values are none.
                let deviations = Array1::from(x.column(j, &rows)) - all[j];
                length(deviations.view()) / n.sqrt()
            };
        }
        Self { all, spread, shrunk }
    }

    pub(crate) fn standardizer(&self) -> Standardizer {
        Standardizer { mean: self.all.clone(), scale: self.spread.clone() }
    }
}
