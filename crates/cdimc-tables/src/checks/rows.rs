//! Finds rows whose clusters say nothing: many rows are equal, or most cells of a row are filled in.

use super::MIN_ROWS;
use crate::Table;
use crate::error::listed;
use crate::option_names::line_of_names;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Number of rows that decide whether a column is measured.
const N_LOOKED_AT: usize = 400;
/// Smallest number of different values of a measured column, as a share of its rows.
const MIN_DIFFERENT: f64 = 0.25;
/// Fewer measured columns may be equal by chance.
const MIN_COLUMNS: usize = 3;
/// Smallest number and share of rows in a finding.
const MIN_EQUAL: usize = 5;
const MIN_EQUAL_SHARE: f64 = 0.03;
/// Largest share of other rows with the same value in a column: more is a common result, such as 0 in counts of words.
const MAX_OTHERS: f64 = 0.1;
/// Largest number of measured columns that are named.
const MAX_NAMED: usize = 3;

/// Returns a warning if many rows are equal in all columns of real numbers, with values that are rare in other rows: an
/// assay that was not done, written as 0, half of the detection limit or the mean.
pub(super) fn equal_rows(table: &Table) -> Option<String> {
    let values = &table.values;
    let rows: Vec<usize> = (0..values.nrows()).filter(|&i| !values.is_missing(i)).collect();
    let step = rows.len().div_ceil(N_LOOKED_AT).max(1);
    let looked_at: Vec<usize> = rows.iter().step_by(step).copied().collect();
    let is_measured = |_, mut values: Vec<f64>| {
        values.retain(|x| !x.is_nan());
        let n = values.len();
        let has_decimals = values.iter().any(|x| x.fract() != 0.0);
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        n >= MIN_ROWS && has_decimals && values.len() as f64 >= MIN_DIFFERENT * n as f64
    };
    let is_measured = values.map_columns(&looked_at, is_measured);
    let n_measured = is_measured.iter().filter(|&&is| is).count();
    if n_measured < MIN_COLUMNS {
        return None;
    }
    let (mut equal, mut buffer) = (HashMap::<u64, Vec<usize>>::new(), Vec::new());
    for &i in &rows {
        let row = values.row(i, &mut buffer).iter().zip(&is_measured);
        let mut measured = row.filter(|(_, is)| **is).map(|(x, _)| x + 0.0);
        let mut hasher = DefaultHasher::new();
        let is_whole = measured.all(|x| {
            x.to_bits().hash(&mut hasher);
            !x.is_nan()
        });
        if is_whole {
            equal.entry(hasher.finish()).or_default().push(i);
        }
    }
    let least = MIN_EQUAL.max((MIN_EQUAL_SHARE * rows.len() as f64).ceil() as usize);
    let found = equal.into_values().max_by_key(|rows| (rows.len(), std::cmp::Reverse(rows[0])))?;
    let n_others = (rows.len() - found.len()) as f64;
    let first = values.row(found[0], &mut buffer).to_vec();
    let is_rare = |j: usize, column: Vec<f64>| {
        let n_alike = column.iter().filter(|&&x| x == first[j]).count();
        !is_measured[j] || n_alike as f64 <= found.len() as f64 + MAX_OTHERS * n_others
    };
    let is_found = found.len() >= least && values.map_columns(&rows, is_rare).iter().all(|&is| is);
    is_found.then(|| {
        let names = table.ids.as_ref();
        let name = |&i: &usize| names.map_or_else(|| (i + 1).to_string(), |ids| ids[i].clone());
        format!(
            "{}: the clusters may repeat a gap: {} of {} rows are equal in all {n_measured} measured columns ({}); if 0, a \
             limit or a mean stands for what was not measured, empty these rows",
            table.path.display(),
            found.len(),
            rows.len(),
            listed(found.iter().map(name))
        )
    })
}

/// Returns a warning if some rows of a table have values in fewer than half of the columns; `id` is the sample of a row.
pub(crate) fn mostly_filled<'a>(table: &Table, id: impl Fn(usize) -> &'a String) -> Option<String> {
    let gaps = table.values.missing_cells();
    let mut n_missing = vec![0_usize; table.values.nrows()];
    gaps.values().flatten().for_each(|&row| n_missing[row] += 1);
    let width = table.features.len();
    let is_found = |row: usize| 2 * n_missing[row] > width;
    let rows: Vec<usize> = (0..n_missing.len()).filter(|&row| is_found(row)).collect();
    let (&first, n) = (rows.first()?, rows.len());
    let is_measured = |j: &usize| {
        let missing = gaps.get(j).map_or(0, |gaps| gaps.iter().filter(|&&i| is_found(i)).count());
        missing < n
    };
    let measured: Vec<&String> =
        (0..width).filter(is_measured).map(|j| &table.features[j]).collect();
    let drop = if measured.len() <= MAX_NAMED && measured.len() < width {
        let (names, line) = (listed(&measured), line_of_names(&measured));
        format!(", or leave out what they have, {names}, with --drop '{line}'")
    } else {
        String::new()
    };
    Some(format!(
        "{}: do not trust the clusters of {n} samples (first: `{}`): more than half of their cells are missing, and means fill \
         them; empty these rows{drop}",
        table.path.display(),
        id(first)
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::table;
    use super::*;
    use ndarray::Array2;

    /// Values by row and column.
    type Cells<'a> = &'a dyn Fn(usize, usize) -> f64;

    /// Returns the warning about 30 rows with three columns and an age.
    fn line(of_cell: Cells<'_>) -> Option<String> {
        let cell = |(i, j)| if j == 3 { (i % 7) as f64 } else { of_cell(i, j) };
        equal_rows(&Table::with_ids("p", None, Array2::from_shape_fn((30, 4), cell)))
    }

    #[test]
    fn rows_written_as_zero_are_reported_and_rare_twins_are_not() {
        let value = |i: usize, j: usize| ((i * 7 + j * 3) % 31) as f64 / 7.0;
        let expected = "p.csv: the clusters may repeat a gap: 5 of 30 rows are equal in all 3 measured columns (`2`, `8`, `14`, \
                        `20`, `26`); if 0, a limit or a mean stands for what was not measured, empty these rows";
        let found = line(&|i, j| if i % 6 == 1 { 0.0 } else { value(i, j) });
        assert_eq!(found.as_deref(), Some(expected));
        let often_zero = |i: usize, j: usize| if i % 3 == j { 0.0 } else { value(i, j) };
        let cases: [(&str, bool, Cells<'_>); 7] = [
            ("a limit", true, &|i, j| if i < 9 { 0.35 } else { value(i, j) }),
            ("few", false, &|i, j| if i < 4 { 0.0 } else { value(i, j) }),
            ("one differs", false, &|i, j| if i < 9 && j > 0 { 0.0 } else { value(i, j) }),
            ("each five times", false, &|i, j| value(i % 5, j)),
            ("a common value", false, &|i, j| if i < 9 { 0.0 } else { often_zero(i, j) }),
            ("counts", false, &|i, j| if i < 9 { 0.0 } else { (i * j) as f64 }),
            ("missing", false, &|i, j| if i < 9 { f64::NAN } else { value(i, j) }),
        ];
        for (case, is_found, of_cell) in cases {
            assert_eq!(line(of_cell).is_some(), is_found, "{case}");
        }
    }

    #[test]
    fn rows_with_one_value_left_are_reported_with_its_column() {
        let line = |n_rows: usize, last: f64| {
            let cell = move |i: usize| if i < n_rows { f64::NAN } else { i as f64 };
            let sum = move |i: usize| if i < n_rows { 0.0 } else { i as f64 };
            let half = move |i: usize| if i < n_rows { last } else { i as f64 };
            let columns: [(&str, &dyn Fn(usize) -> f64); 4] =
                [("a", &cell), ("b", &cell), ("sum", &sum), ("c", &half)];
            let table = table("p", None, &columns);
            let ids: Vec<String> = (0..30).map(|i| format!("P{i}")).collect();
            mostly_filled(&table, |row| &ids[row])
        };
        let expected = "p.csv: do not trust the clusters of 9 samples (first: `P0`): more than half of their cells are missing, and \
                        means fill them; empty these rows, or leave out what they have, `sum`, with --drop 'sum'";
        assert_eq!(line(9, f64::NAN).unwrap(), expected);
        assert_eq!(line(9, 1.0), None, "half");
        assert_eq!(line(0, 1.0), None);
    }
}
