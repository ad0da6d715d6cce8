//! Order in which samples form batches (paper, section 3.4, step 1).
//!
//! A batch uses only edges of the neighbor graphs between its samples, so likely neighbors should share a batch.

use cdimc_core::{ClusterError, KMeans};
use cdimc_data::{Geometry, MultiView, Seed};
use ndarray::Array2;

/// Returns the samples `rows` in training order: the clusters of a k-means on the concatenated views, one after the other.
pub(crate) fn arranged(
    data: &MultiView,
    rows: &[usize],
    n_clusters: usize,
    seed: Seed,
) -> Result<Vec<usize>, ClusterError> {
    let labels = KMeans::new(n_clusters).fit(concatenated(data, rows).view(), seed)?.labels;
    Ok(in_blocks(rows, &labels))
}

/// Returns the concatenated geometry versions of all views in single precision, `(rows.len(), all features)`.
fn concatenated(data: &MultiView, rows: &[usize]) -> Array2<f32> {
    let mut stacked = Array2::zeros((rows.len(), data.widths().iter().sum()));
    let mut start = 0;
    for view in 0..data.n_views() {
        let geometry = Geometry::new(data, view);
        let columns = start..start + geometry.width();
        let mut values = ndarray::Array1::zeros(geometry.width());
        for (&sample, mut to) in rows.iter().zip(stacked.rows_mut()) {
            geometry.write_row(sample, values.view_mut());
            to.slice_mut(ndarray::s![columns.clone()]).assign(&values.mapv(|x| x as f32));
        }
        start = columns.end;
    }
    stacked
}

/// Returns the rows of cluster 0 in their order, then of cluster 1, and so on.
fn in_blocks(rows: &[usize], labels: &[usize]) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..rows.len()).collect();
    positions.sort_by_key(|&position| labels[position]);
    positions.into_iter().map(|position| rows[position]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn blocks_keep_the_reading_order_inside() {
        assert_eq!(in_blocks(&[4, 2, 0, 3, 1], &[1, 0, 1, 0, 2]), [2, 3, 4, 0, 1]);
    }

    #[test]
    fn views_are_filled_scaled_and_concatenated() {
        let views = vec![array![[3.0, 4.0], [f64::NAN, f64::NAN]], array![[2.0], [-5.0]]];
        let data = MultiView::from_nan_rows(views).unwrap();
        assert_eq!(concatenated(&data, &[1, 0]), array![[0.6, 0.8, -1.0], [0.6, 0.8, 1.0]]);
    }

    #[test]
    fn samples_of_a_cluster_are_consecutive() {
        let view = array![[1.0, 0.0], [0.0, 1.0], [2.0, 0.1], [0.1, 3.0], [5.0, 0.0]];
        let data = MultiView::from_nan_rows(vec![view.clone(), view]).unwrap();
        let order = arranged(&data, &[4, 3, 2, 1, 0], 2, Seed::new(1)).unwrap();
        assert!(order == [4, 2, 0, 3, 1] || order == [3, 1, 4, 2, 0], "{order:?}");
    }
}
