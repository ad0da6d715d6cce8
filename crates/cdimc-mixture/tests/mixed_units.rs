//! Tables whose columns have different units, with default settings.

use cdimc_core::{Clusterer, KMeans};
use cdimc_data::{MissingPattern, MultiView, Seed};
use cdimc_metrics::accuracy;
use cdimc_mixture::TMixture;
use ndarray::{Array2, Axis, concatenate};

/// Reads a file as tables of `widths` columns, and the classes.
fn tables(name: &str, widths: [usize; 3]) -> (Vec<Array2<f64>>, Vec<usize>) {
    let path = format!("{}/tests/data/{name}.csv", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("a committed file");
    let rows: Vec<Vec<f64>> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(|field| field.parse().expect("a number")).collect())
        .collect();
    let mut start = 0;
    let views = widths.map(|width| {
        let view = Array2::from_shape_fn((rows.len(), width), |(i, j)| rows[i][start + j]);
        start += width;
        view
    });
    (views.to_vec(), rows.iter().map(|row| row[start] as usize).collect())
}

/// Returns the mean accuracies of the mixture and of k-means after mean imputation, over five masks that hide 30 %
/// of every table.
fn accuracies(name: &str, widths: [usize; 3], n_clusters: usize) -> (f64, f64) {
    let (views, classes) = tables(name, widths);
    let accuracy = |labels: &[usize]| accuracy(&classes, labels).expect("equal lengths");
    let (mut ours, mut k_means) = (0.0, 0.0);
    for seed in (0..5).map(Seed::new) {
        let mask = MissingPattern::PerView(0.3).mask(classes.len(), 3, seed).expect("a mask");
        let data = MultiView::new(views.clone(), mask).expect("data");
        let found = TMixture::default().cluster(&data, n_clusters, seed).expect("clusters");
        ours += accuracy(&found.labels) / 5.0;
        let found = KMeans::new(n_clusters).fit(mean_filled(&data).view(), seed);
        k_means += accuracy(&found.expect("clusters").labels) / 5.0;
    }
    (ours, k_means)
}

fn mean_filled(data: &MultiView) -> Array2<f64> {
    let [first, second, third] = [0, 1, 2].map(|v| {
        let means = data.observed(v).mean_axis(Axis(0)).expect("rows");
        let mut view = data.view(v).to_owned();
        for mut row in view.rows_mut().into_iter().filter(|row| row[0].is_nan()) {
            row.assign(&means);
        }
        view
    });
    concatenate![Axis(1), first, second, third]
}

#[test]
fn wines_are_clustered_by_class() {
    let (ours, k_means) = accuracies("wine", [5, 4, 4], 3);
    assert!(ours >= 0.88 && ours > k_means, "{ours} {k_means}");
}

#[test]
fn tumors_are_clustered_by_class() {
    let (ours, k_means) = accuracies("breast-cancer", [10, 10, 10], 2);
    assert!(ours >= 0.87 && ours > k_means, "{ours} {k_means}");
}
