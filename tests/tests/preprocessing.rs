//! Compares both preprocessing versions of a view, and the graphs over one of them, with NumPy.

use crate::golden::Golden;
use cdimc_data::{MultiView, Standardizer, ViewMask, geometry_version};
use cdimc_graph::{KnnGraph, Search};
use ndarray::{Array2, ArrayD, Axis};

/// Returns the data of the golden case in original order, and the training order.
fn golden_data() -> (MultiView, Vec<usize>) {
    let mut golden = Golden::open();
    let mask = golden.matrix::<f64>("mask").mapv(|w| w == 1.0);
    let views = (0..mask.ncols()).map(|v| golden.matrix(&format!("view{v}")));
    let views: Vec<Array2<f64>> = views.collect();
    let order: ArrayD<i64> = golden.array("order");
    let data = MultiView::new(views, ViewMask::new(mask).expect("a mask")).expect("sound data");
    (data, order.iter().map(|&i| i as usize).collect())
}

#[test]
fn standardized_views_equal_the_reference_bit_for_bit() {
    let (data, order) = golden_data();
    let mut golden = Golden::open();
    for view in 0..data.n_views() {
        let expected: Array2<f64> = golden.matrix(&format!("network{view}"));
        let standardizer = Standardizer::fit(&data, view).expect("enough rows");
        for (position, &sample) in order.iter().enumerate() {
            let found: Vec<f64> = if data.mask().is_observed(sample, view) {
                standardizer.apply(data.view(view).row(sample)).collect()
            } else {
                vec![0.0; standardizer.width()]
            };
            assert_eq!(found, expected.row(position).to_vec(), "view {view}, sample {sample}");
        }

        let (present, values) = standardizer.transform(&data, view, &order).expect("same width");
        let present: Vec<usize> = present.iter().map(|&position| position as usize).collect();
        assert_eq!(values, expected.select(Axis(0), &present).mapv(|z| z as f32));
        assert_eq!(present.len(), data.mask().n_observed(view));
    }
}

#[test]
fn graphs_over_the_geometry_version_equal_the_reference() {
    let (data, order) = golden_data();
    let mut golden = Golden::open();
    let n_neighbors = golden.scalars["neighbours"].as_u64().expect("a number") as usize;
    for (view, expected) in golden.graphs().iter().enumerate() {
        let present: Vec<usize> =
            (0..order.len()).filter(|&i| data.mask().is_observed(order[i], view)).collect();
        let samples: Vec<usize> = present.iter().map(|&i| order[i]).collect();
        let points = geometry_version(&data, view, &samples);
        for search in [Search::KdTree, Search::Exhaustive] {
            let found =
                KnnGraph::of_view(points.view(), &present, order.len(), n_neighbors, search);
            assert_eq!(found.expect("enough points"), *expected, "view {view}");
        }
    }
}
