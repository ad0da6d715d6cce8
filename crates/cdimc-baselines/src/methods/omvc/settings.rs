//! The settings of OMVC.

use crate::shared::nonnegative::Nonnegative;
use cdimc_core::RowOrder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nonnegative factorization of every view with a common consensus U*, chunk by chunk.
///
/// Minimizes Σᵥ ‖Cᵥ (Xᵥ - Uᵥ Bᵥᵀ)‖² + α ‖Cᵥ (Uᵥ - U*)‖² + β ‖Uᵥ‖₁ over nonnegative factors for one
/// chunk of samples after the other, keeping of those before only Xᵀ C² U and Uᵀ C² U, then groups
/// the rows of U* by k-means. Gaps hold the mean of the rows observed before them; every view is
/// divided by its sum. Any number of views, any mask; negative values are made nonnegative first, and a view that
/// is then 0 throughout has no part.
/// Needs O(Σᵥ s dᵥ k + dᵥ k²) operations an iteration on a chunk of s samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Omvc {
    /// Weight α of the consensus, positive: 1e-2 (authors' driver).
    pub alpha: f64,
    /// Weight β of the sparsity: 1e-7 (authors' driver), for views of sum 1.
    pub beta: f64,
    /// Samples in a chunk: 50 (authors' driver).
    pub chunk_size: usize,
    /// Passes over the data: 2 (authors' driver).
    pub passes: usize,
    /// Most iterations on a chunk: 200 (authors' driver).
    pub iterations: usize,
    /// Iterations stop when the loss changes by less than this share: 1e-4 (authors' driver).
    pub tolerance: f64,
    /// Weight c of the gaps.
    pub missing_weight: MissingWeight,
    /// How views are made nonnegative: clipped (authors' driver).
    pub nonnegative: Nonnegative,
    /// The order in which samples are read: shuffled (authors' driver).
    pub order: RowOrder,
    /// Starts of the last k-means: 20 (authors' driver).
    pub restarts: usize,
}

/// How much the filled gaps of [`Omvc`] weigh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MissingWeight {
    /// As much as observed rows: what the authors' driver really does.
    #[default]
    Full,
    /// The share of the samples so far that the view observes: what the paper describes.
    Presence,
}

impl Default for Omvc {
    fn default() -> Self {
        Self {
            alpha: 1e-2,
            beta: 1e-7,
            chunk_size: 50,
            passes: 2,
            iterations: 200,
            tolerance: 1e-4,
            missing_weight: MissingWeight::Full,
            nonnegative: Nonnegative::Clip,
            order: RowOrder::Shuffled,
            restarts: 20,
        }
    }
}
