//! How sure a clustering is of each sample, by how much nearer its cluster is than the next.

use crate::Coordinate;
use ndarray::ArrayView2;

/// The relative margin of every sample in [0, 1]: 1 at its cluster's center, 0 half way to the next.
///
/// c = (d2 - d1) / d2 with d1 the squared distance to the sample's own center and d2 to the nearest
/// other one; 0 where another center is nearer. `losses`: d1; `margins`: d2 - d1.
pub fn relative_margins(losses: &[f64], margins: &[f64]) -> Vec<f64> {
    let relative = |(&loss, &margin)| relative_margin(margin, loss + margin);
    losses.iter().zip(margins).map(relative).collect()
}

/// The relative margins of `points`, `(n_samples, n_features)`, between the `centers`,
/// `(n_clusters, n_features)`, of the clusters that `labels` uses; 0 throughout if that is a single one.
pub fn margins_of_centers<T: Coordinate>(
    points: ArrayView2<'_, T>,
    centers: ArrayView2<'_, f64>,
    labels: &[usize],
) -> Vec<f64> {
    let mut used = vec![false; centers.nrows()];
    labels.iter().for_each(|&label| used[label] = true);
    let distance = |i: usize, cluster: usize| -> f64 {
        let pairs = points.row(i).into_iter().zip(centers.row(cluster));
        pairs.map(|(&x, &u)| (x.into() - u) * (x.into() - u)).sum()
    };
    let margin = |(i, &own): (usize, &usize)| {
        let others = (0..centers.nrows()).filter(|&c| c != own && used[c]);
        let second = others.map(|c| distance(i, c)).fold(f64::INFINITY, f64::min);
        relative_margin(second - distance(i, own), second)
    };
    labels.iter().enumerate().map(margin).collect()
}

/// `margin` over the distance to the `second` center; 0 where there is no second one.
pub fn relative_margin(margin: f64, second: f64) -> f64 {
    if second > 0.0 && second.is_finite() { (margin / second).clamp(0.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn the_center_is_sure_and_the_border_is_not() {
        assert_eq!(relative_margins(&[0.0, 1.0, 0.0], &[4.0, 0.0, 0.0]), [1.0, 0.0, 0.0]);
        let points = array![[0.0], [2.0], [9.0], [11.0], [6.0]];
        let margins =
            margins_of_centers(points.view(), array![[1.0], [9.0]].view(), &[0, 0, 1, 1, 1]);
        assert!(margins[2] > margins[4], "{margins:?}");
        assert!(margins.iter().all(|m| (0.0..=1.0).contains(m)));
    }

    #[test]
    fn clusters_without_a_sample_are_no_alternative() {
        let (points, centers) = (array![[0.0], [4.0]], array![[0.0], [4.0], [1.0]]);
        assert_eq!(margins_of_centers(points.view(), centers.view(), &[0, 1]), [1.0, 1.0]);
        assert_eq!(margins_of_centers(points.view(), centers.view(), &[0, 0]), [0.0, 0.0]);
    }
}
