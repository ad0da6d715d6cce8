//! Tests of the default method.

use super::*;
use crate::test_data::{self, synthetic};
use crate::{Coordinates, MixtureModel};
use cdimc_core::{Model, Silent};
use cdimc_data::{Dataset, Standardizer, SyntheticMap, SyntheticView, SyntheticViews};
use ndarray::{Axis, concatenate, s};
use rand::Rng;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn dataset(n_samples: usize) -> Dataset {
    synthetic(n_samples, 1)
}

fn incomplete(dataset: &Dataset) -> MultiView {
    test_data::incomplete(dataset.views(), 1)
}

fn quick() -> TMixture {
    TMixture { starts: 4, ..TMixture::default() }
}

fn fitted(data: &MultiView) -> (Clustering, MixtureModel) {
    fitted_with(&quick(), data)
}

fn fitted_with(settings: &TMixture, data: &MultiView) -> (Clustering, MixtureModel) {
    let Fitted { clustering, model } = settings.fit(data, 4, Seed::new(3), &Silent).unwrap();
    (clustering, MixtureModel::from_bytes(&model.unwrap().to_bytes().unwrap()).unwrap())
}

#[test]
fn threads_never_change_a_bit() {
    let data = incomplete(&dataset(1300));
    let with_threads = |n| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        pool.install(|| {
            let fitted = quick().fit(&data, 4, Seed::new(3), &Silent).unwrap();
            (fitted.clustering, fitted.model.unwrap().to_bytes().unwrap())
        })
    };
    let one = with_threads(1);
    assert!(with_threads(2) == one);
    assert!(with_threads(4) == one);
}

#[test]
fn a_saved_model_gives_the_labels_of_the_training() {
    let data = incomplete(&dataset(400));
    for coordinates in [Coordinates::Auto, Coordinates::Ranks] {
        let settings = TMixture { coordinates, ..quick() };
        let (clustering, model) = fitted_with(&settings, &data);
        let prediction = model.predict(&data).unwrap();
        assert_eq!(prediction, Clustering { curves: Vec::new(), ..clustering });
    }
}

#[test]
fn search_on_a_part_ends_at_the_clusters_of_all() {
    let dataset = dataset(1500);
    let truth = dataset.labels().unwrap();
    let part = TMixture { search_samples: 400, ..quick() };
    let found = part.cluster(&incomplete(&dataset), 4, Seed::new(3)).unwrap();
    let all = quick().cluster(&incomplete(&dataset), 4, Seed::new(3)).unwrap();
    let accuracy = |labels: &[usize]| cdimc_metrics::accuracy(truth, labels).unwrap();
    assert!(accuracy(&found.labels) > accuracy(&all.labels) - 0.01);
    assert!(accuracy(&all.labels) > 0.9, "{}", accuracy(&all.labels));
}

#[test]
fn a_subset_keeps_the_cells_filled_in_the_whole() {
    let answer = |i: usize, j: usize| f64::from(u8::from((i * i + 3 * i * j) % 7 < 3));
    let view = |d: usize| {
        let mut x = Array2::from_shape_fn((300, 5), |(i, j)| answer(i, j + d));
        for (j, mut column) in x.columns_mut().into_iter().enumerate() {
            let is_filled = |i: usize| (i + j).is_multiple_of(10);
            let mean = (0..300).filter(|&i| !is_filled(i)).map(|i| column[i]).sum::<f64>() / 270.0;
            (0..300).filter(|&i| is_filled(i)).for_each(|i| column[i] = mean);
        }
        x
    };
    let data = MultiView::from_nan_rows(vec![view(1), view(6)]).unwrap();
    let coordinates = Coordinates::Standard;
    let part = TMixture { search_samples: 120, coordinates, ..quick() };
    let solution = part.solve(&data, 3, Seed::new(1), &Silent).unwrap();
    assert_eq!(solution.observations.n_samples, 300);
    let resolutions = &solution.observations.resolutions;
    assert!(resolutions.iter().flatten().all(|&r| r > 0.6), "{resolutions:?}");
}

#[test]
fn clusters_on_a_line_are_found_in_a_single_view() {
    let mut rng = Seed::new(1).rng();
    // `unit` would reduce the position on a line to its sign.
    let view = Array2::from_shape_fn((120, 3), |(i, _)| {
        3.0 * (i % 3) as f64 + (0..12).map(|_| rng.r#gen::<f64>()).sum::<f64>() - 6.0
    });
    let truth: Vec<usize> = (0..120).map(|i| i % 3).collect();
    let accuracy = |view: Array2<f64>| {
        let data = MultiView::from_nan_rows(vec![view]).unwrap();
        let found = quick().cluster(&data, 3, Seed::new(1)).unwrap();
        cdimc_metrics::accuracy(&truth, &found.labels).unwrap()
    };
    assert!(accuracy(view.clone()) > 0.95, "{}", accuracy(view));
    let column = view.mean_axis(Axis(1)).unwrap().insert_axis(Axis(1));
    assert!(accuracy(column.clone()) > 0.95, "{}", accuracy(column));
}

#[test]
fn clusters_are_numbered_by_size() {
    let mut rng = Seed::new(1).rng();
    let mut position =
        |i: usize| 20.0 * f64::from(u8::from(i >= 20) + u8::from(i >= 60)) + rng.r#gen::<f64>();
    let view = Array2::from_shape_fn((140, 3), |(i, _)| position(i));
    let data = MultiView::from_nan_rows(vec![view]).unwrap();
    let labels = quick().cluster(&data, 3, Seed::new(1)).unwrap().labels;
    assert_eq!(labels, [vec![2; 20], vec![1; 40], vec![0; 80]].concat());
}

#[test]
fn one_view_is_enough_to_predict_and_all_are_imputed() {
    let dataset = dataset(400);
    let data = incomplete(&dataset);
    let (clustering, model) = fitted(&data);
    let first = MultiView::from_nan_rows(vec![dataset.views()[0].clone()]).unwrap();
    let prediction = model.predict_from(&first, &[0]).unwrap();
    let equal = prediction.labels.iter().zip(&clustering.labels).filter(|(a, b)| a == b).count();
    assert!(equal > 240, "{equal} of 400");
    let filled = model.impute_from(&first, &[0]).unwrap();
    assert_eq!(filled[0], dataset.views()[0]);
    // Closer to the hidden values than the column means.
    let (mut ours, mut means) = (0.0, 0.0);
    for (v, filled) in filled.iter().enumerate().skip(1) {
        let all = &model.standardizers()[v].mean;
        for ((i, j), &x) in dataset.views()[v].indexed_iter() {
            ours += (filled[[i, j]] - x).powi(2);
            means += (all[j] - x).powi(2);
        }
    }
    assert!(ours < 0.8 * means, "{ours} {means}");
    assert!(model.predict_from(&first, &[1, 0]).is_err());
}

/// The views of a sample share hidden factors that are independent of the clusters.
#[test]
fn imputation_uses_the_residuals_of_any_number_of_other_views() {
    let many = vec![SyntheticView { width: 25, map: SyntheticMap::Linear }; 12];
    let many = SyntheticViews { n_samples: 400, views: many, ..SyntheticViews::default() };
    for dataset in [dataset(400), many.generate(Seed::new(1)).unwrap()] {
        let data = incomplete(&dataset);
        let (_, model) = fitted(&data);
        let by_clusters = MixtureModel { association: None, ..model.clone() };
        let first = MultiView::from_nan_rows(vec![dataset.views()[0].clone()]).unwrap();
        let error = |model: &MixtureModel| -> f64 {
            let filled = model.impute_from(&first, &[0]).unwrap();
            // Absolute errors, since outliers would dominate squares.
            let off = |v: usize| (&filled[v] - &dataset.views()[v]).mapv(f64::abs).sum();
            (1..filled.len()).map(off).sum()
        };
        let (ours, clusters) = (error(&model), error(&by_clusters));
        assert!(ours < 0.9 * clusters, "{} views: {ours} {clusters}", data.n_views());
    }
}

#[test]
fn a_sample_far_from_everything_is_flagged() {
    let dataset = dataset(400);
    let standard = TMixture { coordinates: Coordinates::Standard, ..quick() };
    let data = incomplete(&dataset);
    let model = standard.fit(&data, 4, Seed::new(3), &Silent).unwrap().model.unwrap();
    let usual = model.predict(&data).unwrap().unusual.unwrap();
    assert!(usual.iter().filter(|&&unusual| unusual).count() <= 2);
    let mut views = dataset.views().to_vec();
    let Standardizer { mean, scale } = &model.standardizers()[1];
    let far = mean.iter().zip(scale).map(|(mean, scale)| mean + 100.0 * scale);
    views[1].row_mut(7).assign(&far.collect::<ndarray::Array1<f64>>());
    let prediction = model.predict(&MultiView::from_nan_rows(views).unwrap()).unwrap();
    assert!(prediction.unusual.unwrap()[7]);
}

#[test]
fn a_row_of_zeros_gets_the_same_cluster_alone() {
    let dataset = dataset(200);
    let settings = TMixture { coordinates: Coordinates::Unit, ..quick() };
    let (_, model) = fitted_with(&settings, &incomplete(&dataset));
    let mut views = dataset.views().to_vec();
    views.iter_mut().for_each(|view| view.row_mut(0).fill(0.0));
    let predict = |n: usize| {
        let views = views.iter().map(|view| view.slice(s![..n, ..]).to_owned()).collect();
        let prediction = model.predict(&MultiView::from_nan_rows(views).unwrap()).unwrap();
        (prediction.labels[0], prediction.confidence.unwrap()[0])
    };
    assert_eq!(predict(1), predict(2));
}

#[test]
fn unit_treats_a_row_of_unseen_columns_as_zeros() {
    let zeros = Array2::<f64>::zeros((200, 1));
    let views: Vec<Array2<f64>> =
        dataset(200).views().iter().map(|view| concatenate![Axis(1), *view, zeros]).collect();
    let settings = TMixture { coordinates: Coordinates::Unit, ..quick() };
    let data = MultiView::from_nan_rows(views.clone()).unwrap();
    let (_, model) = fitted_with(&settings, &data);
    let predict = |flag: f64| {
        let mut views = views.clone();
        for view in &mut views {
            let last = view.ncols() - 1;
            view.row_mut(0).fill(0.0);
            view[[0, last]] = flag;
        }
        let prediction = model.predict(&MultiView::from_nan_rows(views).unwrap()).unwrap();
        (prediction.labels, prediction.confidence, prediction.losses)
    };
    assert_eq!(predict(3.0), predict(0.0));
}

#[test]
fn the_search_needs_a_sample_for_every_cluster() {
    let settings = TMixture { search_samples: 100, ..quick() };
    let error = settings.cluster(&incomplete(&dataset(300)), 150, Seed::new(1)).unwrap_err();
    let rule = "search-samples = 100: must be at least the number of clusters";
    assert_eq!(error.to_string(), rule);
}

#[test]
fn an_observer_stops_a_fit_at_once() {
    let data = incomplete(&dataset(3000));
    for after in [0, 5, 40] {
        let calls = AtomicUsize::new(0);
        let stopped = std::sync::Mutex::new(None);
        let report = |_: &Step| {
            if calls.fetch_add(1, Ordering::Relaxed) >= after {
                stopped.lock().unwrap().get_or_insert_with(Instant::now);
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        let error = TMixture::default().fit(&data, 4, Seed::new(3), &report).unwrap_err();
        assert!(matches!(error, ClusterError::Interrupted { checkpoint: None }));
        assert!(stopped.lock().unwrap().unwrap().elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn settings_out_of_range_are_named() {
    let text = |settings: TMixture| settings.check().unwrap_err().to_string();
    let diagonal = TMixture { diagonal: Some(1.5), ..TMixture::default() };
    assert_eq!(text(diagonal), "diagonal = 1.5: must lie in [0, 1]");
    let starts = TMixture { starts: 0, ..TMixture::default() };
    assert_eq!(text(starts), "starts = 0: must be at least 1");
    let normal = TMixture { degrees_of_freedom: 1e7, ..TMixture::default() };
    let rule = "degrees-of-freedom = 10000000: must be positive and at most 1e6";
    assert_eq!(text(normal), rule);
    TMixture::default().check().unwrap();
}

#[test]
fn clusterings_are_alike_by_one_if_equal_and_by_zero_if_independent() {
    assert_eq!(adjusted_rand(&[0, 0, 1, 1], &[1, 1, 0, 0]), 1.0);
    assert_eq!(adjusted_rand(&[0, 0, 1, 1], &[0, 1, 0, 1]), 0.0);
    assert_eq!(adjusted_rand(&[0, 0], &[0, 0]), 1.0);
}

#[test]
fn few_samples_have_the_same_clusters_for_every_seed_and_order() {
    let data = incomplete(&dataset(90));
    let (first, _) = quick().train(&data, 4, Seed::new(1), &Silent).unwrap();
    let order: Vec<usize> = (0..90).map(|i| (i * 37) % 90).collect();
    let reordered = data.select_rows(&order).unwrap();
    let (other, _) = quick().train(&reordered, 4, Seed::new(2), &Silent).unwrap();
    let expected: Vec<usize> = order.iter().map(|&i| first.labels[i]).collect();
    assert_eq!(other.labels, expected);
    let agreement = first.model().findings().search_agreement.unwrap();
    assert_eq!(other.model().findings().search_agreement, Some(agreement));
    assert!((0.0..=1.0).contains(&agreement), "{agreement}");
}

#[test]
fn few_samples_are_searched_seven_times_and_more_samples_once() {
    let n_repeats = |n_samples: usize| {
        let data = incomplete(&dataset(n_samples));
        let repeats = AtomicUsize::new(0);
        let count = |step: &Step| {
            repeats.fetch_add(usize::from(step.stage == "searches"), Ordering::Relaxed);
            ControlFlow::Continue(())
        };
        let settings = TMixture { starts: 1, ..TMixture::default() };
        settings.fit(&data, 2, Seed::new(1), &count).unwrap();
        repeats.into_inner()
    };
    assert_eq!([n_repeats(60), n_repeats(500)], [6, 0]);
}
