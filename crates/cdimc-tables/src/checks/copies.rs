//! Finds views that are in another one: they agree by construction.

use super::MIN_ROWS;
use cdimc_data::MultiView;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Number of common samples on which columns are compared first.
const N_COMPARED: usize = 100;

/// Returns a line for each pair of views whose common columns are half or more of the smaller view. Fewer cannot make the
/// views agree.
pub(crate) fn warnings(
    data: &MultiView,
    names: &[String],
    features: &[Vec<String>],
) -> Vec<String> {
    let pairs = (0..names.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
    let line = |(a, b): (usize, usize)| {
        let common = common_columns(data, (a, b));
        let (first, n) = (&features[b][*common.first()?], common.len());
        let of = features[b].len();
        (2 * n >= of.min(features[a].len())).then(|| format!(
            "the views `{}` and `{}` agree by construction: {n} of {of} columns of `{}` are also in the other (first: `{first}`); leave \
             them out of one view",
            names[a], names[b], names[b]
        ))
    };
    pairs.filter_map(line).collect()
}

/// Returns the columns of view `b` that are also in view `a`: equal in all samples that have both views. Columns of one or
/// two values are left out, because they may be equal by chance.
fn common_columns(data: &MultiView, (a, b): (usize, usize)) -> Vec<usize> {
    let mask = data.mask();
    let samples: Vec<usize> = (0..data.n_samples())
        .filter(|&i| mask.is_observed(i, a) && mask.is_observed(i, b))
        .collect();
    if samples.len() < MIN_ROWS {
        return Vec::new();
    }
    let first = &samples[..samples.len().min(N_COMPARED)];
    let mut of_hash: HashMap<u64, Vec<usize>> = HashMap::new();
    for (hash, column) in hashes(data, a, first) {
        of_hash.entry(hash).or_default().push(column);
    }
    let values = |view: usize, column: usize| data.matrix(view).column(column, &samples);
    let is_common = |&(hash, column): &(u64, usize)| {
        let alike = of_hash.get(&hash);
        alike.is_some_and(|alike| alike.iter().any(|&other| values(a, other) == values(b, column)))
    };
    hashes(data, b, first).into_iter().filter(is_common).map(|(_, column)| column).collect()
}

/// Returns a hash of the values in these samples, and the column, for each column with more than two values.
fn hashes(data: &MultiView, view: usize, samples: &[usize]) -> Vec<(u64, usize)> {
    let mut of_column = vec![(DefaultHasher::new(), HashSet::new()); data.width(view)];
    let mut buffer = Vec::new();
    for &i in samples {
        for ((hasher, distinct), x) in
            of_column.iter_mut().zip(data.matrix(view).row(i, &mut buffer))
        {
            // 0 and -0 are equal.
            let bits = (x + 0.0).to_bits();
            bits.hash(hasher);
            if distinct.len() < 3 {
                distinct.insert(bits);
            }
        }
    }
    let varied = of_column.into_iter().enumerate().filter(|(_, (_, distinct))| distinct.len() > 2);
    varied.map(|(column, (hasher, _))| (hasher.finish(), column)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    #[test]
    fn columns_in_two_views_are_reported_and_equal_answers_are_not() {
        let names = ["a".to_owned(), "b".to_owned()];
        let features = [vec!["x".into(), "y".into()], vec!["u".into(), "z".into()]];
        let lines = |b: fn(usize, usize) -> f64| {
            let a = |(i, j): (usize, usize)| (i * (j + 2) % 17) as f64;
            let [a, b] = [
                Array2::from_shape_fn((30, 2), a),
                Array2::from_shape_fn((30, 2), |at| b(at.0, at.1)),
            ];
            let mut views = vec![a, b];
            // A sample with one view only is not compared.
            views[0].row_mut(3).fill(f64::NAN);
            warnings(&MultiView::from_nan_rows(views).unwrap(), &names, &features)
        };
        let found = lines(|i, j| if j == 1 { (i * 2 % 17) as f64 } else { (i * 5 % 13) as f64 });
        assert_eq!(
            found,
            [
                "the views `a` and `b` agree by construction: 1 of 2 columns of `b` are also in the other (first: `z`); leave them \
                 out of one view"
            ]
        );
        // One other value is enough.
        assert!(lines(|i, _| if i == 29 { 0.5 } else { (i * 2 % 17) as f64 }).is_empty());
        assert!(lines(|i, j| (i * (7 - j) % 2) as f64).is_empty());
        // One common column of three is too few.
        let view = |k: usize| Array2::from_shape_fn((30, 3), |(i, j)| (i * (j + k) % 17) as f64);
        let data = MultiView::from_nan_rows(vec![view(2), view(4)]).unwrap();
        let features =
            [["x", "y", "z"], ["u", "v", "w"]].map(|names| names.map(String::from).to_vec());
        assert!(warnings(&data, &names, &features).is_empty());
    }
}
