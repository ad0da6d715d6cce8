//! Expectation maximization (EM).

use crate::model::components::Pooled;
use crate::model::moments::Moments;
use crate::model::passes::expectation_of;
use crate::model::{Mixture, Prior};
use crate::observations::Observations;
use crate::responsibilities::Responsibilities;
use crate::watch::Watch;
use cdimc_core::ClusterError;

/// Settings of an EM run.
#[derive(Clone, Copy)]
pub(crate) struct Em<'a> {
    pub(crate) observations: &'a Observations,
    pub(crate) prior: &'a Prior,
    pub(crate) iterations: usize,
    /// Smallest change of the log-likelihood that continues the run, in nats per sample.
    pub(crate) tolerance: f64,
    /// Pooled scatters to keep; `None` computes them in every M step.
    pub(crate) fixed_pooled: Option<&'a [Pooled]>,
    /// Log-likelihood to exceed; a run unlikely to reach it is abandoned.
    pub(crate) goal: Option<f64>,
    pub(crate) watch: &'a Watch<'a>,
}

/// Result of EM.
#[derive(Debug, Clone)]
pub(crate) struct Fit {
    pub(crate) responsibilities: Responsibilities,
    /// Log-likelihood of `mixture`.
    pub(crate) log_likelihood: f64,
    pub(crate) mixture: Mixture,
    pub(crate) pooled: Vec<Pooled>,
    /// Input of the next M step.
    pub(crate) moments: Moments,
    /// Whether the run ended early, because it was unlikely to reach its goal.
    pub(crate) is_abandoned: bool,
}

impl Fit {
    /// Returns the fit with its clusters numbered by size, the largest first.
    pub(crate) fn by_size(self) -> Self {
        let sizes = &self.moments.sizes;
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        order.sort_by(|&a, &b| sizes[b].total_cmp(&sizes[a]));
        let groups: Vec<Vec<usize>> = order.iter().map(|&c| vec![c]).collect();
        Self {
            responsibilities: self.responsibilities.of_clusters(&order),
            mixture: self.mixture.select(&order),
            moments: self.moments.merged(&groups),
            ..self
        }
    }
}

/// Maximum number of iterations.
const MAX_ITERATIONS: usize = 100;
/// EM ends when the log-likelihood changes by less, in nats per sample; units of the data do not affect changes.
pub(crate) const TOLERANCE: f64 = 5e-4;
/// Iterations before a run may be abandoned.
const MIN_ITERATIONS: usize = 3;
/// A run is abandoned if this many gains as large as its last do not reach its goal.
const MAX_GAINS_TO_GOAL: f64 = 10.0;

/// One iteration in this many evaluates all clusters at all samples; the others, active clusters only.
const FULL_PASS_INTERVAL: usize = 4;

impl<'a> Em<'a> {
    /// Returns the default settings for `observations`.
    pub(crate) fn new(
        observations: &'a Observations,
        prior: &'a Prior,
        watch: &'a Watch<'a>,
    ) -> Self {
        Self {
            observations,
            prior,
            iterations: MAX_ITERATIONS,
            tolerance: TOLERANCE,
            fixed_pooled: None,
            goal: None,
            watch,
        }
    }

    /// Runs EM, beginning with an M step on `moments`.
    pub(crate) fn run(&self, mut moments: Moments) -> Result<Fit, ClusterError> {
        let k = moments.n_clusters();
        let mut responsibilities = Responsibilities::zeros(self.observations.n_samples, k);
        let mut last = f64::NEG_INFINITY;
        let mut iteration = 0;
        loop {
            self.watch.check(last)?;
            let (mixture, pooled) =
                Mixture::fit(&moments, self.observations, self.prior, self.fixed_pooled);
            let active_only = iteration % FULL_PASS_INTERVAL > 0;
            let (value, next) =
                expectation_of(self.observations, &mixture, &mut responsibilities, active_only);
            moments = next;
            iteration += 1;
            let converged =
                (value - last).abs() < self.tolerance * self.observations.n_samples as f64;
            let is_abandoned = iteration >= MIN_ITERATIONS
                && self.goal.is_some_and(|goal| value + MAX_GAINS_TO_GOAL * (value - last) < goal);
            if converged || is_abandoned || iteration >= self.iterations {
                return Ok(Fit {
                    responsibilities,
                    log_likelihood: value,
                    mixture,
                    pooled,
                    moments,
                    is_abandoned,
                });
            }
            last = value;
        }
    }
}
