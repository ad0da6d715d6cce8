//! Numbers of the fused engine, and matrix products of slices.

use faer::{Accum, Conj, MatMut, MatRef, Par, linalg::matmul::matmul_with_conj, traits::RealField};

/// A number: f32, or f64 in tests.
pub(crate) trait Real: RealField + Copy + Default {
    fn of(value: f64) -> Self;
    fn as_f64(self) -> f64;
    fn square_root(self) -> Self;
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
}

/// Returns the matrix with these consecutive rows.
pub(crate) fn rows<T>(values: &[T], width: usize) -> MatRef<'_, T> {
    MatRef::from_row_major_slice(values, values.len() / width, width)
}

/// c <- a b, row by row, in this thread, so that the bits do not depend on the number of threads.
pub(crate) fn multiply<T: Real>(c: &mut [T], a: MatRef<'_, T>, b: MatRef<'_, T>) {
    let c = MatMut::from_row_major_slice_mut(c, a.nrows(), b.ncols());
    matmul_with_conj(c, Accum::Replace, a, Conj::No, b, Conj::No, T::of(1.0), Par::Seq);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_product_is_the_sum_over_the_inner_index(
            n in 1..20_usize, m in 1..20_usize, k in 0..20_usize, transposed in any::<(bool, bool)>(),
        ) {
            let value = |i: usize| ((i * 7919) % 23) as f32 - 11.0;
            let (a, b): (Vec<_>, Vec<_>) = ((0..n * k).map(value).collect(), (0..k * m).map(value).collect());
            let a = if transposed.0 || k == 0 { rows(&a, n).transpose() } else { rows(&a, k) };
            let b = if transposed.1 && k > 0 { rows(&b, k).transpose() } else { rows(&b, m) };
            let mut c = vec![f32::NAN; n * m];
            multiply(&mut c, a, b);
            for i in 0..n {
                for j in 0..m {
                    // Small integers are exact in f32.
                    prop_assert_eq!(c[i * m + j], (0..k).map(|l| a[(i, l)] * b[(l, j)]).sum::<f32>());
                }
            }
        }
    }
}
