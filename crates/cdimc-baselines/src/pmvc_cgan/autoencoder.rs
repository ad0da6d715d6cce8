//! The autoencoder on the CPU: what rows become on their way through it, and how gradients come back.

use super::layer::{Layer, Optimizer};
use super::networks::Weights;
use super::passes::Activation;
use faer::Accum;
use std::ops::Range;

/// Encoders and decoders of two views: `m_v` → 500 (own) → 300 → 100 (shared), and back.
pub(super) struct Autoencoder {
    input: [Layer; 2],
    shared: [Layer; 4],
    output: [Layer; 2],
}

/// What the layers gave for some rows, or the gradients in the same places.
///
/// Rows of the first view, under them those of the second, go through the shared layers in one stack.
#[derive(Default)]
pub(super) struct Trip {
    /// The first hidden layer and what each shared layer makes of the one before.
    pub(super) hidden: [Vec<f32>; 5],
    /// Rows of each view, decoded.
    pub(super) output: [Vec<f32>; 2],
    /// Where these are in the stack.
    decoded: [Range<usize>; 2],
    /// Rows of the first view in the stack.
    n_first: usize,
}

/// A trip that an update learns from.
#[derive(Clone, Copy)]
pub(super) struct Passed<'a> {
    pub(super) x: [&'a [f32]; 2],
    pub(super) trip: &'a Trip,
    pub(super) gradient: &'a Trip,
}

/// The latents among the hidden layers.
pub(super) const LATENT: usize = 2;

/// What the decoders share, the last of them.
const DECODED: usize = 4;

impl Autoencoder {
    pub(super) fn new(weights: &Weights) -> Self {
        Self {
            input: weights.input.each_ref().map(|w| Layer::new(w, Activation::Relu)),
            shared: weights.shared.each_ref().map(|w| Layer::new(w, Activation::Relu)),
            output: weights.output.each_ref().map(|w| Layer::new(w, Activation::Tanh)),
        }
    }

    pub(super) fn latent(&self) -> usize {
        self.shared[LATENT - 1].n_out()
    }

    /// Width of a view.
    pub(super) fn width(&self, view: usize) -> usize {
        self.output[view].n_out()
    }

    fn outer(&self) -> usize {
        self.input[0].n_out()
    }

    /// Takes rows `x` of both views to their latents.
    pub(super) fn encode(&self, x: [&[f32]; 2], trip: &mut Trip) {
        let n = [0, 1].map(|v| x[v].len() / self.width(v));
        trip.n_first = n[0];
        trip.hidden[0].resize((n[0] + n[1]) * self.outer(), 0.0);
        let (first, second) = trip.hidden[0].split_at_mut(n[0] * self.outer());
        for ((layer, x), y) in self.input.iter().zip(x).zip([first, second]) {
            layer.forward(x, y);
        }
        self.share(0..LATENT, trip);
    }

    /// Decodes the given rows of the stack into each view.
    pub(super) fn decode(&self, decoded: [Range<usize>; 2], trip: &mut Trip) {
        self.share(LATENT..self.shared.len(), trip);
        trip.decoded = decoded;
        for (v, layer) in self.output.iter().enumerate() {
            trip.output[v].resize(trip.decoded[v].len() * layer.n_out(), 0.0);
            let x = part(&trip.hidden[DECODED], &trip.decoded[v], self.outer());
            layer.forward(x, &mut trip.output[v]);
        }
    }

    /// Applies some of the shared layers.
    fn share(&self, layers: Range<usize>, trip: &mut Trip) {
        let n = trip.hidden[0].len() / self.outer();
        for i in layers {
            let (x, y) = trip.hidden.split_at_mut(i + 1);
            y[0].resize(n * self.shared[i].n_out(), 0.0);
            self.shared[i].forward(&x[i], &mut y[0]);
        }
    }

    /// Takes the gradient of what was decoded, in `gradient.output`, and what else there is of the latents'
    /// (nothing, or one for each) to the gradients behind the products of all layers.
    pub(super) fn backward(&self, trip: &Trip, gradient: &mut Trip, latents: &[f32]) {
        let last = &mut gradient.hidden[DECODED];
        last.fill(0.0);
        for (v, layer) in self.output.iter().enumerate() {
            layer.undo_activation(&mut gradient.output[v], &trip.output[v]);
            let rows = &trip.decoded[v];
            let before = &mut last[rows.start * self.outer()..rows.end * self.outer()];
            layer.backward(&gradient.output[v], Accum::Add, before);
        }
        for (i, layer) in self.shared.iter().enumerate().rev() {
            let (before, behind) = gradient.hidden.split_at_mut(i + 1);
            if i + 1 == LATENT {
                behind[0].iter_mut().zip(latents).for_each(|(sum, gradient)| *sum += gradient);
            }
            layer.undo_activation(&mut behind[0], &trip.hidden[i + 1]);
            layer.backward(&behind[0], Accum::Replace, &mut before[i]);
        }
        self.input[0].undo_activation(&mut gradient.hidden[0], &trip.hidden[0]);
    }

    /// The gradient of the rows of a view that went in, from those of [`Autoencoder::backward`].
    pub(super) fn input_gradient(&self, gradient: &Trip, view: usize, before: &mut [f32]) {
        let behind = gradient.first_hidden(view, self.outer());
        self.input[view].backward(behind, Accum::Replace, before);
    }

    /// One step of all layers along the sum of the gradients of the trips.
    pub(super) fn update<'a, const N: usize>(
        &mut self,
        trips: [Passed<'a>; N],
        optimizer: &mut Optimizer,
    ) {
        let outer = self.outer();
        for (v, layer) in self.input.iter_mut().enumerate() {
            let terms = trips.map(|t| (t.x[v], t.gradient.first_hidden(v, outer)));
            layer.update(&terms, optimizer);
        }
        for (i, layer) in self.shared.iter_mut().enumerate() {
            let terms = trips.map(|t| (&t.trip.hidden[i][..], &t.gradient.hidden[i + 1][..]));
            layer.update(&terms, optimizer);
        }
        for (v, layer) in self.output.iter_mut().enumerate() {
            let x = |t: &'a Trip| part(&t.hidden[DECODED], &t.decoded[v], outer);
            let terms = trips.map(|t| (x(t.trip), &t.gradient.output[v][..]));
            layer.update(&terms, optimizer);
        }
    }

    pub(super) fn layers_mut(&mut self) -> impl Iterator<Item = &mut Layer> {
        self.input.iter_mut().chain(&mut self.shared).chain(&mut self.output)
    }

    #[cfg(test)]
    pub(super) fn layers(&self) -> impl Iterator<Item = &Layer> {
        self.input.iter().chain(&self.shared).chain(&self.output)
    }
}

impl Trip {
    /// Room for the gradients of another trip.
    pub(super) fn resize_like(&mut self, trip: &Self) {
        let places = self.hidden.iter_mut().chain(&mut self.output);
        for (place, other) in places.zip(trip.hidden.iter().chain(&trip.output)) {
            place.resize(other.len(), 0.0);
        }
        self.n_first = trip.n_first;
    }

    /// The first hidden layer of the rows of one view.
    fn first_hidden(&self, view: usize, outer: usize) -> &[f32] {
        let (first, second) = self.hidden[0].split_at(self.n_first * outer);
        if view == 0 { first } else { second }
    }
}

fn part<'a>(values: &'a [f32], rows: &Range<usize>, width: usize) -> &'a [f32] {
    &values[rows.start * width..rows.end * width]
}
