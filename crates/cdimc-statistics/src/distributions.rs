//! The tails that p values are.

use statrs::function::{erf::erfc, gamma::gamma_ur};
use std::f64::consts::SQRT_2;

/// The quantile of the standard normal distribution at 0.975: intervals are of 95 %.
pub(crate) const Z: f64 = 1.959_963_984_540_054;

/// P(X >= `statistic`) for X chi squared with so many degrees of freedom.
pub(crate) fn chi_squared_tail(statistic: f64, degrees: usize) -> f64 {
    if statistic <= 0.0 {
        return 1.0;
    }
    if statistic == f64::INFINITY {
        return 0.0;
    }
    gamma_ur(degrees as f64 / 2.0, statistic / 2.0)
}

/// P(|X| >= |`z`|) for X standard normal.
pub(crate) fn two_sided(z: f64) -> f64 {
    erfc(z.abs() / SQRT_2)
}
