//! Which implementation computes the training steps, and where.

use crate::{NnError, Trainer, TrainingData, Weights, candle::CandleTrainer, fused::FusedTrainer};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// What computes the training steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Forward and backward passes written out over matrix products; CPU only.
    #[default]
    Fused,
    /// candle's tensors and automatic differentiation; CPU and CUDA.
    Candle,
}

/// Where the training steps are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
    /// The first NVIDIA GPU; needs the feature `cuda`.
    Cuda,
}

impl Device {
    /// The engine to take where none is asked for.
    pub fn engine(self) -> Engine {
        match self {
            Self::Cpu => Engine::Fused,
            Self::Cuda => Engine::Candle,
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fused => "fused",
            Self::Candle => "candle",
        })
    }
}

impl FromStr for Engine {
    type Err = NnError;

    fn from_str(text: &str) -> Result<Self, NnError> {
        match text {
            "fused" => Ok(Self::Fused),
            "candle" => Ok(Self::Candle),
            _ => Err(NnError::Setting {
                name: "engine",
                value: text.to_owned(),
                rule: "must be fused or candle",
            }),
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
        })
    }
}

impl FromStr for Device {
    type Err = NnError;

    fn from_str(text: &str) -> Result<Self, NnError> {
        match text {
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda),
            _ => Err(NnError::Setting {
                name: "device",
                value: text.to_owned(),
                rule: "must be cpu or cuda",
            }),
        }
    }
}

/// A trainer of `weights` on `data`.
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
