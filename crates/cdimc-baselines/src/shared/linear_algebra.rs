//! Dense linear algebra on faer: products, eigenpairs, the positive semidefinite part.
//!
//! All of it runs in the calling thread, so the bits do not depend on the number of threads.

use cdimc_core::ClusterError;
use cdimc_core::linear_algebra::{self, Krylov, failure};
pub(crate) use cdimc_core::linear_algebra::{SymmetricEigen, symmetric_eigen};
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::lu::partial_pivoting as lu;
use faer::linalg::matmul::{matmul, triangular, triangular::BlockStructure};
use faer::linalg::svd::{ComputeSvdVectors, svd, svd_scratch};
use faer::{Accum, Mat, MatMut, MatRef, Par, Spec};
use ndarray::{Array2, ArrayView2};
use rand::Rng;

/// Eigenvalues below this count as zero in [`replace_by_positive_part`] (authors' code of
/// MKKM-IK-MKC).
const EIGENVALUE_FLOOR: f64 = 1e-10;

const STANDARD_LAYOUT: &str = "arrays are made here in standard layout";

/// Settings of [`leading_eigenvectors`].
const KRYLOV: Krylov = Krylov { blocks: 8, spare: 4, restarts: 20, tolerance: 1e-11 };

/// Returns `a` as a faer matrix without a copy: whole arrays, runs of rows, and their transposes.
pub(crate) fn faer_view(a: ArrayView2<'_, f64>) -> MatRef<'_, f64> {
    let (rows, columns) = a.dim();
    if let Some(values) = a.to_slice() {
        MatRef::from_row_major_slice(values, rows, columns)
    } else if let Some(values) = a.reversed_axes().to_slice() {
        MatRef::from_column_major_slice(values, rows, columns)
    } else {
        unreachable!("columns of a row-major array are never selected")
    }
}

fn faer_view_mut(a: &mut Array2<f64>) -> MatMut<'_, f64> {
    let (rows, columns) = a.dim();
    MatMut::from_row_major_slice_mut(entries_mut(a), rows, columns)
}

/// Returns `a` `b` in standard layout.
pub(crate) fn product(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>) -> Array2<f64> {
    let mut c = Array2::zeros((a.nrows(), b.ncols()));
    add_product(&mut c, 1.0, a, b);
    c
}

/// Overwrites `c`, a whole array or a run of its rows, with `a` `b`.
pub(crate) fn set_product(
    c: ndarray::ArrayViewMut2<'_, f64>,
    a: ArrayView2<'_, f64>,
    b: ArrayView2<'_, f64>,
) {
    let (rows, columns) = c.dim();
    let values = c.into_slice().unwrap_or_else(|| unreachable!("{STANDARD_LAYOUT}"));
    let c = MatMut::from_row_major_slice_mut(values, rows, columns);
    matmul(c, Accum::Replace, faer_view(a), faer_view(b), 1.0, Par::Seq);
}

/// Returns `a` transposed, in standard layout.
pub(crate) fn transposed(a: &Array2<f64>) -> Array2<f64> {
    a.t().as_standard_layout().into_owned()
}

/// Returns a matrix of this shape with entries uniform in [0, 1).
pub(crate) fn uniform(shape: (usize, usize), rng: &mut impl Rng) -> Array2<f64> {
    Array2::from_shape_simple_fn(shape, || rng.r#gen())
}

/// Returns the sum of the products of the entries.
pub(crate) fn dot(a: &Array2<f64>, b: &Array2<f64>) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns the entries of `a`, row by row.
pub(crate) fn entries(a: &Array2<f64>) -> &[f64] {
    a.as_slice().unwrap_or_else(|| unreachable!("{STANDARD_LAYOUT}"))
}

/// Returns the mutable entries of `a`, row by row.
pub(crate) fn entries_mut(a: &mut Array2<f64>) -> &mut [f64] {
    a.as_slice_mut().unwrap_or_else(|| unreachable!("{STANDARD_LAYOUT}"))
}

/// Returns the inverse of the symmetric positive definite `a`.
pub(crate) fn inverse_positive_definite(
    method: &'static str,
    a: &Array2<f64>,
) -> Result<Array2<f64>, ClusterError> {
    let mut inverse = Array2::eye(a.nrows());
    solve_positive_definite(method, &mut a.clone(), &mut inverse)?;
    Ok(inverse)
}

/// Adds `scale` `a` `b` to `c`.
pub(crate) fn add_product(
    c: &mut Array2<f64>,
    scale: f64,
    a: ArrayView2<'_, f64>,
    b: ArrayView2<'_, f64>,
) {
    matmul(faer_view_mut(c), Accum::Add, faer_view(a), faer_view(b), scale, Par::Seq);
}

/// Returns the eigenvectors of the `n_leading` largest eigenvalues of the symmetric `a`, largest first, `(n,
/// n_leading)`.
///
/// Computes all eigenvectors if the subspace is not small or the iteration does not converge.
pub(crate) fn leading_eigenvectors(
    method: &'static str,
    a: &Array2<f64>,
    n_leading: usize,
) -> Result<Array2<f64>, ClusterError> {
    let n = a.nrows();
    let matrix = faer_view(a.view());
    if 2 * KRYLOV.blocks * (n_leading + KRYLOV.spare) <= n {
        let found = KRYLOV.leading(method, n, n_leading, |x| linear_algebra::product(matrix, x))?;
        if found.converged && found.values.len() == n_leading {
            return Ok(Array2::from_shape_fn((n, n_leading), |at| found.vectors[at]));
        }
        tracing::debug!(method, "leading eigenvectors did not converge; computing all");
    }
    let eigen = symmetric_eigen(method, matrix)?;
    Ok(Array2::from_shape_fn((n, n_leading), |(i, j)| eigen.vectors[(i, n - 1 - j)]))
}

/// Replaces the symmetric `a` by its positive semidefinite part: eigenvalues below 1e-10 become 0.
pub(crate) fn replace_by_positive_part(
    method: &'static str,
    a: &mut Array2<f64>,
) -> Result<(), ClusterError> {
    let n = a.nrows();
    let SymmetricEigen { values, mut vectors } = symmetric_eigen(method, faer_view(a.view()))?;
    let first = values.partition_point(|&value| value < EIGENVALUE_FLOOR);
    for (j, value) in values.iter().enumerate().skip(first) {
        vectors.col_mut(j).iter_mut().for_each(|x| *x *= value.sqrt());
    }
    write_upper_gram(a, vectors.as_ref().subcols(first, n - first));
    mirror_upper(a);
    Ok(())
}

/// Returns the upper triangle of `a` `a`ᵀ; entries below it are 0.
pub(crate) fn upper_gram(a: &Array2<f64>) -> Array2<f64> {
    let mut gram = Array2::zeros((a.nrows(), a.nrows()));
    write_upper_gram(&mut gram, faer_view(a.view()));
    gram
}

fn write_upper_gram(gram: &mut Array2<f64>, a: MatRef<'_, f64>) {
    let whole = BlockStructure::Rectangular;
    // Rows of the array are columns in faer, so it uses the lower triangle.
    let (gram, lower) = (faer_view_mut(gram).transpose_mut(), BlockStructure::TriangularLower);
    triangular::matmul(gram, lower, Accum::Replace, a, whole, a.transpose(), whole, 1.0, Par::Seq);
}

/// Copies the strictly upper triangle onto the lower one, tile by tile to stay in cache.
pub(crate) fn mirror_upper(a: &mut Array2<f64>) {
    const TILE: usize = 32;
    let n = a.nrows();
    for row in (0..n).step_by(TILE) {
        for column in (row..n).step_by(TILE) {
            for i in row..(row + TILE).min(n) {
                for j in column.max(i + 1)..(column + TILE).min(n) {
                    a[[j, i]] = a[[i, j]];
                }
            }
        }
    }
}

/// Returns the matrix with orthonormal columns nearest to `a` `(d, k)`, k at most d: A Bᵀ of the thin singular value
/// decomposition A S Bᵀ.
pub(crate) fn nearest_orthonormal(
    method: &'static str,
    a: ArrayView2<'_, f64>,
) -> Result<Array2<f64>, ClusterError> {
    let operation = "singular value decomposition";
    let (d, k) = a.dim();
    let mut left = Mat::<f64>::zeros(d, k);
    let mut right = Mat::<f64>::zeros(k, k);
    let mut singular = vec![0.0; k];
    let vectors = ComputeSvdVectors::Thin;
    let request = svd_scratch::<f64>(d, k, vectors, vectors, Par::Seq, Spec::default());
    with_scratch(request, |stack| {
        let diagonal = faer::diag::DiagMut::from_slice_mut(&mut singular);
        let (left, right) = (Some(left.as_mut()), Some(right.as_mut()));
        let matrix = faer_view(a);
        svd(matrix, diagonal, left, right, Par::Seq, stack, Spec::default())
    })
    .map_err(|_| failure(method, operation, faer_view(a)))?;
    let mut orthonormal = Array2::zeros((d, k));
    let (left, right) = (left.as_ref(), right.transpose());
    matmul(faer_view_mut(&mut orthonormal), Accum::Replace, left, right, 1.0, Par::Seq);
    Ok(orthonormal)
}

/// Solves `a` x = `b` for symmetric positive definite `a`. It reads and overwrites the upper triangle of `a`; x
/// replaces `b`.
pub(crate) fn solve_positive_definite(
    method: &'static str,
    a: &mut Array2<f64>,
    b: &mut Array2<f64>,
) -> Result<(), ClusterError> {
    // Rows of the array are columns in faer, so it uses the lower triangle.
    let lower = faer_view_mut(a).transpose_mut();
    linear_algebra::solve_positive_definite(method, lower, faer_view_mut(b))
}

/// Solves `a` x = `b` for a regular `a`, which is overwritten; x replaces `b`.
pub(crate) fn solve_general(a: &mut Array2<f64>, b: &mut Array2<f64>) {
    let (n, columns) = b.dim();
    let mut factor = faer_view_mut(a);
    let (mut forward, mut backward) = (vec![0_usize; n], vec![0_usize; n]);
    let request = lu::factor::lu_in_place_scratch::<usize, f64>(n, n, Par::Seq, Spec::default());
    let permutation = with_scratch(request, |stack| {
        let parameters = Spec::default();
        let (forward, backward) = (&mut forward[..], &mut backward[..]);
        lu::factor::lu_in_place(factor.as_mut(), forward, backward, Par::Seq, stack, parameters).1
    });
    let request = lu::solve::solve_in_place_scratch::<usize, f64>(n, columns, Par::Seq);
    with_scratch(request, |stack| {
        let factor = factor.as_ref();
        lu::solve::solve_in_place(factor, factor, permutation, faer_view_mut(b), Par::Seq, stack);
    });
}

/// Runs `work` on scratch memory of the requested size.
fn with_scratch<T>(request: StackReq, work: impl FnOnce(&mut MemStack) -> T) -> T {
    work(MemStack::new(&mut MemBuffer::new(request)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;
    use cdimc_data::Seed;
    use ndarray::s;
    use rand::Rng;

    fn random(rows: usize, columns: usize, seed: u64) -> Array2<f64> {
        let mut rng = Seed::new(seed).rng();
        Array2::from_shape_simple_fn((rows, columns), || rng.gen_range(-1.0..1.0))
    }

    #[test]
    fn the_positive_part_and_the_rest_are_orthogonal() {
        let a = random(70, 70, 1);
        let a = &a + &a.t();
        let mut positive = a.clone();
        replace_by_positive_part("test", &mut positive).unwrap();
        let rest = &a - &positive;
        assert_abs_diff_eq!(positive.dot(&rest), Array2::zeros((70, 70)), epsilon = 1e-10);
        let eigen = symmetric_eigen("test", faer_view(positive.view())).unwrap();
        assert!(eigen.values[0] > -1e-10 && eigen.values[69] > 1.0);
        assert_eq!(positive, positive.t());
    }

    #[test]
    fn solutions_solve() {
        let half = random(30, 30, 2);
        let a = half.dot(&half.t()) + Array2::<f64>::eye(30);
        let b = random(30, 3, 3);
        let mut x = b.clone();
        solve_positive_definite("test", &mut a.clone(), &mut x).unwrap();
        assert_abs_diff_eq!(a.dot(&x), b, epsilon = 1e-10);
        let mut x = b.clone();
        solve_general(&mut half.clone(), &mut x);
        assert_abs_diff_eq!(half.dot(&x), b, epsilon = 1e-10);
        let error = solve_positive_definite("test", &mut -a, &mut x).unwrap_err();
        assert_eq!(error.to_string(), "test: Cholesky factorization failed on a 30 x 30 matrix");
    }

    #[test]
    fn the_nearest_orthonormal_matrix_of_a_rank_deficient_one_is_still_orthonormal() {
        let mut a = random(12, 4, 4);
        a.column_mut(2).fill(0.0);
        let q = nearest_orthonormal("test", a.view()).unwrap();
        assert_abs_diff_eq!(q.t().dot(&q), Array2::eye(4), epsilon = 1e-12);
        // Qᵀ A is the symmetric positive semidefinite factor of the polar decomposition.
        let factor = q.t().dot(&a);
        assert_abs_diff_eq!(factor, factor.t().to_owned(), epsilon = 1e-12);
    }

    #[test]
    fn small_matrices_give_the_vectors_of_the_largest_values() {
        let a = Array2::from_diag(&ndarray::arr1(&[1.0, 5.0, 3.0, -9.0]));
        let h = leading_eigenvectors("test", &a, 2).unwrap();
        assert_abs_diff_eq!(h.t().dot(&h), Array2::eye(2), epsilon = 1e-12);
        assert_abs_diff_eq!(h[[1, 0]].abs(), 1.0, epsilon = 1e-12);
        assert_abs_diff_eq!(h[[2, 1]].abs(), 1.0, epsilon = 1e-12);
    }

    #[test]
    fn a_matrix_with_nan_is_an_error() {
        for n in [2, 260] {
            let mut a = Array2::<f64>::eye(n);
            a[[1, 1]] = f64::NAN;
            assert!(leading_eigenvectors("test", &a, 2).is_err(), "{n} rows");
        }
    }

    #[test]
    fn the_krylov_iteration_spans_the_same_space_as_the_full_decomposition() {
        let (n, k) = (260, 5);
        let half = random(n, 2 * n, 8);
        let full = half.dot(&half.t()) / n as f64;
        // A matrix of rank 3, fewer than the requested vectors, and one with a negative eigenvalue of largest size.
        let thin = half.slice(s![.., ..3]);
        let flat = thin.dot(&thin.t());
        let mut indefinite = full.clone();
        indefinite[[0, 0]] -= 1e3;
        for a in [full, flat, indefinite] {
            let found = leading_eigenvectors("test", &a, k).unwrap();
            assert_abs_diff_eq!(found.t().dot(&found), Array2::eye(k), epsilon = 1e-10);
            let eigen = symmetric_eigen("test", faer_view(a.view())).unwrap();
            let captured = found.t().dot(&a).dot(&found).diag().sum();
            let most: f64 = eigen.values[n - k..].iter().sum();
            assert_abs_diff_eq!(captured, most, epsilon = 1e-10 * most);
        }
    }
}
