//! Sets of clusters with a promised coverage (specification, section 5): split conformal prediction of the cluster by all
//! views from the views that a sample has.

use crate::fitted::tempered;
use crate::model::passes::expectation;
use crate::model::{Mixture, Prior};
use crate::observations::Observations;
use crate::responsibilities::Responsibilities;
use cdimc_data::Seed;
use ndarray::Array2;
use rand::Rng;
use rand::seq::SliceRandom;

/// Smallest number of known samples.
const MIN_KNOWN: usize = 30;
/// Maximum number of samples used.
const MAX_SAMPLES: usize = 20_000;
/// Parts of the known samples; views of one part at a time are hidden.
const FOLDS: usize = 4;
/// EM iterations after views were hidden.
const ITERATIONS: usize = 3;
/// Draws of a pattern until one has only views of the sample.
const TRIES: usize = 20;
/// Rounding error of sums of weights.
const ROUNDING: f64 = 1e-9;

/// A fit in which views of samples are hidden.
pub(crate) struct Hiding<'a> {
    pub(crate) observations: &'a Observations,
    pub(crate) mixture: &'a Mixture,
    pub(crate) prior: &'a Prior,
    pub(crate) exponent: f64,
    pub(crate) seed: Seed,
}

impl Hiding<'_> {
    /// Returns for samples with 1, 2, ... views, up to one less than all, the largest probability that the clusters ahead
    /// of a member of the set have together; `None` if too few samples have several views.
    ///
    /// Samples with the most views are known: complete ones have the cluster of all views, others their probabilities.
    /// Views of them are hidden as in the samples with fewer views, and EM continues, because samples of a fit are closer
    /// to their clusters than new ones. Numbers of views with too few known samples have the limit of one view less.
    pub(crate) fn limits(&self, coverage: f64) -> Option<Vec<f64>> {
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
        let most = (1..=n_views).rev().find(|&least| with(least).count() >= needed)?;
        let known: Vec<usize> = with(most).collect();
        let limit = |n: usize| {
            let mut rng = self.seed.stream("sets").nth(n as u64).rng();
            let patterns: Vec<&Vec<usize>> = views.iter().filter(|of| of.len() == n).collect();
            let kept = |&i: &usize| Some((i, kept(&views[i], &patterns, n, &mut rng)?));
            let kept: Vec<(usize, Vec<usize>)> = known.iter().filter_map(kept).collect();
            let folds = kept.chunks(kept.len().div_ceil(FOLDS).max(1));
            quantile(folds.flat_map(|fold| self.scores(&part, fold, views)).collect(), coverage)
        };
        let mut limits = (1..most).map(limit).collect::<Option<Vec<f64>>>()?;
        limits.resize(n_views - 1, *limits.last()?);
        Some(limits)
    }

    /// Returns the probability ahead of each cluster, with the probability that the cluster is the one by all views, for
    /// the samples of `fold` with these views kept.
    fn scores(
        &self,
        part: &Observations,
        fold: &[(usize, Vec<usize>)],
        views: &[Vec<usize>],
    ) -> Vec<(f64, f64)> {
        let mut kept: Vec<Option<&Vec<usize>>> = vec![None; part.n_samples];
        fold.iter().for_each(|(i, views)| kept[*i] = Some(views));
        let hidden = part.without_rows(|i, v| kept[i].is_some_and(|views| !views.contains(&v)));
        let mut mixture = self.mixture.clone();
        let mut by_kept = Responsibilities::zeros(part.n_samples, mixture.n_clusters());
        for _ in 0..ITERATIONS {
            let (_, moments) = expectation(&hidden, &mixture, &mut by_kept);
            mixture = Mixture::fit(&moments, &hidden, self.prior, None).0;
        }
        let samples: Vec<usize> = fold.iter().map(|(i, _)| *i).collect();
        let probabilities = |observations: &Observations| -> Array2<f64> {
            let observations = observations.select(&samples);
            let mut of = Responsibilities::zeros(samples.len(), mixture.n_clusters());
            let _ = expectation(&observations, &mixture, &mut of);
            tempered(&of.to_array(), self.exponent)
        };
        let (by_all, by_kept) = (probabilities(part), probabilities(&hidden));
        let mut scores = Vec::new();
        for ((i, all), p) in samples.iter().zip(by_all.rows()).zip(by_kept.rows()) {
            let (all, p) = (all.to_vec(), p.to_vec());
            let first = order(&all)[0];
            let is_complete = views[*i].len() == part.n_views();
            let mut ahead = 0.0;
            for c in order(&p) {
                let weight = if is_complete { f64::from(u8::from(c == first)) } else { all[c] };
                scores.push((ahead, weight));
                ahead += p[c];
            }
        }
        scores
    }
}

/// Returns the clusters of the set for these probabilities, ascending; never empty.
pub(crate) fn set(probabilities: &[f64], limit: f64) -> Vec<usize> {
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
fn order(probabilities: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|&a, &b| probabilities[b].total_cmp(&probabilities[a]));
    order
}

/// Returns the value that a new score exceeds with probability at most 1 - `coverage`, from scores with their weights;
/// `None` for too few.
fn quantile(mut scores: Vec<(f64, f64)>, coverage: f64) -> Option<f64> {
    scores.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = scores.iter().map(|(_, weight)| weight).sum();
    let mut below = ROUNDING - coverage * (total + 1.0);
    let mut reached = scores.into_iter().skip_while(|(_, weight)| {
        below += weight;
        below < 0.0
    });
    reached.next().map(|(score, _)| score)
}
