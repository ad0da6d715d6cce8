//! Tests of both engines on a small case with random biases, so that no unit is at the kink of `ReLU`. With the feature
//! `cuda` the engine on tensors is also tested on a GPU.

use crate::{
    Architecture, Dense, Device, Engine, Fusion, Goal, NetworkInput, NnError, Normalization,
    ObservedView, Optimizer, Targets, Trainer, TrainingData, Weights, embed::chain,
    fused::FusedTrainer, trainer,
};
use cdimc_data::Seed;
use cdimc_graph::KnnGraph;
use ndarray::{Array2, s};
use rand::Rng;
use std::{ops::Range, sync::Arc};

const N: usize = 48;
const WIDTHS: [usize; 3] = [6, 3, 5];
const LATENT: usize = 3;
const ALPHA: f64 = 0.3;
type Place = (Engine, Device);
const FUSED: Place = (Engine::Fused, Device::Cpu);
/// Engines on tensors.
const CANDLE: &[Place] = &[
    (Engine::Candle, Device::Cpu),
    #[cfg(feature = "cuda")]
    (Engine::Candle, Device::Cuda),
];
const SGD: Optimizer = Optimizer::Sgd { learning_rate: 0.02, momentum: 0.9 };
const ADAM: Optimizer = Optimizer::Adam { learning_rate: 1e-3, beta1: 0.9, beta2: 0.999 };
const FIRST: Range<usize> = 0..16;
/// A batch without rows in the last view.
const BLIND: Range<usize> = 16..32;

struct Case {
    input: Arc<NetworkInput>,
    graphs: Arc<Vec<KnnGraph>>,
    /// Half of the views of a sample.
    partial: Fusion,
    weights: Weights,
    centers: Array2<f32>,
    labels: Vec<usize>,
    selected: Vec<bool>,
}

impl Case {
    fn new(seed: u64) -> Self {
        Self::of(N, &Architecture { wide: 9, ..Architecture::default() }, seed)
    }

    fn of(n_samples: usize, architecture: &Architecture, seed: u64) -> Self {
        let mut rng = Seed::new(seed).rng();
        let observes = |v: usize, i: usize, lost: bool| match v {
            0 => !lost || i.is_multiple_of(3),
            1 => !lost || i % 3 == 1 || BLIND.contains(&i),
            _ => (!lost || i % 3 == 2) && !BLIND.contains(&i),
        };
        let mut view = |(v, &width): (usize, &usize)| {
            let rows: Vec<_> =
                (0..n_samples).filter(|&i| observes(v, i, rng.gen_bool(0.4))).collect();
            let values =
                Array2::from_shape_simple_fn((rows.len(), width), || rng.gen_range(-2.0..2.0));
            ObservedView { rows: rows.into_iter().map(|i| i as u32).collect(), values }
        };
        let views: Vec<_> = WIDTHS.iter().enumerate().map(&mut view).collect();
        let graph = |view: &ObservedView| {
            let rows = &view.rows;
            let next = |i: usize| [i + 1, i + 4, i * 5 % rows.len()];
            let edges = (0..rows.len()).flat_map(|i| next(i).map(|j| (i, j % rows.len())));
            let edges = edges.map(|(i, j)| (rows[i] as usize, rows[j] as usize));
            KnnGraph::from_edges(n_samples, edges.collect::<Vec<_>>()).unwrap()
        };
        let graphs = views.iter().map(graph).collect();
        let mut weights = Weights::glorot(architecture, &WIDTHS, LATENT, Seed::new(seed));
        for view in &mut weights.views {
            for layer in view.encoder.iter_mut().chain(&mut view.decoder) {
                layer.bias.mapv_inplace(|_| rng.gen_range(-0.3..0.3));
            }
        }
        let input = NetworkInput { n_samples, views };
        Self {
            partial: input.fusion_with_dropout(0.5, Seed::new(seed)),
            input: Arc::new(input),
            graphs: Arc::new(graphs),
            weights,
            centers: Array2::from_shape_simple_fn((4, LATENT), || rng.gen_range(-1.0..1.0)),
            labels: (0..n_samples).map(|_| rng.gen_range(0..4)).collect(),
            selected: (0..n_samples).map(|_| rng.gen_bool(0.6)).collect(),
        }
    }

    fn trainer(&self, place: Place) -> Box<dyn Trainer> {
        self.try_trainer(place, ALPHA).unwrap()
    }

    fn try_trainer(
        &self,
        (engine, device): Place,
        alpha: f64,
    ) -> Result<Box<dyn Trainer>, NnError> {
        trainer(engine, device, self.data(alpha), self.weights.clone())
    }

    fn data(&self, alpha: f64) -> TrainingData {
        let (input, graphs) = (Arc::clone(&self.input), Arc::clone(&self.graphs));
        TrainingData { input, graphs, alpha }
    }

    fn targets(&self) -> Targets<'_> {
        Targets {
            centers: self.centers.view(),
            labels: &self.labels,
            selected: &self.selected,
            normalization: Normalization::Selected,
        }
    }

    fn goal(&self) -> Goal<'_> {
        Goal::Clusters(self.targets())
    }

    fn goals(&self) -> [Goal<'_>; 4] {
        let batch = Targets { normalization: Normalization::Batch, ..self.targets() };
        [
            Goal::Reconstruction,
            Goal::ReconstructionFrom(&self.partial),
            Goal::Clusters(batch),
            self.goal(),
        ]
    }

    /// Returns the losses of `n_steps` pre-training and as many fine-tuning steps.
    fn train(&self, trainer: &mut dyn Trainer, n_steps: usize) -> Vec<f64> {
        let mut losses = Vec::new();
        for (optimizer, goal) in [(SGD, Goal::Reconstruction), (ADAM, self.goal())] {
            trainer.start(optimizer).unwrap();
            for batch in batches().cycle().take(n_steps) {
                losses.push(trainer.train(&[batch], goal).unwrap());
            }
        }
        losses
    }
}

/// Returns loss and gradients of a batch: the momentum after a first step is the gradient, and a step of this length
/// moves no weight.
fn gradients(trainer: &mut dyn Trainer, batch: &Range<usize>, goal: Goal<'_>) -> (f64, Weights) {
    let sgd = Optimizer::Sgd { learning_rate: 1e-30, momentum: 0.0 };
    trainer.start(sgd).unwrap();
    let loss = trainer.train(std::slice::from_ref(batch), goal).unwrap();
    (loss, trainer.optimizer_state().unwrap().moments.remove(0))
}

/// Checks the Frobenius distance of every tensor, relative to the tensor plus a hundredth of the whole: the graph term's
/// gradient of the last biases cancels to rounding errors. NaN fails.
#[track_caller]
fn assert_near(expected: &Weights, found: &Weights, tolerance: f64) {
    let norm = |values: &[f32]| values.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    let whole = norm(&parameters(expected));
    for (expected, found) in tensors(expected).zip(tensors(found)) {
        let differences: Vec<f32> = expected.iter().zip(found).map(|(a, b)| a - b).collect();
        let (error, size) = (norm(&differences), norm(&expected) + 0.01 * whole);
        assert!(error <= tolerance * size, "{error} of {size}");
    }
}

fn places() -> impl Iterator<Item = Place> {
    CANDLE.iter().copied().chain([FUSED])
}

/// Returns batches; the last one is smaller.
fn batches() -> impl Iterator<Item = Range<usize>> + Clone {
    [FIRST, BLIND, 32..42, 42..N].into_iter()
}

fn tensors(weights: &Weights) -> impl Iterator<Item = Vec<f32>> {
    weights.layers().flat_map(|layer| [layer.weight.iter().copied().collect(), layer.bias.to_vec()])
}

/// Both use f32; a gradient that nearly cancels keeps four digits.
#[test]
fn both_engines_have_the_same_gradients() {
    for (seed, place) in (0..5).flat_map(|seed| CANDLE.iter().map(move |&place| (seed, place))) {
        let case = Case::new(seed);
        let (mut candle, mut fused) = (case.trainer(place), case.trainer(FUSED));
        for batch in batches().chain(std::iter::once(0..N)) {
            for goal in case.goals() {
                let (expected_loss, expected) = gradients(candle.as_mut(), &batch, goal);
                let (loss, found) = gradients(fused.as_mut(), &batch, goal);
                approx::assert_relative_eq!(expected_loss, loss, max_relative = 1e-5);
                assert_near(&expected, &found, 1e-4);
            }
        }
    }
}

/// Layers with more weights than the fused engine updates at once, and larger batches.
#[test]
fn engines_agree_on_large_layers_and_batches() {
    let architecture = Architecture { hidden_ratio: 90.0, wide: 300, ..Architecture::default() };
    let case = Case::of(900, &architecture, 10);
    for (&place, optimizer) in CANDLE.iter().flat_map(|place| [(place, SGD), (place, ADAM)]) {
        let (mut candle, mut fused) = (case.trainer(place), case.trainer(FUSED));
        candle.start(optimizer).unwrap();
        fused.start(optimizer).unwrap();
        for batch in [0..500, 500..900] {
            let batch = std::slice::from_ref(&batch);
            let expected = candle.train(batch, Goal::Reconstruction).unwrap();
            let loss = fused.train(batch, Goal::Reconstruction).unwrap();
            approx::assert_relative_eq!(expected, loss, max_relative = 1e-5);
            let moments = |trainer: &dyn Trainer| trainer.optimizer_state().unwrap().moments;
            for (expected, found) in moments(candle.as_ref()).iter().zip(&moments(fused.as_ref())) {
                assert_near(expected, found, 1e-4);
            }
        }
        let weights = |trainer: &dyn Trainer| trainer.weights().unwrap();
        assert_near(&weights(candle.as_ref()), &weights(fused.as_ref()), 1e-5);
    }
}

/// Central differences in f64, with a step so small that no unit crosses the kink of `ReLU`. The error consists of
/// 1e-15 / step = 1e-9 of the loss and 6e-8 of the gradient, which is exported as f32.
#[test]
fn fused_gradients_are_the_slopes_of_the_loss() {
    const STEP: f32 = 1e-6;
    let case = Case::new(1);
    let loss = |weights: &Weights, batch: &Range<usize>, goal: Goal<'_>| {
        let mut trainer = FusedTrainer::<f64>::new(case.data(ALPHA), weights);
        gradients(&mut trainer, batch, goal)
    };
    let [reconstruction, partial, _, clusters] = case.goals();
    let goals =
        [(FIRST, clusters), (FIRST, partial), (FIRST, reconstruction), (BLIND, reconstruction)];
    for (batch, goal) in goals {
        let (_, gradients) = loss(&case.weights, &batch, goal);
        let mut weights = case.weights.clone();
        for (place, gradient) in parameters(&gradients).into_iter().enumerate() {
            let value = parameters(&weights)[place];
            let mut at = |value: f32| {
                set_parameter(&mut weights, place, value);
                loss(&weights, &batch, goal).0
            };
            let slope = (at(value + STEP) - at(value - STEP))
                / (f64::from(value + STEP) - f64::from(value - STEP));
            set_parameter(&mut weights, place, value);
            let error = (slope - f64::from(gradient)).abs();
            let bound = 1e-8 + 1e-6 * slope.abs();
            assert!(error < bound, "{batch:?}, {place}: slope {slope}, gradient {gradient}");
        }
    }
}

fn parameters(weights: &Weights) -> Vec<f32> {
    tensors(weights).flatten().collect()
}

fn set_parameter(weights: &mut Weights, place: usize, value: f32) {
    let layers =
        weights.views.iter_mut().flat_map(|view| view.encoder.iter_mut().chain(&mut view.decoder));
    let parameters = layers.flat_map(|Dense { weight, bias }| weight.iter_mut().chain(bias));
    *parameters.into_iter().nth(place).unwrap() = value;
}

#[test]
fn engines_agree_over_fifty_steps_of_each_stage() {
    let case = Case::new(2);
    let found = case.train(case.trainer(FUSED).as_mut(), 50);
    for &place in CANDLE {
        let expected = case.train(case.trainer(place).as_mut(), 50);
        for (expected, &found) in expected.into_iter().zip(&found) {
            approx::assert_relative_eq!(expected, found, max_relative = 1e-5);
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    // So wide that the fused engine uses threads for every batch.
    let architecture = Architecture { hidden_ratio: 20.0, wide: 1500, ..Architecture::default() };
    let wide = Case::of(N, &architecture, 3);
    assert!(6 * wide.weights.n_parameters() > crate::fused::MIN_PARALLEL_PRODUCTS);
    for (place, case) in [(FUSED, wide), (CANDLE[0], Case::new(3))] {
        let run = |n_threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
            pool.install(|| {
                let mut trainer = case.trainer(place);
                let losses = case.train(trainer.as_mut(), 4);
                let weights = trainer.weights().unwrap();
                let embedding = weights.embed(&case.input).unwrap();
                (losses, weights, trainer.embed().unwrap(), embedding)
            })
        };
        let alone = run(1);
        for n_threads in [2, 4] {
            assert!(run(n_threads) == alone, "{place:?} with {n_threads} threads");
        }
    }
}

#[test]
fn a_batch_without_selected_samples_has_the_graph_term_only() {
    let case = Case::new(4);
    let none = vec![false; N];
    let targets = Targets { selected: &none, ..case.targets() };
    let mut energy = 0.0;
    for (v, view) in case.input.views.iter().enumerate() {
        let rows = view.rows_of(&FIRST);
        let z = chain(&case.weights.views[v].encoder, view.values_of(&FIRST));
        for (i, &row) in rows.iter().enumerate() {
            let neighbors = case.graphs[v].neighbors(row as usize).iter();
            for j in neighbors.filter_map(|j| rows.binary_search(j).ok()) {
                energy += 0.5 * (&z.row(i) - &z.row(j)).mapv(|d| f64::from(d).powi(2)).sum();
            }
        }
    }
    let expected = ALPHA / (WIDTHS.len() * FIRST.len()) as f64 * energy;
    for place in places() {
        let mut trainer = case.trainer(place);
        trainer.start(ADAM).unwrap();
        let loss = trainer.train(&[FIRST], Goal::Clusters(targets)).unwrap();
        approx::assert_relative_eq!(expected, loss, max_relative = 1e-5);
        assert!(parameters(&trainer.weights().unwrap()).iter().all(|value| value.is_finite()));
    }
}

#[test]
fn fine_tuning_keeps_the_decoders() {
    let case = Case::new(6);
    for place in places() {
        let mut trainer = case.trainer(place);
        trainer.start(ADAM).unwrap();
        trainer.train(&[FIRST], case.goal()).unwrap();
        for (before, after) in case.weights.views.iter().zip(trainer.weights().unwrap().views) {
            assert!(before.decoder == after.decoder, "{place:?}");
            assert!(before.encoder != after.encoder, "{place:?}");
        }
    }
}

#[test]
fn training_resumes_from_saved_weights_and_state_bit_for_bit() {
    let case = Case::new(7);
    let batches: Vec<_> = batches().collect();
    for place @ (engine, device) in places() {
        for optimizer in [SGD, ADAM] {
            let mut first = case.trainer(place);
            first.start(optimizer).unwrap();
            first.train(&batches, Goal::Reconstruction).unwrap();
            let state = first.optimizer_state().unwrap();
            assert_eq!(state.steps, 4);
            let weights = first.weights().unwrap();
            let mut second = trainer(engine, device, case.data(ALPHA), weights).unwrap();
            second.start(optimizer).unwrap();
            second.restore_optimizer(&state).unwrap();
            let [expected, found] = [first, second].map(|mut trainer| {
                let loss = trainer.train(&batches, Goal::Reconstruction).unwrap();
                (loss, trainer.weights().unwrap())
            });
            assert!(expected == found, "{place:?}");
        }
    }
}

#[test]
fn the_embedding_equals_the_latents_of_the_trainer() {
    let case = Case::new(8);
    let embedding = case.weights.embed(&case.input).unwrap();
    for place in places() {
        let found = case.trainer(place).embed().unwrap();
        approx::assert_abs_diff_eq!(embedding, found, epsilon = 1e-5);
    }
    let decoded = case.weights.decode(embedding.view(), 1).unwrap();
    assert_eq!(decoded.dim(), (N, WIDTHS[1]));
    assert!(case.weights.decode(embedding.view(), 3).is_err());
    assert!(case.weights.decode(embedding.slice(s![.., 1..]), 1).is_err());
}

#[test]
fn another_learning_rate_keeps_the_momentum() {
    let case = Case::new(8);
    let Optimizer::Sgd { learning_rate, momentum } = SGD else { unreachable!() };
    for place in places() {
        let moved = |rate: Option<f64>| {
            let mut trainer = case.trainer(place);
            trainer.start(SGD).unwrap();
            trainer.train(&[FIRST], Goal::Reconstruction).unwrap();
            let before = trainer.weights().unwrap().views[0].encoder[0].weight.clone();
            if let Some(rate) = rate {
                trainer.set_learning_rate(rate).unwrap();
            }
            trainer.train(&[FIRST], Goal::Reconstruction).unwrap();
            trainer.weights().unwrap().views[0].encoder[0].weight.clone() - before
        };
        let (whole, half) = (moved(None), moved(Some(learning_rate / 2.0)));
        assert!(momentum > 0.0 && whole.iter().any(|step| step.abs() > 1e-4));
        approx::assert_abs_diff_eq!(whole, 2.0_f32 * half, epsilon = 1e-6);
    }
}

#[test]
fn parts_that_do_not_fit_are_errors() {
    let case = Case::new(9);
    for place in places() {
        assert!(case.try_trainer(place, -1.0).is_err());
        assert!(case.try_trainer(place, f64::NAN).is_err());
        let mut trainer = case.trainer(place);
        assert!(trainer.train(&[FIRST], Goal::Reconstruction).is_err(), "a step before the stage");
        assert!(trainer.start(Optimizer::Sgd { learning_rate: 0.1, momentum: 1.0 }).is_err());
        assert!(trainer.set_learning_rate(0.1).is_err(), "a step length before the stage");
        trainer.start(SGD).unwrap();
        assert!(trainer.set_learning_rate(0.0).is_err());
        assert!(trainer.train(&[], Goal::Reconstruction).is_err(), "no batch");
        for batch in [5..5, 40..N + 1] {
            assert!(trainer.train(&[batch], Goal::Reconstruction).is_err());
        }
        let labels = vec![4; N];
        for labels in [&labels[..], &labels[1..]] {
            let goal = Goal::Clusters(Targets { labels, ..case.targets() });
            assert!(trainer.train(&[FIRST], goal).is_err());
        }
    }
    let mut blind = Case::new(9);
    Arc::make_mut(&mut blind.input).n_samples += 1;
    let error = blind.try_trainer(FUSED, ALPHA).err().unwrap();
    let expected = format!("sample {N} has no view: every sample needs at least one");
    assert_eq!(error.to_string(), expected);
    let mut encoders = Case::new(9);
    encoders.weights.views[1].decoder.clear();
    let error = encoders.try_trainer(FUSED, ALPHA).err().unwrap();
    assert_eq!(error.to_string(), "weights: a decoder without layers");
    let latents = encoders.weights.embed(&encoders.input).unwrap();
    assert!(encoders.weights.decode(latents.view(), 1).is_err());
    encoders.weights.views[0].encoder[0].weight = Array2::zeros((2, 2));
    assert!(encoders.weights.embed(&encoders.input).is_err());
    assert!(trainer(Engine::Fused, Device::Cuda, case.data(ALPHA), case.weights).is_err());
}
