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
    // Equal columns have equal keys: a hash of the values, and the name of a column of two values. A constant column has
    // no key.
    let keys = |view: usize, names: &[String]| {
        data.matrix(view).map_columns(first, |column, values| {
            // 0 and -0 are equal.
            let bits: Vec<u64> = values.iter().map(|x| (x + 0.0).to_bits()).collect();
            let n_different = bits.iter().collect::<HashSet<_>>().len();
            let name = (n_different == 2).then(|| names[column].clone());
            let mut hasher = DefaultHasher::new();
            bits.hash(&mut hasher);
            (n_different > 1).then_some((hasher.finish(), name))
        })
    };
    let mut of_key: HashMap<_, Vec<usize>> = HashMap::new();
    for (column, key) in keys(a, names[0]).into_iter().enumerate() {
        key.into_iter().for_each(|key| of_key.entry(key).or_default().push(column));
    }
    let values = |view: usize, column: usize| data.matrix(view).column(column, &samples);
    let common = |(column, key): (usize, Option<_>)| {
        let mut alike = of_key.get(&key?)?.clone();
        let mut of_column = values(b, column);
        alike.retain(|&other| values(a, other) == of_column);
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
    keys(b, names[1]).into_iter().enumerate().filter_map(common).collect()
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
            let a: fn(usize, usize) -> f64 = |i, j| (i * (j + 2) % 17) as f64;
            let view =
                |of: fn(usize, usize) -> f64| Array2::from_shape_fn((30, 2), |(i, j)| of(i, j));
            let mut views = vec![view(a), view(b)];
            // A sample with one view only is not compared.
            views[0].row_mut(3).fill(f64::NAN);
            warnings(&MultiView::from_nan_rows(views).unwrap(), &names, &features)
        };
        let found = lines(|i, j| if j == 1 { (i * 2 % 17) as f64 } else { (i * 5 % 13) as f64 });
        let expected = "the views `a` and `b` agree by construction: 1 of 2 columns of `b` are also in the other: `z`; leave them \
                        out of one view";
        assert_eq!(found, [expected]);
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
        let expected = "the views `a` and `b` agree by construction: 2 of 5 columns of `b` are also in the other: `age`, `sex`; \
                        leave them out of one view, or of both with --drop 'age,sex'";
        assert_eq!(line(["sex", "sex"], 14), [expected]);
        assert!(line(["sex", "mutated"], 14)[0].contains("the other: `age`; leave"), "two values");
        assert!(line(["TP53", "TP53"], 5)[0].contains("the other: `age`; leave"), "rare");
    }
}
