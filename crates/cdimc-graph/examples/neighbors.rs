//! Prints the neighbor graph of five points on a line.
#![allow(clippy::print_stdout)]

use cdimc_graph::{GraphError, KnnGraph, Search};
use ndarray::array;

fn main() -> Result<(), GraphError> {
    let points = array![[0.0], [1.0], [1.5], [7.0], [7.2]];
    let graph = KnnGraph::of_view(points.view(), &[0, 1, 2, 3, 4], 5, 1, Search::Auto)?;
    for i in 0..5 {
        println!("{i} is a neighbor of {:?}", graph.neighbors(i));
    }
    Ok(())
}
