//! Mixture model and its EM (specification, section 2; Peel and `McLachlan`, Stat. Comput. 10, 2000).

pub(crate) mod components;
pub(crate) mod em;
pub(crate) mod kernel;
pub(crate) mod moments;
pub(crate) mod passes;

use crate::observations::{BLOCK, Observations};
use components::{Components, MIN_CLUSTER_SIZE, Pooled, pooled};
use moments::Moments;

/// Prior of the cluster scatters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Prior {
    /// Degrees of freedom ν of every t distribution.
    pub(crate) nu: f64,
    /// Strength κ of the pooled scatter, which counts as κ q rows.
    pub(crate) kappa: f64,
    /// Share δ of the diagonal in the pooled scatter.
    pub(crate) diagonal: f64,
}

/// Log weights log π and the clusters of every view.
#[derive(Debug, Clone)]
pub(crate) struct Mixture {
    pub(crate) nu: f64,
    pub(crate) log_weights: Vec<f64>,
    pub(crate) views: Vec<Components>,
}

impl Mixture {
    /// Runs the M step; `fixed_pooled` replaces the pooled scatters of `moments`. Returns the pooled scatters, too.
    pub(crate) fn fit(
        moments: &Moments,
        observations: &Observations,
        prior: &Prior,
        fixed_pooled: Option<&[Pooled]>,
    ) -> (Self, Vec<Pooled>) {
        let scatters: Vec<Pooled> = match fixed_pooled {
            Some(fixed_pooled) => fixed_pooled.to_vec(),
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
        let log_weights =
            moments.sizes.iter().map(|size| ((size + MIN_CLUSTER_SIZE) / n).ln()).collect();
        (Self { nu: prior.nu, log_weights, views: views.collect() }, scatters)
    }

    /// Returns the mixture with two clusters exchanged in some views.
    pub(crate) fn exchanged(&self, views: &[usize], (a, b): (usize, usize)) -> Self {
        let mut order: Vec<usize> = (0..self.n_clusters()).collect();
        order.swap(a, b);
        let mut exchanged = self.clone();
        views.iter().for_each(|&v| exchanged.views[v] = self.views[v].select(&order));
        exchanged
    }

    fn select(&self, order: &[usize]) -> Self {
        Self {
            nu: self.nu,
            log_weights: order.iter().map(|&c| self.log_weights[c]).collect(),
            views: self.views.iter().map(|view| view.select(order)).collect(),
        }
    }

    pub(crate) fn n_clusters(&self) -> usize {
        self.log_weights.len()
    }

    /// Sets the log densities of a block, `(n_clusters, BLOCK)`, to the log weights.
    pub(crate) fn start(&self, joint: &mut [f64]) {
        for (joint, &log_weight) in joint.chunks_exact_mut(BLOCK).zip(&self.log_weights) {
            joint.fill(log_weight);
        }
    }
}
