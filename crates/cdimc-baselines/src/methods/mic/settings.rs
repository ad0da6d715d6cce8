//! Settings of MIC.

use crate::shared::nonnegative::Nonnegative;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Weighted nonnegative factorization of every view with a common consensus U*.
///
/// Minimizes Σᵥ ‖Cᵥ (Xᵥ - Uᵥ Bᵥᵀ)‖² + α ‖Cᵥ (Uᵥ - U*)‖² + β ‖Uᵥ‖₂,₁ over nonnegative factors, then clusters the rows of
/// U* by k-means. Gaps hold the mean of the observed rows, with a weight c below 1; every view sums to 1. Any number of
/// views, any mask; negative values are first made nonnegative. A sweep needs O(Σᵥ (mᵥ dᵥ + n k) k) operations for mᵥ
/// observed rows in view v, since all gaps share one row. Memory is linear in n.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Mic {
    /// Weight α of the consensus, positive. Default of the authors' driver of OMVC.
    pub alpha: f64,
    /// Weight β of the row sparsity. Default of the authors' driver of OMVC. It depends on the scale of the data, which
    /// have sum 1 here.
    pub beta: f64,
    /// Number of rounds: each computes a consensus, then sweeps every view. The only known driver uses 30.
    pub rounds: usize,
    /// Number of sweeps per view and round. The only known driver uses 100.
    pub sweeps: usize,
    /// Number of initial cycles over the views; each factorization starts from the coefficients of the previous view.
    /// Default of the authors' code.
    pub cycles: usize,
    /// Number of sweeps of an initial factorization.
    pub initial_sweeps: usize,
    /// Weight c of the gaps, in [0, 1]; by default the share of samples observed in the view.
    pub missing_weight: Option<f64>,
    /// Method that makes views nonnegative.
    pub nonnegative: Nonnegative,
    /// Number of starts of the final k-means. Default of the authors' code.
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
