//! Compressed rows and columns of files.

use crate::error::ensure;
use crate::files::Budget;
use cdimc_data::Sparse;
use std::ops::Range;

/// A matrix in compressed rows or, if `by_column`, columns: the first entry of each line and the end of the last, the
/// place of each entry in its line, and its value.
#[derive(Debug)]
pub(crate) struct Compressed {
    pub(crate) shape: [usize; 2],
    pub(crate) by_column: bool,
    pub(crate) starts: Vec<usize>,
    pub(crate) places: Vec<usize>,
    pub(crate) entries: Vec<f64>,
}

impl Compressed {
    /// Returns the matrix without explicit zeros. Entries may have any order; entries of the same place are summed, as
    /// in `SciPy`.
    pub(crate) fn read(self, name: &str, budget: &Budget) -> Result<Sparse, String> {
        let Self { shape: [n_rows, n_columns], by_column, starts, mut places, mut entries } = self;
        let flaw = |rule: String| format!("damaged: `{name}`, a sparse matrix: {rule}");
        let (line, n_lines) = if by_column { ("column", n_columns) } else { ("row", n_rows) };
        let n = starts.len();
        let rule = || format!("{n} pointers for {n_lines} {line}s: there must be one more");
        ensure!(n.checked_sub(1) == Some(n_lines), else flaw(rule()));
        // MATLAB and SciPy may allocate more than they fill.
        let end = starts[n_lines];
        if end <= places.len().min(entries.len()) {
            places.truncate(end);
            entries.truncate(end);
        }
        budget.values(&[n_rows])?;
        budget.values(&[n_columns])?;
        budget.values(&[2, entries.len()])?;
        let places: Vec<u32> =
            places.into_iter().map(|place| u32::try_from(place).unwrap_or(u32::MAX)).collect();
        let (starts, places, entries) = in_order(starts, places, entries);
        let matrix = if by_column {
            Sparse::from_columns(n_rows, &starts, &places, &entries)
        } else {
            Sparse::from_rows(n_columns, starts, places, entries)
        };
        matrix.map_err(|error| format!("damaged: `{name}`, {error}"))
    }
}

/// Returns numbers as pointers or places; invalid ones become `usize::MAX`, which is in no matrix.
pub(crate) fn places(numbers: Vec<f64>) -> Vec<usize> {
    let place = |x: f64| if x >= 0.0 && x.fract() == 0.0 { x as usize } else { usize::MAX };
    numbers.into_iter().map(place).collect()
}

/// Builds a matrix from the row, column and value of each entry, in any order; entries of the same cell are summed.
pub(crate) fn of_entries(
    [n_rows, n_columns]: [usize; 2],
    rows: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f64>,
) -> Result<Sparse, String> {
    let mut starts = vec![0; n_rows + 1];
    for &row in &rows {
        *starts.get_mut(row as usize + 1).ok_or_else(|| format!("no row {row}"))? += 1;
    }
    for i in 0..n_rows {
        starts[i + 1] += starts[i];
    }
    // Most files are sorted by row already.
    let (columns, values) = if rows.is_sorted() {
        (columns, values)
    } else {
        let mut next = starts.clone();
        let (mut by_row, mut of_row) = (vec![0; columns.len()], vec![0.0; values.len()]);
        for (row, (column, value)) in rows.into_iter().zip(columns.into_iter().zip(values)) {
            let to = &mut next[row as usize];
            (by_row[*to], of_row[*to]) = (column, value);
            *to += 1;
        }
        (by_row, of_row)
    };
    let (starts, columns, values) = in_order(starts, columns, values);
    Sparse::from_rows(n_columns, starts, columns, values).map_err(|error| error.to_string())
}

/// Sorts the entries of every line and sums entries of the same place. Invalid pointers are left unchanged.
fn in_order(
    starts: Vec<usize>,
    places: Vec<u32>,
    entries: Vec<f64>,
) -> (Vec<usize>, Vec<u32>, Vec<f64>) {
    let lines = || starts.windows(2).map(|ends| ends[0]..ends[1]);
    let is_out_of_range =
        |line: Range<usize>| places.get(line.clone()).is_none() || entries.get(line).is_none();
    let ascends = |line: Range<usize>| places[line].is_sorted_by(|a, b| a < b);
    let has_wrong_start = starts.first() != Some(&0);
    if has_wrong_start || lines().any(is_out_of_range) || lines().all(ascends) {
        return (starts, places, entries);
    }
    let mut ordered =
        (vec![0], Vec::with_capacity(places.len()), Vec::with_capacity(entries.len()));
    for line in lines() {
        let mut of_line: Vec<(u32, f64)> =
            places[line.clone()].iter().copied().zip(entries[line].iter().copied()).collect();
        of_line.sort_by_key(|&(place, _)| place);
        for same in of_line.chunk_by(|a, b| a.0 == b.0) {
            ordered.1.push(same[0].0);
            ordered.2.push(same.iter().map(|&(_, entry)| entry).sum());
        }
        ordered.0.push(ordered.1.len());
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn rows_and_columns_are_read_and_errors_name_the_flaw() {
        let read = |shape, by_column, starts: &[usize], places: &[usize]| {
            let entries = vec![1.0, 6.0, 8.0];
            let (starts, places) = (starts.to_vec(), places.to_vec());
            let parts = Compressed { shape, by_column, starts, places, entries };
            parts.read("X", &Budget::of_file(0, Some(88)))
        };
        let by_row = read([2, 3], false, &[0, 2, 3], &[0, 2, 1]).unwrap();
        assert_eq!(by_row.dense(), array![[1.0, 0.0, 6.0], [0.0, 8.0, 0.0]]);
        let by_column = read([3, 2], true, &[0, 2, 3], &[0, 2, 1]).unwrap();
        assert_eq!(by_column.dense(), by_row.dense().t());
        let in_any_order = read([2, 3], false, &[0, 3, 3], &[2, 0, 2]).unwrap();
        assert_eq!(in_any_order.dense(), array![[6.0, 0.0, 9.0], [0.0, 0.0, 0.0]]);
        assert_eq!(in_any_order.n_entries(), 2);
        for (shape, starts, places, expected) in [
            ([3, 3], &[0, 2, 3][..], &[0, 2, 1][..], "`X`, a sparse matrix: 3 pointers for 3 rows"),
            ([2, 3], &[0, 2, 3], &[2, 0], "2 indices, 3 values"),
            ([2, 3], &[0, 2, 3], &[0, 2, usize::MAX], "must be below 3"),
            ([2, 9], &[0, 2, 3], &[0, 2, 1], "more than 88 bytes"),
            ([2, 3], &[1, 2, 3], &[0, 2, 1], "pointers from 1"),
            ([1, 3], &[1, 3], &[0, 2, 1], "pointers from 1"),
        ] {
            crate::testing::refused(read(shape, false, starts, places), expected);
        }
    }
}
