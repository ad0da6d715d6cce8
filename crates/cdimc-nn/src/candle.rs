//! Engine on candle's tensors, on CPU or CUDA. A step takes few operations on large tensors, the data stay on the
//! device, and the losses are read once per call of `train`.
//!
//! One tensor holds the matrices of all views in a layer, padded with zeros to the widest view. The rows of a batch are
//! padded the same way. Rows that a view did not observe have weight zero in fusion (eq. 4), reconstruction and graph.
//! Padding has gradient zero and stays zero.

use crate::{
    Dense, Device, Fusion, Goal, NnError, Optimizer, OptimizerState, Trainer, TrainingData,
    ViewWeights, Weights, autodiff, optimizer::Stage, trainer,
};
use candle_core::{DType, Result as TensorResult, Tensor};
use cdimc_graph::laplacian_product;
use ndarray::{Array2, Array3, s};
use std::{collections::HashMap, ops::Range};

/// Network with written-out gradients.
pub(crate) struct CandleTrainer {
    data: TrainingData,
    device: candle_core::Device,
    /// Layers of the encoders, `n_encoder`, then of the decoders.
    layers: Vec<Layer>,
    n_encoder: usize,
    latent: usize,
    /// All observed views.
    fusion: Fusion,
    /// Row of ones. Sums are products with it, because candle's own sums copy their shape to the device.
    ones: Tensor,
    batches: HashMap<Range<usize>, Batch>,
    stage: Stage,
}

/// Weights `(n_views, n_in, n_out)` and biases `(n_views, 1, n_out)`, or their gradients or moments.
type Pair = [Tensor; 2];

/// One layer in all views.
struct Layer {
    /// Widths `(n_in, n_out)` per view, without padding.
    shapes: Vec<(usize, usize)>,
    values: Pair,
    moments: [Vec<Tensor>; 2],
}

/// Data of a batch; all shapes begin with `(n_views, n_batch)`.
#[derive(Clone)]
struct Batch {
    /// Observed values.
    x: Tensor,
    /// Weight 2 / (b m) of every observed value in the gradient of the reconstruction.
    slope: Tensor,
    /// 1 / number of views that enter the mean of the sample, where the view enters, repeated for every latent.
    share: Tensor,
    /// Laplacian with degrees inside the batch, times 2 alpha / (l b).
    laplacian: Tensor,
}

impl CandleTrainer {
    pub(crate) fn new(
        device: Device,
        data: TrainingData,
        weights: &Weights,
    ) -> Result<Self, NnError> {
        let device = autodiff::open(device)?;
        let depth = |view: &ViewWeights| (view.encoder.len(), view.decoder.len());
        let (n_encoder, n_decoder) = depth(&weights.views[0]);
        if weights.views.iter().any(|view| depth(view) != (n_encoder, n_decoder)) {
            let reason = "weights: views with different numbers of layers";
            return Err(NnError::Unfit(reason.to_owned()));
        }
        let layer = |layers: Vec<&Dense>| {
            let shapes = layers.iter().map(|layer| (layer.n_in(), layer.n_out())).collect();
            Ok(Layer { shapes, values: pack(&layers, &device)?, moments: Default::default() })
        };
        let layers = positions(weights).map(layer).collect::<TensorResult<Vec<_>>>()?;
        let widths = layers.iter().flat_map(|layer| layer.values[0].dims()).copied();
        let longest = widths.max().unwrap_or(0).max(data.input.n_samples);
        Ok(Self {
            ones: Tensor::ones((1, longest), DType::F32, &device)?,
            fusion: data.input.fusion(),
            data,
            device,
            layers,
            n_encoder,
            latent: weights.latent(),
            batches: HashMap::new(),
            stage: Stage::default(),
        })
    }

    /// Returns the data of a batch, copied to the device once.
    fn batch(&mut self, range: &Range<usize>) -> TensorResult<Batch> {
        if let Some(batch) = self.batches.get(range) {
            return Ok(batch.clone());
        }
        let TrainingData { input, graphs, alpha } = &self.data;
        let (n_views, n_batch) = (input.views.len(), range.len());
        let widest = input.views.iter().map(|view| view.values.ncols()).max().unwrap_or(0);
        let zeros = |width| Array3::<f32>::zeros((n_views, n_batch, width));
        let [mut x, mut slope] = [zeros(widest), zeros(widest)];
        let mut laplacian = zeros(n_batch);
        let scale = (2.0 * alpha / (n_views * n_batch) as f64) as f32;
        for (v, (view, graph)) in input.views.iter().zip(graphs.iter()).enumerate() {
            let (rows, m) = (view.rows_of(range), view.values.ncols());
            let graph = graph.induced(rows);
            let products = laplacian_product(&graph, Array2::<f32>::eye(rows.len()).view());
            let values = view.values_of(range);
            for ((&row, values), products) in rows.iter().zip(values.rows()).zip(products.rows()) {
                let i = row as usize - range.start;
                x.slice_mut(s![v, i, ..m]).assign(&values);
                slope.slice_mut(s![v, i, ..m]).fill((2.0 / (n_batch * m) as f64) as f32);
                for (&other, product) in rows.iter().zip(products) {
                    laplacian[[v, i, other as usize - range.start]] = scale * product;
                }
            }
        }
        let [x, slope, laplacian] = [x, slope, laplacian].map(|array| tensor(array, &self.device));
        let share = self.share(&self.fusion, range)?;
        let batch = Batch { x: x?, slope: slope?, share, laplacian: laplacian? };
        self.batches.insert(range.clone(), batch.clone());
        Ok(batch)
    }

    /// Returns [`Batch::share`] of samples.
    fn share(&self, fusion: &Fusion, samples: &Range<usize>) -> TensorResult<Tensor> {
        let views = &self.data.input.views;
        let mut share = Array3::zeros((views.len(), samples.len(), self.latent));
        for (v, (view, enters)) in views.iter().zip(&fusion.enters).enumerate() {
            let rows = view.rows_of(samples).iter().zip(&enters[view.positions(samples)]);
            for (&row, _) in rows.filter(|(_, enters)| **enters) {
                let row = row as usize;
                share.slice_mut(s![v, row - samples.start, ..]).fill(fusion.shares[row]);
            }
        }
        tensor(share, &self.device)
    }

    /// Returns `x` and the output of every layer; `ReLU` follows all layers except the last.
    fn forward(&self, layers: &[Layer], x: Tensor) -> TensorResult<Vec<Tensor>> {
        let (n_views, n_batch, _) = x.dims3()?;
        let ones = self.ones(n_batch, 1)?.broadcast_as((n_views, n_batch, 1))?;
        let mut outputs = vec![x];
        for (i, Layer { values: [weight, bias], .. }) in layers.iter().enumerate() {
            let y = outputs[i].matmul(weight)?.add(&ones.matmul(bias)?)?;
            outputs.push(if i + 1 < layers.len() { y.relu()? } else { y });
        }
        Ok(outputs)
    }

    /// Returns the gradients of the layers, and the gradient of the input if `onward`.
    fn backward(
        &self,
        layers: &[Layer],
        outputs: &[Tensor],
        mut gradient: Tensor,
        onward: bool,
    ) -> TensorResult<(Vec<Pair>, Tensor)> {
        let (n_views, n_batch, _) = gradient.dims3()?;
        let ones = self.ones(1, n_batch)?.broadcast_as((n_views, 1, n_batch))?;
        let mut gradients = Vec::with_capacity(layers.len());
        for (i, (layer, x)) in layers.iter().zip(outputs).enumerate().rev() {
            gradients.push([x.t()?.matmul(&gradient)?, ones.matmul(&gradient)?]);
            if i > 0 {
                // ReLU has slope 0 at 0, as in PyTorch.
                gradient = gradient.matmul(&layer.values[0].t()?)?.mul(&x.sign()?)?;
            } else if onward {
                gradient = gradient.matmul(&layer.values[0].t()?)?;
            }
        }
        gradients.reverse();
        Ok((gradients, gradient))
    }

    fn ones(&self, n_rows: usize, n_columns: usize) -> TensorResult<Tensor> {
        self.ones.narrow(1, 0, n_rows * n_columns)?.reshape((n_rows, n_columns))
    }

    /// Sum over the views, `(n_batch, latent)`.
    fn over_views(&self, x: &Tensor) -> TensorResult<Tensor> {
        let (n_views, n_batch, latent) = x.dims3()?;
        let x = x.reshape((n_views, n_batch * latent))?;
        self.ones(1, n_views)?.matmul(&x)?.reshape((n_batch, latent))
    }

    /// Mean latent over the views of each sample (eq. 4).
    fn fuse(&self, latents: &Tensor, batch: &Batch) -> TensorResult<Tensor> {
        self.over_views(&latents.mul(&batch.share)?)
    }

    /// Row sums of a product; half their total is a term of the loss.
    fn twice(&self, residual: &Tensor, gradient: &Tensor) -> TensorResult<Tensor> {
        let width = residual.dims()[residual.rank() - 1];
        let product = residual.mul(gradient)?.reshape(((), width))?;
        product.matmul(&self.ones(width, 1)?)?.flatten_all()
    }

    /// Returns the gradients of the encoders and, without a pull, of the decoders. Half the total of what it adds to
    /// `losses` is the loss: every term is a quadratic form, half the product of a residual and its gradient.
    fn pass(
        &self,
        batch: &Batch,
        pull: Option<&Pair>,
        losses: &mut Vec<Tensor>,
    ) -> TensorResult<Vec<Pair>> {
        let (encoders, decoders) = self.layers.split_at(self.n_encoder);
        let encoded = self.forward(encoders, batch.x.clone())?;
        let latents = &encoded[self.n_encoder];
        let shape @ (n_views, n_batch, latent) = latents.dims3()?;
        let graph = batch.laplacian.matmul(latents)?;
        losses.push(self.twice(latents, &graph)?);
        let z = self.fuse(latents, batch)?;
        let (of_decoders, z_gradient) = if let Some([centers, slope]) = pull {
            let residual = z.sub(centers)?;
            let gradient = residual.mul(slope)?;
            losses.push(self.twice(&residual, &gradient)?);
            (Vec::new(), gradient)
        } else {
            let decoded = self.forward(decoders, z.unsqueeze(0)?.broadcast_as(shape)?)?;
            let residual = decoded[decoders.len()].sub(&batch.x)?;
            let gradient = residual.mul(&batch.slope)?;
            losses.push(self.twice(&residual, &gradient)?);
            let (gradients, z_gradient) = self.backward(decoders, &decoded, gradient, true)?;
            (gradients, self.over_views(&z_gradient)?)
        };
        let to_views = z_gradient.reshape((1, n_batch * latent))?;
        let to_views = self.ones(n_views, 1)?.matmul(&to_views)?.reshape(shape)?;
        let gradient = to_views.mul(&batch.share)?.add(&graph)?;
        let (mut gradients, _) = self.backward(encoders, &encoded, gradient, false)?;
        gradients.extend(of_decoders);
        Ok(gradients)
    }

    /// Returns per batch the samples' centers and the weights of their residuals, both `(n_batch, latent)`. A weight
    /// is 2 / (k divisor) for selected samples and 0 for others.
    fn pulls(&self, batches: &[Range<usize>], goal: Goal<'_>) -> TensorResult<Vec<Option<Pair>>> {
        let Goal::Clusters(targets) = goal else { return Ok(vec![None; batches.len()]) };
        let n_rows = batches.iter().map(ExactSizeIterator::len).sum();
        let mut pull = Array3::<f32>::zeros((2, n_rows, self.latent));
        let mut row = 0;
        for batch in batches {
            let n_selected = batch.clone().filter(|&i| targets.selected[i]).count();
            let divisor = targets.normalization.divisor(n_selected, batch.len());
            for i in batch.clone() {
                if targets.selected[i] {
                    let center = targets.centers.row(targets.labels[i]);
                    pull.slice_mut(s![0, row, ..]).assign(&center);
                    pull.slice_mut(s![1, row, ..]).fill(2.0 / (self.latent * divisor) as f32);
                }
                row += 1;
            }
        }
        let pull = tensor(pull, &self.device)?;
        let mut row = 0;
        let narrow = |batch: &Range<usize>| {
            let of_batch = |i: usize| pull.get(i)?.narrow(0, row, batch.len());
            let both = [of_batch(0)?, of_batch(1)?];
            row += batch.len();
            Ok(Some(both))
        };
        batches.iter().map(narrow).collect()
    }

    /// Converts the tensors that `of` returns for each layer.
    fn export(&self, of: impl Fn(&Layer) -> Pair) -> TensorResult<Weights> {
        let dense = |layer: &Layer| Ok(layer.unpack(&of(layer))?.into_iter());
        let mut layers = self.layers.iter().map(dense).collect::<TensorResult<Vec<_>>>()?;
        let view = |_| {
            let mut encoder: Vec<_> = layers.iter_mut().filter_map(Iterator::next).collect();
            let decoder = encoder.split_off(self.n_encoder);
            ViewWeights { encoder, decoder }
        };
        Ok(Weights { views: (0..self.data.input.views.len()).map(view).collect() })
    }
}

impl Trainer for CandleTrainer {
    fn start(&mut self, optimizer: Optimizer) -> Result<(), NnError> {
        self.stage = Stage::new(optimizer)?;
        for Layer { values: [weight, bias], moments, .. } in &mut self.layers {
            *moments = [optimizer.no_moments(weight)?, optimizer.no_moments(bias)?];
        }
        Ok(())
    }

    fn set_learning_rate(&mut self, learning_rate: f64) -> Result<(), NnError> {
        self.stage.set_learning_rate(learning_rate)
    }

    fn train(&mut self, batches: &[Range<usize>], goal: Goal<'_>) -> Result<f64, NnError> {
        self.data.check_step(batches, goal, self.latent)?;
        let pulls = self.pulls(batches, goal)?;
        let share = match goal {
            Goal::ReconstructionFrom(fusion) => {
                Some(self.share(fusion, &(0..self.data.input.n_samples))?)
            }
            _ => None,
        };
        let mut losses = Vec::new();
        for (range, pull) in batches.iter().zip(&pulls) {
            let mut batch = self.batch(range)?;
            if let Some(share) = &share {
                batch.share = share.narrow(1, range.start, range.len())?;
            }
            let gradients = self.pass(&batch, pull.as_ref(), &mut losses)?;
            let step = self.stage.next_step()?;
            for (layer, gradients) in self.layers.iter_mut().zip(&gradients) {
                let parameters = layer.values.iter_mut().zip(&mut layer.moments);
                for ((value, moments), gradient) in parameters.zip(gradients) {
                    *value = step.move_along(value, moments, gradient)?;
                }
            }
        }
        let losses = Tensor::cat(&losses, 0)?.to_vec1::<f32>()?;
        Ok(0.5 * losses.into_iter().map(f64::from).sum::<f64>() / batches.len() as f64)
    }

    fn embed(&mut self) -> Result<Array2<f32>, NnError> {
        let mut latents = Vec::new();
        for block in trainer::blocks(self.data.input.n_samples) {
            let batch = self.batch(&block)?;
            let encoded = self.forward(&self.layers[..self.n_encoder], batch.x.clone())?;
            latents.push(self.fuse(&encoded[self.n_encoder], &batch)?);
        }
        let latents = Tensor::cat(&latents, 0)?.flatten_all()?.to_vec1()?;
        let shape = (self.data.input.n_samples, self.latent);
        Ok(Array2::from_shape_vec(shape, latents).map_err(candle_core::Error::wrap)?)
    }

    fn weights(&self) -> Result<Weights, NnError> {
        Ok(self.export(|layer| layer.values.clone())?)
    }

    fn optimizer_state(&self) -> Result<OptimizerState, NnError> {
        let n_moments = self.stage.optimizer()?.n_moments();
        let moment =
            |m: usize| self.export(|layer| layer.moments.each_ref().map(|of| of[m].clone()));
        let moments = (0..n_moments).map(moment).collect::<TensorResult<_>>()?;
        Ok(OptimizerState { steps: self.stage.steps, moments })
    }

    fn restore_optimizer(&mut self, state: &OptimizerState) -> Result<(), NnError> {
        state.check(self.stage.optimizer()?, &self.weights()?)?;
        for (m, moment) in state.moments.iter().enumerate() {
            for (layer, saved) in self.layers.iter_mut().zip(positions(moment)) {
                let saved = pack(&saved, &self.device)?;
                layer.moments.iter_mut().zip(saved).for_each(|(moments, saved)| moments[m] = saved);
            }
        }
        self.stage.steps = state.steps;
        Ok(())
    }
}

impl Layer {
    /// Splits tensors of this layer by view.
    fn unpack(&self, [weight, bias]: &Pair) -> TensorResult<Vec<Dense>> {
        let array = |tensor: &Tensor| {
            let values = tensor.flatten_all()?.to_vec1::<f32>()?;
            Array3::from_shape_vec(tensor.dims3()?, values).map_err(candle_core::Error::wrap)
        };
        let (weight, bias) = (array(weight)?, array(bias)?);
        let view = |(v, &(n_in, n_out)): (usize, &(usize, usize))| {
            let weight = weight.slice(s![v, ..n_in, ..n_out]).reversed_axes();
            let weight = weight.as_standard_layout().into_owned();
            Dense { weight, bias: bias.slice(s![v, 0, ..n_out]).to_owned() }
        };
        Ok(self.shapes.iter().enumerate().map(view).collect())
    }
}

/// Layers of all views at each position, encoders before decoders.
fn positions(weights: &Weights) -> impl Iterator<Item = Vec<&Dense>> {
    let depth = weights.layers().count() / weights.views.len();
    (0..depth).map(move |position| weights.layers().skip(position).step_by(depth).collect())
}

/// Joins one layer of all views. Weights become `(n_in, n_out)`, the order in which their gradients are computed.
fn pack(layers: &[&Dense], device: &candle_core::Device) -> TensorResult<Pair> {
    let n_in = layers.iter().map(|layer| layer.n_in()).max().unwrap_or(0);
    let n_out = layers.iter().map(|layer| layer.n_out()).max().unwrap_or(0);
    let mut weights = Array3::zeros((layers.len(), n_in, n_out));
    let mut biases = Array3::zeros((layers.len(), 1, n_out));
    for (v, layer) in layers.iter().enumerate() {
        weights.slice_mut(s![v, ..layer.n_in(), ..layer.n_out()]).assign(&layer.weight.t());
        biases.slice_mut(s![v, 0, ..layer.n_out()]).assign(&layer.bias);
    }
    Ok([tensor(weights, device)?, tensor(biases, device)?])
}

fn tensor(values: Array3<f32>, device: &candle_core::Device) -> TensorResult<Tensor> {
    let shape = values.dim();
    Tensor::from_vec(values.into_raw_vec_and_offset().0, shape, device)
}
