//! How many clusters: shared information on samples held out of the fit (specification, section 4).

use crate::choice;
use crate::coordinates::{self, Kind, Width, projection::Projection};
use crate::criterion::shared_information_under;
use crate::model::Prior;
use crate::model::em::Em;
use crate::model::passes::moments_of;
use crate::observations::Observations;
use crate::pilot::Views;
use crate::search::{Effort, Search};
use crate::settings::TMixture;
use crate::watch::Watch;
use cdimc_core::check::setting;
use cdimc_core::{ClusterError, Clusterer, Observer};
use cdimc_data::{MultiView, Seed};
use rand::seq::SliceRandom;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Times that the samples are cut in two: what a mixture shares is measured on a third, after a fit to the others.
const SPLITS: usize = 10;
/// The samples of a split that its fit sees, as a ratio.
const SEEN: (usize, usize) = (2, 3);
/// Starts of the search on all samples at most, and how many of them are refined.
const EFFORT: (usize, usize) = (6, 2);

/// What speaks for one number of clusters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct HeldOut {
    /// The number of clusters k.
    pub n_clusters: usize,
    /// T on held-out samples in nats, the mean of the splits.
    pub shared_information: f64,
    /// T on the held-out samples of each split; the splits are the same for all numbers.
    pub parts: Vec<f64>,
}

impl HeldOut {
    /// The standard error of the mean: √((1/J + 1/2) s²), s² the variance over J splits, whose held-out samples are half
    /// as many as those seen and overlap (Nadeau and Bengio, Mach. Learn. 52, 2003, DOI 10.1023/A:1024068626366).
    pub fn standard_error(&self) -> f64 {
        let (n, mean) = (self.parts.len() as f64, self.shared_information);
        let square: f64 = self.parts.iter().map(|t| (t - mean).powi(2)).sum();
        let ratio = (SEEN.1 - SEEN.0) as f64 / SEEN.0 as f64;
        ((1.0 / n + ratio) * square / (n - 1.0).max(1.0)).sqrt()
    }
}

/// The search for the number of clusters of some data.
///
/// Each number is measured on its own by [`Self::held_out`], so that a caller may keep what is done and go
/// on later; `propose` reads the whole curve.
///
/// ```
/// use cdimc_core::Observer;
/// use cdimc_data::{Seed, SyntheticViews, ViewMask};
/// use cdimc_mixture::{ClusterNumberSearch, TMixture, propose};
///
/// let dataset = SyntheticViews { n_samples: 300, ..SyntheticViews::default() }.generate(Seed::new(1))?;
/// let data = dataset.observe(ViewMask::complete(300, dataset.n_views())?)?;
/// let quick = TMixture { starts: 2, refined: 1, ..TMixture::default() };
/// let silent = Observer::silent();
/// let search = ClusterNumberSearch::new(&quick, &data, 7, Seed::new(1), &silent)?;
/// let curve = (2..=7).map(|k| search.held_out(k, &silent)).collect::<Result<Vec<_>, _>>()?;
/// let proposal = propose(&curve).expect("a curve");
/// assert!((2..=7).contains(&proposal.n_clusters));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ClusterNumberSearch {
    settings: TMixture,
    pub(crate) prior: Prior,
    pub(crate) seed: Seed,
    pub(crate) observations: Observations,
    pub(crate) largest: usize,
    /// Of each split, the samples that are seen and those held out.
    splits: Vec<(Vec<usize>, Vec<usize>)>,
}

impl ClusterNumberSearch {
    /// The search among up to `largest` clusters: coordinates, which are the same for all numbers, and the
    /// splits of the samples.
    ///
    /// # Errors
    /// If a setting is out of range, `largest` is not a number of clusters that two thirds of the samples that are
    /// searched can have, or the observer asks to stop.
    pub fn new(
        settings: &TMixture,
        data: &MultiView,
        largest: usize,
        seed: Seed,
        observer: &Observer<'_>,
    ) -> Result<Self, ClusterError> {
        settings.check()?;
        check_number(largest, data.n_samples())?;
        let part = settings.part_to_search(data, seed)?;
        let views = Views::of(part.as_ref().unwrap_or(data), data);
        let data = views.data;
        check_number(largest, data.n_samples())?;
        let middle = largest.div_ceil(2).max(2);
        let choice = choice::choose(settings, &views, middle, seed, observer)?;
        let kinds: Vec<Kind> = choice.projections.iter().map(|p: &Projection| p.kind).collect();
        let prior = choice.prior;
        drop(choice);
        // As many as the largest number of clusters carries in what a fit sees: with as many as its centers span, small
        // data are told apart worse (`docs/notes/mixture.md`).
        let width = Width::by_samples(settings.dimensions, largest * SEEN.1 / SEEN.0);
        let (_, observations) = coordinates::fit(data, &views.profiles, &kinds, width)?;
        let observations = observations.select(&observations.with_views(largest));
        check_number(largest, observations.n_samples)?;
        let split = |nth| {
            let mut samples: Vec<usize> = (0..observations.n_samples).collect();
            samples.shuffle(&mut seed.stream("splits").nth(nth).rng());
            let mut held_out = samples.split_off(samples.len() * SEEN.0 / SEEN.1);
            samples.sort_unstable();
            held_out.sort_unstable();
            (samples, held_out)
        };
        let splits = (0..SPLITS as u64).map(split).collect();
        Ok(Self { settings: settings.clone(), prior, seed, observations, largest, splits })
    }

    /// T of held-out samples with `n_clusters` clusters.
    ///
    /// # Errors
    /// If the number is not in `2..` up to two thirds of the samples, or the observer asks to stop.
    pub fn held_out(
        &self,
        n_clusters: usize,
        observer: &Observer<'_>,
    ) -> Result<HeldOut, ClusterError> {
        let effort = Effort {
            starts: self.settings.starts.min(EFFORT.0),
            refined: self.settings.refined.min(EFFORT.1),
            tries: self.settings.tries,
        };
        let Self { observations, prior, .. } = self;
        check_number(n_clusters, observations.n_samples)?;
        let seed = self.seed.stream("held out");
        let search = Search { observations, prior: &self.prior, n_clusters, effort, seed };
        let progress = |_: &'static str, _: usize, _: usize, loss| {
            observer.step("held out", n_clusters, self.largest, loss)
        };
        let Some(found) = self.settings.rule.best(search.run(&progress)?) else {
            unreachable!("`check` asks for one refined start at least")
        };
        // A fit of a part begins where that of all samples ends: ten of them cost less than one search.
        let of_split = |(seen, held_out): &(Vec<usize>, Vec<usize>)| {
            let part = observations.select(seen);
            let begin = moments_of(&part, &found.fit.responsibilities.select(seen));
            let watch = Watch::new(&progress, "held out", SPLITS, part.n_samples);
            let fit = Em::new(&part, prior, &watch).run(begin)?;
            let held_out = observations.select(held_out);
            Ok(shared_information_under(&held_out, &fit.mixture).information)
        };
        let parts: Vec<f64> =
            self.splits.par_iter().map(of_split).collect::<Result<_, ClusterError>>()?;
        let shared_information = parts.iter().sum::<f64>() / parts.len() as f64;
        Ok(HeldOut { n_clusters, shared_information, parts })
    }
}

/// Whether the samples that a split of `n_samples` sees can have so many clusters.
fn check_number(n_clusters: usize, n_samples: usize) -> Result<(), ClusterError> {
    let rule = "must lie between 2 and two thirds of the samples that are searched";
    setting("clusters", n_clusters, rule, |k| (2..=n_samples * SEEN.0 / SEEN.1).contains(k))
}
