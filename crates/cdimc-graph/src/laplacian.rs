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
    use ndarray::Axis;
    use proptest::prelude::*;

    /// A graph and whole numbers for its nodes, so that all sums are exact.
    fn some_graph() -> impl Strategy<Value = (KnnGraph, Array2<f64>)> {
        (2..20_usize).prop_flat_map(|n| {
            let edges = prop::collection::vec((0..n, 0..n), 0..40);
            let z = prop::collection::vec((-3..=3_i32).prop_map(f64::from), n * 2);
            (edges, z).prop_map(move |(edges, z)| {
                let z = Array2::from_shape_vec((n, 2), z).unwrap();
                (KnnGraph::from_edges(n, edges).unwrap(), z)
            })
        })
    }

    proptest! {
        #[test]
        fn the_product_is_by_degrees_minus_edges((graph, z) in some_graph()) {
            let n = graph.n_nodes();
            let is_edge = |(i, j): (usize, usize)| graph.neighbors(i).contains(&(j as u32));
            let edges = Array2::from_shape_fn((n, n), |pair| f64::from(u8::from(is_edge(pair))));
            let degrees = Array2::from_diag(&edges.sum_axis(Axis(1)));
            prop_assert_eq!(laplacian_product(&graph, z.view()), (degrees - edges).dot(&z));
        }
    }
}
