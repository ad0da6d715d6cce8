/*!
Exact k-nearest-neighbor graphs of the observed samples of a view, and their Laplacians.

The main type is [`KnnGraph`]: the symmetric 0/1 graph N of the paper (eq. 6) in compressed rows.
*/

pub use crate::{
    error::GraphError,
    knn_graph::KnnGraph,
    laplacian::laplacian_product,
    nearest::{Neighbors, Search, nearest},
};

mod closest;
mod cloud;
mod duplicates;
mod error;
mod exhaustive;
mod kd_tree;
mod knn_graph;
mod laplacian;
mod nearest;
