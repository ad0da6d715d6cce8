//! Leading eigenvectors of a positive semidefinite operator: by a full decomposition if small, otherwise by a
//! restarted block Krylov iteration.

use cdimc_core::ClusterError;
use cdimc_core::linear_algebra::{Krylov, symmetric_eigen};
use faer::MatRef;

pub(crate) use cdimc_core::linear_algebra::{Leading, product};

/// Largest size with a full decomposition.
const DENSE_LIMIT: usize = 320;
/// Coordinates need an accurate subspace, not accurate vectors.
const KRYLOV: Krylov = Krylov { blocks: 6, spare: 6, restarts: 12, tolerance: 1e-9 };
/// Iteration for wide views, where each product reads the whole view. One subspace of nine blocks resolves clusters
/// as well as two of six; noise directions, with close eigenvalues, would not converge in twelve restarts.
pub(crate) const KRYLOV_WIDE: Krylov = Krylov { blocks: 9, restarts: 1, ..KRYLOV };

/// Returns the `n` leading eigenpairs of `a`, without rounding errors; reads only the lower triangle.
pub(crate) fn of_matrix(a: MatRef<'_, f64>, n: usize) -> Result<Leading, ClusterError> {
    let size = a.nrows();
    if size <= DENSE_LIMIT.max(2 * KRYLOV.blocks * (n + KRYLOV.spare)) {
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
