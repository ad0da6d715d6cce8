//! Matrix products on lines of sixteen numbers, and the number types they are made of.
//!
//! A matrix is held in panels of sixteen columns (or, transposed, of sixteen rows), each panel line after line, the
//! last one filled up with zeros. A product then reads all operands in their order, aligned and without packing.

// What the kernels call must end up in one function compiled for the processor at hand, and loops over the registers of
// a tile are written with indices, as each runs over several arrays.
#![allow(clippy::inline_always, clippy::needless_range_loop)]

use pulp::{Arch, Simd, WithSimd};
use std::{
    array,
    ops::{self, Range},
};

/// Numbers in a line: a cache line of f32.
pub(crate) const LANES: usize = 16;

/// Sixteen neighbors of a matrix.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[repr(align(64))]
pub(crate) struct Line<T>(pub(crate) [T; LANES]);

impl<T: Real> Line<T> {
    /// Its `i`th vector.
    #[inline(always)]
    pub(crate) fn at<S: Simd>(&self, i: usize) -> T::Vector<S> {
        T::vectors::<S>(&self.0)[i]
    }

    #[inline(always)]
    pub(crate) fn put<S: Simd>(&mut self, i: usize, vector: T::Vector<S>) {
        T::vectors_mut::<S>(&mut self.0)[i] = vector;
    }
}

/// Vectors in a line.
#[inline(always)]
pub(crate) fn n_vectors<T: Real, S: Simd>() -> usize {
    T::vectors::<S>(&[T::default(); LANES]).len()
}

/// The number type of the fused engine: f32; its tests run the same code in f64.
pub(crate) trait Real:
    Copy
    + Default
    + PartialOrd
    + From<f32>
    + Send
    + Sync
    + ops::Add<Output = Self>
    + ops::Sub<Output = Self>
    + ops::Mul<Output = Self>
    + ops::Neg<Output = Self>
    + ops::AddAssign
    + ops::MulAssign
    + 'static
{
    /// A vector register.
    type Vector<S: Simd>: Copy;

    fn of(value: f64) -> Self;
    fn as_f64(self) -> f64;
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S>;
    fn plus<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    fn minus<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    fn times<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    fn over<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    fn square_root<S: Simd>(simd: S, a: Self::Vector<S>) -> Self::Vector<S>;
    /// a b + c.
    fn multiply_add<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S>;
    /// a where y > 0, 0 elsewhere.
    fn if_positive<S: Simd>(simd: S, a: Self::Vector<S>, y: Self::Vector<S>) -> Self::Vector<S>;
    /// 0 where a < 0, a elsewhere, NaN included.
    fn relu<S: Simd>(simd: S, a: Self::Vector<S>) -> Self::Vector<S>;
    /// The numbers of a vector added up.
    fn total<S: Simd>(simd: S, a: Self::Vector<S>) -> Self;
    fn vectors<S: Simd>(line: &[Self; LANES]) -> &[Self::Vector<S>];
    fn vectors_mut<S: Simd>(line: &mut [Self; LANES]) -> &mut [Self::Vector<S>];
}

macro_rules! real {
    ($number:ty, $vector:ident, $($ours:ident($($argument:ident),*) = $theirs:ident),*;
     $splat:ident, $total:ident, $less:ident, $select:ident, $vectors:ident, $vectors_mut:ident) => {
        impl Real for $number {
            type Vector<S: Simd> = S::$vector;

            fn of(value: f64) -> Self {
                value as Self
            }

            fn as_f64(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn splat<S: Simd>(simd: S, value: Self) -> S::$vector {
                simd.$splat(value)
            }
            $(
                #[inline(always)]
                fn $ours<S: Simd>(simd: S, $($argument: S::$vector),*) -> S::$vector {
                    simd.$theirs($($argument),*)
                }
            )*

            #[inline(always)]
            fn relu<S: Simd>(simd: S, a: S::$vector) -> S::$vector {
                let zero = simd.$splat(0.0);
                simd.$select(simd.$less(a, zero), zero, a)
            }

            #[inline(always)]
            fn if_positive<S: Simd>(simd: S, a: S::$vector, y: S::$vector) -> S::$vector {
                let zero = simd.$splat(0.0);
                simd.$select(simd.$less(zero, y), a, zero)
            }

            #[inline(always)]
            fn total<S: Simd>(simd: S, a: S::$vector) -> Self {
                simd.$total(a)
            }

            #[inline(always)]
            fn vectors<S: Simd>(line: &[Self; LANES]) -> &[S::$vector] {
                S::$vectors(line).0
            }

            #[inline(always)]
            fn vectors_mut<S: Simd>(line: &mut [Self; LANES]) -> &mut [S::$vector] {
                S::$vectors_mut(line).0
            }
        }
    };
}

real!(
    f32, f32s,
    plus(a, b) = add_f32s,
    minus(a, b) = sub_f32s,
    times(a, b) = mul_f32s,
    over(a, b) = div_f32s,
    square_root(a) = sqrt_f32s,
    multiply_add(a, b, c) = mul_add_f32s;
    splat_f32s, reduce_sum_f32s, less_than_f32s, select_f32s, as_simd_f32s, as_mut_simd_f32s
);
#[cfg(test)]
real!(
    f64, f64s,
    plus(a, b) = add_f64s,
    minus(a, b) = sub_f64s,
    times(a, b) = mul_f64s,
    over(a, b) = div_f64s,
    square_root(a) = sqrt_f64s,
    multiply_add(a, b, c) = mul_add_f64s;
    splat_f64s, reduce_sum_f64s, less_than_f64s, select_f64s, as_simd_f64s, as_mut_simd_f64s
);

/// Rows that lie together: of these first one panel, then the next, so that products go through memory in its order.
pub(crate) const BLOCK: usize = 256;

/// Lines that `n_rows` rows of `n_columns` columns take.
pub(crate) fn n_lines(n_rows: usize, n_columns: usize) -> usize {
    n_rows * n_columns.div_ceil(LANES)
}

/// Where a line is among those of `n_rows` rows in `n_panels` panels.
#[inline(always)]
pub(crate) fn place(n_rows: usize, n_panels: usize, panel: usize, row: usize) -> usize {
    let start = row - row % BLOCK;
    start * n_panels + panel * BLOCK.min(n_rows - start) + row - start
}

/// A matrix `(n_rows, n_columns)` in lines along its rows, filled up with zeros.
pub(crate) fn lines<T: Real>(
    n_rows: usize,
    n_columns: usize,
    number: impl Fn(usize, usize) -> f32,
) -> Vec<Line<T>> {
    let mut lines = vec![Line::default(); n_lines(n_rows, n_columns)];
    for i in 0..n_rows {
        for j in 0..n_columns {
            let at = place(n_rows, n_columns.div_ceil(LANES), j / LANES, i);
            lines[at].0[j % LANES] = T::of(f64::from(number(i, j)));
        }
    }
    lines
}

/// The left matrix of a product a b.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Left<'a, T> {
    /// A line is a piece of a row of a.
    Rows(&'a [Line<T>]),
    /// A line is a piece of a column of a.
    Columns(&'a [Line<T>]),
}

/// The product a b of shapes `(n_rows, n_inner)` and `(n_inner, n_columns)`, where a line of b is a piece of a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Product<'a, T> {
    pub(crate) n_rows: usize,
    pub(crate) n_inner: usize,
    pub(crate) n_columns: usize,
    pub(crate) a: Left<'a, T>,
    pub(crate) b: &'a [Line<T>],
}

/// Panels of the result that are formed at once, of a block of rows and from a block of terms: what they need of a and
/// b then comes from the farther caches once.
const N_PANELS: usize = 3;

/// Rows of a tile whose sums stay in 32 registers, beside three vectors of b and one of a.
const TILE: usize = 8;

impl<T: Real> Product<'_, T> {
    /// Forms the product block by block: `finish` gets a panel's number, the first row, the place of that line and
    /// the lines from there on, while they are in the nearest cache. `sums` is room for them.
    pub(crate) fn form(
        self,
        sums: &mut Vec<Line<T>>,
        mut finish: impl FnMut(usize, usize, usize, &[Line<T>]),
    ) {
        let n_panels = self.n_columns.div_ceil(LANES);
        let n_rounds = self.n_inner.div_ceil(BLOCK).max(1);
        let n_sums = if n_rounds > 1 { self.n_rows * n_panels } else { BLOCK * N_PANELS };
        if sums.len() < n_sums {
            sums.resize(n_sums, Line::default());
        }
        let arch = Arch::new();
        for round in 0..n_rounds {
            let terms = round * BLOCK..((round + 1) * BLOCK).min(self.n_inner);
            for row in (0..self.n_rows).step_by(BLOCK) {
                let n_rows = BLOCK.min(self.n_rows - row);
                for panel in (0..n_panels).step_by(N_PANELS) {
                    let at = place(self.n_rows, n_panels, panel, row);
                    let start = if n_rounds > 1 { at } else { 0 };
                    let sums = &mut sums[start..][..n_rows * N_PANELS.min(n_panels - panel)];
                    let terms = terms.clone();
                    arch.dispatch(Block { product: self, terms, row, panel, n_rows, sums });
                    if round + 1 == n_rounds {
                        for (i, lines) in sums.chunks_exact(n_rows).enumerate() {
                            finish(panel + i, row, at + i * n_rows, lines);
                        }
                    }
                }
            }
        }
    }
}

/// Adds a block of `terms` to the sums of `n_rows` rows from `row` and some panels from `panel` on; the first terms
/// begin the sums.
struct Block<'a, 's, T> {
    product: Product<'a, T>,
    terms: Range<usize>,
    row: usize,
    panel: usize,
    n_rows: usize,
    sums: &'s mut [Line<T>],
}

impl<T: Real> WithSimd for Block<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let n_vectors = self.sums.len() / self.n_rows * n_vectors::<T, S>();
        let mut q = 0;
        while q < n_vectors {
            match n_vectors - q {
                1 => self.strip::<S, 1>(simd, q),
                2 => self.strip::<S, 2>(simd, q),
                _ => self.strip::<S, 3>(simd, q),
            }
            q += 3;
        }
    }
}

impl<T: Real> Block<'_, '_, T> {
    /// The `N` columns of vectors from the `q`th on.
    #[inline(always)]
    fn strip<S: Simd, const N: usize>(&mut self, simd: S, q: usize) {
        let mut i = 0;
        while i < self.n_rows {
            let rest = self.n_rows - i;
            if S::REGISTER_COUNT >= 32 && N == 1 && rest > TILE {
                self.tile::<S, { 2 * TILE }, N>(simd, i, q);
                i += 2 * TILE;
            } else if S::REGISTER_COUNT >= 32 && rest > TILE / 2 {
                self.tile::<S, TILE, N>(simd, i, q);
                i += TILE;
            } else {
                self.tile::<S, { TILE / 2 }, N>(simd, i, q);
                i += TILE / 2;
            }
        }
    }

    /// Up to `M` rows of them, from the `i`th on.
    #[inline(always)]
    fn tile<S: Simd, const M: usize, const N: usize>(&mut self, simd: S, i: usize, q: usize) {
        let Product { n_rows, n_inner, n_columns, a, b } = self.product;
        let (start, n_terms) = (self.terms.start, self.terms.len());
        let n_kept = M.min(self.n_rows - i);
        let per_line = n_vectors::<T, S>();
        let panels: [usize; N] = array::from_fn(|n| (q + n) / per_line);
        let parts: [usize; N] = array::from_fn(|n| (q + n) % per_line);
        let before = start * n_columns.div_ceil(LANES) + self.panel * n_terms;
        let b = panels.map(|panel| &b[before + panel * n_terms..][..n_terms]);
        let mut sums = [[T::splat(simd, T::default()); N]; M];
        if start > 0 {
            for n in 0..N {
                let lines = &self.sums[panels[n] * self.n_rows + i..][..n_kept];
                for m in 0..M {
                    sums[m][n] = lines[m.min(n_kept - 1)].at::<S>(parts[n]);
                }
            }
        }
        match a {
            Left::Rows(lines) => {
                let before = self.row * n_inner.div_ceil(LANES);
                let first = start / LANES;
                for k in (0..n_terms).step_by(LANES) {
                    let panel = before + (first + k / LANES) * self.n_rows;
                    let panel = &lines[panel..][..self.n_rows];
                    // Beyond the last row it is repeated; those sums are not kept.
                    let mut rows = [&panel[i]; M];
                    for m in 1..M {
                        rows[m] = &panel[(i + m).min(self.n_rows - 1)];
                    }
                    for j in 0..LANES.min(n_terms - k) {
                        add_outer(simd, |m| rows[m].0[j], b, parts, k + j, &mut sums);
                    }
                }
            }
            Left::Columns(lines) => {
                let row = self.row + i;
                let before = start * n_rows.div_ceil(LANES) + row / LANES * n_terms;
                // A tile starts at a multiple of its rows, so that it never leaves the panel.
                let place = row % LANES / M * M;
                for (k, line) in lines[before..][..n_terms].iter().enumerate() {
                    add_outer(simd, |m| line.0[place + m], b, parts, k, &mut sums);
                }
            }
        }
        for n in 0..N {
            let lines = &mut self.sums[panels[n] * self.n_rows + i..][..n_kept];
            // Known bounds, as the sums would leave their registers for an index that is not.
            for m in 0..M {
                if m < n_kept {
                    lines[m].put::<S>(parts[n], sums[m][n]);
                }
            }
        }
    }
}

/// Adds the outer product of `a` and row `k` of b.
#[inline(always)]
fn add_outer<T: Real, S: Simd, const M: usize, const N: usize>(
    simd: S,
    a: impl Fn(usize) -> T,
    b: [&[Line<T>]; N],
    parts: [usize; N],
    k: usize,
    sums: &mut [[T::Vector<S>; N]; M],
) {
    let mut row = [T::splat(simd, T::default()); N];
    for n in 0..N {
        row[n] = b[n][k].at::<S>(parts[n]);
    }
    for m in 0..M {
        let a = T::splat(simd, a(m));
        for n in 0..N {
            sums[m][n] = T::multiply_add(simd, a, row[n], sums[m][n]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// NaN fills up the lines: what stands there must not matter.
    fn matrix(
        n_rows: usize,
        n_columns: usize,
        number: impl Fn(usize, usize) -> f32,
    ) -> Vec<Line<f32>> {
        let n_filled = n_columns.next_multiple_of(LANES);
        lines(n_rows, n_filled, |i, j| if j < n_columns { number(i, j) } else { f32::NAN })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50))]
        #[test]
        fn a_product_is_the_sum_over_the_inner_index(
            n_rows in 1..2 * BLOCK + 40, n_inner in 0..2 * BLOCK + 40, n_columns in 1..7 * LANES,
            transposed in any::<bool>(),
        ) {
            // Sums of products of small integers are exact in f32.
            let a = |i: usize, k: usize| ((i * 31 + k * 7919) % 23) as f32 - 11.0;
            let b = |k: usize, j: usize| ((k * 17 + j * 3571) % 19) as f32 - 9.0;
            let (rows, columns) = (matrix(n_rows, n_inner, a), matrix(n_inner, n_rows, |k, i| a(i, k)));
            let left = if transposed { Left::Columns(&columns) } else { Left::Rows(&rows) };
            let right = matrix(n_inner, n_columns, b);
            let product = Product { n_rows, n_inner, n_columns, a: left, b: &right };
            let n_panels = n_columns.div_ceil(LANES);
            let mut times_visited = vec![0; n_lines(n_rows, n_columns)];
            let mut sums = vec![Line([f32::NAN; LANES]); 3];
            product.form(&mut sums, |panel, row, at, lines| {
                for (i, line) in (row..).zip(lines) {
                    assert_eq!(at + i - row, place(n_rows, n_panels, panel, i));
                    times_visited[at + i - row] += 1;
                    for (j, &found) in (panel * LANES..n_columns).zip(&line.0) {
                        let expected: f32 = (0..n_inner).map(|k| a(i, k) * b(k, j)).sum();
                        assert_eq!(expected, found, "row {i}, column {j}");
                    }
                }
            });
            prop_assert!(times_visited.iter().all(|&times| times == 1));
        }
    }
}
