//! Cross-validation of mixtures.

use crate::criterion::terms_under;
use crate::model::passes::{expectation, moments_of};
use crate::model::{Mixture, Prior};
use crate::observations::Observations;
use crate::responsibilities::Responsibilities;
use rayon::prelude::*;

/// Applies `evaluate` to each fold of `samples` and the mixture from one M step on the other folds'
/// responsibilities.
pub(crate) fn cross_fitted<T: Send>(
    observations: &Observations,
    responsibilities: &Responsibilities,
    prior: &Prior,
    (samples, n_folds): (&[usize], usize),
    evaluate: impl Fn(&Observations, &Mixture) -> T + Sync,
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
        evaluate(&observations.select(&held_out), &mixture)
    };
    (0..n_folds).into_par_iter().map(of_fold).collect()
}

/// Returns the log-likelihood of `samples`, each fold under the mixture of the others.
pub(crate) fn held_out_log_likelihood(
    observations: &Observations,
    responsibilities: &Responsibilities,
    prior: &Prior,
    parts: (&[usize], usize),
) -> f64 {
    let log_likelihood =
        |held_out: &Observations, mixture: &Mixture| expectation(held_out, mixture).1;
    let of_parts = cross_fitted(observations, responsibilities, prior, parts, log_likelihood);
    of_parts.iter().sum()
}

/// Returns the terms of T of `samples`, each fold under the mixture of the others; NaN for fewer than two views.
pub(crate) fn held_out_terms(
    observations: &Observations,
    responsibilities: &Responsibilities,
    prior: &Prior,
    (samples, n_folds): (&[usize], usize),
) -> Vec<f64> {
    let terms_of_part =
        |held_out: &Observations, mixture: &Mixture| terms_under(held_out, mixture).0;
    let parts = (samples, n_folds);
    let of_parts = cross_fitted(observations, responsibilities, prior, parts, terms_of_part);
    let mut terms = vec![f64::NAN; samples.len()];
    for (fold, of_part) in of_parts.into_iter().enumerate() {
        let mut positions: Vec<usize> = (fold..samples.len()).step_by(n_folds).collect();
        positions.sort_unstable_by_key(|&position| samples[position]);
        positions.into_iter().zip(of_part).for_each(|(position, term)| terms[position] = term);
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinates::{Kind, Views, Width};
    use crate::criterion::shared_information;
    use crate::settings::TMixture;
    use crate::test_data::{incomplete, synthetic};

    #[test]
    fn every_sample_has_its_own_term_whatever_the_order_of_the_parts() {
        let dataset = synthetic(120, 1);
        let data = incomplete(dataset.views(), 1);
        let views = Views::of(&data, &data);
        let width = Width::by_samples(20, 4);
        let (_, observations) = views.coordinates(Kind::Standard, width).unwrap();
        let truth = Responsibilities::from_labels(dataset.labels().unwrap(), 4);
        let prior = TMixture::default().priors()[0];
        let terms = |samples: &[usize]| {
            let held_out = held_out_terms(&observations, &truth, &prior, (samples, 10));
            let mut of_samples = vec![0.0; samples.len()];
            samples.iter().zip(held_out).for_each(|(&i, term)| of_samples[i] = term);
            of_samples
        };
        let in_order: Vec<usize> = (0..120).collect();
        // Reverses each fold and keeps its members.
        let backwards: Vec<usize> = (0..120).map(|i| 110 - i / 10 * 10 + i % 10).collect();
        let (one, other) = (terms(&in_order), terms(&backwards));
        for i in 0..120 {
            let has_two = data.mask().n_views_of(i) > 1;
            assert_eq!(one[i].is_nan(), !has_two);
            assert!(!has_two || (one[i] - other[i]).abs() < 1e-9, "{i}: {} {}", one[i], other[i]);
        }
        let known: Vec<f64> = one.into_iter().filter(|term| !term.is_nan()).collect();
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        let fitted = shared_information(&observations, &truth, &prior).information;
        assert!(0.0 < mean && mean < fitted, "{mean} {fitted}");
    }
}
