//! Tests of the warnings.

use super::*;
use cdimc_core::Silent;
use cdimc_data::ViewMask;
use ndarray::{Array2, s};
use rand::Rng;

/// Draws three groups in `n_views` views; the last view is noise if `noise`.
fn groups(n: usize, n_views: usize, noise: bool) -> (MultiView, Vec<usize>) {
    let mut rng = Seed::new(1).rng();
    let labels: Vec<usize> = (0..n).map(|i| i % 3).collect();
    let mut view = |v: usize| {
        let blind = noise && v + 1 == n_views;
        Array2::from_shape_fn((n, 4), |(i, j)| {
            let center = if blind { 0.0 } else { (labels[i] as f64 * (j as f64 + 1.3)).sin() };
            3.0 * center + rng.gen_range(-1.0..1.0)
        })
    };
    let views = (0..n_views).map(&mut view).collect();
    (MultiView::from_nan_rows(views).unwrap(), labels)
}

/// Returns the samples of views `a`, `b` and `c`.
fn joined(data: &MultiView) -> Joined {
    let [ids, unobserved, warnings, notes] = Default::default();
    let names = ["a", "b", "c"].into_iter().take(data.n_views()).map(str::to_owned).collect();
    let (data, features, labels, filled) = (data.clone(), Vec::new(), None, Vec::new());
    Joined { data, ids, unobserved, names, features, labels, filled, warnings, notes }
}

fn warnings_of(data: &MultiView, labels: &[usize], n_clusters: usize) -> Vec<Warning> {
    ClustersFound::new(&joined(data), labels, n_clusters, None).warnings(false)
}

fn signs_of(data: &MultiView, labels: &[usize], n_clusters: usize) -> Vec<Sign> {
    warnings_of(data, labels, n_clusters).into_iter().map(|warning| warning.sign).collect()
}

/// Returns what `read` finds in three clusters that a mixture finds.
fn with_fit<T>(data: &MultiView, settings: &TMixture, read: impl Fn(ClustersFound<'_>) -> T) -> T {
    let (fitted, clustering) = settings.train(data, 3, Seed::new(1), &Silent).unwrap();
    let labels = &clustering.labels;
    read(ClustersFound::new(&joined(data), labels, 3, Some(&fitted)))
}

#[test]
fn a_sound_clustering_shows_no_sign() {
    let (data, labels) = groups(150, 3, false);
    assert_eq!(signs_of(&data, &labels, 3), []);
}

#[test]
fn empty_and_single_clusters_are_counted() {
    let (data, mut labels) = groups(150, 2, false);
    labels[7] = 4;
    assert_eq!(signs_of(&data, &labels, 6), [Sign::EmptyClusters, Sign::SingleSamples]);
    assert_eq!(
        sizes(&labels, 6)[0].text,
        "there are fewer clusters than requested: 2 of 6 are empty"
    );
}

#[test]
fn clusters_too_small_to_describe_cause_a_note() {
    let mut labels: Vec<usize> = (0..150).map(|i| i % 2).collect();
    labels[..7].fill(2);
    let text = "1 of 3 clusters have too few samples to describe them (7 samples)";
    assert_eq!(sizes(&labels, 3)[0].line(), format!("note: {text}"));
    labels[7] = 2;
    assert_eq!(sizes(&labels, 3), []);
}

#[test]
fn clusters_that_follow_the_mask_cause_a_warning_and_a_random_mask_does_not() {
    let (data, truth) = groups(150, 2, false);
    let views: Vec<Array2<f64>> = (0..2).map(|v| data.view(v).to_owned()).collect();
    let mut rng = Seed::new(4).rng();
    let lacks: Vec<usize> = (0..150).map(|_| rng.gen_range(0..3)).collect();
    let entries = Array2::from_shape_fn((150, 2), |(i, v)| lacks[i] != v);
    let masked = MultiView::new(views, ViewMask::new(entries).unwrap()).unwrap();
    assert_eq!(signs_of(&masked, &truth, 3), []);
    // No view is related to clusters that equal the missing pattern.
    assert_eq!(signs_of(&masked, &lacks, 3), [Sign::MissingPattern, Sign::NoSupport]);
}

#[test]
fn a_view_of_noise_shares_nothing() {
    let (data, labels) = groups(150, 3, true);
    let found = warnings_of(&data, &labels, 3);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].text.starts_with("view `c` does not support these clusters: "), "{found:?}");
}

/// Returns the signs about two views with these shared information, p value and least noticed information.
fn signs_of_sharing(views: [(f64, f64, f64); 2]) -> Vec<Sign> {
    let view = |(shared_information, p_value, least_noticed)| {
        let text = format!(
            r#"{{"shared-information":{shared_information},"p-value":{p_value},"least-noticed":{least_noticed}}}"#
        );
        Some(serde_json::from_str::<ViewSharing>(&text).unwrap())
    };
    let found = sharing(&views.map(view), &["a".to_owned(), "b".to_owned()]);
    found.into_iter().map(|warning| warning.sign).collect()
}

#[test]
fn a_negative_estimate_beyond_chance_is_no_finding() {
    let found = |second| signs_of_sharing([(0.9, 0.01, 0.02), second]);
    assert_eq!(found((-0.045, 0.01, 0.02)), []);
    assert_eq!(found((-0.045, 0.5, 0.02)), [Sign::UnrelatedView]);
    assert_eq!(found((0.05, 0.01, 0.02)), [Sign::UnrelatedView]);
    assert_eq!(signs_of_sharing([(-0.045, 0.01, 0.02); 2]), []);
}

#[test]
fn clusters_that_no_view_supports_are_in_doubt_even_with_few_samples() {
    assert_eq!(signs_of_sharing([(0.05, 0.3, 0.2); 2]), [Sign::NoSupport]);
    assert_eq!(signs_of_sharing([(0.9, 0.01, 0.2), (0.05, 0.3, 0.2)]), [Sign::TooFewSamples]);
}

#[test]
fn rows_of_zeros_that_count_as_missing_are_named() {
    let (data, _) = groups(150, 2, false);
    let mut first = data.view(0).to_owned();
    (0..40).for_each(|i| first.row_mut(i).fill(0.0));
    let data = MultiView::from_nan_rows(vec![first, data.view(1).to_owned()]).unwrap();
    let signs_in = |coordinates| {
        with_fit(&data, &TMixture { coordinates, ..TMixture::default() }, |found| {
            found.zero_rows().map(|warning| warning.text).collect::<Vec<_>>()
        })
    };
    let text = "40 of 150 rows of view `a` count as missing because they are all zeros";
    assert_eq!(signs_in(cdimc_mixture::Coordinates::Unit), [text]);
    assert!(signs_in(cdimc_mixture::Coordinates::Standard).is_empty());
}

#[test]
fn a_test_with_too_few_samples_is_reported_as_such() {
    let (data, labels) = groups(150, 3, true);
    let shuffled = |n: usize| {
        let order: Vec<usize> = (0..n).map(|i| (i * 7 + i / 3) % n).collect();
        let [first, second] = [0, 1].map(|v| data.view(v).slice(s![..n, ..]).to_owned());
        let views = vec![first, second, data.view(1).select(ndarray::Axis(0), &order)];
        signs_of(&MultiView::from_nan_rows(views).unwrap(), &labels[..n], 3)
    };
    assert_eq!(shuffled(150), [Sign::UnrelatedView]);
    assert_eq!(shuffled(24), [Sign::TooFewSamples]);
}

/// A shift of some samples is all that one direction of view `b` shows.
#[test]
fn warnings_follow_the_settings_of_the_fit() {
    let (data, _) = groups(150, 3, false);
    let mut views: Vec<Array2<f64>> = (0..3).map(|v| data.view(v).to_owned()).collect();
    let shifted = (0..150).filter(|i| i % 7 < 3);
    shifted.for_each(|i| views[1].row_mut(i).mapv_inplace(|x| x + 30.0));
    let data = MultiView::from_nan_rows(views).unwrap();
    let found_with = |dimensions: usize| {
        let coordinates = cdimc_mixture::Coordinates::Centered;
        let settings = TMixture { dimensions, coordinates, ..TMixture::default() };
        with_fit(&data, &settings, |found| found.warnings(false))
    };
    let [narrow, wide] = [1, 20].map(found_with);
    // One direction is too little for the searches to agree.
    assert_eq!(narrow.len(), 2, "{narrow:?}");
    assert_eq!(narrow[0].sign, Sign::UnrelatedView);
    assert!(narrow[0].text.contains("view `b`"), "{narrow:?}");
    assert_eq!(narrow[1].sign, Sign::SeedsDisagree);
    assert_eq!(wide, []);
}

#[test]
fn nonsense_is_beaten_by_plain_k_means_and_the_truth_is_not() {
    let (data, truth) = groups(150, 3, false);
    let nonsense: Vec<usize> = (0..150).map(|i| i / 50).collect();
    let samples = joined(&data);
    let plain = |labels| ClustersFound::new(&samples, labels, 3, None).plain_is_better();
    assert_eq!(plain(&nonsense).unwrap().sign, Sign::PlainIsBetter);
    assert_eq!(plain(&truth), None);
}

#[test]
fn searches_and_coordinates_that_disagree_are_reported() {
    let signs = |shared_information: Option<f64>, agreement: f64| -> Vec<Sign> {
        let findings = serde_json::from_value(serde_json::json!({
            "coordinates": ["standard", "standard"],
            "evidence": [
                { "kinds": ["standard", "standard"], "shared-information": 0.9 },
                { "kinds": ["ranks", "standard"], "shared-information": 0.8, "agreement": agreement },
            ],
            "shared-information": shared_information,
            "log-likelihood": -1.0,
            "contributions": [],
            "n-samples": 100,
            "search-agreement": agreement,
        }));
        let findings = findings.unwrap();
        let found = [searches_disagree(&findings), coordinates_disagree(&findings)];
        let of_kind = found[1].iter().all(|warning| warning.text.contains("in `ranks`"));
        assert!(of_kind, "{found:?}");
        found.into_iter().flatten().map(|warning| warning.sign).collect()
    };
    assert_eq!(signs(Some(0.9), 0.69), [Sign::SeedsDisagree, Sign::CoordinatesDisagree]);
    assert_eq!(signs(Some(0.9), 0.71), []);
    // No sample has two views.
    assert_eq!(signs(None, 0.69), [Sign::SeedsDisagree]);
}

#[test]
fn seeds_that_disagree_are_reported() {
    let (a, b) = (vec![0, 0, 1, 1, 2, 2], vec![2, 2, 0, 0, 1, 1]);
    assert_eq!(seeds_disagree(&[a.clone(), b]), None);
    let other = seeds_disagree(&[a.clone(), vec![0, 1, 2, 0, 1, 2]]).unwrap();
    assert_eq!(other.sign, Sign::SeedsDisagree);
    assert_eq!(seeds_disagree(&[a]), None, "one seed agrees with itself");
}

#[test]
fn clusters_that_subsamples_hardly_find_are_named() {
    let stability = |clusters: &[f64]| Stability {
        clusters: clusters.iter().map(|&jaccard| Some(jaccard)).collect(),
        samples: Vec::new(),
        consensus: None,
        ambiguous: None,
        n_subsamples: 50,
        n_afresh: 0,
    };
    let found = of_stability(&stability(&[0.9, 0.55, 0.8, 0.4])).unwrap();
    assert!(
        found.text.starts_with("do not build on cluster 1 (0.55), 3 (0.40): ")
            && found.text.contains("2 of 4 clusters")
    );
    assert_eq!(of_stability(&stability(&[0.9, 0.6])), None);
}

#[test]
fn units_change_nothing() {
    let (data, labels) = groups(90, 2, false);
    let scaled = |factor: f64| {
        let views = (0..2).map(|v| data.view(v).mapv(|x| x * factor)).collect();
        signs_of(&MultiView::from_nan_rows(views).unwrap(), &labels, 3)
    };
    assert_eq!([scaled(1e-200), scaled(1e200)], [vec![], vec![]]);
}
