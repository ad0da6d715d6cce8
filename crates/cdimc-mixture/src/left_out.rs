//! How well clusters describe samples that had no part in them: the likelihood of every sample under the mixture of
//! the others, without a second fit (Friedman, JASA 84, 1989, chooses how far to pool scatters by such a measure).

use crate::model::components::LEAST_SIZE;
use crate::model::passes::{Densities, NEGLIGIBLE, add_logs, in_parts, moments_of, normalize_into};
use crate::model::{Mixture, Prior};
use crate::observations::{BLOCK, Block, Observations};
use crate::responsibilities::Responsibilities;

/// The log-likelihood of all samples, each under the mixture that the M step (u = 1) of the others'
/// `responsibilities` gives; the pooled scatters remain those of all.
pub(crate) fn left_out_log_likelihood(
    observations: &Observations,
    responsibilities: &Responsibilities,
    prior: &Prior,
) -> f64 {
    let moments = moments_of(observations, responsibilities);
    let (mixture, _) = Mixture::fit(&moments, observations, prior, None);
    let (k, n) = (mixture.n_clusters(), observations.n_samples);
    let mut joints = vec![0.0; observations.blocks.len() * k * BLOCK];
    let part = |blocks: &[Block], joints: &mut [f64]| {
        let mut densities = Densities::default();
        let (mut tops, mut sums) = (vec![0.0; BLOCK], vec![0.0; BLOCK]);
        let mut value = 0.0;
        for (block, joint) in blocks.iter().zip(joints.chunks_exact_mut(k * BLOCK)) {
            let share = |i: usize, c: usize| responsibilities.at(block.first + i, c);
            for (c, (joint, size)) in joint.chunks_exact_mut(BLOCK).zip(&moments.sizes).enumerate()
            {
                for (i, joint) in joint[..block.len].iter_mut().enumerate() {
                    *joint = ((size - share(i, c)).max(0.0) + LEAST_SIZE).ln();
                }
            }
            let views = block.views.iter().zip(&mixture.views).zip(&moments.views);
            for ((view, components), moments) in views {
                densities.of(view, components, mixture.nu);
                let Densities { logs, weights } = &mut densities;
                for (j, &i) in view.samples.iter().enumerate() {
                    for (c, &size) in moments.sizes.iter().enumerate() {
                        let part =
                            Part { share: share(i as usize, c), size, width: components.width };
                        if part.share > NEGLIGIBLE {
                            let index = Densities::index(j, c, k);
                            logs[index] += part.taken_out(weights[index], prior);
                        }
                    }
                }
                add_logs(joint, view, &densities.logs);
            }
            value += normalize_into(joint, block.len, &mut tops, &mut sums);
        }
        value
    };
    let parts = in_parts(observations, &mut joints, k * BLOCK, part);
    parts.iter().sum::<f64>() - n as f64 * (n as f64 - 1.0).max(1.0).ln()
}

/// A row's part in a cluster.
struct Part {
    /// r: its responsibility.
    share: f64,
    /// N: the cluster's size in the view, this row included.
    size: f64,
    /// q.
    width: usize,
}

impl Part {
    /// What the row's log density changes by when its part is taken out of the cluster's mean and scatter;
    /// `weight`: its u.
    ///
    /// With d the row less the mean and Σ (N + κ q) = S + κ q P, the mean moves so that d becomes d N / (N - r), and
    /// r N / (N - r) d dᵀ leaves S (Sherman and Morrison).
    fn taken_out(&self, weight: f64, prior: &Prior) -> f64 {
        let Self { share, size, width } = *self;
        let (nu, q) = (prior.nu, width as f64);
        let reached = (nu + q) / weight;
        let distance = reached - nu;
        let strength = prior.kappa * q;
        let total = size + LEAST_SIZE + strength;
        let rest = (size - share).max(0.0) + LEAST_SIZE;
        let ratio = size / rest;
        // Positive but for rounding, for the pooled scatter remains.
        let left = (1.0 - share * ratio * distance / total).max(f64::EPSILON);
        let total_left = rest + strength;
        let distance_left = ratio * ratio * total_left * distance / total / left;
        let log_determinant = left.ln() + q * (total / total_left).ln();
        -0.5 * log_determinant - 0.5 * (nu + q) * ((nu + distance_left) / reached).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinates::{self, Kind, Width};
    use cdimc_data::{MissingPattern, Seed, SyntheticViews};

    const PRIOR: Prior = Prior { nu: 5.0, kappa: 4.0, diagonal: 0.05 };

    /// Two views of 40 samples, some rows missing.
    fn observations() -> (Observations, Vec<usize>) {
        let views = SyntheticViews { n_samples: 40, ..SyntheticViews::default() };
        let dataset = views.generate(Seed::new(5)).unwrap();
        let n_views = dataset.n_views();
        let mask = MissingPattern::PerView(0.3).mask(40, n_views, Seed::new(5)).unwrap();
        let data = dataset.observe(mask).unwrap();
        let kinds = vec![Kind::Centered; n_views];
        let (_, observations) = coordinates::fit(&data, &kinds, Width::carried(3, 4)).unwrap();
        (observations, dataset.labels().unwrap().to_vec())
    }

    /// The log density of row `z` of view `v` in cluster `c` after an M step in which sample `i` had no part.
    fn refitted(
        all: &Observations,
        of: &Responsibilities,
        (i, v, c): (usize, usize, usize),
    ) -> f64 {
        let mut without = of.clone();
        (0..of.n_clusters).for_each(|c| *without.at_mut(i, c) = 0.0);
        let (_, pooled) = Mixture::fit(&moments_of(all, of), all, &PRIOR, None);
        let (mixture, _) = Mixture::fit(&moments_of(all, &without), all, &PRIOR, Some(&pooled));
        log_density(all, &mixture, (i, v, c)).unwrap().0
    }

    /// Log density and u of sample `i`, where view `v` has it.
    fn log_density(
        all: &Observations,
        mixture: &Mixture,
        (i, v, c): (usize, usize, usize),
    ) -> Option<(f64, f64)> {
        let mut densities = Densities::default();
        let view = &all.blocks[0].views[v];
        densities.of(view, &mixture.views[v], mixture.nu);
        let j = view.samples.iter().position(|&other| other as usize == i)?;
        let index = Densities::index(j, c, mixture.n_clusters());
        Some((densities.logs[index], densities.weights[index]))
    }

    #[test]
    fn taking_a_sample_out_gives_the_density_of_a_fit_without_it() {
        let (all, truth) = observations();
        let mut of = Responsibilities::from_labels(&truth, 4);
        // A sample that two clusters share.
        (*of.at_mut(1, 0), *of.at_mut(1, 1), *of.at_mut(1, 2), *of.at_mut(1, 3)) =
            (0.6, 0.4, 0.0, 0.0);
        let moments = moments_of(&all, &of);
        let (mixture, _) = Mixture::fit(&moments, &all, &PRIOR, None);
        let mut compared = 0;
        for (i, v) in (0..40).flat_map(|i| (0..all.n_views()).map(move |v| (i, v))) {
            for c in 0..4 {
                let Some((log, weight)) = log_density(&all, &mixture, (i, v, c)) else { continue };
                let size = moments.views[v].sizes[c];
                let part = Part { share: of.at(i, c), size, width: all.widths[v] };
                let found = log + part.taken_out(weight, &PRIOR);
                approx::assert_abs_diff_eq!(found, refitted(&all, &of, (i, v, c)), epsilon = 1e-6);
                compared += 1;
            }
        }
        assert!(compared > 300, "{compared}");
    }

    #[test]
    fn a_sample_alone_in_its_cluster_is_finite() {
        let (all, mut truth) = observations();
        truth.iter_mut().for_each(|c| *c = (*c).min(2));
        truth[0] = 3;
        let of = Responsibilities::from_labels(&truth, 4);
        assert!(left_out_log_likelihood(&all, &of, &PRIOR).is_finite());
    }
}
