//! How well the view that a doubtful sample should be measured in is chosen: hidden views are revealed, the proposed
//! one or a random one.

use super::Masks;
use anyhow::{Context, Result};
use cdimc::mixture::{Explanation, MixtureModel, TMixture};
use cdimc::say;
use cdimc_core::{Clusterer, Silent};
use cdimc_data::ViewMask;
use rand::Rng;

/// Confidence below which a sample is doubtful.
const DOUBTFUL: f64 = 0.8;

/// Prints one line per mask, and the means.
pub(super) fn run(masks: &Masks) -> Result<()> {
    let means = masks.measure(|name, dataset, mask, seed| {
        let data = dataset.observe(mask.clone())?;
        let fitted = TMixture::default().fit(&data, dataset.n_classes(), seed, &Silent)?;
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
        let entropies = |mask: ViewMask| -> Result<Vec<f64>> {
            let data = dataset.observe(mask)?;
            let fitted = model.clone().with_samples(&data, &views)?;
            let explained = fitted.explain(&data, &views, &doubtful)?;
            Ok(explained.iter().map(Explanation::entropy).collect())
        };
        let fitted = model.clone().with_samples(&data, &views)?;
        let next = fitted.next_views(&data, &views, &doubtful, seed);
        let (mut proposed, mut random) = (mask.entries().to_owned(), mask.entries().to_owned());
        let mut rng = seed.stream("random view").rng();
        for (&i, next) in doubtful.iter().zip(&next) {
            proposed[[i, next[0].view]] = true;
            random[[i, next[rng.gen_range(0..next.len())].view]] = true;
        }
        let before = entropies(mask)?;
        let percent = |n: f64| 100.0 * n / doubtful.len() as f64;
        let share = |mask: ndarray::Array2<bool>| -> Result<f64> {
            let after = entropies(ViewMask::new(mask)?)?;
            let halved = before.iter().zip(&after).filter(|(before, after)| **after <= 0.5 * **before);
            Ok(percent(halved.count() as f64))
        };
        let (by_proposal, by_chance) = (share(proposed)?, share(random)?);
        let expected = percent(next.iter().map(|next| next[0].p_resolved).sum());
        say!(
            "{name}: {} doubtful samples with two missing views; entropy halved by the proposed view in {by_proposal:.1} % \
             (expected {expected:.1} %), by a random one in {by_chance:.1} %",
            doubtful.len()
        );
        Ok([by_proposal, by_chance, expected])
    })?;
    let [proposed, random, expected] = means;
    let Masks { dataset, pattern, .. } = masks;
    say!("MEAN {dataset} {pattern}: proposed {proposed} (expected {expected}), random {random}");
    Ok(())
}
