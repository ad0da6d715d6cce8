//! The points of k-means, as given and ready for products in single precision.

use ndarray::{Array2, ArrayView2};
use pulp::Arch;
use std::borrow::Cow;

/// A coordinate of a point: `f32` or `f64`.
pub trait Coordinate: sealed::Single + Copy + Into<f64> + Send + Sync {}
impl Coordinate for f32 {}
impl Coordinate for f64 {}

mod sealed {
    /// What tells whether points are in single precision.
    pub trait Single: Sized {
        /// The numbers themselves, if they are.
        fn singles(numbers: &[Self]) -> Option<&[f32]>;
    }

    impl Single for f32 {
        fn singles(numbers: &[Self]) -> Option<&[f32]> {
            Some(numbers)
        }
    }

    impl Single for f64 {
        fn singles(_: &[Self]) -> Option<&[f32]> {
            None
        }
    }
}

/// The points, and the same in single precision, counted from an origin near their mean in units near
/// their standard deviation: what is left of that precision is then the spread's.
pub(super) struct Points<'a, T> {
    n_features: usize,
    rows: &'a [T],
    singles: Cow<'a, [f32]>,
    pub(super) origin: Vec<f64>,
    /// A power of two.
    pub(super) unit: f64,
    /// Squared distances from the origin.
    pub(super) norms: Vec<f64>,
    /// Their roots.
    pub(super) lengths: Vec<f64>,
    variance: f64,
}

impl<'a, T: Coordinate> Points<'a, T> {
    /// The rows of `values`, which are in standard layout and of one feature at least.
    pub(super) fn new(values: ArrayView2<'a, T>) -> Self {
        let rows = values.to_slice().unwrap_or(&[]);
        let (n_samples, n_features) = values.dim();
        let mut mean = vec![0.0; n_features];
        rows.chunks_exact(n_features).for_each(|row| add(&mut mean, 1.0, row));
        mean.iter_mut().for_each(|m| *m /= n_samples as f64);
        let norms_from = |origin: &[f64]| -> Vec<f64> {
            rows.chunks_exact(n_features).map(|row| squared_distance(row, origin)).collect()
        };
        let mut norms = norms_from(&mean);
        let spread: f64 = norms.iter().sum();
        let variance = spread / (n_samples * n_features) as f64;
        let mut origin = mean;
        let mut unit = if variance > 0.0 { variance.sqrt().log2().round().exp2() } else { 1.0 };
        let zero = vec![0.0; n_features];
        let is_ready = squared_distance(&origin, &zero) * n_samples as f64 <= spread
            && (1e-9..=1e9).contains(&unit);
        let singles = match T::singles(rows) {
            // As they are, so that many wide samples are not copied.
            Some(singles) if is_ready => {
                norms = norms_from(&zero);
                (origin, unit) = (zero, 1.0);
                Cow::Borrowed(singles)
            }
            _ => {
                let mut singles = Vec::with_capacity(rows.len());
                for row in rows.chunks_exact(n_features) {
                    let counted = row.iter().zip(&origin).map(|(&x, o)| (x.into() - o) / unit);
                    singles.extend(counted.map(|x| x as f32));
                }
                Cow::Owned(singles)
            }
        };
        let lengths = norms.iter().map(|norm| norm.sqrt()).collect();
        Self { n_features, rows, singles, origin, unit, norms, lengths, variance }
    }

    pub(super) fn n_samples(&self) -> usize {
        self.norms.len()
    }

    pub(super) fn n_features(&self) -> usize {
        self.n_features
    }

    /// The mean over the columns of their variance.
    pub(super) fn mean_variance(&self) -> f64 {
        self.variance
    }

    pub(super) fn row(&self, i: usize) -> &[T] {
        &self.rows[i * self.n_features..(i + 1) * self.n_features]
    }

    /// Sample `i` in single precision, counted from the origin in units.
    pub(super) fn single(&self, i: usize) -> &[f32] {
        &self.singles[i * self.n_features..(i + 1) * self.n_features]
    }

    /// The samples as centers.
    pub(super) fn centers_at(&self, samples: &[usize]) -> Array2<f64> {
        let mut centers = Array2::zeros((samples.len(), self.n_features));
        for (mut center, &sample) in centers.outer_iter_mut().zip(samples) {
            center.iter_mut().zip(self.row(sample)).for_each(|(c, &x)| *c = x.into());
        }
        centers
    }
}

/// The squared distance of two points, from direct differences.
pub(super) fn squared_distance<T: Into<f64> + Copy>(a: &[T], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    Arch::new().dispatch(|| {
        let mut sums = [0.0; LANES];
        let (a, rest_of_a) = a.as_chunks::<LANES>();
        let (b, rest_of_b) = b.as_chunks::<LANES>();
        for (a, b) in a.iter().zip(b) {
            for ((sum, &a), b) in sums.iter_mut().zip(a).zip(b) {
                let difference = a.into() - b;
                *sum += difference * difference;
            }
        }
        for ((sum, &a), b) in sums.iter_mut().zip(rest_of_a).zip(rest_of_b) {
            let difference = a.into() - b;
            *sum += difference * difference;
        }
        sums.iter().sum()
    })
}

/// `sum` <- `sum` + `factor` `row`.
pub(super) fn add<T: Into<f64> + Copy>(sum: &mut [f64], factor: f64, row: &[T]) {
    Arch::new().dispatch(|| {
        for (sum, &x) in sum.iter_mut().zip(row) {
            *sum += factor * x.into();
        }
    });
}
