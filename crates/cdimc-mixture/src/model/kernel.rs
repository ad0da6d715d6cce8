//! The two innermost loops of an iteration, compiled for the running processor.

// The kernels and their callees must be inlined into one function compiled for the running processor.
#![allow(clippy::inline_always)]

use crate::observations::LANES;
use pulp::{Simd, WithSimd};

/// Vector registers of rows that share a multiplier.
const N_REGISTERS: usize = 4;
/// Numbers per cache line of a scatter.
pub(crate) const CACHE_LINE: usize = 8;
/// Largest exponent whose power of e is finite.
pub(crate) const MAX_EXPONENT: f64 = 700.0;
/// Smallest exponent whose power of e is not subnormal.
const MIN_EXPONENT: f64 = -707.0;
/// 1.5 · 2⁵²; adding it rounds to an integer, stored in the low bits.
const ROUNDING_SHIFT: f64 = 6_755_399_441_055_744.0;
/// ln 2 in two parts; the first has trailing zeros.
const LN2_HI: f64 = 6.931_471_803_691_238e-1;
const LN2_LO: f64 = 1.908_214_929_270_587_7e-10;

/// Squared distances ‖W z - g‖² of every row and cluster.
pub(crate) struct SquaredDistances<'a> {
    /// Rows z, `(q, LANES)`.
    pub(crate) rows: &'a [f64],
    /// Lower triangles W, `(n_clusters, q (q + 1) / 2)`.
    pub(crate) whitening: &'a [f64],
    /// Offsets g, `(n_clusters, q)`.
    pub(crate) offsets: &'a [f64],
    /// Number of coordinates q.
    pub(crate) width: usize,
    /// Clusters to compute, `(n_clusters)`.
    pub(crate) active: &'a [bool],
    /// Output, `(n_clusters, LANES)`.
    pub(crate) out: &'a mut [f64],
}

impl WithSimd for SquaredDistances<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let q = self.width;
        let size = q * (q + 1) / 2;
        let (z, _) = S::as_simd_f64s(self.rows);
        let clusters = self.whitening.chunks_exact(size).zip(self.offsets.chunks_exact(q));
        let clusters = clusters.zip(self.out.chunks_exact_mut(LANES)).zip(self.active);
        for (((w, g), out), _) in clusters.filter(|(_, active)| **active) {
            of_cluster(simd, z, w, g, S::as_mut_simd_f64s(out).0);
        }
    }
}

/// Computes the squared lengths of W z - g, two rows of W at a time.
#[inline(always)]
fn of_cluster<S: Simd>(simd: S, z: &[S::f64s], w: &[f64], g: &[f64], out: &mut [S::f64s]) {
    let per_column = out.len();
    for first in (0..per_column).step_by(N_REGISTERS) {
        let mut sums = [simd.splat_f64s(0.0); N_REGISTERS];
        let mut rest = w;
        for (pair, g) in g.chunks(2).enumerate() {
            let a = 2 * pair;
            let mut y = [simd.splat_f64s(-g[0]); N_REGISTERS];
            let line;
            (line, rest) = rest.split_at(a + 1);
            let columns = z.chunks_exact(per_column);
            if let Some(g) = g.get(1) {
                let mut next = [simd.splat_f64s(-g); N_REGISTERS];
                let line_below;
                (line_below, rest) = rest.split_at(a + 2);
                for ((w, below), z) in line.iter().zip(line_below).zip(columns) {
                    let (w, below) = (simd.splat_f64s(*w), simd.splat_f64s(*below));
                    let z = &z[first..first + N_REGISTERS];
                    for l in 0..N_REGISTERS {
                        y[l] = simd.mul_add_f64s(w, z[l], y[l]);
                        next[l] = simd.mul_add_f64s(below, z[l], next[l]);
                    }
                }
                let below = simd.splat_f64s(line_below[a + 1]);
                let z = &z[(a + 1) * per_column + first..][..N_REGISTERS];
                for l in 0..N_REGISTERS {
                    next[l] = simd.mul_add_f64s(below, z[l], next[l]);
                    sums[l] = simd.mul_add_f64s(next[l], next[l], sums[l]);
                }
            } else {
                for (w, z) in line.iter().zip(columns) {
                    let w = simd.splat_f64s(*w);
                    let z = &z[first..first + N_REGISTERS];
                    for l in 0..N_REGISTERS {
                        y[l] = simd.mul_add_f64s(w, z[l], y[l]);
                    }
                }
            }
            for l in 0..N_REGISTERS {
                sums[l] = simd.mul_add_f64s(y[l], y[l], sums[l]);
            }
        }
        out[first..first + N_REGISTERS].copy_from_slice(&sums);
    }
}

/// Adds Σ w z and Σ w z zᵀ over four rows z, the latter to the lower triangle of `second`; rows are padded to
/// multiples of [`CACHE_LINE`].
#[inline(always)]
pub(crate) fn add_rows(first: &mut [f64], second: &mut [f64], rows: &[f64], weights: [f64; 4]) {
    let stride = rows.len() / 4;
    let per_row = stride / CACHE_LINE;
    let (lines, _) = rows.as_chunks::<CACHE_LINE>();
    for (a, line) in second.chunks_exact_mut(stride).enumerate() {
        let (w0, w1) = (weights[0] * rows[a], weights[1] * rows[stride + a]);
        let (w2, w3) = (weights[2] * rows[2 * stride + a], weights[3] * rows[3 * stride + a]);
        first[a] += (w0 + w1) + (w2 + w3);
        let (to, _) = line.as_chunks_mut::<CACHE_LINE>();
        for b in 0..=a / CACHE_LINE {
            let (z0, z1) = (&lines[b], &lines[per_row + b]);
            let (z2, z3) = (&lines[2 * per_row + b], &lines[3 * per_row + b]);
            let to = &mut to[b];
            for l in 0..CACHE_LINE {
                let half = w1.mul_add(z1[l], w0.mul_add(z0[l], to[l]));
                to[l] = w3.mul_add(z3[l], w2.mul_add(z2[l], half));
            }
        }
    }
}

/// Returns the natural logarithm of a positive normal number, without a branch (fdlibm's `log`).
#[inline(always)]
pub(crate) fn ln(x: f64) -> f64 {
    // Moves the mantissa to [√½, √2).
    let bits = x.to_bits().wrapping_add(0x3ff0_0000_0000_0000 - 0x3fe6_a09e_0000_0000);
    // The low bits of a number near 2⁵² are its integer value.
    let exponent = f64::from_bits((bits >> 52) | 0x4330_0000_0000_0000) - 4_503_599_627_370_496.0;
    let k = exponent - 1023.0;
    let m = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) + 0x3fe6_a09e_0000_0000);
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w * w.mul_add(
        w.mul_add(1.531_383_769_920_937_3e-1, 2.222_219_843_214_978_4e-1),
        3.999_999_999_940_942e-1,
    );
    let odd = z * w.mul_add(
        w.mul_add(
            w.mul_add(1.479_819_860_511_658_6e-1, 1.818_357_216_161_805e-1),
            2.857_142_874_366_239e-1,
        ),
        6.666_666_666_666_735e-1,
    );
    let half_square = 0.5 * f * f;
    k * LN2_HI - ((half_square - (s * (half_square + even + odd) + k * LN2_LO)) - f)
}

/// Returns the exponential of a number up to 700, without a branch; the result is at least about 1e-307.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    let x = if x > MIN_EXPONENT { x } else { MIN_EXPONENT };
    let shifted = x.mul_add(std::f64::consts::LOG2_E, ROUNDING_SHIFT);
    let n = shifted - ROUNDING_SHIFT;
    let r = (-n).mul_add(LN2_LO, (-n).mul_add(LN2_HI, x));
    // Taylor series: |r| is at most ln 2 / 2, so the term r¹⁴/14! is below 1e-17.
    let r2 = r * r;
    let r4 = r2 * r2;
    let low = r.mul_add(1.0 / 6.0, 1.0 / 2.0);
    let low = r2.mul_add(r.mul_add(1.0 / 120.0, 1.0 / 24.0), low);
    let middle = r.mul_add(1.0 / 5_040.0, 1.0 / 720.0);
    let middle = r2.mul_add(r.mul_add(1.0 / 362_880.0, 1.0 / 40_320.0), middle);
    let high = r.mul_add(1.0 / 39_916_800.0, 1.0 / 3_628_800.0);
    let high = r2.mul_add(r.mul_add(1.0 / 6_227_020_800.0, 1.0 / 479_001_600.0), high);
    let series = r4.mul_add(r4.mul_add(high, middle), low);
    let sum = r2.mul_add(series, r) + 1.0;
    // 2ⁿ, with n from the low bits of `shifted`.
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    sum * power
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn logarithms_and_exponentials_match_the_standard_library() {
        for i in 0..20_000 {
            let x = 1.0 + (f64::from(i) * 0.01).powi(5) * 1e-3;
            assert_relative_eq!(ln(x), x.ln(), max_relative = 1e-15, epsilon = 1e-16);
            let x = -f64::from(i) * 0.035;
            assert_relative_eq!(exp(x), x.exp(), max_relative = 4e-16);
        }
        assert_relative_eq!(exp(700.0), 700_f64.exp(), max_relative = 1e-15);
        assert_eq!((ln(1.0), exp(0.0)), (0.0, 1.0));
        assert!(exp(f64::NEG_INFINITY) < 1e-306);
    }
}
