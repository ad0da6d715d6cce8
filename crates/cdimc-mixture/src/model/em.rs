//! Expectation and maximization, alternating.

use crate::model::components::Pooled;
use crate::model::moments::Moments;
use crate::model::passes::expectation_of;
use crate::model::{Mixture, Prior};
use crate::observations::Observations;
use crate::responsibilities::Responsibilities;
use crate::watch::Watch;
use cdimc_core::ClusterError;

/// EM on some observations.
#[derive(Clone, Copy)]
pub(crate) struct Em<'a> {
    pub(crate) observations: &'a Observations,
    pub(crate) prior: &'a Prior,
    pub(crate) iterations: usize,
    /// It ends when the log-likelihood moves by less than this a sample.
    pub(crate) tolerance: f64,
    /// The pooled scatters, where they are not to follow the responsibilities.
    pub(crate) held: Option<&'a [Pooled]>,
    /// A log-likelihood to exceed: a run that will hardly reach it is abandoned.
    pub(crate) goal: Option<f64>,
    pub(crate) watch: &'a Watch<'a>,
}

/// Where EM ended.
#[derive(Debug, Clone)]
pub(crate) struct Fit {
    pub(crate) responsibilities: Responsibilities,
    /// The log-likelihood of the mixture that gave them.
    pub(crate) log_likelihood: f64,
    pub(crate) mixture: Mixture,
    pub(crate) pooled: Vec<Pooled>,
    /// The sums of the next M step.
    pub(crate) moments: Moments,
}

/// Iterations at most.
const ITERATIONS: usize = 100;
/// A run ends when the log-likelihood moves by less nats a sample: units of the data shift it, and do not change that.
pub(crate) const TOLERANCE: f64 = 5e-4;
/// Iterations before a run may be abandoned.
const PATIENCE: usize = 4;
/// A run is abandoned if this many gains like its last would not reach its goal.
const GAINS_LEFT: f64 = 10.0;

/// All clusters are evaluated at all samples once in so many iterations, between them at samples that they are near.
const REFRESH: usize = 4;

impl<'a> Em<'a> {
    /// EM on all of `observations` to the end.
    pub(crate) fn new(
        observations: &'a Observations,
        prior: &'a Prior,
        watch: &'a Watch<'a>,
    ) -> Self {
        Self {
            observations,
            prior,
            iterations: ITERATIONS,
            tolerance: TOLERANCE,
            held: None,
            goal: None,
            watch,
        }
    }

    /// EM that begins with an M step of `moments`.
    ///
    /// # Errors
    /// If the observer asks to stop.
    pub(crate) fn run(&self, mut moments: Moments) -> Result<Fit, ClusterError> {
        let k = moments.n_clusters();
        let mut responsibilities = Responsibilities::zeros(self.observations.n_samples, k);
        let mut last = f64::NEG_INFINITY;
        let mut iteration = 0;
        loop {
            self.watch.check(last)?;
            let (mixture, pooled) =
                Mixture::fit(&moments, self.observations, self.prior, self.held);
            let near = iteration % REFRESH > 0;
            let (value, next) =
                expectation_of(self.observations, &mixture, &mut responsibilities, near);
            moments = next;
            iteration += 1;
            let settled =
                (value - last).abs() < self.tolerance * self.observations.n_samples as f64;
            let hopeless = iteration >= PATIENCE
                && self.goal.is_some_and(|goal| value + GAINS_LEFT * (value - last) < goal);
            if settled || hopeless || iteration >= self.iterations {
                let log_likelihood = value;
                return Ok(Fit { responsibilities, log_likelihood, mixture, pooled, moments });
            }
            last = value;
        }
    }
}
