//! Sparse matrices in compressed rows.

use crate::DataError;
use ndarray::{Array2, ArrayViewMut1};
use std::ops::Range;

/// Matrix `(n_rows, n_columns)` in compressed rows (CSR): per row the ascending columns of its entries and their values.
/// Cells without an entry are 0. A whole row may be missing.
#[derive(Debug, Clone, PartialEq)]
pub struct Sparse {
    n_columns: usize,
    /// First entry of each row, and the end of the last row.
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    missing: Vec<bool>,
}

impl Sparse {
    /// Returns the matrix of compressed rows: row `i` has the entries `starts[i]..starts[i + 1]`.
    ///
    /// ```
    /// use cdimc_data::Sparse;
    /// let matrix = Sparse::from_rows(3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 6.0, 8.0])?;
    /// assert_eq!(matrix.dense(), ndarray::array![[1.0, 0.0, 6.0], [0.0, 8.0, 0.0]]);
    /// # Ok::<(), cdimc_data::DataError>(())
    /// ```
    ///
    /// # Errors
    /// If the lengths disagree, `starts` decreases, or the columns of a row are out of range, unsorted or repeated.
    pub fn from_rows(
        n_columns: usize,
        starts: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<f64>,
    ) -> Result<Self, DataError> {
        check(["row", "column"], n_columns, &starts, &columns, values.len())?;
        let missing = vec![false; starts.len() - 1];
        Ok(Self { n_columns, starts, columns, values, missing })
    }

    /// Returns the matrix of compressed columns (CSC): column `j` has the entries `starts[j]..starts[j + 1]`.
    ///
    /// # Errors
    /// Same as [`Sparse::from_rows`], with rows and columns exchanged.
    pub fn from_columns(
        n_rows: usize,
        starts: &[usize],
        rows: &[u32],
        values: &[f64],
    ) -> Result<Self, DataError> {
        check(["column", "row"], n_rows, starts, rows, values.len())?;
        Ok(transposed(n_rows, starts, rows, values))
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.missing.len()
    }

    /// Number of columns.
    pub fn ncols(&self) -> usize {
        self.n_columns
    }

    /// Number of entries.
    pub fn n_entries(&self) -> usize {
        self.values.len()
    }

    /// Values of all entries, row after row.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// First entry of each row with the end of the last row, and the column of each entry.
    pub fn places(&self) -> (&[usize], &[u32]) {
        (&self.starts, &self.columns)
    }

    /// Returns columns and values of the entries of row `i`; a missing row has no entries.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let entries = self.starts[i]..self.starts[i + 1];
        (&self.columns[entries.clone()], &self.values[entries])
    }

    /// Returns whether row `i` is missing: all its values are NaN.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn is_missing(&self, i: usize) -> bool {
        self.missing[i]
    }

    /// Writes all values of row `i`, zeros included.
    pub(crate) fn write_row(&self, i: usize, mut to: ArrayViewMut1<'_, f64>) {
        assert_eq!(to.len(), self.n_columns, "to must have the length of a row");
        to.fill(self.background(i));
        let (columns, values) = self.row(i);
        columns.iter().zip(values).for_each(|(&j, &x)| to[j as usize] = x);
    }

    /// Value of the cells without an entry in row `i`.
    pub(crate) fn background(&self, i: usize) -> f64 {
        if self.missing[i] { f64::NAN } else { 0.0 }
    }

    /// Value of a cell.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn at(&self, i: usize, j: usize) -> &f64 {
        let (columns, values) = self.row(i);
        assert!(j < self.n_columns, "column {j} of {}", self.n_columns);
        let background = if self.missing[i] { &f64::NAN } else { &0.0 };
        columns.binary_search(&(j as u32)).map_or(background, |at| &values[at])
    }

    /// Returns the entries of the columns `range` in the rows `rows`: per column, positions in `rows` and values. Missing rows
    /// have no entries.
    ///
    /// # Panics
    /// If a row or column is out of range.
    pub fn columns(&self, range: Range<usize>, rows: &[usize]) -> Vec<Vec<(u32, f64)>> {
        let mut found = vec![Vec::new(); range.len()];
        for (place, &i) in rows.iter().enumerate() {
            let (columns, values) = self.row(i);
            let first = columns.partition_point(|&j| (j as usize) < range.start);
            for (&j, &x) in columns[first..].iter().zip(&values[first..]) {
                match found.get_mut(j as usize - range.start) {
                    Some(column) => column.push((place as u32, x)),
                    None => break,
                }
            }
        }
        found
    }

    /// Returns the dense matrix, `(n_rows, n_columns)`.
    pub fn dense(&self) -> Array2<f64> {
        let mut all = Array2::zeros((self.nrows(), self.n_columns));
        all.outer_iter_mut().enumerate().for_each(|(i, row)| self.write_row(i, row));
        all
    }

    /// Concatenates the rows of `parts`.
    ///
    /// # Panics
    /// If there is no part, or their numbers of columns differ.
    #[must_use]
    pub fn stacked(parts: &[&Self]) -> Self {
        let n_columns = parts[0].n_columns;
        assert!(
            parts.iter().all(|part| part.n_columns == n_columns),
            "parts must have equal numbers of columns"
        );
        let (mut starts, mut end) = (vec![0], 0);
        for part in parts {
            starts.extend(part.starts[1..].iter().map(|start| end + start));
            end += part.n_entries();
        }
        Self {
            n_columns,
            starts,
            columns: parts.iter().flat_map(|part| &part.columns).copied().collect(),
            values: parts.iter().flat_map(|part| &part.values).copied().collect(),
            missing: parts.iter().flat_map(|part| &part.missing).copied().collect(),
        }
    }

    /// Returns the rows `rows`, in that order; `None` gives a missing row.
    #[must_use]
    pub(crate) fn with_rows(&self, rows: impl Iterator<Item = Option<usize>> + Clone) -> Self {
        let n_entries = rows.clone().flatten().map(|i| self.row(i).0.len()).sum();
        let mut picked = Self {
            n_columns: self.n_columns,
            starts: vec![0],
            columns: Vec::with_capacity(n_entries),
            values: Vec::with_capacity(n_entries),
            missing: Vec::with_capacity(rows.size_hint().0),
        };
        for row in rows {
            if let Some(i) = row {
                let (columns, values) = self.row(i);
                picked.columns.extend_from_slice(columns);
                picked.values.extend_from_slice(values);
            }
            picked.starts.push(picked.values.len());
            picked.missing.push(row.is_none_or(|i| self.missing[i]));
        }
        picked
    }

    /// Returns the columns `columns`, in that order; no column may occur twice.
    ///
    /// # Panics
    /// If a column is out of range or occurs twice.
    #[must_use]
    pub fn with_columns(&self, columns: &[usize]) -> Self {
        let mut place = vec![None; self.n_columns];
        for (new, &old) in columns.iter().enumerate() {
            assert!(place[old].replace(new as u32).is_none(), "column {old} occurs twice");
        }
        let mut picked = Self {
            n_columns: columns.len(),
            starts: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
            missing: self.missing.clone(),
        };
        let mut row: Vec<(u32, f64)> = Vec::new();
        for i in 0..self.nrows() {
            let (columns, values) = self.row(i);
            row.clear();
            row.extend(
                columns.iter().zip(values).filter_map(|(&j, &x)| Some((place[j as usize]?, x))),
            );
            row.sort_unstable_by_key(|&(j, _)| j);
            picked.columns.extend(row.iter().map(|&(j, _)| j));
            picked.values.extend(row.iter().map(|&(_, x)| x));
            picked.starts.push(picked.values.len());
        }
        picked
    }

    /// Returns the transpose.
    ///
    /// # Panics
    /// If a row is missing, because a missing column cannot be stored.
    #[must_use]
    pub fn transposed(&self) -> Self {
        assert!(!self.missing.contains(&true), "a column cannot be missing");
        transposed(self.n_columns, &self.starts, &self.columns, &self.values)
    }

    /// Applies `f` to every entry; zeros stay zeros.
    pub(crate) fn map_entries(&mut self, mut f: impl FnMut(f64) -> f64) {
        self.values.iter_mut().for_each(|x| *x = f(*x));
    }

    /// Changes the value of an existing entry.
    pub(crate) fn set_entry(&mut self, i: usize, j: usize, x: f64) {
        let first = self.starts[i];
        if let Ok(at) = self.row(i).0.binary_search(&(j as u32)) {
            self.values[first + at] = x;
        }
    }

    /// Marks the rows for which `is_missing` holds as missing; missing rows stay missing.
    pub(crate) fn hide_rows(self, is_missing: impl Fn(usize) -> bool) -> Self {
        if (0..self.nrows())
            .all(|i| !is_missing(i) || (self.missing[i] && self.row(i).0.is_empty()))
        {
            return self;
        }
        let rows = 0..self.nrows();
        self.with_rows(rows.map(|i| (!is_missing(i)).then_some(i)))
    }
}

/// Returns the matrix of `n_places` rows whose columns are these compressed lines.
fn transposed(n_places: usize, starts: &[usize], places: &[u32], values: &[f64]) -> Sparse {
    let mut next = vec![0; n_places + 1];
    places.iter().for_each(|&place| next[place as usize + 1] += 1);
    for place in 0..n_places {
        next[place + 1] += next[place];
    }
    let row_starts = next.clone();
    let (mut columns, mut sorted) = (vec![0; places.len()], vec![0.0; places.len()]);
    for (line, ends) in starts.windows(2).enumerate() {
        for entry in ends[0]..ends[1] {
            let to = &mut next[places[entry] as usize];
            (columns[*to], sorted[*to]) = (line as u32, values[entry]);
            *to += 1;
        }
    }
    let (n_columns, missing) = (starts.len() - 1, vec![false; n_places]);
    Sparse { n_columns, starts: row_starts, columns, values: sorted, missing }
}

/// Checks that compressed lines form a matrix; `[line, place]` are the names of rows and columns in messages.
fn check(
    [line, place]: [&str; 2],
    n_places: usize,
    starts: &[usize],
    places: &[u32],
    n_values: usize,
) -> Result<(), DataError> {
    let flaw = |rule: String| Err(DataError::Other(format!("a sparse matrix: {rule}")));
    let n_indices = places.len();
    if n_indices != n_values {
        return flaw(format!("{n_indices} indices, {n_values} values: the numbers must be equal"));
    }
    if starts.first() != Some(&0) || starts.last() != Some(&n_values) {
        let [first, last] = [starts.first(), starts.last()].map(|s| s.copied().unwrap_or(0));
        return flaw(format!(
            "pointers from {first} to {last}: they must run from 0 to the number of entries, {n_values}"
        ));
    }
    let n_lines = starts.len() - 1;
    if n_lines.max(n_places) > u32::MAX as usize {
        return flaw(format!("{n_lines} {line}s of {n_places}: at most {} of each", u32::MAX));
    }
    // Starts that do not decrease lie between the first and the last.
    if let Some(i) = starts.windows(2).position(|pair| pair[0] > pair[1]) {
        let (before, after) = (starts[i], starts[i + 1]);
        return flaw(format!(
            "pointer {after} comes after {before} ({line} {i}): pointers must not decrease"
        ));
    }
    for (i, ends) in starts.windows(2).enumerate() {
        let in_line = &places[ends[0]..ends[1]];
        if let Some(&outside) = in_line.iter().find(|&&j| j as usize >= n_places) {
            return flaw(format!("{line} {i}: {place} index {outside}: must be below {n_places}"));
        }
        let mut pairs = in_line.iter().zip(in_line.iter().skip(1));
        if let Some((before, after)) = pairs.find(|(before, after)| before >= after) {
            let rule = if before == after {
                "twice: a cell has one value (`sum_duplicates()` of SciPy adds them up)".into()
            } else {
                format!(
                    "comes after {before}: indices must be in order (`sort_indices()` of SciPy puts them so)"
                )
            };
            return flaw(format!("{line} {i}: {place} index {after} {rule}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Axis, array};

    fn example() -> Sparse {
        let (starts, columns) = (vec![0, 2, 2, 5], vec![0, 3, 0, 1, 2]);
        Sparse::from_rows(4, starts, columns, vec![1.0, 2.0, 3.0, -4.0, 5.0]).unwrap()
    }

    #[test]
    fn compressed_columns_are_the_rows_of_the_transpose() {
        let dense = example().dense();
        assert_eq!(dense, array![[1., 0., 0., 2.], [0.; 4], [3., -4., 5., 0.]]);
        let (starts, rows) = ([0, 2, 3, 4, 5], [0, 2, 2, 2, 0]);
        let by_columns =
            Sparse::from_columns(3, &starts, &rows, &[1.0, 3.0, -4.0, 5.0, 2.0]).unwrap();
        assert_eq!(by_columns, example());
        assert_eq!(example().transposed().dense(), dense.t());
        assert_eq!(example().transposed().transposed(), example());
    }

    #[test]
    fn rows_columns_and_cells_agree_with_the_dense_matrix() {
        let (sparse, dense) = (example(), example().dense());
        assert!(dense.indexed_iter().all(|((i, j), &x)| *sparse.at(i, j) == x));
        for columns in [vec![3, 1], vec![2], vec![0, 1, 2, 3]] {
            assert_eq!(sparse.with_columns(&columns).dense(), dense.select(Axis(1), &columns));
        }
        assert_eq!(sparse.columns(0..2, &[2, 0]), [vec![(0, 3.0), (1, 1.0)], vec![(0, -4.0)]]);
        let moved = sparse.with_rows([Some(2), None, Some(0)].into_iter());
        assert_eq!(moved.nrows(), 3);
        assert_eq!(moved.dense().select(Axis(0), &[0, 2]), dense.select(Axis(0), &[2, 0]));
        assert!(moved.is_missing(1) && moved.dense().row(1).iter().all(|x| x.is_nan()));
        assert!(moved.at(1, 2).is_nan() && moved.columns(0..1, &[1])[0].is_empty());
    }

    #[test]
    fn invalid_matrices_are_errors_with_the_rule() {
        let message = |starts: &[usize], columns: &[u32]| {
            let values = vec![1.0; 4];
            Sparse::from_rows(3, starts.to_vec(), columns.to_vec(), values).unwrap_err().to_string()
        };
        for (starts, columns, expected) in [
            (&[0, 3, 4][..], &[0, 1, 2][..], "3 indices, 4 values"),
            (&[0, 3, 5], &[0, 1, 2, 1], "pointers from 0 to 5"),
            (&[1, 3, 4], &[0, 1, 2, 1], "pointers from 1 to 4"),
            (&[], &[0, 1, 2, 1], "pointers from 0 to 0"),
            (&[0, 3, 2, 4], &[0, 1, 2, 1], "pointer 2 comes after 3 (row 1)"),
            (&[0, 9, 4], &[0, 1, 2, 1], "pointer 4 comes after 9 (row 1)"),
            (&[0, 3, 4], &[0, 1, 3, 1], "row 0: column index 3: must be below 3"),
            (&[0, 3, 4], &[0, 2, 1, 1], "row 0: column index 1 comes after 2"),
            (&[0, 3, 4], &[0, 1, 1, 1], "row 0: column index 1 twice"),
        ] {
            let message = message(starts, columns);
            assert!(message.contains(expected), "{starts:?} {columns:?}: {message}");
        }
        let by_columns = Sparse::from_columns(2, &[0, 1], &[2], &[1.0]).unwrap_err().to_string();
        assert!(by_columns.contains("column 0: row index 2: must be below 2"), "{by_columns}");
    }
}
