//! What sets each cluster apart: the columns whose means differ most, whatever method found it.

use cdimc_data::MultiView;
use ndarray::{Array1, Array2};

/// How many columns of a cluster are listed.
pub const LISTED: usize = 100;

/// A column of which a cluster's mean differs from that of the other samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Marker {
    /// The view.
    pub view: usize,
    /// The column of the view.
    pub column: usize,
    /// Mean of the cluster less mean of the other samples, in deviations within clusters, over the samples
    /// in which the view was measured.
    pub difference: f64,
}

/// The `most` columns of every cluster that differ most, most different first; empty if a view has no
/// sample inside or none outside the cluster.
///
/// # Panics
/// If there is not one label for every sample.
pub fn markers(data: &MultiView, labels: &[usize], most: usize) -> Vec<Vec<Marker>> {
    let n_clusters = labels.iter().max().map_or(0, |&last| last + 1);
    let mut found: Vec<Vec<Marker>> = vec![Vec::new(); n_clusters];
    for view in 0..data.n_views() {
        let rows = data.mask().observed_rows(view);
        let moments = Moments::new(data, view, &rows, labels, n_clusters);
        for (cluster, markers) in found.iter_mut().enumerate() {
            markers.extend(moments.markers(view, cluster));
        }
    }
    for markers in &mut found {
        // Ties keep the order of the columns, so that the same data give the same list.
        markers.sort_by(|a, b| b.difference.abs().total_cmp(&a.difference.abs()));
        markers.truncate(most);
    }
    found
}

/// Sums of a view by cluster, every column in units of its largest value.
struct Moments {
    sums: Array2<f64>,
    sizes: Vec<f64>,
    /// Deviation within clusters; 0 for a constant column.
    within: Array1<f64>,
}

impl Moments {
    fn new(
        data: &MultiView,
        view: usize,
        rows: &[usize],
        labels: &[usize],
        n_clusters: usize,
    ) -> Self {
        let (values, width) = (data.view(view), data.width(view));
        let mut unit = Array1::<f64>::zeros(width);
        for &i in rows {
            unit.zip_mut_with(&values.row(i), |most, x| *most = most.max(x.abs()));
        }
        // Whatever the unit of a column, squares are finite.
        unit.mapv_inplace(|x| if x > 0.0 { x } else { 1.0 });
        let mut sums = Array2::<f64>::zeros((n_clusters, width));
        let mut sizes = vec![0.0_f64; n_clusters];
        for &i in rows {
            sums.row_mut(labels[i]).scaled_add(1.0, &(&values.row(i) / &unit));
            sizes[labels[i]] += 1.0;
        }
        let n = rows.len() as f64;
        let mean = sums.sum_axis(ndarray::Axis(0)) / n;
        let (mut inside, mut total) = (Array1::<f64>::zeros(width), Array1::<f64>::zeros(width));
        for &i in rows {
            let row = &values.row(i) / &unit;
            let own = &sums.row(labels[i]) / sizes[labels[i]];
            inside.zip_mut_with(&(&row - &own), |sum, d| *sum += d * d / n);
            total.zip_mut_with(&(&row - &mean), |sum, d| *sum += d * d / n);
        }
        // A column that is constant within clusters is measured no finer than this.
        let finest = total.mapv(|x| 1e-6 * x.sqrt());
        let mut within = inside.mapv(f64::sqrt);
        within.zip_mut_with(&finest, |x, &least| *x = x.max(least));
        Self { sums, sizes, within }
    }

    fn markers(&self, view: usize, cluster: usize) -> Vec<Marker> {
        let (inside, all) = (self.sizes[cluster], self.sizes.iter().sum::<f64>());
        if inside == 0.0 || inside == all {
            return Vec::new();
        }
        let marker = |(column, &within): (usize, &f64)| {
            let sum = self.sums[[cluster, column]];
            let rest = self.sums.column(column).sum() - sum;
            let difference = (sum / inside - rest / (all - inside)) / within;
            (within > 0.0).then_some(Marker { view, column, difference })
        };
        self.within.iter().enumerate().filter_map(marker).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn the_column_that_differs_comes_first() {
        let view = array![[0.0, 5.0], [0.2, 4.0], [9.0, 5.0], [9.2, 4.0]];
        let data = MultiView::from_nan_rows(vec![view]).unwrap();
        let found = markers(&data, &[0, 0, 1, 1], 1);
        assert_eq!((found[0].len(), found[0][0].column, found[1][0].column), (1, 0, 0));
        // Means 0.1 and 9.1, deviation within 0.1.
        assert!((found[0][0].difference + 90.0).abs() < 1e-9, "{found:?}");
        assert!((found[1][0].difference - 90.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn missing_rows_units_and_constant_columns_change_nothing() {
        let nan = f64::NAN;
        let view = |s: f64| array![[0.0, s, 1.0], [s, s, 1.0], [nan, nan, nan], [5.0 * s, s, 2.0]];
        let other = array![[1.0], [2.0], [3.0], [4.0]];
        let found = |s: f64| {
            let data = MultiView::from_nan_rows(vec![view(s), other.clone()]).unwrap();
            markers(&data, &[0, 0, 1, 1], 9)
        };
        let (one, tiny, huge) = (found(1.0), found(1e-280), found(1e280));
        for (a, b) in one.iter().flatten().zip(tiny.iter().flatten().chain(huge.iter().flatten())) {
            assert_eq!((a.view, a.column), (b.view, b.column));
            assert!((a.difference / b.difference - 1.0).abs() < 1e-9);
        }
        assert!(one.iter().flatten().all(|marker| (marker.view, marker.column) != (0, 1)));
        assert_eq!(one[0].len(), 3);
    }
}
