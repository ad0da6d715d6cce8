//! Numbers of the fused engine, and matrix products of slices.

use faer::{Accum, Conj, MatMut, MatRef, Par, linalg::matmul::matmul_with_conj, traits::RealField};

/// A number: f32, or f64 in tests.
pub(crate) trait Real: RealField + Copy + Default {
    fn of(value: f64) -> Self;
    fn as_f64(self) -> f64;
    fn square_root(self) -> Self;
}

macro_rules! real {
    ($real:ty) => {
        impl Real for $real {
            fn of(value: f64) -> Self {
                value as Self
            }

            fn as_f64(self) -> f64 {
                self.into()
            }

            fn square_root(self) -> Self {
                self.sqrt()
            }
        }
    };
}

real!(f32);
#[cfg(test)]
real!(f64);

/// Returns the matrix with these consecutive rows.
pub(crate) fn rows<T>(values: &[T], width: usize) -> MatRef<'_, T> {
    MatRef::from_row_major_slice(values, values.len() / width, width)
}

/// c <- a b, row by row, in this thread, so that the bits do not depend on the number of threads.
pub(crate) fn multiply<T: Real>(c: &mut [T], a: MatRef<'_, T>, b: MatRef<'_, T>) {
    let c = MatMut::from_row_major_slice_mut(c, a.nrows(), b.ncols());
    matmul_with_conj(c, Accum::Replace, a, Conj::No, b, Conj::No, T::of(1.0), Par::Seq);
}
