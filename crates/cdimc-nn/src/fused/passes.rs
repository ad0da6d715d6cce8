//! The element-wise passes between the products, compiled for every instruction set and chosen at run time.

use crate::fused::product::Real;
use pulp::Arch;

/// y <- y + bias on every row, then `ReLU` where `relu`; NaN stays NaN.
pub(crate) fn add_bias<T: Real>(y: &mut [T], bias: &[T], relu: bool) {
    let zero = T::default();
    Arch::new().dispatch(|| {
        for row in y.chunks_exact_mut(bias.len()) {
            if relu {
                for (y, &bias) in row.iter_mut().zip(bias) {
                    let sum = *y + bias;
                    *y = if sum < zero { zero } else { sum };
                }
            } else {
                for (y, &bias) in row.iter_mut().zip(bias) {
                    *y += bias;
                }
            }
        }
    });
}

/// The gradient before `ReLU` from that behind it, in place, where `y` is its output; and its column sums.
pub(crate) fn unrelu<T: Real>(gradient: &mut [T], y: &[T], sums: &mut [T]) {
    let zero = T::default();
    Arch::new().dispatch(|| {
        sums.fill(zero);
        let width = sums.len();
        for (gradient, y) in gradient.chunks_exact_mut(width).zip(y.chunks_exact(width)) {
            for ((gradient, &y), sum) in gradient.iter_mut().zip(y).zip(sums.iter_mut()) {
                // Read before the comparison, or the loop is not turned into vectors.
                let behind = *gradient;
                let kept = if y > zero { behind } else { zero };
                *gradient = kept;
                *sum += kept;
            }
        }
    });
}

/// The column sums of a gradient.
pub(crate) fn column_sums<T: Real>(gradient: &[T], sums: &mut [T]) {
    Arch::new().dispatch(|| {
        sums.fill(T::default());
        for gradient in gradient.chunks_exact(sums.len()) {
            for (sum, &gradient) in sums.iter_mut().zip(gradient) {
                *sum += gradient;
            }
        }
    });
}

/// Returns `scale` times the sum of squares of `decoded` - `x`, and leaves its gradient in `decoded`.
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

/// Partial sums that a vector register holds.
const LANES: usize = 16;

/// theta <- theta - `rate` u.
pub(crate) fn descend<T: Real>(theta: &mut [T], u: &[T], rate: T) {
    Arch::new().dispatch(|| {
        for (theta, &u) in theta.iter_mut().zip(u) {
            *theta -= rate * u;
        }
    });
}

/// The settings of one step of Adam, bias corrections included.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AdamStep<T> {
    /// Learning rate / (1 - beta1^t).
    pub(crate) rate: T,
    /// 1 / sqrt(1 - beta2^t).
    pub(crate) root: T,
    pub(crate) beta1: T,
    pub(crate) beta2: T,
    pub(crate) epsilon: T,
}

/// One step of Adam on a gradient, both moments and the parameters in one pass.
pub(crate) fn adam<T: Real>(
    theta: &mut [T],
    mean: &mut [T],
    square: &mut [T],
    gradient: &[T],
    step: AdamStep<T>,
) {
    let AdamStep { rate, root, beta1, beta2, epsilon } = step;
    let (rest1, rest2) = (T::of(1.0) - beta1, T::of(1.0) - beta2);
    Arch::new().dispatch(|| {
        let parameters = theta.iter_mut().zip(mean).zip(square).zip(gradient);
        for (((theta, mean), square), &gradient) in parameters {
            *mean = beta1 * *mean + rest1 * gradient;
            *square = beta2 * *square + rest2 * gradient * gradient;
            *theta -= rate * *mean / (square.square_root() * root + epsilon);
        }
    });
}

/// `values` <- `factor` `values`.
pub(crate) fn scale<T: Real>(values: &mut [T], factor: T) {
    Arch::new().dispatch(|| {
        for value in values {
            *value *= factor;
        }
    });
}
