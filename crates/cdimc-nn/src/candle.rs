//! The reference engine: candle's tensors and automatic differentiation, on CPU or CUDA.
//!
//! Absent rows have weight zero in fusion (eq. 4), reconstruction and graph, so only present rows are
//! computed: one run of each view's observed rows a batch.

use crate::{
    Dense, Device, NnError, Optimizer, OptimizerState, Targets, Trainer, TrainingData, ViewWeights,
    Weights,
    autodiff::{self, Layer, Parameter},
    optimizer, trainer,
};
use candle_core::{DType, Result as TensorResult, Tensor};
use cdimc_graph::laplacian_product;
use ndarray::Array2;
use std::ops::Range;

/// A network whose parameters are candle variables.
pub(crate) struct CandleTrainer {
    data: TrainingData,
    device: candle_core::Device,
    views: Vec<ViewLayers>,
    /// 1 / number of views of each sample, `(n_samples, 1)`.
    share: Tensor,
    latent: usize,
    optimizer: Option<Optimizer>,
    steps: u64,
}

struct ViewLayers {
    encoder: Vec<Layer>,
    decoder: Vec<Layer>,
}

/// What one view has of a batch.
struct Part {
    view: usize,
    /// Positions among the view's observed rows.
    positions: Range<usize>,
    /// Positions in the batch, `(positions.len())`.
    index: Tensor,
    latent: Tensor,
}

impl CandleTrainer {
    pub(crate) fn new(
        device: Device,
        data: TrainingData,
        weights: &Weights,
    ) -> Result<Self, NnError> {
        let device = autodiff::open(device)?;
        let layers = |layers: &[Dense]| -> TensorResult<Vec<Layer>> {
            layers.iter().map(|layer| Layer::new(layer, &device)).collect()
        };
        let views = weights.views.iter().map(|view| {
            Ok(ViewLayers { encoder: layers(&view.encoder)?, decoder: layers(&view.decoder)? })
        });
        let views = views.collect::<TensorResult<_>>()?;
        let share: Vec<_> =
            data.input.views_of_samples().iter().map(|&count| 1.0 / count as f32).collect();
        let share = Tensor::from_vec(share, (data.input.n_samples, 1), &device)?;
        let latent = weights.latent();
        Ok(Self { data, device, views, share, latent, optimizer: None, steps: 0 })
    }

    /// The latents of every view that observes some sample of the batch.
    fn parts(&self, batch: &Range<usize>) -> TensorResult<Vec<Part>> {
        let mut parts = Vec::with_capacity(self.views.len());
        for (view, (layers, observed)) in self.views.iter().zip(&self.data.input.views).enumerate()
        {
            let positions = observed.positions(batch);
            if positions.is_empty() {
                continue;
            }
            let rows = observed.rows[positions.clone()].iter().map(|&row| row - batch.start as u32);
            let index = Tensor::from_iter(rows, &self.device)?;
            let latent = chain(&layers.encoder, &self.observed(view, &positions)?)?;
            parts.push(Part { view, positions, index, latent });
        }
        Ok(parts)
    }

    fn observed(&self, view: usize, positions: &Range<usize>) -> TensorResult<Tensor> {
        let block = self.data.input.views[view].block(positions.clone());
        let shape = block.dim();
        let block = block.as_standard_layout();
        Tensor::from_iter(block.iter().copied(), &self.device)?.reshape(shape)
    }

    /// Eq. 4: the mean of the latents of the views that each sample has.
    fn fuse(&self, parts: &[Part], batch: &Range<usize>) -> TensorResult<Tensor> {
        let mut z = Tensor::zeros((batch.len(), self.latent), DType::F32, &self.device)?;
        for part in parts {
            z = z.index_add(&part.index, &part.latent, 0)?;
        }
        z.broadcast_mul(&self.share.narrow(0, batch.start, batch.len())?)
    }

    fn pretrain_loss(&self, batch: &Range<usize>) -> TensorResult<Tensor> {
        let parts = self.parts(batch)?;
        let z = self.fuse(&parts, batch)?;
        let mut loss = self.graph_loss(&parts, batch)?;
        for part in &parts {
            let x = self.observed(part.view, &part.positions)?;
            let decoded = chain(&self.views[part.view].decoder, &z.index_select(&part.index, 0)?)?;
            let scale = 1.0 / (batch.len() * x.dim(1)?) as f64;
            loss = (loss + (decoded.sub(&x)?.sqr()?.sum_all()? * scale)?)?;
        }
        Ok(loss)
    }

    fn finetune_loss(&self, batch: &Range<usize>, targets: &Targets<'_>) -> TensorResult<Tensor> {
        let parts = self.parts(batch)?;
        let graph = self.graph_loss(&parts, batch)?;
        let selected: Vec<u32> = (0..batch.len())
            .filter(|i| targets.selected[batch.start + i])
            .map(|i| i as u32)
            .collect();
        if selected.is_empty() {
            return Ok(graph);
        }
        let mut centers = Vec::<f32>::with_capacity(selected.len() * self.latent);
        for &i in &selected {
            centers.extend(targets.centers.row(targets.labels[batch.start + i as usize]));
        }
        let n_selected = selected.len();
        let centers = Tensor::from_vec(centers, (n_selected, self.latent), &self.device)?;
        let selected = Tensor::from_vec(selected, n_selected, &self.device)?;
        let z = self.fuse(&parts, batch)?.index_select(&selected, 0)?;
        let divisor = targets.normalization.divisor(n_selected, batch.len());
        let scale = 1.0 / (self.latent * divisor) as f64;
        (z.sub(&centers)?.sqr()?.sum_all()? * scale)? + graph
    }

    /// alpha / (l b) `sum_v` tr(`Z_v`^T `L_v` `Z_v`) with degrees inside the batch.
    fn graph_loss(&self, parts: &[Part], batch: &Range<usize>) -> TensorResult<Tensor> {
        let mut sum = Tensor::zeros((), DType::F32, &self.device)?;
        for part in parts {
            let rows = &self.data.input.views[part.view].rows[part.positions.clone()];
            let graph = self.data.graphs[part.view].induced(rows);
            let laplacian = laplacian_product(&graph, Array2::<f32>::eye(rows.len()).view());
            let laplacian = Tensor::from_vec(
                laplacian.into_raw_vec_and_offset().0,
                (rows.len(), rows.len()),
                &self.device,
            )?;
            sum = (sum + part.latent.mul(&laplacian.matmul(&part.latent)?)?.sum_all()?)?;
        }
        sum * (self.data.alpha / (self.views.len() * batch.len()) as f64)
    }

    fn gradients(&self, loss: &Tensor) -> Result<(f64, Weights), NnError> {
        let gradients = loss.backward()?;
        let gradient = |parameter: &Parameter| match gradients.get(&parameter.value) {
            Some(gradient) => Ok(gradient.clone()),
            None => parameter.value.zeros_like(),
        };
        Ok((f64::from(loss.to_scalar::<f32>()?), self.export(gradient)?))
    }

    fn step(&mut self, loss: &Tensor, decoders_move: bool) -> Result<f64, NnError> {
        let optimizer = optimizer::started(self.optimizer)?;
        let gradients = loss.backward()?;
        self.steps += 1;
        for view in &mut self.views {
            let decoder = if decoders_move { view.decoder.as_mut_slice() } else { &mut [] };
            for layer in view.encoder.iter_mut().chain(decoder) {
                for parameter in layer.parameters_mut() {
                    parameter.step(optimizer, self.steps, &gradients)?;
                }
            }
        }
        Ok(f64::from(loss.to_scalar::<f32>()?))
    }

    /// The tensor that `of` picks from every parameter, as [`Weights`].
    fn export(&self, of: impl Fn(&Parameter) -> TensorResult<Tensor>) -> TensorResult<Weights> {
        let chain = |layers: &[Layer]| {
            layers.iter().map(|layer| layer.export(&of)).collect::<TensorResult<_>>()
        };
        let view = |view: &ViewLayers| -> TensorResult<_> {
            Ok(ViewWeights { encoder: chain(&view.encoder)?, decoder: chain(&view.decoder)? })
        };
        Ok(Weights { views: self.views.iter().map(view).collect::<TensorResult<_>>()? })
    }

    fn layers_mut(&mut self) -> impl Iterator<Item = &mut Layer> {
        self.views.iter_mut().flat_map(|view| view.encoder.iter_mut().chain(&mut view.decoder))
    }
}

impl Trainer for CandleTrainer {
    fn start(&mut self, optimizer: Optimizer) -> Result<(), NnError> {
        optimizer.check()?;
        for layer in self.layers_mut() {
            for parameter in layer.parameters_mut() {
                parameter.start(optimizer)?;
            }
        }
        self.optimizer = Some(optimizer);
        self.steps = 0;
        Ok(())
    }

    fn set_learning_rate(&mut self, learning_rate: f64) -> Result<(), NnError> {
        let optimizer = optimizer::started(self.optimizer)?;
        self.optimizer = Some(optimizer.with_learning_rate(learning_rate)?);
        Ok(())
    }

    fn pretrain_step(&mut self, batch: Range<usize>) -> Result<f64, NnError> {
        trainer::check_batch(&batch, self.data.input.n_samples)?;
        let loss = self.pretrain_loss(&batch)?;
        self.step(&loss, true)
    }

    fn finetune_step(&mut self, batch: Range<usize>, targets: Targets<'_>) -> Result<f64, NnError> {
        trainer::check_batch(&batch, self.data.input.n_samples)?;
        targets.check(self.data.input.n_samples, self.latent)?;
        let loss = self.finetune_loss(&batch, &targets)?;
        self.step(&loss, false)
    }

    fn pretrain_gradients(&mut self, batch: Range<usize>) -> Result<(f64, Weights), NnError> {
        trainer::check_batch(&batch, self.data.input.n_samples)?;
        self.gradients(&self.pretrain_loss(&batch)?)
    }

    fn finetune_gradients(
        &mut self,
        batch: Range<usize>,
        targets: Targets<'_>,
    ) -> Result<(f64, Weights), NnError> {
        trainer::check_batch(&batch, self.data.input.n_samples)?;
        targets.check(self.data.input.n_samples, self.latent)?;
        self.gradients(&self.finetune_loss(&batch, &targets)?)
    }

    fn embed(&mut self) -> Result<Array2<f32>, NnError> {
        let mut latents = Vec::with_capacity(self.data.input.n_samples * self.latent);
        for block in trainer::blocks(self.data.input.n_samples) {
            let z = self.fuse(&self.parts(&block)?, &block)?;
            latents.extend(z.flatten_all()?.to_vec1::<f32>()?);
        }
        let shape = (self.data.input.n_samples, self.latent);
        Ok(Array2::from_shape_vec(shape, latents).map_err(candle_core::Error::wrap)?)
    }

    fn weights(&self) -> Result<Weights, NnError> {
        Ok(self.export(|parameter| Ok(parameter.value.as_detached_tensor()))?)
    }

    fn optimizer_state(&self) -> Result<OptimizerState, NnError> {
        let n_moments = optimizer::started(self.optimizer)?.n_moments();
        let moment = |i: usize| self.export(|parameter| Ok(parameter.moments[i].clone()));
        let moments = (0..n_moments).map(moment).collect::<TensorResult<_>>()?;
        Ok(OptimizerState { steps: self.steps, moments })
    }

    fn restore_optimizer(&mut self, state: &OptimizerState) -> Result<(), NnError> {
        let optimizer = optimizer::started(self.optimizer)?;
        state.check(optimizer, &self.weights()?)?;
        for (i, moment) in state.moments.iter().enumerate() {
            for (layer, saved) in self.layers_mut().zip(moment.layers()) {
                layer.restore(i, saved)?;
            }
        }
        self.steps = state.steps;
        Ok(())
    }
}

/// The layers in turn, `ReLU` after each but the last.
fn chain(layers: &[Layer], x: &Tensor) -> TensorResult<Tensor> {
    let mut x = x.clone();
    for (i, layer) in layers.iter().enumerate() {
        x = layer.forward(&x)?;
        if i + 1 < layers.len() {
            x = autodiff::relu(&x)?;
        }
    }
    Ok(x)
}
