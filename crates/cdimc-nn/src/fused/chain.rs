//! One encoder or decoder: its layers, activations, gradients and optimiser state.

use crate::{
    Dense,
    fused::{
        passes::{self, AdamStep},
        product::{Real, multiply},
    },
};
use faer::MatRef;
use ndarray::{Array1, Array2};

/// What becomes of a gradient.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Update<T> {
    Sgd {
        rate: T,
        momentum: T,
    },
    Adam(AdamStep<T>),
    /// Kept as it is.
    Collect,
}

/// Affine layers, `ReLU` after each but the last.
pub(crate) struct Chain<T> {
    pub(crate) layers: Vec<Layer<T>>,
    /// What each layer gave for the current rows.
    outputs: Vec<Vec<T>>,
}

pub(crate) struct Layer<T> {
    n_in: usize,
    n_out: usize,
    /// `(n_in, n_out)` or `(n_out, n_in)`: the longer side is contiguous, so that products have no ragged tiles.
    weight: Parameter<T>,
    bias: Parameter<T>,
    bias_gradient: Vec<T>,
}

struct Parameter<T> {
    value: Vec<T>,
    moments: Vec<Vec<T>>,
    /// The last gradient that was kept.
    collected: Vec<T>,
}

/// Which of a parameter's values are meant.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Of {
    Value,
    Moment(usize),
    Collected,
}

/// Buffers that the layers of a view share.
pub(crate) struct Buffers<T> {
    /// Gradient behind the current layer, `(n_rows, n_out)`.
    pub(crate) behind: Vec<T>,
    /// Gradient in front of it, `(n_rows, n_in)`.
    pub(crate) before: Vec<T>,
    panel: Vec<T>,
}

/// Parameters updated at once: products and optimiser meet them in the cache.
const PANEL: usize = 1 << 17;

impl<T: Real> Chain<T> {
    pub(crate) fn new(layers: &[Dense]) -> Self {
        Self {
            layers: layers.iter().map(Layer::new).collect(),
            outputs: layers.iter().map(|_| Vec::new()).collect(),
        }
    }

    /// Makes room for `n_rows` rows.
    pub(crate) fn reserve(&mut self, n_rows: usize) {
        for (layer, output) in self.layers.iter().zip(&mut self.outputs) {
            if output.len() < n_rows * layer.n_out {
                output.resize(n_rows * layer.n_out, T::default());
            }
        }
    }

    /// The widest of its layers.
    pub(crate) fn width(&self) -> usize {
        self.layers.iter().map(|layer| layer.n_in.max(layer.n_out)).max().unwrap_or(0)
    }

    pub(crate) fn n_out(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.n_out)
    }

    /// What the last layer gave for the current rows.
    pub(crate) fn output(&self, n_rows: usize) -> &[T] {
        self.outputs.last().map_or(&[], |output| &output[..n_rows * self.n_out()])
    }

    /// Applies the layers to the rows `x`.
    pub(crate) fn forward(&mut self, x: &[T], n_rows: usize) {
        for (i, layer) in self.layers.iter().enumerate() {
            let (before, behind) = self.outputs.split_at_mut(i);
            let x = before.last().map_or(x, |x| &x[..n_rows * layer.n_in]);
            let y = &mut behind[0][..n_rows * layer.n_out];
            multiply(
                y,
                T::default(),
                MatRef::from_row_major_slice(x, n_rows, layer.n_in),
                layer.weight(),
            );
            passes::add_bias(y, &layer.bias.value, i + 1 < self.layers.len());
        }
    }

    /// Turns the gradient of the output, in `buffers.behind`, into updates and, where wanted, into the gradient of
    /// the input, which is then in `buffers.behind`.
    pub(crate) fn backward(
        &mut self,
        x: &[T],
        n_rows: usize,
        buffers: &mut Buffers<T>,
        update: Update<T>,
        wants_input: bool,
    ) {
        if let Some(last) = self.layers.last_mut() {
            passes::column_sums(&buffers.behind[..n_rows * last.n_out], &mut last.bias_gradient);
        }
        for i in (0..self.layers.len()).rev() {
            let (front, layers) = self.layers.split_at_mut(i);
            let layer = &mut layers[0];
            let x = if i > 0 { &self.outputs[i - 1][..n_rows * layer.n_in] } else { x };
            let Buffers { behind, before, panel } = buffers;
            let behind =
                MatRef::from_row_major_slice(&behind[..n_rows * layer.n_out], n_rows, layer.n_out);
            let before = &mut before[..n_rows * layer.n_in];
            if i > 0 || wants_input {
                multiply(before, T::default(), behind, layer.weight().transpose());
            }
            layer.update(
                MatRef::from_row_major_slice(x, n_rows, layer.n_in),
                behind,
                panel,
                update,
            );
            if let Some(layer) = front.last_mut() {
                passes::unrelu(before, x, &mut layer.bias_gradient);
            }
            std::mem::swap(&mut buffers.behind, &mut buffers.before);
        }
    }

    pub(crate) fn start(&mut self, n_moments: usize) {
        for layer in &mut self.layers {
            for parameter in [&mut layer.weight, &mut layer.bias] {
                parameter.moments = vec![vec![T::default(); parameter.value.len()]; n_moments];
            }
        }
    }

    pub(crate) fn export(&self, of: Of) -> Vec<Dense> {
        self.layers.iter().map(|layer| layer.export(of)).collect()
    }

    pub(crate) fn restore(&mut self, of: usize, layers: &[Dense]) {
        for (layer, saved) in self.layers.iter_mut().zip(layers) {
            layer.weight.moments[of] = layer.stored(saved);
            layer.bias.moments[of] = converted(&saved.bias);
        }
    }
}

impl<T: Real> Layer<T> {
    fn new(dense: &Dense) -> Self {
        let parameter = |value| Parameter { value, moments: Vec::new(), collected: Vec::new() };
        let mut layer = Self {
            n_in: dense.n_in(),
            n_out: dense.n_out(),
            weight: parameter(Vec::new()),
            bias: parameter(converted(&dense.bias)),
            bias_gradient: vec![T::default(); dense.n_out()],
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
            MatRef::from_row_major_slice(&self.weight.value, self.n_in, self.n_out)
        } else {
            MatRef::from_row_major_slice(&self.weight.value, self.n_out, self.n_in).transpose()
        }
    }

    /// Updates weights from their gradient x^T `behind`, and biases from theirs.
    fn update(
        &mut self,
        x: MatRef<'_, T>,
        behind: MatRef<'_, T>,
        panel: &mut Vec<T>,
        update: Update<T>,
    ) {
        let (a, b, n_cols) = if self.starts_with_inputs() {
            (x.transpose(), behind, self.n_out)
        } else {
            (behind.transpose(), x, self.n_in)
        };
        let Parameter { value, moments, collected } = &mut self.weight;
        if let Update::Collect = update {
            collected.resize(value.len(), T::default());
            multiply(collected, T::default(), a, b);
            self.bias.collected.clone_from(&self.bias_gradient);
            return;
        }
        let n_rows = value.len() / n_cols;
        let panel_rows = (PANEL / n_cols).max(1);
        for start in (0..n_rows).step_by(panel_rows) {
            let rows = start..(start + panel_rows).min(n_rows);
            let values = rows.start * n_cols..rows.end * n_cols;
            let theta = &mut value[values.clone()];
            let a = a.subrows(rows.start, rows.len());
            match (update, moments.as_mut_slice()) {
                (Update::Sgd { rate, momentum }, [u]) => {
                    let u = &mut u[values];
                    multiply(u, momentum, a, b);
                    passes::descend(theta, u, rate);
                }
                (Update::Adam(step), [mean, square]) => {
                    panel.resize(theta.len(), T::default());
                    multiply(panel, T::default(), a, b);
                    passes::adam(
                        theta,
                        &mut mean[values.clone()],
                        &mut square[values],
                        panel,
                        step,
                    );
                }
                _ => unreachable!("a stage starts with the moments of its optimiser"),
            }
        }
        let Parameter { value, moments, .. } = &mut self.bias;
        match (update, moments.as_mut_slice()) {
            (Update::Sgd { rate, momentum }, [u]) => {
                for (u, &gradient) in u.iter_mut().zip(&self.bias_gradient) {
                    *u = momentum * *u + gradient;
                }
                passes::descend(value, u, rate);
            }
            (Update::Adam(step), [mean, square]) => {
                passes::adam(value, mean, square, &self.bias_gradient, step);
            }
            _ => unreachable!("a stage starts with the moments of its optimiser"),
        }
    }

    fn export(&self, of: Of) -> Dense {
        let singles = |parameter: &Parameter<T>| -> Vec<f32> {
            let values = match of {
                Of::Value => &parameter.value,
                Of::Moment(i) => &parameter.moments[i],
                Of::Collected if parameter.collected.is_empty() => {
                    return vec![0.0; parameter.value.len()];
                }
                Of::Collected => &parameter.collected,
            };
            values.iter().map(|value| value.as_f64() as f32).collect()
        };
        let values = singles(&self.weight);
        let at = |i: usize, j: usize| {
            if self.starts_with_inputs() {
                values[j * self.n_out + i]
            } else {
                values[i * self.n_in + j]
            }
        };
        Dense {
            weight: Array2::from_shape_fn((self.n_out, self.n_in), |(i, j)| at(i, j)),
            bias: Array1::from_vec(singles(&self.bias)),
        }
    }

    pub(crate) fn forget_collected(&mut self) {
        self.weight.collected.clear();
        self.bias.collected.clear();
    }
}

impl<T: Real> Buffers<T> {
    /// Room for `n_rows` rows of layers as wide as `width`.
    pub(crate) fn reserve(&mut self, n_rows: usize, width: usize) {
        for buffer in [&mut self.behind, &mut self.before] {
            if buffer.len() < n_rows * width {
                buffer.resize(n_rows * width, T::default());
            }
        }
    }
}

impl<T> Default for Buffers<T> {
    fn default() -> Self {
        Self { behind: Vec::new(), before: Vec::new(), panel: Vec::new() }
    }
}

fn converted<'a, T: Real>(values: impl IntoIterator<Item = &'a f32>) -> Vec<T> {
    values.into_iter().map(|&value| T::of(f64::from(value))).collect()
}
