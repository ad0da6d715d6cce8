//! Finds codes for "not measured": -999, 99.

use super::MIN_ROWS;
use crate::Table;
use std::collections::BTreeMap;

/// Largest number of adjacent codes, such as 97 (unknown), 98 (refused) and 99 (not applicable).
const MAX_CODES: usize = 3;
/// Smallest share of the columns with the value that must have it far from all others.
const MIN_FAR_SHARE: f64 = 0.8;
/// Smallest ratio of a code's distance to the distance of the last two values: squares of small counts are 0, 1, 4, 9.
const MIN_GAP_RATIO: f64 = 2.0;

/// Returns one line per value of table `t` that looks like a code for "not measured".
///
/// In a column, a code is a whole number other than 0. Its distance to the other values is at least their range, more
/// than twice the distance of their last two, and more than the distance between codes. The same value must be far in
/// at least two columns and three cells, in most columns that have any far value, and in four of five columns that
/// contain it. This excludes the ends of scales and rare large counts.
pub(super) fn warnings(tables: &[Table], t: usize) -> Vec<String> {
    let table = &tables[t];
    let rows: Vec<usize> =
        (0..table.values.nrows()).filter(|&i| !table.values.is_missing(i)).collect();
    if rows.len() < MIN_ROWS {
        return Vec::new();
    }
    let mut lines = Vec::new();
    for (sign, side) in [(-1.0, "below"), (1.0, "above")] {
        let far = table.values.map_columns(&rows, |_, values| far_values(&values, sign));
        let n_far = far.iter().filter(|of_column| !of_column.is_empty()).count();
        let mut found: BTreeMap<i64, (usize, usize)> = BTreeMap::new();
        for &(value, cells) in far.iter().flatten() {
            let (n_columns, n_cells) = found.entry(value).or_default();
            (*n_columns, *n_cells) = (*n_columns + 1, *n_cells + cells);
        }
        found.retain(|_, (n_columns, n_cells)| {
            *n_columns > 1 && *n_cells > 2 && 2 * *n_columns > n_far
        });
        for (value, (n_columns, n_cells)) in found {
            let x = value as f64;
            let has = table.values.map_columns(&rows, |_, column| column.contains(&x));
            let n_with_value = has.into_iter().filter(|&has| has).count();
            if n_columns as f64 >= MIN_FAR_SHARE * n_with_value as f64 {
                let (path, option) = (table.path.display(), option(tables, t, value));
                lines.push(format!(
                    "{path}: {value} is clustered on as a measurement: it occurs {n_cells} times in {n_columns} of {} \
                     columns, far {side} all other values; if it means \"not measured\", add --missing-value {option}",
                    table.features.len()
                ));
            }
        }
    }
    lines
}

/// Returns the value of `--missing-value` that hides a code in table `t` only, if another table measures it.
fn option(tables: &[Table], t: usize, code: i64) -> String {
    let measures = |other: &Table| other.values.find(|_, x| x == code as f64).is_some();
    let others = tables.iter().enumerate().filter(|&(o, other)| o != t && measures(other));
    let others: Vec<&Table> = others.map(|(_, other)| other).collect();
    let table = &tables[t];
    if others.is_empty() {
        code.to_string()
    } else if others.iter().any(|other| other.path == table.path) {
        format!("'{}={code}'", table.name)
    } else {
        format!("'{}={code}'", table.path.display())
    }
}

/// Returns the usual code for "not measured", such as 99 or -9, that occurs in several cells far from all other values,
/// and the number of cells.
pub fn usual_code(values: &[f64]) -> Option<(i64, usize)> {
    let is_usual = |&(value, n): &(i64, usize)| {
        n > 2 && value.unsigned_abs().to_string().bytes().all(|digit| digit == b'9')
    };
    let mut far = far_values(values, -1.0).into_iter().chain(far_values(values, 1.0));
    far.find(is_usual).filter(|_| values.len() >= MIN_ROWS)
}

/// Returns the whole numbers of a column far above its other values, or with `sign` -1 far below them, with their counts.
fn far_values(values: &[f64], sign: f64) -> Vec<(i64, usize)> {
    let (mut ends, mut least) = (Vec::<(f64, usize)>::new(), f64::INFINITY);
    for x in values.iter().filter(|x| !x.is_nan()).map(|x| sign * x) {
        least = least.min(x);
        match ends.iter().position(|&(end, _)| end <= x) {
            Some(place) if ends[place].0 == x => ends[place].1 += 1,
            place => ends.insert(place.unwrap_or(ends.len()), (x, 1)),
        }
        ends.truncate(MAX_CODES + 2);
    }
    let n_codes = (1..ends.len().min(MAX_CODES + 1)).find(|&n| {
        let (gap, range) = (ends[n - 1].0 - ends[n].0, ends[n].0 - least);
        let step = ends.get(n + 1).map_or(range, |next| ends[n].0 - next.0);
        let between_codes = ends[0].0 - ends[n - 1].0;
        range > 0.0 && gap >= range && gap > MIN_GAP_RATIO * step && gap > between_codes
    });
    ends.truncate(n_codes.unwrap_or(0));
    let is_code = |x: f64| x != 0.0 && x.fract() == 0.0 && x.abs() < 1e15;
    if !ends.iter().all(|&(x, _)| is_code(x)) {
        return Vec::new();
    }
    ends.into_iter().map(|(x, n)| ((sign * x) as i64, n)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::table;
    use super::*;
    use ndarray::Array2;

    /// Returns the warnings for four columns of 30 rows.
    fn lines(of_cell: &dyn Fn(usize, usize) -> f64) -> Vec<String> {
        let values = Array2::from_shape_fn((30, 4), |(i, j)| of_cell(i, j));
        warnings(&[Table::with_ids("q", None, values)], 0)
    }

    #[test]
    fn codes_for_not_measured_are_reported_with_their_count() {
        let normal = |i: usize, j: usize| ((i * 7 + j * 3) % 31) as f64 / 7.0 - 2.0;
        let found = lines(&|i, j| if (i + j) % 13 == 5 { -999.0 } else { normal(i, j) });
        let expected = "q.csv: -999 is clustered on as a measurement: it occurs 10 times in 4 of 4 columns, far below all other \
                        values; if it means \"not measured\", add --missing-value -999";
        assert_eq!(found, [expected]);
        for (code, of_scale) in [(99.0, 5), (9.0, 5), (9.0, 2), (-9.0, 4)] {
            let scale = |i: usize, j: usize| (1 + (i + j * 2) % of_scale) as f64;
            let found = lines(&|i, j| if (i + j) % 13 == 5 { code } else { scale(i, j) });
            assert_eq!(found.len(), 1, "{code}");
            assert!(found[0].contains(&format!(": {code} is clustered on")), "{found:?}");
        }
        let several = |i: usize, j: usize| match (i + j) % 13 {
            k @ (5 | 6) => 93.0 + k as f64,
            k => (k % 5) as f64,
        };
        assert_eq!(lines(&several).len(), 2);
        let squares = |i: usize, j: usize| (((i + j) % 13).min(3) as f64).powi(2);
        assert_eq!(lines(&squares), Vec::<String>::new());
    }

    #[test]
    fn a_code_that_another_table_measures_is_limited_to_its_file() {
        let column = |code: f64| move |i: usize| if i % 9 == 4 { code } else { (i % 5) as f64 };
        let measured = |i: usize| (90 + i * 7 % 30) as f64;
        let tables = [
            table("q", None, &[("a", &column(99.0)), ("b", &column(99.0))]),
            table("m", None, &[("c", &measured), ("d", &measured)]),
        ];
        assert!(warnings(&tables, 0)[0].ends_with("add --missing-value 'q.csv=99'"));
        assert!(warnings(&tables, 1).is_empty());
        // Another table of the same file.
        let tables = tables.map(|table| Table { path: "o.xlsx".into(), ..table });
        assert!(warnings(&tables, 0)[0].ends_with("add --missing-value 'q=99'"));
    }

    #[test]
    fn a_usual_code_counts_in_one_column() {
        let ages = |code: f64, n: usize| -> Vec<f64> {
            (0..40).map(|i| if i < n { code } else { (30 + i) as f64 }).collect()
        };
        assert_eq!(usual_code(&ages(999.0, 5)), Some((999, 5)));
        assert_eq!(usual_code(&ages(-99.0, 3)), Some((-99, 3)));
        for other in [ages(999.0, 2), ages(99.0, 5), ages(500.0, 5), ages(999.5, 5)] {
            assert_eq!(usual_code(&other), None, "{other:?}");
        }
    }

    #[test]
    fn ends_of_scales_rare_marks_and_large_counts_are_no_codes() {
        let none = |of_cell: &dyn Fn(usize, usize) -> f64| assert_eq!(lines(of_cell), [""; 0]);
        none(&|i, j| (1 + (i * 7 + j) % 9) as f64);
        // The end of the scale is rare, and one column lacks the values before it.
        none(&|i, j| if i == 3 { 9.0 } else { (1 + (i + j) % if j == 0 { 4 } else { 8 }) as f64 });
        none(&|i, j| if (i + j) % 13 == 5 { 2.0 } else { ((i + j) % 2) as f64 });
        none(&|i, j| if i == j { 50.0 + j as f64 } else { ((i + j) % 4) as f64 });
        none(&|i, j| if i % 9 == 4 { 0.0 } else { 20.0 + ((i * 7 + j) % 31) as f64 / 9.0 });
        none(&|i, j| if i % 9 == 4 { 99.5 } else { ((i * 7 + j) % 31) as f64 / 9.0 });
    }
}
