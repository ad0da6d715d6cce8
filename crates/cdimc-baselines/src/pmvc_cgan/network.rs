//! The networks of `PMVC_CGAN` on candle: an autoencoder whose inner layers both views share, two
//! discriminators, and Adam.

use candle_core::{
    CpuStorage, D, DType, Device, InplaceOp2, InplaceOp3, Layout, Result, Tensor, Var,
    backprop::GradStore,
};
use cdimc_data::Seed;
use pulp::Arch;
use rand::Rng;

/// A fully connected layer: weights `(n_in, n_out)` and biases `(1, n_out)`.
pub(super) struct Layer {
    weight: Var,
    bias: Option<Var>,
}

impl Layer {
    /// Weights and biases uniform in ±1/√`n_in` (PyTorch's default).
    fn new(n_in: usize, n_out: usize, bias: bool, rng: &mut impl Rng, at: &Device) -> Result<Self> {
        let bound = 1.0 / (n_in as f32).sqrt();
        let mut draw =
            |n: usize| (0..n).map(|_| rng.gen_range(-bound..bound)).collect::<Vec<f32>>();
        let weight = Var::from_vec(draw(n_in * n_out), (n_in, n_out), at)?;
        let bias = if bias { Some(Var::from_vec(draw(n_out), (1, n_out), at)?) } else { None };
        Ok(Self { weight, bias })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = x.matmul(&self.weight)?;
        match &self.bias {
            Some(bias) => y.add(&on_every_row(bias, x)?),
            None => Ok(y),
        }
    }

    /// The same map, through which no gradient reaches the weights.
    fn forward_fixed(&self, x: &Tensor) -> Result<Tensor> {
        let y = x.matmul(&self.weight.as_detached_tensor())?;
        match &self.bias {
            Some(bias) => y.add(&on_every_row(&bias.as_detached_tensor(), x)?),
            None => Ok(y),
        }
    }

    fn variables(&self) -> impl Iterator<Item = Var> + '_ {
        std::iter::once(self.weight.clone()).chain(self.bias.clone())
    }
}

/// The bias under itself, once for every row of `x`: as a product, because the gradient of a broadcast
/// is a sum over rows, which candle computes one strided entry after the other.
fn on_every_row(bias: &Tensor, x: &Tensor) -> Result<Tensor> {
    Tensor::ones((x.dim(0)?, 1), DType::F32, x.device())?.matmul(bias)
}

/// Encoders and decoders of two views: `m_v` → 500 (own, no bias) → 300 → 100 (shared), and back.
///
/// Rows of the first view and of the second go through the shared layers in one stack.
pub(super) struct Autoencoder {
    input: [Layer; 2],
    encoder: [Layer; 2],
    decoder: [Layer; 2],
    output: [Layer; 2],
}

impl Autoencoder {
    pub(super) fn new(
        features: [usize; 2],
        widths: [usize; 3],
        seed: Seed,
        at: &Device,
    ) -> Result<Self> {
        let [outer, inner, latent] = widths;
        let mut rng = seed.rng();
        let mut layer = |n_in, n_out, bias| Layer::new(n_in, n_out, bias, &mut rng, at);
        Ok(Self {
            input: [layer(features[0], outer, false)?, layer(features[1], outer, false)?],
            encoder: [layer(outer, inner, true)?, layer(inner, latent, true)?],
            decoder: [layer(latent, inner, true)?, layer(inner, outer, true)?],
            output: [layer(outer, features[0], true)?, layer(outer, features[1], true)?],
        })
    }

    /// The latents of rows `a` of the first view and under them those of rows `b` of the second.
    pub(super) fn encode(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let both = Tensor::cat(&[self.input[0].forward(a)?, self.input[1].forward(b)?], 0)?;
        self.shared_encoder(&both)
    }

    /// The latents of rows of one view.
    pub(super) fn encode_one(&self, x: &Tensor, view: usize) -> Result<Tensor> {
        self.shared_encoder(&self.input[view].forward(x)?)
    }

    fn shared_encoder(&self, x: &Tensor) -> Result<Tensor> {
        let x = self.encoder[0].forward(&x.relu()?)?.relu()?;
        self.encoder[1].forward(&x)?.relu()
    }

    /// What the decoders share.
    pub(super) fn decode(&self, latents: &Tensor) -> Result<Tensor> {
        let x = self.decoder[0].forward(latents)?.relu()?;
        self.decoder[1].forward(&x)?.relu()
    }

    /// Rows of `view` from what the decoders share, in (-1, 1).
    pub(super) fn output(&self, decoded: &Tensor, view: usize) -> Result<Tensor> {
        self.output[view].forward(decoded)?.tanh()
    }

    pub(super) fn variables(&self) -> Vec<Var> {
        let layers = [&self.input, &self.encoder, &self.decoder, &self.output];
        layers.into_iter().flatten().flat_map(Layer::variables).collect()
    }
}

/// Judges whether a row of one view is real: m → 64 → 1, leaky `ReLU` of slope 0.2, sigmoid.
pub(super) struct Discriminator(Layer, Layer);

impl Discriminator {
    pub(super) fn new(n_features: usize, seed: Seed, at: &Device) -> Result<Self> {
        let mut rng = seed.rng();
        let hidden = Layer::new(n_features, 64, true, &mut rng, at)?;
        Ok(Self(hidden, Layer::new(64, 1, true, &mut rng, at)?))
    }

    pub(super) fn judge(&self, x: &Tensor) -> Result<Tensor> {
        let hidden = candle_nn::ops::leaky_relu(&self.0.forward(x)?, 0.2)?;
        candle_nn::ops::sigmoid(&self.1.forward(&hidden)?)
    }

    /// The same verdict for a generator's step, which does not move the discriminator.
    pub(super) fn judge_fixed(&self, x: &Tensor) -> Result<Tensor> {
        let hidden = candle_nn::ops::leaky_relu(&self.0.forward_fixed(x)?, 0.2)?;
        candle_nn::ops::sigmoid(&self.1.forward_fixed(&hidden)?)
    }

    pub(super) fn variables(&self) -> Vec<Var> {
        self.0.variables().chain(self.1.variables()).collect()
    }
}

/// Mean squared difference over all entries.
pub(super) fn mean_square(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    x.sub(y)?.sqr()?.mean_all()
}

/// Mean absolute difference over all entries.
pub(super) fn mean_absolute(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    x.sub(y)?.abs()?.mean_all()
}

/// The least-squares adversarial loss: mean of (verdict - `target`)².
pub(super) fn least_squares(verdicts: &Tensor, target: f64) -> Result<Tensor> {
    verdicts.affine(1.0, -target)?.sqr()?.mean_all()
}

/// Student's t assignment: `q_ij` ∝ 1 / (1 + ‖`z_i` - `μ_j`‖²), rows of sum 1.
pub(super) fn soft_assignment(latents: &Tensor, centers: &Tensor) -> Result<Tensor> {
    let squares = latents.sqr()?.sum_keepdim(1)?;
    let lengths = centers.sqr()?.sum_keepdim(1)?.t()?;
    let products = latents.matmul(&centers.t()?)?.affine(-2.0, 1.0)?;
    let similarity = products.broadcast_add(&squares)?.broadcast_add(&lengths)?.recip()?;
    similarity.broadcast_div(&similarity.sum_keepdim(D::Minus1)?)
}

/// Adam without weight decay, for one network and one stage.
pub(super) struct Adam {
    learning_rate: f64,
    betas: (f64, f64),
    steps: i32,
    parameters: Vec<Parameter>,
}

struct Parameter {
    value: Var,
    mean: Tensor,
    square: Tensor,
}

/// Added to the root in Adam's denominator (PyTorch's default, as in the authors' code).
const EPSILON: f64 = 1e-8;

impl Adam {
    pub(super) fn new(variables: Vec<Var>, learning_rate: f64, betas: (f64, f64)) -> Result<Self> {
        let parameters = variables
            .into_iter()
            .map(|value| {
                // The moments are written in place, so each needs memory of its own.
                let zeros = || Tensor::zeros(value.shape(), DType::F32, value.device());
                Ok(Parameter { mean: zeros()?, square: zeros()?, value })
            })
            .collect::<Result<_>>()?;
        Ok(Self { learning_rate, betas, steps: 0, parameters })
    }

    /// One step along the gradient of `loss`; a parameter that it does not reach stays.
    pub(super) fn step(&mut self, loss: &Tensor) -> Result<()> {
        let gradients: GradStore = loss.backward()?;
        self.steps = self.steps.saturating_add(1);
        let (beta1, beta2) = self.betas;
        let scale = self.learning_rate / (1.0 - beta1.powi(self.steps));
        let root = (1.0 - beta2.powi(self.steps)).sqrt();
        for parameter in &mut self.parameters {
            let Some(gradient) = gradients.get(&parameter.value) else { continue };
            let gradient = gradient.detach().contiguous()?;
            if gradient.device().is_cpu() {
                let Parameter { value, mean, square } = parameter;
                mean.inplace_op2(&gradient, &Average { decay: beta1 as f32, squared: false })?;
                square.inplace_op2(&gradient, &Average { decay: beta2 as f32, squared: true })?;
                let step = Step { scale: scale as f32, root: root as f32 };
                value.as_tensor().inplace_op3(mean, square, &step)?;
            } else {
                let mean = ((&parameter.mean * beta1)? + (&gradient * (1.0 - beta1))?)?;
                let square = ((&parameter.square * beta2)? + (gradient.sqr()? * (1.0 - beta2))?)?;
                let denominator = square.sqrt()?.affine(1.0 / root, EPSILON)?;
                let step = (mean.div(&denominator)? * scale)?;
                parameter.value.set(&parameter.value.as_detached_tensor().sub(&step)?)?;
                (parameter.mean, parameter.square) = (mean, square);
            }
        }
        Ok(())
    }
}

/// x ← decay x + (1 - decay) g, or g² in its place.
struct Average {
    decay: f32,
    squared: bool,
}

impl InplaceOp2 for Average {
    fn name(&self) -> &'static str {
        "adam-average"
    }

    fn cpu_fwd(
        &self,
        average: &mut CpuStorage,
        at: &Layout,
        gradient: &CpuStorage,
        gradient_at: &Layout,
    ) -> Result<()> {
        let average = values_mut(average, at)?;
        let gradient = values(gradient, gradient_at)?;
        let (keep, take) = (self.decay, 1.0 - self.decay);
        Arch::new().dispatch(|| {
            if self.squared {
                average.iter_mut().zip(gradient).for_each(|(x, g)| *x = keep * *x + take * g * g);
            } else {
                average.iter_mut().zip(gradient).for_each(|(x, g)| *x = keep * *x + take * g);
            }
        });
        Ok(())
    }
}

/// θ ← θ - scale m / (√v / root + ε).
struct Step {
    scale: f32,
    root: f32,
}

impl InplaceOp3 for Step {
    fn name(&self) -> &'static str {
        "adam-step"
    }

    fn cpu_fwd(
        &self,
        value: &mut CpuStorage,
        at: &Layout,
        mean: &CpuStorage,
        mean_at: &Layout,
        square: &CpuStorage,
        square_at: &Layout,
    ) -> Result<()> {
        let value = values_mut(value, at)?;
        let moments = values(mean, mean_at)?.iter().zip(values(square, square_at)?);
        let epsilon = EPSILON as f32;
        Arch::new().dispatch(|| {
            for (x, (mean, square)) in value.iter_mut().zip(moments) {
                *x -= self.scale * mean / (square.sqrt() / self.root + epsilon);
            }
        });
        Ok(())
    }
}

fn values<'a>(storage: &'a CpuStorage, at: &Layout) -> Result<&'a [f32]> {
    let (start, end) = run(at)?;
    Ok(&storage.as_slice::<f32>()?[start..end])
}

fn values_mut<'a>(storage: &'a mut CpuStorage, at: &Layout) -> Result<&'a mut [f32]> {
    let (start, end) = run(at)?;
    match storage {
        CpuStorage::F32(values) => Ok(&mut values[start..end]),
        _ => Err(candle_core::Error::Msg("parameters are 32-bit floats".to_owned())),
    }
}

fn run(at: &Layout) -> Result<(usize, usize)> {
    let strided = || candle_core::Error::Msg("parameters lie in one run of memory".to_owned());
    at.contiguous_offsets().ok_or_else(strided)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adam_takes_the_steps_of_its_definition() {
        let start = [1.0_f32, -2.0, 0.5];
        let x = Var::new(&start, &Device::Cpu).unwrap();
        let mut adam = Adam::new(vec![x.clone()], 0.1, (0.5, 0.999)).unwrap();
        let (mut expected, mut mean, mut square) = (start.map(f64::from), [0.0; 3], [0.0; 3]);
        for t in 1..=4 {
            // The gradient of Σx³ is 3x².
            adam.step(&x.powf(3.0).unwrap().sum_all().unwrap()).unwrap();
            for i in 0..3 {
                let g = 3.0 * expected[i] * expected[i];
                mean[i] = 0.5 * mean[i] + 0.5 * g;
                square[i] = 0.999 * square[i] + 0.001 * g * g;
                let (m, v) =
                    (mean[i] / (1.0 - 0.5_f64.powi(t)), square[i] / (1.0 - 0.999_f64.powi(t)));
                expected[i] -= 0.1 * m / (v.sqrt() + 1e-8);
            }
        }
        for (found, expected) in x.to_vec1::<f32>().unwrap().iter().zip(expected) {
            assert!((f64::from(*found) - expected).abs() < 1e-5, "{found} {expected}");
        }
    }

    #[test]
    fn soft_assignments_are_those_of_student() {
        let z = Tensor::new(&[[0.0_f32, 0.0], [1.0, 0.0]], &Device::Cpu).unwrap();
        let centers = Tensor::new(&[[0.0_f32, 0.0], [0.0, 1.0]], &Device::Cpu).unwrap();
        let q = soft_assignment(&z, &centers).unwrap().to_vec2::<f32>().unwrap();
        // Squared distances 0, 1 and 1, 2.
        for (found, expected) in q.concat().iter().zip([2.0 / 3.0, 1.0 / 3.0, 0.6, 0.4]) {
            assert!((found - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn a_generator_step_leaves_the_discriminator_without_gradient() {
        let judge = Discriminator::new(3, Seed::new(1), &Device::Cpu).unwrap();
        let x = Var::new(&[[0.1_f32, 0.2, 0.3]], &Device::Cpu).unwrap();
        let loss = least_squares(&judge.judge_fixed(&x).unwrap(), 1.0).unwrap();
        let gradients = loss.backward().unwrap();
        assert!(gradients.get(&x).is_some());
        assert!(judge.variables().iter().all(|variable| gradients.get(variable).is_none()));
        let same = judge.judge(&x).unwrap().to_vec2::<f32>().unwrap();
        assert_eq!(same, judge.judge_fixed(&x).unwrap().to_vec2::<f32>().unwrap());
    }
}
