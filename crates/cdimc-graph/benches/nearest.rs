//! Exact search for 10 nearest neighbors by both searches: samples, features and dimensions of the variance.

use cdimc_graph::{Search, nearest};
use ndarray::Array2;

const SIZES: [(usize, usize, usize); 7] = [
    (2_000, 64, 64),
    (2_000, 240, 240),
    (20_000, 4, 4),
    (20_000, 8, 8),
    (20_000, 64, 4),
    (20_000, 64, 64),
    (20_000, 240, 240),
];

fn main() {
    divan::main();
}

#[divan::bench(args = SIZES, sample_count = 3, sample_size = 1)]
fn exhaustive(bencher: divan::Bencher, size: (usize, usize, usize)) {
    let points = points(size);
    bencher.bench(|| nearest(points.view(), 10, Search::Exhaustive));
}

/// Without the sizes at which a tree takes minutes.
#[divan::bench(args = SIZES[..5].iter().copied(), sample_count = 3, sample_size = 1)]
fn kd_tree(bencher: divan::Bencher, size: (usize, usize, usize)) {
    let points = points(size);
    bencher.bench(|| nearest(points.view(), 10, Search::KdTree));
}

/// Uniform points in `rank` dimensions, mapped linearly into `n_features`.
fn points((n_points, n_features, rank): (usize, usize, usize)) -> Array2<f64> {
    let mut state = 1_u64;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as f64 / u64::MAX as f64 - 0.5
    };
    let coordinates = Array2::from_shape_simple_fn((n_points, rank), &mut uniform);
    if rank == n_features {
        return coordinates;
    }
    coordinates.dot(&Array2::from_shape_simple_fn((rank, n_features), &mut uniform))
}
