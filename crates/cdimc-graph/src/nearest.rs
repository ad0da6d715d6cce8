//! Exact k nearest neighbors by Euclidean distance; ties go to the smaller index.

use crate::cloud::Cloud;
use crate::duplicates::Duplicates;
use crate::kd_tree::Tree;
use crate::{GraphError, exhaustive};
use ndarray::{Array2, ArrayView1, ArrayView2, Axis, CowArray};

/// Search method for neighbors; all methods return the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Search {
    /// The tree for at least 5000 points and at least 32 points per feature, if four directions hold 99 % of the variance
    /// (always true for up to four features); otherwise all pairs.
    ///
    /// Without these conditions, all pairs are faster than the tree. The directions come from a sample of the points, at little cost.
    /// Every search compares only the first `n_neighbors + 1` of equal points.
    #[default]
    Auto,
    /// A kd-tree over the four leading principal coordinates, with exact ranking of its candidates.
    KdTree,
    /// All pairs.
    Exhaustive,
}

/// Neighbors of every point, nearest first, without the point itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbors {
    /// `(n_points, n_neighbors)`: points, from 0.
    pub indices: Array2<u32>,
    /// `(n_points, n_neighbors)`: squared Euclidean distances, computed from differences.
    pub squared_distances: Array2<f64>,
}

/// Returns the `n_neighbors` nearest other points of every row of `points`, `(n_points, n_features)`.
///
/// Exact ties go to the smaller index. If there are fewer than `n_neighbors` other points, it returns all of them. The
/// result does not depend on the number of threads.
///
/// # Errors
/// If there are fewer than two points, `n_neighbors` is 0, a coordinate is not finite, or the points are so far apart that
/// squared distances overflow.
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
    // No squared distance is larger than that of opposite corners of the bounding box.
    let span = |column: ArrayView1<'_, f64>| {
        column.fold(f64::NEG_INFINITY, |most, x| most.max(*x))
            - column.fold(f64::INFINITY, |least, x| least.min(*x))
    };
    let diagonal: f64 = points.columns().into_iter().map(|column| span(column).powi(2)).sum();
    if diagonal.is_infinite() {
        return Err(GraphError::TooFarApart);
    }
    // Points without coordinates have distance 0 from each other.
    let points = if points.ncols() == 0 {
        CowArray::from(Array2::zeros((n_points, 1)))
    } else {
        points.as_standard_layout()
    };
    let n_neighbors = n_neighbors.min(n_points - 1);
    let coordinates = points.as_slice().unwrap_or(&[]);
    let Duplicates { kept, source } = Duplicates::new(coordinates, points.ncols(), n_neighbors);
    let points =
        if kept.len() < n_points { CowArray::from(points.select(Axis(0), &kept)) } else { points };
    let cloud = Cloud::new(points.as_slice().unwrap_or(&[]), points.ncols());
    let tree = match search {
        Search::Exhaustive => None,
        Search::KdTree | Search::Auto => Tree::new(&cloud, search == Search::Auto),
    };
    let found = match tree {
        Some(tree) => tree.nearest(n_neighbors),
        None => exhaustive::nearest(&cloud, n_neighbors),
    };
    let shape = (n_points, n_neighbors);
    let of = |i: usize, a: usize| found[source[i]][a];
    Ok(Neighbors {
        indices: Array2::from_shape_fn(shape, |(i, a)| kept[of(i, a).point as usize] as u32),
        squared_distances: Array2::from_shape_fn(shape, |(i, a)| of(i, a).squared_distance()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;
    use proptest::prelude::*;

    /// Sorts all pairs.
    fn by_definition(points: &Array2<f64>, n_neighbors: usize) -> Neighbors {
        let n_points = points.nrows();
        let row = |i: usize| points.row(i).to_vec();
        let others_of = |i: usize| {
            let mut others: Vec<(f64, u32)> = (0..n_points)
                .filter(|&j| j != i)
                .map(|j| (cdimc_core::squared_distance(&row(i), &row(j)), j as u32))
                .collect();
            others.sort_by(|a, b| a.partial_cmp(b).unwrap());
            others
        };
        let others: Vec<Vec<(f64, u32)>> = (0..n_points).map(others_of).collect();
        let shape = (n_points, n_neighbors.min(n_points - 1));
        Neighbors {
            indices: Array2::from_shape_fn(shape, |(i, a)| others[i][a].1),
            squared_distances: Array2::from_shape_fn(shape, |(i, a)| others[i][a].0),
        }
    }

    /// Points with few or many coordinates, of three values (ties and duplicates) or any, near 0 or far from it. In the
    /// smallest unit all squares are 0, and so are the distances of different points.
    fn some_points() -> impl Strategy<Value = Array2<f64>> {
        let n_features = prop_oneof![1..4_usize, 1..40_usize];
        let unit = prop::sample::select(vec![1e-170, 1e-130, 1e-3, 1.0, 1e6, 1e150]);
        (2..80_usize, n_features, 0..4, unit).prop_flat_map(|(n, m, kind, unit)| {
            prop::collection::vec(-1.5..1.5_f64, n * m).prop_map(move |values| {
                let value = |x: f64| match kind {
                    0 => x * unit,
                    1 => 1e4 * unit + x * unit,
                    _ => x.round() * unit,
                };
                Array2::from_shape_vec((n, m), values.into_iter().map(value).collect()).unwrap()
            })
        })
    }

    proptest! {
        #[test]
        fn every_search_agrees_with_the_definition(
            points in some_points(), n_neighbors in 1..20_usize,
        ) {
            let expected = by_definition(&points, n_neighbors);
            for search in [Search::Exhaustive, Search::KdTree, Search::Auto] {
                let found = nearest(points.view(), n_neighbors, search).unwrap();
                prop_assert_eq!(&found, &expected, "{:?}", search);
            }
        }
    }

    #[test]
    fn several_blocks_and_many_equal_points_agree_with_the_definition() {
        // 1300 points in three blocks: clusters, duplicates, and a far outlier.
        let blocks = Array2::from_shape_fn((1300, 5), |(i, j)| {
            let x = ((i * 7919 + j * 104_729) % 1009) as f64 / 1009.0;
            if i == 700 { 1e5 } else { ((i % 3) as f64) * 10.0 + if i % 11 == 0 { 0.5 } else { x } }
        });
        for points in [blocks, Array2::from_elem((900, 3), 0.25)] {
            let expected = by_definition(&points, 12);
            for search in [Search::Exhaustive, Search::KdTree, Search::Auto] {
                let found = nearest(points.view(), 12, search).unwrap();
                assert_eq!(found, expected, "{} points, {search:?}", points.nrows());
            }
        }
    }

    #[test]
    fn points_that_the_default_gives_to_the_tree_get_the_same_neighbors() {
        // Few features; then more features, with most of the variance in few directions.
        let narrow = Array2::from_shape_fn((6000, 3), |(i, j)| ((i * (j + 2)) as f64 * 0.7).sin());
        let wider = |n_features| {
            let directions = (3, n_features);
            narrow.dot(&Array2::from_shape_fn(directions, |(a, j)| ((3 * a + 5 * j) as f64).cos()))
        };
        for points in [wider(8), wider(24), narrow] {
            let exhaustive = nearest(points.view(), 5, Search::Exhaustive).unwrap();
            assert_eq!(nearest(points.view(), 5, Search::Auto).unwrap(), exhaustive);
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let points = Array2::from_shape_fn((1100, 9), |(i, j)| ((i * i + 31 * j) as f64).sin());
        for search in [Search::KdTree, Search::Exhaustive] {
            let with_threads = |n_threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
                pool.install(|| nearest(points.view(), 10, search).unwrap())
            };
            assert_eq!(with_threads(1), with_threads(3));
        }
    }

    #[test]
    fn too_few_points_no_neighbors_and_infinities_are_errors() {
        let message = |points: Array2<f64>, n_neighbors| {
            nearest(points.view(), n_neighbors, Search::Auto).unwrap_err().to_string()
        };
        assert_eq!(message(array![[1.0]], 3), "points = 1: a neighbor graph needs at least 2");
        assert_eq!(message(array![[1.0], [2.0]], 0), "neighbors = 0: at least one is needed");
        assert_eq!(
            message(array![[1.0, 0.0], [2.0, f64::INFINITY]], 1),
            "point 1, coordinate 1 = inf: coordinates must be finite"
        );
        assert!(message(array![[0.0], [1e200]], 1).starts_with("squared distances = inf"));
    }
}
