//! k-means with 20 restarts: samples, features and clusters.

use cdimc_core::KMeans;
use cdimc_data::Seed;
use ndarray::Array2;
use rand::Rng;

const SIZES: [(usize, usize, usize); 3] = [(2_000, 10, 10), (2_000, 643, 10), (10_000, 100, 20)];

fn main() {
    divan::main();
}

#[divan::bench(args = SIZES, sample_count = 5, sample_size = 1)]
fn double(bencher: divan::Bencher, size: (usize, usize, usize)) {
    let points = points(size);
    bencher.bench(|| KMeans::new(size.2).fit(points.view(), Seed::new(1)));
}

#[divan::bench(args = SIZES, sample_count = 5, sample_size = 1)]
fn single(bencher: divan::Bencher, size: (usize, usize, usize)) {
    let points = points(size).mapv(|x| x as f32);
    bencher.bench(|| KMeans::new(size.2).fit(points.view(), Seed::new(1)));
}

/// Overlapping clusters.
fn points((n_samples, n_features, n_clusters): (usize, usize, usize)) -> Array2<f64> {
    let mut rng = Seed::new(7).rng();
    let centers = Array2::from_shape_simple_fn((n_clusters, n_features), || rng.r#gen::<f64>());
    Array2::from_shape_fn((n_samples, n_features), |(i, j)| {
        centers[[i % n_clusters, j]] + 2.0 * rng.r#gen::<f64>()
    })
}
