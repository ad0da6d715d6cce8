//! Leading eigenvectors of a symmetric matrix.

use super::linear_algebra::{faer_view, symmetric_eigen};
use cdimc_core::ClusterError;
use cdimc_core::linear_algebra::{Krylov, product};
use ndarray::Array2;

const KRYLOV: Krylov = Krylov { blocks: 8, spare: 4, restarts: 20, tolerance: 1e-11 };

/// Returns the eigenvectors of the `n_leading` largest eigenvalues of the symmetric `a`, largest first, `(n,
/// n_leading)`.
///
/// Computes all eigenvectors if the subspace is not small or the iteration does not converge.
///
/// # Errors
/// If an entry is not finite or an iteration does not converge.
pub(crate) fn leading_eigenvectors(
    method: &'static str,
    a: &Array2<f64>,
    n_leading: usize,
) -> Result<Array2<f64>, ClusterError> {
    let n = a.nrows();
    let matrix = faer_view(a.view());
    if 2 * KRYLOV.blocks * (n_leading + KRYLOV.spare) <= n {
        let found = KRYLOV.leading(method, n, n_leading, |x| product(matrix, x))?;
        if found.converged && found.values.len() == n_leading {
            return Ok(Array2::from_shape_fn((n, n_leading), |at| found.vectors[at]));
        }
        tracing::debug!(method, "leading eigenvectors did not converge; computing all");
    }
    let eigen = symmetric_eigen(method, matrix)?;
    Ok(Array2::from_shape_fn((n, n_leading), |(i, j)| eigen.vectors[(i, n - 1 - j)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;
    use cdimc_data::Seed;
    use ndarray::s;
    use rand::Rng;

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
        let mut rng = Seed::new(8).rng();
        let half = Array2::from_shape_simple_fn((n, 2 * n), || rng.gen_range(-1.0..1.0));
        let random: Array2<f64> = half.dot(&half.t()) / n as f64;
        // A matrix of rank 3, fewer than the requested vectors, and one with a negative eigenvalue of largest size.
        let thin = half.slice(s![.., ..3]);
        let flat = thin.dot(&thin.t());
        let mut indefinite = random.clone();
        indefinite[[0, 0]] -= 1e3;
        for a in [random, flat, indefinite] {
            let found = leading_eigenvectors("test", &a, k).unwrap();
            assert_abs_diff_eq!(found.t().dot(&found), Array2::eye(k), epsilon = 1e-10);
            let eigen = symmetric_eigen("test", faer_view(a.view())).unwrap();
            let captured = found.t().dot(&a).dot(&found).diag().sum();
            let most: f64 = eigen.values[n - k..].iter().sum();
            assert_abs_diff_eq!(captured, most, epsilon = 1e-10 * most);
        }
    }
}
