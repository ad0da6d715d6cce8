//! Cluster means and quartiles in the original columns of a view.

use crate::coordinates::length;
use cdimc_data::{MultiView, Standardizer};
use ndarray::{Array1, Array2};

/// Number of rows that the overall mean counts as.
const SHRINKAGE_ROWS: f64 = 1.0;
/// Maximum number of values per view that quartiles are computed from: a quarter of a second, and 80 MB.
const MAX_VALUES: usize = 10_000_000;
/// Number of rows from which quartiles show the range of a cluster.
pub const MIN_ROWS: usize = 8;

/// Means and SDs of the columns of a view.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ColumnMeans {
    /// Means over all observed samples.
    pub(crate) all: Vec<f64>,
    /// SDs over all observed samples; 0 for a constant column.
    pub(crate) sds: Vec<f64>,
    /// Means of each cluster, shrunk towards the overall means, `(n_clusters, n_features)`.
    pub(crate) shrunk: Array2<f64>,
    /// `None` if the sums of the values are too large, and in older models.
    pub(crate) typical: Option<TypicalValues>,
}

/// Typical values of the columns of a view in each cluster.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TypicalValues {
    /// First quartile, mean and third quartile of each cluster, `(3 * n_clusters, n_features)`.
    pub(crate) values: Array2<f64>,
    /// Number of rows of each cluster that they were computed from.
    pub(crate) n_rows: Vec<u32>,
}

impl TypicalValues {
    /// Computes them from all rows of view `v`, or evenly spaced ones if there are more than [`MAX_VALUES`] values.
    fn of(data: &MultiView, v: usize, labels: &[usize], n_clusters: usize) -> Option<Self> {
        let (x, mut buffer) = (data.matrix(v), Vec::new());
        let (observed, d) = (data.mask().observed_rows(v), x.ncols());
        let step = (observed.len() * d).div_ceil(MAX_VALUES).max(1);
        let mut rows: Vec<usize> = observed.into_iter().step_by(step).collect();
        rows.sort_by_key(|&i| labels[i]);
        let mut columns = vec![0.0; rows.len() * d];
        let mut n_rows = vec![0; n_clusters];
        for (r, &i) in rows.iter().enumerate() {
            n_rows[labels[i]] += 1;
            for (j, &x) in x.row(i, &mut buffer).iter().enumerate() {
                columns[j * rows.len() + r] = x;
            }
        }
        let mut values = Array2::zeros((3 * n_clusters, d));
        for (j, mut rest) in columns.chunks_exact_mut(rows.len()).enumerate() {
            for (c, &n) in n_rows.iter().enumerate() {
                let (own, others) = rest.split_at_mut(n as usize);
                rest = others;
                own.sort_unstable_by(f64::total_cmp);
                let mean = own.iter().sum::<f64>() / f64::from(n.max(1));
                let typical = [quantile(own, 0.25), mean, quantile(own, 0.75)];
                for (place, x) in typical.into_iter().enumerate() {
                    values[[3 * c + place, j]] = x;
                }
            }
        }
        values.iter().all(|x| x.is_finite()).then_some(Self { values, n_rows })
    }

    /// Returns first quartile, mean and third quartile of a column in a cluster; `None` from too few rows.
    pub(crate) fn get(&self, column: usize, cluster: usize) -> Option<[f64; 3]> {
        let value = |place| self.values[[3 * cluster + place, column]];
        (self.n_rows[cluster] as usize >= MIN_ROWS).then(|| [0, 1, 2].map(value))
    }
}

/// Returns a quantile of sorted values, interpolated as by the default of R; 0 without values.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * sorted.len().saturating_sub(1) as f64;
    let at = |place: f64| sorted.get(place as usize).map_or(0.0, |&x| x);
    let (low, high) = (at(place.floor()), at(place.ceil()));
    low + (high - low) * place.fract()
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
        Self { all, sds, shrunk, typical: TypicalValues::of(data, v, labels, n_clusters) }
    }

    pub(crate) fn standardizer(&self) -> Standardizer {
        Standardizer { mean: self.all.clone(), scale: self.sds.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typical_values_are_quartiles_and_means_of_a_cluster() {
        // R: x <- c(1, 2, 4, 8, 16, 32, 64, 128); quantile(x, c(0.25, 0.75)); mean(x)
        let values = [128.0, 5.0, 1.0, 2.0, 4.0, 7.0, 8.0, 16.0, 32.0, 64.0];
        let view = Array2::from_shape_fn((10, 2), |(i, j)| values[i] * [1.0, -1.0][j]);
        let data = MultiView::from_nan_rows(vec![view]).unwrap();
        let labels = [1, 0, 1, 1, 1, 0, 1, 1, 1, 1];
        let found = ColumnMeans::of(&data, 0, &labels, 2).typical.unwrap();
        assert_eq!(found.get(0, 1), Some([3.5, 31.875, 40.0]));
        assert_eq!(found.get(1, 1), Some([-40.0, -31.875, -3.5]));
        assert_eq!(found.get(0, 0), None, "two rows are too few");
    }
}
