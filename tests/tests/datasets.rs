//! Tests of the real data sets in the folder `CDIMC_DATASETS`; skipped if it is not set.

use approx::assert_abs_diff_eq;
use cdimc_data::Seed;
use cdimc_tables::datasets::Catalog;
use cdimc_tables::{ReadOptions, Replicates, Table, TableError, ViewSource, read_bytes, read_idx};
use ndarray::{Array2, s};
use rand::Rng;
use std::path::Path;

fn catalog() -> Option<Catalog> {
    std::env::var_os("CDIMC_DATASETS").map(|_| Catalog::from_env(None).expect("readable manifests"))
}

/// Reads the cells of `X` in a MATLAB file from its bytes, with these vectors as ids and classes.
fn cells_of_x(
    bytes: Vec<u8>,
    id: Option<&str>,
    label: Option<&str>,
) -> Result<Vec<Table>, TableError> {
    let source = ViewSource { name: None, path: "some.mat".into(), member: Some("X".into()) };
    let [id, label] = [id, label].map(|name| name.map(str::to_owned));
    read_bytes(
        bytes,
        &source,
        &ReadOptions { id, label, replicates: Replicates::First, ..ReadOptions::default() },
    )
}

fn bytes(path: impl AsRef<Path>) -> Vec<u8> {
    std::fs::read(path).expect("a readable file")
}

#[test]
fn handwritten_matches_the_description_in_the_paper() {
    let Some(catalog) = catalog() else { return };
    assert!(catalog.is_present("handwritten").unwrap());
    let data = catalog.load("handwritten").unwrap();
    let widths: Vec<usize> = data.views().iter().map(Array2::ncols).collect();
    assert_eq!(widths, [240, 76, 216, 47, 64]);
    assert_eq!((data.n_samples(), data.n_classes()), (2000, 10));
    // Sorted by class, 200 samples each.
    let labels: Vec<usize> = (0..2000).map(|i| i / 200).collect();
    assert_eq!(data.labels().unwrap(), labels);
}

#[test]
fn every_view_of_the_published_masks_has_exactly_the_missing_rate() {
    let Some(catalog) = catalog() else { return };
    for (rate, n_observed) in [(0.1, 1800), (0.3, 1400), (0.5, 1000), (0.7, 600)] {
        let folds = catalog.masks("handwritten", rate).unwrap().unwrap();
        assert_eq!(folds.len(), 10);
        for mask in folds {
            assert_eq!((mask.n_samples(), mask.n_views()), (2000, 5));
            assert!((0..5).all(|view| mask.n_observed(view) == n_observed), "rate {rate}");
        }
    }
    assert!(catalog.masks("handwritten", 0.2).unwrap().is_none());
}

#[test]
fn the_image_features_of_a_bdgp_sample_have_joint_norm_one() {
    let Some(catalog) = catalog() else { return };
    let data = catalog.load("bdgp").unwrap();
    let widths: Vec<usize> = data.views().iter().map(Array2::ncols).collect();
    assert_eq!(widths, [1000, 500, 250, 79]);
    assert_eq!((data.n_samples(), data.n_classes()), (2500, 5));
    let labels: Vec<usize> = (0..2500).map(|i| i / 500).collect();
    assert_eq!(data.labels().unwrap(), labels);
    for sample in 0..2500 {
        let squares = data.views()[..3].iter().flat_map(|view| view.row(sample)).map(|x| x * x);
        assert_abs_diff_eq!(squares.sum::<f64>().sqrt(), 1.0, epsilon = 1e-9);
    }
    let zero_rows =
        |view: &Array2<f64>| view.outer_iter().filter(|row| row.iter().all(|&x| x == 0.0)).count();
    let zero_rows: Vec<usize> = data.views().iter().map(zero_rows).collect();
    assert_eq!(zero_rows, [201, 1203, 1915, 0]);
    for row in data.views()[3].outer_iter() {
        assert!(row.iter().all(|&x| x == 0.0 || x == 1.0) && (1.0..=11.0).contains(&row.sum()));
    }
}

#[test]
fn mnist4000_equals_the_publication_of_the_pmvc_cgan_authors() {
    let Some(catalog) = catalog() else { return };
    let data = catalog.load("mnist4000").unwrap();
    let Some(path) = catalog.find("mnist/mnist_edge_6000.mat") else { return };
    let published = cells_of_x(bytes(path), Some("mnist_train_index0"), Some("Y")).unwrap();
    let rows = catalog.manifest("mnist4000").unwrap().rows.as_ref().unwrap();
    let index = published[0].ids.as_ref().unwrap();
    assert!(rows.index.iter().zip(index).all(|(row, found)| row.to_string() == *found));
    for (ours, theirs) in data.views().iter().zip(&published) {
        assert_eq!(ours, theirs.values.dense().slice(s![..4000, ..]), "{}", theirs.name);
    }
    let theirs = published[0].labels.as_ref().unwrap();
    assert!(data.labels().unwrap().iter().zip(theirs).all(|(ours, y)| ours.to_string() == *y));
}

#[test]
fn mnist70k_is_the_training_set_followed_by_the_test_set() {
    let Some(catalog) = catalog() else { return };
    let data = catalog.load("mnist70k").unwrap();
    assert_eq!((data.n_samples(), data.n_views(), data.n_classes()), (70_000, 2, 10));
    let labels = data.labels().unwrap();
    let n_sevens = |labels: &[usize]| labels.iter().filter(|&&label| label == 7).count();
    assert_eq!((n_sevens(&labels[..60_000]), n_sevens(&labels[60_000..])), (6265, 1028));
    let first_of_test = catalog.find("mnist/t10k-images-idx3-ubyte.gz").unwrap();
    let first_of_test = read_idx(&bytes(first_of_test)).unwrap();
    assert_eq!(data.views()[0].slice(s![60_000.., ..]), first_of_test);
}

#[test]
fn a_file_of_version_7_3_has_the_same_views() {
    let Some(catalog) = catalog() else { return };
    let Some(path) = catalog.find("bdgp/BDGP_4view.mat") else { return };
    let data = catalog.load("bdgp").unwrap();
    let views = cells_of_x(bytes(path), None, None).unwrap();
    assert!(views.iter().map(|view| view.values.dense()).eq(data.views()));
}

#[test]
fn damaged_copies_of_real_files_are_errors() {
    let Some(catalog) = catalog() else { return };
    let mat = bytes(catalog.find("handwritten/handwritten-5view.mat").unwrap());
    let idx = bytes(catalog.find("mnist/t10k-labels-idx1-ubyte.gz").unwrap());
    let read = |bytes: &[u8]| cells_of_x(bytes.to_vec(), Some("Y"), None);
    assert!(read(&mat).is_ok() && read_idx(&idx).is_ok());
    let mut rng = Seed::new(0).rng();
    for _ in 0..60 {
        let cut = rng.gen_range(0..mat.len());
        // Each variable is compressed: a cut between two leaves the first.
        assert!(read(&mat[..cut]).is_err(), "cut at {cut}");
        let mut flipped = mat.clone();
        flipped[rng.gen_range(128..mat.len())] ^= 1 << rng.gen_range(0..8);
        assert!(read(&flipped).is_err());
        let cut = rng.gen_range(0..idx.len());
        assert!(read_idx(&idx[..cut]).is_err());
    }
}
