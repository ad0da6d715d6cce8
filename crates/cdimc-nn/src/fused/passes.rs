//! Element-wise passes, compiled for every instruction set and selected at run time.

use crate::real::Real;
use pulp::Arch;

/// y <- y + bias on every row, then `ReLU` if `relu`; NaN stays NaN.
pub(crate) fn add_bias<T: Real>(y: &mut [T], bias: &[T], relu: bool) {
    let least = if relu { T::default() } else { T::of(f64::NEG_INFINITY) };
    Arch::new().dispatch(|| {
        for row in y.chunks_exact_mut(bias.len()) {
            for (y, &bias) in row.iter_mut().zip(bias) {
                let sum = *y + bias;
                *y = if sum < least { least } else { sum };
            }
        }
    });
}

/// Computes the gradient of a `ReLU`'s input from the gradient of its output `y`, in place.
pub(crate) fn relu_gradient<T: Real>(gradient: &mut [T], y: &[T]) {
    let zero = T::default();
    Arch::new().dispatch(|| {
        for (gradient, &y) in gradient.iter_mut().zip(y) {
            // Read before the comparison, so that the loop is vectorized.
            let of_output = *gradient;
            *gradient = if y > zero { of_output } else { zero };
        }
    });
}

pub(crate) fn column_sums<T: Real>(rows: &[T], sums: &mut [T]) {
    Arch::new().dispatch(|| {
        sums.fill(T::default());
        for row in rows.chunks_exact(sums.len()) {
            for (sum, &x) in sums.iter_mut().zip(row) {
                *sum += x;
            }
        }
    });
}

/// Returns `scale` times the sum of squares of `decoded` - `x` and replaces `decoded` by its gradient.
pub(crate) fn reconstruction<T: Real>(decoded: &mut [T], x: &[T], width: usize, scale: f64) -> f64 {
    let slope = T::of(2.0 * scale);
    let mut sum = 0.0;
    Arch::new().dispatch(|| {
        for (decoded, x) in decoded.chunks_exact_mut(width).zip(x.chunks_exact(width)) {
            let mut lanes = [T::default(); LANES];
            let (chunks, rest) = decoded.as_chunks_mut::<LANES>();
            let (x_chunks, x_rest) = x.as_chunks::<LANES>();
            for (decoded, x) in chunks.iter_mut().zip(x_chunks) {
                for i in 0..LANES {
                    let difference = decoded[i] - x[i];
                    lanes[i] += difference * difference;
                    decoded[i] = slope * difference;
                }
            }
            for ((decoded, &x), lane) in rest.iter_mut().zip(x_rest).zip(&mut lanes) {
                let difference = *decoded - x;
                *lane += difference * difference;
                *decoded = slope * difference;
            }
            sum += lanes.iter().map(|lane| lane.as_f64()).sum::<f64>();
        }
    });
    sum * scale
}

/// Number of parallel sums, one per lane of a vector register.
const LANES: usize = 16;
