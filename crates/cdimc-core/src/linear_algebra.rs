//! Eigenvectors of symmetric matrices, computed with faer: all of them, or the leading ones by a restarted block Krylov
//! iteration (Rayleigh-Ritz in the span of X, AX, A²X, ..., restarted from the best vectors; Y. Saad, "Numerical Methods
//! for Large Eigenvalue Problems", SIAM 2011, chapter 6; Musco and Musco, `NeurIPS` 2015).
//!
//! Everything runs in the calling thread, so the bits do not depend on the number of threads.

use crate::ClusterError;
use cdimc_data::Seed;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par, Spec};
use rand::Rng;

/// Smallest eigenvalue that is not treated as rounding error, relative to the largest.
const MIN_EIGENVALUE_SHARE: f64 = 1e-13;
/// Smallest remaining length of an independent column after orthogonalization, relative to its length before.
const MIN_LENGTH_SHARE: f64 = 1e-11;

/// Eigenpairs of a symmetric matrix, eigenvalues ascending.
#[derive(Debug)]
pub struct SymmetricEigen {
    /// Eigenvalues.
    pub values: Vec<f64>,
    /// Eigenvectors, one per column.
    pub vectors: Mat<f64>,
}

/// Leading eigenpairs of a symmetric operator.
#[derive(Debug)]
pub struct Leading {
    /// Eigenvalues, largest first.
    pub values: Vec<f64>,
    /// Eigenvectors, one per column.
    pub vectors: Mat<f64>,
    /// Whether all residuals ‖Ax - θx‖ are below the tolerance.
    pub converged: bool,
}

/// Settings of the block Krylov iteration.
#[derive(Debug, Clone, Copy)]
pub struct Krylov {
    /// Number of blocks in the subspace before a restart.
    pub blocks: usize,
    /// Number of extra vectors, which speed up the convergence of the last requested ones.
    pub spare: usize,
    /// Largest number of subspaces.
    pub restarts: usize,
    /// Largest residual relative to the largest eigenvalue.
    pub tolerance: f64,
}

/// Returns all eigenpairs of the symmetric matrix `a`; only its lower triangle is read.
///
/// # Errors
/// If an entry is not finite or the iteration does not converge.
pub fn symmetric_eigen(
    method: &'static str,
    a: MatRef<'_, f64>,
) -> Result<SymmetricEigen, ClusterError> {
    let n = a.nrows();
    let failed = || failure(method, "eigen-decomposition", a);
    // faer does not test this: for n = 2 it would return NaN eigenvectors.
    if !a.is_all_finite() {
        return Err(failed());
    }
    let (mut values, mut vectors) = (vec![0.0; n], Mat::zeros(n, n));
    let yes = ComputeEigenvectors::Yes;
    let request = self_adjoint_evd_scratch::<f64>(n, yes, Par::Seq, Spec::default());
    let mut memory = MemBuffer::new(request);
    let stack = MemStack::new(&mut memory);
    let diagonal = faer::diag::DiagMut::from_slice_mut(&mut values);
    self_adjoint_evd(a, diagonal, Some(vectors.as_mut()), Par::Seq, stack, Spec::default())
        .map_err(|_| failed())?;
    Ok(SymmetricEigen { values, vectors })
}

/// Solves `a` x = `b` for symmetric positive definite `a`; x overwrites `b`, and the lower triangle of `a` is read and
/// overwritten.
///
/// # Errors
/// If `a` is not positive definite.
pub fn solve_positive_definite(
    method: &'static str,
    mut a: MatMut<'_, f64>,
    b: MatMut<'_, f64>,
) -> Result<(), ClusterError> {
    let (n, columns) = (b.nrows(), b.ncols());
    let request = llt::factor::cholesky_in_place_scratch::<f64>(n, Par::Seq, Spec::default());
    let mut memory =
        MemBuffer::new(request.or(llt::solve::solve_in_place_scratch::<f64>(n, columns, Par::Seq)));
    let stack = MemStack::new(&mut memory);
    let no_shift = llt::factor::LltRegularization::default();
    llt::factor::cholesky_in_place(a.as_mut(), no_shift, Par::Seq, stack, Spec::default())
        .map_err(|_| failure(method, "Cholesky factorization", a.as_ref()))?;
    llt::solve::solve_in_place(a.as_ref(), b, Par::Seq, stack);
    Ok(())
}

/// Returns the error of a decomposition of `a`.
pub fn failure(method: &'static str, operation: &'static str, a: MatRef<'_, f64>) -> ClusterError {
    let (rows, columns) = a.shape();
    let reason = format!("{method}: {operation} failed on a {rows} x {columns} matrix");
    ClusterError::Part(reason.into())
}

/// Returns the matrix product `a` `b`.
pub fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut c = Mat::zeros(a.nrows(), b.ncols());
    matmul(c.as_mut(), Accum::Replace, a, b, 1.0, Par::Seq);
    c
}

impl SymmetricEigen {
    /// Returns at most `n` pairs with the largest eigenvalues, without those that are rounding error.
    pub fn leading(&self, n: usize) -> Leading {
        self.descending().truncated(n)
    }

    /// Returns all pairs, largest eigenvalue first.
    pub fn descending(&self) -> Leading {
        let size = self.values.len();
        let values = self.values.iter().rev().copied().collect();
        let vectors = Mat::from_fn(size, size, |i, j| self.vectors[(i, size - 1 - j)]);
        Leading { values, vectors, converged: true }
    }
}

impl Krylov {
    /// Peak number of floats in [`Krylov::leading`]: basis and images, plus one copy while they grow.
    pub fn numbers_held(&self, size: f64, n: f64) -> f64 {
        3.0 * self.blocks as f64 * size * (n + self.spare as f64)
    }

    /// Returns the `n` leading eigenpairs of the symmetric operator `apply` on vectors of length `size`, without those that
    /// are rounding error.
    ///
    /// # Errors
    /// If a number is not finite or a small eigenproblem does not converge.
    pub fn leading(
        &self,
        method: &'static str,
        size: usize,
        n: usize,
        apply: impl Fn(MatRef<'_, f64>) -> Mat<f64>,
    ) -> Result<Leading, ClusterError> {
        let width = (n + self.spare).min(size);
        let mut rng = Seed::new(0).stream("krylov").rng();
        let mut block = Mat::from_fn(size, width, |_, _| rng.gen_range(-1.0..1.0));
        let mut restart = 0;
        loop {
            let mut basis = Mat::<f64>::zeros(size, 0);
            let mut images = Mat::<f64>::zeros(size, 0);
            for _ in 0..self.blocks {
                let next = orthonormalize_against(basis.as_ref(), block);
                if next.ncols() == 0 {
                    break;
                }
                let image = apply(next.as_ref());
                basis = side_by_side(basis.as_ref(), next.as_ref());
                images = side_by_side(images.as_ref(), image.as_ref());
                block = image;
            }
            let projected = product(basis.as_ref().transpose(), images.as_ref());
            let ritz = symmetric_eigen(method, projected.as_ref())?.leading(width);
            let vectors = product(basis.as_ref(), ritz.vectors.as_ref());
            let image = product(images.as_ref(), ritz.vectors.as_ref());
            let largest = ritz.values.first().copied().unwrap_or(0.0);
            let residual = (0..n.min(ritz.values.len())).map(|j| {
                let of = |i| image[(i, j)] - ritz.values[j] * vectors[(i, j)];
                (0..size).map(|i| of(i) * of(i)).sum::<f64>().sqrt()
            });
            let residual = residual.fold(0.0, f64::max);
            restart += 1;
            let converged = residual <= self.tolerance * largest;
            if converged || restart == self.restarts {
                return Ok(Leading { values: ritz.values, vectors, converged }.truncated(n));
            }
            block = vectors;
        }
    }
}

impl Leading {
    /// Keeps at most the first `n` pairs, without those that are rounding error.
    fn truncated(mut self, n: usize) -> Self {
        let least = self.values.first().map_or(0.0, |largest| largest * MIN_EIGENVALUE_SHARE);
        let rank = self.values.iter().take_while(|&&value| value > least).count();
        let n = n.min(rank.max(1)).min(self.values.len());
        self.values.truncate(n);
        self.vectors = self.vectors.as_ref().subcols(0, n).to_owned();
        self
    }
}

/// Returns an orthonormal basis of the part of `block`'s column space that is orthogonal to `basis`.
fn orthonormalize_against(basis: MatRef<'_, f64>, mut block: Mat<f64>) -> Mat<f64> {
    let norm = |x: &Mat<f64>, j: usize| x.col(j).norm_l2();
    let before: Vec<f64> = (0..block.ncols()).map(|j| norm(&block, j)).collect();
    // One pass is not accurate enough for a column that lies nearly in the subspace.
    for _ in 0..2 {
        let inside = product(basis.transpose(), block.as_ref());
        let (to, add) = (block.as_mut(), Accum::Add);
        matmul(to, add, basis, inside.as_ref(), -1.0, Par::Seq);
    }
    let mut kept: Vec<usize> = Vec::new();
    for j in 0..block.ncols() {
        for _ in 0..2 {
            for &other in &kept {
                let inside: f64 = block.col(other).transpose() * block.col(j);
                for i in 0..block.nrows() {
                    block[(i, j)] -= inside * block[(i, other)];
                }
            }
        }
        let left = norm(&block, j);
        if left > MIN_LENGTH_SHARE * before[j] && left > 0.0 {
            for i in 0..block.nrows() {
                block[(i, j)] /= left;
            }
            kept.push(j);
        }
    }
    Mat::from_fn(block.nrows(), kept.len(), |i, j| block[(i, kept[j])])
}

fn side_by_side(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let n = a.ncols();
    let entry = |i, j| if j < n { a[(i, j)] } else { b[(i, j - n)] };
    Mat::from_fn(b.nrows(), n + b.ncols(), entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KRYLOV: Krylov = Krylov { blocks: 6, spare: 6, restarts: 12, tolerance: 1e-9 };

    #[test]
    fn the_krylov_iteration_spans_what_the_full_decomposition_does() {
        let (size, n) = (500, 7);
        let mut rng = Seed::new(3).rng();
        let half =
            Mat::from_fn(size, 900, |i, _| rng.gen_range(-1.0..1.0) * 0.99_f64.powi(i as i32));
        let a = product(half.as_ref(), half.as_ref().transpose());
        let krylov = KRYLOV.leading("test", size, n, |x| product(a.as_ref(), x)).unwrap();
        let whole = symmetric_eigen("test", a.as_ref()).unwrap().leading(n);
        let inside = product(krylov.vectors.as_ref().transpose(), whole.vectors.as_ref());
        let overlap = product(inside.as_ref(), inside.as_ref().transpose());
        assert!(krylov.converged);
        for j in 0..n {
            assert!((krylov.values[j] / whole.values[j] - 1.0).abs() < 1e-10);
            assert!((overlap[(j, j)] - 1.0).abs() < 1e-8, "{}", overlap[(j, j)]);
        }
    }

    #[test]
    fn no_more_directions_come_out_than_the_rank() {
        let thin = Mat::from_fn(400, 3, |i, j| ((i * 7 + j * 13) % 17) as f64 - 8.0);
        let a = product(thin.as_ref(), thin.as_ref().transpose());
        let krylov = KRYLOV.leading("test", 400, 9, |x| product(a.as_ref(), x)).unwrap();
        assert_eq!(krylov.values.len(), 3);
        assert_eq!(symmetric_eigen("test", a.as_ref()).unwrap().leading(9).values.len(), 3);
    }

    #[test]
    fn entries_that_are_not_finite_have_no_eigenvectors() {
        for n in [1, 2, 5, 150] {
            for entry in [f64::NAN, f64::INFINITY] {
                let mut a = Mat::<f64>::identity(n, n);
                a[(n - 1, n - 1)] = entry;
                let error = symmetric_eigen("test", a.as_ref()).unwrap_err().to_string();
                let expected = format!("test: eigen-decomposition failed on a {n} x {n} matrix");
                assert_eq!(error, expected, "{entry}");
            }
        }
    }
}
