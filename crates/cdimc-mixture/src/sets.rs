//! Sets of clusters with a promised coverage (specification, section 5): split conformal prediction of the cluster by all
//! views from the views that a sample has.

use crate::model::passes::expectation;
use crate::model::{Mixture, Prior};
use crate::observations::Observations;
use crate::responsibilities::tempered;
use cdimc_data::Seed;
use ndarray::Array2;
use rand::Rng;
use rand::seq::SliceRandom;

/// Number of known samples from which samples with fewer views are left out.
const MIN_KNOWN: usize = 30;
/// Maximum number of samples used.
const MAX_SAMPLES: usize = 20_000;
/// Parts of the known samples; views of one part at a time are hidden.
const FOLDS: usize = 4;
/// EM iterations after views were hidden.
const ITERATIONS: usize = 10;
/// Draws of a pattern until one has only views of the sample.
const TRIES: usize = 20;
/// Rounding error of sums of weights.
const ROUNDING: f64 = 1e-9;

/// Limits of the sets: a cluster is in the set if the more probable clusters have together at most this probability.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Limits {
    /// Limits of samples with 1, 2, ... views, up to one less than all, whose first cluster has at least the probability
    /// of the coverage.
    pub(crate) sure: Vec<f64>,
    /// Limit of the other samples.
    pub(crate) unsure: f64,
}

impl Limits {
    /// Returns the clusters of the set of a sample with `n_views` views, ascending; never empty. A complete sample has its
    /// first cluster.
    pub(crate) fn set(&self, probabilities: &[f64], n_views: usize, coverage: f64) -> Vec<usize> {
        let is_sure = probabilities.iter().any(|&p| p >= coverage);
        let sure = self.sure.get(n_views - 1);
        let limit = sure.map_or(0.0, |&sure| if is_sure { sure } else { self.unsure });
        let mut ahead = 0.0;
        let is_in = |&c: &usize| {
            let is_in = ahead <= limit;
            ahead += probabilities[c];
            is_in
        };
        let mut set: Vec<usize> = order(probabilities).into_iter().take_while(is_in).collect();
        set.sort_unstable();
        set
    }
}

/// A cluster of a sample some of whose views are hidden.
struct Score {
    /// Probability of the more probable clusters.
    ahead: f64,
    /// Probability that the cluster is the one by all views.
    weight: f64,
    /// Probability of the first cluster.
    first: f64,
}

/// A fit in which views of samples are hidden.
pub(crate) struct Hiding<'a> {
    pub(crate) observations: &'a Observations,
    pub(crate) mixture: &'a Mixture,
    pub(crate) prior: &'a Prior,
    pub(crate) exponent: f64,
    pub(crate) seed: Seed,
}

impl Hiding<'_> {
    /// Returns the limits; `None` if too few samples have several views.
    ///
    /// Samples with the most views are known: complete ones have the cluster of all views, others their probabilities.
    /// Views of them are hidden as in the samples with fewer views, and EM continues, because samples of a fit are closer
    /// to their clusters than new ones. Numbers of views with too few known samples have the limit of one view less.
    /// With too few unsure samples, their limit is `coverage`, as if the probabilities were right.
    pub(crate) fn limits(&self, coverage: f64) -> Option<Limits> {
        let mut samples: Vec<usize> = (0..self.observations.n_samples).collect();
        samples.shuffle(&mut self.seed.stream("sets").rng());
        samples.truncate(MAX_SAMPLES);
        let part = self.observations.select(&samples);
        let n_views = part.n_views();
        let mut views: Vec<Vec<usize>> = vec![Vec::new(); part.n_samples];
        (0..n_views).for_each(|v| part.each_row(v, |i, _| views[i].push(v)));
        let views = views.as_slice();
        let with = |least: usize| (0..views.len()).filter(move |&i| views[i].len() >= least);
        let needed = MIN_KNOWN.max((coverage / (1.0 - coverage)).ceil() as usize);
        let enough = |least: &usize| with(*least).count() >= needed;
        let most = (2..=n_views).rev().find(enough).unwrap_or(2).min(n_views);
        let known: Vec<usize> = with(most).collect();
        let mut unsure = Vec::new();
        let limit = |n: usize| {
            let mut rng = self.seed.stream("sets").nth(n as u64).rng();
            let patterns: Vec<&Vec<usize>> = views.iter().filter(|of| of.len() == n).collect();
            let with_kept_views = |&i: &usize| Some((i, kept(&views[i], &patterns, n, &mut rng)?));
            let hidden: Vec<(usize, Vec<usize>)> =
                known.iter().filter_map(with_kept_views).collect();
            let folds = hidden.chunks(hidden.len().div_ceil(FOLDS).max(1));
            let scores = folds.flat_map(|fold| self.scores(&part, fold, views));
            let (of_sure, of_unsure): (Vec<Score>, Vec<Score>) =
                scores.partition(|score| score.first >= coverage);
            let n_scored = weight(&of_sure) + weight(&of_unsure);
            unsure.extend(of_unsure);
            let is_enough = n_scored >= coverage / (1.0 - coverage);
            is_enough.then(|| quantile(of_sure, coverage).unwrap_or(coverage))
        };
        let mut sure = (1..most).map(limit).collect::<Option<Vec<f64>>>()?;
        sure.resize(n_views - 1, *sure.last()?);
        let is_enough = weight(&unsure) >= needed as f64;
        let unsure = quantile(unsure, coverage).filter(|_| is_enough).unwrap_or(coverage);
        // A cluster that is not more probable than all others together has no set of its own.
        Some(Limits { sure, unsure: unsure.max(0.5) })
    }

    /// Returns the scores of all clusters for the samples of `fold` with these views kept.
    fn scores(
        &self,
        part: &Observations,
        fold: &[(usize, Vec<usize>)],
        views: &[Vec<usize>],
    ) -> Vec<Score> {
        let mut kept: Vec<Option<&Vec<usize>>> = vec![None; part.n_samples];
        fold.iter().for_each(|(i, views)| kept[*i] = Some(views));
        let hidden = part.without_rows(|i, v| kept[i].is_some_and(|views| !views.contains(&v)));
        let mut mixture = self.mixture.clone();
        for _ in 0..ITERATIONS {
            let (_, _, moments) = expectation(&hidden, &mixture);
            mixture = Mixture::fit(&moments, &hidden, self.prior, None).0;
        }
        let samples: Vec<usize> = fold.iter().map(|(i, _)| *i).collect();
        let probabilities = |observations: &Observations| -> Array2<f64> {
            let (responsibilities, ..) = expectation(&observations.select(&samples), &mixture);
            tempered(&responsibilities.to_array(), self.exponent)
        };
        let (by_all, by_kept) = (probabilities(part), probabilities(&hidden));
        let mut scores = Vec::new();
        for ((i, all), p) in samples.iter().zip(by_all.rows()).zip(by_kept.rows()) {
            let (all, p) = (all.to_vec(), p.to_vec());
            let first = order(&all)[0];
            let is_complete = views[*i].len() == part.n_views();
            let (order, mut ahead) = (order(&p), 0.0);
            for &c in &order {
                let weight = if is_complete { f64::from(u8::from(c == first)) } else { all[c] };
                scores.push(Score { ahead, weight, first: p[order[0]] });
                ahead += p[c];
            }
        }
        scores
    }
}

/// Returns the sum of the weights.
fn weight(scores: &[Score]) -> f64 {
    scores.iter().map(|score| score.weight).sum()
}

/// Returns `n` of `views`, as one of `patterns` has them; at random without patterns.
fn kept(
    views: &[usize],
    patterns: &[&Vec<usize>],
    n: usize,
    rng: &mut impl Rng,
) -> Option<Vec<usize>> {
    if patterns.is_empty() {
        return Some(views.choose_multiple(rng, n).copied().collect());
    }
    let mut drawn = (0..TRIES).filter_map(|_| patterns.choose(rng).copied());
    drawn.find(|pattern| pattern.iter().all(|view| views.contains(view))).cloned()
}

/// Returns the clusters in the order of their probabilities; on a tie, the first comes first.
pub(crate) fn order(probabilities: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|&a, &b| probabilities[b].total_cmp(&probabilities[a]));
    order
}

/// Returns the value that `ahead` of a new sample exceeds with probability at most 1 - `coverage`; `None` for too few
/// scores.
fn quantile(mut scores: Vec<Score>, coverage: f64) -> Option<f64> {
    scores.sort_by(|a, b| a.ahead.total_cmp(&b.ahead));
    let mut below = ROUNDING - coverage * (weight(&scores) + 1.0);
    let mut reached = scores.into_iter().skip_while(|score| {
        below += score.weight;
        below < 0.0
    });
    reached.next().map(|score| score.ahead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::complete;
    use crate::{FittedMixture, MixtureModel, TMixture};
    use cdimc_core::{Model, Silent};
    use cdimc_data::{MissingPattern, SyntheticViews};

    #[test]
    fn a_set_has_the_clusters_ahead_of_which_the_limit_is_not_exceeded() {
        let p = [0.1, 0.6, 0.3];
        let limits = Limits { sure: vec![0.0, 0.6], unsure: 0.95 };
        // A sample is sure from the coverage on.
        assert_eq!(limits.set(&p, 1, 0.6), [1]);
        assert_eq!(limits.set(&p, 2, 0.6), [1, 2]);
        assert_eq!(limits.set(&p, 1, 0.7), [0, 1, 2]);
        // A complete sample has its cluster.
        assert_eq!(limits.set(&p, 3, 0.7), [1]);
    }

    #[test]
    fn the_quantile_counts_the_new_sample_and_weights() {
        let scores = |n: usize, weight: f64| {
            (0..n).map(|i| Score { ahead: i as f64, weight, first: 0.5 }).collect()
        };
        assert_eq!(quantile(scores(8, 1.0), 0.9), None);
        assert_eq!(quantile(scores(9, 1.0), 0.9), Some(8.0));
        assert_eq!(quantile(scores(99, 1.0), 0.9), Some(89.0));
        // Two halves are one sample.
        assert_eq!(quantile(scores(198, 0.5), 0.9), Some(179.0));
    }

    #[test]
    fn sets_contain_the_cluster_by_all_views_as_often_as_promised() {
        let (n, n_views) = (800, 3);
        let views = SyntheticViews { n_samples: n, separation: 0.4, ..SyntheticViews::default() };
        let dataset = views.generate(Seed::new(5)).unwrap();
        let mask = MissingPattern::PerView(0.4).mask(n, n_views, Seed::new(1)).unwrap();
        let data = dataset.observe(mask).unwrap();
        let settings = TMixture { starts: 4, ..TMixture::default() };
        let (FittedMixture { model, .. }, clustering) =
            settings.train(&data, 4, Seed::new(1), &Silent).unwrap();
        let by_all = model.predict(&complete(dataset.views())).unwrap();
        assert!(by_all.sets.unwrap().iter().zip(&by_all.labels).all(|(set, c)| set == &[*c]));
        let (sets, labels) = (clustering.sets.unwrap(), clustering.labels);
        assert!(sets.iter().zip(&labels).all(|(set, c)| set.contains(c)));
        let confidence = clustering.confidence.unwrap();
        let is_unsure = |i: usize| confidence[i] < TMixture::default().coverage;
        for n_measured in 0..n_views {
            let n_views_of = |i: usize| data.mask().n_views_of(i);
            // Zero stands for the unsure samples.
            let is_of = |&i: &usize| match n_measured {
                0 => n_views_of(i) < n_views && is_unsure(i),
                _ => n_views_of(i) == n_measured,
            };
            let samples: Vec<usize> = (0..n).filter(is_of).collect();
            let covered = samples.iter().filter(|&&i| sets[i].contains(&by_all.labels[i])).count();
            let share = covered as f64 / samples.len() as f64;
            assert!(share > 0.86, "{n_measured} views: {share}");
        }
        assert!(sets.iter().any(|set| set.len() > 1));
        let older = MixtureModel { set_limits: None, ..model };
        assert!(older.predict(&data).unwrap().sets.is_none() && older.coverage().is_none());
    }
}
