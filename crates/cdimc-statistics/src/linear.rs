//! Small symmetric systems.

pub(crate) type Rows = Vec<Vec<f64>>;

/// Inverse of a symmetric positive definite matrix by Cholesky's L L'; `None` if it is not positive definite.
pub(crate) fn inverse(matrix: &Rows) -> Option<Rows> {
    let n = matrix.len();
    let largest = (0..n).map(|i| matrix[i][i]).fold(0.0, f64::max);
    let mut l = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let rest = matrix[i][j] - (0..j).map(|k| l[i][k] * l[j][k]).sum::<f64>();
            if i == j {
                if rest.is_nan() || rest <= 1e-12 * largest {
                    return None;
                }
                l[i][i] = rest.sqrt();
            } else {
                l[i][j] = rest / l[j][j];
            }
        }
    }
    // Columns of the inverse of L, then their products.
    let column = |c: usize| {
        let mut column = vec![0.0; n];
        for i in c..n {
            let known: f64 = (c..i).map(|k| l[i][k] * column[k]).sum();
            column[i] = (f64::from(u8::from(i == c)) - known) / l[i][i];
        }
        column
    };
    let m: Rows = (0..n).map(column).collect();
    let entry = |i: usize, j: usize| (i.max(j)..n).map(|k| m[i][k] * m[j][k]).sum();
    Some((0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect())
}

pub(crate) fn product(matrix: &Rows, vector: &[f64]) -> Vec<f64> {
    matrix.iter().map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum()).collect()
}
