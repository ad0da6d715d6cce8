//! How sure a clustering is of each sample.

use ndarray::{Array2, ArrayView2};

/// The relative margin of every sample in [0, 1]: 1 at its cluster's center, 0 half way to the next.
///
/// c = (d2 - d1) / d2 with d1 the squared distance to the sample's own center and d2 to the nearest
/// other one; 0 where another center is nearer. `losses`: d1; `margins`: d2 - d1, as
/// [`Prediction`](cdimc_cluster::Prediction) gives them.
pub fn relative_margins(losses: &[f64], margins: &[f64]) -> Vec<f64> {
    let relative = |(&loss, &margin): (&f64, &f64)| {
        let second = loss + margin;
        if second > 0.0 { (margin / second).clamp(0.0, 1.0) } else { 0.0 }
    };
    losses.iter().zip(margins).map(relative).collect()
}

/// The relative margins of a clustering that has an embedding but no centers of its own: those of its
/// clusters' means, `(n_samples, latent)` and one label a sample.
pub fn margins_of_means(embedding: ArrayView2<'_, f64>, labels: &[usize]) -> Vec<f64> {
    let means = cluster_means(embedding, labels);
    let distance = |i: usize, cluster: usize| -> f64 {
        let difference = &embedding.row(i) - &means.row(cluster);
        difference.dot(&difference)
    };
    let margin = |(i, &own): (usize, &usize)| {
        let first = distance(i, own);
        let others = (0..means.nrows()).filter(|&c| c != own && !means[[c, 0]].is_nan());
        let second = others.map(|c| distance(i, c)).fold(f64::INFINITY, f64::min);
        if second > 0.0 { ((second - first) / second).clamp(0.0, 1.0) } else { 0.0 }
    };
    labels.iter().enumerate().map(margin).collect()
}

/// The mean of every cluster, `(n_clusters, n_features)`; NaN where a cluster is empty.
pub(crate) fn cluster_means(points: ArrayView2<'_, f64>, labels: &[usize]) -> Array2<f64> {
    let n_clusters = labels.iter().max().map_or(0, |&most| most + 1);
    let mut means = Array2::zeros((n_clusters, points.ncols()));
    let mut sizes = vec![0.0; n_clusters];
    for (row, &label) in points.outer_iter().zip(labels) {
        means.row_mut(label).scaled_add(1.0, &row);
        sizes[label] += 1.0;
    }
    for (mut mean, size) in means.outer_iter_mut().zip(sizes) {
        mean.mapv_inplace(|x| x / size);
    }
    means
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn the_center_is_sure_and_the_border_is_not() {
        assert_eq!(relative_margins(&[0.0, 1.0, 0.0], &[4.0, 0.0, 0.0]), [1.0, 0.0, 0.0]);
        let points = array![[0.0], [2.0], [9.0], [11.0], [6.0]];
        let margins = margins_of_means(points.view(), &[0, 0, 1, 1, 1]);
        assert!(margins[2] > margins[4], "{margins:?}");
        assert!(margins.iter().all(|m| (0.0..=1.0).contains(m)));
    }
}
