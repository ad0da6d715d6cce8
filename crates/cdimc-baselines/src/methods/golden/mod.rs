//! Comparisons of the methods with independent programs, from the same initial values.

mod factorizations;
mod kernel_and_paired;

use cdimc_data::{MultiView, ViewMask};
use ndarray::Array2;
use serde::de::DeserializeOwned;
use serde_json::Value;

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn read<T: DeserializeOwned>(value: &Value) -> T {
    T::deserialize(value).unwrap()
}

fn array(value: &Value) -> Array2<f64> {
    let shape: [usize; 2] = read(&value["shape"]);
    Array2::from_shape_vec(shape, read(&value["values"])).unwrap()
}

fn arrays(value: &Value) -> Vec<Array2<f64>> {
    list(value).iter().map(array).collect()
}

fn multi_view(fixture: &Value) -> MultiView {
    let mask = ViewMask::new(array(&fixture["mask"]).mapv(|x| x == 1.0)).unwrap();
    MultiView::new(arrays(&fixture["views"]), mask).unwrap()
}

/// Asserts that every difference is small relative to the largest entry; NaN is never close.
fn assert_close<'a>(
    what: &str,
    found: impl IntoIterator<Item = &'a f64>,
    expected: impl IntoIterator<Item = &'a f64>,
) {
    let (found, expected): (Vec<f64>, Vec<f64>) =
        (found.into_iter().copied().collect(), expected.into_iter().copied().collect());
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
    for (found, expected) in found.iter().zip(&expected) {
        let close = (found - expected).abs() <= 1e-8 * largest;
        assert!(close, "{what}: {found} instead of {expected}, of {largest:e}");
    }
}

/// Asserts that the arrays have the same shapes and nearly the same entries.
fn assert_all_close<'a>(
    what: &str,
    found: impl IntoIterator<Item = &'a Array2<f64>>,
    expected: &[Array2<f64>],
) {
    let found: Vec<&Array2<f64>> = found.into_iter().collect();
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (found, expected)) in found.into_iter().zip(expected).enumerate() {
        assert_eq!(found.dim(), expected.dim(), "{what} {i}");
        assert_close(&format!("{what} {i}"), found, expected);
    }
}

#[test]
#[should_panic(expected = "weights: NaN instead of 1")]
fn nan_is_not_close() {
    assert_close("weights", &[2.0, f64::NAN], &[2.0, 1.0]);
}
