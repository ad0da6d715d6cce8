//! The Laplacian L = D - N of a graph, never stored: its product and its energy (paper, eq. 6).

use crate::KnnGraph;
use ndarray::{Array2, ArrayView2};

/// L Z: row i is Σⱼ Nᵢⱼ (zᵢ - zⱼ); `z` and the result are `(n_nodes, n_features)`.
///
/// # Panics
/// If `z` has not one row a node.
pub fn laplacian_product(graph: &KnnGraph, z: ArrayView2<f64>) -> Array2<f64> {
    assert_eq!(z.nrows(), graph.n_nodes(), "one row of z a node");
    let mut product = Array2::zeros(z.raw_dim());
    for (i, mut row) in product.outer_iter_mut().enumerate() {
        for &j in graph.neighbors(i) {
            row += &z.row(i);
            row -= &z.row(j as usize);
        }
    }
    product
}

/// tr(Zᵀ L Z) = ½ Σᵢⱼ Nᵢⱼ ‖zᵢ - zⱼ‖², the graph term of the paper (eq. 6) before its scale;
/// `z` is `(n_nodes, n_features)`.
///
/// ```
/// use cdimc_graph::{KnnGraph, laplacian_energy};
/// let path = KnnGraph::from_edges(3, [(0, 1), (1, 2)])?;
/// let z = ndarray::array![[0.0], [1.0], [3.0]];
/// assert_eq!(laplacian_energy(&path, z.view()), 1.0 + 4.0);
/// # Ok::<(), cdimc_graph::GraphError>(())
/// ```
///
/// # Panics
/// If `z` has not one row a node.
pub fn laplacian_energy(graph: &KnnGraph, z: ArrayView2<f64>) -> f64 {
    assert_eq!(z.nrows(), graph.n_nodes(), "one row of z a node");
    let mut energy = 0.0;
    for i in 0..graph.n_nodes() {
        for &j in graph.neighbors(i).iter().filter(|&&j| i < j as usize) {
            let pair = z.row(i).into_iter().zip(z.row(j as usize));
            energy += pair.map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        }
    }
    energy
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn some_graph() -> impl Strategy<Value = (KnnGraph, Array2<f64>)> {
        (2..20_usize).prop_flat_map(|n| {
            let edges = prop::collection::vec((0..n, 0..n), 0..40);
            (edges, prop::collection::vec(-3.0..3.0_f64, n * 2)).prop_map(move |(edges, z)| {
                let z = Array2::from_shape_vec((n, 2), z).unwrap();
                (KnnGraph::from_edges(n, edges).unwrap(), z)
            })
        })
    }

    proptest! {
        #[test]
        fn laplacian_rows_sum_to_zero((graph, _) in some_graph()) {
            let ones = Array2::ones((graph.n_nodes(), 1));
            prop_assert_eq!(laplacian_product(&graph, ones.view()), ones * 0.0);
        }

        #[test]
        fn energy_is_half_the_sum_over_all_pairs_and_the_trace((graph, z) in some_graph()) {
            let mut double = 0.0;
            for i in 0..graph.n_nodes() {
                for j in 0..graph.n_nodes() {
                    let is_edge = graph.neighbors(i).contains(&(j as u32));
                    let squared = (&z.row(i) - &z.row(j)).mapv(|x| x * x).sum();
                    double += if is_edge { squared } else { 0.0 };
                }
            }
            let energy = laplacian_energy(&graph, z.view());
            let trace = (&z * &laplacian_product(&graph, z.view())).sum();
            prop_assert!((energy - double / 2.0).abs() <= 1e-12 * (1.0 + double));
            prop_assert!((energy - trace).abs() <= 1e-12 * (1.0 + double));
        }
    }
}
