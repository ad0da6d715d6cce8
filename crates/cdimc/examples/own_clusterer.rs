//! Implements a method of your own; everything that takes a `Clusterer` takes it.
#![allow(clippy::print_stdout)]

use cdimc::core::{ClusterError, KMeans};
use cdimc::data::{SyntheticMap, SyntheticView, SyntheticViews};
use cdimc::metrics::accuracy;
use cdimc::prelude::*;
use ndarray::Array2;
use std::error::Error;

/// k-means on the mean of each sample's observed views, each first brought to unit variance.
struct MeanOfViews;

impl Clusterer for MeanOfViews {
    fn name(&self) -> &'static str {
        "mean-of-views"
    }

    fn applies(&self, data: &MultiView, _n_clusters: usize) -> Result<(), ClusterError> {
        let widths = data.widths();
        if widths.iter().all(|&width| width == widths[0]) {
            return Ok(());
        }
        let reason = format!("widths {widths:?}: it needs views of one width");
        Err(ClusterError::Inapplicable { method: "mean-of-views", reason })
    }

    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Fitted, ClusterError> {
        let mut mean = Array2::<f64>::zeros((data.n_samples(), data.width(0)));
        for view in 0..data.n_views() {
            observer.step("views", view, data.n_views(), None)?;
            let scale = data.observed(view).std(0.0).max(f64::MIN_POSITIVE);
            for i in data.mask().observed_rows(view) {
                let weight = 1.0 / (scale * data.mask().n_views_of(i) as f64);
                mean.row_mut(i).scaled_add(weight, &data.view(view).row(i));
            }
        }
        let fit = KMeans::new(n_clusters).fit(mean.view(), seed)?;
        Ok(Clustering::from_labels(fit.labels).into())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let view = SyntheticView { width: 12, map: SyntheticMap::Linear };
    let views = vec![view; 3];
    let dataset = SyntheticViews { views, ..SyntheticViews::default() }.generate(Seed::new(1))?;
    let mask =
        MissingPattern::PerView(0.3).mask(dataset.n_samples(), dataset.n_views(), Seed::new(2))?;
    let data = dataset.observe(mask)?;
    let truth = dataset.labels().ok_or("synthetic data have labels")?;
    let concat = cdimc::method("concat", serde_json::Value::Null)?;
    let methods: [&dyn Clusterer; 2] = [&MeanOfViews, concat.as_ref()];
    for method in methods {
        match method.cluster(&data, dataset.n_classes(), Seed::new(0)) {
            Ok(found) => {
                println!("{}: accuracy {:.3}", method.name(), accuracy(truth, &found.labels)?);
            }
            Err(reason) => println!("{reason}"),
        }
    }
    Ok(())
}
