//! Element-wise passes in 32-bit floats, compiled for every instruction set and chosen at run time.

use super::networks::Adam;
use pulp::Arch;

/// What follows a layer's product.
#[derive(Debug, Clone, Copy)]
pub(super) enum Activation {
    Relu,
    LeakyRelu,
    Tanh,
    Sigmoid,
}

/// Sums side by side, as many as a vector register holds.
const LANES: usize = 16;

/// Slope of the leaky `ReLU` below 0 (authors' code).
const LEAK: f32 = 0.2;

impl Activation {
    /// y ← f(y + bias) on every row; no bias is one of 0.
    pub(super) fn apply(self, y: &mut [f32], bias: &[f32]) {
        match self {
            Self::Relu => on_rows(y, bias, |x| if x < 0.0 { 0.0 } else { x }),
            Self::LeakyRelu => on_rows(y, bias, |x| if x < 0.0 { LEAK * x } else { x }),
            Self::Tanh => on_rows(y, bias, |x| 1.0 - 2.0 / (exp(2.0 * x) + 1.0)),
            Self::Sigmoid => on_rows(y, bias, |x| 1.0 / (exp(-x) + 1.0)),
        }
    }

    /// The gradient before the activation from that behind it, in place, where `y` is what it gave.
    pub(super) fn undo(self, gradient: &mut [f32], y: &[f32]) {
        match self {
            Self::Relu => on_pairs(gradient, y, |g, y| if y > 0.0 { g } else { 0.0 }),
            Self::LeakyRelu => on_pairs(gradient, y, |g, y| if y > 0.0 { g } else { LEAK * g }),
            Self::Tanh => on_pairs(gradient, y, |g, y| g * (1.0 - y * y)),
            Self::Sigmoid => on_pairs(gradient, y, |g, y| g * y * (1.0 - y)),
        }
    }
}

// A pass is compiled for an instruction set only where its closure is inlined into the dispatch. Large ones ask
// for that, and take their slice over: a closure that only borrows is called through a function of its own.

fn on_rows(y: &mut [f32], bias: &[f32], f: impl Fn(f32) -> f32) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let y = y;
            if bias.is_empty() {
                y.iter_mut().for_each(|y| *y = f(*y));
            } else {
                for row in y.chunks_exact_mut(bias.len()) {
                    row.iter_mut().zip(bias).for_each(|(y, bias)| *y = f(*y + bias));
                }
            }
        },
    );
}

fn on_pairs(x: &mut [f32], y: &[f32], f: impl Fn(f32, f32) -> f32) {
    Arch::new().dispatch(|| x.iter_mut().zip(y).for_each(|(x, &y)| *x = f(*x, y)));
}

/// eˣ to within three units in the last place, without a call or a branch, so that loops over it turn into vectors.
#[inline(always)]
fn exp(x: f32) -> f32 {
    // Adding it rounds to whole numbers, which then stand in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 = LN_2_HIGH + LN_2_LOW; the former has few bits, so that its products are exact.
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let x = if x > 88.0 { 88.0 } else { x };
    let x = if x < -87.0 { -87.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = x - n * LN_2_HIGH - n * LN_2_LOW;
    // Taylor's polynomial: |r| is at most ln 2 / 2.
    let p = 1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0));
    let p = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * p))));
    p * f32::from_bits((shifted.to_bits() << 23).wrapping_add(1.0_f32.to_bits()))
}

/// Returns `scale` Σ (y - x)² and writes its gradient with respect to y.
pub(super) fn squares(y: &[f32], x: &[f32], scale: f32, gradient: &mut [f32]) -> f64 {
    let sum = differences(y, x, gradient, |d| (d * d, 2.0 * scale * d));
    f64::from(scale) * sum
}

/// Returns `scale` Σ |y - x| and writes its gradient with respect to y.
pub(super) fn absolutes(y: &[f32], x: &[f32], scale: f32, gradient: &mut [f32]) -> f64 {
    let slope = |d: f32| if d > 0.0 { scale } else { -scale };
    let sum = differences(y, x, gradient, |d| (d.abs(), if d == 0.0 { 0.0 } else { slope(d) }));
    f64::from(scale) * sum
}

/// The sum of the first of f(y - x); the second goes to `out`.
fn differences(y: &[f32], x: &[f32], out: &mut [f32], f: impl Fn(f32) -> (f32, f32)) -> f64 {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let out = out;
            let mut lanes = [0.0; LANES];
            let (ys, rest_of_y) = y.as_chunks::<LANES>();
            let (xs, rest_of_x) = x.as_chunks::<LANES>();
            let (outs, rest_of_out) = out.as_chunks_mut::<LANES>();
            for ((y, x), out) in ys.iter().zip(xs).zip(outs) {
                for i in 0..LANES {
                    let (value, slope) = f(y[i] - x[i]);
                    lanes[i] += value;
                    out[i] = slope;
                }
            }
            let rest = rest_of_y.iter().zip(rest_of_x).zip(rest_of_out);
            for (((y, x), out), lane) in rest.zip(&mut lanes) {
                let (value, slope) = f(y - x);
                *lane += value;
                *out = slope;
            }
            lanes.iter().map(|&lane| f64::from(lane)).sum()
        },
    )
}

/// ‖z - center‖².
pub(super) fn squared_distance(z: &[f32], center: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    let (zs, rest_of_z) = z.as_chunks::<LANES>();
    let (centers, rest_of_center) = center.as_chunks::<LANES>();
    for (z, center) in zs.iter().zip(centers) {
        for i in 0..LANES {
            lanes[i] += (z[i] - center[i]) * (z[i] - center[i]);
        }
    }
    for ((z, center), lane) in rest_of_z.iter().zip(rest_of_center).zip(&mut lanes) {
        *lane += (z - center) * (z - center);
    }
    lanes.iter().sum()
}

/// Adds `slope` (z - center) to the gradient by z and takes it from that by the center.
pub(super) fn pull(z: &[f32], center: &[f32], slope: f32, by_z: &mut [f32], by_center: &mut [f32]) {
    Arch::new().dispatch(|| {
        let gradients = by_z.iter_mut().zip(by_center);
        for ((by_z, by_center), (z, center)) in gradients.zip(z.iter().zip(center)) {
            let pull = slope * (z - center);
            *by_z += pull;
            *by_center -= pull;
        }
    });
}

/// Adds `rows` to `sums`.
pub(super) fn add_rows(sums: &mut [f32], rows: &[f32]) {
    Arch::new().dispatch(|| {
        for row in rows.chunks_exact(sums.len()) {
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        }
    });
}

/// One step of Adam, bias corrections included.
#[derive(Debug, Clone, Copy)]
pub(super) struct AdamStep {
    rate: f32,
    /// 1 / √(1 - β₂ᵗ).
    root: f32,
    beta1: f32,
    beta2: f32,
}

impl AdamStep {
    pub(super) fn new(adam: Adam, t: i32) -> Self {
        let (rate, root) = adam.corrections(t);
        Self {
            rate: rate as f32,
            root: (1.0 / root) as f32,
            beta1: adam.beta1 as f32,
            beta2: adam.beta2 as f32,
        }
    }

    /// Both moments and the parameters in one pass.
    pub(super) fn take(
        self,
        theta: &mut [f32],
        mean: &mut [f32],
        square: &mut [f32],
        gradient: &[f32],
    ) {
        let Self { rate, root, beta1, beta2 } = self;
        let epsilon = Adam::EPSILON as f32;
        Arch::new().dispatch(|| {
            let parameters = theta.iter_mut().zip(mean).zip(square).zip(gradient);
            for (((theta, mean), square), &gradient) in parameters {
                *mean = beta1 * *mean + (1.0 - beta1) * gradient;
                *square = beta2 * *square + (1.0 - beta2) * gradient * gradient;
                *theta -= rate * *mean / (square.sqrt() * root + epsilon);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activations_are_their_functions_and_slopes() {
        let xs: Vec<f32> = (-4000..=4000).map(|i| i as f32 * 0.005).collect();
        let all = [Activation::Relu, Activation::LeakyRelu, Activation::Tanh, Activation::Sigmoid];
        for activation in all {
            let f = |x: f64| match activation {
                Activation::Relu => x.max(0.0),
                Activation::LeakyRelu => x.max(0.2 * x),
                Activation::Tanh => x.tanh(),
                Activation::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            };
            let mut y = xs.clone();
            activation.apply(&mut y, &[]);
            let mut slopes = vec![1.0; y.len()];
            activation.undo(&mut slopes, &y);
            for ((&x, y), slope) in xs.iter().zip(y).zip(slopes).filter(|((x, _), _)| **x != 0.0) {
                let x = f64::from(x);
                assert!((f64::from(y) - f(x)).abs() < 3e-7 * (1.0 + x.abs()), "{activation:?} {x}");
                let expected = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6;
                assert!((f64::from(slope) - expected).abs() < 1e-6, "{activation:?}' {x}");
            }
        }
    }

    #[test]
    fn exponentials_are_exact_to_rounding_and_never_infinite() {
        for i in -870..=880 {
            let x = i as f32 * 0.1;
            let expected = f64::from(x).exp();
            assert!((f64::from(exp(x)) / expected - 1.0).abs() < 3e-7, "{x}");
        }
        assert!(exp(1e30).is_finite() && exp(-1e30) > 0.0 && exp(f32::NAN).is_nan());
    }

    #[test]
    fn losses_sum_over_entries_and_give_their_slopes() {
        let y: Vec<f32> = (0..37).map(|i| i as f32).collect();
        let x = [18.0; 37];
        let mut gradient = [9.0; 37];
        assert_eq!(squares(&y, &x, 0.5, &mut gradient), 0.5 * 2.0 * 2109.0);
        assert_eq!((gradient[0], gradient[18], gradient[36]), (-18.0, 0.0, 18.0));
        assert_eq!(absolutes(&y, &x, 0.5, &mut gradient), 0.5 * 342.0);
        assert_eq!((gradient[0], gradient[18], gradient[36]), (-0.5, 0.0, 0.5));
    }

    #[test]
    fn adam_takes_the_steps_of_its_definition() {
        let adam = Adam { learning_rate: 0.1, beta1: 0.5, beta2: 0.999 };
        let mut theta = [1.0_f32, -2.0, 0.5];
        let (mut mean, mut square) = ([0.0; 3], [0.0; 3]);
        let (mut expected, mut m, mut v) = (theta.map(f64::from), [0.0; 3], [0.0; 3]);
        for t in 1..=4 {
            // The gradient of Σx³ is 3x².
            let gradient = theta.map(|x| 3.0 * x * x);
            AdamStep::new(adam, t).take(&mut theta, &mut mean, &mut square, &gradient);
            for i in 0..3 {
                let g = 3.0 * expected[i] * expected[i];
                m[i] = 0.5 * m[i] + 0.5 * g;
                v[i] = 0.999 * v[i] + 0.001 * g * g;
                let (m, v) = (m[i] / (1.0 - 0.5_f64.powi(t)), v[i] / (1.0 - 0.999_f64.powi(t)));
                expected[i] -= 0.1 * m / (v.sqrt() + 1e-8);
            }
        }
        for (found, expected) in theta.iter().zip(expected) {
            assert!((f64::from(*found) - expected).abs() < 1e-5, "{found} {expected}");
        }
    }
}
