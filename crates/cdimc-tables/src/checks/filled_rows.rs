//! Finds rows in which most cells are filled in: their cluster follows from means.

use crate::Table;
use crate::error::listed;
use crate::option_names::line_of_names;

/// Largest number of measured columns that are named.
const MAX_NAMED: usize = 3;

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
        assert_eq!(
            line(9, f64::NAN).unwrap(),
            "p.csv: do not trust the clusters of 9 samples (first: `P0`): more than half of their cells are missing, and means \
             fill them; empty these rows, or leave out what they have, `sum`, with --drop 'sum'"
        );
        assert_eq!(line(9, 1.0), None, "half");
        assert_eq!(line(0, 1.0), None);
    }
}
