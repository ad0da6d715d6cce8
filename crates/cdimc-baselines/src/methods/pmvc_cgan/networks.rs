//! The networks of `PMVC_CGAN`: an autoencoder of two views with shared inner layers, a discriminator for each view, and
//! Student's t assignments of latents to centers.

use super::PmvcCgan;
use candle_core::{Device, Result, Tensor, backprop::GradStore};
use candle_nn::{loss::mse, ops};
use cdimc_data::Seed;
use cdimc_nn::autodiff::{Layer, Parameter, relu};
use cdimc_nn::{Dense, Optimizer};
use ndarray::{Array1, Array2};
use rand::Rng;

/// Width of the hidden layer of a discriminator (authors' code).
const DISCRIMINATOR_WIDTH: usize = 64;

/// Slope of its leaky `ReLU` below 0 (authors' code).
const LEAK: f64 = 0.2;

/// Networks and their optimizer. Rows of a view are tensors `(n, m_v)`; a step returns the loss before it.
pub(super) struct Networks {
    autoencoder: Autoencoder,
    /// Of each view: its hidden and its output layer.
    discriminators: [[Layer; 2]; 2],
    optimizer: Optimizer,
    /// Number of steps in the current stage.
    steps: u64,
}

impl Networks {
    /// Returns networks for views of `n_features`, with weights drawn from the seed.
    pub(super) fn new(
        n_features: [usize; 2],
        settings: &PmvcCgan,
        seed: Seed,
        device: &Device,
    ) -> Result<Self> {
        let [outer, inner, latent] = settings.widths;
        let mut rng = seed.stream("weights").rng();
        let [first, second] = n_features.map(|m| draw_weight(m, outer, &mut rng));
        let input = [Layer::linear(first.view(), device)?, Layer::linear(second.view(), device)?];
        let mut layers = |widths: [(usize, usize); 2]| -> Result<[Layer; 2]> {
            let [first, second] = widths.map(|(n_in, n_out)| draw(n_in, n_out, &mut rng, device));
            Ok([first?, second?])
        };
        let autoencoder = Autoencoder {
            input,
            encoder: layers([(outer, inner), (inner, latent)])?,
            decoder: layers([(latent, inner), (inner, outer)])?,
            output: layers(n_features.map(|m| (outer, m)))?,
        };
        let discriminator = |view: usize| -> Result<[Layer; 2]> {
            let mut rng = seed.stream("discriminator").nth(view as u64).rng();
            let hidden = draw(n_features[view], DISCRIMINATOR_WIDTH, &mut rng, device)?;
            Ok([hidden, draw(DISCRIMINATOR_WIDTH, 1, &mut rng, device)?])
        };
        Ok(Self {
            autoencoder,
            discriminators: [discriminator(0)?, discriminator(1)?],
            optimizer: Optimizer::Adam {
                learning_rate: settings.learning_rate,
                beta1: settings.beta1,
                beta2: settings.beta2,
            },
            steps: 0,
        })
    }

    /// Starts a stage: resets moments and keeps weights. Cluster centers are trained in the last stage.
    pub(super) fn start(&mut self, centers: Option<&mut Parameter>) -> Result<()> {
        self.steps = 0;
        let discriminators = self.discriminators.iter_mut().flatten();
        let discriminators = discriminators.flat_map(Layer::parameters_mut);
        let mut parameters = self.autoencoder.parameters_mut().chain(discriminators).chain(centers);
        parameters.try_for_each(|parameter| parameter.start(self.optimizer))
    }

    /// Takes a step of stage 1 on paired rows: both views from either latent.
    pub(super) fn autoencoder_step(&mut self, [a, b]: &[Tensor; 2]) -> Result<f64> {
        let decoded = self.autoencoder.decode(&self.autoencoder.encode([a, b])?)?;
        // The mean over both latents is half the sum of the two reconstructions of a view.
        let twice = |x: &Tensor| Tensor::cat(&[x, x], 0);
        let of_a = mse(&self.autoencoder.output(&decoded, 0)?, &twice(a)?)?;
        let of_b = mse(&self.autoencoder.output(&decoded, 1)?, &twice(b)?)?;
        let loss = ((of_a + of_b)? * 2.0)?;
        self.steps += 1;
        self.step_autoencoder(&loss.backward()?)?;
        value(&loss)
    }

    /// Takes a step of stage 2: of the autoencoder, which generates rows of each view from the other, then of the
    /// discriminators. Returns the generator loss.
    pub(super) fn adversarial_step(&mut self, [a, b]: &[Tensor; 2]) -> Result<f64> {
        let Self { autoencoder, discriminators, .. } = self;
        let decoded = autoencoder.decode(&autoencoder.encode([a, b])?)?;
        let [a_from_a, a_from_b] = halves(&autoencoder.output(&decoded, 0)?)?;
        let [b_from_a, b_from_b] = halves(&autoencoder.output(&decoded, 1)?)?;
        // Cycle: rows of the second view from generated rows of the first, and the reverse.
        let generated = autoencoder.encode([&a_from_b, &b_from_a])?;
        let [decoded_from_a, decoded_from_b] = halves(&autoencoder.decode(&generated)?)?;
        let cycles = [
            mean_absolute(&autoencoder.output(&decoded_from_b, 0)?, a)?,
            mean_absolute(&autoencoder.output(&decoded_from_a, 1)?, b)?,
        ];
        let reconstructions = [mse(&a_from_a, a)?, mse(&b_from_b, b)?];
        let adversarial = [
            least_squares(&scores(&discriminators[0], &a_from_b)?, 1.0)?,
            least_squares(&scores(&discriminators[1], &b_from_a)?, 1.0)?,
        ];
        let losses = [adversarial, reconstructions, cycles].concat();
        let loss = Tensor::stack(&losses, 0)?.sum_all()?;
        self.steps += 1;
        self.step_autoencoder(&loss.backward()?)?;
        let Self { discriminators, optimizer, steps, .. } = self;
        for (discriminator, (real, generated)) in
            discriminators.iter_mut().zip([(a, a_from_b), (b, b_from_a)])
        {
            let of_real = least_squares(&scores(discriminator, real)?, 1.0)?;
            let of_generated = least_squares(&scores(discriminator, &generated.detach())?, 0.0)?;
            let gradients = ((of_real + of_generated)? * 0.5)?.backward()?;
            for parameter in discriminator.iter_mut().flat_map(Layer::parameters_mut) {
                parameter.step(*optimizer, *steps, &gradients)?;
            }
        }
        value(&loss)
    }

    /// Takes a step of stage 3 towards the assignments `target`, `(n, k)`; also returns the assignments before the
    /// step.
    pub(super) fn clustering_step(
        &mut self,
        [a, b]: &[Tensor; 2],
        centers: &mut Parameter,
        target: &Tensor,
    ) -> Result<(f64, Tensor)> {
        let autoencoder = &self.autoencoder;
        let latents = autoencoder.encode([a, b])?;
        let q = soft_assignment(&mean_of_halves(&latents)?, centers.value())?;
        let [from_a, from_b] = halves(&autoencoder.decode(&latents)?)?;
        let of_a = mse(&autoencoder.output(&from_a, 0)?, a)?;
        let of_b = mse(&autoencoder.output(&from_b, 1)?, b)?;
        let loss = ((divergence(&q, target)? + of_a)? + of_b)?;
        let gradients = loss.backward()?;
        self.steps += 1;
        self.step_autoencoder(&gradients)?;
        centers.step(self.optimizer, self.steps, &gradients)?;
        Ok((value(&loss)?, q.detach()))
    }

    /// Returns the means of the latents of both views, `(n, latent)`.
    pub(super) fn common_latents(&self, [a, b]: &[Tensor; 2]) -> Result<Tensor> {
        Ok(mean_of_halves(&self.autoencoder.encode([a, b])?)?.detach())
    }

    /// Generates the rows of the other view from the rows of `view`.
    pub(super) fn generate(&self, rows: &Tensor, view: usize) -> Result<Tensor> {
        let autoencoder = &self.autoencoder;
        let latents = autoencoder.shared_encoder(&autoencoder.input[view].forward(rows)?)?;
        Ok(autoencoder.output(&autoencoder.decode(&latents)?, 1 - view)?.detach())
    }

    fn step_autoencoder(&mut self, gradients: &GradStore) -> Result<()> {
        let Self { optimizer, steps, .. } = *self;
        let mut parameters = self.autoencoder.parameters_mut();
        parameters.try_for_each(|parameter| parameter.step(optimizer, steps, gradients))
    }
}

/// Encoders and decoders of two views: `m_v` → 500 (own) → 300 → 100 (shared), and back.
struct Autoencoder {
    input: [Layer; 2],
    encoder: [Layer; 2],
    decoder: [Layer; 2],
    output: [Layer; 2],
}

impl Autoencoder {
    /// Returns the latents of the first view's rows, followed by the second view's.
    fn encode(&self, [a, b]: [&Tensor; 2]) -> Result<Tensor> {
        let both = [self.input[0].forward(a)?, self.input[1].forward(b)?];
        self.shared_encoder(&Tensor::cat(&both, 0)?)
    }

    /// Applies the shared layers of the encoders to the first hidden layer.
    fn shared_encoder(&self, hidden: &Tensor) -> Result<Tensor> {
        let hidden = relu(&self.encoder[0].forward(&relu(hidden)?)?)?;
        relu(&self.encoder[1].forward(&hidden)?)
    }

    /// Applies the shared layers of the decoders.
    fn decode(&self, latents: &Tensor) -> Result<Tensor> {
        let hidden = relu(&self.decoder[0].forward(latents)?)?;
        relu(&self.decoder[1].forward(&hidden)?)
    }

    /// Returns rows of `view` from the decoded layer, in (-1, 1).
    fn output(&self, decoded: &Tensor, view: usize) -> Result<Tensor> {
        self.output[view].forward(decoded)?.tanh()
    }

    fn parameters_mut(&mut self) -> impl Iterator<Item = &mut Parameter> {
        let Self { input, encoder, decoder, output } = self;
        let layers = [input, encoder, decoder, output].into_iter().flatten();
        layers.flat_map(Layer::parameters_mut)
    }
}

/// Returns the scores of rows of a view by its discriminator, near 1 for real rows and near 0 for generated ones: m → 64
/// → 1, leaky `ReLU`, sigmoid.
fn scores([hidden, output]: &[Layer; 2], x: &Tensor) -> Result<Tensor> {
    let hidden = ops::leaky_relu(&hidden.forward(x)?, LEAK)?;
    ops::sigmoid(&output.forward(&hidden)?)
}

/// Returns a layer with weights and biases uniform in ±1/√`n_in` (PyTorch's default).
fn draw(n_in: usize, n_out: usize, rng: &mut impl Rng, device: &Device) -> Result<Layer> {
    let weight = draw_weight(n_in, n_out, rng);
    let bound = 1.0 / (n_in as f32).sqrt();
    let bias = Array1::from_shape_simple_fn(n_out, || rng.gen_range(-bound..bound));
    Layer::new(&Dense { weight, bias }, device)
}

/// Returns weights `(n_out, n_in)`, drawn input by input.
fn draw_weight(n_in: usize, n_out: usize, rng: &mut impl Rng) -> Array2<f32> {
    let bound = 1.0 / (n_in as f32).sqrt();
    Array2::from_shape_simple_fn((n_in, n_out), || rng.gen_range(-bound..bound)).reversed_axes()
}

fn value(x: &Tensor) -> Result<f64> {
    Ok(f64::from(x.to_scalar::<f32>()?))
}

/// Returns the upper and the lower half of the rows.
fn halves(x: &Tensor) -> Result<[Tensor; 2]> {
    let n = x.dim(0)? / 2;
    Ok([x.narrow(0, 0, n)?, x.narrow(0, n, n)?])
}

fn mean_of_halves(x: &Tensor) -> Result<Tensor> {
    let [a, b] = halves(x)?;
    (a + b)? * 0.5
}

fn mean_absolute(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    x.sub(y)?.abs()?.mean_all()
}

/// Returns the least-squares adversarial loss, the mean of (score - `target`)².
fn least_squares(scores: &Tensor, target: f64) -> Result<Tensor> {
    scores.affine(1.0, -target)?.sqr()?.mean_all()
}

/// Returns `q_ij` ∝ 1 / (1 + ‖`z_i` - `μ_j`‖²) with rows of sum 1, `(n, k)`, from latents `(n, width)` and centers `(k,
/// width)`.
pub(super) fn soft_assignment(latents: &Tensor, centers: &Tensor) -> Result<Tensor> {
    let lengths = latents.sqr()?.sum_keepdim(1)?;
    let center_lengths = centers.sqr()?.sum_keepdim(1)?.t()?;
    let products = latents.matmul(&centers.t()?)?.affine(-2.0, 1.0)?;
    scale_to_one(&products.broadcast_add(&lengths)?.broadcast_add(&center_lengths)?.recip()?)
}

/// Returns the target p ∝ q² / f with rows of sum 1, where f is the sum of q over samples.
pub(super) fn target_distribution(q: &Tensor) -> Result<Tensor> {
    scale_to_one(&q.sqr()?.broadcast_div(&q.sum_keepdim(0)?)?)
}

/// Returns the mean of p (ln p - ln q) over all entries, p the `target`. The authors' framework averages over clusters,
/// so this is the divergence divided by k.
fn divergence(q: &Tensor, target: &Tensor) -> Result<Tensor> {
    (target * (target.clamp(1e-12, 1.0)?.log()? - q.log()?)?)?.mean_all()
}

fn scale_to_one(rows: &Tensor) -> Result<Tensor> {
    rows.broadcast_div(&rows.sum_keepdim(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::pmvc_cgan::array as values;
    use approx::assert_abs_diff_eq;
    use ndarray::array;

    #[test]
    fn soft_assignments_follow_students_t() {
        let latents = Tensor::new(&[[0.0_f32, 0.0], [1.0, 0.0]], &Device::Cpu).unwrap();
        let centers = Tensor::new(&[[0.0_f32, 0.0], [0.0, 1.0]], &Device::Cpu).unwrap();
        // Squared distances 0, 1 and 1, 2.
        let found = values(&soft_assignment(&latents, &centers).unwrap()).unwrap();
        assert_abs_diff_eq!(found, array![[2.0 / 3.0, 1.0 / 3.0], [0.6, 0.4]], epsilon = 1e-6);
    }

    #[test]
    fn the_target_squares_assignments_and_makes_clusters_equal() {
        let q = Tensor::new(&[[0.5_f32, 0.5], [1.0, 0.0]], &Device::Cpu).unwrap();
        // q² / f: 1/6, 1/2 and 2/3, 0.
        let found = values(&target_distribution(&q).unwrap()).unwrap();
        assert_abs_diff_eq!(found, array![[0.25, 0.75], [1.0, 0.0]], epsilon = 1e-6);
    }

    #[test]
    fn the_divergence_of_a_target_from_itself_is_zero() {
        let tensor = |x: [f32; 2]| Tensor::new(&[x], &Device::Cpu).unwrap();
        let divergence =
            |q, p| divergence(&tensor(q), &tensor(p)).unwrap().to_scalar::<f32>().unwrap();
        assert_eq!(divergence([0.25, 0.75], [0.25, 0.75]), 0.0);
        // ln 2 over two clusters.
        assert!((divergence([0.5, 0.5], [1.0, 0.0]) - 0.5 * 2.0_f32.ln()).abs() < 1e-6);
    }
}
