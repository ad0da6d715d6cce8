//! Exact k-nearest neighbours by Euclidean distance, ties to the smaller index.

use crate::{GraphError, exhaustive};
use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

/// How the neighbours are searched for; every way gives the same result, bit for bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Search {
    /// The faster of the two.
    #[default]
    Auto,
    /// A kd-tree over the leading principal coordinates, whose candidates are re-ranked.
    KdTree,
    /// All pairs.
    Exhaustive,
}

/// The neighbours of every point, nearest first, the point itself left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbors {
    /// `(n_points, n_neighbors)`: 0-based points.
    pub indices: Array2<u32>,
    /// `(n_points, n_neighbors)`: squared Euclidean distances, summed from direct differences.
    pub squared_distances: Array2<f64>,
}

/// The `n_neighbors` nearest other points of every row of `points`, `(n_points, n_features)`.
///
/// Exactly equal squared distances go to the smaller index. With fewer than `n_neighbors` other
/// points, all of them are given. The result does not depend on the number of threads.
///
/// # Errors
/// If there are fewer than two points, `n_neighbors` is 0, or a coordinate is not finite.
pub fn nearest(
    points: ArrayView2<f64>,
    n_neighbors: usize,
    search: Search,
) -> Result<Neighbors, GraphError> {
    let n_points = points.nrows();
    if n_points < 2 {
        return Err(GraphError::TooFewPoints { n_points });
    }
    if n_neighbors == 0 {
        return Err(GraphError::NoNeighbors);
    }
    if let Some(((point, coordinate), &value)) = points.indexed_iter().find(|(_, x)| !x.is_finite())
    {
        return Err(GraphError::NotFinite { point, coordinate, value });
    }
    let points = points.as_standard_layout();
    let n_neighbors = n_neighbors.min(n_points - 1);
    match search {
        Search::Auto | Search::KdTree | Search::Exhaustive => {
            Ok(exhaustive::nearest(points.view(), n_neighbors))
        }
    }
}
