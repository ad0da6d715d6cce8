//! Prints accuracies of the mixture on data sets with known classes, over missing patterns and masks.
//!
//! `accuracy DATASET PATTERN N_MASKS [SETTINGS]`: `PATTERN` as in experiments (`per-view:0.3`, `paired:0.3`,
//! `complete`), or `authors:0.3` for published masks; `SETTINGS` is a JSON object. One line per mask.

#![allow(clippy::print_stdout)]

use cdimc_core::{Clusterer, KMeans, Observer};
use cdimc_data::{Dataset, MissingPattern, MultiView, Seed, ViewMask};
use cdimc_metrics::{accuracy, scores};
use cdimc_mixture::{Coordinates, TMixture};
use cdimc_tables::datasets::Catalog;
use ndarray::{Array2, Axis, concatenate};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, pattern, n_masks, settings @ ..] = &arguments[..] else {
        return Err("usage: accuracy DATASET PATTERN N_MASKS [SETTINGS]".into());
    };
    let settings: TMixture = match settings.first() {
        Some(settings) => serde_json::from_str(settings)?,
        None => TMixture::default(),
    };
    let catalog = Catalog::from_env(None)?;
    let dataset = catalog.load(name)?;
    let masks = masks(&catalog, &dataset, pattern, n_masks.parse()?)?;
    let truth = dataset.labels().ok_or("a data set without classes")?;
    let mut all = Vec::new();
    for (seed, mask) in (0..).zip(masks) {
        let data = dataset.observe(mask)?;
        let started = Instant::now();
        let fitted =
            settings.fit(&data, dataset.n_classes(), Seed::new(seed), &Observer::silent())?;
        let seconds = started.elapsed().as_secs_f64();
        let labels = &fitted.clustering.labels;
        let right: Vec<bool> = matched(truth, labels, dataset.n_classes());
        let confidence = fitted.clustering.confidence.unwrap_or_default();
        let facts = fitted.model.map_or(serde_json::Value::Null, |model| model.facts());
        let filled =
            KMeans::new(dataset.n_classes()).fit(mean_filled(&data)?.view(), Seed::new(seed))?;
        let found = [
            scores(truth, labels)?.acc,
            scores(truth, labels)?.nmi,
            calibration_error(&confidence, &right),
            accuracy(truth, &filled.labels)?,
        ];
        println!(
            "{name} {pattern} {seed}: acc {:.4} nmi {:.4} ece {:.4} k-means {:.4} | {seconds:.2} s, kinds {}, exponent {:.3}",
            found[0],
            found[1],
            found[2],
            found[3],
            facts["findings"]["coordinates"],
            facts["calibration-exponent"].as_f64().unwrap_or(f64::NAN),
        );
        all.push(found);
    }
    let column = |j: usize| all.iter().map(move |found| 100.0 * found[j]);
    let summary = |j: usize| {
        let n = all.len() as f64;
        let mean = column(j).sum::<f64>() / n;
        let deviation = (column(j).map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
        format!("{mean:.1} +- {deviation:.1}")
    };
    println!(
        "MEAN {name} {pattern} {}: acc {} nmi {} ece {} k-means {}",
        if settings.coordinates == Coordinates::Auto { "auto" } else { "given" },
        summary(0),
        summary(1),
        summary(2),
        summary(3),
    );
    Ok(())
}

fn masks(
    catalog: &Catalog,
    dataset: &Dataset,
    pattern: &str,
    n: u64,
) -> Result<Vec<ViewMask>, Box<dyn Error>> {
    if let Some(rate) = pattern.strip_prefix("authors:") {
        let masks = catalog.masks(dataset.name(), rate.parse()?)?.ok_or("no published masks")?;
        return Ok(masks.into_iter().take(n as usize).collect());
    }
    let pattern: MissingPattern = pattern.parse()?;
    let mask = |seed| pattern.mask(dataset.n_samples(), dataset.n_views(), Seed::new(seed));
    Ok((0..n).map(mask).collect::<Result<_, _>>()?)
}

/// Returns whether each sample has the most frequent class of its cluster.
fn matched(truth: &[usize], labels: &[usize], n_classes: usize) -> Vec<bool> {
    let n_clusters = labels.iter().max().map_or(0, |most| most + 1);
    let mut counts =
        Array2::<usize>::zeros((n_clusters, n_classes.max(1 + truth.iter().max().unwrap_or(&0))));
    labels.iter().zip(truth).for_each(|(&c, &y)| counts[[c, y]] += 1);
    let most = |c: usize| {
        let row = counts.row(c);
        (0..row.len()).max_by_key(|&y| row[y])
    };
    labels.iter().zip(truth).map(|(&c, &y)| most(c) == Some(y)).collect()
}

/// Returns the expected calibration error over ten bins of equal width.
fn calibration_error(confidence: &[f64], right: &[bool]) -> f64 {
    let mut bins = [(0.0, 0.0, 0.0); 10];
    for (&p, &right) in confidence.iter().zip(right) {
        let bin = &mut bins[((p * 10.0) as usize).min(9)];
        bin.0 += 1.0;
        bin.1 += p;
        bin.2 += f64::from(u8::from(right));
    }
    let n = confidence.len().max(1) as f64;
    bins.iter().map(|(_, p, right)| (p - right).abs() / n).sum()
}

fn mean_filled(data: &MultiView) -> Result<Array2<f64>, Box<dyn Error>> {
    let mut views = Vec::new();
    for v in 0..data.n_views() {
        let means = data.observed(v).mean_axis(Axis(0)).ok_or("an empty view")?;
        let mut view = data.view(v).to_owned();
        for i in (0..data.n_samples()).filter(|&i| !data.mask().is_observed(i, v)) {
            view.row_mut(i).assign(&means);
        }
        views.push(view);
    }
    let views: Vec<_> = views.iter().map(Array2::view).collect();
    Ok(concatenate(Axis(1), &views)?)
}
