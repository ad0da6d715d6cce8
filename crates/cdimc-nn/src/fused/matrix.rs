//! Activations and gradients of a batch, in lines along their features, their samples or both.

use crate::fused::product::{LANES, Left, Line, Real, n_lines, place};

/// A matrix `(n_samples, n_features)`; whichever order of lines is missing is made when it is asked for.
pub(crate) struct Matrix<T> {
    n_samples: usize,
    n_features: usize,
    /// Lines of sixteen features of a sample, panel by panel; zero beyond the last feature.
    rows: Vec<Line<T>>,
    has_rows: bool,
    /// Lines of sixteen samples of a feature. What is beyond the last sample counts nowhere.
    columns: Vec<Line<T>>,
    has_columns: bool,
}

/// One of the two orders of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Rows,
    Columns,
}

impl<T> Default for Matrix<T> {
    fn default() -> Self {
        Self {
            n_samples: 0,
            n_features: 0,
            rows: Vec::new(),
            has_rows: false,
            columns: Vec::new(),
            has_columns: false,
        }
    }
}

impl<T: Real> Matrix<T> {
    pub(crate) fn n_samples(&self) -> usize {
        self.n_samples
    }

    pub(crate) fn n_features(&self) -> usize {
        self.n_features
    }

    /// Room for both orders.
    pub(crate) fn reserve(&mut self, n_samples: usize, n_features: usize) {
        grow(&mut self.rows, n_lines(n_samples, n_features));
        grow(&mut self.columns, n_lines(n_features, n_samples));
    }

    /// Lines in one order for a matrix of this size, to be overwritten.
    pub(crate) fn start(
        &mut self,
        n_samples: usize,
        n_features: usize,
        order: Order,
    ) -> &mut [Line<T>] {
        (self.n_samples, self.n_features) = (n_samples, n_features);
        self.has_rows = order == Order::Rows;
        self.has_columns = order == Order::Columns;
        match order {
            Order::Rows => grow(&mut self.rows, n_lines(n_samples, n_features)),
            Order::Columns => grow(&mut self.columns, n_lines(n_features, n_samples)),
        }
    }

    /// Takes the values of `samples`.
    pub(crate) fn fill<'a, U: Copy + Into<T> + 'a>(
        &mut self,
        n_samples: usize,
        n_features: usize,
        samples: impl Iterator<Item = &'a [U]>,
    ) {
        let n_panels = n_features.div_ceil(LANES);
        let rows = self.start(n_samples, n_features, Order::Rows);
        for (i, sample) in samples.enumerate() {
            for (p, values) in sample.chunks(LANES).enumerate() {
                let line = &mut rows[place(n_samples, n_panels, p, i)].0;
                *line = [T::default(); LANES];
                for (to, &value) in line.iter_mut().zip(values) {
                    *to = value.into();
                }
            }
        }
    }

    /// Sample after sample into `values`.
    pub(crate) fn copy_to(&mut self, values: &mut Vec<T>) {
        let (n_samples, n_features) = (self.n_samples, self.n_features);
        let n_panels = n_features.div_ceil(LANES);
        let rows = self.lines(Order::Rows);
        values.clear();
        for i in 0..n_samples {
            for (p, start) in (0..n_features).step_by(LANES).enumerate() {
                let n = LANES.min(n_features - start);
                values.extend_from_slice(&rows[place(n_samples, n_panels, p, i)].0[..n]);
            }
        }
    }

    /// An order that is there.
    pub(crate) fn order(&self) -> Order {
        if self.has_columns { Order::Columns } else { Order::Rows }
    }

    /// The lines in an order, made where they are missing.
    pub(crate) fn lines(&mut self, order: Order) -> &[Line<T>] {
        let (n_samples, n_features) = (self.n_samples, self.n_features);
        let (rows, columns) = (n_lines(n_samples, n_features), n_lines(n_features, n_samples));
        match order {
            Order::Rows => {
                if !self.has_rows {
                    let rows = grow(&mut self.rows, rows);
                    transpose(&self.columns[..columns], n_features, rows, n_samples);
                    self.has_rows = true;
                }
                &self.rows[..rows]
            }
            Order::Columns => {
                if !self.has_columns {
                    let columns = grow(&mut self.columns, columns);
                    transpose(&self.rows[..rows], n_samples, columns, n_features);
                    self.has_columns = true;
                }
                &self.columns[..columns]
            }
        }
    }

    /// As the left matrix of a product over features.
    pub(crate) fn left(&self) -> Left<'_, T> {
        match self.order() {
            Order::Rows => Left::Rows(&self.rows[..n_lines(self.n_samples, self.n_features)]),
            Order::Columns => {
                Left::Columns(&self.columns[..n_lines(self.n_features, self.n_samples)])
            }
        }
    }

    /// Its transpose as the left matrix of a product over samples.
    pub(crate) fn left_transposed(&self) -> Left<'_, T> {
        match self.left() {
            Left::Rows(lines) => Left::Columns(lines),
            Left::Columns(lines) => Left::Rows(lines),
        }
    }

    /// Puts zeros where lines go beyond the last sample.
    pub(crate) fn clear_beyond(&mut self) {
        let rest = self.n_samples % LANES;
        if rest > 0 && self.has_columns {
            let n_panels = self.n_samples.div_ceil(LANES);
            for feature in 0..self.n_features {
                let at = place(self.n_features, n_panels, n_panels - 1, feature);
                self.columns[at].0[rest..].fill(T::default());
            }
        }
    }
}

/// The first `len` lines, of as many new ones as it takes.
fn grow<T: Real>(lines: &mut Vec<Line<T>>, len: usize) -> &mut [Line<T>] {
    if lines.len() < len {
        lines.resize(len, Line::default());
    }
    &mut lines[..len]
}

/// From lines of `n_rows` rows to those of the transpose, which has `n_columns`, filled up with zeros.
fn transpose<T: Real>(from: &[Line<T>], n_rows: usize, to: &mut [Line<T>], n_columns: usize) {
    let (down, across) = (n_rows.div_ceil(LANES), n_columns.div_ceil(LANES));
    for i in 0..down {
        for j in 0..across {
            let from = &from[place(n_rows, across, j, i * LANES)..];
            let mut block = [[T::default(); LANES]; LANES];
            for (r, line) in from[..LANES.min(n_rows - i * LANES)].iter().enumerate() {
                for (c, &value) in line.0.iter().enumerate() {
                    block[c][r] = value;
                }
            }
            let to = &mut to[place(n_columns, down, i, j * LANES)..];
            for (to, block) in to[..LANES.min(n_columns - j * LANES)].iter_mut().zip(block) {
                to.0 = block;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fused::product::BLOCK;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_orders_of_lines_hold_the_same_numbers(
            n_samples in 0..BLOCK + 40, n_features in 1..BLOCK + 40,
        ) {
            let values: Vec<f32> = (1..=n_samples * n_features).map(|i| i as f32).collect();
            let mut matrix = Matrix::<f32>::default();
            // Lines of an earlier, larger matrix must not shine through.
            matrix.fill(BLOCK + 40, BLOCK + 40, vec![[f32::NAN; BLOCK + 40]; BLOCK + 40].iter().map(<[f32; BLOCK + 40]>::as_slice));
            matrix.lines(Order::Columns);
            matrix.fill(n_samples, n_features, values.chunks_exact(n_features));
            let columns = matrix.lines(Order::Columns).to_vec();
            let mut again = Matrix::default();
            again.start(n_samples, n_features, Order::Columns).copy_from_slice(&columns);
            again.clear_beyond();
            let mut found = Vec::new();
            again.copy_to(&mut found);
            prop_assert_eq!(values, found);
            prop_assert!(again.lines(Order::Rows) == matrix.lines(Order::Rows));
        }
    }
}
