//! Finds columns that two views share: the views agree by construction.

use super::MIN_ROWS;
use crate::error::listed;
use crate::option_names::line_of_names;
use cdimc_data::MultiView;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Number of common samples on which columns are compared first.
const N_COMPARED: usize = 100;
/// Smallest number of samples with a rarer value, for a column of this name in both views, and of different values, for
/// columns of other names: then one common column is evidence.
const MIN_RARE: usize = 5;
const MIN_DIFFERENT: usize = 11;
/// Smallest share of rarer values: a column of mostly one value decides no cluster.
const MIN_RARE_SHARE: f64 = 0.2;
/// Smallest number of common samples that show that columns of two values are equal.
const MIN_SAMPLES_OF_TWO: usize = 20;

/// Returns a line for each pair of views with common columns.
pub(crate) fn warnings(
    data: &MultiView,
    names: &[String],
    features: &[Vec<String>],
) -> Vec<String> {
    let pairs = (0..names.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
    let line = |(a, b): (usize, usize)| {
        let common = common_columns(data, (a, b), [&features[a], &features[b]]);
        let of = features[b].len();
        let is_most = 2 * common.len() >= of.min(features[a].len());
        let common = common.iter().filter(|(_, is_certain)| is_most || *is_certain);
        let common: Vec<&String> = common.map(|&(column, _)| &features[b][column]).collect();
        let are_named = !is_most && common.iter().all(|name| features[a].contains(name));
        let drop = line_of_names(&common);
        let drop =
            if are_named { format!(", or of both with --drop '{drop}'") } else { String::new() };
        (!common.is_empty()).then(|| format!(
            "the views `{}` and `{}` agree by construction: {} of {of} columns of `{}` are also in the other: {}; leave \
             them out of one view{drop}",
            names[a], names[b], common.len(), names[b], listed(&common)
        ))
    };
    pairs.filter_map(line).collect()
}

/// Returns the columns of view `b` that are also in view `a`: equal in all samples that have both views. Also returns
/// whether a column is certainly no other one. Columns of two values count only under the same name.
fn common_columns(
    data: &MultiView,
    (a, b): (usize, usize),
    names: [&[String]; 2],
) -> Vec<(usize, bool)> {
    let mask = data.mask();
    let samples: Vec<usize> = (0..data.n_samples())
        .filter(|&i| mask.is_observed(i, a) && mask.is_observed(i, b))
        .collect();
    if samples.len() < MIN_ROWS {
        return Vec::new();
    }
    let first = &samples[..samples.len().min(N_COMPARED)];
    let mut of_hash: HashMap<u64, Vec<usize>> = HashMap::new();
    for (hash, column) in hashes(data, a, names[0], first) {
        of_hash.entry(hash).or_default().push(column);
    }
    let values = |view: usize, column: usize| data.matrix(view).column(column, &samples);
    let common = |(hash, column): (u64, usize)| {
        let mut of_column = values(b, column);
        let alike = of_hash.get(&hash)?.iter().filter(|&&other| values(a, other) == of_column);
        let alike: Vec<usize> = alike.copied().collect();
        let is_named = alike.iter().any(|&other| names[0][other] == names[1][column]);
        alike.first()?;
        of_column.sort_unstable_by(f64::total_cmp);
        let counts: Vec<usize> = of_column.chunk_by(|x, y| x == y).map(<[f64]>::len).collect();
        let n_rare = samples.len() - counts.iter().max()?;
        let are_many = n_rare >= MIN_RARE && n_rare as f64 >= MIN_RARE_SHARE * samples.len() as f64;
        let is_certain = are_many && (is_named || counts.len() >= MIN_DIFFERENT);
        let is_open = counts.len() == 2 && (samples.len() < MIN_SAMPLES_OF_TWO || !is_certain);
        (!is_open).then_some((column, is_certain))
    };
    hashes(data, b, names[1], first).into_iter().filter_map(common).collect()
}

/// Returns a hash of the values in these samples, and the column, for each column that is not constant. The name of a
/// column of two values is part of the hash.
fn hashes(data: &MultiView, view: usize, names: &[String], samples: &[usize]) -> Vec<(u64, usize)> {
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
    let of_column = of_column.into_iter().enumerate();
    let varied = of_column.filter(|(_, (_, distinct))| distinct.len() > 1);
    let hash = |(column, (mut hasher, distinct)): (usize, (DefaultHasher, HashSet<u64>))| {
        if distinct.len() == 2 {
            names[column].hash(&mut hasher);
        }
        (hasher.finish(), column)
    };
    varied.map(hash).collect()
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
                "the views `a` and `b` agree by construction: 1 of 2 columns of `b` are also in the other: `z`; leave them out of \
                 one view"
            ]
        );
        // One other value is enough.
        assert!(lines(|i, _| if i == 29 { 0.5 } else { (i * 2 % 17) as f64 }).is_empty());
        assert!(lines(|i, j| (i * (7 - j) % 2) as f64).is_empty());
        // One common column of three with other names has too few values.
        let view = |k: usize| Array2::from_shape_fn((30, 3), |(i, j)| (i * (j + k) % 7) as f64);
        let data = MultiView::from_nan_rows(vec![view(2), view(4)]).unwrap();
        let features =
            [["x", "y", "z"], ["u", "v", "w"]].map(|names| names.map(String::from).to_vec());
        assert!(warnings(&data, &names, &features).is_empty());
    }

    #[test]
    fn age_and_sex_in_two_views_are_named() {
        let names = ["a".to_owned(), "b".to_owned()];
        let line = |of_name: [&str; 2], n_rare: usize| {
            let view = |v: usize| {
                Array2::from_shape_fn((30, 5), |(i, j)| match j {
                    0 => (20 + i * 7 % 13) as f64,
                    1 => f64::from(u8::from(i < n_rare)),
                    _ => (i * (j + 3 * v) % 17) as f64 + 0.1 * v as f64,
                })
            };
            let data = MultiView::from_nan_rows(vec![view(0), view(1)]).unwrap();
            let features = |v: usize| ["age", of_name[v], "x", "y", "z"].map(String::from).to_vec();
            warnings(&data, &names, &[features(0), features(1)])
        };
        assert_eq!(
            line(["sex", "sex"], 14),
            [
                "the views `a` and `b` agree by construction: 2 of 5 columns of `b` are also in the other: `age`, `sex`; leave \
                 them out of one view, or of both with --drop 'age,sex'"
            ]
        );
        assert!(line(["sex", "mutated"], 14)[0].contains("the other: `age`; leave"), "two values");
        assert!(line(["TP53", "TP53"], 5)[0].contains("the other: `age`; leave"), "rare");
    }
}
