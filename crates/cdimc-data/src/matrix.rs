//! Values of a view, dense or sparse.

use crate::Sparse;
use ndarray::{Array2, ArrayView1, ArrayViewMut2, Axis};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Index;
use std::sync::OnceLock;

/// Matrix `(n_rows, n_columns)`, dense or sparse.
///
/// Zeros are ordinary values: both kinds have the same content and differ only in memory and time.
#[derive(Debug, Clone)]
pub struct Matrix(Storage);

#[derive(Debug, Clone)]
enum Storage {
    /// In standard layout.
    Dense(Array2<f64>),
    /// With its dense copy, made on first use.
    Sparse(Sparse, OnceLock<Array2<f64>>),
}

impl From<Array2<f64>> for Matrix {
    fn from(values: Array2<f64>) -> Self {
        let is_standard = values.is_standard_layout();
        Self(Storage::Dense(if is_standard {
            values
        } else {
            values.as_standard_layout().into_owned()
        }))
    }
}

impl From<Sparse> for Matrix {
    fn from(values: Sparse) -> Self {
        Self(Storage::Sparse(values, OnceLock::new()))
    }
}

impl PartialEq for Matrix {
    fn eq(&self, other: &Self) -> bool {
        self.dim() == other.dim()
            && match (self.sparse(), other.sparse()) {
                (Some(one), Some(other)) => one == other,
                _ => self.dense() == other.dense(),
            }
    }
}

impl PartialEq<Array2<f64>> for Matrix {
    fn eq(&self, other: &Array2<f64>) -> bool {
        self.dense() == other
    }
}

impl Index<[usize; 2]> for Matrix {
    type Output = f64;

    fn index(&self, [i, j]: [usize; 2]) -> &f64 {
        match &self.0 {
            Storage::Dense(values) => &values[[i, j]],
            Storage::Sparse(values, _) => values.at(i, j),
        }
    }
}

impl Matrix {
    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.dim().0
    }

    /// Number of columns.
    pub fn ncols(&self) -> usize {
        self.dim().1
    }

    /// Numbers of rows and columns.
    pub fn dim(&self) -> (usize, usize) {
        match &self.0 {
            Storage::Dense(values) => values.dim(),
            Storage::Sparse(values, _) => (values.nrows(), values.ncols()),
        }
    }

    /// Returns the sparse matrix, if it is one.
    pub fn sparse(&self) -> Option<&Sparse> {
        match &self.0 {
            Storage::Dense(_) => None,
            Storage::Sparse(values, _) => Some(values),
        }
    }

    /// Returns all values; the dense copy of a sparse matrix is made once.
    pub fn dense(&self) -> &Array2<f64> {
        match &self.0 {
            Storage::Dense(values) => values,
            Storage::Sparse(values, dense) => dense.get_or_init(|| values.dense()),
        }
    }

    /// Returns all values for changes; a sparse matrix becomes dense.
    pub fn dense_mut(&mut self) -> ArrayViewMut2<'_, f64> {
        if let Storage::Sparse(values, _) = &self.0 {
            self.0 = Storage::Dense(values.dense());
        }
        match &mut self.0 {
            Storage::Dense(values) => values.view_mut(),
            Storage::Sparse(..) => unreachable!("it has become dense"),
        }
    }

    /// Applies `f` to every value; a sparse matrix stays sparse if `f(0)` is 0.
    pub fn map(&mut self, mut f: impl FnMut(f64) -> f64) {
        match &mut self.0 {
            Storage::Sparse(values, dense) if f(0.0) == 0.0 => {
                values.map_entries(f);
                *dense = OnceLock::new();
            }
            _ => self.dense_mut().mapv_inplace(f),
        }
    }

    /// Returns whether row `i` is missing: all its values are NaN.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn is_missing(&self, i: usize) -> bool {
        match &self.0 {
            Storage::Dense(values) => values.row(i).iter().all(|x| x.is_nan()),
            Storage::Sparse(values, _) => {
                let of_row = values.row(i).1;
                let all = of_row.len() == values.ncols();
                values.is_missing(i) || (all && of_row.iter().all(|x| x.is_nan()))
            }
        }
    }

    /// Returns row `i`; a sparse row is written to `buffer`.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row<'a>(&'a self, i: usize, buffer: &'a mut Vec<f64>) -> &'a [f64] {
        match &self.0 {
            Storage::Dense(values) => dense_row(values, i),
            Storage::Sparse(values, _) => {
                buffer.resize(values.ncols(), 0.0);
                values.write_row(i, buffer.as_mut_slice().into());
                buffer
            }
        }
    }

    /// Returns columns and values of the stored cells of row `i`: all of a dense row, the entries of a sparse one.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn stored(&self, i: usize) -> impl Iterator<Item = (usize, f64)> {
        let (columns, values) = match &self.0 {
            Storage::Dense(values) => (None, dense_row(values, i)),
            Storage::Sparse(values, _) => (Some(values.row(i).0), values.row(i).1),
        };
        let column = move |at: usize| columns.map_or(at, |columns| columns[at] as usize);
        values.iter().enumerate().map(move |(at, &x)| (column(at), x))
    }

    /// Returns the rows `rows` as a dense array, `(rows.len(), n_columns)`.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn rows(&self, rows: &[usize]) -> Array2<f64> {
        match &self.0 {
            Storage::Dense(values) => values.select(Axis(0), rows),
            Storage::Sparse(values, _) => values.with_rows(rows.iter().map(|&i| Some(i))).dense(),
        }
    }

    /// Returns the matrix of the rows `rows`, in that order.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        match &self.0 {
            Storage::Dense(values) => values.select(Axis(0), rows).into(),
            Storage::Sparse(values, _) => values.with_rows(rows.iter().map(|&i| Some(i))).into(),
        }
    }

    /// Concatenates the rows of `parts`; the result is sparse if all parts are.
    ///
    /// # Panics
    /// If there is no part, or their numbers of columns differ.
    #[must_use]
    pub fn stacked(parts: &[&Self]) -> Self {
        let n_columns = parts[0].ncols();
        assert!(
            parts.iter().all(|part| part.ncols() == n_columns),
            "parts must have equal numbers of columns"
        );
        let sparse: Option<Vec<&Sparse>> = parts.iter().map(|part| part.sparse()).collect();
        if let Some(parts) = sparse {
            return Sparse::stacked(&parts).into();
        }
        let mut all = Array2::zeros((parts.iter().map(|part| part.nrows()).sum(), n_columns));
        let (mut rows, mut buffer) = (all.outer_iter_mut(), Vec::new());
        for part in parts {
            for (i, mut to) in (0..part.nrows()).zip(&mut rows) {
                to.assign(&ArrayView1::from(part.row(i, &mut buffer)));
            }
        }
        all.into()
    }

    /// Moves row `i` to row `places[i]` of a matrix of `n_rows` rows and drops it if `places[i]` is beyond the end; rows
    /// without a source are missing.
    ///
    /// # Panics
    /// If there is not one place per row.
    #[must_use]
    pub fn placed(self, places: &[usize], n_rows: usize) -> Self {
        assert_eq!(places.len(), self.nrows(), "one place per row");
        if places.iter().copied().eq(0..n_rows) {
            return self;
        }
        let mut row_of = vec![None; n_rows];
        for (i, &place) in places.iter().enumerate().filter(|(_, place)| **place < n_rows) {
            row_of[place] = Some(i);
        }
        match &self.0 {
            Storage::Dense(values) => {
                let mut placed = Array2::from_elem((n_rows, values.ncols()), f64::NAN);
                for (mut to, from) in placed.outer_iter_mut().zip(row_of) {
                    from.into_iter().for_each(|i| to.assign(&values.row(i)));
                }
                placed.into()
            }
            Storage::Sparse(values, _) => values.with_rows(row_of.into_iter()).into(),
        }
    }

    /// Returns the matrix of the columns `columns`, in that order; no column may occur twice.
    ///
    /// # Panics
    /// If there is no such column, or the matrix is sparse and a column occurs twice.
    #[must_use]
    pub fn select_columns(&self, columns: &[usize]) -> Self {
        match &self.0 {
            Storage::Dense(values) => values.select(Axis(1), columns).into(),
            Storage::Sparse(values, _) => values.with_columns(columns).into(),
        }
    }

    /// Calls `of_column` with every column and its values in the rows `rows`, in parallel; returns the results.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn map_columns<T: Send>(
        &self,
        rows: &[usize],
        of_column: impl Fn(usize, Vec<f64>) -> T + Sync,
    ) -> Vec<T> {
        let n_columns = self.ncols();
        // Groups of columns use cache lines of dense rows and save searches in sparse rows.
        let size = if self.sparse().is_some() { 256 } else { 16 };
        let together = |first: usize| -> Vec<T> {
            let range = first..n_columns.min(first + size);
            match &self.0 {
                Storage::Sparse(values, _) => {
                    let zeros: Vec<f64> = rows.iter().map(|&i| values.background(i)).collect();
                    let with_zeros = |(j, entries): (usize, Vec<(u32, f64)>)| {
                        let mut column = zeros.clone();
                        entries.into_iter().for_each(|(place, x)| column[place as usize] = x);
                        of_column(j, column)
                    };
                    (first..).zip(values.columns(range, rows)).map(with_zeros).collect()
                }
                Storage::Dense(values) => {
                    let mut columns = vec![Vec::with_capacity(rows.len()); range.len()];
                    for &i in rows {
                        for (column, j) in columns.iter_mut().zip(range.clone()) {
                            column.push(values[[i, j]]);
                        }
                    }
                    (first..).zip(columns).map(|(j, column)| of_column(j, column)).collect()
                }
            }
        };
        let firsts: Vec<usize> = (0..n_columns).step_by(size).collect();
        firsts.into_par_iter().flat_map_iter(together).collect()
    }

    /// Returns the values of column `j` in the rows `rows`.
    ///
    /// # Panics
    /// If there is no such row or column.
    pub fn column(&self, j: usize, rows: &[usize]) -> Vec<f64> {
        rows.iter().map(|&i| self[[i, j]]).collect()
    }

    /// Returns row, column and value of the first value for which `odd(row, value)` holds; it skips implicit zeros and tests
    /// a missing sparse row once.
    pub fn find(&self, odd: impl Fn(usize, f64) -> bool) -> Option<(usize, usize, f64)> {
        (0..self.nrows()).find_map(|i| {
            if self.sparse().is_some_and(|values| values.is_missing(i)) {
                return odd(i, f64::NAN).then_some((i, 0, f64::NAN));
            }
            let (j, x) = self.stored(i).find(|&(_, x)| odd(i, x))?;
            Some((i, j, x))
        })
    }

    /// Returns the NaN cells of rows that also have other values: per column with such cells, its rows.
    pub fn missing_cells(&self) -> BTreeMap<usize, Vec<usize>> {
        let mut missing: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for i in (0..self.nrows()).filter(|&i| !self.is_missing(i)) {
            for (j, _) in self.stored(i).filter(|(_, x)| x.is_nan()) {
                missing.entry(j).or_default().push(i);
            }
        }
        missing
    }

    /// Sets every NaN cell of rows that also have other values to `value(column)`.
    pub fn fill_cells(&mut self, value: impl Fn(usize) -> Option<f64>) {
        for (j, rows) in self.missing_cells() {
            let Some(value) = value(j) else { continue };
            for i in rows {
                match &mut self.0 {
                    Storage::Dense(values) => values[[i, j]] = value,
                    Storage::Sparse(values, dense) => {
                        values.set_entry(i, j, value);
                        *dense = OnceLock::new();
                    }
                }
            }
        }
    }

    /// Returns whether a column has two different measured values, or no measured value.
    pub fn varies(&self) -> bool {
        let columns: Vec<usize> = (0..self.ncols()).collect();
        let rows: Vec<usize> = (0..self.nrows()).filter(|&i| !self.is_missing(i)).collect();
        let varies = |_: usize, column: Vec<f64>| {
            let mut measured = column.iter().filter(|x| !x.is_nan());
            measured.next().is_none_or(|first| !measured.all(|x| x == first))
        };
        // The first few columns usually decide.
        let mut parts = columns.chunks(64).map(|part| self.select_columns(part));
        parts.any(|part| part.map_columns(&rows, varies).contains(&true))
    }

    /// Returns whether all values of row `i` are 0.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn is_zero_row(&self, i: usize) -> bool {
        let is_missing = self.sparse().is_some_and(|values| values.is_missing(i));
        !is_missing && self.stored(i).all(|(_, x)| x == 0.0)
    }

    /// Returns the transpose.
    #[must_use]
    pub fn transposed(&self) -> Self {
        match &self.0 {
            Storage::Sparse(values, _) if (0..values.nrows()).all(|i| !values.is_missing(i)) => {
                values.transposed().into()
            }
            _ => self.dense().t().to_owned().into(),
        }
    }

    /// Replaces the rows for which `is_hidden` holds by NaN.
    pub(crate) fn hide_rows(self, is_hidden: impl Fn(usize) -> bool) -> Self {
        match self.0 {
            Storage::Dense(mut values) => {
                for (i, mut row) in values.outer_iter_mut().enumerate() {
                    if is_hidden(i) {
                        row.fill(f64::NAN);
                    }
                }
                values.into()
            }
            Storage::Sparse(values, _) => values.hide_rows(is_hidden).into(),
        }
    }
}

/// Returns row `i` of a dense matrix.
fn dense_row(values: &Array2<f64>, i: usize) -> &[f64] {
    let row = values.row(i).to_slice();
    row.unwrap_or_else(|| unreachable!("dense matrices are in standard layout"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn dense_and_sparse_matrices_agree() {
        let sparse = Sparse::from_rows(3, vec![0, 1, 1, 3], vec![1, 0, 2], vec![2.0, 1.0, 4.0]);
        let sparse = Matrix::from(sparse.unwrap());
        let dense = Matrix::from(array![[0., 2., 0.], [0., 0., 0.], [1., 0., 4.]]);
        assert!(sparse == *dense.dense() && sparse.sparse().is_some());
        let rows = [2, 0];
        assert_eq!(sparse.rows(&rows), dense.rows(&rows));
        assert_eq!(*sparse.select_rows(&rows).dense(), dense.rows(&rows));
        assert_eq!(sparse.select_columns(&[2, 0]).dense(), dense.select_columns(&[2, 0]).dense());
        let sums = |matrix: &Matrix| matrix.map_columns(&rows, |j, x| (j, x));
        assert_eq!(sums(&sparse), sums(&dense));
        assert_eq!(sparse[[2, 2]], 4.0);
        assert_eq!(sparse[[1, 2]], 0.0);
        let mut buffer = Vec::new();
        assert_eq!(sparse.row(2, &mut buffer), [1.0, 0.0, 4.0]);
        let moved = |matrix: Matrix| matrix.placed(&[3, 9, 0], 4);
        let (sparse, dense) = (moved(sparse), moved(dense));
        for i in 0..4 {
            assert_eq!(sparse.is_missing(i), dense.is_missing(i));
            assert_eq!(sparse.is_missing(i), i == 1 || i == 2);
        }
        assert_eq!(sparse.rows(&[0, 3]), dense.rows(&[0, 3]));
        let both = [&sparse, &dense].map(|matrix| Matrix::stacked(&[matrix, matrix]));
        let mixed = Matrix::stacked(&[&dense, &sparse]);
        assert!(both[0].sparse().is_some() && both[1].sparse().is_none());
        for stacked in [&both[0], &both[1], &mixed] {
            assert_eq!(stacked.rows(&[0, 3, 4, 7]), dense.rows(&[0, 3, 0, 3]));
            assert!((0..8).all(|i| stacked.is_missing(i) == dense.is_missing(i % 4)));
        }
    }

    #[test]
    #[should_panic(expected = "column 0 occurs twice")]
    fn a_sparse_column_cannot_be_selected_twice() {
        let sparse = Sparse::from_rows(2, vec![0, 1], vec![0], vec![2.0]).unwrap();
        let _ = Matrix::from(sparse).select_columns(&[0, 0]);
    }

    #[test]
    #[should_panic(expected = "one place per row")]
    fn placed_rows_need_a_place_each() {
        let _ = Matrix::from(array![[1.0], [2.0]]).placed(&[0], 1);
    }

    #[test]
    fn a_map_that_moves_zero_makes_it_dense() {
        let sparse = Sparse::from_rows(2, vec![0, 1], vec![1], vec![2.0]).unwrap();
        let mut matrix = Matrix::from(sparse);
        matrix.map(|x| 3.0 * x);
        assert!(matrix.sparse().is_some() && matrix == array![[0.0, 6.0]]);
        matrix.map(|x| x + 1.0);
        assert!(matrix.sparse().is_none() && matrix == array![[1.0, 7.0]]);
    }
}
