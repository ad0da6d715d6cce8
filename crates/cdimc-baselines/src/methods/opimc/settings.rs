//! The settings of OPIMC.

use cdimc_core::RowOrder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Multi-view k-means with shared labels and centers shrunk by a ridge, chunk by chunk.
///
/// Minimizes Σᵥ ‖Wᵥ (Xᵥ - P Uᵥ)‖² + α ‖Uᵥ‖² over one-hot labels P and centers Uᵥ, for one chunk of
/// samples after the other, keeping only sums over the chunks before. Rows get unit length first. Any
/// number of views, any mask; values may be negative. Needs O(Σᵥ mᵥ dᵥ k) operations an iteration on
/// a chunk with mᵥ observed rows, and memory for one chunk and the centers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Opimc {
    /// Ridge α of the centers, positive: 1. The authors' 10 collapses small chunks of unit rows into
    /// one cluster, because a center of c samples is shrunk by c / (c + α).
    pub alpha: f64,
    /// Samples in a chunk: 250 (imml; the authors' script for 116 samples has 30).
    pub chunk_size: usize,
    /// Passes over the data: 1, as the title says; later ones revise the labels chunk by chunk.
    pub passes: usize,
    /// Most iterations on a chunk: 30 (authors' script).
    pub iterations: usize,
    /// Iterations stop when the loss changes by less than this share: 1e-6 (authors' script).
    pub tolerance: f64,
    /// The order in which samples are read: shuffled (authors' script).
    pub order: RowOrder,
}

impl Default for Opimc {
    fn default() -> Self {
        Self {
            alpha: 1.0,
            chunk_size: 250,
            passes: 1,
            iterations: 30,
            tolerance: 1e-6,
            order: RowOrder::Shuffled,
        }
    }
}
