//! Fits the plane of a cloud of points.

use cdimc_core::linear_algebra::symmetric_eigen;
use faer::Mat;
use ndarray::{ArrayView2, Axis};

/// Returns each point at its two leading principal components, and the share of the variance of each component; `None`
/// for fewer than three points, one column, or a number that is not finite.
pub(super) fn principal_plane(points: ArrayView2<'_, f64>) -> Option<(Vec<[f64; 2]>, [f64; 2])> {
    let (n, d) = points.dim();
    if n < 3 || d < 2 || !points.iter().all(|x| x.is_finite()) {
        return None;
    }
    let mean = points.mean_axis(Axis(0))?;
    let centered = &points - &mean;
    let covariance = centered.t().dot(&centered) / n as f64;
    let matrix = Mat::from_fn(d, d, |i, j| covariance[[i, j]]);
    let eigen = symmetric_eigen("report", matrix.as_ref()).ok()?.descending();
    let total: f64 = eigen.values.iter().sum();
    // The sign of a component is arbitrary; its largest entry fixes it.
    let component = |column: usize| -> Vec<f64> {
        let vector: Vec<f64> = (0..d).map(|i| eigen.vectors[(i, column)]).collect();
        let largest =
            vector.iter().copied().fold(0.0, |a: f64, x| if x.abs() > a.abs() { x } else { a });
        vector.into_iter().map(|x| x * largest.signum()).collect()
    };
    let axes = [0, 1].map(component);
    let project = |row: ndarray::ArrayView1<f64>| {
        axes.each_ref().map(|axis| row.iter().zip(axis).map(|(x, a)| x * a).sum::<f64>())
    };
    let share = |column: usize| if total > 0.0 { eigen.values[column] / total } else { 0.0 };
    Some((centered.outer_iter().map(project).collect(), [0, 1].map(share)))
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
}
