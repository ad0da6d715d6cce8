//! Tests of prediction, imputation and files of trained models.

use super::{blobs, mean_of_blob, same_partition, small};
use cdimc_cluster::{CdimcModel, CdimcNet, Finetune, Pretrain};
use cdimc_core::{Clustering, Model, Silent};
use cdimc_data::{MultiView, Seed};
use cdimc_mixture::{MixtureModel, TMixture};
use ndarray::Array2;

fn read(bytes: &[u8]) -> CdimcModel {
    CdimcModel::from_bytes(bytes, &TMixture::default()).expect("a model")
}

#[test]
fn models_give_the_training_samples_their_clusters_also_after_a_round_trip() {
    let (data, _) = blobs(80, 7);
    let (model, clustering) = small().train(&data, 3, Seed::new(1), &Silent).unwrap();
    let prediction = model.predict(&data).unwrap();
    assert_eq!(prediction, Clustering { curves: Vec::new(), ..clustering });

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    model.save(&path).unwrap();
    let loaded = CdimcModel::load(&path, &TMixture::default()).unwrap();
    assert_eq!(loaded.to_bytes().unwrap(), model.to_bytes().unwrap());
    assert_eq!(loaded.predict(&data).unwrap(), prediction);

    let error = MixtureModel::load(&path).unwrap_err().to_string();
    assert!(error.contains("model.safetensors: the file is a cdimc model: a "), "{error}");
}

#[test]
fn a_model_of_an_earlier_version_is_read_and_predicts_as_before() {
    // Written by version 0.1.0 of the command at commit 4ded045, with what it predicted for its samples: cluster and
    // loss, before the columns of both views, NaN where a view is missing.
    let model = read(include_bytes!("../fixtures/model.safetensors"));
    let row = |line: &str| line.split(',').map(|x| x.parse().unwrap()).collect::<Vec<f64>>();
    let rows: Vec<_> = include_str!("../fixtures/samples.csv").lines().skip(1).map(row).collect();
    let view = |start: usize, width: usize| {
        Array2::from_shape_fn((rows.len(), width), |(i, j)| rows[i][start + j])
    };
    let data = MultiView::from_nan_rows(vec![view(2, 4), view(6, 40)]).unwrap();
    let found = model.predict(&data).unwrap();
    for ((&label, loss), row) in found.labels.iter().zip(found.losses.unwrap()).zip(&rows) {
        assert_eq!(label as f64, row[0]);
        assert!((loss - row[1]).abs() <= 1e-5 * row[1].max(1.0), "{loss} {row:?}");
    }
    let bytes = model.to_bytes().unwrap();
    assert_eq!(read(&bytes).to_bytes().unwrap(), bytes);
}

#[test]
fn a_sample_gets_the_same_bits_alone_and_among_others() {
    let (data, _) = blobs(300, 8);
    // So wide that matrix products sum in two parts.
    let mut net = small();
    (net.advanced.wide, net.pretrain.epochs) = (Some(600), 2);
    let (model, clustering) = net.train(&data, 3, Seed::new(1), &Silent).unwrap();
    // Samples with all views are as many rows in each.
    let whole = (0..300).filter(|&i| data.mask().n_views_of(i) == 3);
    let whole: Vec<usize> = whole.take(5).collect();
    let few = (1..=5).map(|n| whole[..n].to_vec());
    for rows in few.chain([(0..137).collect(), (7..300).rev().collect()]) {
        let alone = model.predict(&data.select_rows(&rows).unwrap()).unwrap();
        let (found, losses) = (alone.losses.unwrap(), clustering.losses.as_ref().unwrap());
        for (place, &row) in rows.iter().enumerate() {
            assert_eq!(found[place], losses[row], "row {row} in {} rows", rows.len());
        }
    }
}

#[test]
fn samples_with_missing_views_get_their_cluster() {
    let (data, truth) = blobs(90, 9);
    let (model, clustering) = small().train(&data, 3, Seed::new(1), &Silent).unwrap();
    assert!(same_partition(&clustering.labels, &truth));
    let rows = data.mask().observed_rows(2);
    let alone = MultiView::from_nan_rows(vec![data.observed(2)]).unwrap();
    let found = model.predict_from(&alone, &[2]).unwrap();
    let right = rows.iter().zip(&found.labels).filter(|&(&i, &s)| clustering.labels[i] == s);
    assert!(right.count() * 100 >= rows.len() * 85);
    for views in [vec![], vec![0], vec![3], vec![0, 0]] {
        assert!(model.predict_from(&alone, &views).is_err(), "{views:?}");
    }
}

#[test]
fn imputation_keeps_observed_values_and_fills_in_the_rest() {
    let (data, truth) = blobs(90, 10);
    let net = CdimcNet { pretrain: Pretrain { epochs: 150, ..small().pretrain }, ..small() };
    let (model, _) = net.train(&data, 3, Seed::new(1), &Silent).unwrap();
    let filled = model.impute(&data).unwrap();
    let (mut errors, mut spread) = (0.0, 0.0);
    for (v, view) in filled.iter().enumerate() {
        let overall = data.observed(v).mean_axis(ndarray::Axis(0)).unwrap();
        for (i, &class) in truth.iter().enumerate() {
            if data.mask().is_observed(i, v) {
                assert_eq!(view.row(i), data.view(v).row(i));
            } else {
                let mean = mean_of_blob(&data, &truth, v, class);
                errors += (&view.row(i) - &mean).mapv(|x| x * x).sum();
                spread += (&overall - &mean).mapv(|x| x * x).sum();
            }
        }
    }
    assert!(errors < 0.2 * spread, "{errors} against {spread}");
}

#[test]
fn finetuning_does_not_change_imputation() {
    let (data, _) = blobs(60, 10);
    let no_rounds = Finetune { rounds: 0, ..small().finetune };
    let (pretrained, _) =
        CdimcNet { finetune: no_rounds, ..small() }.train(&data, 3, Seed::new(1), &Silent).unwrap();
    let (model, _) = small().train(&data, 3, Seed::new(1), &Silent).unwrap();
    assert_ne!(model.weights(), pretrained.weights());
    assert_eq!(model.impute(&data).unwrap(), pretrained.impute(&data).unwrap());
}

#[test]
fn other_views_than_the_models_are_clear_errors() {
    let (data, _) = blobs(30, 16);
    let (model, _) = small().train(&data, 3, Seed::new(1), &Silent).unwrap();
    let refusal = |views| {
        let data = MultiView::from_nan_rows(views).unwrap();
        model.predict(&data).unwrap_err().to_string()
    };
    let narrow = refusal(vec![Array2::eye(3); 3]);
    assert_eq!(narrow, "view 0 has 3 features, the model was made for 10");
    assert_eq!(refusal(vec![Array2::eye(5)]), "views = 1: the model was made for 3");
}
