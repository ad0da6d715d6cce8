//! One encoder or decoder: its layers, activations, gradients and optimizer state.

use super::passes;
use crate::{
    Dense,
    optimizer::Step,
    real::{Real, multiply, rows},
};
use faer::MatRef;
use ndarray::{Array1, Array2};

/// Affine layers, with `ReLU` after each except the last.
#[derive(Default)]
pub(crate) struct Chain<T> {
    layers: Vec<Layer<T>>,
    /// Output of each layer for the current batch, `(n_samples, n_out)`.
    outputs: Vec<Vec<T>>,
}

struct Layer<T> {
    n_in: usize,
    n_out: usize,
    /// `(n_in, n_out)` or `(n_out, n_in)`: the longer side is contiguous, so that products have no partial tiles.
    weight: Parameter<T>,
    bias: Parameter<T>,
}

struct Parameter<T> {
    value: Vec<T>,
    moments: Vec<Vec<T>>,
}

/// Gradients during the backward pass of a view.
#[derive(Default)]
pub(crate) struct Gradients<T> {
    /// Gradient of the current layer's output, `(n_samples, n_out)`.
    pub(crate) output: Vec<T>,
    /// Gradient of its input, `(n_samples, n_in)`.
    input: Vec<T>,
    /// Gradient of some of its parameters.
    parameters: Vec<T>,
}

/// Number of parameters updated at once, so that products and optimizer work in the cache.
const PANEL_PARAMETERS: usize = 1 << 16;

impl<T: Real> Chain<T> {
    pub(crate) fn new(layers: &[Dense]) -> Self {
        Self {
            layers: layers.iter().map(Layer::new).collect(),
            outputs: layers.iter().map(|_| Vec::new()).collect(),
        }
    }

    pub(crate) fn n_out(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.n_out)
    }

    /// Output of the last layer for the current batch.
    pub(crate) fn output(&self) -> &[T] {
        self.outputs.last().map_or(&[], Vec::as_slice)
    }

    /// Applies the layers to the rows `x`.
    pub(crate) fn forward(&mut self, x: &[T]) {
        let last = self.layers.len() - 1;
        for (i, layer) in self.layers.iter().enumerate() {
            let (previous, outputs) = self.outputs.split_at_mut(i);
            let x = previous.last().map_or(x, Vec::as_slice);
            let y = &mut outputs[0];
            y.resize(x.len() / layer.n_in * layer.n_out, T::default());
            multiply(y, rows(x, layer.n_in), layer.weight());
            passes::add_bias(y, &layer.bias.value, i < last);
        }
    }

    /// Takes a step along the gradient of the output in `gradients.output`, and replaces it by the gradient of the
    /// input if `wants_input`.
    pub(crate) fn backward(
        &mut self,
        x: &[T],
        gradients: &mut Gradients<T>,
        step: Step,
        wants_input: bool,
    ) {
        for (i, layer) in self.layers.iter_mut().enumerate().rev() {
            let x = if i > 0 { &self.outputs[i - 1] } else { x };
            if i > 0 || wants_input {
                gradients.input.resize(x.len(), T::default());
                let output = rows(&gradients.output, layer.n_out);
                multiply(&mut gradients.input, output, layer.weight().transpose());
            }
            layer.update(x, gradients, step);
            if i > 0 {
                passes::relu_gradient(&mut gradients.input, x);
            }
            std::mem::swap(&mut gradients.output, &mut gradients.input);
        }
    }

    /// Starts a stage of training with `n_moments` moments of zero.
    pub(crate) fn start(&mut self, n_moments: usize) {
        let layers = self.layers.iter_mut();
        for parameter in layers.flat_map(|layer| [&mut layer.weight, &mut layer.bias]) {
            parameter.moments = vec![vec![T::default(); parameter.value.len()]; n_moments];
        }
    }

    /// Returns the values of all layers, or one of their moments.
    pub(crate) fn export(&self, moment: Option<usize>) -> Vec<Dense> {
        self.layers.iter().map(|layer| layer.export(moment)).collect()
    }

    /// Sets moment `i` of all layers.
    pub(crate) fn restore(&mut self, i: usize, saved: &[Dense]) {
        for (layer, saved) in self.layers.iter_mut().zip(saved) {
            layer.weight.moments[i] = layer.stored(saved);
            layer.bias.moments[i] = converted(&saved.bias);
        }
    }
}

impl<T: Real> Layer<T> {
    fn new(dense: &Dense) -> Self {
        let parameter = |value| Parameter { value, moments: Vec::new() };
        let mut layer = Self {
            n_in: dense.n_in(),
            n_out: dense.n_out(),
            weight: parameter(Vec::new()),
            bias: parameter(converted(&dense.bias)),
        };
        layer.weight.value = layer.stored(dense);
        layer
    }

    fn starts_with_inputs(&self) -> bool {
        self.n_out >= self.n_in
    }

    fn stored(&self, dense: &Dense) -> Vec<T> {
        if self.starts_with_inputs() {
            converted(dense.weight.t())
        } else {
            converted(&dense.weight)
        }
    }

    /// `(n_in, n_out)`.
    fn weight(&self) -> MatRef<'_, T> {
        if self.starts_with_inputs() {
            rows(&self.weight.value, self.n_out)
        } else {
            rows(&self.weight.value, self.n_in).transpose()
        }
    }

    /// Updates the weights along their gradient x^T g, where g is the gradient of the output, and the biases along the
    /// sums of g.
    fn update(&mut self, x: &[T], gradients: &mut Gradients<T>, step: Step) {
        let Gradients { output, parameters, .. } = gradients;
        let (x, g) = (rows(x, self.n_in), rows(output, self.n_out));
        let (a, b, width) = if self.starts_with_inputs() {
            (x.transpose(), g, self.n_out)
        } else {
            (g.transpose(), x, self.n_in)
        };
        let n_panel = (PANEL_PARAMETERS / width).max(1);
        for start in (0..a.nrows()).step_by(n_panel) {
            let a = a.subrows(start, n_panel.min(a.nrows() - start));
            parameters.resize(a.nrows() * width, T::default());
            multiply(parameters, a, b);
            self.weight.update(start * width, parameters, step);
        }
        parameters.resize(self.n_out, T::default());
        passes::column_sums(output, parameters);
        self.bias.update(0, parameters, step);
    }

    fn export(&self, moment: Option<usize>) -> Dense {
        let weight = self.weight.export(moment);
        let (n_in, n_out) = (self.n_in, self.n_out);
        let at = |(i, j)| {
            if self.starts_with_inputs() { weight[j * n_out + i] } else { weight[i * n_in + j] }
        };
        Dense {
            weight: Array2::from_shape_fn((n_out, n_in), at),
            bias: Array1::from_vec(self.bias.export(moment)),
        }
    }
}

impl<T: Real> Parameter<T> {
    /// Takes a step along `gradient`, which is the gradient of the numbers from `start` on.
    fn update(&mut self, start: usize, gradient: &[T], step: Step) {
        let range = start..start + gradient.len();
        let moments = self.moments.iter_mut().map(|moment| &mut moment[range.clone()]);
        let mut moments: Vec<_> = moments.collect();
        step.take(&mut self.value[range], &mut moments, gradient);
    }

    fn export(&self, moment: Option<usize>) -> Vec<f32> {
        let numbers = moment.map_or(&self.value, |i| &self.moments[i]);
        numbers.iter().map(|x| x.as_f64() as f32).collect()
    }
}

fn converted<'a, T: Real>(values: impl IntoIterator<Item = &'a f32>) -> Vec<T> {
    values.into_iter().map(|&value| T::of(f64::from(value))).collect()
}
