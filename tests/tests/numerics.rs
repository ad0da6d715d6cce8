//! Tests extreme numbers: every method returns finite numbers, or an error with the reason.

use crate::contract::{blobs, blobs_in_views, half_paired, methods};
use cdimc_core::{ClusterError, Clusterer, Clustering};
use cdimc_data::{MultiView, Seed, ViewMask};
use ndarray::Array2;
use rand::Rng;

/// Returns the clustering after checking every number, or the reason for its absence.
#[track_caller]
fn sound(
    method: &dyn Clusterer,
    data: &MultiView,
    k: usize,
    case: &str,
) -> Result<Clustering, ClusterError> {
    let name = method.name();
    let found = match method.cluster(data, k, Seed::new(7)) {
        Ok(found) => found,
        // These name a problem of the data or settings; a failed factorization does not.
        Err(
            reason @ (ClusterError::Inapplicable { .. }
            | ClusterError::Unusable { .. }
            | ClusterError::Setting { .. }),
        ) => return Err(reason),
        Err(other) => panic!("{name} on {case}: {other}"),
    };
    assert_eq!(found.labels.len(), data.n_samples(), "{name} on {case}");
    assert!(found.labels.iter().all(|&label| label < k), "{name} on {case}");
    assert!(found.labels.iter().any(|&l| l != found.labels[0]), "{name} on {case}: one cluster");
    for sure in found.confidence.as_ref().expect("every method returns confidences") {
        assert!((0.0..=1.0).contains(sure), "{name} on {case}: confidence {sure}");
    }
    if let Some(embedding) = &found.embedding {
        assert!(embedding.iter().all(|x| x.is_finite()), "{name} on {case}");
        assert!(embedding.iter().any(|&x| x != 0.0), "{name} on {case}: an embedding of zeros");
    }
    Ok(found)
}

/// Methods that need two views and a sample with both.
const PAIRED: [&str; 4] = ["pmvc", "img", "imc-grmf", "pmvc-cgan"];

/// Returns what the methods find, each checked by [`sound`]; only methods in `may_refuse` may return a reason.
#[track_caller]
fn sound_or_refused(
    data: &MultiView,
    k: usize,
    case: &str,
    may_refuse: &[&str],
) -> Vec<(&'static str, Clustering)> {
    let mut all = Vec::new();
    for method in methods() {
        let name = method.name();
        match sound(method.as_ref(), data, k, case) {
            Ok(found) => all.push((name, found)),
            Err(reason) => {
                assert!(may_refuse.contains(&name), "{name} refuses {case}: {reason}");
            }
        }
    }
    all
}

/// Returns the half-paired blobs with each view changed.
fn changed(change: impl Fn(usize, &Array2<f64>) -> Array2<f64>) -> MultiView {
    let dataset = blobs(90);
    let views = dataset.views().iter().enumerate().map(|(v, view)| change(v, view)).collect();
    MultiView::new(views, half_paired(90)).expect("data")
}

#[test]
fn units_never_matter() {
    let data = changed(|_, view| view.clone());
    for method in methods() {
        let plain = sound(method.as_ref(), &data, 3, "plain data").expect("applies").labels;
        for [first, second] in [
            [1e-300, 1e-300],
            [1e-160, 1e-160],
            [1e-20, 1e-20],
            [1e20, 1e20],
            [1e160, 1e160],
            [1e300, 1e300],
            [1e-20, 1e20],
            [1e300, 1e-300],
        ] {
            let scaled = changed(|v, view| view * if v == 0 { first } else { second });
            let case = format!("units {first:e} and {second:e}");
            let found = sound(method.as_ref(), &scaled, 3, &case).expect("applies").labels;
            let same = cdimc_metrics::accuracy(&plain, &found).expect("equal lengths");
            assert!(same == 1.0, "{} on {case}: {same} of the labels agree", method.name());
        }
    }
}

#[test]
fn constant_views_do_no_harm() {
    let row = |j: usize| 0.1 + 0.7 * j as f64;
    let dataset = blobs(90);
    let truth = dataset.labels().expect("labels");
    for method in methods() {
        for (case, nothing) in [
            ("a view of zeros", (|_| 0.0) as fn(usize) -> f64),
            ("a constant view", |_| 0.1),
            ("a view of equal rows", row),
        ] {
            let data = changed(|v, view| match v {
                0 => view.clone(),
                _ => Array2::from_shape_fn(view.dim(), |(_, j)| nothing(j)),
            });
            let found = sound(method.as_ref(), &data, 3, case).expect(case);
            let accuracy = cdimc_metrics::accuracy(truth, &found.labels).expect("equal lengths");
            // Half of the samples without view 0 can only be guessed.
            assert!(accuracy >= 0.5, "{} on {case}: accuracy {accuracy}", method.name());
            let all = Array2::from_shape_fn((30, 4), |(_, j)| nothing(j));
            let data = MultiView::from_nan_rows(vec![all.clone(), all]).expect("data");
            // There are no clusters: any method may refuse.
            let _ = sound(method.as_ref(), &data, 3, &format!("{case} alone"));
        }
    }
}

#[test]
fn negative_values_are_values() {
    let data = changed(|_, view| {
        let most = view.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        view - most - 1.0
    });
    // Their factors are nonnegative.
    sound_or_refused(&data, 3, "negative values alone", &["omvc", "pmvc"]);
}

#[test]
fn one_feature_per_view_is_enough() {
    let data = changed(|_, view| view.slice(ndarray::s![.., ..1]).to_owned());
    // It needs at least as many features as clusters.
    sound_or_refused(&data, 3, "one feature per view", &["imc-grmf"]);
}

#[test]
fn many_views_are_accepted() {
    let dataset = blobs_in_views(&[4; 30], 60, Seed::new(2));
    let mut rng = Seed::new(3).rng();
    let entries = Array2::from_shape_fn((60, 30), |(i, v)| i % 30 == v || rng.gen_bool(0.7));
    let data = dataset.observe(ViewMask::new(entries).expect("a mask")).expect("data");
    let may_refuse = [&PAIRED[..], &["mkkm-ik-mkc"]].concat();
    let truth = dataset.labels().expect("labels");
    for (name, found) in sound_or_refused(&data, 3, "30 views", &may_refuse) {
        let accuracy = cdimc_metrics::accuracy(truth, &found.labels).expect("equal lengths");
        assert!(accuracy > 0.6, "{name}: accuracy {accuracy}");
    }
}

#[test]
fn the_smallest_numbers_of_samples_are_accepted() {
    for (n, k) in [(2, 2), (3, 2), (3, 3), (5, 5), (12, 12)] {
        let data = blobs(12);
        let views = data.views().iter().map(|view| view.slice(ndarray::s![..n, ..]).to_owned());
        let data = MultiView::from_nan_rows(views.collect()).expect("data");
        let may_refuse: &[&str] = match n {
            // Two distant samples have no affinity, and so no cut.
            2 => &["cdimc-net", "img"],
            // The network of this suite needs more than five samples for five neighbors.
            3..=5 => &["cdimc-net"],
            // More clusters than features.
            _ => &["imc-grmf"],
        };
        sound_or_refused(&data, k, &format!("{n} samples into {k} clusters"), may_refuse);
    }
}

#[test]
fn views_without_a_common_sample_are_grouped_or_refused() {
    let split = Array2::from_shape_fn((90, 2), |(i, v)| (i % 2 == 0) == (v == 0));
    let dataset = blobs(90);
    let data = dataset.observe(ViewMask::new(split).expect("a mask")).expect("data");
    sound_or_refused(&data, 3, "views without a common sample", &PAIRED);
}

#[test]
fn a_huge_cluster_beside_small_ones_is_accepted() {
    let mut rng = Seed::new(4).rng();
    let mut view = |width: usize| {
        Array2::from_shape_fn((100, width), |(i, j)| {
            let center = if i >= 97 { [30.0, 0.0][(i + j) % 2] } else { 1.0 };
            center + rng.gen_range(0.0..1.0)
        })
    };
    let data = MultiView::from_nan_rows(vec![view(5), view(6)]).expect("data");
    sound_or_refused(&data, 3, "one huge cluster", &[]);
}

#[test]
fn two_hundred_ordinary_columns_are_grouped_or_refused() {
    let mut rng = Seed::new(5).rng();
    let mut view = || {
        Array2::from_shape_fn((60, 200), |(i, j)| {
            let center = if (i + j) % 3 == 0 { 2.0 } else { 0.0 };
            center + rng.gen_range(-1.0..1.0)
        })
    };
    let data = MultiView::from_nan_rows(vec![view(), view()]).expect("data");
    // The penalty of pmvc grows with the width.
    sound_or_refused(&data, 3, "200 columns", &["pmvc"]);
}

#[test]
fn infinite_and_huge_cells_are_named_by_view_and_sample() {
    for (cell, shown) in [(f64::INFINITY, "inf"), (-f64::MAX, "-1.7976931348623157e308")] {
        let mut view = Array2::<f64>::ones((4, 2));
        view[[2, 1]] = cell;
        let error = MultiView::from_nan_rows(vec![Array2::zeros((4, 2)), view]).expect_err("huge");
        let rule = "observed values must be finite, and at most 1e302 in size";
        assert_eq!(error.to_string(), format!("view 1, sample 2, feature 1 = {shown}: {rule}"));
    }
}
