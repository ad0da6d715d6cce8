//! k-means on points of two groups, with a confidence per point.
#![allow(clippy::print_stdout)]

use cdimc_core::{ClusterError, KMeans, confidence::margins_of_centers};
use cdimc_data::Seed;
use ndarray::array;

fn main() -> Result<(), ClusterError> {
    let points = array![[0.0, 0.1], [0.2, 0.0], [0.1, 0.2], [4.0, 4.1], [4.2, 3.9], [2.5, 2.4]];
    let fit = KMeans::new(2).fit(points.view(), Seed::new(1))?;
    let confidence = margins_of_centers(points.view(), fit.centers.view(), &fit.labels);
    for ((point, label), confidence) in points.outer_iter().zip(&fit.labels).zip(confidence) {
        println!("{point} is in cluster {label}, confidence {confidence:.2}");
    }
    Ok(())
}
