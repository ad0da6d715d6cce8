//! How well the view that a doubtful sample should be measured in is chosen: hidden views are revealed, the proposed
//! one or a random one.

use crate::source;
use crate::table::Summary;
use anyhow::{Context, Result};
use cdimc::mixture::{Explanation, MixtureModel, TMixture};
use cdimc::say;
use cdimc_core::{Clusterer, Silent};
use cdimc_data::{Seed, ViewMask};
use rand::Rng;

/// Confidence below which a sample is doubtful.
const DOUBTFUL: f64 = 0.8;

#[derive(clap::Args)]
pub struct Arguments {
    /// A data set, as in experiments.
    dataset: String,
    /// A missing pattern, as in experiments.
    pattern: String,
    /// Number of masks.
    #[arg(long, value_name = "N", default_value_t = 5)]
    masks: usize,
}

/// Prints one line per mask, and the means.
pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { dataset: name, pattern, masks } = arguments;
    let dataset = source::load(name)?;
    let k = dataset.n_classes();
    let mut all = Vec::new();
    for i in 0..*masks {
        let seed = Seed::new(i as u64);
        let mask = source::mask(&dataset, pattern, None, seed)?;
        let data = dataset.observe(mask.clone())?;
        let fitted = TMixture::default().fit(&data, k, seed, &Silent)?;
        let bytes = fitted.model.context("t-mixture makes a model")?.to_bytes()?;
        let model = MixtureModel::from_bytes(&bytes)?;
        let confidence = fitted.clustering.confidence.context("probabilities")?;
        let doubtful: Vec<usize> = (0..data.n_samples())
            .filter(|&i| {
                let missing = (0..data.n_views()).filter(|&v| !mask.is_observed(i, v)).count();
                confidence[i] < DOUBTFUL && missing > 1
            })
            .collect();
        let views: Vec<usize> = (0..data.n_views()).collect();
        let entropies = |mask: &ViewMask| -> Result<Vec<f64>> {
            let data = dataset.observe(mask.clone())?;
            let explained = model.explain(&data, &views, &doubtful)?;
            Ok(explained.iter().map(Explanation::entropy).collect())
        };
        let next = model.next_views(&data, &views, &doubtful, seed)?;
        let (mut proposed, mut random) = (mask.entries().to_owned(), mask.entries().to_owned());
        let mut rng = seed.stream("random view").rng();
        for (&i, next) in doubtful.iter().zip(&next) {
            proposed[[i, next[0].view]] = true;
            random[[i, next[rng.gen_range(0..next.len())].view]] = true;
        }
        let before = entropies(&mask)?;
        let share = |mask: ndarray::Array2<bool>| -> Result<f64> {
            let after = entropies(&ViewMask::new(mask)?)?;
            let resolved =
                before.iter().zip(&after).filter(|(before, after)| **after <= 0.5 * **before);
            Ok(100.0 * resolved.count() as f64 / doubtful.len() as f64)
        };
        let expected = next.iter().map(|next| next[0].p_resolved).sum::<f64>();
        let expected = 100.0 * expected / doubtful.len() as f64;
        let found = [share(proposed)?, share(random)?, expected];
        let [by_proposal, by_chance, expected] = found;
        say!(
            "{name} {pattern} {i}: {} doubtful samples with two missing views; entropy halved by the proposed view in \
             {by_proposal:.1} % (expected {expected:.1} %), by a random one in {by_chance:.1} %",
            doubtful.len()
        );
        all.push(found);
    }
    let summary = |j: usize| {
        let values: Vec<f64> = all.iter().map(|found| found[j]).collect();
        Summary::of(&values).map_or_else(|| "-".to_owned(), |summary| summary.to_string())
    };
    let [proposed, random, expected] = [0, 1, 2].map(summary);
    say!("MEAN {name} {pattern}: proposed {proposed} (expected {expected}), random {random}");
    Ok(())
}
