//! The settings of MIC, and the factors it starts from and ends in.

use crate::shared::nonnegative::Nonnegative;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Weighted nonnegative factorization of every view with a common consensus U*.
///
/// Minimizes Σᵥ ‖Cᵥ (Xᵥ - Uᵥ Bᵥᵀ)‖² + α ‖Cᵥ (Uᵥ - U*)‖² + β ‖Uᵥ‖₂,₁ over nonnegative factors, then
/// groups the rows of U* by k-means. Gaps hold the mean of the observed rows, with a weight c below 1;
/// every view sums to 1. Any number of views, any mask; negative values are made nonnegative first.
/// Needs O(Σᵥ (mᵥ dᵥ + n k) k) operations a sweep with mᵥ observed rows in view v: the gaps share one
/// row, so they cost nothing of the width. Memory is linear in n.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Mic {
    /// Weight α of the consensus, positive: 1e-2 (authors' driver of OMVC).
    pub alpha: f64,
    /// Weight β of the row sparsity: 1e-7 (authors' driver of OMVC). It depends on the scale of the
    /// data, here of sum 1.
    pub beta: f64,
    /// Rounds, each a consensus and then sweeps of every view: 15; the only driver known has 30.
    pub rounds: usize,
    /// Sweeps of one view in a round: 50; the only driver known has 100.
    pub sweeps: usize,
    /// Cycles over the views at the start, each view's factorization beginning with the coefficients
    /// of the view before: 3 (authors' code).
    pub cycles: usize,
    /// Sweeps of one factorization at the start: 100.
    pub initial_sweeps: usize,
    /// Weight c of the gaps in [0, 1]; by default the share of the samples that the view observes.
    pub missing_weight: Option<f64>,
    /// How views are made nonnegative: unit rows less the minimum.
    pub nonnegative: Nonnegative,
    /// Starts of the last k-means: 20 (authors' code).
    pub restarts: usize,
}

impl Default for Mic {
    fn default() -> Self {
        Self {
            alpha: 1e-2,
            beta: 1e-7,
            rounds: 15,
            sweeps: 50,
            cycles: 3,
            initial_sweeps: 100,
            missing_weight: None,
            nonnegative: Nonnegative::UnitShift,
            restarts: 20,
        }
    }
}
