//! Tests of CDIMC-net from data to clusters, on small blobs.

mod models;
mod runs;

use cdimc_cluster::{Advanced, CdimcNet, Finetune, Input, OneOrMore, Pretrain};
use cdimc_core::{ClusterError, Clusterer, Clustering};
use cdimc_data::{MultiView, Seed, ViewMask};
use cdimc_mixture::TMixture;
use ndarray::{Array1, Array2, Axis};
use rand::Rng;

/// Returns three distant blobs in three views; a quarter of the rows is hidden.
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

/// Returns the mean of the observed rows of a blob in a view.
fn mean_of_blob(data: &MultiView, truth: &[usize], view: usize, blob: usize) -> Array1<f64> {
    let rows = data.mask().observed_rows(view).into_iter().filter(|&i| truth[i] == blob);
    data.view(view).select(Axis(0), &rows.collect::<Vec<_>>()).mean_axis(Axis(0)).expect("rows")
}

/// Returns the authors' settings with small sizes.
fn small() -> CdimcNet {
    let authors = CdimcNet::authors_code();
    CdimcNet {
        batch_size: 16,
        neighbors: 4,
        pretrain: Pretrain { epochs: 30, ..authors.pretrain },
        finetune: Finetune { rounds: 5, epochs_per_round: 2, ..authors.finetune },
        // The square layer's three rectifiers may all become zero, and with them the decoders.
        advanced: Advanced {
            wide: Some(64),
            square_decoder_layer: false,
            momentum: 0.9,
            ..authors.advanced
        },
        ..authors
    }
    .with_analysis(TMixture::default())
}

/// Returns the default choices on coordinates with small sizes: two weights of the graph in two rounds of runs.
fn chosen() -> CdimcNet {
    let CdimcNet { input, choice, finetune, .. } = CdimcNet::default();
    let alpha = OneOrMore::Several(vec![0.01, 0.1]);
    let finetune = Finetune { rounds: 5, epochs_per_round: 2, ..finetune };
    let advanced = Advanced { view_dropout: 0.5, ..small().advanced };
    CdimcNet { input, alpha, restarts: 2, choice, finetune, advanced, ..small() }
}

/// Returns the values of a curve; none if there is no such curve.
fn curve(found: &Clustering, name: &str) -> Vec<f64> {
    let found = found.curves.iter().find(|curve| curve.name == name);
    found.map(|curve| curve.values.clone()).unwrap_or_default()
}

/// Returns whether two labelings are the same partition.
fn same_partition(a: &[usize], b: &[usize]) -> bool {
    (0..a.len()).all(|i| (0..i).all(|j| (a[i] == a[j]) == (b[i] == b[j])))
}

#[test]
fn far_blobs_are_found_in_the_callers_order() {
    let (data, truth) = blobs(97, 1);
    // With a third of these epochs the initial weights decide whether two blobs are separated.
    let pretrain = Pretrain { epochs: 100, ..small().pretrain };
    // These settings need no analysis of shared information.
    let net = CdimcNet { pretrain, analysis: None, ..small() };
    for seed in [5, 6, 7] {
        let found = net.cluster(&data, 3, Seed::new(seed)).unwrap();
        assert!(same_partition(&found.labels, &truth), "{:?}", found.labels);
        assert_eq!(found.losses.unwrap().len(), 97);
        assert_eq!(found.embedding.unwrap().dim(), (97, 3));
        let lengths: Vec<_> =
            found.curves.iter().map(|c| (c.name.as_str(), c.values.len())).collect();
        let rounds = [("finetune-loss", 5), ("age", 5), ("selected", 5), ("labels-changed", 5)];
        assert_eq!(lengths, [[("pretrain-loss", 100)].as_slice(), &rounds].concat());
        for curve in &found.curves[..2] {
            assert!(curve.values.last() < curve.values.first(), "{}", curve.name);
        }
    }
}

#[test]
fn another_seed_gives_other_bits() {
    let (data, _) = blobs(50, 2);
    let fit = |seed| chosen().cluster(&data, 3, Seed::new(seed)).unwrap();
    assert_ne!(fit(3).embedding, fit(4).embedding);
}

#[test]
fn the_ablations_are_settings() {
    let (data, _) = blobs(40, 11);
    let found = |ablate: fn(&mut CdimcNet)| {
        let mut net = small();
        ablate(&mut net);
        net.cluster(&data, 3, Seed::new(1)).unwrap()
    };
    found(|net| net.alpha = OneOrMore::One(0.0));
    let without_epochs = found(|net| net.pretrain.epochs = 0);
    assert!(curve(&without_epochs, "pretrain-loss").is_empty());
    let of_all = found(|net| net.finetune.self_paced = false);
    assert_eq!(curve(&of_all, "selected"), [40.0; 5]);
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
    let mut net = small();
    (net.finetune.rounds, net.advanced.minimum_rounds) = (50, 3);
    let changed = curve(&net.cluster(&data, 3, Seed::new(1)).unwrap(), "labels-changed");
    assert!(changed.len() >= 3 && changed.len() < 50);
    assert_eq!(changed.last(), Some(&0.0));
    assert!(changed[2..changed.len() - 1].iter().all(|&share| share > 0.0));
}

#[test]
fn fine_tuning_that_diverges_names_its_stage() {
    let (data, _) = blobs(40, 14);
    let wild = Finetune { learning_rate: 1e30, ..small().finetune };
    let error = CdimcNet { finetune: wild, ..small() }.cluster(&data, 3, Seed::new(1)).unwrap_err();
    assert!(matches!(error, ClusterError::Diverged { stage: "finetune", .. }), "{error}");
}

#[test]
fn settings_are_read_by_the_names_of_the_command_line() {
    let text = r#"{ "alpha": 0.01, "batch-size": 64, "neighbors": 5, "device": "cpu", "restarts": 2, "input": "columns",
        "directions": 7, "choice": "inertia", "pretrain": { "epochs": 2, "learning-rate": 0.1 },
        "finetune": { "rounds": 4, "epochs-per-round": 1, "learning-rate": 0.001, "self-paced": false, "age-scope": "all" },
        "advanced": { "order": "file", "engine": "candle", "hidden-ratio": 2, "wide": 9, "square-decoder-layer": true,
            "decay": "none", "momentum": 0.5, "view-dropout": 0.25, "age-rule": "paper", "normalization": "batch", "minimum-rounds": 1 } }"#;
    let net: CdimcNet = serde_json::from_str(text).unwrap();
    assert_eq!(net.pretrain.epochs, 2);
    assert_eq!(net.advanced.minimum_rounds, 1);
    assert_eq!((net.input, net.alpha.values()), (Input::Columns, &[0.01][..]));
    let several: CdimcNet = serde_json::from_str(r#"{ "alpha": [0.1, 1] }"#).unwrap();
    assert_eq!(several.alpha.values(), [0.1, 1.0]);
    let again: CdimcNet = serde_json::from_str(&serde_json::to_string(&net).unwrap()).unwrap();
    assert_eq!(again, net);
    assert_eq!(serde_json::from_str::<CdimcNet>("{}").unwrap(), CdimcNet::default());
    let error = serde_json::from_str::<CdimcNet>(r#"{ "finetune": { "round": 4 } }"#).unwrap_err();
    assert!(error.to_string().contains("unknown field `round`"));
}

#[test]
fn impossible_requests_are_refused_with_a_reason() {
    let (data, _) = blobs(30, 15);
    let text = |net: CdimcNet| net.cluster(&data, 3, Seed::new(1)).unwrap_err().to_string();
    for (alpha, rule) in [
        (OneOrMore::One(f64::NAN), "alpha = NaN: must be at least 0 and finite"),
        (OneOrMore::Several(vec![0.1, -1.0]), "alpha = -1: must be at least 0 and finite"),
        (OneOrMore::Several(vec![]), "values of alpha = 0: must be at least 1"),
    ] {
        assert_eq!(text(CdimcNet { alpha, ..small() }), rule);
    }
    let none = CdimcNet { restarts: 0, ..small() };
    assert_eq!(text(none), "restarts = 0: must be at least 1");
    let blind = CdimcNet { analysis: None, ..chosen() };
    assert!(text(blind).starts_with("analysis = none: is needed for coordinates"));
    let batch = CdimcNet { batch_size: 0, ..small() };
    assert_eq!(text(batch), "batch-size = 0: must be at least 1");
    let wide = Advanced { wide: Some(1 << 31), ..Advanced::default() };
    let wide = CdimcNet { advanced: wide, ..small() };
    assert!(text(wide).contains("must be at most 2147483648: take a smaller wide"));
    let many = CdimcNet { neighbors: 30, ..small() };
    assert_eq!(text(many), "neighbors = 30: must be less than the number of samples");
    let mask = Array2::from_shape_fn((4, 2), |(i, v)| v == 0 || i == 2);
    let data = MultiView::new(vec![Array2::eye(4); 2], ViewMask::new(mask).unwrap()).unwrap();
    let few = CdimcNet { neighbors: 3, ..small() };
    let error = few.cluster(&data, 2, Seed::new(1)).unwrap_err().to_string();
    assert!(error.starts_with("cdimc-net does not apply: view 1 has 1 observed sample"), "{error}");
}
