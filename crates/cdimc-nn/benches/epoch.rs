//! Training epochs of both engines on the shape of Handwritten, in GFLOP/s beside the matrix-product peak of the same run.
//!
//! 2000 samples in batches of 128, five views, 2.05 M weights. The arithmetic counted is that of the products
//! over present rows: 6 a weight and row, less the first layers' unneeded input gradients.

use cdimc_data::Seed;
use cdimc_graph::KnnGraph;
use cdimc_nn::{
    Architecture, Device, Engine, Goal, NetworkInput, Normalization, ObservedView, Optimizer,
    Targets, Trainer, TrainingData, Weights, batches, trainer,
};
use divan::{Bencher, counter::ItemsCount};
use faer::{Accum, Mat, Par, linalg::matmul::matmul};
use ndarray::Array2;
use rand::Rng;
use std::sync::Arc;

const N: usize = 2000;
const BATCH: usize = 128;
const WIDTHS: [usize; 5] = [240, 76, 216, 47, 64];
const LATENT: usize = 10;
const NEIGHBORS: usize = 10;
const MISSING: [f64; 3] = [0.0, 0.3, 0.7];

fn main() {
    // One thread, as a run has when every core has one.
    match rayon::ThreadPoolBuilder::new().num_threads(1).build_global() {
        Ok(()) => divan::main(),
        Err(error) => panic!("one thread: {error}"),
    }
}

/// The peak: a product that fits the cache. Items are floating-point operations, so Gitem/s are GFLOP/s.
#[divan::bench]
fn matrix_product_peak(bencher: Bencher<'_, '_>) {
    const SIZE: usize = 1024;
    let (a, b) = (Mat::<f32>::full(SIZE, SIZE, 0.5), Mat::<f32>::full(SIZE, SIZE, 0.25));
    let mut c = Mat::<f32>::zeros(SIZE, SIZE);
    bencher.counter(ItemsCount::new(2 * SIZE.pow(3))).bench_local(|| {
        matmul(c.as_mut(), Accum::Replace, a.as_ref(), b.as_ref(), 1.0, Par::Seq);
    });
}

#[divan::bench(args = MISSING, sample_count = 10)]
fn fused_pretrain_epoch(bencher: Bencher<'_, '_>, missing: f64) {
    pretrain_epoch(bencher, Engine::Fused, missing);
}

#[divan::bench(args = MISSING, sample_count = 10)]
fn candle_pretrain_epoch(bencher: Bencher<'_, '_>, missing: f64) {
    pretrain_epoch(bencher, Engine::Candle, missing);
}

#[divan::bench(args = MISSING, sample_count = 10)]
fn fused_finetune_epoch(bencher: Bencher<'_, '_>, missing: f64) {
    finetune_epoch(bencher, Engine::Fused, missing);
}

#[divan::bench(args = MISSING, sample_count = 10)]
fn candle_finetune_epoch(bencher: Bencher<'_, '_>, missing: f64) {
    finetune_epoch(bencher, Engine::Candle, missing);
}

fn pretrain_epoch(bencher: Bencher<'_, '_>, engine: Engine, missing: f64) {
    let (mut trainer, operations, _) = handwritten(engine, missing);
    trainer.start(Optimizer::Sgd { learning_rate: 0.01, momentum: 0.95 }).expect("valid optimizer");
    let batches: Vec<_> = batches(0..N, BATCH).collect();
    bencher
        .counter(ItemsCount::new(operations))
        .bench_local(|| trainer.train(&batches, Goal::Reconstruction).expect("steps"));
}

fn finetune_epoch(bencher: Bencher<'_, '_>, engine: Engine, missing: f64) {
    let (mut trainer, _, operations) = handwritten(engine, missing);
    let adam = Optimizer::Adam { learning_rate: 1e-4, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 };
    trainer.start(adam).expect("valid optimizer");
    let mut rng = Seed::new(3).rng();
    let centers = Array2::from_shape_simple_fn((LATENT, LATENT), || rng.gen_range(-1.0..1.0));
    let (labels, selected): (Vec<_>, Vec<_>) = (0..N).map(|i| (i % LATENT, true)).unzip();
    let goal = Goal::Clusters(Targets {
        centers: centers.view(),
        labels: &labels,
        selected: &selected,
        normalization: Normalization::Selected,
    });
    let batches: Vec<_> = batches(0..N, BATCH).collect();
    bencher
        .counter(ItemsCount::new(operations))
        .bench_local(|| trainer.train(&batches, goal).expect("steps"));
}

/// A trainer, and the operations of one epoch of pre-training and of fine-tuning.
fn handwritten(engine: Engine, missing: f64) -> (Box<dyn Trainer>, u64, u64) {
    let mut rng = Seed::new(1).rng();
    let mut observed: Vec<Vec<u32>> = vec![Vec::new(); WIDTHS.len()];
    for i in 0..N as u32 {
        let kept: [bool; WIDTHS.len()] = std::array::from_fn(|_| rng.gen_bool(1.0 - missing));
        let only = (!kept.contains(&true)).then(|| rng.gen_range(0..WIDTHS.len()));
        for (v, rows) in observed.iter_mut().enumerate() {
            if kept[v] || only == Some(v) {
                rows.push(i);
            }
        }
    }
    let graph = |rows: &Vec<u32>| {
        let mut near = || rng.gen_range(1..BATCH);
        let edges = (0..rows.len()).flat_map(|i| {
            let to: [usize; NEIGHBORS] = std::array::from_fn(|_| (i + near()) % rows.len());
            to.map(|j| (rows[i] as usize, rows[j] as usize))
        });
        KnnGraph::from_edges(N, edges.collect::<Vec<_>>()).expect("edges between samples")
    };
    let graphs = observed.iter().map(graph).collect();
    let view = |(rows, width): (Vec<u32>, usize)| {
        let values = Array2::from_shape_simple_fn((rows.len(), width), || rng.gen_range(-1.7..1.7));
        ObservedView { rows, values }
    };
    let views: Vec<_> = observed.into_iter().zip(WIDTHS).map(view).collect();
    let weights = Weights::glorot(&Architecture::default(), &WIDTHS, LATENT, Seed::new(2));
    let (mut pretrain, mut finetune) = (0, 0);
    for (view, weights) in views.iter().zip(&weights.views) {
        let size = |layers: &[cdimc_nn::Dense]| {
            layers.iter().map(|layer| layer.weight.len()).sum::<usize>()
        };
        let encoder = 6 * size(&weights.encoder) - 2 * weights.encoder[0].weight.len();
        finetune += view.rows.len() * encoder;
        pretrain += view.rows.len() * (encoder + 6 * size(&weights.decoder));
    }
    let input = Arc::new(NetworkInput { n_samples: N, views });
    let data = TrainingData { input, graphs: Arc::new(graphs), alpha: 1e-3 };
    let trainer = trainer(engine, Device::Cpu, data, weights);
    (trainer.expect("parts that fit together"), pretrain as u64, finetune as u64)
}
