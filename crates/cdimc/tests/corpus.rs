//! Corpora of the fuzz targets of models and checkpoints: every file can be read, and every truncated file is refused.
//!
//! `CDIMC_WRITE_CORPORA=1 cargo test -p cdimc --test corpus` writes the files again.

#[path = "../../../fuzz/bodies/corpus.rs"]
mod corpus;
#[path = "../../../fuzz/bodies/models.rs"]
mod models;

use cdimc::NamedModel;
use cdimc_core::archive::with_new_checksum;
use cdimc_core::{Clusterer, Silent};
use cdimc_data::Seed;
use cdimc_mixture::TMixture;
use corpus::{files, folder, is_finding};

type Target = fn(&[u8]) -> bool;

const TARGETS: [(&str, Target); 2] = [("model", models::model), ("checkpoint", models::checkpoint)];

#[test]
fn every_file_of_the_corpora_is_used_and_cut_short_refused() {
    if std::env::var_os("CDIMC_WRITE_CORPORA").is_some() {
        write_the_corpora();
    }
    for (target, accepts) in TARGETS {
        for path in files(target) {
            let bytes = std::fs::read(&path).expect("a file");
            assert_eq!(accepts(&bytes), !is_finding(&path), "{}", path.display());
            for end in (0..bytes.len()).step_by(1 + bytes.len() / 50) {
                assert!(!accepts(&bytes[..end]), "{} of {end} bytes", path.display());
            }
        }
    }
}

/// Checks that a changed byte with a correct checksum gives an error or another model.
#[test]
fn changed_bytes_under_a_new_checksum_never_panic() {
    for (target, accepts) in TARGETS {
        for path in files(target) {
            let bytes = std::fs::read(&path).expect("a file");
            for at in (0..bytes.len()).step_by(1 + bytes.len() / 300) {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << (at % 8);
                accepts(&changed);
            }
        }
    }
}

/// With a correct checksum.
#[test]
fn more_views_than_any_file_holds_are_refused_at_once() {
    for ((target, accepts), name) in TARGETS.into_iter().zip(["cdimc-net", "start"]) {
        let bytes = std::fs::read(folder(target).join(name)).expect("a file");
        assert!(accepts(&bytes), "{target}");
        let at =
            (0..bytes.len()).find(|&at| bytes[at..].starts_with(b"n_views")).expect("a number");
        let at = (at..bytes.len()).find(|&at| bytes[at].is_ascii_digit()).expect("a number");
        let length = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
        let most = u64::MAX.to_string();
        let longer = length + most.len() as u64 - 1;
        let parts = [&longer.to_le_bytes(), &bytes[8..at], most.as_bytes(), &bytes[at + 1..]];
        let forged = parts.concat();
        assert!(with_new_checksum(&forged).is_ok(), "{target}");
        assert!(!accepts(&forged), "{target}");
    }
}

/// Writes the files again, after their form has changed.
fn write_the_corpora() {
    let write = |target: &str, name: &str, bytes: Vec<u8>| {
        std::fs::create_dir_all(folder(target)).expect("a folder");
        std::fs::write(folder(target).join(name), bytes).expect("room for it");
    };
    let mut training = models::small_training();
    write("checkpoint", "start", training.checkpoint().expect("bytes"));
    while let Some(step) = training.step().expect("a step") {
        if matches!((step.stage, step.done), ("pretrain", 2) | ("kmeans", 1) | ("finetune", 3)) {
            let name = format!("{}-{}", step.stage, step.done);
            write("checkpoint", &name, training.checkpoint().expect("bytes"));
        }
    }
    assert!(training.has_ended());
    let (model, _) = training.run(&Silent).expect("a model");
    let named = NamedModel::from_bytes(&cdimc_core::Model::to_bytes(&model).expect("bytes"));
    write("model", "cdimc-net", named.and_then(|named| named.to_bytes()).expect("bytes"));
    let mixture = TMixture { starts: 2, ..TMixture::default() };
    let fitted = mixture.fit(&models::trained_on(), 2, Seed::new(1), &Silent);
    let model = fitted.expect("a fit").model.expect("a model");
    let named = NamedModel::from_bytes(&model.to_bytes().expect("bytes"));
    write("model", "t-mixture", named.and_then(|named| named.to_bytes()).expect("bytes"));
}
