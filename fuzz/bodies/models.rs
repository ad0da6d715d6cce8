//! Bodies of the fuzz targets for models and checkpoints. The workspace's tests run them on the corpora, so that they
//! keep working where no fuzzer runs.
#![allow(dead_code)] // Every target uses one.

use cdimc::{NamedModel, mixture::TMixture};
use cdimc_cluster::{CdimcNet, Training};
use cdimc_core::{Clusterer, Silent, archive::with_new_checksum};
use cdimc_data::{MultiView, Seed};
use ndarray::Array2;

/// Number of samples to predict.
const N_SAMPLES: usize = 4;
/// Models with more columns are read but not used.
const MAX_COLUMNS: usize = 4096;
/// Largest number of epochs per round of a checkpoint that is resumed.
const MAX_EPOCHS_PER_ROUND: usize = 100;

/// Reads the bytes as a model with a new checksum and uses it on samples; returns whether it is accepted.
pub(crate) fn model(bytes: &[u8]) -> bool {
    let Ok(sealed) = with_new_checksum(bytes) else { return false };
    let Ok(NamedModel { model, views }) = NamedModel::from_bytes(&sealed) else { return false };
    let widths = model.widths();
    assert_eq!(views.len(), widths.len());
    if widths.iter().sum::<usize>() <= MAX_COLUMNS {
        let data = samples(N_SAMPLES, &widths);
        if let Ok(found) = model.predict(&data) {
            assert_eq!(found.labels.len(), N_SAMPLES);
            assert!(found.labels.iter().all(|&label| label < model.n_clusters()));
        }
        if let Ok(filled) = model.impute(&data) {
            assert!(filled.iter().map(Array2::ncols).eq(widths));
        }
        let _ = model.facts();
    }
    true
}

/// Reads the bytes as a checkpoint with a new checksum and resumes it; returns whether it is accepted.
pub(crate) fn checkpoint(bytes: &[u8]) -> bool {
    let Ok(sealed) = with_new_checksum(bytes) else { return false };
    let analysis = CdimcNet::default().with_analysis(TMixture::default()).analysis;
    let Ok(mut training) = Training::resume(&trained_on(), &sealed, analysis, &Silent) else {
        return false;
    };
    if training.settings().finetune.epochs_per_round > MAX_EPOCHS_PER_ROUND {
        return true;
    }
    for _ in 0..2 {
        if training.step().is_err() {
            return true;
        }
    }
    if training.has_ended() {
        let _ = training.run(&Silent);
    }
    true
}

/// Returns a training small enough for the corpus.
pub(crate) fn small_training() -> Training {
    let net = CdimcNet { neighbors: 2, batch_size: 6, ..CdimcNet::default() };
    let mut net = net.with_analysis(TMixture::default());
    (net.advanced.wide, net.pretrain.epochs, net.finetune.rounds) = (Some(3), 2, 3);
    net.check().expect("settings in range");
    net.start(&trained_on(), 2, Seed::new(1), &Silent).expect("data that suit it")
}

/// Returns the data of the checkpoints in the corpus.
pub(crate) fn trained_on() -> MultiView {
    samples(12, &[3, 2])
}

/// Returns samples; the last has only its first view.
fn samples(n_samples: usize, widths: &[usize]) -> MultiView {
    let value = |v: usize, i: usize, j: usize| {
        let is_missing = v > 0 && i + 1 == n_samples;
        if is_missing { f64::NAN } else { ((i * (v + 2) + j * j) as f64).sin() }
    };
    let view = |(v, &width): (usize, &usize)| {
        Array2::from_shape_fn((n_samples, width), |(i, j)| value(v, i, j))
    };
    MultiView::from_nan_rows(widths.iter().enumerate().map(view).collect()).expect("finite values")
}
