//! Methods on datasets of linfa.
#![allow(clippy::unwrap_used)] // clippy recognizes only functions marked as tests

use cdimc::cluster::{Advanced, CdimcNet, Finetune, Pretrain};
use cdimc::linfa::{ColumnViews, LinfaError};
use cdimc::prelude::*;
use linfa::DatasetBase;
use linfa::traits::{Fit, Predict};
use ndarray::{Array1, Array2, s};

/// Returns three distant groups in two views; a quarter of the samples is missing from each.
fn records() -> Array2<f64> {
    Array2::from_shape_fn((120, 12), |(i, j)| match (i % 4, j) {
        (0, 0..6) | (1, 6..12) => f64::NAN,
        _ => (9 * (i % 3)) as f64 + ((7 * i + 3 * j) % 10) as f64 / 10.0,
    })
}

fn agrees_with_the_method<C: Clusterer + Clone>(method: &C) {
    let records = records();
    let views = vec![0..6, 6..12];
    let on_columns =
        ColumnViews { method: method.clone(), views, n_clusters: 3, seed: Seed::new(1) };
    let parts = [s![.., 0..6], s![.., 6..12]].map(|columns| records.slice(columns).to_owned());
    let data = MultiView::from_nan_rows(parts.to_vec()).unwrap();
    let expected = method.cluster(&data, 3, Seed::new(1)).unwrap();
    let model = on_columns.fit(&DatasetBase::from(records.clone())).unwrap();
    let labels: Array1<Option<usize>> = model.predict(&records);
    assert!(labels.iter().eq(expected.labels.iter().copied().map(Some).collect::<Vec<_>>().iter()));
    let mut some = records.slice(s![..3, ..]).to_owned();
    some.row_mut(1).fill(f64::NAN);
    let labels = model.try_predict(&some).unwrap();
    assert_eq!((labels[0], labels[1]), (Some(expected.labels[0]), None));
    // This sample lacks a view, so no sample of these records has it.
    let one = model.try_predict(&records.slice(s![1..2, ..])).unwrap();
    assert_eq!(one[0], Some(expected.labels[1]));
    let narrow = model.try_predict(&records.slice(s![.., ..9])).unwrap_err();
    assert!(matches!(narrow, LinfaError::Columns { found: 9, .. }), "{narrow}");
}

#[test]
fn methods_on_a_dataset_give_the_labels_of_its_views() {
    agrees_with_the_method(&TMixture::default());
    let authors = CdimcNet::authors_code();
    let net = CdimcNet {
        pretrain: Pretrain { epochs: 20, ..authors.pretrain },
        finetune: Finetune { rounds: 2, epochs_per_round: 1, ..authors.finetune },
        advanced: Advanced { wide: Some(32), square_decoder_layer: false, ..authors.advanced },
        ..authors
    };
    agrees_with_the_method(&net.with_analysis(TMixture::default()));
}
