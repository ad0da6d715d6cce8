//! Which missing view of a sample to measure next: the expected drop of the entropy of its clusters.
//!
//! A view that the sample lacks is drawn from the clusters by their current probabilities. Each draw gives new
//! probabilities, whose mean entropy is compared with the current one.

use crate::calibration::posterior;
use crate::explanation::{entropy, log_density};
use crate::fitted::{FittedMixture, MixtureModel};
use crate::model::components::Components;
use cdimc_data::{MultiView, Seed, standard_normal as normal};
use rand::Rng;

/// Draws per view.
const N_DRAWS: usize = 400;

/// What a sample would gain from a view that it lacks.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct NextView {
    /// View of the model.
    pub view: usize,
    /// Expected drop of the entropy in nats; at least 0.
    pub expected_drop: f64,
    /// Probability that the entropy falls to half or less.
    pub p_resolved: f64,
}

impl FittedMixture {
    /// Returns for each sample of `samples` the views that it lacks, the most informative first; `data` are all samples,
    /// with `views` of the model.
    ///
    /// # Panics
    /// If a sample is out of range.
    pub fn next_views(
        &self,
        data: &MultiView,
        views: &[usize],
        samples: &[usize],
        seed: Seed,
    ) -> Vec<Vec<NextView>> {
        let model = &self.model;
        let of_sample = |(&i, rows): (&usize, Vec<Option<Vec<f64>>>)| {
            let lacks = |view: usize| {
                let given = views.iter().position(|&v| v == view);
                !given.is_some_and(|given| data.mask().is_observed(i, given))
            };
            let probabilities = model.probabilities(&rows);
            let missing = (0..model.mixture.views.len()).filter(|&view| lacks(view));
            let mut next: Vec<NextView> = missing
                .map(|view| {
                    let seed = seed.stream("next view").nth(i as u64).nth(view as u64);
                    model.gain(&probabilities, view, seed)
                })
                .collect();
            next.sort_by(|a, b| b.expected_drop.total_cmp(&a.expected_drop));
            next
        };
        let rows = self.observations.select(samples).sample_rows();
        samples.iter().zip(rows).map(of_sample).collect()
    }
}

impl MixtureModel {
    /// Returns what `view` is expected to add to these probabilities.
    fn gain(&self, probabilities: &[f64], view: usize, seed: Seed) -> NextView {
        let (components, nu) = (&self.mixture.views[view], self.mixture.nu);
        let logs: Vec<f64> = probabilities.iter().map(|p| p.max(f64::MIN_POSITIVE).ln()).collect();
        let now = entropy(probabilities);
        let mut rng = seed.rng();
        let (mut sum, mut n_resolved) = (0.0, 0);
        // Systematic sampling: each cluster has its share of the draws.
        let offset: f64 = rng.gen_range(0.0..1.0);
        let (mut cluster, mut cumulated) = (0, probabilities[0]);
        for draw in 0..N_DRAWS {
            let at = (draw as f64 + offset) / N_DRAWS as f64;
            while at > cumulated && cluster + 1 < probabilities.len() {
                cluster += 1;
                cumulated += probabilities[cluster];
            }
            let z = drawn(components, cluster, nu, &mut rng);
            let density =
                |(c, log): (usize, &f64)| log + self.exponent * log_density(components, c, &z, nu);
            let then = entropy(&posterior(logs.iter().enumerate().map(density).collect()));
            sum += then;
            n_resolved += usize::from(then <= 0.5 * now);
        }
        let expected_drop = (now - sum / N_DRAWS as f64).max(0.0);
        NextView { view, expected_drop, p_resolved: n_resolved as f64 / N_DRAWS as f64 }
    }
}

/// Draws coordinates from the t distribution of cluster `c`: μ + W⁻¹ g √(ν / χ²).
fn drawn(components: &Components, c: usize, nu: f64, rng: &mut impl Rng) -> Vec<f64> {
    let q = components.width;
    let scale = (0.5 * nu / gamma(0.5 * nu, rng)).sqrt();
    let mut z: Vec<f64> = Vec::with_capacity(q);
    for (a, line) in components.lines(c).enumerate() {
        let before: f64 = line[..a].iter().zip(&z).map(|(w, z)| w * z).sum();
        z.push((scale * normal(rng) - before) / line[a]);
    }
    z.iter_mut().zip(&components.means[c * q..]).for_each(|(z, mean)| *z += mean);
    z
}

/// Draws from the gamma distribution with this shape and scale 1 (Marsaglia and Tsang, TOMS 26, 2000).
fn gamma(shape: f64, rng: &mut impl Rng) -> f64 {
    if shape < 1.0 {
        let boost = (1.0 - rng.gen_range(0.0..1.0_f64)).powf(1.0 / shape);
        return gamma(shape + 1.0, rng) * boost;
    }
    let d = shape - 1.0 / 3.0;
    loop {
        let x = normal(rng);
        let v = (1.0 + x / (9.0 * d).sqrt()).powi(3);
        let u = 1.0 - rng.gen_range(0.0..1.0_f64);
        if v > 0.0 && u.ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Coordinates, TMixture};
    use cdimc_core::Silent;
    use ndarray::{Array2, s};

    #[test]
    fn draws_have_the_moments_of_their_distribution() {
        let mut rng = Seed::new(1).rng();
        for shape in [0.5, 2.0, 7.5] {
            let n = 20_000;
            let draws: Vec<f64> = (0..n).map(|_| gamma(shape, &mut rng)).collect();
            let mean = draws.iter().sum::<f64>() / f64::from(n);
            let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
            assert!((mean / shape - 1.0).abs() < 0.05 && (variance / shape - 1.0).abs() < 0.1);
        }
        // Two correlated coordinates: W of the covariance [[4, 2], [2, 2]].
        let whitening = vec![0.5, -0.5, 1.0];
        let components = Components::new(2, vec![10.0, -1.0], whitening, vec![0.0]);
        let n = 20_000;
        let draws: Vec<Vec<f64>> = (0..n).map(|_| drawn(&components, 0, 30.0, &mut rng)).collect();
        let moment =
            |f: &dyn Fn(&[f64]) -> f64| draws.iter().map(|z| f(z)).sum::<f64>() / f64::from(n);
        let inflation = 30.0 / 28.0;
        let close = |value: f64, expected: f64| assert!((value - expected).abs() < 0.15, "{value}");
        close(moment(&|z| z[0]), 10.0);
        close(moment(&|z| (z[0] - 10.0).powi(2)), 4.0 * inflation);
        close(moment(&|z| (z[0] - 10.0) * (z[1] + 1.0)), 2.0 * inflation);
        close(moment(&|z| (z[1] + 1.0).powi(2)), 2.0 * inflation);
    }

    #[test]
    fn the_view_that_separates_the_clusters_in_doubt_is_proposed() {
        let (n, mut rng) = (180, Seed::new(4).rng());
        // Views 0 and 2 separate cluster 2 alone, views 1 and 3 all clusters.
        let mut view = |center: fn(usize) -> f64| {
            Array2::from_shape_fn((n, 3), |(i, _)| center(i % 3) + rng.gen_range(-1.0..1.0))
        };
        let some: fn(usize) -> f64 = |c| if c == 2 { 6.0 } else { 0.0 };
        let every: fn(usize) -> f64 = |c| 6.0 * c as f64;
        let views = vec![view(some), view(every), view(some), view(every)];
        let first = views[0].clone();
        let data = MultiView::from_nan_rows(views).unwrap();
        let settings =
            TMixture { coordinates: Coordinates::Standard, starts: 4, ..TMixture::default() };
        let (fitted, _) = settings.train(&data, 3, Seed::new(1), &Silent).unwrap();
        // Samples of clusters 0 and 2, by their first view alone.
        let part = MultiView::from_nan_rows(vec![first.slice(s![..3, ..]).to_owned()]).unwrap();
        let fitted = fitted.model.with_samples(&part, &[0]).unwrap();
        let next = fitted.next_views(&part, &[0], &[0, 2], Seed::new(1));
        let [best, second, last] = next[0][..] else { panic!("{next:?}") };
        assert!(best.view % 2 == 1 && second.view % 2 == 1 && last.view == 2, "{next:?}");
        assert!(best.expected_drop > 0.3 && last.expected_drop < 0.1, "{next:?}");
        // The cluster of the other sample is in little doubt.
        assert!(next[1].iter().all(|next| next.expected_drop < 0.3), "{next:?}");
    }
}
