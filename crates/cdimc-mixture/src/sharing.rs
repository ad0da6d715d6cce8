//! Agreement of the views on clusters: shared information, and variation of single views.

use crate::choice::candidates;
use crate::coordinates::{Views, Width};
use crate::criterion::shared_information;
use crate::fitted::FittedMixture;
use crate::folds::cross_fitted;
use crate::model::passes::log_densities;
use crate::model::{Mixture, Prior};
use crate::observations::Observations;
use crate::permutation::{SIGNIFICANCE_LEVEL, groups, permute_within};
use crate::responsibilities::Responsibilities;
use crate::settings::TMixture;
use cdimc_core::{CRITICAL_Z, ClusterError, Model};
use cdimc_data::{MultiView, Seed};
use ndarray::{Array2, ArrayView1};
use rand::seq::{SliceRandom, index::sample};
use serde::{Deserialize, Serialize};

/// Permutations per view.
const N_PERMUTATIONS: usize = 99;
/// Folds of the samples; each is scored under the mixture of the other.
const FOLDS: usize = 2;
/// Maximum number of samples.
const MAX_SAMPLES: usize = 1000;
/// Minimum number of samples with the view and another.
const MIN_SHARED_SAMPLES: usize = 20;

/// Agreement of one view with the others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ViewSharing {
    /// Held-out shared information of the view and the others, in nats per sample.
    pub shared_information: f64,
    /// Share of the permutations, including the data, with at least this shared information.
    pub p_value: f64,
    /// Shared information beyond the mean of the permutations that is just significant, in nats per sample; large if
    /// samples are few.
    pub least_noticed: f64,
}

impl ViewSharing {
    /// Returns whether the shared information is significant.
    pub fn is_significant(&self) -> bool {
        self.p_value <= SIGNIFICANCE_LEVEL
    }
}

/// Clusters of at most 1000 random samples, in the coordinates for measuring the agreement of the views.
#[derive(Debug, Clone)]
pub struct ViewAgreement {
    pub(crate) observations: Observations,
    pub(crate) labels: Vec<usize>,
    pub(crate) n_clusters: usize,
    pub(crate) prior: Prior,
    /// Indices of the samples.
    samples: Vec<usize>,
}

impl FittedMixture {
    /// Returns the agreement of the views on the clusters, in the coordinates of the fit.
    pub fn agreement(&self, seed: Seed) -> ViewAgreement {
        let samples = seed.stream("samples").subset(self.labels.len(), MAX_SAMPLES);
        ViewAgreement {
            observations: self.observations.select(&samples),
            labels: samples.iter().map(|&i| self.labels[i]).collect(),
            n_clusters: self.n_clusters(),
            prior: self.model.prior(),
            samples,
        }
    }
}

impl TMixture {
    /// Returns the agreement of the views on labels from any method, in the coordinates with the most shared
    /// information.
    ///
    /// # Errors
    /// If the views have no coordinates.
    ///
    /// # Panics
    /// If there is not one label below `n_clusters` for every sample.
    pub fn agreement(
        &self,
        data: &MultiView,
        labels: &[usize],
        n_clusters: usize,
        seed: Seed,
    ) -> Result<ViewAgreement, ClusterError> {
        let mut samples: Vec<usize> = (0..labels.len()).collect();
        let part = if samples.len() > MAX_SAMPLES {
            samples =
                sample(&mut seed.stream("samples").rng(), labels.len(), MAX_SAMPLES).into_vec();
            data.mask().cover_views(&mut samples);
            Some(data.select_rows(&samples)?)
        } else {
            None
        };
        let labels: Vec<usize> = samples.iter().map(|&i| labels[i]).collect();
        let views = Views::of(part.as_ref().unwrap_or(data), data);
        let (width, prior) = (Width::by_centers(self.dimensions, n_clusters), self.priors()[0]);
        let mut best: Option<(f64, ViewAgreement)> = None;
        for kind in candidates(self, &views) {
            let (_, observations) = views.coordinates(kind, width)?;
            let (labels, samples) = (labels.clone(), samples.clone());
            let found = ViewAgreement { observations, labels, n_clusters, prior, samples };
            let value = found.information_of(&found.labels);
            if best.as_ref().is_none_or(|(most, _)| value > *most) {
                best = Some((value, found));
            }
        }
        let Some((_, found)) = best else { unreachable!("there is a kind of coordinates") };
        Ok(found)
    }
}

impl ViewAgreement {
    /// Returns T in nats under the clusters, and under other labels of all samples.
    ///
    /// # Panics
    /// If there is not one label below the number of clusters for every sample.
    pub fn compare_information(&self, others: &[usize]) -> (f64, f64) {
        let others: Vec<usize> = self.samples.iter().map(|&i| others[i]).collect();
        (self.information_of(&self.labels), self.information_of(&others))
    }

    fn information_of(&self, labels: &[usize]) -> f64 {
        let responsibilities = Responsibilities::from_labels(labels, self.n_clusters);
        shared_information(&self.observations, &responsibilities, &self.prior).information
    }

    /// Returns the agreement of each view with the others; `None` if too few samples have the view and another.
    ///
    /// Computes the held-out mean of `log p(all views) - log p(this view) - log p(the others)`, and the same with
    /// the rows of the view permuted among samples that have the same views.
    pub fn sharing(&self, seed: Seed) -> Vec<Option<ViewSharing>> {
        let Self { observations, labels, n_clusters, prior, .. } = self;
        let responsibilities = Responsibilities::from_labels(labels, *n_clusters);
        let n_views = observations.n_views();
        let mut order: Vec<usize> = (0..labels.len()).collect();
        order.shuffle(&mut seed.stream("folds").rng());
        let judge = |held_out: &Observations, mixture: &Mixture| {
            let (groups, logs) = (groups(held_out), log_densities(held_out, mixture));
            let log_weights = ArrayView1::from(&mixture.log_weights);
            let sums = |v| sums(&logs, v, log_weights, held_out.n_samples, &groups[v], seed);
            (0..n_views).map(sums).collect::<Vec<_>>()
        };
        let parts = cross_fitted(observations, &responsibilities, prior, (&order, FOLDS), judge);
        let of_view = |v: usize| {
            let n_samples: usize = parts.iter().map(|part| part[v].1).sum();
            let sum = |b: usize| parts.iter().map(|part| part[v].0[b]).sum::<f64>();
            let sums: Vec<f64> = (0..=N_PERMUTATIONS).map(sum).collect();
            let n_as_large = sums.iter().filter(|&&other| other >= sums[0]).count();
            (n_samples >= MIN_SHARED_SAMPLES).then(|| ViewSharing {
                shared_information: sums[0] / n_samples as f64,
                p_value: n_as_large as f64 / sums.len() as f64,
                least_noticed: CRITICAL_Z * ArrayView1::from(&sums[1..]).std(1.0)
                    / n_samples as f64,
            })
        };
        (0..n_views).map(of_view).collect()
    }
}

/// Returns the sums of the terms of view `v`, for the data and for every permutation of its rows within `groups`, and
/// the number of samples. `views` are the [`log_densities`] of the views.
fn sums(
    views: &[(Vec<usize>, Array2<f64>)],
    v: usize,
    log_weights: ArrayView1<'_, f64>,
    n_samples: usize,
    groups: &[Vec<usize>],
    seed: Seed,
) -> (Vec<f64>, usize) {
    let (samples, own) = &views[v];
    let mut others = Array2::<f64>::zeros((n_samples, own.ncols()));
    let mut n_others = vec![0_usize; n_samples];
    for (_, (samples, logs)) in views.iter().enumerate().filter(|&(w, _)| w != v) {
        for (&i, row) in samples.iter().zip(logs.rows()) {
            others.row_mut(i).scaled_add(1.0, &row);
            n_others[i] += 1;
        }
    }
    let alone: Vec<f64> = own.rows().into_iter().map(|row| log_sum(row, log_weights)).collect();
    let paired: Vec<(usize, usize)> =
        samples.iter().copied().enumerate().filter(|&(_, i)| n_others[i] > 0).collect();
    for &(_, i) in &paired {
        // The posterior of the other views, so that the prior enters once.
        let with_prior = &others.row(i) + &log_weights;
        let evidence = log_sum(others.row(i), log_weights);
        others.row_mut(i).assign(&(with_prior - evidence));
    }
    let sum = |order: &[usize]| {
        let nats = |&(place, i): &(usize, usize)| {
            let row = order[place];
            log_sum(own.row(row), others.row(i)) - alone[row]
        };
        paired.iter().map(nats).sum::<f64>()
    };
    let in_place: Vec<usize> = (0..samples.len()).collect();
    let mut sums = vec![sum(&in_place)];
    let seed = seed.stream("permutations").nth(v as u64);
    sums.extend((0..N_PERMUTATIONS).map(|b| sum(&permute_within(groups, seed.nth(b as u64)))));
    (sums, paired.len())
}

/// Returns log Σ exp(a + b).
fn log_sum(a: ArrayView1<'_, f64>, b: ArrayView1<'_, f64>) -> f64 {
    let top = a.iter().zip(b).map(|(a, b)| a + b).fold(f64::NEG_INFINITY, f64::max);
    if top.is_finite() {
        top + a.iter().zip(b).map(|(a, b)| (a + b - top).exp()).sum::<f64>().ln()
    } else {
        top
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{complete, incomplete, synthetic};
    use cdimc_core::Silent;
    use rand::Rng;

    #[test]
    fn agreement_of_a_fit_is_measured_in_its_own_coordinates() {
        let data = complete(synthetic(90, 1).views());
        let settings = TMixture { dimensions: 2, starts: 2, ..TMixture::default() };
        let (model, _) = settings.train(&data, 3, Seed::new(1), &Silent).unwrap();
        let agreement = model.agreement(Seed::new(1));
        assert_eq!(agreement.observations.widths, vec![2; data.n_views()]);
        let (own, same) = agreement.compare_information(&model.labels);
        assert_eq!(own, same);
    }

    #[test]
    fn a_view_shares_in_spite_of_factors_of_its_own_and_noise_does_not() {
        let dataset = synthetic(240, 1);
        let truth = dataset.labels().unwrap();
        let mut rng = Seed::new(7).rng();
        let mut views = dataset.views().to_vec();
        // A batch effect of this view shifts all its columns.
        for mut row in views[0].rows_mut() {
            let batch = 20.0 * f64::from(rng.gen_range(0..2));
            row.mapv_inplace(|x| x + batch);
        }
        views.push(Array2::from_shape_fn((240, 8), |_| rng.r#gen::<f64>()));
        let data = incomplete(&views, 1);
        let k = dataset.n_classes();
        let agreement = TMixture::default().agreement(&data, truth, k, Seed::new(1)).unwrap();
        let found = agreement.sharing(Seed::new(1));
        let significant: Vec<bool> =
            found.iter().flatten().map(ViewSharing::is_significant).collect();
        assert_eq!(significant, [true, true, true, false], "{found:?}");
    }
}
