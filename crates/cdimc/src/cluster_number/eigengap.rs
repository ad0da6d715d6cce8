//! The eigengap: eigenvalues of the graph that all views share.

use crate::graph::{GraphError, KnnGraph, Search};
use cdimc_data::{MultiView, Seed, geometry_version};
use faer::{Mat, MatRef, Side};

/// Up to this many samples all eigenvalues are computed, from the matrix itself.
const WHOLE_SAMPLES: usize = 1000;
/// Vectors beyond those asked for, which speed up the last of them.
const SPARE: usize = 6;
/// Products with the matrix that span a subspace, and subspaces at most.
const BLOCKS: usize = 8;
const RESTARTS: usize = 30;
/// Eigenvalues that moved by less have arrived.
const ARRIVED: f64 = 1e-7;

/// The `n_values` smallest eigenvalues of the normalized Laplacian I - D^(-1/2) N D^(-1/2) of the mean of
/// the views' neighbor graphs (eq. 6), ascending.
///
/// # Errors
/// If a view has too few samples for a graph.
pub(super) fn graph_eigenvalues(
    data: &MultiView,
    n_neighbors: usize,
    n_values: usize,
    seed: Seed,
) -> Result<Vec<f64>, GraphError> {
    let n = data.n_samples();
    let mut graphs = Vec::with_capacity(data.n_views());
    for view in 0..data.n_views() {
        let rows = data.mask().observed_rows(view);
        let points = geometry_version(data, view, &rows);
        let rows: Vec<u32> = rows.into_iter().map(|i| i as u32).collect();
        graphs.push(KnnGraph::of_view(points.view(), &rows, n, n_neighbors, Search::Auto)?);
    }
    let degree =
        |i: usize| graphs.iter().map(|g| g.neighbors(i).len()).sum::<usize>().max(1) as f64;
    let scale = (0..n).map(|i| degree(i).sqrt().recip()).collect();
    let shifted = ShiftedAdjacency { graphs, scale };
    let n_values = n_values.min(n);
    if n <= WHOLE_SAMPLES {
        return Ok(shifted.smallest_of_all(n_values));
    }
    // The largest of I + S are the smallest of the Laplacian I - S.
    Ok(shifted.largest(n_values, seed).into_iter().map(|x| 2.0 - x).collect())
}

/// I + D^(-1/2) N D^(-1/2): no eigenvalue is negative, and the largest belong to the Laplacian's smallest.
#[derive(Debug)]
struct ShiftedAdjacency {
    graphs: Vec<KnnGraph>,
    scale: Vec<f64>,
}

impl ShiftedAdjacency {
    /// The `n_values` smallest eigenvalues of the Laplacian, from a matrix of `n * n` numbers.
    fn smallest_of_all(&self, n_values: usize) -> Vec<f64> {
        let n = self.scale.len();
        let mut laplacian = Mat::<f64>::identity(n, n);
        for graph in &self.graphs {
            for i in 0..n {
                for &j in graph.neighbors(i) {
                    let j = j as usize;
                    laplacian[(i, j)] -= self.scale[i] * self.scale[j];
                }
            }
        }
        // Without convergence there is no eigengap to judge by; the other criteria remain.
        let mut values = laplacian.self_adjoint_eigenvalues(Side::Lower).unwrap_or_default();
        values.truncate(n_values);
        values
    }

    /// The `n_values` largest eigenvalues, descending: Rayleigh-Ritz in the span of X, AX, A²X, ..., begun
    /// again from the best vectors found (Saad, "Numerical Methods for Large Eigenvalue Problems", chapter 6).
    fn largest(&self, n_values: usize, seed: Seed) -> Vec<f64> {
        let n = self.scale.len();
        let width = (n_values + SPARE).min(n);
        let blocks = BLOCKS.min(n / width).max(1);
        let mut rng = seed.stream("eigenvectors").rng();
        let mut vectors = Mat::from_fn(n, width, |_, _| rand::Rng::gen_range(&mut rng, -1.0..1.0));
        let mut values = vec![0.0_f64; n_values];
        for _ in 0..RESTARTS {
            let mut basis = Mat::<f64>::zeros(n, width * blocks);
            for block in 0..blocks {
                vectors = vectors.qr().compute_thin_Q();
                basis.subcols_mut(block * width, width).copy_from(&vectors);
                vectors = self.times(vectors.as_ref());
            }
            let basis = basis.qr().compute_thin_Q();
            let inside = basis.transpose() * self.times(basis.as_ref());
            // Without convergence there is no eigengap to judge by; the other criteria remain.
            let Ok(eigen) = inside.self_adjoint_eigen(Side::Lower) else { return Vec::new() };
            let last = inside.nrows() - 1;
            let found: Vec<f64> = (0..n_values).map(|i| eigen.S()[last - i]).collect();
            let moved = found.iter().zip(&values).map(|(new, old)| (new - old).abs());
            let moved = moved.fold(0.0, f64::max);
            values = found;
            if moved < ARRIVED {
                break;
            }
            vectors = &basis * eigen.U().subcols(last + 1 - width, width);
        }
        values
    }

    /// The product with `x`, `(n, n_columns)`.
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
        let (data, _) = three_groups();
        let values = graph_eigenvalues(&data, 4, 6, Seed::new(0)).unwrap();
        assert!(values[..3].iter().all(|x| x.abs() < 1e-6), "{values:?}");
        assert!(values[3] > 0.05, "{values:?}");
    }

    /// Equal parts give equal eigenvalues. (faer's Lanczos iteration did not end on Handwritten at 30 %.)
    #[test]
    fn eigenvalues_of_many_samples_are_those_of_the_whole_matrix() {
        let view = Array2::from_shape_fn((1200, 2), |(i, j)| {
            (100 * (i / 60) * (1 + j)) as f64 + ((i * 37 + j * 11) % 60) as f64 / 60.0
        });
        let rows: Vec<u32> = (0..1200).collect();
        let graph = KnnGraph::of_view(view.view(), &rows, 1200, 5, Search::Auto).unwrap();
        let scale: Vec<f64> =
            (0..1200).map(|i| (graph.neighbors(i).len().max(1) as f64).sqrt().recip()).collect();
        let shifted = ShiftedAdjacency { graphs: vec![graph], scale };
        let whole = shifted.smallest_of_all(30);
        let largest = shifted.largest(30, Seed::new(0));
        for (smallest, largest) in whole.iter().zip(&largest) {
            assert!((smallest - (2.0 - largest)).abs() < 1e-4, "{whole:?} {largest:?}");
        }
    }
}
