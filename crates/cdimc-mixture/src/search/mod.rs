//! The search for the mixture (specification, section 3).

pub(crate) mod merge_split;
pub(crate) mod repair;
pub(crate) mod starts;

use crate::criterion::{Shared, least_equal, shared_information};
use crate::model::em::{Em, Fit, TOLERANCE};
use crate::model::{Prior, moments::Moments};
use crate::observations::Observations;
use crate::watch::{Progress, Watch};
use cdimc_core::ClusterError;
use cdimc_data::Seed;
use rayon::prelude::*;
use std::cell::LazyCell;

/// How long to search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Effort {
    pub(crate) starts: usize,
    pub(crate) refined: usize,
    /// Combinations of a split and a merge tried in a round.
    pub(crate) tries: usize,
}

/// Most rounds of merge-and-split and repair.
const CYCLES: usize = 3;
/// Rounds of merge-and-split, and of repair, at most.
pub(crate) const ROUNDS: usize = 10;
/// A mixture that the search ended at.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) fit: Fit,
    pub(crate) shared: Shared,
}

/// What every part of the search reads.
#[derive(Clone, Copy)]
pub(crate) struct Search<'a> {
    pub(crate) observations: &'a Observations,
    pub(crate) prior: &'a Prior,
    pub(crate) n_clusters: usize,
    pub(crate) effort: Effort,
    pub(crate) seed: Seed,
}

impl<'a> Search<'a> {
    /// EM on all samples to the end.
    pub(crate) fn em(&self, watch: &'a Watch<'a>) -> Em<'a> {
        Em::new(self.observations, self.prior, watch)
    }

    /// The refined starts, that of the most shared information first.
    ///
    /// # Errors
    /// If the observer asks to stop.
    pub(crate) fn run(&self, progress: &Progress<'_>) -> Result<Vec<Found>, ClusterError> {
        let n = self.observations.n_samples;
        let watch = Watch::new(progress, "starts", self.effort.starts, n);
        let tried: Vec<starts::Tried> = (0..self.effort.starts)
            .into_par_iter()
            .map(|start| {
                let tried = starts::attempt(self, start, &watch)?;
                watch.step()?;
                Ok(tried)
            })
            .collect::<Result<_, ClusterError>>()?;
        let tried = starts::best(tried, self.effort.refined);
        let watch = Watch::new(progress, "refinement", tried.len(), n);
        let mut found: Vec<Found> = tried
            .into_par_iter()
            .map(|tried| {
                let fit = self.refine(tried.moments, tried.start, &watch)?;
                let shared =
                    shared_information(self.observations, &fit.responsibilities, self.prior);
                watch.step()?;
                Ok(Found { fit, shared })
            })
            .collect::<Result<_, ClusterError>>()?;
        found.sort_by(|a, b| b.shared.information.total_cmp(&a.shared.information));
        Ok(found)
    }

    /// EM, then merge-and-split and repair in turn until neither finds a move.
    pub(crate) fn refine(
        &self,
        moments: Moments,
        start: usize,
        watch: &Watch<'_>,
    ) -> Result<Fit, ClusterError> {
        let mut fit = self.em(watch).run(moments)?;
        let seed = self.seed.stream("splits").nth(start as u64);
        for cycle in 0..CYCLES {
            let before = fit.log_likelihood;
            fit = merge_split::improve(self, fit, seed.nth(cycle as u64), watch)?;
            fit = repair::repair(self, fit, watch)?;
            if !raises(fit.log_likelihood, before) {
                break;
            }
        }
        Ok(fit)
    }

    /// Where EM ends from the first of `moves` that raises the likelihood of `fit` while its views share as
    /// much, or nearly so; none if none does.
    ///
    /// Likelihood alone trades clusters that the views agree on for shapes of one view.
    pub(crate) fn first_better(
        &self,
        fit: &Fit,
        moves: impl Iterator<Item = Moments>,
        watch: &Watch<'_>,
    ) -> Result<Option<Fit>, ClusterError> {
        let em = Em { goal: Some(goal(fit.log_likelihood)), ..self.em(watch) };
        let shared = |fit: &Fit| {
            shared_information(self.observations, &fit.responsibilities, self.prior).information
        };
        let least = LazyCell::new(|| least_equal(shared(fit)));
        for moments in moves {
            let tried = em.run(moments)?;
            if raises(tried.log_likelihood, fit.log_likelihood) && shared(&tried) >= *least {
                return Ok(Some(tried));
            }
        }
        Ok(None)
    }
}

/// Whether a log-likelihood is higher than another by more than EM's tolerance.
fn raises(value: f64, than: f64) -> bool {
    value > goal(than)
}

/// The log-likelihood that a move from `value` has to exceed: EM ends at less.
fn goal(value: f64) -> f64 {
    value + TOLERANCE * value.abs()
}
