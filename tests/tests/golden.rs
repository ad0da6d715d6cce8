//! Compares preprocessing, graphs and a small run with all numbers of the NumPy and PyTorch reference in `tests/golden`.

use cdimc_cluster::{Advanced, CdimcNet, Finetune, Finetuning};
use cdimc_data::{MultiView, Standardizer, ViewMask, geometry_version};
use cdimc_graph::{KnnGraph, Search};
use cdimc_nn::{
    Dense, Device, Engine, Goal, NetworkInput, ObservedView, Optimizer, Trainer, TrainingData,
    ViewWeights, Weights, trainer,
};
use ndarray::{Array, Array2, ArrayD, Axis, Dimension, array};
use serde_json::Value;
use std::fs::File;
use std::io::BufReader;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

const N_VIEWS: usize = 3;
const ENGINES: [Engine; 2] = [Engine::Candle, Engine::Fused];

struct Golden {
    arrays: npyz::npz::NpzArchive<BufReader<File>>,
    scalars: Value,
}

impl Golden {
    fn open() -> Self {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden");
        let text = std::fs::read_to_string(folder.join("golden.json")).expect("golden.json");
        Self {
            arrays: npyz::npz::NpzArchive::open(folder.join("golden.npz")).expect("golden.npz"),
            scalars: serde_json::from_str(&text).expect("JSON"),
        }
    }

    fn array<T: npyz::Deserialize>(&mut self, name: &str) -> ArrayD<T> {
        let file = self.arrays.by_name(name).expect("readable archive").expect("array in archive");
        let shape: Vec<_> = file.shape().iter().map(|&length| length as usize).collect();
        assert_eq!(file.order(), npyz::Order::C);
        ArrayD::from_shape_vec(shape, file.into_vec().expect("values")).expect("shape")
    }

    fn matrix<T: npyz::Deserialize>(&mut self, name: &str) -> Array2<T> {
        self.array(name).into_dimensionality().expect("two axes")
    }

    /// Returns the arrays of the weights' shape with `prefix`: `init`, `grad`.
    fn weights(&mut self, prefix: &str) -> Weights {
        let mut chain = |view: usize, part: &str, n_layers: usize| -> Vec<Dense> {
            let name = |i, kind| format!("{prefix}.{view}.{part}.{i}.{kind}");
            let layer = |i| Dense {
                weight: self.matrix(&name(i, "weight")),
                bias: self.array(&name(i, "bias")).into_dimensionality().expect("one axis"),
            };
            (0..n_layers).map(layer).collect()
        };
        let view =
            |v| ViewWeights { encoder: chain(v, "encoder", 4), decoder: chain(v, "decoder", 5) };
        Weights { views: (0..N_VIEWS).map(view).collect() }
    }

    fn input(&mut self) -> NetworkInput {
        let mask: ArrayD<f64> = self.array("mask_ordered");
        let view = |v| {
            let present = mask.index_axis(Axis(1), v);
            let rows: Vec<_> = (0..present.len()).filter(|&i| present[i] != 0.0).collect();
            let values: Array2<f64> = self.matrix(&format!("network{v}"));
            ObservedView {
                rows: rows.iter().map(|&row| row as u32).collect(),
                values: values.select(Axis(0), &rows).mapv(|value| value as f32),
            }
        };
        NetworkInput { n_samples: mask.len_of(Axis(0)), views: (0..N_VIEWS).map(view).collect() }
    }

    fn graphs(&mut self) -> Vec<KnnGraph> {
        let n_samples = self.count("/n");
        let graph = |v| {
            let edges: ArrayD<i64> = self.array(&format!("graph{v}_edges"));
            let edges = edges.rows().into_iter().map(|edge| (edge[0] as usize, edge[1] as usize));
            KnnGraph::from_edges(n_samples, edges.collect::<Vec<_>>())
                .expect("edges between samples")
        };
        (0..N_VIEWS).map(graph).collect()
    }

    fn trainer(&mut self, engine: Engine) -> Box<dyn Trainer> {
        let (input, graphs) = (Arc::new(self.input()), Arc::new(self.graphs()));
        let data = TrainingData { input, graphs, alpha: self.number("/alpha") };
        trainer(engine, Device::Cpu, data, self.weights("init")).expect("parts that fit together")
    }

    fn number(&self, pointer: &str) -> f64 {
        self.scalars.pointer(pointer).and_then(Value::as_f64).expect("number")
    }

    fn count(&self, pointer: &str) -> usize {
        self.number(pointer) as usize
    }

    fn batches(&self) -> Vec<Range<usize>> {
        let (n, batch) = (self.count("/n"), self.count("/batch"));
        (0..n).step_by(batch).map(|start| start..(start + batch).min(n)).collect()
    }

    /// Runs all pre-training epochs and returns their mean losses.
    fn pretrain(&self, trainer: &mut dyn Trainer) -> Vec<f64> {
        let sgd = Optimizer::Sgd {
            learning_rate: self.number("/pretrain/lr"),
            momentum: self.number("/pretrain/momentum"),
        };
        trainer.start(sgd).expect("valid optimizer");
        let batches = self.batches();
        let mut epoch = || trainer.train(&batches, Goal::Reconstruction).expect("steps");
        (0..self.count("/pretrain/epochs")).map(|_| epoch()).collect()
    }
}

#[track_caller]
fn assert_near(what: &str, expected: f64, found: f64, tolerance: f64) {
    let error = (found - expected).abs() / expected.abs();
    assert!(
        error <= tolerance,
        "{what}: expected {expected}, found {found}, relative error {error:e}"
    );
}

/// Returns the relative Frobenius distance; NaN, which fails every bound, if a number is NaN.
#[track_caller]
fn distance<D: Dimension>(expected: &Array<f32, D>, found: &Array<f32, D>) -> f64 {
    assert_eq!(found.shape(), expected.shape());
    let (mut error, mut norm) = (0.0, 0.0);
    for (&expected, &found) in expected.iter().zip(found) {
        error += f64::from(expected - found).powi(2);
        norm += f64::from(expected).powi(2);
    }
    if error == 0.0 { 0.0 } else { (error / norm).sqrt() }
}

#[test]
fn the_distance_of_nan_is_nan() {
    let distance = distance(&array![1.0, 2.0], &array![1.0, f32::NAN]);
    assert!(distance.is_nan());
}

#[test]
#[should_panic(expected = "left == right")]
fn arrays_of_other_shapes_are_not_compared() {
    distance(&array![1.0, 2.0], &array![1.0]);
}

#[test]
fn the_first_batch_has_the_loss_and_gradients_of_pytorch() {
    let mut golden = Golden::open();
    let expected = golden.weights("grad");
    for engine in ENGINES {
        let mut trainer = golden.trainer(engine);
        // The momentum after a first step is the gradient.
        let sgd = Optimizer::Sgd { learning_rate: 1e-30, momentum: 0.0 };
        trainer.start(sgd).expect("valid optimizer");
        let loss = trainer.train(&golden.batches()[..1], Goal::Reconstruction).expect("step");
        let gradients = trainer.optimizer_state().expect("state").moments.remove(0);
        let what = format!("{engine:?}: first loss");
        assert_near(&what, golden.number("/pretrain/first_batch_loss"), loss, 1e-5);
        assert_eq!(expected.layers().count(), gradients.layers().count());
        for (i, (expected, found)) in expected.layers().zip(gradients.layers()).enumerate() {
            let error = distance(&expected.weight, &found.weight);
            assert!(error <= 1e-4, "{engine:?}: layer {i}, weight: relative error {error:e}");
            let error = distance(&expected.bias, &found.bias);
            assert!(error <= 1e-4, "{engine:?}: layer {i}, bias: relative error {error:e}");
        }
    }
}

#[test]
fn pre_training_follows_pytorch() {
    let mut golden = Golden::open();
    let expected = golden.matrix("fused_after_pretrain");
    for engine in ENGINES {
        let mut trainer = golden.trainer(engine);
        for (epoch, loss) in golden.pretrain(trainer.as_mut()).into_iter().enumerate() {
            let pointer = format!("/pretrain/epoch_losses/{epoch}");
            assert_near(&format!("{engine:?}: epoch {epoch}"), golden.number(&pointer), loss, 1e-4);
        }
        let error = distance(&expected, &trainer.embed().expect("finite weights"));
        assert!(error <= 1e-3, "{engine:?}: fused latents: relative error {error:e}");
        let embedded =
            trainer.weights().expect("weights").embed(&golden.input()).expect("embedding");
        let error = distance(&expected, &embedded);
        assert!(error <= 1e-3, "{engine:?}: embedding: relative error {error:e}");
    }
}

#[test]
fn fine_tuning_follows_pytorch() {
    let mut golden = Golden::open();
    let centers: Array2<f32> = golden.matrix("centres");
    let start: ArrayD<i64> = golden.array("start_labels");
    let expected: ArrayD<i64> = golden.array("final_labels");
    let latents = golden.matrix("fused_after_finetune");
    let (n, rounds) = (golden.count("/n"), golden.count("/finetune/rounds"));
    for engine in ENGINES {
        let mut trainer = golden.trainer(engine);
        golden.pretrain(trainer.as_mut());
        let authors = CdimcNet::authors_code();
        let net = CdimcNet {
            batch_size: golden.count("/batch"),
            finetune: Finetune {
                rounds,
                epochs_per_round: golden.count("/finetune/inner"),
                learning_rate: golden.number("/finetune/lr"),
                ..authors.finetune
            },
            advanced: Advanced { minimum_rounds: rounds, ..authors.advanced },
            ..authors
        };
        trainer.start(net.finetune.optimizer()).expect("valid optimizer");
        let start = start.iter().map(|&label| label as usize).collect();
        let mut finetuning = Finetuning::new(centers.clone(), start);
        for round in 0..rounds {
            let found = finetuning.round(trainer.as_mut(), &net).expect("numbers");
            let found = found.expect("a round that is left");
            let history = format!("/finetune/history/{round}");
            let what = |what| format!("{engine:?}: {what} of round {round}");
            let number = |name| golden.number(&format!("{history}/{name}"));
            assert_near(&what("loss"), number("kloss"), found.loss, 1e-3);
            assert_near(&what("age"), number("age"), found.age, 1e-3);
            let difference = found.selected.abs_diff(number("selected") as usize);
            assert!(difference <= 2, "{}: {difference} apart", what("selected samples"));
        }
        let nothing = finetuning.round(trainer.as_mut(), &net).expect("numbers");
        assert_eq!(nothing, None);
        let labels = &finetuning.labels;
        let equal = labels.iter().zip(&expected).filter(|&(&a, &b)| a == b as usize).count();
        assert!(equal as f64 >= 0.99 * n as f64, "{engine:?}: {equal} of {n} labels");
        let error = distance(&latents, &trainer.embed().expect("finite weights"));
        assert!(error <= 1e-3, "{engine:?}: fused latents: relative error {error:e}");
    }
}

/// Returns the data of the golden case in original order, and the training order.
fn golden_data() -> (MultiView, Vec<usize>) {
    let mut golden = Golden::open();
    let mask = golden.matrix::<f64>("mask").mapv(|w| w == 1.0);
    let views = (0..mask.ncols()).map(|v| golden.matrix(&format!("view{v}")));
    let views: Vec<Array2<f64>> = views.collect();
    let order: ArrayD<i64> = golden.array("order");
    let data = MultiView::new(views, ViewMask::new(mask).expect("a mask")).expect("sound data");
    (data, order.iter().map(|&i| i as usize).collect())
}

#[test]
fn standardized_views_equal_the_reference_bit_for_bit() {
    let (data, order) = golden_data();
    let mut golden = Golden::open();
    for view in 0..data.n_views() {
        let expected: Array2<f64> = golden.matrix(&format!("network{view}"));
        let standardizer = Standardizer::fit(&data, view).expect("enough rows");
        for (position, &sample) in order.iter().enumerate() {
            let found: Vec<f64> = if data.mask().is_observed(sample, view) {
                standardizer.apply(data.view(view).row(sample)).collect()
            } else {
                vec![0.0; standardizer.width()]
            };
            assert_eq!(found, expected.row(position).to_vec(), "view {view}, sample {sample}");
        }

        let (present, values) = standardizer.transform(&data, view, &order).expect("same width");
        let present: Vec<usize> = present.iter().map(|&position| position as usize).collect();
        assert_eq!(values, expected.select(Axis(0), &present).mapv(|z| z as f32));
        assert_eq!(present.len(), data.mask().n_observed(view));
    }
}

#[test]
fn graphs_over_the_geometry_version_equal_the_reference() {
    let (data, order) = golden_data();
    let mut golden = Golden::open();
    let n_neighbors = golden.scalars["neighbours"].as_u64().expect("a number") as usize;
    for (view, expected) in golden.graphs().iter().enumerate() {
        let present: Vec<usize> =
            (0..order.len()).filter(|&i| data.mask().is_observed(order[i], view)).collect();
        let samples: Vec<usize> = present.iter().map(|&i| order[i]).collect();
        let points = geometry_version(&data, view, &samples);
        for search in [Search::KdTree, Search::Exhaustive] {
            let found =
                KnnGraph::of_view(points.view(), &present, order.len(), n_neighbors, search);
            assert_eq!(found.expect("enough points"), *expected, "view {view}");
        }
    }
}
