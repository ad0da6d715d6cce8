//! What a report says in numbers: the features of a cluster, the plane a cloud of points lies in.

use super::has_plane;
use cdimc_data::MultiView;
use faer::{Mat, Side};
use ndarray::{ArrayView2, Axis};

/// A feature of which a cluster's mean differs from that of all samples.
pub(super) struct Feature {
    pub(super) view: usize,
    pub(super) column: usize,
    /// Mean of the cluster less mean of all, in standard deviations of all, over observed rows.
    pub(super) difference: f64,
}

/// The `n_features` most different features of every cluster, most different first.
pub(super) fn profiles(data: &MultiView, labels: &[usize], n_features: usize) -> Vec<Vec<Feature>> {
    let n_clusters = labels.iter().max().map_or(0, |&most| most + 1);
    let mut found: Vec<Vec<Feature>> = (0..n_clusters).map(|_| Vec::new()).collect();
    for view in 0..data.n_views() {
        let rows = data.mask().observed_rows(view);
        let values = data.view(view);
        let mut sums = ndarray::Array2::<f64>::zeros((n_clusters, data.width(view)));
        let mut sizes = vec![0.0_f64; n_clusters];
        for &i in &rows {
            sums.row_mut(labels[i]).scaled_add(1.0, &values.row(i));
            sizes[labels[i]] += 1.0;
        }
        let n = rows.len() as f64;
        let mean = sums.sum_axis(Axis(0)) / n;
        let mut variance = ndarray::Array1::<f64>::zeros(data.width(view));
        for &i in &rows {
            variance.zip_mut_with(&(&values.row(i) - &mean), |v, d| *v += d * d / n);
        }
        for cluster in (0..n_clusters).filter(|&c| sizes[c] > 0.0) {
            for feature in (0..data.width(view)).filter(|&j| variance[j] > 0.0) {
                let inside = sums[[cluster, feature]] / sizes[cluster];
                let difference = (inside - mean[feature]) / variance[feature].sqrt();
                found[cluster].push(Feature { view, column: feature, difference });
            }
        }
    }
    for features in &mut found {
        features.sort_by(|a, b| b.difference.abs().total_cmp(&a.difference.abs()));
        features.truncate(n_features);
    }
    found
}

/// Every point at its two leading principal components, and the share of the variance each carries.
pub(super) fn principal_plane(points: ArrayView2<'_, f64>) -> Option<(Vec<[f64; 2]>, [f64; 2])> {
    if !has_plane(points) {
        return None;
    }
    let (n, d) = points.dim();
    let mean = points.mean_axis(Axis(0))?;
    let centered = &points - &mean;
    let covariance = centered.t().dot(&centered) / n as f64;
    let matrix = Mat::from_fn(d, d, |i, j| covariance[[i, j]]);
    let eigen = matrix.self_adjoint_eigen(Side::Lower).ok()?;
    let values: Vec<f64> = eigen.S().column_vector().iter().copied().collect();
    let total: f64 = values.iter().sum();
    // Eigenvalues ascend; a component's sign is free and fixed by its largest entry.
    let component = |column: usize| -> Vec<f64> {
        let vector: Vec<f64> = (0..d).map(|i| eigen.U()[(i, column)]).collect();
        let largest =
            vector.iter().copied().fold(0.0, |a: f64, x| if x.abs() > a.abs() { x } else { a });
        vector.into_iter().map(|x| x * largest.signum()).collect()
    };
    let (first, second) = (component(d - 1), component(d - 2));
    let project = |row: ndarray::ArrayView1<f64>| {
        let along = |axis: &[f64]| row.iter().zip(axis).map(|(x, a)| x * a).sum::<f64>();
        [along(&first), along(&second)]
    };
    let share = |column: usize| if total > 0.0 { values[column] / total } else { 0.0 };
    Some((centered.outer_iter().map(project).collect(), [share(d - 1), share(d - 2)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn the_plane_keeps_the_spread_of_the_points() {
        let points = array![[0.0, 0.0, 1.0], [2.0, 0.0, 1.0], [4.0, 1.0, 1.0], [6.0, 0.5, 1.0]];
        let (plane, shares) = principal_plane(points.view()).unwrap();
        assert!((shares[0] + shares[1] - 1.0).abs() < 1e-12);
        let distance = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]);
        assert!((distance(plane[0], plane[1]) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn the_feature_that_differs_leads_the_profile() {
        let view = array![[0.0, 5.0], [0.1, 4.0], [9.0, 5.0], [9.1, 4.0]];
        let data = MultiView::from_nan_rows(vec![view]).unwrap();
        let profiles = profiles(&data, &[0, 0, 1, 1], 1);
        assert_eq!((profiles[0][0].column, profiles[1][0].column), (0, 0));
        assert!(profiles[0][0].difference < 0.0 && profiles[1][0].difference > 0.0);
    }
}
