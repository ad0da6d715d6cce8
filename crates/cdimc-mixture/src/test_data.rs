//! Synthetic data of tests.

use cdimc_data::{Dataset, MissingPattern, MultiView, Seed, SyntheticViews};
use ndarray::Array2;

/// Draws three views of four clusters.
pub(crate) fn synthetic(n_samples: usize, seed: u64) -> Dataset {
    SyntheticViews { n_samples, ..SyntheticViews::default() }.generate(Seed::new(seed)).unwrap()
}

/// Returns the views without missing rows.
pub(crate) fn complete(views: &[Array2<f64>]) -> MultiView {
    MultiView::from_nan_rows(views.to_vec()).unwrap()
}

/// Hides 30 % of each view.
pub(crate) fn incomplete(views: &[Array2<f64>], seed: u64) -> MultiView {
    let pattern = MissingPattern::PerView(0.3);
    let mask = pattern.mask(views[0].nrows(), views.len(), Seed::new(seed)).unwrap();
    MultiView::new(views.to_vec(), mask).unwrap()
}
