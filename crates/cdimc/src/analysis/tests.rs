//! Tests of the analysis.

use super::*;
use crate::sample_table::{Column, SampleTable};
use crate::stored::Stored;
use crate::tables::Table;
use cdimc_core::Silent;
use ndarray::Array2;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tracing_subscriber::{Layer, layer, layer::SubscriberExt};

fn two_groups() -> Joined {
    let table = |name: &str, sign: f64| {
        let values = Array2::from_shape_fn((40, 2), |(i, j)| {
            sign * (9 * (i % 2)) as f64 + ((i * 7 + j * 3) % 10) as f64 / 10.0
        });
        Table { features: vec!["x".into(), "y".into()], ..Table::new(name, values) }
    };
    crate::training_set(vec![table("rna", 1.0), table("protein", -1.0)], false).unwrap()
}

fn one_thread() -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap()
}

/// Counts the events of the module that projects views.
struct Projections(Arc<AtomicUsize>);

impl<S: tracing::Subscriber> Layer<S> for Projections {
    fn on_event(&self, event: &tracing::Event<'_>, _: layer::Context<'_, S>) {
        let projects = event.metadata().target() == "cdimc_mixture::coordinates";
        self.0.fetch_add(usize::from(projects), Ordering::Relaxed);
    }
}

#[test]
fn nothing_that_follows_a_fit_projects_the_views_again() {
    let samples = two_groups();
    let method = crate::configured("t-mixture", Value::Null).unwrap();
    let projections = |run: &(dyn Fn() + Sync)| {
        let count = Arc::new(AtomicUsize::new(0));
        let subscriber = tracing_subscriber::registry().with(Projections(count.clone()));
        let counted = || tracing::subscriber::with_default(subscriber, run);
        // The counting thread receives the events.
        one_thread().install(counted);
        count.load(Ordering::Relaxed)
    };
    let seed = Seed::new(0);
    let fit = || {
        method.clusterer.fit(&samples.data, 2, seed, &Silent).unwrap();
    };
    let analyze = || {
        let mut analysis = Analysis::new(&method, &samples, Number::Known(2), seed);
        (analysis.n_subsamples, analysis.compares, analysis.tests_markers) = (Some(3), true, true);
        let outcome = analysis.run(&Silent).unwrap();
        assert!(outcome.stability.is_some() && outcome.by_others.is_some());
        let fitted = outcome.model.as_ref().and_then(NamedModel::fitted_mixture).unwrap();
        assert_eq!(fitted.labels_by_view().len(), 2);
        assert_eq!(fitted.contributions_by_cluster().dim(), (2, 2));
        assert_eq!(outcome.markers(&samples, 1).clusters.len(), 2);
    };
    // A subscriber misses the events of a call site that a test beside this one registers at that moment. The last of ten
    // counts has them all.
    let counts = (0..10).map(|_| (projections(&fit), projections(&analyze)));
    let (of_fit, of_all) = counts.collect::<Vec<_>>()[9];
    assert!(of_fit > 0);
    assert_eq!(of_all, of_fit);
}

#[test]
fn an_analysis_after_the_fit_resumes_from_finished_parts() {
    let samples = two_groups();
    let method = crate::configured("t-mixture", Value::Null).unwrap();
    let mut analysis = Analysis::new(&method, &samples, Number::Known(2), Seed::new(0));
    analysis.n_subsamples = Some(3);
    analysis.tests_markers = true;
    // One thread takes the parts in turn.
    let one = one_thread();
    let run = |stored: &Stored| one.install(|| analysis.run(stored));
    let whole = run(&Stored::default()).unwrap();
    assert!(whole.stability.is_some());
    let mut stored = Stored::default();
    for (stop_at, parts) in [
        (("stability", 2), vec!["checkpoint", "subsample 0", "subsample 1"]),
        (
            ("other views", 1),
            vec!["checkpoint", "subsample 0", "subsample 1", "subsample 2", "without view 0"],
        ),
    ] {
        stored.stop_at = stop_at;
        // The run stops rather than leave out the stability that was requested.
        assert!(matches!(run(&stored), Err(ClusterError::Interrupted { .. })));
        assert_eq!(stored.values.lock().unwrap().keys().collect::<Vec<_>>(), parts);
    }
    stored = Stored { stop_at: ("none", 0), seen: Mutex::default(), ..stored };
    let rest = run(&stored).unwrap();
    let again = |(stage, done): &(&str, usize)| *stage != "calibration" && *done == 0;
    let seen = stored.seen.into_inner().unwrap();
    assert!(!seen.iter().any(again), "{seen:?}");
    assert_eq!(rest.clustering, Clustering { curves: vec![], ..whole.clustering });
    assert_eq!((rest.stability, rest.by_others), (whole.stability, whole.by_others));
    assert_eq!(rest.warnings, whole.warnings);
}

#[test]
fn the_reference_has_a_row_for_every_column_of_samples() {
    let samples = two_groups();
    let method = crate::configured("t-mixture", Value::Null).unwrap();
    let mut analysis = Analysis::new(&method, &samples, Number::Known(2), Seed::new(0));
    analysis.n_subsamples = Some(3);
    let outcome = analysis.run(&Silent).unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/results.md");
    let reference = std::fs::read_to_string(path).unwrap();
    let table = SampleTable::of_fit(&outcome, &samples);
    assert!(table.columns.iter().any(|column| column.name == "stability"));
    let rows = reference.lines().skip_while(|line| !line.starts_with("| column of `labels.csv`"));
    let rows = rows.take_while(|line| line.starts_with('|')).count();
    // Also a head, a rule and the sample; two views have one row.
    assert_eq!(rows, 3 + table.columns.len() - 1);
    for Column { name, .. } in table.columns {
        let name = if name.starts_with("cluster_by_") { "cluster_by_VIEW" } else { &name };
        let row = format!("| `{name}` | ");
        assert!(reference.contains(&row), "docs/reference/results.md: `{row}` must be there");
    }
}
