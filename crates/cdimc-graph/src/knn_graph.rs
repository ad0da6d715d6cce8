//! The symmetric 0/1 neighbor graph of a view in compressed rows (paper, eq. 6).

use crate::{GraphError, Search, nearest};
use ndarray::ArrayView2;

/// Undirected, unweighted graph of all samples, without self-loops; unobserved samples have no edges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnnGraph {
    /// `n_nodes + 1` row starts in `neighbors`, ascending.
    offsets: Vec<usize>,
    /// Neighbors of each node, ascending, without the node itself.
    neighbors: Vec<u32>,
}

impl KnnGraph {
    /// Returns the graph of `n_nodes` nodes with these undirected edges; loops and repeated edges are dropped.
    ///
    /// # Errors
    /// If an edge leads outside `0..n_nodes`.
    ///
    /// # Panics
    /// If there are more than `u32::MAX` nodes.
    pub fn from_edges(
        n_nodes: usize,
        edges: impl IntoIterator<Item = (usize, usize)>,
    ) -> Result<Self, GraphError> {
        assert!(u32::try_from(n_nodes).is_ok(), "{n_nodes} nodes are too many");
        let mut both = Vec::new();
        for (from, to) in edges {
            if from >= n_nodes || to >= n_nodes {
                return Err(GraphError::EdgeOutOfRange { from, to, n_nodes });
            }
            if from != to {
                both.push((from as u32, to as u32));
                both.push((to as u32, from as u32));
            }
        }
        both.sort_unstable();
        both.dedup();
        let start = |node: usize| both.partition_point(|&(from, _)| (from as usize) < node);
        let offsets = (0..=n_nodes).map(start).collect();
        Ok(Self { offsets, neighbors: both.into_iter().map(|(_, to)| to).collect() })
    }

    /// Returns the graph of a view, with an edge between two observed samples if either is among the `n_neighbors` nearest
    /// of the other (the "or" rule of eq. 6).
    ///
    /// `points`: the observed rows, `(n_observed, n_features)`. `rows`: their different sample indices in `0..n_samples`, which are
    /// the nodes. With at most `n_neighbors + 1` observed samples, all of them are connected.
    ///
    /// # Errors
    /// If fewer than two rows are observed, `n_neighbors` is 0, a coordinate is not finite, or `rows` has the wrong length or
    /// range.
    pub fn of_view(
        points: ArrayView2<f64>,
        rows: &[usize],
        n_samples: usize,
        n_neighbors: usize,
        search: Search,
    ) -> Result<Self, GraphError> {
        if rows.len() != points.nrows() {
            return Err(GraphError::RowCount { n_points: points.nrows(), n_rows: rows.len() });
        }
        let found = nearest(points, n_neighbors, search)?;
        let edges = found.indices.indexed_iter().map(|((i, _), &j)| (rows[i], rows[j as usize]));
        Self::from_edges(n_samples, edges)
    }

    /// Number of nodes: all samples, observed or not.
    pub fn n_nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the neighbors of `node`, ascending.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn neighbors(&self, node: usize) -> &[u32] {
        &self.neighbors[self.offsets[node]..self.offsets[node + 1]]
    }

    /// Returns the subgraph on `nodes`, which must be ascending and are renumbered in this order.
    ///
    /// # Panics
    /// If there is no such node, or `nodes` is not ascending.
    #[must_use]
    pub fn induced(&self, nodes: &[u32]) -> Self {
        assert!(nodes.is_sorted_by(|a, b| a < b), "nodes must ascend");
        let first = nodes.first().copied().unwrap_or(0);
        let window = nodes.last().map_or(0, |last| last - first + 1);
        let mut numbers = vec![None; window as usize];
        for (number, &node) in (0..).zip(nodes) {
            numbers[(node - first) as usize] = Some(number);
        }
        let (mut offsets, mut neighbors) = (vec![0], Vec::new());
        for &node in nodes {
            let row = self.neighbors(node as usize);
            let row = &row[row.partition_point(|&j| j < first)..];
            let inside = row.iter().map_while(|&j| numbers.get((j - first) as usize));
            neighbors.extend(inside.flatten());
            offsets.push(neighbors.len());
        }
        Self { offsets, neighbors }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn an_edge_needs_one_direction_only_and_absent_samples_have_none() {
        // Samples 1, 2, 4 and 5 at 0, 1, 3 and 7: the nearest of 5 is 4, whose own nearest is 2.
        let points = array![[0.0], [1.0], [3.0], [7.0]];
        let graph = KnnGraph::of_view(points.view(), &[1, 2, 4, 5], 6, 1, Search::Auto).unwrap();
        let neighbors: Vec<&[u32]> = (0..graph.n_nodes()).map(|i| graph.neighbors(i)).collect();
        let expected: [&[u32]; 6] = [&[], &[2], &[1, 4], &[], &[2, 5], &[4]];
        assert_eq!(neighbors, expected);
    }

    #[test]
    fn an_induced_graph_keeps_the_edges_between_its_nodes() {
        let edges = [(0, 2), (1, 2), (2, 4), (2, 5), (4, 5), (5, 6)];
        let graph = KnnGraph::from_edges(7, edges).unwrap();
        let expected = KnnGraph::from_edges(4, [(0, 1), (1, 2)]).unwrap();
        assert_eq!(graph.induced(&[1, 2, 4, 6]), expected);
        assert_eq!(graph.induced(&[]), KnnGraph::from_edges(0, []).unwrap());
    }

    #[test]
    #[should_panic(expected = "nodes must ascend")]
    fn an_induced_graph_needs_ascending_nodes() {
        let graph = KnnGraph::from_edges(4, [(0, 1), (1, 2), (2, 3)]).unwrap();
        let _ = graph.induced(&[0, 2, 1, 3]);
    }

    #[test]
    fn sample_numbers_must_match_the_points_and_the_samples() {
        let of = |rows: &[usize]| {
            let points = array![[0.0], [1.0]];
            KnnGraph::of_view(points.view(), rows, 3, 1, Search::Auto).unwrap_err().to_string()
        };
        assert_eq!(of(&[0]), "sample numbers = 1: there must be one for each of the 2 points");
        assert_eq!(of(&[0, 3]), "edge (0, 3): nodes must lie in 0..3");
    }
}
