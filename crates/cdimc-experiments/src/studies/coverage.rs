//! How often the set of a sample has the cluster that all its views give, by the same model and by a fit on complete data.

use crate::datasets;
use anyhow::{Context, Result};
use cdimc::mixture::TMixture;
use cdimc::say;
use cdimc_core::{Clusterer, Silent};
use cdimc_data::{
    Dataset, MissingPattern, Seed, SyntheticMap, SyntheticView, SyntheticViews, ViewMask,
};
use cdimc_metrics::match_labels;

#[derive(clap::Args)]
pub struct Arguments {
    /// A data set, as in experiments, or `simulated:N` with N from 1 to 5.
    dataset: String,
    /// A missing pattern, as in experiments.
    pattern: String,
    /// Number of masks.
    #[arg(long, value_name = "N", default_value_t = 3)]
    masks: usize,
}

/// Sums over samples with one number of views, or over unsure ones.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    n_samples: usize,
    /// Sets with the cluster by all views, of the model and of a fit on complete data.
    covered: [usize; 2],
    sizes: usize,
}

/// Prints the coverage and mean size of the sets of all samples, by number of views, and of incomplete samples that are unsure:
/// whose probability is below the coverage.
pub(super) fn run(Arguments { dataset: name, pattern, masks }: &Arguments) -> Result<()> {
    let dataset = match name.strip_prefix("simulated:") {
        Some(number) => simulated(number.parse()?)?,
        None => datasets::load(name)?,
    };
    let (k, n, n_views) = (dataset.n_classes(), dataset.n_samples(), dataset.n_views());
    let complete = MissingPattern::Complete.mask(n, n_views, Seed::new(0))?;
    let complete = dataset.observe(complete)?;
    let reference = TMixture::default().cluster(&complete, k, Seed::new(0))?.labels;
    let mut all = vec![Sums::default(); n_views + 2];
    for i in 0..*masks {
        let seed = Seed::new(i as u64);
        let mask: ViewMask = datasets::mask(&dataset, pattern, None, seed)?;
        let fitted = TMixture::default().fit(&dataset.observe(mask.clone())?, k, seed, &Silent)?;
        let sets = fitted.clustering.sets.context("too few samples with several views")?;
        let confidence = fitted.clustering.confidence.context("t-mixture has probabilities")?;
        let model = fitted.model.context("t-mixture makes a model")?;
        let by_model = model.predict(&complete)?.labels;
        let matched = match_labels(&reference, &by_model)?;
        for (i, set) in sets.iter().enumerate() {
            let by_fit = set.iter().any(|c| matched.get(c) == Some(&Some(reference[i])));
            let n_measured = mask.n_views_of(i);
            let is_unsure = n_measured < n_views && confidence[i] < TMixture::default().coverage;
            for group in [Some(0), Some(n_measured), is_unsure.then_some(n_views + 1)] {
                let Some(group) = group else { continue };
                let sums = &mut all[group];
                sums.n_samples += 1;
                sums.covered[0] += usize::from(set.contains(&by_model[i]));
                sums.covered[1] += usize::from(by_fit);
                sums.sizes += set.len();
            }
        }
    }
    for (group, sums) in all.iter().enumerate().filter(|(_, sums)| sums.n_samples > 0) {
        let n = sums.n_samples as f64;
        let [model, fit] = sums.covered.map(|count| 100.0 * count as f64 / n);
        let size = sums.sizes as f64 / n;
        let of = match group {
            0 => "all".to_owned(),
            group if group > n_views => "unsure".to_owned(),
            n_views => format!("{n_views} views"),
        };
        say!(
            "{name} {pattern}, {of}: {model:.1} % covered ({fit:.1} % of a fit on complete data), mean size {size:.2}, {n} samples"
        );
    }
    Ok(())
}

/// Five simulated data sets: few and many samples, clusters apart and overlapping.
fn simulated(number: u64) -> Result<Dataset> {
    let (n_samples, n_clusters, separation, widths) = match number {
        1 => (300, 4, 2.0, vec![12, 7, 20]),
        2 => (1000, 4, 0.7, vec![12, 7, 20, 10]),
        3 => (1000, 8, 1.0, vec![6; 6]),
        4 => (200, 3, 0.7, vec![30; 4]),
        _ => (2000, 5, 0.7, vec![4, 8, 12, 16, 20]),
    };
    let maps = [SyntheticMap::Linear, SyntheticMap::Nonlinear].into_iter().cycle();
    let views = widths.into_iter().zip(maps).map(|(width, map)| SyntheticView { width, map });
    let views = views.collect();
    let recipe =
        SyntheticViews { n_samples, n_clusters, separation, views, ..SyntheticViews::default() };
    Ok(recipe.generate(Seed::new(number))?)
}
