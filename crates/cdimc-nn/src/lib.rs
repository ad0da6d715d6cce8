/*!
The network of CDIMC-net: view-specific autoencoders, fusion, losses and optimizers (paper, section 3.2).

The main type is [`Trainer`], an interface for training steps; [`Weights`] holds the weights and [`NetworkInput`] the
data.

```
use cdimc_data::Seed;
use cdimc_graph::KnnGraph;
use cdimc_nn::{
    Architecture, Device, Engine, Goal, NetworkInput, ObservedView, Optimizer, TrainingData,
    Weights, trainer,
};
use ndarray::array;
use std::sync::Arc;

// Three samples; the first has no second view.
let views = vec![
    ObservedView { rows: vec![0, 1, 2], values: array![[0.5, 1.0], [-1.0, 0.0], [0.5, -1.0]] },
    ObservedView { rows: vec![1, 2], values: array![[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0]] },
];
let input = Arc::new(NetworkInput { n_samples: 3, views });
let graphs = vec![KnnGraph::from_edges(3, [(0, 1), (1, 2)])?, KnnGraph::from_edges(3, [(1, 2)])?];
let weights = Weights::glorot(&Architecture::default(), &[2, 3], 2, Seed::new(0));

let data = TrainingData { input: Arc::clone(&input), graphs: Arc::new(graphs), alpha: 1e-3 };
let mut trainer = trainer(Engine::default(), Device::Cpu, data, weights)?;
trainer.start(Optimizer::Sgd { learning_rate: 0.01, momentum: 0.95 })?;
let first = trainer.train(&[0..3], Goal::Reconstruction)?;
for _ in 0..20 {
    trainer.train(&[0..3], Goal::Reconstruction)?;
}
assert!(trainer.train(&[0..3], Goal::Reconstruction)? < first);

// Two latents for each sample, and the missing view of the first sample.
let latents = trainer.weights()?.embed(&input)?;
assert_eq!(latents.dim(), (3, 2));
assert_eq!(trainer.weights()?.decode(latents.view(), 1)?.dim(), (3, 3));
# Ok::<(), Box<dyn std::error::Error>>(())
```
*/

pub use crate::{
    engine::{Device, Engine},
    error::NnError,
    input::{NetworkInput, ObservedView},
    optimizer::{Optimizer, OptimizerState},
    trainer::{Goal, Normalization, Targets, Trainer, TrainingData, batches},
    weights::{Architecture, Dense, ViewWeights, Weights},
};

use crate::{candle::CandleTrainer, fused::FusedTrainer};

pub mod autodiff;
mod candle;
#[cfg(test)]
mod contract;
mod embed;
mod engine;
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
        (Engine::Fused, Device::Cuda) => Err(NnError::Device {
            device: device.to_string(),
            reason: "the fused engine runs on the CPU; take the engine candle".to_owned(),
        }),
        (Engine::Fused, Device::Cpu) => Ok(Box::new(FusedTrainer::<f32>::new(data, &weights))),
        (Engine::Candle, device) => Ok(Box::new(CandleTrainer::new(device, data, &weights)?)),
    }
}
