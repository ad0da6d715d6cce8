//! Product with the Laplacian L = D - N of a graph, without storing L (paper, eq. 5).

use crate::KnnGraph;
use ndarray::{Array2, ArrayView2, Zip};
use std::ops::{AddAssign, Sub};

/// Returns L Z: row i is Σⱼ Nᵢⱼ (zᵢ - zⱼ); `z` and the result are `(n_nodes, n_features)`.
///
/// The graph term of the paper is tr(Zᵀ L Z), its gradient 2 L Z.
///
/// ```
/// use cdimc_graph::{KnnGraph, laplacian_product};
/// let path = KnnGraph::from_edges(3, [(0, 1), (1, 2)])?;
/// let z = ndarray::array![[0.0], [1.0], [3.0]];
/// let product = laplacian_product(&path, z.view());
/// assert_eq!(product, ndarray::array![[-1.0], [-1.0], [2.0]]);
/// // Sum of the squared edge lengths.
/// assert_eq!((&z * &product).sum(), 1.0 + 4.0);
/// # Ok::<(), cdimc_graph::GraphError>(())
/// ```
///
/// # Panics
/// If `z` does not have one row per node.
pub fn laplacian_product<T>(graph: &KnnGraph, z: ArrayView2<T>) -> Array2<T>
where
    T: Copy + Default + AddAssign + Sub<Output = T>,
{
    assert_eq!(z.nrows(), graph.n_nodes(), "z must have one row per node");
    let mut product = Array2::default(z.raw_dim());
    for (i, mut row) in product.outer_iter_mut().enumerate() {
        for &j in graph.neighbors(i) {
            let pair = Zip::from(&mut row).and(z.row(i)).and(z.row(j as usize));
            pair.for_each(|sum, &z_i, &z_j| *sum += z_i - z_j);
        }
    }
    product
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
            let ones = Array2::<f64>::ones((graph.n_nodes(), 1));
            prop_assert_eq!(laplacian_product(&graph, ones.view()), &ones * 0.0);
        }

        #[test]
        fn the_trace_is_half_the_sum_over_all_pairs((graph, z) in some_graph()) {
            let mut double = 0.0;
            for i in 0..graph.n_nodes() {
                for j in 0..graph.n_nodes() {
                    let is_edge = graph.neighbors(i).contains(&(j as u32));
                    let squared = (&z.row(i) - &z.row(j)).mapv(|x| x * x).sum();
                    double += if is_edge { squared } else { 0.0 };
                }
            }
            let trace = (&z * &laplacian_product(&graph, z.view())).sum();
            prop_assert!((trace - double / 2.0).abs() <= 1e-12 * (1.0 + double));
        }
    }
}
