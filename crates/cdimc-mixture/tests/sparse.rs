//! Sparse and dense matrices of the same numbers give the same clusters.

use cdimc_core::{Clusterer, Fitted, Silent};
use cdimc_data::{Matrix, MultiView, Seed, Sparse, ViewMask};
use cdimc_mixture::{Coordinates, TMixture};
use ndarray::Array2;
use rand::Rng;

/// Returns counts of three groups, mostly 0, as a dense and as a sparse matrix.
fn counts(n: usize, d: usize) -> [Matrix; 2] {
    let mut rng = Seed::new(1).rng();
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..n {
        for j in 0..d {
            if rng.gen_bool(if j % 3 == i % 3 { 0.2 } else { 0.04 }) {
                columns.push(j as u32);
                values.push(f64::from(rng.gen_range(1_u8..6)));
            }
        }
        starts.push(values.len());
    }
    let sparse = Sparse::from_rows(d, starts, columns, values).expect("compressed rows");
    [sparse.dense().into(), sparse.into()]
}

/// Returns the samples with one of the matrices and a view of four columns; a fifth lack either view.
fn samples(counts: Matrix) -> MultiView {
    let n = counts.nrows();
    let mut rng = Seed::new(2).rng();
    let other = Array2::from_shape_fn((n, 4), |(i, j)| {
        rng.gen_range(-1.0..1.0) + if i % 3 == j { 2.0 } else { 0.0 }
    });
    let mask = Array2::from_shape_fn((n, 2), |(i, v)| (i + 2 * v) % 5 != 0);
    MultiView::new(vec![counts, other.into()], ViewMask::new(mask).expect("a mask")).expect("data")
}

fn fitted(settings: &TMixture, data: &MultiView) -> Fitted {
    settings.fit(data, 3, Seed::new(3), &Silent).expect("clusters")
}

#[test]
fn a_sparse_view_gives_the_bits_of_the_dense_one() {
    let [dense, sparse] = counts(210, 60);
    let (dense, sparse) = (samples(dense), samples(sparse));
    for coordinates in [Coordinates::Auto, Coordinates::Ranks, Coordinates::Centered] {
        let settings = TMixture { coordinates, starts: 3, ..TMixture::default() };
        let (one, other) = (fitted(&settings, &dense), fitted(&settings, &sparse));
        assert!(one.clustering == other.clustering, "{coordinates:?}");
        let (one, other) = (one.model.expect("a model"), other.model.expect("a model"));
        assert!(one.to_bytes().expect("bytes") == other.to_bytes().expect("bytes"));
        assert_eq!(
            one.impute(&dense).expect("filled views"),
            other.impute(&sparse).expect("filled views")
        );
    }
}

#[test]
fn zeros_that_are_left_out_of_wide_sums_change_no_cluster() {
    let [dense, sparse] = counts(150, 3100);
    let (dense, sparse) = (samples(dense), samples(sparse));
    for coordinates in [Coordinates::Unit, Coordinates::Standard, Coordinates::Centered] {
        let settings = TMixture { coordinates, starts: 2, ..TMixture::default() };
        let (one, other) = (fitted(&settings, &dense), fitted(&settings, &sparse));
        assert_eq!(one.clustering.labels, other.clustering.labels, "{coordinates:?}");
        let probabilities = |fitted: &Fitted| fitted.clustering.probabilities.clone();
        let off = probabilities(&one).expect("one a cluster")
            - probabilities(&other).expect("one a cluster");
        assert!(off.iter().all(|x| x.abs() < 1e-8), "{coordinates:?}");
        let predicted = other.model.expect("a model").predict(&sparse).expect("clusters");
        assert_eq!(predicted.labels, other.clustering.labels);
    }
}
