//! Mixtures judged by samples that they were not fitted to.

use crate::criterion::shared_information_under;
use crate::model::passes::{expectation, moments_of};
use crate::model::{Mixture, Prior};
use crate::observations::Observations;
use crate::responsibilities::Responsibilities;
use rayon::prelude::*;

/// What `judge` says of each of `n_folds` parts of `samples` and of the mixture that one M step of the
/// responsibilities of the other parts gives.
pub(crate) fn cross_fitted<T: Send>(
    observations: &Observations,
    responsibilities: &Responsibilities,
    prior: &Prior,
    (samples, n_folds): (&[usize], usize),
    judge: impl Fn(&Observations, &Mixture) -> T + Sync,
) -> Vec<T> {
    let of_fold = |fold| {
        let (mut held_out, mut rest) = (Vec::new(), Vec::new());
        for (position, &i) in samples.iter().enumerate() {
            if position % n_folds == fold { &mut held_out } else { &mut rest }.push(i);
        }
        held_out.sort_unstable();
        rest.sort_unstable();
        let part = observations.select(&rest);
        let of_part = responsibilities.select(&rest);
        let (mixture, _) = Mixture::fit(&moments_of(&part, &of_part), &part, prior, None);
        judge(&observations.select(&held_out), &mixture)
    };
    (0..n_folds).into_par_iter().map(of_fold).collect()
}

/// The log-likelihood of `samples`, those of each part under the mixture of the others.
pub(crate) fn held_out_log_likelihood(
    observations: &Observations,
    responsibilities: &Responsibilities,
    prior: &Prior,
    parts: (&[usize], usize),
) -> f64 {
    let log_likelihood = |held_out: &Observations, mixture: &Mixture| {
        let k = mixture.n_clusters();
        expectation(held_out, mixture, &mut Responsibilities::zeros(held_out.n_samples, k)).0
    };
    let of_parts = cross_fitted(observations, responsibilities, prior, parts, log_likelihood);
    of_parts.iter().sum()
}

/// T of `samples`, those of each part under the mixture of the others.
pub(crate) fn held_out_shared_information(
    observations: &Observations,
    responsibilities: &Responsibilities,
    prior: &Prior,
    parts: (&[usize], usize),
) -> f64 {
    let of_parts =
        cross_fitted(observations, responsibilities, prior, parts, shared_information_under);
    let n: usize = of_parts.iter().map(|shared| shared.n_samples).sum();
    let total: f64 =
        of_parts.iter().map(|shared| shared.information * shared.n_samples as f64).sum();
    total / n.max(1) as f64
}
