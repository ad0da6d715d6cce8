//! Held-out shared information per number of clusters (specification, section 4).

use crate::choice::{self, Choice};
use crate::coordinates::{Views, Width};
use crate::criterion::terms_under;
use crate::model::Prior;
use crate::model::em::Em;
use crate::model::passes::moments_of;
use crate::observations::Observations;
use crate::pilot::Pilot;
use crate::search::{self, Search, SearchState};
use crate::settings::TMixture;
use crate::t_mixture::Searched;
use crate::watch::Watch;
use cdimc_core::check::setting;
use cdimc_core::{ClusterError, Clusterer, Observer, Step};
use cdimc_data::{MultiView, Seed};
use rand::seq::SliceRandom;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Number of random splits of the samples.
const SPLITS: usize = 10;
/// Share of the samples that is fitted in a split, as a ratio.
const FITTED_SHARE: (usize, usize) = (2, 3);
/// Maximum number of starts and of refined starts on all samples.
const EFFORT: (usize, usize) = (6, 1);

/// Held-out shared information for one number of clusters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct HeldOut {
    /// Number of clusters k.
    pub n_clusters: usize,
    /// Mean held-out T over the splits, in nats.
    pub shared_information: f64,
    /// Held-out T of each split; the splits are the same for all numbers.
    pub parts: Vec<f64>,
}

impl HeldOut {
    /// Returns the standard error of the mean: √((1/J + 1/2) s²), with s² the variance over J overlapping splits of
    /// test to training ratio 1/2 (Nadeau and Bengio, Mach. Learn. 52, 2003, DOI 10.1023/A:1024068626366).
    pub fn standard_error(&self) -> f64 {
        let (n, mean) = (self.parts.len() as f64, self.shared_information);
        let square: f64 = self.parts.iter().map(|t| (t - mean).powi(2)).sum();
        let ratio = (FITTED_SHARE.1 - FITTED_SHARE.0) as f64 / FITTED_SHARE.0 as f64;
        ((1.0 / n + ratio) * square / (n - 1.0).max(1.0)).sqrt()
    }
}

/// Search for the number of clusters.
///
/// [`Self::held_out`] evaluates one number, so that a caller can save results and resume; [`propose`](crate::propose)
/// reads the whole curve.
///
/// ```
/// use cdimc_core::Silent;
/// use cdimc_data::{Seed, SyntheticViews, ViewMask};
/// use cdimc_mixture::{ClusterNumberSearch, TMixture, propose};
///
/// let dataset = SyntheticViews { n_samples: 300, ..SyntheticViews::default() }.generate(Seed::new(1))?;
/// let data = dataset.observe(ViewMask::complete(300, dataset.n_views())?)?;
/// let quick = TMixture { starts: 2, ..TMixture::default() };
/// let silent = Silent;
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
    /// Fitted and held-out samples of each split.
    splits: Vec<(Vec<usize>, Vec<usize>)>,
}

impl ClusterNumberSearch {
    /// Prepares a search up to `largest` clusters: coordinates, common to all numbers, and random splits.
    ///
    /// # Errors
    /// If a setting is out of range, if `largest` clusters are too many for the fitted share of the searched
    /// samples, or if the observer stops the run.
    pub fn new(
        settings: &TMixture,
        data: &MultiView,
        largest: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Self, ClusterError> {
        settings.check()?;
        check_number(largest, data.n_samples())?;
        let Searched { part, seed, .. } = settings.searched(data, seed)?;
        let views = Views::of(part.as_ref().unwrap_or(data), data);
        check_number(largest, views.data.n_samples())?;
        let middle = largest.div_ceil(2).max(2);
        let Choice { pilot: Pilot { kind, .. }, prior, .. } =
            choice::choose(settings, &views, middle, seed, observer)?;
        // Width for the largest number in a fitted share; a width by centers separates small data worse
        // (`docs/notes/mixture.md`).
        let width =
            Width::by_samples(settings.dimensions, largest * FITTED_SHARE.1 / FITTED_SHARE.0);
        let (_, observations) = views.coordinates(kind, width)?;
        let observations = observations.select(&observations.samples_with_views(largest));
        check_number(largest, observations.n_samples)?;
        let split = |nth| {
            let mut samples: Vec<usize> = (0..observations.n_samples).collect();
            samples.shuffle(&mut seed.stream("splits").nth(nth).rng());
            let mut held_out = samples.split_off(samples.len() * FITTED_SHARE.0 / FITTED_SHARE.1);
            samples.sort_unstable();
            held_out.sort_unstable();
            (samples, held_out)
        };
        let splits = (0..SPLITS as u64).map(split).collect();
        Ok(Self { settings: settings.clone(), prior, seed, observations, largest, splits })
    }

    /// Returns T of held-out samples with `n_clusters` clusters.
    ///
    /// # Errors
    /// If the number is below 2 or too large for the fitted share of the samples, or if the observer stops the run.
    pub fn held_out(
        &self,
        n_clusters: usize,
        observer: &dyn Observer,
    ) -> Result<HeldOut, ClusterError> {
        let effort = (self.settings.starts.min(EFFORT.0), EFFORT.1);
        let Self { observations, prior, .. } = self;
        check_number(n_clusters, observations.n_samples)?;
        let seed = self.seed.stream("held out");
        let search = Search { observations, prior, n_clusters, effort, seed };
        let (done, of) = (n_clusters, self.largest);
        let report = |step: &Step| observer.on_step(&Step { stage: "held out", done, of, ..*step });
        let found = search::best(search.run(SearchState::default(), &report)?);
        // Fits of splits begin at the fit of all samples; ten of them cost less than one search.
        let of_split = |(seen, held_out): &(Vec<usize>, Vec<usize>)| {
            let part = observations.select(seen);
            let begin = moments_of(&part, &found.fit.responsibilities.select(seen));
            let watch = Watch::new(&report, "held out", SPLITS, part.n_samples);
            let fit = Em::new(&part, prior, &watch).run(begin)?;
            Ok(terms_under(&observations.select(held_out), &fit.mixture).1.information)
        };
        let parts: Vec<f64> =
            self.splits.par_iter().map(of_split).collect::<Result<_, ClusterError>>()?;
        let shared_information = parts.iter().sum::<f64>() / parts.len() as f64;
        Ok(HeldOut { n_clusters, shared_information, parts })
    }
}

/// Checks that a split of `n_samples` can have this number of clusters.
fn check_number(n_clusters: usize, n_samples: usize) -> Result<(), ClusterError> {
    let rule = "must lie between 2 and two thirds of the samples that are searched";
    setting("clusters", n_clusters, rule, |k| {
        (2..=n_samples * FITTED_SHARE.0 / FITTED_SHARE.1).contains(k)
    })
}
