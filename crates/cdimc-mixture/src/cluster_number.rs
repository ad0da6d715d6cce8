//! How many clusters: shared information on samples held out of the fit (specification, section 4).

use crate::choice;
use crate::coordinates::profile::ColumnProfile;
use crate::coordinates::{self, Kind, Width, projection::Projection};
use crate::criterion::shared_information_under;
use crate::model::Prior;
use crate::observations::Observations;
use crate::search::{Effort, Ground};
use crate::settings::TMixture;
use cdimc_core::{ClusterError, Clusterer, Observer, check_n_clusters};
use cdimc_data::{MultiView, Seed};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

/// Parts of the samples; what a mixture shares is measured on each after a fit to the others.
const FOLDS: usize = 3;
/// Starts of each of these fits at most, and how many of them are refined.
const EFFORT: (usize, usize) = (6, 2);
/// A gain stands out if it exceeds the mean of those after it by this many of their deviations.
const DEVIATIONS: f64 = 2.0;
/// Gains that must follow one to judge it by: a third of all, between these. Two alone have too chancy a
/// deviation: they let Handwritten at 30 % missing end at 12 of 10 clusters.
const GAINS_AFTER: (usize, usize) = (2, 3);

/// What speaks for one number of clusters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HeldOut {
    /// The number of clusters k.
    pub n_clusters: usize,
    /// T on held-out samples in nats, the mean of the parts.
    pub shared_information: f64,
    /// T on each part.
    pub parts: Vec<f64>,
}

/// One proposed number of clusters, the next best, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Proposal {
    /// The number of clusters to take.
    pub n_clusters: usize,
    /// The next best.
    pub runner_up: Option<usize>,
    /// One sentence that says why.
    pub reason: String,
}

/// The search for the number of clusters of some data.
///
/// Each number is measured on its own by [`Self::held_out`], so that a caller may keep what is done and go
/// on later; [`propose`] reads the whole curve.
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
    prior: Prior,
    seed: Seed,
    observations: Observations,
    folds: Vec<(Vec<usize>, Vec<usize>)>,
}

impl ClusterNumberSearch {
    /// The search among up to `largest` clusters: coordinates, which are the same for all numbers, and the
    /// parts of the samples.
    ///
    /// # Errors
    /// If a setting is out of range, `largest` is not a number of clusters that two thirds of the samples
    /// can have, or the observer asks to stop.
    pub fn new(
        settings: &TMixture,
        data: &MultiView,
        largest: usize,
        seed: Seed,
        observer: &Observer<'_>,
    ) -> Result<Self, ClusterError> {
        settings.check()?;
        check_n_clusters(largest, data.n_samples() * (FOLDS - 1) / FOLDS)?;
        let part = settings.part_to_search(data, seed)?;
        let data = part.as_ref().unwrap_or(data);
        let middle = largest.div_ceil(2).max(2);
        let choice = choice::choose(settings, data, middle, seed, observer)?;
        let kinds: Vec<Kind> = choice.projections.iter().map(|p: &Projection| p.kind).collect();
        let prior = choice.prior;
        drop(choice);
        // As many as the largest number of clusters carries in what a fit sees: with as many as its centers span, small
        // data are told apart worse (`docs/methods/mixture.md`).
        let width = Width::carried(settings.dimensions, largest * FOLDS / (FOLDS - 1));
        let (_, observations) =
            coordinates::fit(data, &ColumnProfile::of_views(data), &kinds, width)?;
        let observations = observations.with_views(largest);
        let mut samples: Vec<usize> = (0..observations.n_samples).collect();
        samples.shuffle(&mut seed.stream("folds").rng());
        let fold = |fold: usize| {
            let (mut rest, mut held_out) = (Vec::new(), Vec::new());
            for (place, &i) in samples.iter().enumerate() {
                if place % FOLDS == fold { &mut held_out } else { &mut rest }.push(i);
            }
            rest.sort_unstable();
            held_out.sort_unstable();
            (rest, held_out)
        };
        let folds = (0..FOLDS).map(fold).collect();
        Ok(Self { settings: settings.clone(), prior, seed, observations, folds })
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
        let mut parts = Vec::with_capacity(FOLDS);
        for (fold, (rest, held_out)) in self.folds.iter().enumerate() {
            check_n_clusters(n_clusters, rest.len())?;
            let observations = self.observations.select(rest);
            let seed = self.seed.stream("fold").nth(fold as u64);
            let ground = Ground {
                observations: &observations,
                prior: &self.prior,
                n_clusters,
                effort,
                seed,
            };
            let tell = |_: &'static str, _: usize, _: usize, loss| {
                observer.step("held out", fold, FOLDS, loss)
            };
            if let Some(found) = self.settings.rule.best(ground.search(&tell)?) {
                let held_out = self.observations.select(held_out);
                parts.push(shared_information_under(&held_out, &found.fit.mixture).information);
            }
        }
        let shared_information = parts.iter().sum::<f64>() / parts.len().max(1) as f64;
        Ok(HeldOut { n_clusters, shared_information, parts })
    }
}

/// Proposes a number of clusters, given T of several: the last one whose gain over the one before stands
/// out from the gains after it. Beyond the classes a mixture goes on to split what has shape, and gains
/// less by it, evenly.
///
/// T of one cluster is 0: the views are independent given the cluster. Nothing if `curve` is empty.
pub fn propose(curve: &[HeldOut]) -> Option<Proposal> {
    let mut curve: Vec<&HeldOut> = curve.iter().collect();
    curve.sort_by_key(|held_out| held_out.n_clusters);
    curve.dedup_by_key(|held_out| held_out.n_clusters);
    let gains: Vec<Gain> = (0..curve.len())
        .map(|i| Gain::between(i.checked_sub(1).map(|before| curve[before]), curve[i]))
        .collect();
    let last = *curve.last()?;
    // How far each gain stands out; those near the end have too little after them.
    let n_after = (gains.len() / 3).clamp(GAINS_AFTER.0, GAINS_AFTER.1);
    let outstanding: Vec<(f64, usize)> = (0..gains.len().saturating_sub(n_after))
        .filter_map(|i| {
            let after = &gains[i + 1..];
            let mean = after.iter().map(|gain| gain.mean).sum::<f64>() / after.len() as f64;
            let spread = after.iter().map(|gain| (gain.mean - mean).powi(2)).sum::<f64>();
            let spread = (spread / after.len() as f64).sqrt();
            let noise = spread.max(gains[i].error);
            let excess = gains[i].mean - mean.max(0.0);
            (excess > DEVIATIONS * noise).then_some((excess, curve[i].n_clusters))
        })
        .collect();
    let Some(&(excess, n_clusters)) = outstanding.last() else {
        let best = curve.iter().copied().reduce(|best, other| {
            if other.shared_information > best.shared_information { other } else { best }
        })?;
        let at_end = best.n_clusters == last.n_clusters;
        let reason = if at_end {
            "no gain stands out and the last number shares most: more clusters may share more still"
        } else {
            "no gain stands out; this number shares most"
        };
        let others = curve.iter().filter(|held_out| held_out.n_clusters != best.n_clusters);
        let next = others.max_by(|a, b| a.shared_information.total_cmp(&b.shared_information));
        return Some(Proposal {
            n_clusters: best.n_clusters,
            runner_up: next.map(|held_out| held_out.n_clusters),
            reason: reason.to_owned(),
        });
    };
    let before = outstanding[..outstanding.len() - 1].iter();
    let runner_up = before.max_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    Some(Proposal {
        n_clusters,
        runner_up: runner_up.map(|&(_, k)| k),
        reason: format!(
            "the last cluster whose gain stands out: {excess:.2} nats above those after it"
        ),
    })
}

/// What a cluster more adds to T.
struct Gain {
    mean: f64,
    /// Its standard error over the parts.
    error: f64,
}

impl Gain {
    fn between(before: Option<&HeldOut>, held_out: &HeldOut) -> Self {
        let steps = (held_out.n_clusters - before.map_or(1, |before| before.n_clusters)) as f64;
        let of_part = |(part, t): (usize, &f64)| {
            let before = before.map_or(Some(0.0), |before| before.parts.get(part).copied());
            before.map(|before| (t - before) / steps)
        };
        let gains: Vec<f64> = held_out.parts.iter().enumerate().filter_map(of_part).collect();
        let n = gains.len() as f64;
        let mean = gains.iter().sum::<f64>() / n;
        let square = gains.iter().map(|gain| (gain - mean).powi(2)).sum::<f64>();
        Self { mean, error: (square / (n * (n - 1.0).max(1.0))).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(usize, f64)]) -> Vec<HeldOut> {
        let held_out = |&(n_clusters, t): &(usize, f64)| HeldOut {
            n_clusters,
            shared_information: t,
            parts: vec![t - 0.01, t, t + 0.01],
        };
        points.iter().map(held_out).collect()
    }

    #[test]
    fn the_last_gain_that_stands_out_is_found_on_curves_of_real_data() {
        // BDGP (5 classes) and Handwritten (10 classes), as the specification has them.
        let bdgp = curve(&[(3, 0.36), (4, 0.71), (5, 0.90), (6, 0.87), (8, 0.90)]);
        assert_eq!(propose(&bdgp).unwrap().n_clusters, 5);
        let handwritten =
            [(6, 3.74), (8, 4.45), (9, 4.78), (10, 5.12), (11, 5.21), (12, 5.31), (14, 5.54)];
        let proposal = propose(&curve(&handwritten)).unwrap();
        assert_eq!(proposal.n_clusters, 10, "{proposal:?}");
    }

    #[test]
    fn a_range_that_ends_too_early_is_said() {
        let rising = curve(&[(2, 0.5), (3, 1.0), (4, 1.5)]);
        let proposal = propose(&rising).unwrap();
        assert_eq!((proposal.n_clusters, proposal.runner_up), (4, Some(3)));
        assert!(proposal.reason.contains("more clusters may share more"));
        assert_eq!(propose(&[]), None);
    }
}
