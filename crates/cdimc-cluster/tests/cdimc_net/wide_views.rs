//! Views of more columns than samples, and the cost of a training.

use super::{blobs, same_partition, small};
use cdimc_cluster::{CdimcModel, CdimcNet, Pretrain, Stage, Training};
use cdimc_core::{Clusterer, Model, Observer};
use cdimc_data::{MultiView, Seed};
use cdimc_nn::Architecture;
use ndarray::Array2;
use rand::Rng;

/// Blobs in views of which the second has 90 columns more, all of noise.
fn wide_blobs(n_samples: usize, seed: u64) -> (MultiView, Vec<usize>) {
    let (data, truth) = blobs(n_samples, seed);
    let mut rng = Seed::new(seed).stream("noise").rng();
    let views = (0..3).map(|v| {
        let more = if v == 1 { 90 } else { 0 };
        let noise = Array2::from_shape_simple_fn((n_samples, more), || rng.gen_range(-0.5..0.5));
        ndarray::concatenate![ndarray::Axis(1), data.view(v), noise]
    });
    (MultiView::new(views.collect(), data.mask().clone()).expect("finite values"), truth)
}

#[test]
fn a_view_wider_than_samples_is_read_by_its_directions() {
    let (data, truth) = wide_blobs(60, 8);
    let (wide, observed) = (data.width(1), data.mask().n_observed(1));
    assert!(wide > 60 && data.width(0) < 60);
    let net = CdimcNet { pretrain: Pretrain { epochs: 100, ..small().pretrain }, ..small() };
    let (model, found) = net.train(&data, 3, Seed::new(1), &Observer::silent()).unwrap();
    assert!(same_partition(&found.labels, &truth), "{:?}", found.labels);
    let inputs = |view: usize| model.weights().views[view].encoder[0].weight.ncols();
    assert_eq!([inputs(0), inputs(1)], [data.width(0), observed - 1]);
    // Samples, models in files and checkpoints go through the same directions.
    let back = CdimcModel::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert_eq!(back, model);
    assert_eq!(back.predict(&data).unwrap().labels, found.labels);
    let mut training = net.start(&data, 3, Seed::new(1)).unwrap();
    (0..50).for_each(|_| assert!(training.step().unwrap().is_some()));
    let resumed = Training::resume(&data, &training.checkpoint().unwrap()).unwrap();
    assert_eq!(resumed.finish().unwrap(), (model.clone(), found));
    let filled = model.impute(&data).unwrap();
    assert!(filled[1].dim() == (60, wide) && filled[1].iter().all(|x| x.is_finite()));
    for i in (0..60).filter(|&i| data.mask().is_observed(i, 1)) {
        assert_eq!(filled[1].row(i), data.view(1).row(i));
    }
    // A missing row lies nearer to the mean of its blob than to those of the others.
    let mean = |blob: usize| {
        let rows: Vec<usize> =
            (0..60).filter(|&i| truth[i] == blob && data.mask().is_observed(i, 1)).collect();
        data.view(1).select(ndarray::Axis(0), &rows).mean_axis(ndarray::Axis(0)).unwrap()
    };
    let means = [mean(0), mean(1), mean(2)];
    for i in (0..60).filter(|&i| !data.mask().is_observed(i, 1)) {
        let away = |blob: usize| (&filled[1].row(i) - &means[blob]).mapv(|d| d * d).sum();
        let nearest = (0..3).min_by(|&a, &b| away(a).total_cmp(&away(b)));
        assert_eq!(nearest, Some(truth[i]));
    }
}

#[test]
fn components_are_a_setting_and_touch_no_view_that_has_more_samples_than_columns() {
    let (data, _) = blobs(50, 2);
    let with = |components| CdimcNet { components, ..small() };
    let fit = |components| with(components).cluster(&data, 3, Seed::new(3)).unwrap();
    assert_eq!(fit(None), fit(Some(0)));
    assert_ne!(fit(None).embedding, fit(Some(2)).embedding);
    let (wide, _) = wide_blobs(60, 8);
    let bytes = |components| with(components).cost(&wide, 3).unwrap().bytes;
    assert!(bytes(Some(0)) > bytes(None) && bytes(None) > bytes(Some(5)));
}

#[test]
fn the_announced_cost_covers_the_making_of_a_checkpoint_and_the_reduction_of_views() {
    let (data, _) = blobs(60, 3);
    let architecture = Architecture { wide: 1500, ..small().architecture };
    let pretrain = Pretrain { epochs: 0, ..small().pretrain };
    let net = CdimcNet { architecture, pretrain, ..small() };
    let mut training = net.start(&data, 3, Seed::new(1)).unwrap();
    while training.stage() != Stage::Finetune {
        training.step().unwrap();
    }
    // The training itself, the arrays and the bytes, but for names and shapes.
    let checkpoint = training.checkpoint().unwrap().len() as f64;
    assert!(net.cost(&data, 3).unwrap().bytes > 0.95 * 3.0 * checkpoint);

    let wide = MultiView::from_nan_rows(vec![Array2::eye(900); 2]).unwrap();
    let net = CdimcNet { components: Some(2), architecture: Architecture::default(), ..small() };
    let cost = net.cost(&wide, 3).unwrap();
    // The rows in double precision, and five matrices of products and eigenvectors.
    assert!(cost.bytes > 6.0 * 8.0 * 900.0 * 900.0);
    assert!(cost.operations > 2.0 * 9.0 * 900.0 * 900.0 * 900.0);
}
