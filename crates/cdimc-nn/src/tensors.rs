//! Weights as safetensors: `view{v}.encoder.{i}.weight` `(n_out, n_in)` and `.bias` `(n_out)`, f32.

use crate::{Dense, NnError, ViewWeights, Weights};
use ndarray::{Array1, Array2};
use safetensors::{Dtype, SafeTensorError, SafeTensors, tensor::TensorView};

impl Weights {
    /// The parameters as the bytes of a safetensors file.
    ///
    /// # Errors
    /// If the format cannot hold them.
    pub fn to_safetensors(&self) -> Result<Vec<u8>, NnError> {
        let tensors = self.named_tensors();
        let view = |(name, shape, bytes)| {
            TensorView::new(Dtype::F32, shape, bytes)
                .map(|view| (name, view))
                .map_err(|error| format(&error))
        };
        let views = tensors.iter().map(|(name, shape, bytes)| view((name, shape.clone(), bytes)));
        safetensors::serialize(views.collect::<Result<Vec<_>, _>>()?, None)
            .map_err(|error| format(&error))
    }

    /// Every parameter with its name, its shape and its values as little-endian bytes, to be stored
    /// among other tensors.
    pub fn named_tensors(&self) -> Vec<(String, Vec<usize>, Vec<u8>)> {
        let mut tensors = Vec::new();
        for (v, view) in self.views.iter().enumerate() {
            for (part, layers) in [(ENCODER, &view.encoder), (DECODER, &view.decoder)] {
                for (i, layer) in layers.iter().enumerate() {
                    let (weight, bias) = names(v, part, i);
                    tensors.push((weight, layer.weight.shape().to_vec(), bytes(&layer.weight)));
                    tensors.push((bias, layer.bias.shape().to_vec(), bytes(&layer.bias)));
                }
            }
        }
        tensors
    }

    /// The parameters in a safetensors file; tensors of other names are left alone.
    ///
    /// # Errors
    /// If the bytes are damaged, a tensor is missing, or shapes do not fit together.
    pub fn from_safetensors(bytes: &[u8]) -> Result<Self, NnError> {
        let file = SafeTensors::deserialize(bytes).map_err(|error| format(&error))?;
        let layers = |view, part| -> Result<Vec<Dense>, NnError> {
            let mut layers = Vec::new();
            while let Some(layer) = read(&file, view, part, layers.len())? {
                layers.push(layer);
            }
            Ok(layers)
        };
        let mut views = Vec::new();
        while file.tensor(&names(views.len(), ENCODER, 0).0).is_ok() {
            let view = views.len();
            views.push(ViewWeights {
                encoder: layers(view, ENCODER)?,
                decoder: layers(view, DECODER)?,
            });
        }
        if views.is_empty() {
            return Err(NnError::Format(format!("no tensor {}", names(0, ENCODER, 0).0)));
        }
        let weights = Self { views };
        weights.check()?;
        Ok(weights)
    }
}

const ENCODER: &str = "encoder";
const DECODER: &str = "decoder";

fn names(view: usize, part: &str, layer: usize) -> (String, String) {
    let name = |kind| format!("view{view}.{part}.{layer}.{kind}");
    (name("weight"), name("bias"))
}

/// One layer, or none where the chain has ended.
fn read(
    file: &SafeTensors<'_>,
    view: usize,
    part: &str,
    i: usize,
) -> Result<Option<Dense>, NnError> {
    let (weight_name, bias_name) = names(view, part, i);
    let Ok(weight) = file.tensor(&weight_name) else { return Ok(None) };
    let bias = file.tensor(&bias_name).map_err(|error| format(&error))?;
    let wrong =
        |name, shape: &[usize]| NnError::Format(format!("tensor {name} has shape {shape:?}"));
    let &[n_out, n_in] = weight.shape() else { return Err(wrong(&weight_name, weight.shape())) };
    let &[_] = bias.shape() else { return Err(wrong(&bias_name, bias.shape())) };
    let weight = Array2::from_shape_vec((n_out, n_in), values(&weight_name, &weight)?)
        .map_err(|_| wrong(&weight_name, &[n_out, n_in]))?;
    Ok(Some(Dense { weight, bias: Array1::from_vec(values(&bias_name, &bias)?) }))
}

fn values(name: &str, tensor: &TensorView<'_>) -> Result<Vec<f32>, NnError> {
    if tensor.dtype() != Dtype::F32 {
        return Err(NnError::Format(format!("tensor {name} is {:?}, must be F32", tensor.dtype())));
    }
    Ok(tensor.data().as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
}

fn bytes<'a>(values: impl IntoIterator<Item = &'a f32>) -> Vec<u8> {
    values.into_iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn format(error: &SafeTensorError) -> NnError {
    NnError::Format(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Architecture;
    use cdimc_data::Seed;

    fn weights() -> Weights {
        Weights::glorot(
            &Architecture { wide: 9, ..Architecture::default() },
            &[5, 3],
            2,
            Seed::new(1),
        )
    }

    #[test]
    fn weights_survive_the_file_bit_for_bit() {
        let weights = weights();
        let bytes = weights.to_safetensors().expect("finite weights");
        assert_eq!(Weights::from_safetensors(&bytes).expect("whole file"), weights);
    }

    #[test]
    fn a_damaged_file_is_an_error() {
        let bytes = weights().to_safetensors().expect("finite weights");
        assert!(Weights::from_safetensors(&bytes[..bytes.len() - 1]).is_err());
        assert!(Weights::from_safetensors(&bytes[..7]).is_err());
        assert!(Weights::from_safetensors(b"{}").is_err());
    }
}
