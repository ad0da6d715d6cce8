//! Tables of few values: categories as one column of zeros and ones per value, and identical samples.

use cdimc_core::Clusterer;
use cdimc_data::{MissingPattern, MultiView, Seed};
use cdimc_metrics::accuracy;
use cdimc_mixture::TMixture;
use ndarray::Array2;
use rand::Rng;

const N_CLUSTERS: usize = 4;
const N_SAMPLES: usize = 300;

/// Returns categories of the given numbers of values; each cluster has one value in two thirds of its samples.
fn marks(rng: &mut impl Rng, categories: &[usize]) -> Array2<f64> {
    let mut view = Array2::zeros((N_SAMPLES, categories.iter().sum()));
    let mut start = 0;
    for &n_values in categories {
        let usual: Vec<usize> = (0..N_CLUSTERS).map(|_| rng.gen_range(0..n_values)).collect();
        for i in 0..N_SAMPLES {
            let is_usual = rng.gen_bool(2.0 / 3.0);
            let value = if is_usual { usual[i % N_CLUSTERS] } else { rng.gen_range(0..n_values) };
            view[[i, start + value]] = 1.0;
        }
        start += n_values;
    }
    view
}

#[test]
fn values_of_a_category_are_no_clusters_by_themselves() {
    let truth: Vec<usize> = (0..N_SAMPLES).map(|i| i % N_CLUSTERS).collect();
    let found = |seed| {
        let mut rng = Seed::new(seed).rng();
        let views = vec![marks(&mut rng, &[2, 3, 4, 5, 3]), marks(&mut rng, &[4, 4, 2, 2, 5])];
        let mask = MissingPattern::PerView(0.3).mask(N_SAMPLES, 2, Seed::new(seed));
        let data = MultiView::new(views, mask.expect("a mask")).expect("data");
        let clusters = TMixture::default().cluster(&data, N_CLUSTERS, Seed::new(seed));
        accuracy(&truth, &clusters.expect("clusters").labels).expect("equal lengths")
    };
    let mean = (0..3).map(found).sum::<f64>() / 3.0;
    // The mean is 0.75 without the lower bound on variances.
    assert!(mean > 0.85, "{mean}");
}

#[test]
fn groups_of_equal_samples_are_the_clusters() {
    let corner =
        |c: usize, j: usize| f64::from(u8::from(if j == 0 { c < 2 } else { c.is_multiple_of(2) }));
    let mark = |c: usize, j: usize| f64::from(u8::from(c == j));
    let mut rng = Seed::new(1).rng();
    for jitter in [0.0, 1e-12] {
        let mut rows = |k: usize, d: usize, value: &dyn Fn(usize, usize) -> f64| {
            Array2::from_shape_fn((60, d), |(i, j)| value(i % k, j) + jitter * rng.r#gen::<f64>())
        };
        for (k, view) in [(3, rows(3, 3, &mark)), (4, rows(4, 2, &corner))] {
            let truth: Vec<usize> = (0..60).map(|i| i % k).collect();
            let data = MultiView::from_nan_rows(vec![view]).expect("data");
            let found = TMixture::default().cluster(&data, k, Seed::new(0)).expect("clusters");
            let accuracy = accuracy(&truth, &found.labels).expect("equal lengths");
            assert_eq!(accuracy, 1.0, "{k} groups, jitter {jitter}");
        }
    }
}
