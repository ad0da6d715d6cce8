//! Matrix products on slices, and the number types they are made of.

use crate::fused::passes;
use faer::{
    Accum, Conj, MatMut, MatRef, Par, linalg::matmul::matmul_with_conj, traits::ComplexField,
};
use std::ops;

/// The number type of the fused engine: f32; its tests run the same code in f64.
pub(crate) trait Real:
    ComplexField
    + Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + ops::Add<Output = Self>
    + ops::Sub<Output = Self>
    + ops::Mul<Output = Self>
    + ops::Div<Output = Self>
    + ops::AddAssign
    + ops::SubAssign
    + ops::MulAssign
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

/// c <- `kept` c + a b, with c row after row. With `kept` = 0, c is not read.
pub(crate) fn multiply<T: Real>(c: &mut [T], kept: T, a: MatRef<'_, T>, b: MatRef<'_, T>) {
    let accumulates = kept != T::default();
    if accumulates {
        passes::scale(c, kept);
    } else if a.ncols() == 0 {
        c.fill(T::default());
    }
    if a.ncols() == 0 || c.is_empty() {
        return;
    }
    let c = MatMut::from_row_major_slice_mut(c, a.nrows(), b.ncols());
    let into = if accumulates { Accum::Add } else { Accum::Replace };
    matmul_with_conj(c, into, a, Conj::No, b, Conj::No, T::of(1.0), Par::Seq);
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
            let rows = MatRef::from_row_major_slice;
            let a = if transposed.0 { rows(&a, k, n).transpose() } else { rows(&a, n, k) };
            let b = if transposed.1 { rows(&b, m, k).transpose() } else { rows(&b, k, m) };
            let mut c: Vec<_> = (0..n * m).map(|i| if kept == 0.0 { f32::NAN } else { value(i + 3) }).collect();
            let old = c.clone();
            multiply(&mut c, kept, a, b);
            for i in 0..n {
                for j in 0..m {
                    let sum: f32 = (0..k).map(|l| a[(i, l)] * b[(l, j)]).sum();
                    let old = if kept == 0.0 { 0.0 } else { kept * old[i * m + j] };
                    // Small integers and halves are exact in f32.
                    prop_assert_eq!(c[i * m + j], old + sum);
                }
            }
        }
    }
}
