//! Confidence of labels: how much nearer the own cluster is than the next one.

use crate::Coordinate;
use ndarray::ArrayView2;

/// Returns the relative margin per sample, in [0, 1]: 1 at the center of its cluster, 0 half way to the next.
///
/// c = (d2 - d1) / d2, where d1 is the squared distance to the sample's own center and d2 to the nearest other center;
/// 0 if another center is nearer. `losses` holds d1, `margins` holds d2 - d1.
///
/// # Panics
/// If the numbers of losses and margins differ.
pub fn relative_margins(losses: &[f64], margins: &[f64]) -> Vec<f64> {
    assert_eq!(losses.len(), margins.len(), "one margin per loss");
    let relative = |(&loss, &margin)| relative_margin(margin, loss + margin);
    losses.iter().zip(margins).map(relative).collect()
}

/// Returns the relative margins of `points`, `(n_samples, n_features)`, between the `centers`,
/// `(n_clusters, n_features)`, of the clusters in `labels`; all 0 if there is only one such cluster.
///
/// # Panics
/// If points and centers have different numbers of features, there is not one label per point, or a label has no center.
pub fn margins_of_centers<T: Coordinate>(
    points: ArrayView2<'_, T>,
    centers: ArrayView2<'_, f64>,
    labels: &[usize],
) -> Vec<f64> {
    assert_eq!(
        points.dim(),
        (labels.len(), centers.ncols()),
        "points, labels and centers must fit"
    );
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

/// Returns `margin` divided by the distance to the `second` center; 0 if there is no second center.
pub fn relative_margin(margin: f64, second: f64) -> f64 {
    if second > 0.0 && second.is_finite() { (margin / second).clamp(0.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn confidence_is_1_at_the_center_and_0_at_the_border() {
        assert_eq!(relative_margins(&[0.0, 1.0, 0.0], &[4.0, 0.0, 0.0]), [1.0, 0.0, 0.0]);
        let points = array![[0.0], [2.0], [9.0], [11.0], [6.0]];
        let margins =
            margins_of_centers(points.view(), array![[1.0], [9.0]].view(), &[0, 0, 1, 1, 1]);
        assert!(margins[2] > margins[4], "{margins:?}");
        assert!(margins.iter().all(|m| (0.0..=1.0).contains(m)));
    }

    #[test]
    #[should_panic(expected = "points, labels and centers must fit")]
    fn centers_of_another_width_have_no_margins() {
        margins_of_centers(array![[0.0, 9.0]].view(), array![[0.0], [4.0]].view(), &[0]);
    }

    #[test]
    fn empty_clusters_do_not_count_as_second_nearest() {
        let (points, centers) = (array![[0.0], [4.0]], array![[0.0], [4.0], [1.0]]);
        assert_eq!(margins_of_centers(points.view(), centers.view(), &[0, 1]), [1.0, 1.0]);
        assert_eq!(margins_of_centers(points.view(), centers.view(), &[0, 0]), [0.0, 0.0]);
    }
}
