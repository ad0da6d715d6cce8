//! Squared Euclidean distance.

use pulp::{Arch, Simd, WithSimd};

/// Returns the squared Euclidean distance of two points.
///
/// It sums direct differences in double precision in one fixed order, so it is exactly symmetric.
///
/// ```
/// assert_eq!(cdimc_core::squared_distance(&[0.0_f32, 4.0], &[3.0_f64, 0.0]), 25.0);
/// ```
///
/// # Panics
/// If the points have different numbers of coordinates.
pub fn squared_distance<A, B>(a: &[A], b: &[B]) -> f64
where
    A: Copy + Into<f64>,
    B: Copy + Into<f64>,
{
    assert_eq!(a.len(), b.len(), "points must have equal numbers of coordinates");
    Arch::new().dispatch(Pair(a, b))
}

struct Pair<'a, A, B>(&'a [A], &'a [B]);

impl<A: Copy + Into<f64>, B: Copy + Into<f64>> WithSimd for Pair<'_, A, B> {
    type Output = f64;

    // Only inlined code is compiled for the instruction set found at run time.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        const LANES: usize = 8;
        let mut sums = [0.0; LANES];
        let (a, rest_of_a) = self.0.as_chunks::<LANES>();
        let (b, rest_of_b) = self.1.as_chunks::<LANES>();
        for (a, b) in a.iter().zip(b) {
            for ((sum, &a), &b) in sums.iter_mut().zip(a).zip(b) {
                let difference = a.into() - b.into();
                *sum += difference * difference;
            }
        }
        for ((sum, &a), &b) in sums.iter_mut().zip(rest_of_a).zip(rest_of_b) {
            let difference = a.into() - b.into();
            *sum += difference * difference;
        }
        ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "points must have equal numbers of coordinates")]
    fn points_of_different_dimensions_have_no_distance() {
        // The blocks of eight would pair up to nothing, and the remainders would give a number.
        squared_distance(&[1.0; 9], &[0.0; 2]);
    }
}
