#![doc = include_str!("../README.md")]

pub use crate::{
    error::NnError,
    input::{Fusion, NetworkInput, ObservedView},
    optimizer::{Optimizer, OptimizerState},
    trainer::{Device, Engine, Goal, Normalization, Targets, Trainer, TrainingData, batches},
    weights::{Architecture, Dense, ViewWeights, Weights},
};

use crate::{candle::CandleTrainer, fused::FusedTrainer};

pub mod autodiff;
mod candle;
#[cfg(test)]
mod contract;
mod embed;
mod error;
mod fused;
mod input;
mod optimizer;
mod real;
mod trainer;
mod weights;

/// Returns a trainer of `weights` on `data`.
///
/// # Errors
/// If data and weights do not fit together, a sample has no view, alpha is negative or not finite, or this build or
/// machine lacks the device.
#[allow(clippy::needless_pass_by_value)] // The caller's copy is freed once the engine has its own.
pub fn trainer(
    engine: Engine,
    device: Device,
    data: TrainingData,
    weights: Weights,
) -> Result<Box<dyn Trainer>, NnError> {
    data.check(&weights)?;
    match (engine, device) {
        (Engine::Fused, Device::Cuda) => Err(NnError::Unfit(
            "device cuda: the fused engine runs on the CPU; take the engine candle".to_owned(),
        )),
        (Engine::Fused, Device::Cpu) => Ok(Box::new(FusedTrainer::<f32>::new(data, &weights))),
        (Engine::Candle, device) => Ok(Box::new(CandleTrainer::new(device, data, &weights)?)),
    }
}
