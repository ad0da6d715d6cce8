//! How often the set of a sample's clusters contains the cluster that all its views give, by the same model and by a fit on
//! complete data.

use crate::source;
use anyhow::{Context, Result};
use cdimc::mixture::TMixture;
use cdimc::say;
use cdimc_core::{Clusterer, Silent};
use cdimc_data::{Dataset, MultiView, Seed, SyntheticMap, SyntheticView, SyntheticViews, ViewMask};
use cdimc_metrics::match_labels;

#[derive(clap::Args)]
pub struct Arguments {
    /// A data set, as in experiments, or `simulated:N` with N from 1 to 5.
    dataset: String,
    /// Missing patterns, as in experiments.
    #[arg(required = true)]
    patterns: Vec<String>,
    /// Number of masks.
    #[arg(long, value_name = "N", default_value_t = 5)]
    masks: usize,
    /// Settings of t-mixture, a JSON object.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    settings: String,
}

/// Counts of samples with one number of views.
#[derive(Debug, Clone, Default)]
struct Counts {
    n: usize,
    by_model: usize,
    by_fit: usize,
    first: usize,
    sizes: usize,
}

impl Counts {
    fn line(&self) -> String {
        let percent = |count: usize| 100.0 * count as f64 / self.n.max(1) as f64;
        format!(
            "{:.1} % of the labels by all views ({:.1} % of a fit on complete data); first cluster {:.1} %; mean size {:.2}; {} samples",
            percent(self.by_model),
            percent(self.by_fit),
            percent(self.first),
            self.sizes as f64 / self.n.max(1) as f64,
            self.n
        )
    }
}

/// Prints for each pattern the coverage of all samples and by their number of views.
pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let name = &arguments.dataset;
    let settings: TMixture = serde_json::from_str(&arguments.settings)?;
    let dataset = match name.strip_prefix("simulated:") {
        Some(number) => simulated(number.parse()?)?,
        None => source::load(name)?,
    };
    let (k, n, n_views) = (dataset.n_classes(), dataset.n_samples(), dataset.n_views());
    let complete =
        dataset.observe(ViewMask::new(ndarray::Array2::from_elem((n, n_views), true))?)?;
    let reference = settings.cluster(&complete, k, Seed::new(0))?.labels;
    for pattern in &arguments.patterns {
        let mut all = vec![Counts::default(); n_views + 1];
        for i in 0..arguments.masks {
            let seed = Seed::new(i as u64);
            let data = dataset.observe(source::mask(&dataset, pattern, None, seed)?)?;
            add(&mut all, &settings, (&data, &complete), &reference, (k, seed))
                .with_context(|| format!("{name} {pattern}"))?;
        }
        say!("{name} {pattern}: {}", all[0].line());
        for (n_views, counts) in all.iter().enumerate().skip(1).filter(|(_, counts)| counts.n > 0) {
            say!("  {n_views} views: {}", counts.line());
        }
    }
    Ok(())
}

/// Adds the samples of a fit to the counts of all samples, the first, and of their number of views.
fn add(
    all: &mut [Counts],
    settings: &TMixture,
    (data, complete): (&MultiView, &MultiView),
    reference: &[usize],
    (k, seed): (usize, Seed),
) -> Result<()> {
    let fitted = settings.fit(data, k, seed, &Silent)?;
    let sets = fitted.clustering.sets.context("too few samples with several views for sets")?;
    let by_model = fitted.model.context("t-mixture makes a model")?.predict(complete)?.labels;
    let matched = match_labels(reference, &by_model)?;
    for (i, set) in sets.iter().enumerate() {
        let first = fitted.clustering.labels[i];
        let by_fit = |c: &usize| matched.get(c) == Some(&Some(reference[i]));
        for counts in [0, data.mask().n_views_of(i)] {
            let counts = &mut all[counts];
            counts.n += 1;
            counts.by_model += usize::from(set.contains(&by_model[i]));
            counts.by_fit += usize::from(set.iter().any(by_fit));
            counts.first += usize::from(first == by_model[i]);
            counts.sizes += set.len();
        }
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
    let view = |(v, width): (usize, usize)| SyntheticView {
        width,
        map: if v % 2 == 0 { SyntheticMap::Linear } else { SyntheticMap::Nonlinear },
    };
    let views = widths.into_iter().enumerate().map(view).collect();
    let recipe =
        SyntheticViews { n_samples, n_clusters, separation, views, ..SyntheticViews::default() };
    Ok(recipe.generate(Seed::new(number))?)
}
