//! A fully connected layer with its optimiser's moments, in 32-bit floats on the CPU.

use super::networks::{Adam, Affine};
use super::passes::{Activation, AdamStep, add_rows};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// y = f(x W + b).
pub(super) struct Layer {
    n_in: usize,
    n_out: usize,
    weight: Parameter,
    bias: Parameter,
    activation: Activation,
}

/// Values and their moments.
pub(super) struct Parameter {
    pub(super) value: Vec<f32>,
    pub(super) mean: Vec<f32>,
    square: Vec<f32>,
}

/// The optimiser of a stage.
pub(super) struct Optimizer {
    adam: Adam,
    t: i32,
    step: AdamStep,
    /// The gradient of some of a layer's weights.
    panel: Vec<f32>,
}

/// What a layer was given, `(n, n_in)`, and the gradient behind its product, `(n, n_out)`.
pub(super) type Term<'a> = (&'a [f32], &'a [f32]);

impl Layer {
    pub(super) fn new(affine: &Affine, activation: Activation) -> Self {
        let Affine { n_in, n_out, weight, bias } = affine;
        let (weight, bias) = (Parameter::new(weight), Parameter::new(bias));
        Self { n_in: *n_in, n_out: *n_out, weight, bias, activation }
    }

    pub(super) fn n_in(&self) -> usize {
        self.n_in
    }

    pub(super) fn n_out(&self) -> usize {
        self.n_out
    }

    pub(super) fn forward(&self, x: &[f32], y: &mut [f32]) {
        multiply(y, Accum::Replace, rows(x, self.n_in), self.weight());
        self.activation.apply(y, &self.bias.value);
    }

    /// The gradient behind the product from that of the output `y`, in place.
    pub(super) fn undo_activation(&self, gradient: &mut [f32], y: &[f32]) {
        self.activation.undo(gradient, y);
    }

    /// The gradient of the input from that behind the product, in place of `before` or added to it.
    pub(super) fn backward(&self, behind: &[f32], into: Accum, before: &mut [f32]) {
        multiply(before, into, rows(behind, self.n_out), self.weight().transpose());
    }

    /// One step along the gradient that `terms` sum up to.
    ///
    /// Weights meet their gradients part by part in the cache; the whole gradient is never in memory.
    pub(super) fn update(&mut self, terms: &[Term<'_>], optimizer: &mut Optimizer) {
        const PANEL: usize = 1 << 15;
        let Self { n_in, n_out, weight, bias, .. } = self;
        let Optimizer { panel, step, .. } = optimizer;
        let panel_rows = (PANEL / *n_out).max(1);
        for start in (0..*n_in).step_by(panel_rows) {
            let n_rows = panel_rows.min(*n_in - start);
            panel.resize(n_rows * *n_out, 0.0);
            let mut into = Accum::Replace;
            for &(x, behind) in terms {
                let x = rows(x, *n_in).subcols(start, n_rows);
                multiply(panel, into, x.transpose(), rows(behind, *n_out));
                into = Accum::Add;
            }
            weight.step(start * *n_out, panel, *step);
        }
        panel.clear();
        panel.resize(bias.value.len(), 0.0);
        if !panel.is_empty() {
            terms.iter().for_each(|(_, behind)| add_rows(panel, behind));
            bias.step(0, panel, *step);
        }
    }

    pub(super) fn forget_moments(&mut self) {
        for parameter in [&mut self.weight, &mut self.bias] {
            *parameter = Parameter::new(&parameter.value);
        }
    }

    #[cfg(test)]
    pub(super) fn means(&self) -> impl Iterator<Item = Vec<f32>> {
        [&self.weight, &self.bias].map(|parameter| parameter.mean.clone()).into_iter()
    }

    fn weight(&self) -> MatRef<'_, f32> {
        rows(&self.weight.value, self.n_out)
    }
}

impl Parameter {
    pub(super) fn new(value: &[f32]) -> Self {
        let zeros = vec![0.0; value.len()];
        Self { value: value.to_vec(), mean: zeros.clone(), square: zeros }
    }

    /// Moves the values from the one at `start` on along their gradient.
    pub(super) fn step(&mut self, start: usize, gradient: &[f32], step: AdamStep) {
        let part = start..start + gradient.len();
        let Self { value, mean, square } = self;
        step.take(&mut value[part.clone()], &mut mean[part.clone()], &mut square[part], gradient);
    }
}

impl Optimizer {
    pub(super) fn new(adam: Adam) -> Self {
        Self { adam, t: 0, step: AdamStep::new(adam, 1), panel: Vec::new() }
    }

    /// To be called before the updates of each step.
    pub(super) fn advance(&mut self) -> AdamStep {
        self.t = self.t.saturating_add(1);
        self.step = AdamStep::new(self.adam, self.t);
        self.step
    }
}

fn rows(values: &[f32], width: usize) -> MatRef<'_, f32> {
    MatRef::from_row_major_slice(values, values.len() / width, width)
}

/// c ← a b, or c + a b, c row after row. In this thread: the bits do not depend on the number of threads.
fn multiply(c: &mut [f32], into: Accum, a: MatRef<'_, f32>, b: MatRef<'_, f32>) {
    let c = MatMut::from_row_major_slice_mut(c, a.nrows(), b.ncols());
    matmul(c, into, a, b, 1.0, Par::Seq);
}
