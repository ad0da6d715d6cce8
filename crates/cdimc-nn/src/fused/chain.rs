//! One encoder or decoder: its layers, activations, gradients and optimiser state.

use crate::{
    Dense,
    fused::{
        matrix::{Matrix, Order},
        passes::{self, AdamStep},
        product::{BLOCK, LANES, Left, Line, Product, Real, lines, n_lines, place},
    },
};
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
    /// What each layer gave for the current batch.
    outputs: Vec<Matrix<T>>,
    /// Sums of a product that is being formed.
    sums: Vec<Line<T>>,
}

/// Weights as lines along the narrower side: the wider one then needs no filling up, and the activations
/// there, the largest of all, are never wanted in both orders.
pub(crate) struct Layer<T> {
    n_in: usize,
    n_out: usize,
    weight: Parameter<T>,
    bias: Parameter<T>,
    bias_gradient: Vec<Line<T>>,
}

struct Parameter<T> {
    value: Vec<Line<T>>,
    moments: Vec<Vec<Line<T>>>,
    /// The last gradient that was kept.
    collected: Vec<Line<T>>,
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
    /// Gradient behind the current layer, `(n_samples, n_out)`.
    pub(crate) behind: Matrix<T>,
    /// Gradient in front of it, `(n_samples, n_in)`.
    before: Matrix<T>,
    /// Sums over a gradient's samples, of every sixteenth one each.
    column: Vec<Line<T>>,
}

impl<T: Real> Chain<T> {
    pub(crate) fn new(layers: &[Dense]) -> Self {
        Self {
            layers: layers.iter().map(Layer::new).collect(),
            outputs: layers.iter().map(|_| Matrix::default()).collect(),
            sums: Vec::new(),
        }
    }

    /// The widest of its layers.
    pub(crate) fn width(&self) -> usize {
        self.layers.iter().map(|layer| layer.n_in.max(layer.n_out)).max().unwrap_or(0)
    }

    /// What the last layer gave for the current batch.
    pub(crate) fn output(&mut self) -> &mut Matrix<T> {
        let last = self.outputs.len() - 1;
        &mut self.outputs[last]
    }

    /// Applies the layers to `x`.
    pub(crate) fn forward(&mut self, x: &mut Matrix<T>) {
        let last = self.layers.len() - 1;
        for (i, layer) in self.layers.iter().enumerate() {
            let (before, behind) = self.outputs.split_at_mut(i);
            let x = before.last_mut().unwrap_or(x);
            layer.forward(x, &mut behind[0], i < last, &mut self.sums);
        }
    }

    /// Turns the gradient of the output, in `buffers.behind`, into updates and, where wanted, into the gradient of
    /// the input, which is then in `buffers.behind`.
    pub(crate) fn backward(
        &mut self,
        x: &mut Matrix<T>,
        buffers: &mut Buffers<T>,
        update: Update<T>,
        wants_input: bool,
    ) {
        if let Some(last) = self.layers.last_mut() {
            last.sum_gradient(buffers);
        }
        for i in (0..self.layers.len()).rev() {
            let (front, layers) = self.layers.split_at_mut(i);
            let layer = &mut layers[0];
            let x = if i > 0 { &mut self.outputs[i - 1] } else { &mut *x };
            if i > 0 || wants_input {
                layer.backward(x, buffers, front.last_mut(), &mut self.sums);
            }
            layer.update(x, &mut buffers.behind, update, &mut self.sums);
            std::mem::swap(&mut buffers.behind, &mut buffers.before);
        }
    }

    pub(crate) fn start(&mut self, n_moments: usize) {
        for layer in &mut self.layers {
            for parameter in [&mut layer.weight, &mut layer.bias] {
                parameter.moments = vec![vec![Line::default(); parameter.value.len()]; n_moments];
            }
        }
    }

    pub(crate) fn export(&self, of: Of) -> Vec<Dense> {
        self.layers.iter().map(|layer| layer.export(of)).collect()
    }

    pub(crate) fn restore(&mut self, of: usize, layers: &[Dense]) {
        for (layer, saved) in self.layers.iter_mut().zip(layers) {
            layer.weight.moments[of] = layer.stored(saved);
            layer.bias.moments[of] = lines(1, layer.n_out, |_, j| saved.bias[j]);
        }
    }
}

impl<T: Real> Layer<T> {
    fn new(dense: &Dense) -> Self {
        let parameter = |value| Parameter { value, moments: Vec::new(), collected: Vec::new() };
        let (n_in, n_out) = (dense.n_in(), dense.n_out());
        let mut layer = Self {
            n_in,
            n_out,
            weight: parameter(Vec::new()),
            bias: parameter(lines(1, n_out, |_, j| dense.bias[j])),
            bias_gradient: vec![Line::default(); n_lines(1, n_out)],
        };
        layer.weight.value = layer.stored(dense);
        layer
    }

    /// Whether a line of weights is a piece of what one input gives to the outputs.
    fn lines_along_outputs(&self) -> bool {
        self.n_out < self.n_in
    }

    fn stored(&self, dense: &Dense) -> Vec<Line<T>> {
        if self.lines_along_outputs() {
            lines(self.n_in, self.n_out, |i, j| dense.weight[(j, i)])
        } else {
            lines(self.n_out, self.n_in, |i, j| dense.weight[(i, j)])
        }
    }

    /// y <- x W^T + b, then `ReLU` where `relu`.
    fn forward(&self, x: &mut Matrix<T>, y: &mut Matrix<T>, relu: bool, sums: &mut Vec<Line<T>>) {
        let (n_samples, n_in, n_out) = (x.n_samples(), self.n_in, self.n_out);
        let (weight, bias) = (&self.weight.value, &self.bias.value);
        if self.lines_along_outputs() {
            let y = y.start(n_samples, n_out, Order::Rows);
            let product = Product {
                n_rows: n_samples,
                n_inner: n_in,
                n_columns: n_out,
                a: x.left(),
                b: weight,
            };
            product.form(sums, |panel, _, at, products| {
                passes::bias_rows(&mut y[at..], products, &bias[panel], relu);
            });
        } else {
            let y = y.start(n_samples, n_out, Order::Columns);
            let x = x.lines(Order::Columns);
            let product = Product {
                n_rows: n_out,
                n_inner: n_in,
                n_columns: n_samples,
                a: Left::Rows(weight),
                b: x,
            };
            product.form(sums, |_, row, at, products| {
                passes::bias_columns(&mut y[at..], products, &bias[row / LANES..], relu);
            });
        }
    }

    /// The gradient with respect to x, or to what `front` gave before `ReLU` and so to its biases.
    fn backward(
        &self,
        x: &mut Matrix<T>,
        buffers: &mut Buffers<T>,
        front: Option<&mut Self>,
        sums: &mut Vec<Line<T>>,
    ) {
        let (n_samples, n_in, n_inner) = (x.n_samples(), self.n_in, self.n_out);
        let (weight, Buffers { behind, before, column }) = (self.weight.value.as_slice(), buffers);
        let (order, product) = if self.lines_along_outputs() {
            let (a, b) = (Left::Rows(weight), behind.lines(Order::Columns));
            (Order::Columns, Product { n_rows: n_in, n_inner, n_columns: n_samples, a, b })
        } else {
            let (a, b) = (behind.left(), weight);
            (Order::Rows, Product { n_rows: n_samples, n_inner, n_columns: n_in, a, b })
        };
        let before = before.start(n_samples, n_in, order);
        let Some(front) = front else {
            product.form(sums, |_, _, at, products| {
                before[at..][..products.len()].copy_from_slice(products);
            });
            return;
        };
        let (y, totals) = (x.lines(order), &mut front.bias_gradient);
        match order {
            Order::Rows => {
                totals.fill(Line::default());
                product.form(sums, |panel, _, at, products| {
                    passes::unrelu_rows(&mut before[at..], products, &y[at..], &mut totals[panel]);
                });
            }
            Order::Columns => {
                let column = zeros(column, n_in);
                product.form(sums, |_, row, at, products| {
                    let sums = &mut column[row..];
                    passes::unrelu_columns(&mut before[at..], products, &y[at..], sums);
                });
                passes::totals(totals, column);
            }
        }
    }

    /// The gradient of the biases where nothing follows the layer.
    fn sum_gradient(&mut self, buffers: &mut Buffers<T>) {
        let Buffers { behind, column, .. } = buffers;
        let (order, n_samples, n_out) = (behind.order(), behind.n_samples(), self.n_out);
        let lines = behind.lines(order);
        let totals = &mut self.bias_gradient;
        totals.fill(Line::default());
        match order {
            Order::Rows => {
                for row in (0..n_samples).step_by(BLOCK) {
                    for (panel, total) in totals.iter_mut().enumerate() {
                        let at = place(n_samples, n_out.div_ceil(LANES), panel, row);
                        passes::sum_rows(total, &lines[at..][..BLOCK.min(n_samples - row)]);
                    }
                }
            }
            Order::Columns => {
                let column = zeros(column, n_out);
                let n_panels = n_samples.div_ceil(LANES);
                for (block, sums) in column.chunks_mut(BLOCK).enumerate() {
                    for panel in 0..n_panels {
                        let at = place(n_out, n_panels, panel, block * BLOCK);
                        passes::sum_columns(sums, &lines[at..]);
                    }
                }
                passes::totals(totals, column);
            }
        }
    }

    /// Updates weights from their gradient, that of what `behind` came from times x, and biases from theirs.
    fn update(
        &mut self,
        x: &mut Matrix<T>,
        behind: &mut Matrix<T>,
        update: Update<T>,
        sums: &mut Vec<Line<T>>,
    ) {
        let (n_inner, n_in, n_out) = (x.n_samples(), self.n_in, self.n_out);
        let product = if self.lines_along_outputs() {
            let (a, b) = (x.left_transposed(), behind.lines(Order::Rows));
            Product { n_rows: n_in, n_inner, n_columns: n_out, a, b }
        } else {
            let (a, b) = (behind.left_transposed(), x.lines(Order::Rows));
            Product { n_rows: n_out, n_inner, n_columns: n_in, a, b }
        };
        let weight = &mut self.weight;
        weight.prepare(update);
        product.form(sums, |_, _, at, gradient| weight.update(at, gradient, update));
        self.bias.prepare(update);
        self.bias.update(0, &self.bias_gradient, update);
    }

    fn export(&self, of: Of) -> Dense {
        let number =
            |parameter: &Parameter<T>, (n_rows, n_columns): (usize, usize), i, j: usize| {
                let lines = match of {
                    Of::Value => &parameter.value,
                    Of::Moment(i) => &parameter.moments[i],
                    Of::Collected => &parameter.collected,
                };
                let line = lines.get(place(n_rows, n_columns.div_ceil(LANES), j / LANES, i));
                line.map_or(0.0, |line| line.0[j % LANES].as_f64() as f32)
            };
        let (weight, shape) = (&self.weight, (self.n_out, self.n_in));
        Dense {
            weight: if self.lines_along_outputs() {
                Array2::from_shape_fn(shape, |(i, j)| number(weight, (self.n_in, self.n_out), j, i))
            } else {
                Array2::from_shape_fn(shape, |(i, j)| number(weight, (self.n_out, self.n_in), i, j))
            },
            bias: Array1::from_shape_fn(self.n_out, |j| number(&self.bias, (1, self.n_out), 0, j)),
        }
    }

    pub(crate) fn forget_collected(&mut self) {
        self.weight.collected.clear();
        self.bias.collected.clear();
    }
}

impl<T: Real> Parameter<T> {
    fn prepare(&mut self, update: Update<T>) {
        if let Update::Collect = update {
            self.collected.resize(self.value.len(), Line::default());
        }
    }

    /// Does with a gradient, that of the numbers from line `start` on, what `update` says.
    fn update(&mut self, start: usize, gradient: &[Line<T>], update: Update<T>) {
        let lines = start..start + gradient.len();
        let theta = &mut self.value[lines.clone()];
        match (update, self.moments.as_mut_slice()) {
            (Update::Sgd { rate, momentum }, [u]) => {
                passes::sgd(theta, &mut u[lines], gradient, rate, momentum);
            }
            (Update::Adam(step), [mean, square]) => {
                passes::adam(theta, &mut mean[lines.clone()], &mut square[lines], gradient, step);
            }
            (Update::Collect, _) => self.collected[lines].copy_from_slice(gradient),
            _ => unreachable!("a stage starts with the moments of its optimiser"),
        }
    }
}

impl<T: Real> Buffers<T> {
    /// Room for `n_samples` of layers as wide as `width`.
    pub(crate) fn reserve(&mut self, n_samples: usize, width: usize) {
        self.behind.reserve(n_samples, width);
        self.before.reserve(n_samples, width);
        if self.column.len() < width {
            self.column.resize(width, Line::default());
        }
    }
}

impl<T> Default for Buffers<T> {
    fn default() -> Self {
        Self { behind: Matrix::default(), before: Matrix::default(), column: Vec::new() }
    }
}

/// The first `n` lines, all zero.
fn zeros<T: Real>(lines: &mut [Line<T>], n: usize) -> &mut [Line<T>] {
    lines[..n].fill(Line::default());
    &mut lines[..n]
}
