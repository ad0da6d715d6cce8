//! Nearest neighbours by comparing all pairs.

use crate::Neighbors;
use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

/// The neighbours of every row; `points` is in standard layout, `n_neighbors < n_points`.
pub(crate) fn nearest(points: ArrayView2<f64>, n_neighbors: usize) -> Neighbors {
    let n_points = points.nrows();
    let found: Vec<Vec<(f64, u32)>> = (0..n_points)
        .into_par_iter()
        .map(|i| {
            let mut others: Vec<(f64, u32)> = (0..n_points)
                .filter(|&j| j != i)
                .map(|j| {
                    let difference = &points.row(i) - &points.row(j);
                    (difference.iter().map(|d| d * d).sum(), j as u32)
                })
                .collect();
            others.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            others.truncate(n_neighbors);
            others
        })
        .collect();
    Neighbors {
        indices: Array2::from_shape_fn((n_points, n_neighbors), |(i, a)| found[i][a].1),
        squared_distances: Array2::from_shape_fn((n_points, n_neighbors), |(i, a)| found[i][a].0),
    }
}
