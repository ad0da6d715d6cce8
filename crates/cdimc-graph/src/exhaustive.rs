//! Nearest neighbors by comparing all pairs: single-precision matrix products rule pairs out,
//! direct double-precision differences decide among the rest.
//!
//! With the mean taken off, half a squared distance is ½‖xᵢ‖² + ½‖xⱼ‖² - xᵢ·xⱼ, and the products of
//! a block of rows with another block serve the rows of both. What rounding can add is bounded
//! beforehand (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1), so that no
//! neighbor is ever ruled out, and no rounding of a product reaches the result.

use crate::closest::{Candidate, Closest, squared_distance};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Rows of a block: the products of two blocks stay in a core's cache.
const BLOCK: usize = 512;
/// Pairs looked at together.
const LANES: usize = 32;

/// The neighbors of every row, nearest first; `points` row after row, and
/// `1 <= n_neighbors < n_points`.
pub(crate) fn nearest(
    points: &[f64],
    n_features: usize,
    n_neighbors: usize,
) -> Vec<Vec<Candidate>> {
    let rows = Rows::new(points, n_features);
    let n_points = rows.half_norms.len();
    let blocks: Vec<Mutex<Block>> = (0..n_points)
        .step_by(BLOCK)
        .map(|start| start..n_points.min(start + BLOCK))
        .map(|range| Mutex::new(Block::new(range, n_neighbors)))
        .collect();
    // Blocks near each other come first: where like samples stand together, as they do once
    // arranged by cluster, few candidates are left for the blocks further off.
    let n_blocks = blocks.len();
    let pairs: Vec<(usize, usize)> =
        (0..n_blocks).flat_map(|gap| (gap..n_blocks).map(move |b| (b - gap, b))).collect();
    // Which thread does what when changes how many candidates are measured, never which win.
    pairs.par_iter().for_each_init(Vec::new, |products, &(first, second)| {
        let range = |b: usize| b * BLOCK..n_points.min((b + 1) * BLOCK);
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

/// The points and what is known about each of them beforehand.
struct Rows<'a> {
    points: &'a [f64],
    n_features: usize,
    /// The points less their mean, scaled by a power of two so that the greatest coordinate lies
    /// in 1..2, `(n_points, n_features)`.
    centered: Vec<f32>,
    /// Lower bounds h of half the squared norms of `centered`, so low that hᵢ + hⱼ less the `f32`
    /// product xᵢ·xⱼ is at most half the scaled squared distance.
    half_norms: Vec<f32>,
    /// From a squared distance to half the scaled one.
    half_scale: f64,
    /// The first point equal to each point: in a sparse view most pairs may be equal.
    representative: Vec<u32>,
}

impl<'a> Rows<'a> {
    fn new(points: &'a [f64], n_features: usize) -> Self {
        let n_points = points.len() / n_features;
        let mut mean = vec![0.0; n_features];
        for row in points.chunks_exact(n_features) {
            for (m, x) in mean.iter_mut().zip(row) {
                *m += x / n_points as f64;
            }
        }
        let greatest = points
            .chunks_exact(n_features)
            .flat_map(|row| row.iter().zip(&mean).map(|(x, m)| (x - m).abs()))
            .fold(0.0, f64::max);
        // Beyond these bounds squares leave the range of f64; no pair is then ruled out.
        let is_ordinary = (1e-100..1e100).contains(&greatest);
        let scale = if is_ordinary { (-greatest.log2().floor()).exp2() } else { 0.0 };
        let mut centered = vec![0.0; points.len()];
        let mut norms = vec![0.0_f64; n_points];
        centered
            .par_chunks_exact_mut(n_features)
            .zip(points.par_chunks_exact(n_features))
            .zip(&mut norms)
            .for_each(|((centered, row), norm)| {
                for ((c, x), m) in centered.iter_mut().zip(row).zip(&mean) {
                    let scaled = if is_ordinary { (x - m) * scale } else { 0.0 };
                    *norm += scaled * scaled;
                    *c = scaled as f32;
                }
            });
        // A sum of m products in f32, each of its factors rounded once, is off by at most
        // γ(m+3) Σ|xᵢ xⱼ| <= γ(m+3) (‖xᵢ‖² + ‖xⱼ‖²) / 2 with γ(p) = pu / (1 - pu), u = 2⁻²⁴. The
        // further terms cover the roundings in f64 of the norm, the mean and the direct distance,
        // and `UNDERFLOW` products below the range of f32.
        const UNDERFLOW: f64 = 1e-30;
        let roundings = (n_features + 8) as f64 * 0.5_f64.powi(24);
        let share = if roundings < 0.5 { roundings / (1.0 - roundings) } else { f64::INFINITY };
        let half_norm = |&norm: &f64| {
            let bound = norm / 2.0 - share * norm / 2.0 - UNDERFLOW;
            if is_ordinary && bound.is_finite() {
                (bound as f32).next_down()
            } else {
                f32::NEG_INFINITY
            }
        };
        Self {
            points,
            n_features,
            half_norms: norms.iter().map(half_norm).collect(),
            half_scale: scale * scale / 2.0,
            representative: representatives(points, n_features, &norms),
            centered,
        }
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.points[i * self.n_features..(i + 1) * self.n_features]
    }

    /// The products of the rows of `first` with those of `second`, in `f32`.
    fn products(&self, first: Range<usize>, second: Range<usize>, products: &mut Vec<f32>) {
        let m = self.n_features;
        let rows_of = |range: Range<usize>| {
            let n_rows = range.len();
            MatRef::from_row_major_slice(&self.centered[range.start * m..range.end * m], n_rows, m)
        };
        let (n_rows, n_columns) = (first.len(), second.len());
        products.resize(n_rows * n_columns, 0.0);
        matmul(
            MatMut::from_row_major_slice_mut(products, n_rows, n_columns),
            Accum::Replace,
            rows_of(first),
            rows_of(second).transpose(),
            1.0,
            Par::Seq,
        );
    }

    fn squared_distance(&self, i: usize, j: usize) -> f64 {
        if self.representative[i] == self.representative[j] {
            0.0
        } else {
            squared_distance(self.row(i), self.row(j))
        }
    }
}

/// The first point equal to each point, found among those of equal norm.
fn representatives(points: &[f64], n_features: usize, norms: &[f64]) -> Vec<u32> {
    let row = |i: u32| &points[i as usize * n_features..(i as usize + 1) * n_features];
    let mut order: Vec<u32> = (0..norms.len() as u32).collect();
    order
        .sort_unstable_by(|&i, &j| norms[i as usize].total_cmp(&norms[j as usize]).then(i.cmp(&j)));
    let mut representative: Vec<u32> = (0..norms.len() as u32).collect();
    for pair in order.windows(2) {
        let candidate = representative[pair[0] as usize];
        if row(candidate) == row(pair[1]) {
            representative[pair[1] as usize] = candidate;
        }
    }
    representative
}

/// What has been found for a block of rows.
struct Block {
    start: usize,
    closest: Vec<Closest>,
    /// Half the scaled reach of each row less its `half_norms`: another point j may be among the
    /// closest only if its product plus this is at least `half_norms[j]`.
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

    /// Every row of this block against every row of `other`.
    fn compare(&mut self, other: &mut Self, rows: &Rows, products: &[f32]) {
        let n_others = other.closest.len();
        for (row, products) in products.chunks_exact(n_others).enumerate() {
            let i = self.start + row;
            let half_norm = rows.half_norms[i];
            for first in (0..n_others).step_by(LANES) {
                let lanes = first..n_others.min(first + LANES);
                let half_norms =
                    &rows.half_norms[other.start + lanes.start..other.start + lanes.end];
                let mut hit = false;
                for ((p, bound), h) in
                    products[lanes.clone()].iter().zip(&other.bounds[lanes.clone()]).zip(half_norms)
                {
                    hit |= (p + self.bounds[row] >= *h) | (p + bound >= half_norm);
                }
                if !hit {
                    continue;
                }
                for column in lanes {
                    let (p, j) = (products[column], other.start + column);
                    let is_near_i = p + self.bounds[row] >= rows.half_norms[j];
                    let is_near_j = p + other.bounds[column] >= half_norm;
                    if is_near_i || is_near_j {
                        let squared_distance = rows.squared_distance(i, j);
                        self.offer(row, rows, squared_distance, j);
                        other.offer(column, rows, squared_distance, i);
                    }
                }
            }
        }
    }

    /// Every row of this block against those after it.
    fn compare_within(&mut self, rows: &Rows, products: &[f32]) {
        let n_rows = self.closest.len();
        for row in 0..n_rows {
            let i = self.start + row;
            for column in row + 1..n_rows {
                let (p, j) = (products[row * n_rows + column], self.start + column);
                let is_near_i = p + self.bounds[row] >= rows.half_norms[j];
                let is_near_j = p + self.bounds[column] >= rows.half_norms[i];
                if is_near_i || is_near_j {
                    let squared_distance = rows.squared_distance(i, j);
                    self.offer(row, rows, squared_distance, j);
                    self.offer(column, rows, squared_distance, i);
                }
            }
        }
    }
}
