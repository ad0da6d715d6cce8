//! Files of models that an earlier version wrote.

use cdimc_core::Model;
use cdimc_data::MultiView;
use cdimc_mixture::MixtureModel;
use ndarray::Array2;

/// Returns the numbers in the rows of a CSV file.
fn numbers(text: &str) -> Vec<Vec<f64>> {
    let row = |line: &str| line.split(',').map(|x| x.parse().expect("a number")).collect();
    text.lines().skip(1).map(row).collect()
}

#[test]
fn a_model_of_an_earlier_version_is_read_and_predicts_as_before() {
    // Written by version 0.1.0 of the command at commit ff1ce06 with `-k 3 --seed 1`, with what it predicted for its
    // samples. View v is missing from every fourth sample, beginning with sample v.
    let bytes = include_bytes!("fixtures/wine.safetensors");
    let model = MixtureModel::from_bytes(bytes).expect("a model");
    let rows = numbers(include_str!("data/wine.csv"));
    let views = [(0, 5), (5, 4), (9, 4)].into_iter().enumerate().map(|(v, (start, width))| {
        Array2::from_shape_fn((rows.len(), width), |(i, j)| {
            if i % 4 == v { f64::NAN } else { rows[i][start + j] }
        })
    });
    let data = MultiView::from_nan_rows(views.collect()).expect("data");
    let found = model.predict(&data).expect("a prediction");
    let confidence = found.confidence.expect("confidence");
    for (i, expected) in
        numbers(include_str!("fixtures/wine-predicted.csv")).into_iter().enumerate()
    {
        assert_eq!(found.labels[i] as f64, expected[0], "sample {i}");
        // The file has six digits.
        assert!((confidence[i] - expected[1]).abs() <= 1e-6, "sample {i}: {}", confidence[i]);
    }
    let again = model.to_bytes().expect("a file");
    let read = MixtureModel::from_bytes(&again).expect("a model");
    assert!(read.to_bytes().expect("a file") == again);
}
