//! Which implementation computes the training steps, and where.

use crate::{NetworkInput, NnError, Trainer, Weights, candle::CandleTrainer, fused::FusedTrainer};
use cdimc_graph::KnnGraph;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr, sync::Arc};

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

/// A trainer of `weights` on `input` with the graph term weighted by `alpha` (eq. 7).
///
/// `graphs` has one graph over all samples a view; edges of samples the view does not observe are ignored.
///
/// # Errors
/// If input, graphs and weights do not fit together, a sample has no view, `alpha` is negative or not
/// finite, or this build or machine lacks the device.
#[allow(clippy::needless_pass_by_value)] // The caller's copy is freed once the engine has its own.
pub fn trainer(
    engine: Engine,
    device: Device,
    input: Arc<NetworkInput>,
    graphs: Arc<Vec<KnnGraph>>,
    weights: Weights,
    alpha: f64,
) -> Result<Box<dyn Trainer>, NnError> {
    weights.check()?;
    input.check()?;
    weights.check_input(&input)?;
    if graphs.len() != input.views.len() {
        return Err(NnError::Views { expected: input.views.len(), found: graphs.len() });
    }
    if let Some(graph) = graphs.iter().find(|graph| graph.n_nodes() != input.n_samples) {
        return Err(NnError::Shape {
            what: "nodes of a graph",
            expected: input.n_samples,
            found: graph.n_nodes(),
        });
    }
    if !(alpha.is_finite() && alpha >= 0.0) {
        return Err(NnError::Setting {
            name: "alpha",
            value: alpha.to_string(),
            rule: "must be finite and at least 0",
        });
    }
    match (engine, device) {
        (Engine::Fused, Device::Cuda) => Err(NnError::Device {
            device: device.to_string(),
            reason: "the fused engine runs on the CPU; take the engine candle".to_owned(),
        }),
        (Engine::Fused, Device::Cpu) => {
            Ok(Box::new(FusedTrainer::<f32>::new(input, graphs, &weights, alpha)))
        }
        (Engine::Candle, device) => {
            Ok(Box::new(CandleTrainer::new(device, input, graphs, &weights, alpha)?))
        }
    }
}
