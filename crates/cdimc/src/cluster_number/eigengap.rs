//! The eigengap: eigenvalues of the graph that all views share.

use crate::graph::{GraphError, KnnGraph, Search};
use cdimc_core::linear_algebra::{Krylov, symmetric_eigen};
use cdimc_data::{MultiView, geometry_version};
use faer::{Mat, MatRef};

/// Maximum number of samples for which all eigenvalues are computed from the full matrix.
const DENSE_SAMPLES: usize = 1000;
const KRYLOV: Krylov = Krylov { blocks: 8, spare: 6, restarts: 30, tolerance: 1e-6 };
const NAME: &str = "eigengap";

/// Returns the `n_values` smallest eigenvalues, ascending, of the normalized Laplacian I - D^(-1/2) N D^(-1/2). N is
/// the mean of the views' neighbor graphs (eq. 6).
///
/// # Errors
/// If a view has too few samples for a graph.
pub(super) fn graph_eigenvalues(
    data: &MultiView,
    n_neighbors: usize,
    n_values: usize,
) -> Result<Vec<f64>, GraphError> {
    let n = data.n_samples();
    let mut graphs = Vec::with_capacity(data.n_views());
    for view in 0..data.n_views() {
        let rows = data.mask().observed_rows(view);
        let points = geometry_version(data, view, &rows);
        graphs.push(KnnGraph::of_view(points.view(), &rows, n, n_neighbors, Search::Auto)?);
    }
    let degree =
        |i: usize| graphs.iter().map(|g| g.neighbors(i).len()).sum::<usize>().max(1) as f64;
    let scale = (0..n).map(|i| degree(i).sqrt().recip()).collect();
    let shifted = ShiftedAdjacency { graphs, scale };
    // The largest eigenvalues of I + S are the smallest of the Laplacian I - S.
    Ok(shifted.largest(n_values.min(n)).into_iter().map(|x| 2.0 - x).collect())
}

/// The operator I + D^(-1/2) N D^(-1/2). It has no negative eigenvalue, and its largest give the Laplacian's smallest.
#[derive(Debug)]
struct ShiftedAdjacency {
    graphs: Vec<KnnGraph>,
    scale: Vec<f64>,
}

impl ShiftedAdjacency {
    /// Returns the `n_values` largest eigenvalues, descending; none if the iteration fails, since other criteria
    /// remain.
    fn largest(&self, n_values: usize) -> Vec<f64> {
        let n = self.scale.len();
        let found = if n <= DENSE_SAMPLES {
            let whole = self.times(Mat::identity(n, n).as_ref());
            symmetric_eigen(NAME, whole.as_ref()).map(|eigen| eigen.leading(n_values))
        } else {
            KRYLOV.leading(NAME, n, n_values, |x| self.times(x))
        };
        found.map_or_else(|_| Vec::new(), |leading| leading.values)
    }

    fn times(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        let mut product = x.to_owned();
        for column in 0..x.ncols() {
            for i in 0..self.scale.len() {
                let neighbors = self.graphs.iter().flat_map(|graph| graph.neighbors(i));
                let sum: f64 =
                    neighbors.map(|&j| self.scale[j as usize] * x[(j as usize, column)]).sum();
                product[(i, column)] += self.scale[i] * sum;
            }
        }
        product
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::three_groups;
    use super::*;
    use ndarray::Array2;

    #[test]
    fn as_many_eigenvalues_are_zero_as_the_graph_has_parts() {
        let values = graph_eigenvalues(&three_groups(), 4, 6).unwrap();
        assert!(values[..3].iter().all(|x| x.abs() < 1e-6), "{values:?}");
        assert!(values[3] > 0.05, "{values:?}");
    }

    /// Equal parts give equal eigenvalues. (faer's Lanczos iteration did not end on Handwritten at 30 %.)
    #[test]
    fn eigenvalues_of_many_samples_match_the_whole_matrix() {
        let view = Array2::from_shape_fn((1200, 2), |(i, j)| {
            (100 * (i / 60) * (1 + j)) as f64 + ((i * 37 + j * 11) % 60) as f64 / 60.0
        });
        let rows: Vec<usize> = (0..1200).collect();
        let graph = KnnGraph::of_view(view.view(), &rows, 1200, 5, Search::Auto).unwrap();
        let scale: Vec<f64> =
            (0..1200).map(|i| (graph.neighbors(i).len().max(1) as f64).sqrt().recip()).collect();
        let shifted = ShiftedAdjacency { graphs: vec![graph], scale };
        let whole =
            symmetric_eigen(NAME, shifted.times(Mat::identity(1200, 1200).as_ref()).as_ref());
        let whole = whole.unwrap().leading(30).values;
        let largest = shifted.largest(30);
        assert_eq!((whole.len(), largest.len()), (30, 30));
        for (whole, largest) in whole.iter().zip(&largest) {
            assert!((whole - largest).abs() < 1e-4, "{whole} {largest}");
        }
    }
}
