//! Shared information: mutual information of the views that the clusters explain (specification, section 4;
//! Watanabe, IBM J. 1960).

use crate::model::passes::{Densities, add_logs, in_parts, moments_of, normalize};
use crate::model::{Mixture, Prior};
use crate::observations::{BLOCK, Block, Observations};
use crate::responsibilities::Responsibilities;
use ndarray::{Array1, Array2, Axis};
use serde::{Deserialize, Serialize};

/// Shared information of the views under a mixture.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct SharedNats {
    /// T, mean of `log p(all views) - Σᵥ log p(view v)` over samples with two views or more, in nats; 0 without any.
    pub(crate) information: f64,
    /// Number n₂ of such samples.
    pub(crate) n_samples: usize,
}

/// Values of T within this share of the largest count as equal.
const RELATIVE_TOLERANCE: f64 = 0.04;

/// Returns the smallest T that counts as equal to `information`.
pub(crate) fn min_equal(information: f64) -> f64 {
    information - RELATIVE_TOLERANCE * information.abs()
}

/// Returns T after one M step of `responsibilities` with u = 1.
pub(crate) fn shared_information(
    observations: &Observations,
    responsibilities: &Responsibilities,
    prior: &Prior,
) -> SharedNats {
    terms(observations, responsibilities, prior).1
}

/// Like [`shared_information`], with the term of every sample; NaN for samples with fewer than two views.
pub(crate) fn terms(
    observations: &Observations,
    responsibilities: &Responsibilities,
    prior: &Prior,
) -> (Vec<f64>, SharedNats) {
    let moments = moments_of(observations, responsibilities);
    let (mixture, _) = Mixture::fit(&moments, observations, prior, None);
    terms_under(observations, &mixture)
}

/// Returns the term of every sample under a given mixture, NaN for fewer than two views, and T. The mixture may be
/// fitted to other samples.
pub(crate) fn terms_under(
    observations: &Observations,
    mixture: &Mixture,
) -> (Vec<f64>, SharedNats) {
    let k = mixture.n_clusters();
    let mut joints = vec![0.0; observations.blocks.len() * BLOCK];
    let part = |blocks: &[Block], joints: &mut [f64]| {
        let (mut densities, mut alone) = (Densities::default(), vec![0.0; k * BLOCK]);
        let (mut joint, mut sums) = (vec![0.0; k * BLOCK], vec![0.0; BLOCK]);
        let (mut own, mut maxima) = (vec![0.0; BLOCK], vec![0.0; BLOCK]);
        let (mut total, mut n_samples) = (0.0, 0);
        for (block, of_block) in blocks.iter().zip(joints.chunks_exact_mut(BLOCK)) {
            mixture.start(&mut joint);
            own.fill(0.0);
            let mut n_views = [0_u32; BLOCK];
            for (view, components) in block.views.iter().zip(&mixture.views) {
                densities.of(view, components, mixture.nu);
                add_logs(&mut joint, view, &densities.logs);
                mixture.start(&mut alone);
                add_logs(&mut alone, view, &densities.logs);
                normalize(&mut alone, block.len, &mut maxima, &mut sums);
                for &i in &view.samples {
                    own[i as usize] += maxima[i as usize];
                    n_views[i as usize] += 1;
                }
            }
            normalize(&mut joint, block.len, of_block, &mut sums);
            for i in 0..block.len {
                if n_views[i] > 1 {
                    of_block[i] -= own[i];
                    total += of_block[i];
                    n_samples += 1;
                } else {
                    of_block[i] = f64::NAN;
                }
            }
        }
        (total, n_samples)
    };
    let parts = in_parts(observations, &mut joints, BLOCK, part);
    let (total, n_samples) =
        parts.into_iter().fold((0.0, 0), |(total, n), part| (total + part.0, n + part.1));
    joints.truncate(observations.n_samples);
    let information = if n_samples > 0 { total / n_samples as f64 } else { 0.0 };
    (joints, SharedNats { information, n_samples })
}

/// Shared information of one view and the others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Contribution {
    /// Mean of `log p(all views) - log p(this view) - log p(the others)` in nats, over samples with this view and
    /// another; `None` without such samples.
    pub shared_information: Option<f64>,
    /// Number of such samples.
    pub n_samples: usize,
}

/// Returns the contribution of every view to the shared information.
pub(crate) fn contributions(observations: &Observations, mixture: &Mixture) -> Vec<Contribution> {
    let mut totals = vec![(0.0, 0_usize); observations.n_views()];
    each_contribution(observations, mixture, |v, _, nats| {
        totals[v].0 += nats;
        totals[v].1 += 1;
    });
    let contribution = |(total, n_samples): (f64, usize)| Contribution {
        shared_information: (n_samples > 0).then(|| total / n_samples as f64),
        n_samples,
    };
    totals.into_iter().map(contribution).collect()
}

/// Calls `visit(view, sample, term)` for every view of samples with two views or more; the term is `log p(all
/// views) - log p(this view) - log p(the others)` in nats.
pub(crate) fn each_contribution(
    observations: &Observations,
    mixture: &Mixture,
    mut visit: impl FnMut(usize, usize, f64),
) {
    let (k, n_views) = (mixture.n_clusters(), observations.n_views());
    let mut densities: Vec<Densities> = (0..n_views).map(|_| Densities::default()).collect();
    let mut sums = vec![0.0; BLOCK];
    let mut log_likelihoods =
        |block: &Block, densities: &[Densities], of: &dyn Fn(usize) -> bool| {
            let mut logs = vec![0.0; k * BLOCK];
            mixture.start(&mut logs);
            for v in (0..n_views).filter(|&v| of(v)) {
                add_logs(&mut logs, &block.views[v], &densities[v].logs);
            }
            let mut values = vec![0.0; BLOCK];
            normalize(&mut logs, block.len, &mut values, &mut sums);
            values
        };
    for block in &observations.blocks {
        let mut counts = [0_u32; BLOCK];
        for (v, view) in block.views.iter().enumerate() {
            densities[v].of(view, &mixture.views[v], mixture.nu);
            view.samples.iter().for_each(|&i| counts[i as usize] += 1);
        }
        let all = log_likelihoods(block, &densities, &|_| true);
        for v in 0..n_views {
            let own = log_likelihoods(block, &densities, &|w| w == v);
            let others = log_likelihoods(block, &densities, &|w| w != v);
            for i in block.views[v].samples.iter().map(|&i| i as usize).filter(|&i| counts[i] > 1) {
                visit(v, block.first + i, all[i] - own[i] - others[i]);
            }
        }
    }
}

/// Returns the adjusted Rand index (Hubert and Arabie, J. Classif. 2, 1985), with pairs of a sample with itself.
pub(crate) fn adjusted_rand(a: &[usize], b: &[usize]) -> f64 {
    let size = |labels: &[usize]| labels.iter().max().map_or(0, |most| most + 1);
    let mut shared = Array2::<f64>::zeros((size(a), size(b)));
    a.iter().zip(b).for_each(|(&a, &b)| shared[[a, b]] += 1.0);
    let pairs = |sizes: Array1<f64>| sizes.iter().map(|n| n * n).sum::<f64>();
    let (of_a, of_b) = (pairs(shared.sum_axis(Axis(1))), pairs(shared.sum_axis(Axis(0))));
    let expected = of_a * of_b / (a.len() as f64).powi(2);
    let most = 0.5 * (of_a + of_b);
    // One cluster, or every sample alone, in both.
    if most == expected {
        1.0
    } else {
        (pairs(shared.flatten().to_owned()) - expected) / (most - expected)
    }
}
