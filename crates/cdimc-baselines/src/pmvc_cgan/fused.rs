//! The networks of `PMVC_CGAN` for the CPU, forward and backward passes written out over matrix products.
//!
//! A step allocates nothing once its buffers are as large as the largest batch, and weights are updated where
//! their gradients arise: with batches of 32 rows, memory traffic is what counts beside the products.

use super::autoencoder::{Autoencoder, LATENT, Passed, Trip};
use super::layer::{Layer, Optimizer, Parameter};
use super::networks::{Adam, Affine, Networks, Weights};
use super::passes::{Activation, absolutes, squares};
use super::student::{divergence, soft_assignment};
use cdimc_nn::NnError;
use faer::Accum;

/// The networks in training.
pub(super) struct Fused {
    autoencoder: Autoencoder,
    judges: [Judge; 2],
    centers: Parameter,
    center_gradient: Vec<f32>,
    adam: Adam,
    optimizer: Optimizer,
    /// One way through the autoencoder; in stage 2, what was generated goes through it again.
    trips: [Trip; 2],
    gradients: [Trip; 2],
    /// Means of the latents of both views, and the gradient of the latents by way of them.
    common: Vec<f32>,
    latent_gradient: Vec<f32>,
}

impl Fused {
    pub(super) fn new(weights: &Weights, adam: Adam) -> Self {
        Self {
            autoencoder: Autoencoder::new(weights),
            judges: weights.judges.each_ref().map(Judge::new),
            centers: Parameter::new(&[]),
            center_gradient: Vec::new(),
            adam,
            optimizer: Optimizer::new(adam),
            trips: Default::default(),
            gradients: Default::default(),
            common: Vec::new(),
            latent_gradient: Vec::new(),
        }
    }
}

impl Networks for Fused {
    fn start(&mut self, centers: &[f32]) -> Result<(), NnError> {
        let judges = self.judges.iter_mut().flat_map(|judge| &mut judge.layers);
        self.autoencoder.layers_mut().chain(judges).for_each(Layer::forget_moments);
        self.centers = Parameter::new(centers);
        self.optimizer = Optimizer::new(self.adam);
        Ok(())
    }

    fn reconstruct(&mut self, x: [&[f32]; 2]) -> Result<f64, NnError> {
        let Self { autoencoder, trips: [trip, _], gradients: [gradient, _], optimizer, .. } = self;
        let n = x[0].len() / autoencoder.width(0);
        autoencoder.encode(x, trip);
        autoencoder.decode([0..2 * n, 0..2 * n], trip);
        gradient.resize_like(trip);
        let mut loss = 0.0;
        for (v, x) in x.into_iter().enumerate() {
            let both = trip.output[v].chunks_exact(x.len());
            for (y, gradient) in both.zip(gradient.output[v].chunks_exact_mut(x.len())) {
                loss += squares(y, x, share(x), gradient);
            }
        }
        autoencoder.backward(trip, gradient, &[]);
        optimizer.advance();
        autoencoder.update([Passed { x, trip, gradient }], optimizer);
        Ok(loss)
    }

    fn compete(&mut self, x: [&[f32]; 2]) -> Result<f64, NnError> {
        let Self { autoencoder, judges, optimizer, .. } = self;
        let ([trip, again], [gradient, gradient_again]) = (&mut self.trips, &mut self.gradients);
        let n = x[0].len() / autoencoder.width(0);
        autoencoder.encode(x, trip);
        autoencoder.decode([0..2 * n, 0..2 * n], trip);
        // Rows of each view made from the other, and back again.
        let generated = [&trip.output[0][x[0].len()..], &trip.output[1][..x[1].len()]];
        autoencoder.encode(generated, again);
        autoencoder.decode([n..2 * n, 0..n], again);
        gradient.resize_like(trip);
        gradient_again.resize_like(again);
        let mut loss = 0.0;
        for (v, x) in x.into_iter().enumerate() {
            loss += absolutes(&again.output[v], x, share(x), &mut gradient_again.output[v]);
        }
        autoencoder.backward(again, gradient_again, &[]);
        for (v, x) in x.into_iter().enumerate() {
            let (first, second) = gradient.output[v].split_at_mut(x.len());
            let (own, other) = if v == 0 { (first, second) } else { (second, first) };
            let reconstructed = &trip.output[v][v * x.len()..][..x.len()];
            loss += squares(reconstructed, x, share(x), own);
            autoencoder.input_gradient(gradient_again, v, other);
            loss += judges[v].deceived(generated[v], other);
        }
        autoencoder.backward(trip, gradient, &[]);
        optimizer.advance();
        for ((judge, real), generated) in judges.iter_mut().zip(x).zip(generated) {
            judge.learn(real, generated, optimizer);
        }
        let first = Passed { x, trip, gradient };
        let second = Passed { x: generated, trip: again, gradient: gradient_again };
        autoencoder.update([first, second], optimizer);
        Ok(loss)
    }

    fn sharpen(&mut self, x: [&[f32]; 2], target: &[f32]) -> Result<(f64, Vec<f32>), NnError> {
        let Self { autoencoder, centers, optimizer, common, .. } = self;
        let ([trip, _], [gradient, _]) = (&mut self.trips, &mut self.gradients);
        let (n, latent) = (x[0].len() / autoencoder.width(0), autoencoder.latent());
        autoencoder.encode(x, trip);
        autoencoder.decode([0..n, n..2 * n], trip);
        gradient.resize_like(trip);
        mean_of_halves(&trip.hidden[LATENT], common);
        let q = soft_assignment(common, &centers.value, latent);
        self.center_gradient.clear();
        self.center_gradient.resize(centers.value.len(), 0.0);
        self.latent_gradient.clear();
        self.latent_gradient.resize(2 * n * latent, 0.0);
        let (by_common, rest) = self.latent_gradient.split_at_mut(n * latent);
        let by = [&mut *by_common, &mut self.center_gradient];
        let mut loss = divergence([common, &centers.value], [&q, target], latent, by);
        by_common.iter_mut().for_each(|x| *x *= 0.5);
        rest.copy_from_slice(by_common);
        for (v, x) in x.into_iter().enumerate() {
            loss += squares(&trip.output[v], x, share(x), &mut gradient.output[v]);
        }
        autoencoder.backward(trip, gradient, &self.latent_gradient);
        let step = optimizer.advance();
        centers.step(0, &self.center_gradient, step);
        autoencoder.update([Passed { x, trip, gradient }], optimizer);
        Ok((loss, q))
    }

    fn common(&self, x: [&[f32]; 2]) -> Result<Vec<f32>, NnError> {
        let (mut trip, mut common) = (Trip::default(), Vec::new());
        self.autoencoder.encode(x, &mut trip);
        mean_of_halves(&trip.hidden[LATENT], &mut common);
        Ok(common)
    }

    fn translate(&self, x: &[f32], view: usize) -> Result<Vec<f32>, NnError> {
        let n = x.len() / self.autoencoder.width(view);
        let mut trip = Trip::default();
        if view == 0 {
            self.autoencoder.encode([x, &[]], &mut trip);
            self.autoencoder.decode([0..0, 0..n], &mut trip);
        } else {
            self.autoencoder.encode([&[], x], &mut trip);
            self.autoencoder.decode([0..n, 0..0], &mut trip);
        }
        let [first, second] = trip.output;
        Ok(if view == 0 { second } else { first })
    }

    #[cfg(test)]
    fn means(&self) -> Vec<Vec<f32>> {
        let judges = self.judges.iter().flat_map(|judge| &judge.layers);
        let layers = self.autoencoder.layers().chain(judges).flat_map(Layer::means);
        layers.chain([self.centers.mean.clone()]).filter(|mean| !mean.is_empty()).collect()
    }
}

/// Judges whether a row of one view is real: m → 64 → 1, leaky `ReLU`, sigmoid.
struct Judge {
    layers: [Layer; 2],
    /// Of generated rows and of real ones.
    verdicts: [Verdicts; 2],
}

/// What the layers gave, and the gradients behind their products.
#[derive(Default)]
struct Verdicts {
    values: [Vec<f32>; 2],
    gradients: [Vec<f32>; 2],
}

impl Judge {
    fn new([hidden, verdict]: &[Affine; 2]) -> Self {
        let hidden = Layer::new(hidden, Activation::LeakyRelu);
        let verdict = Layer::new(verdict, Activation::Sigmoid);
        Self { layers: [hidden, verdict], verdicts: Default::default() }
    }

    /// The mean of (verdict - 1)² over generated rows, its gradient added to theirs.
    fn deceived(&mut self, generated: &[f32], gradient: &mut [f32]) -> f64 {
        let verdicts = &mut self.verdicts[0];
        verdicts.pass(&self.layers, generated);
        let loss = verdicts.least_squares(&self.layers, 1.0, 1.0);
        self.layers[0].backward(&verdicts.gradients[0], Accum::Add, gradient);
        loss
    }

    /// A step towards 1 for real rows and 0 for the generated ones that it was last deceived with.
    fn learn(&mut self, real: &[f32], generated: &[f32], optimizer: &mut Optimizer) {
        let Self { layers, verdicts: [fake, true_ones] } = self;
        true_ones.pass(layers, real);
        true_ones.least_squares(layers, 1.0, 0.5);
        fake.least_squares(layers, 0.0, 0.5);
        let [hidden, verdict] = layers;
        let gradients = [&true_ones.gradients[0][..], &fake.gradients[0]];
        hidden.update(&[(real, gradients[0]), (generated, gradients[1])], optimizer);
        let terms = [&*true_ones, fake].map(|v| (&v.values[0][..], &v.gradients[1][..]));
        verdict.update(&terms, optimizer);
    }
}

impl Verdicts {
    fn pass(&mut self, layers: &[Layer; 2], x: &[f32]) {
        let n = x.len() / layers[0].n_in();
        for (values, layer) in self.values.iter_mut().zip(layers) {
            values.resize(n * layer.n_out(), 0.0);
        }
        let [hidden, verdict] = &mut self.values;
        layers[0].forward(x, hidden);
        layers[1].forward(hidden, verdict);
    }

    /// `weight` times the mean of (verdict - `target`)², and the gradients of it.
    fn least_squares(&mut self, layers: &[Layer; 2], target: f32, weight: f32) -> f64 {
        let [hidden, verdict] = &self.values;
        let [by_hidden, by_verdict] = &mut self.gradients;
        by_hidden.resize(hidden.len(), 0.0);
        by_verdict.resize(verdict.len(), 0.0);
        let scale = weight * share(verdict);
        let mut loss = 0.0;
        for (y, gradient) in verdict.iter().zip(by_verdict.iter_mut()) {
            let difference = y - target;
            loss += f64::from(scale * difference * difference);
            *gradient = 2.0 * scale * difference;
        }
        layers[1].undo_activation(by_verdict, verdict);
        layers[1].backward(by_verdict, Accum::Replace, by_hidden);
        layers[0].undo_activation(by_hidden, hidden);
        loss
    }
}

/// What each entry counts in a mean.
fn share(x: &[f32]) -> f32 {
    1.0 / x.len() as f32
}

/// The mean of the first half of the rows and of the second.
fn mean_of_halves(z: &[f32], mean: &mut Vec<f32>) {
    let (a, b) = z.split_at(z.len() / 2);
    mean.clear();
    mean.extend(a.iter().zip(b).map(|(a, b)| (a + b) * 0.5));
}
