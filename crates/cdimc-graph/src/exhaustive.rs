//! Nearest neighbors by comparing all pairs: single-precision matrix products exclude most pairs, double-precision
//! differences compare the rest.
//!
//! For centered points, half a squared distance is ½‖xᵢ‖² + ½‖xⱼ‖² - xᵢ·xⱼ. The products of two blocks of rows serve both
//! blocks. The rounding error is bounded in advance (Higham, Accuracy and Stability of Numerical Algorithms, section
//! 3.1), so no neighbor is excluded and no rounded product reaches the result.

use crate::closest::{Candidate, Closest};
use crate::cloud::Cloud;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Rows per block; the products of two blocks fit into a core's cache.
const BLOCK_SIZE: usize = 512;
/// Pairs tested together.
const PAIRS_PER_TEST: usize = 32;

/// Returns the neighbors of every point, nearest first; requires `1 <= n_neighbors < n_points`.
pub(crate) fn nearest(cloud: &Cloud, n_neighbors: usize) -> Vec<Vec<Candidate>> {
    let rows = Rows::new(cloud);
    let n_points = cloud.n_points();
    let n_blocks = n_points.div_ceil(BLOCK_SIZE);
    let range = |b: usize| b * BLOCK_SIZE..n_points.min((b + 1) * BLOCK_SIZE);
    let block = |b: usize| Mutex::new(Block::new(range(b), n_neighbors));
    let blocks: Vec<Mutex<Block>> = (0..n_blocks).map(block).collect();
    // Near blocks are compared first. If similar samples are adjacent, as after sorting by cluster, few candidates remain
    // for the other blocks.
    let pairs: Vec<(usize, usize)> =
        (0..n_blocks).flat_map(|gap| (gap..n_blocks).map(move |b| (b - gap, b))).collect();
    // The order in which threads run affects how many distances are computed, but not the result.
    pairs.par_iter().for_each_init(Vec::new, |products, &(first, second)| {
        rows.products(range(first), range(second), products);
        let mut first_block = blocks[first].lock().unwrap_or_else(PoisonError::into_inner);
        if first == second {
            first_block.compare_within(&rows, products);
        } else {
            let mut second_block = blocks[second].lock().unwrap_or_else(PoisonError::into_inner);
            first_block.compare(&mut second_block, &rows, products);
        }
    });
    let blocks = blocks.into_iter().map(|b| b.into_inner().unwrap_or_else(PoisonError::into_inner));
    blocks.flat_map(|block| block.closest).map(Closest::into_sorted).collect()
}

/// Points prepared for products.
struct Rows<'a> {
    cloud: &'a Cloud<'a>,
    /// Centered and scaled points, `(n_points, n_features)`.
    centered: Vec<f32>,
    /// Lower bounds h of half the squared norms of `centered`, such that hᵢ + hⱼ minus the `f32` product xᵢ·xⱼ is at most
    /// half the scaled squared distance.
    half_norms: Vec<f32>,
    /// Factor from a squared distance to half the scaled squared distance.
    half_scale: f64,
}

impl<'a> Rows<'a> {
    fn new(cloud: &'a Cloud) -> Self {
        // The error of a sum of m products in f32, each factor rounded once, is at most
        // γ(m+3) Σ|xᵢ xⱼ| <= γ(m+3) (‖xᵢ‖² + ‖xⱼ‖²) / 2 with γ(p) = pu / (1 - pu), u = 2⁻²⁴. The additional terms cover the
        // f64 roundings of norm, mean and direct distance; `UNDERFLOW` covers products below the range of f32.
        const UNDERFLOW: f64 = 1e-30;
        let n_features = cloud.n_features;
        let roundings = (n_features + 8) as f64 * 0.5_f64.powi(24);
        let share = if roundings < 0.5 { roundings / (1.0 - roundings) } else { f64::INFINITY };
        // Without a scale no pair is excluded.
        let scale = cloud.scale.unwrap_or(0.0);
        let mut centered = vec![0.0; cloud.n_points() * n_features];
        let half_norms = centered
            .par_chunks_exact_mut(n_features)
            .enumerate()
            .map(|(i, centered)| {
                let mut norm = 0.0;
                if scale > 0.0 {
                    for (c, x) in centered.iter_mut().zip(cloud.scaled(i, scale)) {
                        norm += x * x;
                        *c = x as f32;
                    }
                }
                let bound = norm / 2.0 - share * norm / 2.0 - UNDERFLOW;
                let is_bound = scale > 0.0 && bound.is_finite();
                if is_bound { (bound as f32).next_down() } else { f32::NEG_INFINITY }
            })
            .collect();
        Self { cloud, centered, half_norms, half_scale: scale * scale / 2.0 }
    }

    /// Computes the `f32` inner products of each row of `first` and each row of `second`.
    fn products(&self, first: Range<usize>, second: Range<usize>, products: &mut Vec<f32>) {
        let m = self.cloud.n_features;
        let rows_of = |range: Range<usize>| {
            let n_rows = range.len();
            MatRef::from_row_major_slice(&self.centered[range.start * m..range.end * m], n_rows, m)
        };
        let (n_rows, n_columns) = (first.len(), second.len());
        products.resize(n_rows * n_columns, 0.0);
        let products = MatMut::from_row_major_slice_mut(products, n_rows, n_columns);
        let (first, second) = (rows_of(first), rows_of(second).transpose());
        matmul(products, Accum::Replace, first, second, 1.0, Par::Seq);
    }
}

/// Nearest candidates of a block of rows.
struct Block {
    start: usize,
    closest: Vec<Closest>,
    /// Half the scaled reach of each row minus its half norm: point j can be a neighbor only if its product plus this bound
    /// is at least `half_norms[j]`.
    bounds: Vec<f32>,
}

impl Block {
    fn new(range: Range<usize>, n_neighbors: usize) -> Self {
        Self {
            start: range.start,
            closest: range.clone().map(|_| Closest::new(n_neighbors)).collect(),
            bounds: vec![f32::INFINITY; range.len()],
        }
    }

    fn offer(&mut self, row: usize, rows: &Rows, squared_distance: f64, point: usize) {
        let closest = &mut self.closest[row];
        closest.offer(squared_distance, point as u32);
        let reach = closest.reach() * rows.half_scale;
        if reach.is_finite() {
            let bound = reach - f64::from(rows.half_norms[self.start + row]);
            self.bounds[row] = (bound as f32).next_up();
        }
    }

    /// Compares every row of this block with every row of `other`.
    fn compare(&mut self, other: &mut Self, rows: &Rows, products: &[f32]) {
        let n_others = other.closest.len();
        for (row, products) in products.chunks_exact(n_others).enumerate() {
            let i = self.start + row;
            let half_norm = rows.half_norms[i];
            for first in (0..n_others).step_by(PAIRS_PER_TEST) {
                let lanes = first..n_others.min(first + PAIRS_PER_TEST);
                let half_norms =
                    &rows.half_norms[other.start + lanes.start..other.start + lanes.end];
                let mut hit = false;
                for ((p, bound), h) in
                    products[lanes.clone()].iter().zip(&other.bounds[lanes.clone()]).zip(half_norms)
                {
                    // Without a branch, so that the compiler vectorizes the loop.
                    #[allow(clippy::needless_bitwise_bool)]
                    let close = (p + self.bounds[row] >= *h) | (p + bound >= half_norm);
                    hit |= close;
                }
                if !hit {
                    continue;
                }
                for column in lanes {
                    let (p, j) = (products[column], other.start + column);
                    let is_near_i = p + self.bounds[row] >= rows.half_norms[j];
                    let is_near_j = p + other.bounds[column] >= half_norm;
                    if is_near_i || is_near_j {
                        let squared_distance = rows.cloud.squared_distance(i, j);
                        self.offer(row, rows, squared_distance, j);
                        other.offer(column, rows, squared_distance, i);
                    }
                }
            }
        }
    }

    /// Compares every row of this block with the rows after it.
    fn compare_within(&mut self, rows: &Rows, products: &[f32]) {
        let n_rows = self.closest.len();
        for row in 0..n_rows {
            let i = self.start + row;
            for column in row + 1..n_rows {
                let (p, j) = (products[row * n_rows + column], self.start + column);
                let is_near_i = p + self.bounds[row] >= rows.half_norms[j];
                let is_near_j = p + self.bounds[column] >= rows.half_norms[i];
                if is_near_i || is_near_j {
                    let squared_distance = rows.cloud.squared_distance(i, j);
                    self.offer(row, rows, squared_distance, j);
                    self.offer(column, rows, squared_distance, i);
                }
            }
        }
    }
}
