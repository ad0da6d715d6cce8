//! Tail probabilities for p values.

use libm::{erfc, lgamma};
use std::f64::consts::SQRT_2;

/// 0.975 quantile of the standard normal distribution, for 95 % intervals.
pub(crate) const Z_975: f64 = 1.959_963_984_540_054;

/// P(X >= `statistic`) for a chi-squared X with `degrees` degrees of freedom.
///
/// With x = statistic / 2, for even degrees it is the sum of exp(-x) x^a / Gamma(a + 1) over a = 0, 1, .. below
/// degrees / 2. For odd degrees it is erfc(sqrt(x)) plus the same sum over a = 1/2, 3/2, ..
pub(crate) fn chi_squared_tail(statistic: f64, degrees: usize) -> f64 {
    if statistic <= 0.0 {
        return 1.0;
    }
    if statistic == f64::INFINITY {
        return 0.0;
    }
    let x = statistic / 2.0;
    let (first, begun) = if degrees.is_multiple_of(2) { (0.0, 0.0) } else { (0.5, erfc(x.sqrt())) };
    let term = |i: usize| {
        let a = first + i as f64;
        (a * x.ln() - x - lgamma(a + 1.0)).exp()
    };
    (begun + (0..degrees / 2).map(term).sum::<f64>()).min(1.0)
}

/// P(|X| >= |`z`|) for a standard normal X.
pub(crate) fn two_sided(z: f64) -> f64 {
    erfc(z.abs() / SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_agree_with_r_far_out_and_for_many_degrees() {
        // pchisq(x, df, lower.tail = FALSE)
        for (statistic, degrees, expected) in [
            (0.5, 1, 0.479_500_122_186_953_5),
            (3.0, 2, 0.223_130_160_148_429_83),
            (200.0, 3, 4.218_541_107_192_042e-43),
            (1700.0, 1600, 0.040_583_840_793_757_55),
            (1500.0, 1601, 0.965_008_475_789_345),
        ] {
            let found = chi_squared_tail(statistic, degrees);
            assert!((found / expected - 1.0).abs() < 1e-10, "{statistic} {degrees}: {found}");
        }
        assert_eq!((chi_squared_tail(0.0, 3), chi_squared_tail(f64::INFINITY, 3)), (1.0, 0.0));
    }
}
