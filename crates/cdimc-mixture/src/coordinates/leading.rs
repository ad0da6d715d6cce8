//! The leading eigenvectors of a positive semidefinite operator: from the matrix itself where it is small,
//! otherwise by a restarted block Krylov iteration.

use cdimc_core::ClusterError;
use cdimc_core::linear_algebra::{Krylov, symmetric_eigen};
use faer::{Mat, MatRef};

pub(crate) use cdimc_core::linear_algebra::{Leading, product};

/// Up to this size all eigenvectors are computed.
const WHOLE: usize = 320;
/// Coordinates need the subspace, not its digits.
const KRYLOV: Krylov = Krylov { blocks: 6, spare: 6, restarts: 12, tolerance: 1e-9 };
/// The same where every product reads a whole view: what clusters add stands out after one subspace, of which nine blocks
/// find as much as two of six, and directions of noise, whose eigenvalues lie too close together, would not converge in
/// twelve.
const WIDE: Krylov = Krylov { blocks: 9, restarts: 1, ..KRYLOV };

/// The `n` leading eigenpairs of `a`, of which the lower triangle is read, less those that are rounding.
pub(crate) fn of_matrix(a: MatRef<'_, f64>, n: usize) -> Result<Leading, ClusterError> {
    let size = a.nrows();
    if size <= WHOLE.max(2 * KRYLOV.blocks * (n + KRYLOV.spare)) {
        return Ok(symmetric_eigen(crate::NAME, a)?.leading(n));
    }
    let mut whole = a.to_owned();
    for j in 0..size {
        for i in 0..j {
            whole[(i, j)] = whole[(j, i)];
        }
    }
    KRYLOV.leading(crate::NAME, size, n, |x| product(whole.as_ref(), x))
}

/// The `n` leading eigenpairs of the operator `apply` on vectors of `size` numbers, as it is of a wide view.
pub(crate) fn of_operator(
    size: usize,
    n: usize,
    apply: impl Fn(MatRef<'_, f64>) -> Mat<f64>,
) -> Result<Leading, ClusterError> {
    WIDE.leading(crate::NAME, size, n, apply)
}

/// Numbers that [`of_operator`] holds at its largest.
pub(crate) fn numbers_held(size: f64, n: f64) -> f64 {
    WIDE.numbers_held(size, n)
}

/// All eigenpairs of `a`, of which the lower triangle is read, largest first.
pub(crate) fn all_of(a: MatRef<'_, f64>) -> Result<Leading, ClusterError> {
    Ok(symmetric_eigen(crate::NAME, a)?.descending())
}
