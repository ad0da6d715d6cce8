//! Layers on candle's tensors, trained by automatic differentiation, for methods with their own networks. Functions fail
//! if candle fails, as it does for shapes that disagree.
#![allow(clippy::missing_errors_doc)] // They are the same for all functions.

use crate::{Dense, Device, NnError, Optimizer};
use candle_core::{DType, Result, Tensor, Var, backprop::GradStore};
use ndarray::ArrayView2;

/// Returns the device for candle's tensors.
///
/// # Errors
/// If this build or machine lacks it.
pub fn open(device: Device) -> std::result::Result<candle_core::Device, NnError> {
    match device {
        Device::Cpu => Ok(candle_core::Device::Cpu),
        Device::Cuda if candle_core::utils::cuda_is_available() => {
            Ok(candle_core::Device::new_cuda(0)?)
        }
        Device::Cuda => Err(NnError::Unfit(
            "device cuda: this build has no CUDA; build with the feature cuda".to_owned(),
        )),
    }
}

/// A variable and its optimizer's moments.
#[derive(Debug, Clone)]
pub struct Parameter {
    value: Var,
    moments: Vec<Tensor>,
}

impl Parameter {
    /// Returns a variable with the initial value `value`.
    pub fn new(value: &Tensor) -> Result<Self> {
        Ok(Self { value: Var::from_tensor(value)?, moments: Vec::new() })
    }

    /// The variable.
    pub fn value(&self) -> &Tensor {
        &self.value
    }

    /// Starts a stage of training: resets the moments and keeps the value.
    pub fn start(&mut self, optimizer: Optimizer) -> Result<()> {
        self.moments = optimizer.no_moments(&self.value)?;
        Ok(())
    }

    /// Takes step number `t`, from 1 on. A parameter that the loss does not depend on has gradient zero.
    pub fn step(&mut self, optimizer: Optimizer, t: u64, gradients: &GradStore) -> Result<()> {
        let gradient = match gradients.get(&self.value) {
            Some(gradient) => gradient.detach().contiguous()?,
            None => self.value.zeros_like()?.detach(),
        };
        let value = self.value.as_detached_tensor();
        let moved = optimizer.step(t).move_along(&value, &mut self.moments, &gradient)?;
        if moved.id() == value.id() { Ok(()) } else { self.value.set(&moved) }
    }
}

/// A fully connected layer x W + b, `W` of shape `(n_in, n_out)`, with an optional b, `(1, n_out)`.
#[derive(Debug, Clone)]
pub struct Layer {
    weight: Parameter,
    bias: Option<Parameter>,
}

impl Layer {
    /// Returns a layer with the weights and biases of `layer`.
    pub fn new(layer: &Dense, device: &candle_core::Device) -> Result<Self> {
        let bias = Tensor::from_iter(layer.bias.iter().copied(), device)?;
        let bias = Parameter::new(&bias.reshape((1, layer.n_out()))?)?;
        Ok(Self { bias: Some(bias), ..Self::linear(layer.weight.view(), device)? })
    }

    /// Returns a layer without biases from weights `(n_out, n_in)`.
    pub fn linear(weight: ArrayView2<'_, f32>, device: &candle_core::Device) -> Result<Self> {
        let weight = weight.t();
        let values = Tensor::from_iter(weight.iter().copied(), device)?;
        Ok(Self { weight: Parameter::new(&values.reshape(weight.dim())?)?, bias: None })
    }

    /// Applies the layer to `x`, `(n, n_in)`.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = x.matmul(self.weight.value())?;
        let Some(bias) = &self.bias else { return Ok(y) };
        // Repeats the bias by a product: the gradient of a broadcast is a sum over rows, which candle computes entry by
        // entry.
        y.add(&Tensor::ones((x.dim(0)?, 1), DType::F32, x.device())?.matmul(bias.value())?)
    }

    /// The weights, then the biases.
    pub fn parameters_mut(&mut self) -> impl Iterator<Item = &mut Parameter> {
        std::iter::once(&mut self.weight).chain(&mut self.bias)
    }
}

/// Returns max(x, 0), with slope 0 at 0 as in PyTorch; candle's own has slope 1 there.
pub fn relu(x: &Tensor) -> Result<Tensor> {
    x.mul(&x.gt(0.0)?.to_dtype(x.dtype())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn a_layer_multiplies_by_its_weights_and_adds_its_biases() {
        let dense = Dense {
            weight: array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
            bias: array![0.5, 0.0, -0.5],
        };
        let layer = Layer::new(&dense, &candle_core::Device::Cpu).unwrap();
        let x = Tensor::new(&[[1.0_f32, -1.0], [0.0, 2.0]], &candle_core::Device::Cpu).unwrap();
        let y = layer.forward(&x).unwrap().to_vec2::<f32>().unwrap();
        assert_eq!(y, [[-0.5, -1.0, -1.5], [4.5, 8.0, 11.5]]);
    }

    #[test]
    fn a_rectifier_has_slope_zero_at_zero() {
        let x = Var::new(&[-1.0_f32, 0.0, 2.0], &candle_core::Device::Cpu).unwrap();
        let y = relu(&x).unwrap();
        assert_eq!(y.to_vec1::<f32>().unwrap(), [0.0, 0.0, 2.0]);
        let gradients = y.sum_all().unwrap().backward().unwrap();
        assert_eq!(gradients.get(&x).unwrap().to_vec1::<f32>().unwrap(), [0.0, 0.0, 1.0]);
    }
}
