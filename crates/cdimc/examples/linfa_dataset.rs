//! Clusters a linfa dataset with the columns of two views; one view lacks half of the samples:
//! `cargo run -p cdimc --features linfa --example linfa_dataset`.

#![allow(clippy::print_stdout)]

use cdimc::linfa::ColumnViews;
use cdimc::prelude::*;
use linfa::DatasetBase;
use linfa::traits::{Fit, Predict};
use ndarray::Array2;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let records = Array2::from_shape_fn((120, 6), |(i, j)| match (i % 4, j) {
        (0, 0..3) | (1, 3..6) => f64::NAN,
        _ => (9 * (i % 3)) as f64 + ((7 * i + 3 * j) % 10) as f64 / 10.0,
    });
    let method = TMixture::default();
    let views = vec![0..3, 3..6];
    let clusters = ColumnViews { method, views, n_clusters: 3, seed: Seed::new(0) };
    let dataset = DatasetBase::from(records);
    let model = clusters.fit(&dataset)?;
    let labels = model.predict(&dataset);
    for cluster in 0..3 {
        let size = labels.iter().filter(|&&label| label == Some(cluster)).count();
        println!("cluster {cluster}: {size} samples");
    }
    Ok(())
}
