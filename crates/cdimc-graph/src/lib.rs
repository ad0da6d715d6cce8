#![doc = include_str!("../README.md")]

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
