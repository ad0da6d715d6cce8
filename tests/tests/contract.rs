//! Contract of every method: one suite over all clusterers.

use cdimc_cluster::{Advanced, CdimcNet, Finetune, OneOrMore, Pretrain};
use cdimc_core::{ClusterError, Clusterer, Clustering, Step};
use cdimc_data::{
    Dataset, MissingPattern, MultiView, Seed, SyntheticMap, SyntheticView, SyntheticViews, ViewMask,
};
use cdimc_mixture::TMixture;
use ndarray::{Array2, s};
use serde_json::Value;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns all methods, with settings that need seconds on the suite's data.
pub(crate) fn methods() -> Vec<Box<dyn Clusterer>> {
    let net = CdimcNet {
        batch_size: 32,
        neighbors: 5,
        restarts: 1,
        alpha: OneOrMore::Several(vec![0.01, 0.1]),
        pretrain: Pretrain { epochs: 150, ..Pretrain::default() },
        finetune: Finetune { rounds: 5, epochs_per_round: 2, ..Finetune::default() },
        advanced: Advanced { wide: Some(64), momentum: 0.9, ..Advanced::default() },
        ..CdimcNet::default()
    };
    let net = net.with_analysis(TMixture::default());
    let mixture = TMixture { starts: 3, ..TMixture::default() };
    let mut methods: Vec<Box<dyn Clusterer>> = vec![Box::new(mixture), Box::new(net)];
    for name in cdimc_baselines::NAMES {
        methods.push(cdimc_baselines::method(name, Value::Null).expect("a method by its name"));
    }
    methods
}

/// Returns three distant blobs in two linear views.
pub(crate) fn blobs(n_samples: usize) -> Dataset {
    blobs_in_views(&[9, 12], n_samples, Seed::new(11))
}

/// Returns three distant blobs in linear views of these widths.
pub(crate) fn blobs_in_views(widths: &[usize], n_samples: usize, seed: Seed) -> Dataset {
    let view = |&width: &usize| SyntheticView { width, map: SyntheticMap::Linear };
    let recipe = SyntheticViews {
        n_samples,
        n_clusters: 3,
        separation: 12.0,
        views: widths.iter().map(view).collect(),
        outliers: 0.0,
        ..SyntheticViews::default()
    };
    recipe.generate(seed).expect("a data set")
}

/// Returns a mask of two views with half of the samples complete.
pub(crate) fn half_paired(n_samples: usize) -> ViewMask {
    MissingPattern::PairedRatio(0.5).mask(n_samples, 2, Seed::new(3)).expect("a mask")
}

/// Returns the clustering, or `None` if the method does not apply to the data; any other error panics.
#[track_caller]
pub(crate) fn cluster(method: &dyn Clusterer, data: &MultiView, k: usize) -> Option<Clustering> {
    match method.cluster(data, k, Seed::new(7)) {
        Ok(found) => {
            assert_eq!(found.labels.len(), data.n_samples(), "{}", method.name());
            assert!(found.labels.iter().all(|&label| label < k), "{}", method.name());
            Some(found)
        }
        Err(ClusterError::Inapplicable { method: name, reason }) => {
            assert_eq!(name, method.name());
            assert!(!reason.is_empty());
            None
        }
        Err(other) => panic!("{}: {other}", method.name()),
    }
}

fn bits(found: &Clustering) -> (Vec<usize>, Vec<u64>) {
    let numbers = found.losses.iter().flatten();
    let numbers = numbers.chain(found.confidence.iter().flatten());
    let numbers = numbers.chain(found.embedding.iter().flatten());
    let numbers = numbers.chain(found.curves.iter().flat_map(|curve| &curve.values));
    (found.labels.clone(), numbers.map(|x| x.to_bits()).collect())
}

#[test]
fn far_blobs_are_found() {
    let dataset = blobs(120);
    let truth = dataset.labels().expect("labels");
    let complete = dataset.observe(ViewMask::complete(120, 2).expect("a mask")).expect("data");
    let incomplete = dataset.observe(half_paired(120)).expect("data");
    for method in methods() {
        for (data, least) in [(&complete, 0.95), (&incomplete, 0.6)] {
            let found = cluster(method.as_ref(), data, 3);
            let found = found.unwrap_or_else(|| panic!("{} refuses two views", method.name()));
            let accuracy = cdimc_metrics::accuracy(truth, &found.labels).expect("equal lengths");
            assert!(accuracy >= least, "{}: accuracy {accuracy}", method.name());
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_on_any_number_of_threads() {
    let data = blobs(150).observe(half_paired(150)).expect("data");
    for method in methods() {
        let run = |n_threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build();
            let pool = pool.expect("a pool");
            pool.install(|| cluster(method.as_ref(), &data, 3).map(|found| bits(&found)))
        };
        let one = run(1);
        assert!(one.is_some(), "{} refuses two views", method.name());
        assert_eq!(run(2), one, "{} on 2 threads", method.name());
        assert_eq!(run(4), one, "{} on 4 threads", method.name());
    }
}

#[test]
fn every_method_reports_its_steps_and_can_be_stopped() {
    let data = blobs(60).observe(half_paired(60)).expect("data");
    for method in methods() {
        let steps = AtomicUsize::new(0);
        let count = |step: &Step| {
            assert!(step.done <= step.of, "{}: {step:?}", method.name());
            steps.fetch_add(1, Ordering::Relaxed);
            ControlFlow::Continue(())
        };
        method.fit(&data, 3, Seed::new(7), &count).expect("two views");
        let all = steps.into_inner();
        assert!(all > 0, "{} reports no step", method.name());
        for last in [1, all / 2, all] {
            let steps = AtomicUsize::new(0);
            let stop = |_: &Step| match steps.fetch_add(1, Ordering::Relaxed) + 1 {
                step if step < last => ControlFlow::Continue(()),
                step => {
                    assert_eq!(step, last.max(1), "{} does not stop", method.name());
                    ControlFlow::Break(())
                }
            };
            let stopped = method.fit(&data, 3, Seed::new(7), &stop);
            let stopped = stopped.map(|_| ()).expect_err("it was stopped");
            assert!(matches!(stopped, ClusterError::Interrupted { .. }), "{stopped}");
        }
    }
}

#[test]
fn values_of_missing_views_never_matter() {
    let dataset = blobs(60);
    let mask = half_paired(60);
    let hidden_as = |value: f64| {
        let views = dataset.views().iter().enumerate().map(|(v, view)| {
            Array2::from_shape_fn(view.dim(), |(i, f)| {
                if mask.is_observed(i, v) { view[[i, f]] } else { value }
            })
        });
        let changed = Dataset::new("changed", views.collect(), None).expect("a data set");
        changed.observe(mask.clone()).expect("data")
    };
    let original = dataset.observe(mask.clone()).expect("data");
    let others = [hidden_as(f64::NAN), hidden_as(1e6), hidden_as(f64::INFINITY)];
    for method in methods() {
        let run = |data: &MultiView| cluster(method.as_ref(), data, 3).map(|found| bits(&found));
        let expected = run(&original);
        for other in &others {
            assert_eq!(run(other), expected, "{}", method.name());
        }
    }
}

#[test]
fn impossible_numbers_of_clusters_are_errors() {
    let data = blobs(30).observe(half_paired(30)).expect("data");
    for method in methods() {
        for k in [0, 1, 31] {
            let error = method.cluster(&data, k, Seed::new(7)).expect_err("no such partition");
            assert!(
                matches!(error, ClusterError::ClusterCount { n_clusters, n_samples: 30 } if n_clusters == k),
                "{}: {error}",
                method.name()
            );
        }
    }
}

#[test]
fn constant_columns_and_duplicate_rows_are_accepted() {
    let dataset = blobs(60);
    let views = dataset.views().iter().map(|view| {
        let mut view = view.clone();
        view.column_mut(1).fill(3.5);
        view.column_mut(2).fill(0.0);
        let half = view.slice(s![..30, ..]).to_owned();
        view.slice_mut(s![30.., ..]).assign(&half);
        view
    });
    let changed = Dataset::new("changed", views.collect(), None).expect("a data set");
    let data = changed.observe(half_paired(60)).expect("data");
    for method in methods() {
        assert!(cluster(method.as_ref(), &data, 3).is_some(), "{}", method.name());
    }
}

#[test]
fn unsuitable_data_are_refused_without_a_panic() {
    let dataset = blobs(40);
    let [a, b] = dataset.views() else { panic!("two views") };
    let one = MultiView::from_nan_rows(vec![a.clone()]).expect("data");
    let third = Array2::from_shape_fn((40, 1), |(i, _)| (i % 5) as f64);
    let three = Dataset::new("three", vec![a.clone(), b.clone(), third], None).expect("a data set");
    let per_view = MissingPattern::PerView(0.5).mask(40, 3, Seed::new(5)).expect("a mask");
    let three = three.observe(per_view).expect("data");
    for method in methods() {
        for data in [&one, &three] {
            cluster(method.as_ref(), data, 3);
        }
    }
}
