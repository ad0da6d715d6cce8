//! The fused engine for the CPU: explicit forward and backward passes of each view with matrix products.
//!
//! A step uses only the observed rows of each view, reuses buffers, and updates parameters as soon as their gradients
//! are computed. Views run in parallel and are summed in order, so results do not depend on the number of threads.

use crate::{
    Fusion, Goal, NnError, ObservedView, Optimizer, OptimizerState, Targets, Trainer, TrainingData,
    ViewWeights, Weights,
    optimizer::{Stage, Step},
    real::Real,
    trainer,
};
use cdimc_graph::{KnnGraph, laplacian_product};
use chain::{Chain, Gradients};
use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;
use std::{iter, ops::Range};

mod chain;
mod passes;

/// A network in training, with numbers of type `T`.
pub(crate) struct FusedTrainer<T> {
    data: TrainingData,
    /// All observed views.
    fusion: Fusion,
    views: Vec<View<T>>,
    latent: usize,
    n_parameters: usize,
    /// Fused latents of the batch (eq. 4), `(n_batch, latent)`, and the gradient with respect to them.
    z: Vec<T>,
    z_gradient: Vec<T>,
    stage: Stage,
}

/// One view: its layers and its part of the current batch.
#[derive(Default)]
struct View<T> {
    encoder: Chain<T>,
    decoder: Chain<T>,
    gradients: Gradients<T>,
    /// Samples of the batch observed in the view, counted from the first of the batch.
    samples: Vec<usize>,
    /// Their observed values, `(samples.len(), n_features)`, and their fused latents, `(samples.len(), latent)`.
    x: Vec<T>,
    z: Vec<T>,
    /// Gradient of the reconstruction with respect to these fused latents.
    z_gradient: Vec<T>,
    reconstruction_loss: f64,
    graph_loss: f64,
}

/// Smallest number of multiplications for which threads pay off.
pub(crate) const MIN_PARALLEL_PRODUCTS: usize = 1 << 22;

impl<T: Real> FusedTrainer<T> {
    pub(crate) fn new(data: TrainingData, weights: &Weights) -> Self {
        let view = |view: &ViewWeights| View {
            encoder: Chain::new(&view.encoder),
            decoder: Chain::new(&view.decoder),
            ..View::default()
        };
        Self {
            fusion: data.input.fusion(),
            views: weights.views.iter().map(view).collect(),
            latent: weights.latent(),
            n_parameters: weights.n_parameters(),
            data,
            z: Vec::new(),
            z_gradient: Vec::new(),
            stage: Stage::default(),
        }
    }

    /// Takes a step on a batch and returns its loss.
    fn pass(&mut self, batch: &Range<usize>, goal: Goal<'_>, step: Step) -> f64 {
        let partial = match goal {
            Goal::ReconstructionFrom(fusion) => Some(fusion),
            _ => None,
        };
        self.encode(batch, partial);
        self.z_gradient.clear();
        self.z_gradient.resize(batch.len() * self.latent, T::default());
        let loss = match goal {
            Goal::Reconstruction | Goal::ReconstructionFrom(_) => {
                self.reconstruction(batch.len(), step)
            }
            Goal::Clusters(targets) => self.clustering(batch, &targets),
        };
        let Self { data, fusion, views, latent, z_gradient, n_parameters, .. } = self;
        let fusion = partial.unwrap_or(fusion);
        let scale = data.alpha / (views.len() * batch.len()) as f64;
        scale_rows(z_gradient, *latent, &fusion.shares[batch.clone()]);
        each(views, batch.len() * *n_parameters, |v, view| {
            let input = &data.input.views[v];
            let graph = &data.graphs[v].induced(input.rows_of(batch));
            gather(&mut view.gradients.output, z_gradient, &view.samples, *latent);
            let gradients = view.gradients.output.chunks_exact_mut(*latent);
            let enters = &fusion.enters[v][input.positions(batch)];
            let others = gradients.zip(enters).filter(|(_, enters)| !**enters);
            others.for_each(|(gradient, _)| gradient.fill(T::default()));
            view.graph_term(graph, scale);
            view.encoder.backward(&view.x, &mut view.gradients, step, false);
        });
        loss + self.views.iter().map(|view| view.graph_loss).sum::<f64>()
    }

    /// Computes the latents of every view and their mean z, over the views of `partial` if there is one.
    fn encode(&mut self, batch: &Range<usize>, partial: Option<&Fusion>) {
        let Self { data, fusion, views, z, latent, n_parameters, .. } = self;
        let fusion = partial.unwrap_or(fusion);
        let inputs = &data.input.views;
        each(views, batch.len() * *n_parameters, |v, view| view.encode(&inputs[v], batch));
        z.clear();
        z.resize(batch.len() * *latent, T::default());
        for (v, view) in views.iter().enumerate() {
            let enters = fusion.enters[v][inputs[v].positions(batch)].iter();
            add_rows(z, &view.samples, view.encoder.output(), *latent, enters);
        }
        scale_rows(z, *latent, &fusion.shares[batch.clone()]);
    }

    /// Returns the reconstruction term; adds its gradient to the decoders and `z_gradient`.
    fn reconstruction(&mut self, n_batch: usize, step: Step) -> f64 {
        let Self { views, z, z_gradient, latent, n_parameters, .. } = self;
        each(views, n_batch * *n_parameters, |_, view| view.reconstruct(z, n_batch, step));
        for view in views.iter() {
            add_rows(z_gradient, &view.samples, &view.z_gradient, *latent, iter::repeat(&true));
        }
        views.iter().map(|view| view.reconstruction_loss).sum()
    }

    /// Returns the clustering term (eq. 11); adds its gradient to `z_gradient`.
    fn clustering(&mut self, batch: &Range<usize>, targets: &Targets<'_>) -> f64 {
        let k = self.latent;
        let n_selected = batch.clone().filter(|&i| targets.selected[i]).count();
        if n_selected == 0 {
            return 0.0;
        }
        let divisor = targets.normalization.divisor(n_selected, batch.len());
        let scale = 1.0 / (k * divisor) as f64;
        let mut sum = 0.0;
        let latents = self.z.chunks_exact(k).zip(self.z_gradient.chunks_exact_mut(k));
        for (i, (z, gradient)) in batch.clone().zip(latents).filter(|&(i, _)| targets.selected[i]) {
            let center = targets.centers.row(targets.labels[i]);
            for ((&z, gradient), &u) in z.iter().zip(gradient).zip(center) {
                let difference = z - T::of(f64::from(u));
                sum += difference.as_f64().powi(2);
                *gradient = T::of(2.0 * scale) * difference;
            }
        }
        sum * scale
    }

    /// Returns the weights, or one of their moments.
    fn export(&self, moment: Option<usize>) -> Weights {
        let view = |view: &View<T>| ViewWeights {
            encoder: view.encoder.export(moment),
            decoder: view.decoder.export(moment),
        };
        Weights { views: self.views.iter().map(view).collect() }
    }
}

impl<T: Real> View<T> {
    fn encode(&mut self, input: &ObservedView, batch: &Range<usize>) {
        self.samples.clear();
        let rows = input.rows_of(batch).iter();
        self.samples.extend(rows.map(|&row| row as usize - batch.start));
        self.x.clear();
        self.x.extend(input.values_of(batch).iter().map(|&x| T::of(f64::from(x))));
        self.encoder.forward(&self.x);
    }

    /// Decodes the fused latents of the observed samples: computes the loss and gradients, and updates the decoder.
    fn reconstruct(&mut self, z: &[T], n_batch: usize, step: Step) {
        let latent = z.len() / n_batch;
        gather(&mut self.z, z, &self.samples, latent);
        self.decoder.forward(&self.z);
        let gradient = &mut self.gradients.output;
        gradient.clear();
        gradient.extend_from_slice(self.decoder.output());
        let width = self.decoder.n_out();
        let scale = 1.0 / (n_batch * width) as f64;
        self.reconstruction_loss = passes::reconstruction(gradient, &self.x, width, scale);
        self.decoder.backward(&self.z, &mut self.gradients, step, true);
        std::mem::swap(&mut self.z_gradient, &mut self.gradients.output);
    }

    /// Computes the graph term `scale` tr(Z^T L Z) for the `graph` of the observed samples, and adds its gradient.
    fn graph_term(&mut self, graph: &KnnGraph, scale: f64) {
        let latents = self.encoder.output();
        let shape = (self.samples.len(), self.encoder.n_out());
        let Ok(z) = ArrayView2::from_shape(shape, latents) else {
            unreachable!("one row of latents per sample")
        };
        let product = laplacian_product(graph, z);
        let slope = T::of(2.0 * scale);
        let mut sum = 0.0;
        for ((gradient, &z), &product) in
            self.gradients.output.iter_mut().zip(latents).zip(&product)
        {
            *gradient += slope * product;
            sum += (z * product).as_f64();
        }
        self.graph_loss = scale * sum;
    }
}

impl<T: Real> Trainer for FusedTrainer<T> {
    fn start(&mut self, optimizer: Optimizer) -> Result<(), NnError> {
        self.stage = Stage::new(optimizer)?;
        for view in &mut self.views {
            view.encoder.start(optimizer.n_moments());
            view.decoder.start(optimizer.n_moments());
        }
        Ok(())
    }

    fn set_learning_rate(&mut self, learning_rate: f64) -> Result<(), NnError> {
        self.stage.set_learning_rate(learning_rate)
    }

    fn train(&mut self, batches: &[Range<usize>], goal: Goal<'_>) -> Result<f64, NnError> {
        self.data.check_step(batches, goal, self.latent)?;
        let mut sum = 0.0;
        for batch in batches {
            let step = self.stage.next_step()?;
            sum += self.pass(batch, goal, step);
        }
        Ok(sum / batches.len() as f64)
    }

    fn embed(&mut self) -> Result<Array2<f32>, NnError> {
        let n_samples = self.data.input.n_samples;
        let mut latents = Array2::zeros((n_samples, self.latent));
        for block in trainer::blocks(n_samples) {
            self.encode(&block, None);
            let rows = latents.slice_mut(ndarray::s![block, ..]);
            for (latent, z) in rows.into_iter().zip(&self.z) {
                *latent = z.as_f64() as f32;
            }
        }
        Ok(latents)
    }

    fn weights(&self) -> Result<Weights, NnError> {
        Ok(self.export(None))
    }

    fn optimizer_state(&self) -> Result<OptimizerState, NnError> {
        let n_moments = self.stage.optimizer()?.n_moments();
        let moments = (0..n_moments).map(|i| self.export(Some(i))).collect();
        Ok(OptimizerState { steps: self.stage.steps, moments })
    }

    fn restore_optimizer(&mut self, state: &OptimizerState) -> Result<(), NnError> {
        state.check(self.stage.optimizer()?, &self.export(None))?;
        for (i, moment) in state.moments.iter().enumerate() {
            for (view, saved) in self.views.iter_mut().zip(&moment.views) {
                view.encoder.restore(i, &saved.encoder);
                view.decoder.restore(i, &saved.decoder);
            }
        }
        self.stage.steps = state.steps;
        Ok(())
    }
}

/// Runs `work` on every view, in parallel if there are threads and enough work.
fn each<T: Send>(
    views: &mut [View<T>],
    n_products: usize,
    work: impl Fn(usize, &mut View<T>) + Sync,
) {
    if n_products > MIN_PARALLEL_PRODUCTS && rayon::current_num_threads() > 1 {
        views.par_iter_mut().enumerate().with_max_len(1).for_each(|(v, view)| work(v, view));
    } else {
        views.iter_mut().enumerate().for_each(|(v, view)| work(v, view));
    }
}

/// Copies the rows `samples` of `rows`.
fn gather<T: Real>(to: &mut Vec<T>, rows: &[T], samples: &[usize], width: usize) {
    to.clear();
    samples.iter().for_each(|&i| to.extend_from_slice(&rows[i * width..][..width]));
}

/// Adds the rows of `values` that enter to the rows `samples` of `sums`.
fn add_rows<'a, T: Real>(
    sums: &mut [T],
    samples: &[usize],
    values: &[T],
    width: usize,
    enters: impl Iterator<Item = &'a bool>,
) {
    let rows = samples.iter().zip(values.chunks_exact(width)).zip(enters);
    for ((&sample, values), _) in rows.filter(|(_, enters)| **enters) {
        let sum = &mut sums[sample * width..][..width];
        sum.iter_mut().zip(values).for_each(|(sum, &value)| *sum += value);
    }
}

fn scale_rows<T: Real>(rows: &mut [T], width: usize, factors: &[f32]) {
    for (row, &factor) in rows.chunks_exact_mut(width).zip(factors) {
        row.iter_mut().for_each(|x| *x *= T::of(f64::from(factor)));
    }
}
