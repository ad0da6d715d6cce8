//! What can be wrong with a request for neighbors.

use cdimc_core::ClusterError;

/// The ways a graph cannot be built; every message states the rule and the value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// Too few points for any neighbor.
    #[error("points = {n_points}: a neighbor graph needs at least 2")]
    TooFewPoints {
        /// Points given.
        n_points: usize,
    },
    /// No neighbor asked for.
    #[error("neighbors = 0: at least one is needed")]
    NoNeighbors,
    /// A value that has no distance.
    #[error("point {point}, coordinate {coordinate} = {value}: coordinates must be finite")]
    NotFinite {
        /// 0-based point.
        point: usize,
        /// 0-based coordinate.
        coordinate: usize,
        /// The offending value.
        value: f64,
    },
    /// Sample numbers that do not match the points.
    #[error("sample numbers = {n_rows}: there must be one for each of the {n_points} points")]
    RowCount {
        /// Points given.
        n_points: usize,
        /// Sample numbers given.
        n_rows: usize,
    },
    /// An edge to a node that is not there.
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
