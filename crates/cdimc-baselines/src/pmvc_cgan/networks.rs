//! What the stages of `PMVC_CGAN` ask of its networks, the weights these start from, and their optimiser.

use super::candle::Candle;
use super::fused::Fused;
use cdimc_data::Seed;
use cdimc_nn::{Device, NnError};
use rand::Rng;

/// An autoencoder of two views whose inner layers both share, a discriminator for each view, and the
/// centers of clusters, in training.
///
/// Rows of a view, `(n, m_v)`, come one after the other in a slice. A step returns its loss as it was before.
pub(super) trait Networks {
    /// Starts the optimisers of a stage, and with them the centers `(k, latent)`; none before stage 3.
    fn start(&mut self, centers: &[f32]) -> Result<(), NnError>;

    /// A step of stage 1 on paired rows: both views from either latent.
    fn reconstruct(&mut self, rows: [&[f32]; 2]) -> Result<f64, NnError>;

    /// A step of stage 2, of the autoencoder against the discriminators and then of these.
    fn compete(&mut self, rows: [&[f32]; 2]) -> Result<f64, NnError>;

    /// A step of stage 3 towards the assignments `target`, `(n, k)`; also returns those before the step.
    fn sharpen(&mut self, rows: [&[f32]; 2], target: &[f32]) -> Result<(f64, Vec<f32>), NnError>;

    /// The mean of the latents of both views, `(n, latent)`.
    fn common(&self, rows: [&[f32]; 2]) -> Result<Vec<f32>, NnError>;

    /// The rows of the other view made from those of `view`.
    fn translate(&self, rows: &[f32], view: usize) -> Result<Vec<f32>, NnError>;

    /// Adam's means of gradients, layer by layer, weights before biases.
    #[cfg(test)]
    fn means(&self) -> Vec<Vec<f32>>;
}

/// The networks on a device: written out for the CPU, in candle's tensors elsewhere.
pub(super) fn networks(
    device: Device,
    weights: &Weights,
    adam: Adam,
) -> Result<Box<dyn Networks>, NnError> {
    let refused = |reason: String| NnError::Device { device: device.to_string(), reason };
    match device {
        Device::Cpu => Ok(Box::new(Fused::new(weights, adam))),
        Device::Cuda if candle_core::utils::cuda_is_available() => {
            let place =
                candle_core::Device::new_cuda(0).map_err(|error| refused(error.to_string()))?;
            Ok(Box::new(Candle::new(weights, adam, place)?))
        }
        Device::Cuda => Err(refused("this build has no CUDA; build with the feature cuda".into())),
    }
}

/// Adam without weight decay.
#[derive(Debug, Clone, Copy)]
pub(super) struct Adam {
    pub(super) learning_rate: f64,
    pub(super) beta1: f64,
    pub(super) beta2: f64,
}

impl Adam {
    /// Added to the root in the denominator (PyTorch's default, as in the authors' code).
    pub(super) const EPSILON: f64 = 1e-8;

    /// What corrects the moments of step `t`, from 1 on, for their start at 0: rate / (1 - β₁ᵗ) and √(1 - β₂ᵗ).
    pub(super) fn corrections(self, t: i32) -> (f64, f64) {
        (self.learning_rate / (1.0 - self.beta1.powi(t)), (1.0 - self.beta2.powi(t)).sqrt())
    }
}

/// Weights `(n_in, n_out)` and biases `(n_out)` of a layer; a layer may be without biases.
pub(super) struct Affine {
    pub(super) n_in: usize,
    pub(super) n_out: usize,
    pub(super) weight: Vec<f32>,
    pub(super) bias: Vec<f32>,
}

impl Affine {
    /// Weights and biases uniform in ±1/√`n_in` (PyTorch's default).
    fn draw(n_in: usize, n_out: usize, bias: bool, rng: &mut impl Rng) -> Self {
        let bound = 1.0 / (n_in as f32).sqrt();
        let mut draw = |n: usize| (0..n).map(|_| rng.gen_range(-bound..bound)).collect();
        Self { n_in, n_out, weight: draw(n_in * n_out), bias: draw(usize::from(bias) * n_out) }
    }
}

/// The layers of all networks before training.
pub(super) struct Weights {
    /// `m_v` → 500, one a view, without biases.
    pub(super) input: [Affine; 2],
    /// 500 → 300 → 100 → 300 → 500, for both views.
    pub(super) shared: [Affine; 4],
    /// 500 → `m_v`, one a view.
    pub(super) output: [Affine; 2],
    /// `m_v` → 64 → 1, one a view.
    pub(super) judges: [[Affine; 2]; 2],
}

impl Weights {
    pub(super) fn draw(features: [usize; 2], widths: [usize; 3], seed: Seed) -> Self {
        let [outer, inner, latent] = widths;
        let mut rng = seed.stream("weights").rng();
        let mut layer = |n_in, n_out, bias| Affine::draw(n_in, n_out, bias, &mut rng);
        let input = features.map(|m| layer(m, outer, false));
        let ends = [(outer, inner), (inner, latent), (latent, inner), (inner, outer)];
        let shared = ends.map(|(n_in, n_out)| layer(n_in, n_out, true));
        let output = features.map(|m| layer(outer, m, true));
        let judges = [0, 1].map(|v| {
            let mut rng = seed.stream("discriminator").nth(v as u64).rng();
            [(features[v], 64), (64, 1)]
                .map(|(n_in, n_out)| Affine::draw(n_in, n_out, true, &mut rng))
        });
        Self { input, shared, output, judges }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEATURES: [usize; 2] = [7, 20];
    const N_CLUSTERS: usize = 3;

    fn draw(n: usize, rng: &mut impl Rng) -> Vec<f32> {
        (0..n).map(|_| rng.gen_range(0.0..1.0)).collect()
    }

    /// Equal but for rounding of the largest entry, or of the numbers around 1 that it is the difference of.
    #[track_caller]
    fn assert_close(what: &str, found: &[f32], expected: &[f32]) {
        assert_eq!(found.len(), expected.len(), "{what}");
        let largest = expected.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
        for (i, (a, b)) in found.iter().zip(expected).enumerate() {
            assert!((a - b).abs() <= 2e-5 * largest + 1e-7, "{what} {i}: {a} and {b} of {largest}");
        }
    }

    /// Takes steps on both and compares losses, assignments, read-outs and, by Adam's means, all gradients.
    fn assert_same_steps(n: usize, stage: &str) {
        let mut rng = Seed::new(n as u64).stream(stage).rng();
        let weights = Weights::draw(FEATURES, [18, 9, 6], Seed::new(5));
        let adam = Adam { learning_rate: 1e-3, beta1: 0.5, beta2: 0.999 };
        let mut fused = Fused::new(&weights, adam);
        let mut candle = Candle::new(&weights, adam, candle_core::Device::Cpu).unwrap();
        let both: [&mut dyn Networks; 2] = [&mut fused, &mut candle];
        let x = FEATURES.map(|m| draw(n * m, &mut rng));
        let x = x.each_ref().map(|x| &x[..]);
        let centers = if stage == "sharpen" { draw(N_CLUSTERS * 6, &mut rng) } else { Vec::new() };
        let target = super::super::student::sharpened(&draw(n * N_CLUSTERS, &mut rng), N_CLUSTERS);
        let steps = both.map(|networks| {
            networks.start(&centers).unwrap();
            let steps = [(); 3].map(|()| {
                let (loss, q) = match stage {
                    "reconstruct" => (networks.reconstruct(x).unwrap(), Vec::new()),
                    "compete" => (networks.compete(x).unwrap(), Vec::new()),
                    _ => networks.sharpen(x, &target).unwrap(),
                };
                (loss as f32, q, networks.means())
            });
            let made = [0, 1].map(|v| networks.translate(x[v], v).unwrap());
            (steps, made, networks.common(x).unwrap())
        });
        let [(found, found_made, found_common), (expected, expected_made, expected_common)] = steps;
        for (t, (found, expected)) in found.into_iter().zip(expected).enumerate() {
            let what = format!("{stage}, {n} rows, step {t}");
            assert_close(&what, &[found.0], &[expected.0]);
            assert_close(&what, &found.1, &expected.1);
            assert_eq!(found.2.len(), expected.2.len());
            for (layer, (found, expected)) in found.2.iter().zip(&expected.2).enumerate() {
                assert_close(&format!("{what}, parameter {layer}"), found, expected);
            }
        }
        for (found, expected) in found_made.iter().zip(&expected_made) {
            assert_close(stage, found, expected);
        }
        assert_close(stage, &found_common, &expected_common);
    }

    #[test]
    fn written_out_gradients_are_those_of_automatic_differentiation() {
        for stage in ["reconstruct", "compete", "sharpen"] {
            [1, 5, 32].into_iter().for_each(|n| assert_same_steps(n, stage));
        }
    }
}
