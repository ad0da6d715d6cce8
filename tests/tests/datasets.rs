//! The real data sets, where `CDIMC_DATASETS` names a folder that holds them; passed over elsewhere.

use cdimc_data::{Catalog, DatasetStatus};

/// The catalog over the folder in `CDIMC_DATASETS`, or nothing where it is not set.
fn catalog() -> Option<Catalog> {
    std::env::var_os("CDIMC_DATASETS").map(|_| Catalog::from_env(None).unwrap())
}

#[test]
fn handwritten_holds_what_the_paper_describes() {
    let Some(catalog) = catalog() else { return };
    assert_eq!(catalog.status("handwritten").unwrap(), DatasetStatus::Present);
    let data = catalog.load("handwritten").unwrap();
    let widths: Vec<usize> = data.views().iter().map(ndarray::Array2::ncols).collect();
    assert_eq!(widths, [240, 76, 216, 47, 64]);
    assert_eq!((data.n_samples(), data.n_classes()), (2000, 10));
    // Sorted by class, 200 samples each.
    let labels: Vec<usize> = (0..2000).map(|i| i / 200).collect();
    assert_eq!(data.labels().unwrap(), labels);
}

#[test]
fn every_view_of_the_published_masks_misses_exactly_the_rate() {
    let Some(catalog) = catalog() else { return };
    for (rate, n_observed) in [(0.1, 1800), (0.3, 1400), (0.5, 1000), (0.7, 600)] {
        let folds = catalog.masks("handwritten", rate).unwrap().unwrap();
        assert_eq!(folds.len(), 10);
        for mask in folds {
            assert_eq!((mask.n_samples(), mask.n_views()), (2000, 5));
            assert!((0..5).all(|view| mask.n_observed(view) == n_observed), "rate {rate}");
        }
    }
    assert!(catalog.masks("handwritten", 0.2).unwrap().is_none());
}
