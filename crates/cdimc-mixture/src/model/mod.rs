//! The mixture and its EM (specification, section 2; Peel and `McLachlan`, Stat. Comput. 10, 2000).

pub(crate) mod components;
pub(crate) mod em;
pub(crate) mod kernel;
pub(crate) mod moments;
pub(crate) mod passes;

use crate::observations::Observations;
use components::{Components, LEAST_SIZE, Pooled, pooled};
use moments::Moments;

/// What is known of clusters before any sample is seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Prior {
    /// ν: degrees of freedom of every t distribution.
    pub(crate) nu: f64,
    /// κ: the pooled scatter counts as κ q rows.
    pub(crate) kappa: f64,
    /// The share of the pooled scatter that is its diagonal alone.
    pub(crate) diagonal: f64,
}

/// log π and the clusters of every view.
#[derive(Debug, Clone)]
pub(crate) struct Mixture {
    pub(crate) nu: f64,
    pub(crate) log_weights: Vec<f64>,
    pub(crate) views: Vec<Components>,
}

impl Mixture {
    /// The M step; `held`: the pooled scatters where they are not those of the sums. Returns them too.
    pub(crate) fn fit(
        moments: &Moments,
        observations: &Observations,
        prior: &Prior,
        held: Option<&[Pooled]>,
    ) -> (Self, Vec<Pooled>) {
        let scatters: Vec<Pooled> = match held {
            Some(held) => held.to_vec(),
            None => {
                let views = moments.views.iter().zip(&observations.variances);
                views.map(|(moments, variances)| pooled(moments, variances, prior)).collect()
            }
        };
        let views = moments.views.iter().zip(&scatters).zip(&observations.resolutions);
        let views = views.map(|((moments, scatter), resolution)| {
            Components::fit(moments, scatter, resolution, prior)
        });
        let n = observations.n_samples as f64;
        let log_weights = moments.sizes.iter().map(|size| ((size + LEAST_SIZE) / n).ln()).collect();
        (Self { nu: prior.nu, log_weights, views: views.collect() }, scatters)
    }

    pub(crate) fn n_clusters(&self) -> usize {
        self.log_weights.len()
    }
}
