//! Correction of p values for multiple tests.

/// Returns the q value of every p value, by the false discovery rate (Benjamini and Hochberg 1995). NaN is not counted as
/// a test and stays NaN.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).filter(|&i| !p[i].is_nan()).collect();
    order.sort_by(|&a, &b| p[b].total_cmp(&p[a]));
    let n = order.len() as f64;
    let mut q = p.to_vec();
    let mut least = 1.0_f64;
    for (above, &i) in order.iter().enumerate() {
        least = least.min(p[i] * n / (n - above as f64));
        q[i] = least;
    }
    q
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_p_values_are_not_counted() {
        let q = benjamini_hochberg(&[0.01, f64::NAN, 0.04]);
        assert_eq!((q[0], q[2]), (0.02, 0.04));
        assert!(q[1].is_nan());
        assert!(benjamini_hochberg(&[]).is_empty());
    }
}
