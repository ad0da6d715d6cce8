//! The leading eigenvectors of a symmetric matrix, by a restarted block Krylov iteration.
//!
//! Rayleigh-Ritz in the span of X, AX, A²X, ..., begun again from the best vectors found; see Y. Saad,
//! "Numerical Methods for Large Eigenvalue Problems", SIAM 2011, chapter 6 (block Lanczos).

use super::linear_algebra::{
    add_product, faer_view, nearest_orthonormal, product, symmetric_eigen,
};
use cdimc_core::ClusterError;
use cdimc_data::Seed;
use ndarray::{Array2, s};
use rand::Rng;

/// Vectors beyond those asked for, which speed up the last of them.
const SPARE: usize = 4;
/// Blocks of the subspace before a restart.
const BLOCKS: usize = 8;
const RESTARTS: usize = 20;
/// Largest residual, as a share of the largest eigenvalue.
const TOLERANCE: f64 = 1e-11;

/// The eigenvectors of the `n_leading` largest eigenvalues of the symmetric `a`, largest first,
/// `(n, n_leading)`.
///
/// Where the subspace would not be small, or does not converge, all eigenvectors are computed.
///
/// # Errors
/// If an entry is not finite or an iteration does not converge.
pub(crate) fn leading_eigenvectors(
    method: &'static str,
    a: &Array2<f64>,
    n_leading: usize,
) -> Result<Array2<f64>, ClusterError> {
    let n = a.nrows();
    let width = n_leading + SPARE;
    if 2 * BLOCKS * width <= n {
        let mut rng = Seed::new(0).stream("krylov").rng();
        let mut start = Array2::from_shape_simple_fn((n, width), || rng.gen_range(-1.0..1.0));
        for _ in 0..RESTARTS {
            let (ritz, converged) = best_in_krylov_space(method, a, &start, n_leading)?;
            if converged {
                return Ok(ritz.slice(s![.., ..n_leading]).to_owned());
            }
            start = ritz;
        }
        tracing::debug!(method, "leading eigenvectors did not converge; computing all");
    }
    let eigen = symmetric_eigen(method, faer_view(a.view()))?;
    Ok(Array2::from_shape_fn((n, n_leading), |(i, j)| eigen.vectors[(i, n - 1 - j)]))
}

/// The leading Ritz vectors in span(X, AX, A²X, ...), X = `start`, as many as it has columns, and whether
/// the residuals ‖Ax - θx‖ of the first `n_leading` are small as shares of the largest |θ|.
fn best_in_krylov_space(
    method: &'static str,
    a: &Array2<f64>,
    start: &Array2<f64>,
    n_leading: usize,
) -> Result<(Array2<f64>, bool), ClusterError> {
    let width = start.ncols();
    let mut basis = vec![nearest_orthonormal(method, start.view())?];
    let mut images: Vec<Array2<f64>> = Vec::with_capacity(BLOCKS);
    loop {
        let image = product(a.view(), basis[images.len()].view());
        images.push(image.clone());
        if images.len() == BLOCKS {
            break;
        }
        let mut next = image;
        // Once is not enough where the image lies nearly in the subspace.
        for _ in 0..2 {
            for block in &basis {
                let inside = product(block.t(), next.view());
                add_product(&mut next, -1.0, block.view(), inside.view());
            }
            next = nearest_orthonormal(method, next.view())?;
        }
        basis.push(next);
    }
    let mut projected = Array2::zeros((BLOCKS * width, BLOCKS * width));
    for (i, block) in basis.iter().enumerate() {
        for (j, image) in images.iter().enumerate().take(i + 1) {
            let place = s![i * width..(i + 1) * width, j * width..(j + 1) * width];
            projected.slice_mut(place).assign(&product(block.t(), image.view()));
        }
    }
    let eigen = symmetric_eigen(method, faer_view(projected.view()))?;
    let last = BLOCKS * width - 1;
    let mut ritz = Array2::zeros(start.dim());
    let mut image = Array2::zeros(start.dim());
    for (i, (block, block_image)) in basis.iter().zip(&images).enumerate() {
        let mixing = Array2::from_shape_fn((width, width), |(r, c)| {
            eigen.vectors[(i * width + r, last - c)]
        });
        add_product(&mut ritz, 1.0, block.view(), mixing.view());
        add_product(&mut image, 1.0, block_image.view(), mixing.view());
    }
    let largest = eigen.values[0].abs().max(eigen.values[last].abs());
    // A residual that is no number is not small.
    let small = |c: usize| {
        let difference = &image.column(c) - &(&ritz.column(c) * eigen.values[last - c]);
        largest == 0.0 || difference.dot(&difference).sqrt() / largest <= TOLERANCE
    };
    let converged = (0..n_leading).all(small);
    Ok((ritz, converged))
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;

    #[test]
    fn small_matrices_give_the_vectors_of_the_largest_values() {
        let a = Array2::from_diag(&ndarray::arr1(&[1.0, 5.0, 3.0, -9.0]));
        let h = leading_eigenvectors("test", &a, 2).unwrap();
        assert_abs_diff_eq!(h.t().dot(&h), Array2::eye(2), epsilon = 1e-12);
        assert_abs_diff_eq!(h[[1, 0]].abs(), 1.0, epsilon = 1e-12);
        assert_abs_diff_eq!(h[[2, 1]].abs(), 1.0, epsilon = 1e-12);
    }

    #[test]
    fn a_matrix_with_an_entry_that_is_no_number_is_an_error() {
        for n in [2, 260] {
            let mut a = Array2::<f64>::eye(n);
            a[[1, 1]] = f64::NAN;
            assert!(leading_eigenvectors("test", &a, 2).is_err(), "{n} rows");
        }
    }

    #[test]
    fn the_krylov_iteration_spans_what_the_full_decomposition_does() {
        let (n, k) = (260, 5);
        let mut rng = Seed::new(8).rng();
        let half = Array2::from_shape_simple_fn((n, 2 * n), || rng.gen_range(-1.0..1.0));
        let random: Array2<f64> = half.dot(&half.t()) / n as f64;
        // Of rank 3, less than the vectors asked for; and one with a negative eigenvalue of largest size.
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
