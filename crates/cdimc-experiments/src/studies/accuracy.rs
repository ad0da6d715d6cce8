//! Accuracy of the mixture on a data set with known classes, over masks: the table before and after a change of it.

use super::Masks;
use anyhow::{Context, Result};
use cdimc::mixture::TMixture;
use cdimc::say;
use cdimc_core::{Clusterer, KMeans, Silent};
use cdimc_data::MultiView;
use cdimc_metrics::{accuracy, scores};
use ndarray::{Array2, Axis, concatenate};
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    masks: Masks,
    /// Settings of t-mixture, a JSON object.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    settings: String,
}

/// Prints one line per mask, and the means in percent.
pub(super) fn run(Arguments { masks, settings }: &Arguments) -> Result<()> {
    let settings: TMixture = serde_json::from_str(settings)?;
    let means = masks.measure(|name, dataset, mask, seed| {
        let truth = dataset.labels().context("a data set without classes")?;
        let (data, k) = (dataset.observe(mask)?, dataset.n_classes());
        let started = Instant::now();
        let fitted = settings.fit(&data, k, seed, &Silent)?;
        let seconds = started.elapsed().as_secs_f64();
        let labels = &fitted.clustering.labels;
        let confidence = fitted.clustering.confidence.unwrap_or_default();
        let facts = fitted.model.map_or(serde_json::Value::Null, |model| model.facts());
        let filled = KMeans::new(k).fit(mean_filled(&data)?.view(), seed)?;
        let ours = scores(truth, labels)?;
        let ece = calibration_error(&confidence, &matched(truth, labels));
        let plain = accuracy(truth, &filled.labels)?;
        say!(
            "{name}: acc {:.4} nmi {:.4} ece {ece:.4} k-means {plain:.4} | {seconds:.2} s, kinds {}, exponent {:.3}",
            ours.acc,
            ours.nmi,
            facts["findings"]["coordinates"],
            facts["calibration-exponent"].as_f64().unwrap_or(f64::NAN),
        );
        Ok([ours.acc, ours.nmi, ece, plain].map(|found| 100.0 * found))
    })?;
    let [acc, nmi, ece, plain] = means;
    let Masks { dataset, pattern, .. } = masks;
    say!("MEAN {dataset} {pattern}: acc {acc} nmi {nmi} ece {ece} k-means {plain}");
    Ok(())
}

/// Whether each sample has the class that most samples of its cluster have.
fn matched(truth: &[usize], labels: &[usize]) -> Vec<bool> {
    let size = |numbers: &[usize]| numbers.iter().max().map_or(0, |most| most + 1);
    let mut counts = vec![vec![0; size(truth)]; size(labels)];
    labels.iter().zip(truth).for_each(|(&c, &y)| counts[c][y] += 1);
    let most = |c: usize| (0..counts[c].len()).max_by_key(|&y| counts[c][y]);
    labels.iter().zip(truth).map(|(&c, &y)| most(c) == Some(y)).collect()
}

/// Expected calibration error over ten bins of equal width.
fn calibration_error(confidence: &[f64], right: &[bool]) -> f64 {
    let mut bins = [(0.0, 0.0); 10];
    for (&p, &right) in confidence.iter().zip(right) {
        let (expected, found) = &mut bins[((p * 10.0) as usize).min(9)];
        *expected += p;
        *found += f64::from(u8::from(right));
    }
    let n = confidence.len().max(1) as f64;
    bins.iter().map(|(expected, found)| (expected - found).abs() / n).sum()
}

/// All views side by side, missing rows at the mean of the observed ones.
fn mean_filled(data: &MultiView) -> Result<Array2<f64>> {
    let mut views = Vec::new();
    for v in 0..data.n_views() {
        let means = data.observed(v).mean_axis(Axis(0)).context("an empty view")?;
        let mut view = data.view(v).to_owned();
        for i in (0..data.n_samples()).filter(|&i| !data.mask().is_observed(i, v)) {
            view.row_mut(i).assign(&means);
        }
        views.push(view);
    }
    let views: Vec<_> = views.iter().map(Array2::view).collect();
    Ok(concatenate(Axis(1), &views)?)
}
