//! Calibration of the responsibilities by one exponent (specification, section 5): on held-out samples, the
//! posterior of each view best predicts the posterior of the other views.

use crate::folds::cross_fitted;
use crate::model::passes::log_densities;
use crate::model::{Mixture, Prior};
use crate::observations::Observations;
use crate::responsibilities::Responsibilities;
use cdimc_data::Seed;
use rand::seq::SliceRandom;

/// Folds of the samples; each is evaluated under the mixture of the others.
const FOLDS: usize = 4;
/// Maximum number of samples evaluated.
const MAX_SAMPLES: usize = 20_000;
/// Smallest exponent.
const MIN_EXPONENT: f64 = 0.01;
/// Steps of the search for the exponent.
const STEPS: usize = 30;

/// Returns the exponent of the responsibilities, in (0, 1]; 1 if no sample has two views.
pub(crate) fn exponent(
    observations: &Observations,
    responsibilities: &Responsibilities,
    prior: &Prior,
    seed: Seed,
) -> f64 {
    let mut samples: Vec<usize> = (0..observations.n_samples).collect();
    samples.shuffle(&mut seed.stream("calibration").rng());
    samples.truncate(MAX_SAMPLES);
    let parts = (samples.as_slice(), FOLDS);
    let pairs = cross_fitted(observations, responsibilities, prior, parts, posteriors);
    let pairs: Vec<Posteriors> = pairs.into_iter().flatten().collect();
    if pairs.is_empty() {
        return 1.0;
    }
    let loss = |log_exponent: f64| -> f64 {
        let exponent = log_exponent.exp();
        pairs.iter().map(|pair| pair.loss(exponent)).sum()
    };
    // Golden section search; the loss is convex in the exponent, as in logistic regression.
    let ratio = (5_f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (MIN_EXPONENT.ln(), 0.0_f64);
    let (mut left, mut right) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut at_left, mut at_right) = (loss(left), loss(right));
    for _ in 0..STEPS {
        if at_left < at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - ratio * (high - low);
            at_left = loss(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + ratio * (high - low);
            at_right = loss(right);
        }
    }
    let found = f64::midpoint(low, high).exp();
    if loss(0.0) <= loss(found.ln()) { 1.0 } else { found }
}

/// Posteriors by a view and by the other views, for one sample.
struct Posteriors {
    /// Log posteriors by the view, relative to the largest.
    own: Vec<f64>,
    /// Posterior by the other views.
    others: Vec<f64>,
}

impl Posteriors {
    /// Returns the log loss of the view's posterior to the power `exponent`.
    fn loss(&self, exponent: f64) -> f64 {
        let sum: f64 = self.own.iter().map(|x| (exponent * x).exp()).sum();
        let expected: f64 = self.own.iter().zip(&self.others).map(|(x, p)| p * x).sum();
        sum.ln() - exponent * expected
    }
}

/// Returns the posteriors for every view of samples with two views or more.
fn posteriors(observations: &Observations, mixture: &Mixture) -> Vec<Posteriors> {
    let k = mixture.n_clusters();
    let views = log_densities(observations, mixture);
    let mut of_samples = vec![Vec::new(); observations.n_samples];
    for (samples, logs) in &views {
        samples.iter().zip(logs.rows()).for_each(|(&i, row)| of_samples[i].push(row));
    }
    let mut pairs = Vec::new();
    for of_sample in of_samples.iter().filter(|of_sample| of_sample.len() > 1) {
        let total: Vec<f64> = (0..k).map(|c| of_sample.iter().map(|logs| logs[c]).sum()).collect();
        for logs in of_sample {
            let own = (0..k).map(|c| mixture.log_weights[c] + logs[c]).collect();
            let others = (0..k).map(|c| mixture.log_weights[c] + total[c] - logs[c]).collect();
            pairs.push(Posteriors { own: less_largest(own), others: posterior(others) });
        }
    }
    pairs
}

fn less_largest(mut logs: Vec<f64>) -> Vec<f64> {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    logs.iter_mut().for_each(|x| *x -= largest);
    logs
}

/// Returns probabilities proportional to the exponentials of `logs`.
pub(crate) fn posterior(logs: Vec<f64>) -> Vec<f64> {
    let mut p: Vec<f64> = less_largest(logs).into_iter().map(f64::exp).collect();
    let sum: f64 = p.iter().sum();
    p.iter_mut().for_each(|p| *p /= sum);
    p
}
