//! Errors of neighbor searches and graphs.

use cdimc_core::ClusterError;

/// Error of a neighbor search or graph; every message gives the value and the rule.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// There are fewer than two points.
    #[error("points = {n_points}: a neighbor graph needs at least 2")]
    TooFewPoints {
        /// Number of points.
        n_points: usize,
    },
    /// The number of neighbors is 0.
    #[error("neighbors = 0: at least one is needed")]
    NoNeighbors,
    /// A coordinate is not finite.
    #[error("point {point}, coordinate {coordinate} = {value}: coordinates must be finite")]
    NotFinite {
        /// Point, from 0.
        point: usize,
        /// Coordinate, from 0.
        coordinate: usize,
        /// Value of the coordinate.
        value: f64,
    },
    /// Squared distances overflow.
    #[error("squared distances = inf: the points must lie within about 1e154 of each other")]
    TooFarApart,
    /// The number of sample indices differs from the number of points.
    #[error("sample numbers = {n_rows}: there must be one for each of the {n_points} points")]
    RowCount {
        /// Number of points.
        n_points: usize,
        /// Number of sample indices.
        n_rows: usize,
    },
    /// An edge leads to a node that does not exist.
    #[error("edge ({from}, {to}): nodes must lie in 0..{n_nodes}")]
    EdgeOutOfRange {
        /// Start of the edge.
        from: usize,
        /// End of the edge.
        to: usize,
        /// Nodes of the graph.
        n_nodes: usize,
    },
}

impl From<GraphError> for ClusterError {
    fn from(error: GraphError) -> Self {
        Self::Part(Box::new(error))
    }
}
