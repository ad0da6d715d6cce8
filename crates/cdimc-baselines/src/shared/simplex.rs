//! Solves a small convex quadratic program on the simplex exactly.

use ndarray::Array2;

/// Largest number of variables: the number of supports is 2^m, so callers refuse more.
pub(crate) const MAX_VARIABLES: usize = 16;

/// Returns the minimizer and the minimum of ½ γᵀQγ + fᵀγ over γ ≥ 0, Σγ = 1, for positive semidefinite Q.
///
/// Enumerates the supports S and keeps the best feasible solution of [`Q_SS` 1; 1ᵀ 0] [γ; ν] = [-f; 1]. Singular
/// systems are skipped: some minimizer has a smaller support with a regular system.
pub(crate) fn minimize_on_simplex(q: &Array2<f64>, f: &[f64]) -> (Vec<f64>, f64) {
    let m = f.len();
    // Entries reach 1e6; the tolerances below assume unit scale.
    let scale = q.iter().chain(f).fold(0.0_f64, |largest, x| largest.max(x.abs()));
    let scale = if scale > 0.0 { scale } else { 1.0 };
    let (q, f) = (q / scale, f.iter().map(|x| x / scale).collect::<Vec<_>>());
    let mut best = (vec![1.0 / m as f64; m], f64::INFINITY);
    for mask in 1_u32..1 << m {
        let support: Vec<usize> = (0..m).filter(|i| mask >> i & 1 == 1).collect();
        let r = support.len();
        let mut system = vec![vec![0.0; r + 2]; r + 1];
        for (a, &i) in support.iter().enumerate() {
            for (b, &j) in support.iter().enumerate() {
                system[a][b] = q[[i, j]];
            }
            system[a][r] = 1.0;
            system[r][a] = 1.0;
            system[a][r + 1] = -f[i];
        }
        system[r][r + 1] = 1.0;
        let Some(solution) = solve(system) else { continue };
        if solution[..r].iter().any(|&x| x < -1e-12) {
            continue;
        }
        let mut gamma = vec![0.0; m];
        for (&i, x) in support.iter().zip(&solution[..r]) {
            gamma[i] = x.max(0.0);
        }
        let sum: f64 = gamma.iter().sum();
        for x in &mut gamma {
            *x /= sum;
        }
        let value = objective(&q, &f, &gamma);
        if value < best.1 - 1e-15 {
            best = (gamma, value);
        }
    }
    (best.0, best.1 * scale)
}

fn objective(q: &Array2<f64>, f: &[f64], gamma: &[f64]) -> f64 {
    let mut value = 0.0;
    for (i, x) in gamma.iter().enumerate() {
        let row: f64 = q.row(i).iter().zip(gamma).map(|(q, y)| q * y).sum();
        value += x * (0.5 * row + f[i]);
    }
    value
}

/// Solves the augmented system by elimination with row pivoting; `None` if it is singular.
fn solve(mut system: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let n = system.len();
    for column in 0..n {
        let pivot = (column..n)
            .max_by(|&a, &b| system[a][column].abs().total_cmp(&system[b][column].abs()))?;
        if system[pivot][column].abs() < 1e-13 {
            return None;
        }
        system.swap(column, pivot);
        let (above, below) = system.split_at_mut(column + 1);
        let leading = &above[column];
        for row in below {
            let factor = row[column] / leading[column];
            for (x, y) in row.iter_mut().zip(leading).skip(column) {
                *x -= factor * y;
            }
        }
    }
    let mut solution = vec![0.0; n];
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| system[i][j] * solution[j]).sum();
        solution[i] = (system[i][n] - known) / system[i][i];
    }
    Some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;
    use ndarray::array;
    use proptest::prelude::*;

    #[test]
    fn duplicate_variables_give_the_minimum() {
        let q = array![[2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 1.0]];
        let (gamma, value) = minimize_on_simplex(&q, &[0.0; 3]);
        assert_abs_diff_eq!(gamma[0] + gamma[1], 1.0 / 3.0, epsilon = 1e-12);
        assert_abs_diff_eq!(value, 1.0 / 3.0, epsilon = 1e-12);
    }

    proptest! {
        /// Karush-Kuhn-Tucker conditions: the gradient is smallest, and equal, on the support.
        #[test]
        fn minimizers_satisfy_the_optimality_conditions(
            entries in prop::collection::vec(-1.0..1.0_f64, 25),
            f in prop::collection::vec(-2.0..2.0_f64, 5),
        ) {
            let half = Array2::from_shape_vec((5, 5), entries).unwrap();
            let q = half.dot(&half.t());
            let (gamma, _) = minimize_on_simplex(&q, &f);
            prop_assert!((gamma.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let gradient: Vec<f64> = (0..5)
                .map(|i| f[i] + q.row(i).iter().zip(&gamma).map(|(a, b)| a * b).sum::<f64>())
                .collect();
            let least = gradient.iter().copied().fold(f64::INFINITY, f64::min);
            for (x, g) in gamma.iter().zip(&gradient) {
                prop_assert!(*x >= 0.0 && (*x < 1e-9 || g - least < 1e-7), "{gamma:?} {gradient:?}");
            }
        }
    }
}
