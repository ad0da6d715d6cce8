/*!
The network of CDIMC-net: view-specific autoencoders, fusion, losses and optimisers (paper, section 3.2).

The principal type is [`Trainer`]: one interface for a training step, with the weights in
[`Weights`] and the data in [`NetworkInput`].
*/

pub use crate::{
    engine::{Device, Engine, trainer},
    error::NnError,
    input::{NetworkInput, ObservedView},
    trainer::{Normalization, Optimizer, OptimizerState, Targets, Trainer},
    weights::{Architecture, Dense, ViewWeights, Weights},
};

mod candle;
mod embed;
mod engine;
mod error;
mod fused;
mod input;
mod tensors;
mod trainer;
mod weights;
