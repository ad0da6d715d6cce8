//! Tests of the runs of a training: their steps and checkpoints, which settings continue, and which run is the result.

use super::{blobs, chosen, curve, mean_of_blob, same_partition, small};
use cdimc_cluster::{CdimcNet, Finetune, Input, OneOrMore, Pretrain, Training};
use cdimc_core::{ClusterError, Clusterer, Fitted, Model, Silent, Step};
use cdimc_data::{MultiView, Seed, ViewMask};
use ndarray::Array2;
use std::ops::ControlFlow;

#[test]
fn the_result_is_the_run_with_most_shared_information_and_its_settings() {
    let (data, truth) = blobs(90, 3);
    let net = CdimcNet { pretrain: Pretrain { epochs: 60, ..chosen().pretrain }, ..chosen() };
    let (model, found) = net.train(&data, 3, Seed::new(1), &Silent).unwrap();
    assert!(same_partition(&found.labels, &truth), "{:?}", found.labels);
    let (alphas, shared) = (curve(&found, "run-alpha"), curve(&found, "run-shared-information"));
    assert_eq!((alphas.len(), &alphas[..2]), (3, &[0.01, 0.1][..]));
    let [chosen_run] = curve(&found, "chosen-run")[..] else { panic!("one answer") };
    let settings = model.settings();
    assert_eq!(settings["alpha"], alphas[chosen_run as usize]);
    assert_eq!(settings["advanced"]["square-decoder-layer"], false);
    let facts = model.facts();
    assert_eq!(facts["chosen"]["alpha"], settings["alpha"]);
    assert_eq!(facts["chosen"]["coordinates"].as_array().map(Vec::len), Some(3));
    // The better of the first two runs a third time.
    assert_eq!(alphas[2], if shared[1] > shared[0] { 0.1 } else { 0.01 });
    let of_answer = curve(&found, "shared-information");
    let most = of_answer.iter().copied().fold(f64::MIN, f64::max);
    assert_eq!(most, shared[chosen_run as usize]);
}

#[test]
fn steps_come_in_the_order_of_the_paper_and_are_counted_over_all_runs() {
    let (data, _) = blobs(60, 3);
    let net = CdimcNet { pretrain: Pretrain { epochs: 4, ..chosen().pretrain }, ..chosen() };
    let mut training = net.start(&data, 3, Seed::new(1), &Silent).unwrap();
    let mut seen = Vec::new();
    while let Some(step) = training.step().unwrap() {
        assert!(step.loss.unwrap().is_finite());
        seen.push((step.stage, step.done, step.of));
    }
    assert!(training.has_ended());
    let first = seen[..7].iter().map(|step| step.0).collect::<Vec<_>>();
    assert_eq!(first, [["pretrain"; 4].as_slice(), &["kmeans", "finetune", "finetune"]].concat());
    let epochs: Vec<usize> = seen.iter().filter(|s| s.0 == "pretrain").map(|s| s.1).collect();
    assert_eq!(epochs, (1..=12).collect::<Vec<_>>());
    let centers: Vec<_> = seen.iter().filter(|s| s.0 == "kmeans").map(|s| (s.1, s.2)).collect();
    assert_eq!(centers, [(1, 3), (2, 3), (3, 3)]);
    assert!(seen.iter().filter(|s| s.0 == "finetune").all(|s| s.1 <= s.2 && s.2 == 15));
}

#[test]
fn fine_tuning_that_loses_shared_information_is_not_the_result() {
    let (data, _) = blobs(60, 3);
    let fit = |net: CdimcNet, rounds| {
        // Such large steps ruin the encoders.
        let finetune = Finetune { rounds, learning_rate: 0.1, ..net.finetune.clone() };
        let net = CdimcNet { finetune, restarts: 1, alpha: OneOrMore::One(0.01), ..net };
        net.cluster(&data, 3, Seed::new(1))
    };
    let (before, after) = (fit(chosen(), 0).unwrap(), fit(chosen(), 9).unwrap());
    let shared = curve(&after, "shared-information");
    let ruined = shared[1..].iter().all(|value| value < &shared[0]);
    // Five rounds without a gain end the training.
    assert!(ruined && shared.len() == 6, "{shared:?}");
    assert_eq!(
        (after.labels, after.losses, after.embedding),
        (before.labels, before.losses, before.embedding)
    );
    // By inertia the last round is the result.
    let error = fit(small(), 9).unwrap_err().to_string();
    assert!(error.contains("all 60 samples are in one cluster"), "{error}");
}

#[test]
fn a_run_that_diverges_is_left_out_and_all_of_them_are_an_error() {
    let (data, truth) = blobs(60, 3);
    let with = |alphas: &[f64]| {
        let alpha = OneOrMore::Several(alphas.to_vec());
        let pretrain = Pretrain { epochs: 60, ..chosen().pretrain };
        let net = CdimcNet { alpha, pretrain, ..chosen() };
        net.cluster(&data, 3, Seed::new(1))
    };
    let found = with(&[0.01, 1e30]).unwrap();
    assert!(same_partition(&found.labels, &truth));
    assert_eq!(curve(&found, "run-alpha"), [0.01, 1e30, 0.01]);
    assert_eq!(curve(&found, "run-shared-information")[1], 0.0);
    let error = with(&[1e30, 1e31]).unwrap_err();
    assert!(matches!(error, ClusterError::Diverged { stage: "pretrain", .. }), "{error}");
}

#[test]
fn views_without_a_common_sample_have_one_run() {
    let (data, _) = blobs(60, 3);
    let apart = Array2::from_shape_fn((60, 3), |(i, v)| i % 3 == v);
    let views = (0..3).map(|v| data.view(v).mapv(|x| if x.is_nan() { 1.0 } else { x })).collect();
    let data = MultiView::new(views, ViewMask::new(apart).unwrap()).unwrap();
    let found = chosen().cluster(&data, 3, Seed::new(1)).unwrap();
    assert!(
        curve(&found, "run-alpha").is_empty() && curve(&found, "shared-information").is_empty()
    );
    assert_eq!(curve(&found, "pretrain-loss").len(), 30);
}

#[test]
fn the_network_reads_few_coordinates_of_wide_views() {
    let (data, truth) = blobs(60, 8);
    let noise = |i: usize, j: usize| (((i * 7919 + j * 104_729) % 1009) as f64 / 1009.0) - 0.5;
    let wide = Array2::from_shape_fn((60, 90), |(i, j)| noise(i, j));
    let views = (0..3).map(|v| ndarray::concatenate![ndarray::Axis(1), data.view(v), wide]);
    let data = MultiView::new(views.collect(), data.mask().clone()).unwrap();
    let mut net = CdimcNet { directions: 6, restarts: 1, ..chosen() };
    (net.advanced.wide, net.pretrain.epochs) = (None, 100);
    assert_eq!(net.input, Input::Coordinates);
    let (model, found) = net.train(&data, 3, Seed::new(1), &Silent).unwrap();
    assert!(same_partition(&found.labels, &truth), "{:?}", found.labels);
    let inputs = model.weights().views.iter().map(|view| view.encoder[0].weight.ncols());
    assert!(inputs.into_iter().all(|n| n == 6));
    // Missing rows are filled in with all columns, near the mean of their blob.
    let filled = model.impute(&data).unwrap();
    for (v, view) in filled.iter().enumerate() {
        assert!(view.dim() == (60, data.width(v)) && view.iter().all(|x| x.is_finite()));
        let means = [0, 1, 2].map(|blob| mean_of_blob(&data, &truth, v, blob));
        for i in (0..60).filter(|&i| !data.mask().is_observed(i, v)) {
            let away = |blob: usize| (&view.row(i) - &means[blob]).mapv(|d| d * d).sum();
            let nearest = (0..3).min_by(|&a, &b| away(a).total_cmp(&away(b)));
            assert_eq!(nearest, Some(truth[i]));
        }
    }
    let bytes = |input| CdimcNet { input, ..net.clone() }.cost(&data, 3).unwrap().bytes;
    assert!(bytes(Input::Coordinates) < bytes(Input::Columns));
}

#[test]
fn the_announced_memory_covers_a_checkpoint() {
    let (data, _) = blobs(60, 3);
    let mut net = CdimcNet { restarts: 2, ..small() };
    (net.advanced.wide, net.pretrain.epochs) = (Some(1500), 1);
    let mut training = net.start(&data, 3, Seed::new(1), &Silent).unwrap();
    let mut largest = 0;
    while training.step().unwrap().is_some() {
        largest = largest.max(training.checkpoint().unwrap().len());
    }
    // The training itself, the arrays and their bytes.
    assert!(net.cost(&data, 3).unwrap().bytes > 0.95 * 3.0 * largest as f64);
}

fn resume(data: &MultiView, checkpoint: &[u8]) -> Result<Training, ClusterError> {
    Training::resume(data, checkpoint, small().analysis, &Silent)
}

#[test]
fn a_training_resumed_after_any_step_ends_in_the_same_bits() {
    let (data, _) = blobs(45, 5);
    for mut net in [small(), chosen()] {
        net.pretrain.epochs = 3;
        let (model, clustering) = net.train(&data, 3, Seed::new(1), &Silent).unwrap();
        let mut all = net.start(&data, 3, Seed::new(1), &Silent).unwrap();
        let n_steps = std::iter::from_fn(|| all.step().unwrap()).count();
        assert!(n_steps >= 9, "{n_steps} steps");
        for steps in 0..=n_steps {
            let mut training = net.start(&data, 3, Seed::new(1), &Silent).unwrap();
            for _ in 0..steps {
                training.step().unwrap().unwrap();
            }
            let resumed = resume(&data, &training.checkpoint().unwrap()).unwrap();
            let (again, same) = resumed.run(&Silent).unwrap();
            assert_eq!(same, clustering, "after {steps} steps");
            assert_eq!(again.to_bytes().unwrap(), model.to_bytes().unwrap());
        }
    }
}

#[test]
fn an_observer_stops_the_training_and_another_fit_resumes_from_its_checkpoint() {
    let (data, _) = blobs(45, 5);
    let net = CdimcNet { pretrain: Pretrain { epochs: 3, ..small().pretrain }, ..small() };
    let whole = net.fit(&data, 3, Seed::new(1), &Silent).unwrap();
    let stop = |step: &Step| match step.stage {
        "finetune" => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let Err(ClusterError::Interrupted { checkpoint: Some(checkpoint) }) =
        net.fit(&data, 3, Seed::new(1), &stop)
    else {
        panic!("stopped with a checkpoint");
    };
    let again = net.resume(&checkpoint, &data, &Silent).unwrap();
    assert_eq!(again.clustering, whole.clustering);
    let bytes = |fitted: Fitted| fitted.model.unwrap().to_bytes().unwrap();
    assert_eq!(bytes(again), bytes(whole));
    let other = CdimcNet { alpha: OneOrMore::One(0.5), ..net };
    assert_eq!(
        other.resume(&checkpoint, &data, &Silent).unwrap_err().to_string(),
        "the checkpoint was made with other settings: the same are needed"
    );
}

#[test]
fn a_checkpoint_of_other_data_is_refused() {
    let (data, _) = blobs(45, 5);
    let training = small().start(&data, 3, Seed::new(1), &Silent).unwrap();
    let checkpoint = training.checkpoint().unwrap();
    for other in [blobs(45, 6).0, blobs(46, 5).0] {
        let error = resume(&other, &checkpoint).err().unwrap().to_string();
        assert_eq!(error, "the checkpoint was made on other data: the same are needed");
    }
}
