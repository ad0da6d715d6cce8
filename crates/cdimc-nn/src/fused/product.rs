//! Matrix products on slices, and the number types they are made of.

use std::{fmt::Debug, ops};

/// The number type of the fused engine: f32; its tests run the same code in f64.
pub(crate) trait Real:
    Copy
    + Debug
    + Default
    + PartialOrd
    + Send
    + Sync
    + ops::Add<Output = Self>
    + ops::Sub<Output = Self>
    + ops::Mul<Output = Self>
    + ops::Div<Output = Self>
    + ops::AddAssign
    + 'static
{
    fn of(value: f64) -> Self;
    fn as_f64(self) -> f64;
    fn square_root(self) -> Self;
    /// `values` in this type, in `buffer` where they differ.
    fn convert<'a>(values: &'a [f32], buffer: &'a mut Vec<Self>) -> &'a [Self];
}

impl Real for f32 {
    fn of(value: f64) -> Self {
        value as Self
    }

    fn as_f64(self) -> f64 {
        f64::from(self)
    }

    fn square_root(self) -> Self {
        self.sqrt()
    }

    fn convert<'a>(values: &'a [f32], _: &'a mut Vec<Self>) -> &'a [Self] {
        values
    }
}

#[cfg(test)]
impl Real for f64 {
    fn of(value: f64) -> Self {
        value
    }

    fn as_f64(self) -> f64 {
        self
    }

    fn square_root(self) -> Self {
        self.sqrt()
    }

    fn convert<'a>(values: &'a [f32], buffer: &'a mut Vec<Self>) -> &'a [Self] {
        buffer.clear();
        buffer.extend(values.iter().map(|&value| Self::from(value)));
        buffer
    }
}

/// A matrix in a slice.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a, T> {
    values: &'a [T],
    n_rows: usize,
    n_cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a, T> Matrix<'a, T> {
    /// Row after row.
    pub(crate) fn rows(values: &'a [T], n_rows: usize, n_cols: usize) -> Self {
        assert_eq!(values.len(), n_rows * n_cols, "values of a matrix");
        Self { values, n_rows, n_cols, row_stride: n_cols, col_stride: 1 }
    }

    pub(crate) fn transposed(self) -> Self {
        Self {
            n_rows: self.n_cols,
            n_cols: self.n_rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            ..self
        }
    }

    /// Some of the rows.
    pub(crate) fn slice_rows(self, rows: ops::Range<usize>) -> Self {
        assert!(rows.start < rows.end && rows.end <= self.n_rows, "rows of a matrix");
        let values = &self.values[rows.start * self.row_stride..];
        Self { values, n_rows: rows.len(), ..self }
    }

    /// Whether every element lies in the slice.
    fn is_inside(&self) -> bool {
        self.n_rows == 0
            || self.n_cols == 0
            || (self.n_rows - 1) * self.row_stride + (self.n_cols - 1) * self.col_stride
                < self.values.len()
    }
}

/// c <- `kept` c + a b, with c row after row. With `kept` = 0, c is not read.
pub(crate) fn multiply<T: Real>(c: &mut [T], kept: T, a: Matrix<'_, T>, b: Matrix<'_, T>) {
    assert_eq!(a.n_cols, b.n_rows, "inner sizes of a product");
    assert_eq!(c.len(), a.n_rows * b.n_cols, "values of a product");
    assert!(a.is_inside() && b.is_inside(), "factors inside their slices");
    if a.n_cols == 0 {
        for c in c {
            *c = if kept == T::default() { T::default() } else { *c * kept };
        }
        return;
    }
    if c.is_empty() {
        return;
    }
    // Accumulating with a factor on the old value saves a pass over the momenta each step, which the
    // safe products at hand (faer's) do not offer.
    //
    // SAFETY: `gemm` reads element (i, j) of each factor at i * row_stride + j * col_stride for i and j
    // below its sizes; the largest such index was checked to lie in the slice, and the others are not
    // larger since strides are not negative. It writes c at i * n_cols + j, below c.len() as checked.
    // c is borrowed mutably, so it overlaps no factor. T is f32 or f64, which gemm implements.
    #[allow(unsafe_code)]
    unsafe {
        gemm::gemm(
            a.n_rows,
            b.n_cols,
            a.n_cols,
            c.as_mut_ptr(),
            1,
            b.n_cols as isize,
            kept != T::default(),
            a.values.as_ptr(),
            a.col_stride as isize,
            a.row_stride as isize,
            b.values.as_ptr(),
            b.col_stride as isize,
            b.row_stride as isize,
            kept,
            T::of(1.0),
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_product_is_the_sum_over_the_inner_index(
            n in 1..20_usize, m in 1..20_usize, k in 0..20_usize,
            kept in prop::sample::select(vec![0.0_f32, 1.0, 0.5]),
            transposed in any::<(bool, bool)>(),
        ) {
            let value = |i: usize| ((i * 7919) % 23) as f32 - 11.0;
            let (a, b): (Vec<_>, Vec<_>) = ((0..n * k).map(value).collect(), (0..k * m).map(value).collect());
            let a = if transposed.0 { Matrix::rows(&a, k, n).transposed() } else { Matrix::rows(&a, n, k) };
            let b = if transposed.1 { Matrix::rows(&b, m, k).transposed() } else { Matrix::rows(&b, k, m) };
            let mut c: Vec<_> = (0..n * m).map(|i| if kept == 0.0 { f32::NAN } else { value(i + 3) }).collect();
            let old = c.clone();
            multiply(&mut c, kept, a, b);
            let at = |x: Matrix<'_, f32>, i: usize, j: usize| x.values[i * x.row_stride + j * x.col_stride];
            for i in 0..n {
                for j in 0..m {
                    let sum: f32 = (0..k).map(|l| at(a, i, l) * at(b, l, j)).sum();
                    let old = if kept == 0.0 { 0.0 } else { kept * old[i * m + j] };
                    // Small integers and halves are exact in f32.
                    prop_assert_eq!(c[i * m + j], old + sum);
                }
            }
        }
    }
}
