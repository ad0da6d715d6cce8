//! Simulated tables of samples in clusters, with views removed at random.

use anyhow::Result;
use cdimc::tables::{Joined, Table};
use cdimc::training_set;
use ndarray::Array2;
use rand::Rng;

/// How a view is drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Design {
    pub n_clusters: usize,
    /// Expected distance of a cluster's center from the origin, in standard deviations.
    pub distance: f64,
    /// Number of leading columns in which the clusters differ.
    pub differing: usize,
    /// Standard deviation of a factor that only this view has.
    pub own_factor: f64,
}

impl Design {
    /// A view with this many columns of samples of these classes.
    pub(super) fn view(&self, width: usize, classes: &[usize], rng: &mut impl Rng) -> Array2<f64> {
        let differing = self.differing.min(width);
        let scale = self.distance / (differing as f64).sqrt();
        let centers: Vec<Vec<f64>> = (0..self.n_clusters)
            .map(|_| (0..differing).map(|_| scale * normal(rng)).collect())
            .collect();
        let loadings: Vec<f64> = (0..width).map(|_| self.own_factor * normal(rng)).collect();
        let mut view = Array2::zeros((classes.len(), width));
        for (mut row, &class) in view.rows_mut().into_iter().zip(classes) {
            let factor = normal(rng);
            for (j, x) in row.iter_mut().enumerate() {
                let center = centers[class].get(j).unwrap_or(&0.0);
                *x = center + factor * loadings[j] + normal(rng);
            }
        }
        view
    }
}

/// A draw of the standard normal distribution (Box-Muller).
pub(super) fn normal(rng: &mut impl Rng) -> f64 {
    let (u, v): (f64, f64) = (rng.r#gen(), rng.r#gen());
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// A view without clusters.
pub(super) fn noise(n_samples: usize, width: usize, rng: &mut impl Rng) -> Array2<f64> {
    Array2::from_shape_simple_fn((n_samples, width), || normal(rng))
}

/// The views as tables, after each sample lost each view at the rate `missing`, but never all views.
pub(super) fn joined(
    mut views: Vec<Array2<f64>>,
    missing: f64,
    rng: &mut impl Rng,
) -> Result<Joined> {
    for i in 0..views[0].nrows() {
        let kept = rng.gen_range(0..views.len());
        for (v, view) in views.iter_mut().enumerate() {
            if rng.r#gen::<f64>() < missing && v != kept {
                view.row_mut(i).fill(f64::NAN);
            }
        }
    }
    let views = views.into_iter().enumerate();
    let tables = views.map(|(v, x)| Table::from_memory(&format!("view{v}"), None, None, x));
    Ok(training_set(tables.collect::<Result<_, _>>()?, false)?)
}
