//! Element-wise passes, compiled for every instruction set and selected at run time.

use pulp::Arch;

/// x ← x up / max(down, `floor`), the multiplicative step of a least-squares factorization.
pub(crate) fn multiply(x: &mut [f64], up: &[f64], down: &[f64], floor: f64) {
    Arch::new().dispatch(|| {
        for ((x, up), down) in x.iter_mut().zip(up).zip(down) {
            *x *= up / down.max(floor);
        }
    });
}

/// x ← x √(up / max(down, `floor`)), the damped multiplicative step.
pub(crate) fn multiply_by_root(x: &mut [f64], up: &[f64], down: &[f64], floor: f64) {
    Arch::new().dispatch(|| {
        for ((x, up), down) in x.iter_mut().zip(up).zip(down) {
            *x *= (up / down.max(floor)).sqrt();
        }
    });
}

/// `steps` ← `factor` x / max(‖x‖, `floor`) row by row: the gradient of the sum of row norms.
pub(crate) fn norm_gradient(x: &[f64], width: usize, factor: f64, floor: f64, steps: &mut [f64]) {
    Arch::new().dispatch(|| {
        for (x, steps) in x.chunks_exact(width).zip(steps.chunks_exact_mut(width)) {
            let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
            let shrink = factor / norm.max(floor);
            for (step, x) in steps.iter_mut().zip(x) {
                *step = shrink * x;
            }
        }
    });
}

/// Returns the sum of `x`, from eight partial sums.
pub(crate) fn sum(x: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (whole, rest) = x.as_chunks::<LANES>();
    Arch::new().dispatch(|| {
        for x in whole {
            for (sum, x) in sums.iter_mut().zip(x) {
                *sum += x;
            }
        }
    });
    sums.iter().chain(rest).sum()
}
