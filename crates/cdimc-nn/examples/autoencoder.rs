//! A few steps of the network on three samples, one of which lacks the second view.
#![allow(clippy::print_stdout)]

use cdimc_data::Seed;
use cdimc_graph::KnnGraph;
use cdimc_nn::{
    Architecture, Device, Engine, NetworkInput, ObservedView, Optimizer, TrainingData, Weights,
    trainer,
};
use ndarray::array;
use std::{error::Error, sync::Arc};

fn main() -> Result<(), Box<dyn Error>> {
    let views = vec![
        ObservedView { rows: vec![0, 1, 2], values: array![[0.5, 1.0], [-1.0, 0.0], [0.5, -1.0]] },
        ObservedView { rows: vec![1, 2], values: array![[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0]] },
    ];
    let input = Arc::new(NetworkInput { n_samples: 3, views });
    let graphs =
        vec![KnnGraph::from_edges(3, [(0, 1), (1, 2)])?, KnnGraph::from_edges(3, [(1, 2)])?];
    let weights = Weights::glorot(&Architecture::default(), &[2, 3], 2, Seed::new(0));
    let data = TrainingData { input: Arc::clone(&input), graphs: Arc::new(graphs), alpha: 1e-3 };
    let mut trainer = trainer(Engine::default(), Device::Cpu, data, weights)?;
    trainer.start(Optimizer::Sgd { learning_rate: 0.01, momentum: 0.95 })?;
    for step in 0..5 {
        println!("step {step}: loss {:.4}", trainer.pretrain_step(0..3)?);
    }
    println!("common representation:\n{:.3}", trainer.weights()?.embed(&input)?);
    Ok(())
}
