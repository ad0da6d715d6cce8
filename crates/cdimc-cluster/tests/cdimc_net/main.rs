//! CDIMC-net from data to clusters, on small blobs.

mod checkpoints;
mod models;
mod wide_views;

use cdimc_cluster::{Arrangement, CdimcNet, Finetune, KMeansSettings, Pretrain, Stage};
use cdimc_core::{ClusterError, Clusterer};
use cdimc_data::{MultiView, Seed, ViewMask};
use cdimc_nn::Architecture;
use ndarray::Array2;
use rand::Rng;

/// Three far blobs seen through three views, a quarter of which is hidden.
fn blobs(n_samples: usize, seed: u64) -> (MultiView, Vec<usize>) {
    let mut rng = Seed::new(seed).stream("blobs").rng();
    let truth: Vec<usize> = (0..n_samples).map(|i| i % 3).collect();
    let views = [10, 8, 16].map(|width| {
        let centers = Array2::from_shape_simple_fn((3, width), || rng.gen_range(-9.0..9.0_f64));
        Array2::from_shape_fn((n_samples, width), |(i, f)| {
            centers[[truth[i], f]] + rng.gen_range(-0.5..0.5) + 20.0
        })
    });
    let mask = Array2::from_shape_fn((n_samples, 3), |(i, v)| (i / 3) % 3 == v || (i + v) % 4 != 0);
    let mask = ViewMask::new(mask).expect("every sample has a view");
    (MultiView::new(views.to_vec(), mask).expect("finite values"), truth)
}

fn small() -> CdimcNet {
    CdimcNet {
        batch_size: 16,
        neighbors: 4,
        // The square layer's three rectifiers may all die, and the decoders with them.
        architecture: Architecture {
            wide: 64,
            square_decoder_layer: false,
            ..Architecture::default()
        },
        pretrain: Pretrain { epochs: 30, momentum: 0.9, ..CdimcNet::authors_code().pretrain },
        finetune: Finetune { rounds: 5, epochs_per_round: 2, ..Finetune::default() },
        ..CdimcNet::authors_code()
    }
}

/// The same with several pre-trainings, and centers by what the views share.
fn chosen() -> CdimcNet {
    let CdimcNet { restarts, kmeans, .. } = CdimcNet::default();
    CdimcNet { restarts, kmeans, ..small() }
}

/// Whether two labelings are the same partition.
fn same_partition(a: &[usize], b: &[usize]) -> bool {
    (0..a.len()).all(|i| (0..i).all(|j| (a[i] == a[j]) == (b[i] == b[j])))
}

#[test]
fn far_blobs_are_found_in_the_callers_order() {
    let (data, truth) = blobs(97, 1);
    // A third of these epochs leaves it to the initial weights whether two blobs are told apart.
    let pretrain = Pretrain { epochs: 100, ..small().pretrain };
    let arrangements = [Arrangement::KmeansBlocks, Arrangement::None];
    for (arrangement, seed) in arrangements.into_iter().flat_map(|a| [(a, 5), (a, 6), (a, 7)]) {
        let net = CdimcNet { arrangement, pretrain: pretrain.clone(), ..small() };
        let found = net.cluster(&data, 3, Seed::new(seed)).unwrap();
        assert!(same_partition(&found.labels, &truth), "{:?}", found.labels);
        assert_eq!(found.losses.unwrap().len(), 97);
        assert_eq!(found.embedding.unwrap().dim(), (97, 3));
        let lengths: Vec<_> =
            found.curves.iter().map(|c| (c.name.as_str(), c.values.len())).collect();
        let rounds = [("finetune-loss", 5), ("age", 5), ("selected", 5), ("labels-changed", 5)];
        assert_eq!(lengths, [[("pretrain-loss", 100)].as_slice(), &rounds].concat());
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_and_another_seed_other_ones() {
    let (data, _) = blobs(50, 2);
    for net in [small(), chosen()] {
        let fit = |seed| net.cluster(&data, 3, Seed::new(seed)).unwrap();
        assert_eq!(fit(3), fit(3));
        assert_ne!(fit(3).embedding, fit(4).embedding);
    }
}

#[test]
fn steps_come_in_the_order_of_the_paper_and_count() {
    let (data, _) = blobs(40, 3);
    let mut training = small().start(&data, 3, Seed::new(1)).unwrap();
    let mut seen = Vec::new();
    while let Some(step) = training.step().unwrap() {
        assert!(step.loss.unwrap().is_finite());
        seen.push((step.stage, step.done, step.of));
    }
    assert_eq!(training.stage(), Stage::Done);
    assert_eq!(seen.len(), 36);
    assert_eq!(seen[0], ("pretrain", 1, 30));
    assert_eq!(seen[29], ("pretrain", 30, 30));
    assert_eq!(seen[30], ("kmeans", 1, 1));
    assert_eq!(seen[35], ("finetune", 5, 5));
}

#[test]
fn of_several_pre_trainings_that_goes_on_on_which_the_views_agree_most() {
    let (data, _) = blobs(60, 3);
    let net = CdimcNet { pretrain: Pretrain { epochs: 4, ..chosen().pretrain }, ..chosen() };
    let mut training = net.start(&data, 3, Seed::new(1)).unwrap();
    let mut seen = Vec::new();
    while let Some(step) = training.step().unwrap() {
        seen.push((step.stage, step.done, step.of));
    }
    let begun = |restart: usize| {
        let epochs = (1..=4).map(move |epoch| ("pretrain", 4 * restart + epoch, 12));
        epochs.chain([("kmeans", restart + 1, 3)])
    };
    let rounds = (1..=5).map(|round| ("finetune", round, 5));
    assert_eq!(seen, (0..3).flat_map(begun).chain(rounds).collect::<Vec<_>>());
    let curve = |net: &CdimcNet, name: &str| {
        let found = net.cluster(&data, 3, Seed::new(1)).unwrap();
        found.curves.into_iter().find(|curve| curve.name == name).unwrap().values
    };
    let shared = curve(&net, "shared-information");
    assert_eq!(shared.len(), 4, "of three pre-trainings and of the clusters");
    // The loss is that of the one that went on; a single one is the first of several.
    let losses = curve(&net, "pretrain-loss");
    let first = curve(&CdimcNet { restarts: 1, ..net.clone() }, "pretrain-loss");
    assert_eq!(losses.len(), 4);
    let most = shared[..3].iter().copied().fold(f64::MIN, f64::max);
    assert_eq!(losses == first, shared[0] == most);
    // With each seed another one wins, and of the centers chosen by inertia too one is chosen.
    let by_inertia = CdimcNet { kmeans: small().kmeans, ..net };
    assert_eq!(curve(&by_inertia, "shared-information").len(), 4);
}

#[test]
fn fine_tuning_that_loses_what_the_views_share_is_undone() {
    let (data, _) = blobs(60, 3);
    let fit = |net: CdimcNet, rounds| {
        // Steps that long ruin the encoders.
        let finetune = Finetune { rounds, learning_rate: 0.1, ..net.finetune.clone() };
        CdimcNet { finetune, ..net }.cluster(&data, 3, Seed::new(1))
    };
    let (before, after) = (fit(chosen(), 0).unwrap(), fit(chosen(), 5).unwrap());
    let shared = after.curves.iter().find(|curve| curve.name == "shared-information").unwrap();
    let &[.., lost, kept] = shared.values.as_slice() else { unreachable!() };
    assert!(shared.values.len() == 5 && lost < 0.9 * kept, "{:?}", shared.values);
    assert_eq!(
        (after.labels, after.losses, after.embedding),
        (before.labels, before.losses, before.embedding)
    );
    // Where nothing is chosen, nothing is undone.
    let error = fit(small(), 5).unwrap_err().to_string();
    assert!(error.contains("all 60 samples are in one cluster"), "{error}");
}

#[test]
fn views_that_no_sample_has_together_leave_nothing_to_choose_by() {
    let (data, _) = blobs(60, 3);
    let apart = Array2::from_shape_fn((60, 3), |(i, v)| i % 3 == v);
    let views = (0..3).map(|v| data.view(v).mapv(|x| if x.is_nan() { 1.0 } else { x })).collect();
    let data = MultiView::new(views, ViewMask::new(apart).unwrap()).unwrap();
    let fit = |net: CdimcNet| net.cluster(&data, 3, Seed::new(1)).unwrap();
    assert_eq!(fit(chosen()), fit(small()));
}

#[test]
fn the_training_learns() {
    let (data, _) = blobs(60, 4);
    let curves = small().cluster(&data, 3, Seed::new(1)).unwrap().curves;
    for curve in &curves[..2] {
        assert!(curve.values.last() < curve.values.first(), "{}", curve.name);
    }
}

#[test]
fn the_ablations_are_settings() {
    let (data, _) = blobs(40, 11);
    let base = small();
    let all = Finetune { self_paced: false, ..base.finetune.clone() };
    let no_pretrain = Pretrain { epochs: 0, ..base.pretrain.clone() };
    let no_rounds = Finetune { rounds: 0, ..base.finetune.clone() };
    for net in [
        CdimcNet { alpha: 0.0, ..base.clone() },
        CdimcNet { finetune: all.clone(), ..base.clone() },
        CdimcNet { pretrain: no_pretrain, ..base.clone() },
        CdimcNet { finetune: no_rounds, ..base.clone() },
    ] {
        let found = net.cluster(&data, 3, Seed::new(1)).unwrap();
        assert_eq!(found.labels.len(), 40);
        if net.finetune == all {
            let selected = found.curves.iter().find(|c| c.name == "selected").unwrap();
            assert!(selected.values.iter().all(|&n| n == 40.0));
        }
    }
}

#[test]
fn a_last_batch_of_one_row_and_a_view_with_fewer_rows_than_neighbors_work() {
    let (data, _) = blobs(33, 12);
    assert!(small().cluster(&data, 3, Seed::new(1)).is_ok());
    let (data, _) = blobs(7, 12);
    assert!((0..3).any(|view| data.mask().n_observed(view) <= 6));
    let net = CdimcNet { neighbors: 6, batch_size: 1, ..small() };
    assert!(net.cluster(&data, 7, Seed::new(1)).is_ok());
}

#[test]
fn the_stopping_rule_needs_its_rounds_and_a_settled_labeling() {
    let (data, _) = blobs(60, 13);
    let finetune = Finetune { rounds: 50, minimum_rounds: 3, ..small().finetune };
    let rounds = |finetune: Finetune| {
        let net = CdimcNet { finetune, ..small() };
        let curves = net.cluster(&data, 3, Seed::new(1)).unwrap().curves;
        curves.into_iter().find(|c| c.name == "labels-changed").unwrap().values
    };
    let changed = rounds(finetune.clone());
    assert!(changed.len() >= 3 && changed.len() < 50);
    assert_eq!(changed.last(), Some(&0.0));
    assert!(changed[2..changed.len() - 1].iter().all(|&share| share > 0.0));
    assert_eq!(rounds(Finetune { stop_tolerance: 0.0, ..finetune }).len(), 50);
}

#[test]
fn a_learning_rate_that_explodes_names_stage_and_epoch() {
    let (data, _) = blobs(40, 14);
    let wild = Pretrain { learning_rate: 1e9, ..small().pretrain };
    let error = CdimcNet { pretrain: wild, ..small() }.cluster(&data, 3, Seed::new(1)).unwrap_err();
    assert!(matches!(error, ClusterError::Diverged { stage: "pretrain", .. }), "{error}");
    let wild = Finetune { learning_rate: 1e30, ..small().finetune };
    let error = CdimcNet { finetune: wild, ..small() }.cluster(&data, 3, Seed::new(1)).unwrap_err();
    assert!(matches!(error, ClusterError::Diverged { stage: "finetune", .. }), "{error}");
}

#[test]
fn settings_are_read_by_the_names_of_the_command_line() {
    let text = r#"{ "order": "file", "alpha": 0.01, "batch-size": 64, "neighbors": 5, "engine": "candle",
        "device": "cpu", "arrangement": "none", "restarts": 2, "kmeans": { "restarts": 3, "choice": "inertia" },
        "pretrain": { "epochs": 2, "learning-rate": 0.1, "momentum": 0.5 },
        "finetune": { "rounds": 4, "epochs-per-round": 1, "learning-rate": 0.001, "self-paced": false,
            "optimizer": "sgd", "normalization": "batch", "stop-tolerance": 0.001, "minimum-rounds": 1,
            "age": { "deviation": "population", "comparison": "at-most", "update": "selection-first",
                "first-round": "one" } } }"#;
    let net: CdimcNet = serde_json::from_str(text).unwrap();
    assert_eq!(net.pretrain.epochs, 2);
    assert_eq!(net.finetune.minimum_rounds, 1);
    let again: CdimcNet = serde_json::from_str(&serde_json::to_string(&net).unwrap()).unwrap();
    assert_eq!(again, net);
    assert_eq!(serde_json::from_str::<CdimcNet>("{}").unwrap(), CdimcNet::default());
    let error = serde_json::from_str::<CdimcNet>(r#"{ "finetune": { "round": 4 } }"#).unwrap_err();
    assert!(error.to_string().contains("unknown field `round`"));
}

#[test]
fn impossible_requests_are_refused_in_words() {
    let (data, _) = blobs(30, 15);
    let text = |net: CdimcNet, k| net.cluster(&data, k, Seed::new(1)).unwrap_err().to_string();
    for k in [0, 1, 31] {
        let expected = format!("clusters = {k}: must lie in 2..=30, the number of samples");
        assert_eq!(text(small(), k), expected);
    }
    let alpha = CdimcNet { alpha: f64::NAN, ..small() };
    assert_eq!(text(alpha, 3), "alpha = NaN: must be at least 0 and finite");
    let none = CdimcNet { restarts: 0, ..small() };
    assert_eq!(text(none, 3), "restarts = 0: must be at least 1");
    let starts = KMeansSettings { restarts: 1_000_000_000_000, ..KMeansSettings::default() };
    let starts = CdimcNet { kmeans: starts, ..small() };
    assert_eq!(text(starts, 3), "kmeans.restarts = 1000000000000: must be at most 10000");
    let batch = CdimcNet { batch_size: 0, ..small() };
    assert_eq!(text(batch, 3), "batch-size = 0: must be at least 1");
    let wide = Architecture { wide: 1 << 31, ..Architecture::default() };
    let wide = CdimcNet { architecture: wide, ..small() };
    assert!(text(wide, 3).contains("must be at most 2147483648: take a smaller wide"));
    let many = CdimcNet { neighbors: 30, ..small() };
    assert_eq!(text(many, 3), "neighbors = 30: must be less than the number of samples");
    let mask = Array2::from_shape_fn((4, 2), |(i, v)| v == 0 || i == 2);
    let data = MultiView::new(vec![Array2::eye(4); 2], ViewMask::new(mask).unwrap()).unwrap();
    let few = CdimcNet { neighbors: 3, ..small() };
    let error = few.cluster(&data, 2, Seed::new(1)).unwrap_err().to_string();
    assert!(error.starts_with("cdimc-net does not apply: view 1 has 1 observed sample"), "{error}");
}
