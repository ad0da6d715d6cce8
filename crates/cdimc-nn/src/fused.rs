//! The fused engine: forward and backward passes of the per-view stacks written out over matrix products, for the CPU.
//!
//! A step takes the present rows of each view only, allocates nothing once its buffers are as large as the
//! largest batch, and updates parameters where their gradients arise. Views run in parallel and are summed in
//! their order, so that results do not depend on the number of threads.

use crate::{
    NetworkInput, NnError, Optimizer, OptimizerState, Targets, Trainer, ViewWeights, Weights,
    fused::{
        chain::{Buffers, Chain, Of, Update},
        matrix::Matrix,
        passes::AdamStep,
        product::Real,
    },
    trainer,
};
use cdimc_graph::KnnGraph;
use ndarray::Array2;
use rayon::prelude::*;
use std::{ops::Range, sync::Arc};

mod chain;
mod matrix;
mod passes;
mod product;

/// A network in training, in numbers of type `T`.
pub(crate) struct FusedTrainer<T> {
    data: Data,
    views: Vec<View<T>>,
    latent: usize,
    n_parameters: usize,
    /// Fused latents of the batch (eq. 4), `(n_batch, latent)`, and the gradient with respect to them.
    z: Vec<T>,
    z_gradient: Vec<T>,
    optimizer: Option<Optimizer>,
    steps: u64,
}

/// What does not change in training.
struct Data {
    input: Arc<NetworkInput>,
    graphs: Arc<Vec<KnnGraph>>,
    alpha: f64,
    /// 1 / number of views of each sample.
    shares: Vec<f32>,
}

/// One view: its layers and what it has of the current batch.
struct View<T> {
    encoder: Chain<T>,
    decoder: Chain<T>,
    buffers: Buffers<T>,
    /// The view's observed rows in the batch.
    positions: Range<usize>,
    /// For each sample of the batch its position counted from `positions.start`, or [`ABSENT`].
    places: Vec<u32>,
    /// The observed values and the latents of the present samples, `(positions.len(), latent)`.
    x: Matrix<T>,
    latents: Vec<T>,
    /// Their fused latents, and a gradient with respect to these or to the view's own.
    z: Matrix<T>,
    z_gradient: Vec<T>,
    reconstruction: f64,
    graph: f64,
}

const ABSENT: u32 = u32::MAX;

/// Multiplications, some tens of microseconds of them, below which threads cost more than they give.
pub(crate) const WORTH_THREADS: usize = 1 << 22;

/// What a batch is trained towards.
#[derive(Clone, Copy)]
enum Goal<'a> {
    Reconstruction,
    Clusters(Targets<'a>),
}

impl<T: Real> FusedTrainer<T> {
    pub(crate) fn new(
        input: Arc<NetworkInput>,
        graphs: Arc<Vec<KnnGraph>>,
        weights: &Weights,
        alpha: f64,
    ) -> Self {
        let view = |view: &ViewWeights| View {
            encoder: Chain::new(&view.encoder),
            decoder: Chain::new(&view.decoder),
            buffers: Buffers::default(),
            positions: 0..0,
            places: Vec::new(),
            x: Matrix::default(),
            latents: Vec::new(),
            z: Matrix::default(),
            z_gradient: Vec::new(),
            reconstruction: 0.0,
            graph: 0.0,
        };
        let shares = input.views_of_samples().iter().map(|&count| 1.0 / count as f32).collect();
        Self {
            views: weights.views.iter().map(view).collect(),
            latent: weights.latent(),
            n_parameters: weights.n_parameters(),
            data: Data { input, graphs, alpha, shares },
            z: Vec::new(),
            z_gradient: Vec::new(),
            optimizer: None,
            steps: 0,
        }
    }

    /// Loss of a batch, its gradients handed to `update`.
    fn pass(
        &mut self,
        batch: Range<usize>,
        goal: Goal<'_>,
        update: Update<T>,
    ) -> Result<f64, NnError> {
        trainer::check_batch(&batch, self.data.input.n_samples)?;
        if let Goal::Clusters(targets) = goal {
            targets.check(self.data.input.n_samples, self.latent)?;
        }
        self.encode(&batch);
        let loss = match goal {
            Goal::Reconstruction => self.reconstruct(&batch, update),
            Goal::Clusters(targets) => self.gather(&batch, &targets),
        };
        let n_products = batch.len() * self.n_parameters;
        let Self { data, views, latent, z_gradient, .. } = self;
        let scale = data.alpha / (views.len() * batch.len()) as f64;
        each(views, n_products, |v, view| {
            view.latent_gradient(data, v, &batch, z_gradient, scale, *latent);
            view.encoder_backward(*latent, update);
        });
        Ok(loss + self.views.iter().map(|view| view.graph).sum::<f64>())
    }

    /// Latents of every view and their mean z.
    fn encode(&mut self, batch: &Range<usize>) {
        let n_products = batch.len() * self.n_parameters;
        let Self { data, views, z, z_gradient, latent, .. } = self;
        each(views, n_products, |v, view| view.encode(data, v, batch));
        z.clear();
        z.resize(batch.len() * *latent, T::default());
        z_gradient.clear();
        z_gradient.resize(batch.len() * *latent, T::default());
        for (view, observed) in views.iter().zip(&data.input.views) {
            let rows = &observed.rows[view.positions.clone()];
            for (&row, latents) in rows.iter().zip(view.latents.chunks_exact(*latent)) {
                add(sample_mut(z, row as usize - batch.start, *latent), latents);
            }
        }
        for (z, &share) in z.chunks_exact_mut(*latent).zip(&data.shares[batch.clone()]) {
            passes::scale(z, T::of(f64::from(share)));
        }
    }

    /// The reconstruction term; its gradient goes into the decoders and `z_gradient`.
    fn reconstruct(&mut self, batch: &Range<usize>, update: Update<T>) -> f64 {
        let n_products = batch.len() * self.n_parameters;
        let Self { data, views, z, z_gradient, latent, .. } = self;
        each(views, n_products, |v, view| view.reconstruct(data, v, batch, z, *latent, update));
        for (view, observed) in views.iter().zip(&data.input.views) {
            let rows = &observed.rows[view.positions.clone()];
            for (&row, gradient) in rows.iter().zip(view.z_gradient.chunks_exact(*latent)) {
                add(sample_mut(z_gradient, row as usize - batch.start, *latent), gradient);
            }
        }
        views.iter().map(|view| view.reconstruction).sum()
    }

    /// The clustering term (eq. 11); its gradient goes into `z_gradient`.
    fn gather(&mut self, batch: &Range<usize>, targets: &Targets<'_>) -> f64 {
        let k = self.latent;
        let n_selected = batch.clone().filter(|&i| targets.selected[i]).count();
        if n_selected == 0 {
            return 0.0;
        }
        let divisor = targets.normalization.divisor(n_selected, batch.len());
        let scale = 1.0 / (k * divisor) as f64;
        let mut sum = 0.0;
        for i in batch.clone().filter(|&i| targets.selected[i]) {
            let z = sample(&self.z, i - batch.start, k);
            let gradient = sample_mut(&mut self.z_gradient, i - batch.start, k);
            let center = targets.centers.row(targets.labels[i]);
            for ((&z, gradient), &u) in z.iter().zip(gradient).zip(center) {
                let difference = z - T::of(f64::from(u));
                sum += difference.as_f64().powi(2);
                *gradient = T::of(2.0 * scale) * difference;
            }
        }
        sum * scale
    }

    fn update(&mut self) -> Result<Update<T>, NnError> {
        let optimizer = trainer::started(self.optimizer)?;
        self.steps += 1;
        Ok(match optimizer {
            Optimizer::Sgd { learning_rate, momentum } => {
                Update::Sgd { rate: T::of(learning_rate), momentum: T::of(momentum) }
            }
            Optimizer::Adam { learning_rate, beta1, beta2, epsilon } => {
                let steps = i32::try_from(self.steps).unwrap_or(i32::MAX);
                Update::Adam(AdamStep {
                    rate: T::of(learning_rate / (1.0 - beta1.powi(steps))),
                    root: T::of(1.0 / (1.0 - beta2.powi(steps)).sqrt()),
                    beta1: T::of(beta1),
                    beta2: T::of(beta2),
                    epsilon: T::of(epsilon),
                })
            }
        })
    }

    fn gradients(
        &mut self,
        batch: Range<usize>,
        goal: Goal<'_>,
    ) -> Result<(f64, Weights), NnError> {
        for view in &mut self.views {
            for layer in view.encoder.layers.iter_mut().chain(&mut view.decoder.layers) {
                layer.forget_collected();
            }
        }
        let loss = self.pass(batch, goal, Update::Collect)?;
        Ok((loss, self.export(Of::Collected)))
    }

    fn export(&self, of: Of) -> Weights {
        let view = |view: &View<T>| ViewWeights {
            encoder: view.encoder.export(of),
            decoder: view.decoder.export(of),
        };
        Weights { views: self.views.iter().map(view).collect() }
    }
}

impl<T: Real> View<T> {
    fn encode(&mut self, data: &Data, v: usize, batch: &Range<usize>) {
        let observed = &data.input.views[v];
        self.positions = observed.positions(batch);
        let width = observed.n_features();
        let values = observed.values.as_slice().unwrap_or_default();
        let values = &values[self.positions.start * width..self.positions.end * width];
        self.x.fill(self.positions.len(), width, values.chunks_exact(width));
        self.encoder.forward(&mut self.x);
        self.encoder.output().copy_to(&mut self.latents);
    }

    /// Decodes the fused latents of the present samples; loss, gradients and updates of the decoder.
    fn reconstruct(
        &mut self,
        data: &Data,
        v: usize,
        batch: &Range<usize>,
        z: &[T],
        latent: usize,
        update: Update<T>,
    ) {
        let rows = &data.input.views[v].rows[self.positions.clone()];
        let latents = rows.iter().map(|&row| sample(z, row as usize - batch.start, latent));
        self.z.fill(rows.len(), latent, latents);
        self.decoder.forward(&mut self.z);
        self.buffers.reserve(rows.len(), self.decoder.width());
        let decoded = self.decoder.output();
        let (width, order) = (decoded.n_features(), decoded.order());
        decoded.clear_beyond();
        let gradient = self.buffers.behind.start(rows.len(), width, order);
        let scale = 1.0 / (batch.len() * width) as f64;
        let (decoded, x) = (decoded.lines(order), self.x.lines(order));
        self.reconstruction = passes::reconstruction(gradient, decoded, x, scale);
        self.decoder.backward(&mut self.z, &mut self.buffers, update, true);
        self.buffers.behind.copy_to(&mut self.z_gradient);
    }

    /// The gradient with respect to the view's latents, through the fusion and of the graph term
    /// `scale` tr(Z^T L Z) = `scale` / 2 `sum_ij` `N_ij` |`z_i` - `z_j`|^2.
    fn latent_gradient(
        &mut self,
        data: &Data,
        v: usize,
        batch: &Range<usize>,
        z_gradient: &[T],
        scale: f64,
        latent: usize,
    ) {
        let rows = &data.input.views[v].rows[self.positions.clone()];
        self.places.clear();
        self.places.resize(batch.len(), ABSENT);
        for (place, &row) in (0..).zip(rows) {
            self.places[row as usize - batch.start] = place;
        }
        self.z_gradient.resize(rows.len() * latent, T::default());
        let slope = T::of(2.0 * scale);
        let mut sum = 0.0;
        for (i, &row) in rows.iter().enumerate() {
            let gradient = sample_mut(&mut self.z_gradient, i, latent);
            gradient.copy_from_slice(sample(z_gradient, row as usize - batch.start, latent));
            let share = T::of(f64::from(data.shares[row as usize]));
            for gradient in gradient.iter_mut() {
                *gradient = share * *gradient;
            }
            let z_i = sample(&self.latents, i, latent);
            for &neighbor in data.graphs[v].neighbors_within(row as usize, batch) {
                let place = self.places[neighbor as usize - batch.start];
                if place == ABSENT {
                    continue;
                }
                let z_j = sample(&self.latents, place as usize, latent);
                let mut squares = T::default();
                for ((gradient, &z_i), &z_j) in gradient.iter_mut().zip(z_i).zip(z_j) {
                    let difference = z_i - z_j;
                    squares += difference * difference;
                    *gradient += slope * difference;
                }
                sum += squares.as_f64();
            }
        }
        self.graph = 0.5 * scale * sum;
    }

    fn encoder_backward(&mut self, latent: usize, update: Update<T>) {
        let (n_samples, width) = (self.positions.len(), self.encoder.width());
        self.buffers.reserve(n_samples, width);
        self.buffers.behind.fill(n_samples, latent, self.z_gradient.chunks_exact(latent));
        self.encoder.backward(&mut self.x, &mut self.buffers, update, false);
    }
}

impl<T: Real> Trainer for FusedTrainer<T> {
    fn start(&mut self, optimizer: Optimizer) -> Result<(), NnError> {
        optimizer.check()?;
        for view in &mut self.views {
            view.encoder.start(optimizer.n_moments());
            view.decoder.start(optimizer.n_moments());
        }
        self.optimizer = Some(optimizer);
        self.steps = 0;
        Ok(())
    }

    fn pretrain_step(&mut self, batch: Range<usize>) -> Result<f64, NnError> {
        let update = self.update()?;
        self.pass(batch, Goal::Reconstruction, update)
    }

    fn finetune_step(&mut self, batch: Range<usize>, targets: Targets<'_>) -> Result<f64, NnError> {
        let update = self.update()?;
        self.pass(batch, Goal::Clusters(targets), update)
    }

    fn pretrain_gradients(&mut self, batch: Range<usize>) -> Result<(f64, Weights), NnError> {
        self.gradients(batch, Goal::Reconstruction)
    }

    fn finetune_gradients(
        &mut self,
        batch: Range<usize>,
        targets: Targets<'_>,
    ) -> Result<(f64, Weights), NnError> {
        self.gradients(batch, Goal::Clusters(targets))
    }

    fn fused(&mut self) -> Result<Array2<f32>, NnError> {
        let n_samples = self.data.input.n_samples;
        let mut fused = Array2::zeros((n_samples, self.latent));
        for block in trainer::blocks(n_samples) {
            self.encode(&block);
            let rows = fused.slice_mut(ndarray::s![block, ..]);
            for (fused, z) in rows.into_iter().zip(&self.z) {
                *fused = z.as_f64() as f32;
            }
        }
        Ok(fused)
    }

    fn weights(&self) -> Result<Weights, NnError> {
        Ok(self.export(Of::Value))
    }

    fn optimizer_state(&self) -> Result<OptimizerState, NnError> {
        let n_moments = trainer::started(self.optimizer)?.n_moments();
        let moments = (0..n_moments).map(|i| self.export(Of::Moment(i))).collect();
        Ok(OptimizerState { steps: self.steps, moments })
    }

    fn restore_optimizer(&mut self, state: &OptimizerState) -> Result<(), NnError> {
        state.check(trainer::started(self.optimizer)?, &self.export(Of::Value))?;
        for (i, moment) in state.moments.iter().enumerate() {
            for (view, saved) in self.views.iter_mut().zip(&moment.views) {
                view.encoder.restore(i, &saved.encoder);
                view.decoder.restore(i, &saved.decoder);
            }
        }
        self.steps = state.steps;
        Ok(())
    }
}

/// Does something with every view, in parallel where there are threads and enough work to wake them for.
fn each<T: Send>(
    views: &mut [View<T>],
    n_products: usize,
    work: impl Fn(usize, &mut View<T>) + Sync,
) {
    if n_products > WORTH_THREADS && rayon::current_num_threads() > 1 {
        views.par_iter_mut().enumerate().with_max_len(1).for_each(|(v, view)| work(v, view));
    } else {
        views.iter_mut().enumerate().for_each(|(v, view)| work(v, view));
    }
}

fn sample<T>(values: &[T], i: usize, width: usize) -> &[T] {
    &values[i * width..(i + 1) * width]
}

fn sample_mut<T>(values: &mut [T], i: usize, width: usize) -> &mut [T] {
    &mut values[i * width..(i + 1) * width]
}

fn add<T: Real>(sum: &mut [T], values: &[T]) {
    for (sum, &value) in sum.iter_mut().zip(values) {
        *sum += value;
    }
}
