//! The leading eigenvectors of a positive semidefinite operator: from the matrix itself where it is small,
//! otherwise by a restarted block Krylov iteration from a random block (Musco and Musco, `NeurIPS` 2015).
//!
//! All of it runs in the calling thread, so that the bits do not depend on the number of threads.

use cdimc_core::ClusterError;
use cdimc_data::Seed;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par, Spec};
use rand::Rng;

/// Up to this size all eigenvectors are computed.
const WHOLE: usize = 320;
/// Vectors beyond those asked for, which speed up the last of them.
const SPARE: usize = 6;
/// Blocks of the subspace before a restart.
const BLOCKS: usize = 6;
const RESTARTS: usize = 12;
/// Largest residual, as a share of the largest eigenvalue. Coordinates need the subspace, not its digits.
const TOLERANCE: f64 = 1e-9;
/// Directions of less than this share of the largest eigenvalue are rounding.
const RANK: f64 = 1e-13;

/// Eigenvalues, largest first, and eigenvectors as columns.
pub(crate) struct Leading {
    pub(crate) values: Vec<f64>,
    pub(crate) vectors: Mat<f64>,
}

/// The `n` leading eigenpairs of `a`, of which the lower triangle is read, less those that are rounding.
pub(crate) fn of_matrix(a: MatRef<'_, f64>, n: usize) -> Result<Leading, ClusterError> {
    let size = a.nrows();
    if size <= WHOLE.max(2 * BLOCKS * (n + SPARE)) {
        return Ok(all_of(a)?.truncated(n));
    }
    let mut whole = a.to_owned();
    for j in 0..size {
        for i in 0..j {
            whole[(i, j)] = whole[(j, i)];
        }
    }
    of_operator(size, n, |x| product(whole.as_ref(), x))
}

/// The `n` leading eigenpairs of the operator `apply` on vectors of `size` numbers.
pub(crate) fn of_operator(
    size: usize,
    n: usize,
    apply: impl Fn(MatRef<'_, f64>) -> Mat<f64>,
) -> Result<Leading, ClusterError> {
    let width = (n + SPARE).min(size);
    let mut rng = Seed::new(0).stream("krylov").rng();
    let mut block = Mat::from_fn(size, width, |_, _| rng.gen_range(-1.0..1.0));
    let mut restart = 0;
    loop {
        let mut basis = Mat::<f64>::zeros(size, 0);
        let mut images = Mat::<f64>::zeros(size, 0);
        for _ in 0..BLOCKS {
            let next = orthonormal_beside(basis.as_ref(), block);
            if next.ncols() == 0 {
                break;
            }
            let image = apply(next.as_ref());
            basis = side_by_side(basis.as_ref(), next.as_ref());
            images = side_by_side(images.as_ref(), image.as_ref());
            block = image;
        }
        let projected = product(basis.as_ref().transpose(), images.as_ref());
        let ritz = all_of(projected.as_ref())?.truncated(width);
        let vectors = product(basis.as_ref(), ritz.vectors.as_ref());
        let image = product(images.as_ref(), ritz.vectors.as_ref());
        let largest = ritz.values.first().copied().unwrap_or(0.0);
        let residual = (0..n.min(ritz.values.len())).map(|j| {
            let of = |i| image[(i, j)] - ritz.values[j] * vectors[(i, j)];
            (0..size).map(|i| of(i) * of(i)).sum::<f64>().sqrt()
        });
        let residual = residual.fold(0.0, f64::max);
        restart += 1;
        if residual <= TOLERANCE * largest || restart == RESTARTS {
            return Ok(Leading { values: ritz.values, vectors }.truncated(n));
        }
        block = vectors;
    }
}

impl Leading {
    /// The first `n` at most, without those that are rounding.
    fn truncated(mut self, n: usize) -> Self {
        let least = self.values.first().map_or(0.0, |largest| largest * RANK);
        let rank = self.values.iter().take_while(|&&value| value > least).count();
        let n = n.min(rank.max(1)).min(self.values.len());
        self.values.truncate(n);
        self.vectors = self.vectors.as_ref().subcols(0, n).to_owned();
        self
    }
}

/// Numbers that [`of_operator`] holds at its largest: the basis and its images, once more while they grow.
pub(crate) fn numbers_held(size: f64, n: f64) -> f64 {
    3.0 * BLOCKS as f64 * size * (n + SPARE as f64)
}

/// All eigenpairs of `a`, of which the lower triangle is read.
pub(crate) fn all_of(a: MatRef<'_, f64>) -> Result<Leading, ClusterError> {
    let size = a.nrows();
    let (mut ascending, mut vectors) = (vec![0.0; size], Mat::zeros(size, size));
    let yes = ComputeEigenvectors::Yes;
    let request = self_adjoint_evd_scratch::<f64>(size, yes, Par::Seq, Spec::default());
    let mut memory = MemBuffer::new(request);
    let diagonal = faer::diag::DiagMut::from_slice_mut(&mut ascending);
    let stack = MemStack::new(&mut memory);
    self_adjoint_evd(a, diagonal, Some(vectors.as_mut()), Par::Seq, stack, Spec::default())
        .map_err(|_| ClusterError::LinearAlgebra {
            method: crate::NAME,
            operation: "eigen-decomposition",
            rows: size,
            columns: size,
        })?;
    let values = ascending.into_iter().rev().collect();
    let vectors = Mat::from_fn(size, size, |i, j| vectors[(i, size - 1 - j)]);
    Ok(Leading { values, vectors })
}

/// An orthonormal basis of what the columns of `block` add to those of `basis`.
fn orthonormal_beside(basis: MatRef<'_, f64>, mut block: Mat<f64>) -> Mat<f64> {
    let norm = |x: &Mat<f64>, j: usize| x.col(j).norm_l2();
    let before: Vec<f64> = (0..block.ncols()).map(|j| norm(&block, j)).collect();
    // Once is not enough where a column lies nearly in the subspace.
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
        if left > 1e-11 * before[j] && left > 0.0 {
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

pub(crate) fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut c = Mat::zeros(a.nrows(), b.ncols());
    matmul(c.as_mut(), Accum::Replace, a, b, 1.0, Par::Seq);
    c
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_krylov_iteration_spans_what_the_full_decomposition_does() {
        let (size, n) = (500, 7);
        let mut rng = Seed::new(3).rng();
        let half =
            Mat::from_fn(size, 900, |i, _| rng.gen_range(-1.0..1.0) * 0.99_f64.powi(i as i32));
        let a = product(half.as_ref(), half.as_ref().transpose());
        let krylov = of_operator(size, n, |x| product(a.as_ref(), x)).unwrap();
        let whole = all_of(a.as_ref()).unwrap().truncated(n);
        let inside = product(krylov.vectors.as_ref().transpose(), whole.vectors.as_ref());
        let overlap = product(inside.as_ref(), inside.as_ref().transpose());
        for j in 0..n {
            assert!((krylov.values[j] / whole.values[j] - 1.0).abs() < 1e-10);
            assert!((overlap[(j, j)] - 1.0).abs() < 1e-8, "{}", overlap[(j, j)]);
        }
    }

    #[test]
    fn no_more_directions_come_out_than_the_rank() {
        let thin = Mat::from_fn(400, 3, |i, j| ((i * 7 + j * 13) % 17) as f64 - 8.0);
        let a = product(thin.as_ref(), thin.as_ref().transpose());
        assert_eq!(of_operator(400, 9, |x| product(a.as_ref(), x)).unwrap().values.len(), 3);
        assert_eq!(of_matrix(a.as_ref(), 9).unwrap().values.len(), 3);
    }
}
