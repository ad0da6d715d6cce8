//! Tests the rules of `docs/protocol.md` for every method.

use crate::contract::{cluster, half_paired, methods};
use cdimc_data::{MaskReport, MissingPattern, MultiView, Seed, ViewMask};
use ndarray::Array2;
use rand::Rng;

#[test]
fn methods_do_not_use_the_order_of_rows() {
    let (n_samples, n_classes): (usize, usize) = (120, 3);
    let mut rng = Seed::new(5).stream("noise").rng();
    let mut noise = |width| Array2::from_shape_fn((n_samples, width), |_| rng.gen_range(0.0..1.0));
    let views: Vec<Array2<f64>> = vec![noise(8), noise(10)];
    let truth: Vec<usize> = (0..n_samples).map(|i| i * n_classes / n_samples).collect();
    for mask in [ViewMask::complete(n_samples, 2).expect("a mask"), half_paired(n_samples)] {
        let data = MultiView::new(views.clone(), mask).expect("data");
        for method in methods() {
            let Some(found) = cluster(method.as_ref(), &data, n_classes) else { continue };
            let accuracy = cdimc_metrics::accuracy(&truth, &found.labels).expect("equal lengths");
            // Chance is 0.33 before clusters and classes are matched, and about 0.42 after.
            assert!(accuracy < 0.6, "{} reads the order of rows: {accuracy}", method.name());
        }
    }
}

#[test]
fn a_missing_rate_is_the_missing_share_of_every_view() {
    let percent = |pattern: &str, n_views: usize| -> Vec<f64> {
        let pattern: MissingPattern = pattern.parse().expect("a pattern");
        let mask = pattern.mask(3000, n_views, Seed::new(0)).expect("a mask");
        let rates = MaskReport::new(&mask).missing_rates();
        rates.iter().map(|rate| (100.0 * rate).round()).collect()
    };
    // The table of docs/guides/missing-data.md, for six views unless stated otherwise.
    assert_eq!(percent("per-view:0.3", 6), [30.0; 6]);
    assert_eq!(percent("paired:0.3", 2), [35.0; 2]);
    assert_eq!(percent("paired:0.3", 6), [58.0; 6]);
    assert_eq!(percent("incomplete:0.3:mem", 6), [25.0; 6]);
    assert_eq!(percent("ring", 6), [67.0; 6]);
    assert_eq!(percent("chain", 6), [80.0, 60.0, 60.0, 60.0, 60.0, 80.0]);
    for rate in percent("incomplete:0.3:mcar", 6) {
        assert!((14.0..=16.0).contains(&rate), "{rate}");
    }
    for rate in percent("random-views:2", 6) {
        assert!((65.0..=69.0).contains(&rate), "{rate}");
    }
}
