//! The networks of `PMVC_CGAN` on candle, for any of its devices: losses as tensors, gradients by its
//! automatic differentiation. On the CPU the tests hold the written-out networks against them.

use super::networks::{Adam, Affine, Networks, Weights};
use candle_core::{D, DType, Device, Result, Tensor, Var};
use cdimc_nn::NnError;

/// The networks in training.
pub(super) struct Candle {
    place: Device,
    input: [Layer; 2],
    encoder: [Layer; 2],
    decoder: [Layer; 2],
    output: [Layer; 2],
    judges: [Judge; 2],
    centers: Option<Var>,
    adam: Adam,
    /// Of the autoencoder and the centers, and of each discriminator.
    optimizers: [Optimizer; 3],
}

impl Candle {
    pub(super) fn new(weights: &Weights, adam: Adam, place: Device) -> Result<Self> {
        let layer = |affine: &Affine| Layer::new(affine, &place);
        let pair = |[a, b]: [&Affine; 2]| Ok::<_, candle_core::Error>([layer(a)?, layer(b)?]);
        let [first, second, third, fourth] = weights.shared.each_ref();
        let [judge_a, judge_b] = weights.judges.each_ref();
        Ok(Self {
            input: pair(weights.input.each_ref())?,
            encoder: pair([first, second])?,
            decoder: pair([third, fourth])?,
            output: pair(weights.output.each_ref())?,
            judges: [Judge(pair(judge_a.each_ref())?), Judge(pair(judge_b.each_ref())?)],
            centers: None,
            adam,
            optimizers: Default::default(),
            place,
        })
    }

    fn tensor(&self, x: &[f32], width: usize) -> Result<Tensor> {
        Tensor::from_slice(x, (x.len() / width, width), &self.place)
    }

    fn rows(&self, x: &[f32], view: usize) -> Result<Tensor> {
        self.tensor(x, self.input[view].weight.dim(0)?)
    }

    fn both(&self, [a, b]: [&[f32]; 2]) -> Result<[Tensor; 2]> {
        Ok([self.rows(a, 0)?, self.rows(b, 1)?])
    }

    /// The latents of rows of the first view and under them those of rows of the second.
    fn encode(&self, [a, b]: [&Tensor; 2]) -> Result<Tensor> {
        let both = Tensor::cat(&[self.input[0].forward(a)?, self.input[1].forward(b)?], 0)?;
        self.shared_encoder(&both)
    }

    fn shared_encoder(&self, x: &Tensor) -> Result<Tensor> {
        let x = self.encoder[0].forward(&x.relu()?)?.relu()?;
        self.encoder[1].forward(&x)?.relu()
    }

    /// What the decoders share.
    fn decode(&self, latents: &Tensor) -> Result<Tensor> {
        let x = self.decoder[0].forward(latents)?.relu()?;
        self.decoder[1].forward(&x)?.relu()
    }

    /// Rows of `view` from what the decoders share, in (-1, 1).
    fn output(&self, decoded: &Tensor, view: usize) -> Result<Tensor> {
        self.output[view].forward(decoded)?.tanh()
    }

    fn variables(&self) -> impl Iterator<Item = Var> + '_ {
        let layers = [&self.input, &self.encoder, &self.decoder, &self.output];
        layers.into_iter().flatten().flat_map(Layer::variables).chain(self.centers.clone())
    }
}

impl Networks for Candle {
    fn start(&mut self, centers: &[f32]) -> std::result::Result<(), NnError> {
        self.centers = if centers.is_empty() {
            None
        } else {
            let width = self.encoder[1].weight.dim(1)?;
            Some(Var::from_tensor(&self.tensor(centers, width)?)?)
        };
        let judge = |judge: &Judge| judge.0.iter().flat_map(Layer::variables).collect();
        let variables =
            [self.variables().collect(), judge(&self.judges[0]), judge(&self.judges[1])];
        for (optimizer, variables) in self.optimizers.iter_mut().zip(variables) {
            *optimizer = Optimizer::new(variables)?;
        }
        Ok(())
    }

    fn reconstruct(&mut self, rows: [&[f32]; 2]) -> std::result::Result<f64, NnError> {
        let [a, b] = self.both(rows)?;
        let decoded = self.decode(&self.encode([&a, &b])?)?;
        // The mean over both latents is half the sum of the two reconstructions of a view.
        let twice = |x: &Tensor| Tensor::cat(&[x, x], 0);
        let of_a = mean_square(&self.output(&decoded, 0)?, &twice(&a)?)?;
        let of_b = mean_square(&self.output(&decoded, 1)?, &twice(&b)?)?;
        let loss = ((of_a + of_b)? * 2.0)?;
        self.optimizers[0].step(&loss, self.adam)?;
        value(&loss)
    }

    fn compete(&mut self, rows: [&[f32]; 2]) -> std::result::Result<f64, NnError> {
        let [a, b] = self.both(rows)?;
        let size = a.dim(0)?;
        let half = |x: &Tensor, second: bool| x.narrow(0, usize::from(second) * size, size);
        let decoded = self.decode(&self.encode([&a, &b])?)?;
        let (as_a, as_b) = (self.output(&decoded, 0)?, self.output(&decoded, 1)?);
        let (a_from_b, b_from_a) = (half(&as_a, true)?, half(&as_b, false)?);
        // Back again: rows of the first view made from the second, and the reverse.
        let decoded = self.decode(&self.encode([&a_from_b, &b_from_a])?)?;
        let a_again = self.output(&half(&decoded, true)?, 0)?;
        let b_again = self.output(&half(&decoded, false)?, 1)?;
        let [judge_a, judge_b] = &self.judges;
        let losses = [
            least_squares(&judge_b.judge_fixed(&b_from_a)?, 1.0)?,
            least_squares(&judge_a.judge_fixed(&a_from_b)?, 1.0)?,
            mean_square(&half(&as_a, false)?, &a)?,
            mean_square(&half(&as_b, true)?, &b)?,
            mean_absolute(&a_again, &a)?,
            mean_absolute(&b_again, &b)?,
        ];
        let loss = Tensor::stack(&losses, 0)?.sum_all()?;
        let [generator, contestants @ ..] = &mut self.optimizers;
        generator.step(&loss, self.adam)?;
        let contests = [(judge_a, a, a_from_b), (judge_b, b, b_from_a)];
        for ((judge, real, generated), optimizer) in contests.into_iter().zip(contestants) {
            let real = least_squares(&judge.judge(&real)?, 1.0)?;
            let fake = least_squares(&judge.judge(&generated.detach())?, 0.0)?;
            optimizer.step(&((real + fake)? * 0.5)?, self.adam)?;
        }
        value(&loss)
    }

    fn sharpen(
        &mut self,
        rows: [&[f32]; 2],
        target: &[f32],
    ) -> std::result::Result<(f64, Vec<f32>), NnError> {
        let [a, b] = self.both(rows)?;
        let size = a.dim(0)?;
        let Some(centers) = &self.centers else { unreachable!("stage 3 starts with centers") };
        let half = |x: &Tensor, second: bool| x.narrow(0, usize::from(second) * size, size);
        let z = self.encode([&a, &b])?;
        let q = soft_assignment(&((half(&z, false)? + half(&z, true)?)? * 0.5)?, centers)?;
        let p = self.tensor(target, centers.dim(0)?)?;
        // The authors' framework averages over clusters: the divergence divided by k.
        let divergence = (&p * (p.clamp(1e-12, 1.0)?.log()? - q.log()?)?)?.mean_all()?;
        let decoded = self.decode(&z)?;
        let of_a = self.output(&half(&decoded, false)?, 0)?;
        let of_b = self.output(&half(&decoded, true)?, 1)?;
        let loss = ((divergence + mean_square(&of_a, &a)?)? + mean_square(&of_b, &b)?)?;
        self.optimizers[0].step(&loss, self.adam)?;
        Ok((value(&loss)?, values(&q)?))
    }

    fn common(&self, rows: [&[f32]; 2]) -> std::result::Result<Vec<f32>, NnError> {
        let [a, b] = self.both(rows)?;
        let (z, size) = (self.encode([&a, &b])?, a.dim(0)?);
        values(&((z.narrow(0, 0, size)? + z.narrow(0, size, size)?)? * 0.5)?)
    }

    fn translate(&self, rows: &[f32], view: usize) -> std::result::Result<Vec<f32>, NnError> {
        let z = self.shared_encoder(&self.input[view].forward(&self.rows(rows, view)?)?)?;
        values(&self.output(&self.decode(&z)?, 1 - view)?)
    }

    #[cfg(test)]
    fn means(&self) -> Vec<Vec<f32>> {
        // The centers, last of the first optimiser, come last of all.
        let [generator, judge_a, judge_b] = self.optimizers.each_ref().map(|o| &o.parameters[..]);
        let (generator, centers) = generator.split_at(14);
        let parameters = [generator, judge_a, judge_b, centers].into_iter().flatten();
        parameters.map(|parameter| values(&parameter.mean).unwrap()).collect()
    }
}

fn value(x: &Tensor) -> std::result::Result<f64, NnError> {
    Ok(f64::from(x.to_scalar::<f32>()?))
}

fn values(x: &Tensor) -> std::result::Result<Vec<f32>, NnError> {
    Ok(x.flatten_all()?.to_vec1()?)
}

/// A fully connected layer: weights `(n_in, n_out)` and biases `(1, n_out)`.
struct Layer {
    weight: Var,
    bias: Option<Var>,
}

impl Layer {
    fn new(affine: &Affine, place: &Device) -> Result<Self> {
        let Affine { n_in, n_out, weight, bias } = affine;
        let variable =
            |values: &[f32], shape| Var::from_tensor(&Tensor::from_slice(values, shape, place)?);
        let weight = variable(weight, (*n_in, *n_out))?;
        let bias = if bias.is_empty() { None } else { Some(variable(bias, (1, *n_out))?) };
        Ok(Self { weight, bias })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        affine(x, &self.weight, self.bias.as_deref())
    }

    /// The same map, through which no gradient reaches the weights.
    fn forward_fixed(&self, x: &Tensor) -> Result<Tensor> {
        let bias = self.bias.as_ref().map(Var::as_detached_tensor);
        affine(x, &self.weight.as_detached_tensor(), bias.as_ref())
    }

    fn variables(&self) -> impl Iterator<Item = Var> + '_ {
        std::iter::once(self.weight.clone()).chain(self.bias.clone())
    }
}

fn affine(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    let y = x.matmul(weight)?;
    let Some(bias) = bias else { return Ok(y) };
    // The bias under itself as a product, because the gradient of a broadcast is a sum over rows, which
    // candle computes one strided entry after the other.
    y.add(&Tensor::ones((x.dim(0)?, 1), DType::F32, x.device())?.matmul(bias)?)
}

/// Judges whether a row of one view is real: m → 64 → 1, leaky `ReLU` of slope 0.2, sigmoid.
struct Judge([Layer; 2]);

impl Judge {
    fn judge(&self, x: &Tensor) -> Result<Tensor> {
        let hidden = candle_nn::ops::leaky_relu(&self.0[0].forward(x)?, 0.2)?;
        candle_nn::ops::sigmoid(&self.0[1].forward(&hidden)?)
    }

    /// The same verdict for a generator's step, which does not move the discriminator.
    fn judge_fixed(&self, x: &Tensor) -> Result<Tensor> {
        let hidden = candle_nn::ops::leaky_relu(&self.0[0].forward_fixed(x)?, 0.2)?;
        candle_nn::ops::sigmoid(&self.0[1].forward_fixed(&hidden)?)
    }
}

/// Mean squared difference over all entries.
fn mean_square(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    x.sub(y)?.sqr()?.mean_all()
}

/// Mean absolute difference over all entries.
fn mean_absolute(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    x.sub(y)?.abs()?.mean_all()
}

/// The least-squares adversarial loss: mean of (verdict - `target`)².
fn least_squares(verdicts: &Tensor, target: f64) -> Result<Tensor> {
    verdicts.affine(1.0, -target)?.sqr()?.mean_all()
}

/// Student's t assignment: `q_ij` ∝ 1 / (1 + ‖`z_i` - `μ_j`‖²), rows of sum 1.
fn soft_assignment(latents: &Tensor, centers: &Tensor) -> Result<Tensor> {
    let squares = latents.sqr()?.sum_keepdim(1)?;
    let lengths = centers.sqr()?.sum_keepdim(1)?.t()?;
    let products = latents.matmul(&centers.t()?)?.affine(-2.0, 1.0)?;
    let similarity = products.broadcast_add(&squares)?.broadcast_add(&lengths)?.recip()?;
    similarity.broadcast_div(&similarity.sum_keepdim(D::Minus1)?)
}

/// Adam for one network and one stage.
#[derive(Default)]
struct Optimizer {
    t: i32,
    parameters: Vec<Parameter>,
}

struct Parameter {
    value: Var,
    mean: Tensor,
    square: Tensor,
}

impl Optimizer {
    fn new(variables: Vec<Var>) -> Result<Self> {
        let parameters = variables
            .into_iter()
            .map(|value| {
                let zeros = value.zeros_like()?.detach();
                Ok(Parameter { mean: zeros.clone(), square: zeros, value })
            })
            .collect::<Result<_>>()?;
        Ok(Self { t: 0, parameters })
    }

    /// One step along the gradient of `loss`; a parameter that it does not reach stays.
    fn step(&mut self, loss: &Tensor, adam: Adam) -> Result<()> {
        let gradients = loss.backward()?;
        self.t = self.t.saturating_add(1);
        let (rate, root) = adam.corrections(self.t);
        let Adam { beta1, beta2, .. } = adam;
        for Parameter { value, mean, square } in &mut self.parameters {
            let Some(gradient) = gradients.get(value) else { continue };
            let gradient = gradient.detach().contiguous()?;
            *mean = ((&*mean * beta1)? + (&gradient * (1.0 - beta1))?)?;
            *square = ((&*square * beta2)? + (gradient.sqr()? * (1.0 - beta2))?)?;
            let denominator = square.sqrt()?.affine(1.0 / root, Adam::EPSILON)?;
            let step = (mean.div(&denominator)? * rate)?;
            value.set(&value.as_detached_tensor().sub(&step)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_data::Seed;

    #[test]
    fn a_generator_step_leaves_the_discriminator_without_gradient() {
        let weights = Weights::draw([3, 2], [5, 4, 2], Seed::new(1));
        let adam = Adam { learning_rate: 0.1, beta1: 0.5, beta2: 0.999 };
        let networks = Candle::new(&weights, adam, Device::Cpu).unwrap();
        let judge = &networks.judges[0];
        let x = Var::new(&[[0.1_f32, 0.2, 0.3]], &Device::Cpu).unwrap();
        let loss = least_squares(&judge.judge_fixed(&x).unwrap(), 1.0).unwrap();
        let gradients = loss.backward().unwrap();
        assert!(gradients.get(&x).is_some());
        let mut variables = judge.0.iter().flat_map(Layer::variables);
        assert!(variables.all(|variable| gradients.get(&variable).is_none()));
        let same = judge.judge(&x).unwrap().to_vec2::<f32>().unwrap();
        assert_eq!(same, judge.judge_fixed(&x).unwrap().to_vec2::<f32>().unwrap());
    }
}
