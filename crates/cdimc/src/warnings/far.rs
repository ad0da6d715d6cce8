//! Finds samples that are far from all others in a view.

use super::{Sign, Warning};
use crate::tables::Joined;

/// Minimum number of samples of a view for the test.
const FEWEST: usize = 20;

/// Returns a warning for each view with samples that are far from all others: in at least half of its columns, and in
/// more than one, they are outside the range of the other samples by more than that range. Columns in which all others
/// are equal do not count.
pub(crate) fn far_samples(samples: &Joined) -> Vec<Warning> {
    let data = &samples.data;
    let of_view = |v: usize| {
        let rows = data.mask().observed_rows(v);
        let far = data.matrix(v).map_columns(&rows, |_, values| far_values(&values));
        let mut n_beyond = vec![0_usize; data.n_samples()];
        far.into_iter().flatten().for_each(|place| n_beyond[rows[place]] += 1);
        // A single large value does not count: with few heavy-tailed columns, many samples have one.
        let is_far = |i: &usize| n_beyond[*i] > 1 && 2 * n_beyond[*i] >= data.width(v);
        let far: Vec<usize> = (0..n_beyond.len()).filter(is_far).collect();
        let (first, name) = (&samples.ids[*far.first()?], &samples.names[v]);
        let text = match far.len() {
            1 => format!(
                "check sample {first} before you use its cluster: it is far from all others in view `{name}`"
            ),
            n => format!(
                "check {n} samples before you use their clusters: they are far from all others in view `{name}` \
                 (first: {first})"
            ),
        };
        Some(Warning { sign: Sign::FarSample, text })
    };
    (0..data.n_views()).filter_map(of_view).collect()
}

/// Returns the places of values outside the range of the others by more than that range. A rare mark in a column of zeros
/// does not count.
fn far_values(values: &[f64]) -> Vec<usize> {
    if values.len() < FEWEST {
        return Vec::new();
    }
    // The largest value and the next, with their places; of the negative values, the smallest ones.
    let ends = |sign: f64| {
        let start = [(f64::NEG_INFINITY, 0); 2];
        values.iter().enumerate().fold(start, |[first, second], (place, x)| {
            let value = (sign * x, place);
            if value.0 > first.0 {
                [value, first]
            } else if value.0 > second.0 {
                [first, value]
            } else {
                [first, second]
            }
        })
    };
    let is_far = |end: f64, next: f64, other_end: f64| {
        let range = next + other_end;
        range > 0.0 && end - next > range
    };
    let ([least, less], [largest, large]) = (ends(-1.0), ends(1.0));
    let below = is_far(least.0, less.0, largest.0).then_some(least.1);
    let above = is_far(largest.0, large.0, least.0).then_some(largest.1);
    below.into_iter().chain(above).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::Table;
    use cdimc_data::Seed;
    use ndarray::Array2;
    use rand::Rng;

    /// Returns the warnings for samples with these views.
    fn warnings_of(views: Vec<Array2<f64>>) -> Vec<String> {
        let views = views.into_iter().enumerate();
        let tables = views.map(|(v, x)| Table::from_memory(&format!("view{v}"), None, None, x));
        let samples = crate::training_set(tables.map(Result::unwrap).collect(), false).unwrap();
        far_samples(&samples).into_iter().map(|warning| warning.text).collect()
    }

    #[test]
    fn a_sample_far_from_all_others_is_named_and_a_large_value_is_not() {
        let found = |width, changed: &[usize]| {
            let of_cell = |(i, j)| ((i * 7 + 3 * j) % 11) as f64;
            let mut changed_view = Array2::from_shape_fn((60, width), of_cell);
            changed.iter().for_each(|&j| changed_view[[17, j]] = 300.0);
            warnings_of(vec![Array2::from_shape_fn((60, 4), of_cell), changed_view])
        };
        assert_eq!(
            found(4, &[0, 2]),
            [
                "check sample 18 before you use its cluster: it is far from all others in view `view1`"
            ]
        );
        assert_eq!(found(2, &[0, 1]).len(), 1);
        for width in [1, 2, 4] {
            assert!(found(width, &[0]).is_empty(), "{width} columns");
        }
    }

    #[test]
    fn wide_tables_of_counts_and_of_rare_marks_have_no_sample_far_from_all_others() {
        let mut rng = Seed::new(1).rng();
        let mut normal = || (0..12).map(|_| rng.r#gen::<f64>()).sum::<f64>() - 6.0;
        let depths: Vec<f64> = (0..80).map(|_| normal().exp()).collect();
        let of_columns: Vec<f64> = (0..300).map(|_| (1.5 * normal()).exp()).collect();
        let mut counts = Array2::from_shape_fn((80, 300), |(i, j)| {
            (depths[i] * of_columns[j] * normal().exp()).floor()
        });
        let marks = counts.mapv(|count| f64::from(u8::from(count > 9.0)));
        assert!(warnings_of(vec![counts.clone(), marks.clone()]).is_empty());
        // In another unit, a sample is far.
        counts.row_mut(3).mapv_inplace(|count| 1000.0 * count + 1000.0);
        assert_eq!(
            warnings_of(vec![counts, marks]),
            [
                "check sample 4 before you use its cluster: it is far from all others in view `view0`"
            ]
        );
    }

    #[test]
    fn a_mark_that_one_sample_alone_has_makes_it_not_far() {
        let mut values = vec![0.0; 59];
        values.push(1.0);
        assert!(far_values(&values).is_empty());
        // Among zeros and ones, the range is 1 and 9 is far outside.
        values[..30].fill(1.0);
        values[59] = 9.0;
        assert_eq!(far_values(&values), [59]);
    }
}
