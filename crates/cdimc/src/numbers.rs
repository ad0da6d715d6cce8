//! Means of numbers, sizes of clusters, and numbers as text.

use cdimc_data::unit_of;

/// Returns the mean of the values; `None` if there are none.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let add = |(sum, n): (f64, f64), x: f64| (sum + x, n + 1.0);
    let (sum, n) = values.into_iter().fold((0.0, 0.0), add);
    (n > 0.0).then(|| sum / n)
}

/// Returns the mean and the standard deviation of the values. They are taken in units of the largest value, so that no
/// square overflows.
pub(crate) fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let (unit, n) = (unit_of(values.iter().copied()), values.len() as f64);
    let mean = values.iter().map(|x| x / unit).sum::<f64>() / n;
    let variance = values.iter().map(|x| (x / unit - mean).powi(2)).sum::<f64>() / n;
    (unit * mean, unit * variance.sqrt())
}

/// Returns the number of samples of each of `n_clusters` clusters.
pub(crate) fn sizes(labels: &[usize], n_clusters: usize) -> Vec<usize> {
    let mut sizes = vec![0; n_clusters];
    labels.iter().for_each(|&label| sizes[label] += 1);
    sizes
}

/// Returns the number of clusters with these labels, empty ones before the last included.
pub(crate) fn n_clusters(labels: &[usize]) -> usize {
    labels.iter().max().map_or(0, |last| last + 1)
}

/// Formats a number of a table with enough digits to read it back, without a long row of zeros.
pub(crate) fn digits(x: f64) -> String {
    if x.is_nan() {
        String::new()
    } else if x != 0.0 && x.abs() < 1e-4 {
        format!("{x:e}")
    } else {
        x.to_string()
    }
}

/// Formats a number like [`digits`], but with at most six significant digits.
pub(crate) fn six_digits(x: f64) -> String {
    digits(rounded(x))
}

/// Returns the number that [`six_digits`] shows. Limits apply to it, so that files and report agree.
pub(crate) fn rounded(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}

/// Formats a number with four digits.
pub(crate) fn short(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    let places = 3 - x.abs().log10().floor() as i32;
    if !(-12..=8).contains(&(places - 3)) {
        return format!("{x:.3e}");
    }
    let text = format!("{x:.*}", places.max(0) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_by_six_or_four_significant_digits() {
        let shown = [0.0, 1.0 / 3.0, -1_234_567.8, 2.5, 1.0 / 3e9, f64::NAN].map(six_digits);
        assert_eq!(shown, ["0", "0.333333", "-1234570", "2.5", "3.33333e-10", ""]);
        let shown = [0.0, 58.0, 1.234_56, 1355.25, 0.000_123_456, -20.5, 1e300].map(short);
        assert_eq!(shown, ["0", "58", "1.235", "1355", "0.0001235", "-20.5", "1.000e300"]);
    }
}
