//! Engines and devices for training steps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Engine that computes the training steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Explicit forward and backward passes with matrix products; CPU only.
    #[default]
    Fused,
    /// Explicit gradients on candle's tensors; CPU and CUDA.
    Candle,
}

/// Device that computes the training steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
    /// The first NVIDIA GPU; needs the feature `cuda`.
    Cuda,
}

impl Device {
    /// Returns the default engine of the device.
    pub fn engine(self) -> Engine {
        match self {
            Self::Cpu => Engine::Fused,
            Self::Cuda => Engine::Candle,
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
