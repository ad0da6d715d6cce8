//! Cluster means in the original columns of a view.

use crate::coordinates::length;
use cdimc_data::{MultiView, Standardizer};
use ndarray::{Array1, Array2};

/// Number of rows that the overall mean counts as.
const SHRINKAGE_ROWS: f64 = 1.0;

/// Means and SDs of the columns of a view.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ColumnMeans {
    /// Means over all observed samples.
    pub(crate) all: Vec<f64>,
    /// SDs over all observed samples; 0 for a constant column.
    pub(crate) sds: Vec<f64>,
    /// Means of each cluster, shrunk towards the overall means, `(n_clusters, n_features)`.
    pub(crate) shrunk: Array2<f64>,
}

impl ColumnMeans {
    /// Computes the means of view `v` under `labels`.
    pub(crate) fn of(data: &MultiView, v: usize, labels: &[usize], n_clusters: usize) -> Self {
        let (x, mut buffer) = (data.matrix(v), Vec::new());
        let rows = data.mask().observed_rows(v);
        let d = x.ncols();
        let mut sums = Array2::<f64>::zeros((n_clusters, d));
        let mut counts = vec![0.0_f64; n_clusters];
        // Relative to the first row, so that large values do not hide small differences.
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
            let towards_all = SHRINKAGE_ROWS * (all[j] - origin[j]);
            (sums[[c, j]] + towards_all) / (counts[c] + SHRINKAGE_ROWS) + origin[j]
        });
        let mut sds = vec![0.0; d];
        for &i in &rows {
            for (j, &x) in x.row(i, &mut buffer).iter().enumerate() {
                sds[j] += (x - all[j]) * (x - all[j]) / n;
            }
        }
        for (j, sds) in sds.iter_mut().enumerate() {
            *sds = if sds.is_finite() {
                sds.sqrt()
            } else {
                // The squares of large values overflow.
                let deviations = Array1::from(x.column(j, &rows)) - all[j];
                length(deviations.view()) / n.sqrt()
            };
        }
        Self { all, sds, shrunk }
    }

    pub(crate) fn standardizer(&self) -> Standardizer {
        Standardizer { mean: self.all.clone(), scale: self.sds.clone() }
    }
}
