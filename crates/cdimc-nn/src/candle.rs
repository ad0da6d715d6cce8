//! The reference engine: candle's tensors and automatic differentiation, on CPU or CUDA.
//!
//! Absent rows have weight zero in fusion (eq. 4), reconstruction and graph, so only present rows are
//! computed: one run of each view's observed rows a batch.

use crate::{
    Dense, Device, NetworkInput, NnError, Optimizer, OptimizerState, Targets, Trainer, ViewWeights,
    Weights, trainer,
};
use candle_core::{
    DType, Device as Place, Result as TensorResult, Tensor, Var, backprop::GradStore,
};
use cdimc_graph::KnnGraph;
use ndarray::{Array1, Array2};
use std::{ops::Range, sync::Arc};

/// A network whose parameters are candle variables.
pub(crate) struct CandleTrainer {
    input: Arc<NetworkInput>,
    graphs: Arc<Vec<KnnGraph>>,
    alpha: f64,
    place: Place,
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

/// An affine layer and its optimiser's moments.
struct Layer {
    weight: Parameter,
    bias: Parameter,
}

struct Parameter {
    value: Var,
    moments: Vec<Tensor>,
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
        input: Arc<NetworkInput>,
        graphs: Arc<Vec<KnnGraph>>,
        weights: &Weights,
        alpha: f64,
    ) -> Result<Self, NnError> {
        let place = place(device)?;
        let layers = |layers: &[Dense]| -> TensorResult<Vec<Layer>> {
            layers.iter().map(|layer| Layer::new(layer, &place)).collect()
        };
        let views = weights.views.iter().map(|view| {
            Ok(ViewLayers { encoder: layers(&view.encoder)?, decoder: layers(&view.decoder)? })
        });
        let views = views.collect::<TensorResult<_>>()?;
        let share: Vec<_> =
            input.views_of_samples().iter().map(|&count| 1.0 / count as f32).collect();
        let share = Tensor::from_vec(share, (input.n_samples, 1), &place)?;
        let latent = weights.latent();
        Ok(Self { input, graphs, alpha, place, views, share, latent, optimizer: None, steps: 0 })
    }

    /// The latents of every view that observes some sample of the batch.
    fn parts(&self, batch: &Range<usize>) -> TensorResult<Vec<Part>> {
        let mut parts = Vec::with_capacity(self.views.len());
        for (view, (layers, observed)) in self.views.iter().zip(&self.input.views).enumerate() {
            let positions = observed.positions(batch);
            if positions.is_empty() {
                continue;
            }
            let rows = observed.rows[positions.clone()].iter().map(|&row| row - batch.start as u32);
            let index = Tensor::from_iter(rows, &self.place)?;
            let latent = chain(&layers.encoder, &self.observed(view, &positions)?)?;
            parts.push(Part { view, positions, index, latent });
        }
        Ok(parts)
    }

    fn observed(&self, view: usize, positions: &Range<usize>) -> TensorResult<Tensor> {
        let block = self.input.views[view].block(positions.clone());
        let shape = block.dim();
        let block = block.as_standard_layout();
        Tensor::from_iter(block.iter().copied(), &self.place)?.reshape(shape)
    }

    /// Eq. 4: the mean of the latents of the views that each sample has.
    fn fuse(&self, parts: &[Part], batch: &Range<usize>) -> TensorResult<Tensor> {
        let mut z = Tensor::zeros((batch.len(), self.latent), DType::F32, &self.place)?;
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
        let centers = Tensor::from_vec(centers, (n_selected, self.latent), &self.place)?;
        let selected = Tensor::from_vec(selected, n_selected, &self.place)?;
        let z = self.fuse(&parts, batch)?.index_select(&selected, 0)?;
        let divisor = targets.normalization.divisor(n_selected, batch.len());
        let scale = 1.0 / (self.latent * divisor) as f64;
        (z.sub(&centers)?.sqr()?.sum_all()? * scale)? + graph
    }

    /// alpha / (l b) `sum_v` tr(`Z_v`^T `L_v` `Z_v`) with degrees inside the batch.
    fn graph_loss(&self, parts: &[Part], batch: &Range<usize>) -> TensorResult<Tensor> {
        let mut sum = Tensor::zeros((), DType::F32, &self.place)?;
        for part in parts {
            let laplacian = self.laplacian(part, batch)?;
            sum = (sum + part.latent.mul(&laplacian.matmul(&part.latent)?)?.sum_all()?)?;
        }
        sum * (self.alpha / (self.views.len() * batch.len()) as f64)
    }

    fn laplacian(&self, part: &Part, batch: &Range<usize>) -> TensorResult<Tensor> {
        let rows = &self.input.views[part.view].rows[part.positions.clone()];
        let mut laplacian = Array2::<f32>::zeros((rows.len(), rows.len()));
        for (i, &row) in rows.iter().enumerate() {
            for j in self.graphs[part.view].neighbors_within(row as usize, batch) {
                if let Ok(j) = rows.binary_search(j) {
                    laplacian[[i, j]] = -1.0;
                    laplacian[[i, i]] += 1.0;
                }
            }
        }
        let shape = laplacian.dim();
        Tensor::from_vec(laplacian.into_raw_vec_and_offset().0, shape, &self.place)
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
        let optimizer = trainer::started(self.optimizer)?;
        let gradients = loss.backward()?;
        self.steps += 1;
        for view in &mut self.views {
            let decoder = if decoders_move { view.decoder.as_mut_slice() } else { &mut [] };
            for layer in view.encoder.iter_mut().chain(decoder) {
                layer.weight.step(optimizer, self.steps, &gradients)?;
                layer.bias.step(optimizer, self.steps, &gradients)?;
            }
        }
        Ok(f64::from(loss.to_scalar::<f32>()?))
    }

    /// Some tensor of every parameter as [`Weights`].
    fn export(&self, of: impl Fn(&Parameter) -> TensorResult<Tensor>) -> TensorResult<Weights> {
        let layer = |layer: &Layer| -> TensorResult<Dense> {
            let shape = layer.weight.value.dims2()?;
            let weight = of(&layer.weight)?.flatten_all()?.to_vec1()?;
            let weight = Array2::from_shape_vec(shape, weight).map_err(candle_core::Error::wrap)?;
            Ok(Dense { weight, bias: Array1::from_vec(of(&layer.bias)?.to_vec1()?) })
        };
        let chain = |layers: &[Layer]| layers.iter().map(layer).collect::<TensorResult<_>>();
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
            for parameter in [&mut layer.weight, &mut layer.bias] {
                let zeros = || parameter.value.zeros_like();
                parameter.moments =
                    (0..optimizer.n_moments()).map(|_| zeros()).collect::<TensorResult<_>>()?;
            }
        }
        self.optimizer = Some(optimizer);
        self.steps = 0;
        Ok(())
    }

    fn pretrain_step(&mut self, batch: Range<usize>) -> Result<f64, NnError> {
        trainer::check_batch(&batch, self.input.n_samples)?;
        let loss = self.pretrain_loss(&batch)?;
        self.step(&loss, true)
    }

    fn finetune_step(&mut self, batch: Range<usize>, targets: Targets<'_>) -> Result<f64, NnError> {
        trainer::check_batch(&batch, self.input.n_samples)?;
        targets.check(self.input.n_samples, self.latent)?;
        let loss = self.finetune_loss(&batch, &targets)?;
        self.step(&loss, false)
    }

    fn pretrain_gradients(&mut self, batch: Range<usize>) -> Result<(f64, Weights), NnError> {
        trainer::check_batch(&batch, self.input.n_samples)?;
        self.gradients(&self.pretrain_loss(&batch)?)
    }

    fn finetune_gradients(
        &mut self,
        batch: Range<usize>,
        targets: Targets<'_>,
    ) -> Result<(f64, Weights), NnError> {
        trainer::check_batch(&batch, self.input.n_samples)?;
        targets.check(self.input.n_samples, self.latent)?;
        self.gradients(&self.finetune_loss(&batch, &targets)?)
    }

    fn fused(&mut self) -> Result<Array2<f32>, NnError> {
        let mut fused = Vec::with_capacity(self.input.n_samples * self.latent);
        for block in trainer::blocks(self.input.n_samples) {
            let z = self.fuse(&self.parts(&block)?, &block)?;
            fused.extend(z.flatten_all()?.to_vec1::<f32>()?);
        }
        let shape = (self.input.n_samples, self.latent);
        Ok(Array2::from_shape_vec(shape, fused).map_err(candle_core::Error::wrap)?)
    }

    fn weights(&self) -> Result<Weights, NnError> {
        Ok(self.export(|parameter| Ok(parameter.value.as_detached_tensor()))?)
    }

    fn optimizer_state(&self) -> Result<OptimizerState, NnError> {
        let n_moments = trainer::started(self.optimizer)?.n_moments();
        let moment = |i: usize| self.export(|parameter| Ok(parameter.moments[i].clone()));
        let moments = (0..n_moments).map(moment).collect::<TensorResult<_>>()?;
        Ok(OptimizerState { steps: self.steps, moments })
    }

    fn restore_optimizer(&mut self, state: &OptimizerState) -> Result<(), NnError> {
        let optimizer = trainer::started(self.optimizer)?;
        state.check(optimizer, &self.weights()?)?;
        let place = self.place.clone();
        for (i, moment) in state.moments.iter().enumerate() {
            for (layer, saved) in self.layers_mut().zip(moment.layers()) {
                layer.weight.moments[i] = weight_tensor(saved, &place)?;
                layer.bias.moments[i] = bias_tensor(saved, &place)?;
            }
        }
        self.steps = state.steps;
        Ok(())
    }
}

impl Layer {
    fn new(layer: &Dense, place: &Place) -> TensorResult<Self> {
        let parameter = |value: &Tensor| -> TensorResult<Parameter> {
            Ok(Parameter { value: Var::from_tensor(value)?, moments: Vec::new() })
        };
        Ok(Self {
            weight: parameter(&weight_tensor(layer, place)?)?,
            bias: parameter(&bias_tensor(layer, place)?)?,
        })
    }
}

impl Parameter {
    /// One step of the optimiser; a parameter that the loss does not reach has gradient zero.
    fn step(
        &mut self,
        optimizer: Optimizer,
        steps: u64,
        gradients: &GradStore,
    ) -> TensorResult<()> {
        let gradient = match gradients.get(&self.value) {
            Some(gradient) => gradient.detach(),
            None => self.value.zeros_like()?,
        };
        let step = match optimizer {
            Optimizer::Sgd { learning_rate, momentum } => {
                let u = ((&self.moments[0] * momentum)? + gradient)?;
                self.moments[0] = u.clone();
                (u * learning_rate)?
            }
            Optimizer::Adam { learning_rate, beta1, beta2, epsilon } => {
                let mean = ((&self.moments[0] * beta1)? + (&gradient * (1.0 - beta1))?)?;
                let square = ((&self.moments[1] * beta2)? + (gradient.sqr()? * (1.0 - beta2))?)?;
                let steps = i32::try_from(steps).unwrap_or(i32::MAX);
                let root = (1.0 - beta2.powi(steps)).sqrt();
                let denominator = square.sqrt()?.affine(1.0 / root, epsilon)?;
                let step = (mean.div(&denominator)? * (learning_rate / (1.0 - beta1.powi(steps))))?;
                self.moments = vec![mean, square];
                step
            }
        };
        self.value.set(&self.value.as_detached_tensor().sub(&step)?)
    }
}

fn weight_tensor(layer: &Dense, place: &Place) -> TensorResult<Tensor> {
    Tensor::from_iter(layer.weight.iter().copied(), place)?.reshape(layer.weight.dim())
}

fn bias_tensor(layer: &Dense, place: &Place) -> TensorResult<Tensor> {
    Tensor::from_iter(layer.bias.iter().copied(), place)
}

/// The layers in turn, `ReLU` after each but the last.
fn chain(layers: &[Layer], x: &Tensor) -> TensorResult<Tensor> {
    let mut x = x.clone();
    for (i, layer) in layers.iter().enumerate() {
        x = x.matmul(&layer.weight.value.t()?)?.broadcast_add(&layer.bias.value)?;
        if i + 1 < layers.len() {
            // candle's own ReLU has slope 1 at 0, PyTorch's 0; whole rows are exactly 0 before the first step.
            x = x.mul(&x.gt(0.0)?.to_dtype(x.dtype())?)?;
        }
    }
    Ok(x)
}

fn place(device: Device) -> Result<Place, NnError> {
    match device {
        Device::Cpu => Ok(Place::Cpu),
        Device::Cuda if candle_core::utils::cuda_is_available() => {
            Place::new_cuda(0).map_err(|error| NnError::Device {
                device: device.to_string(),
                reason: error.to_string(),
            })
        }
        Device::Cuda => Err(NnError::Device {
            device: device.to_string(),
            reason: "this build has no CUDA; build with the feature cuda".to_owned(),
        }),
    }
}
