//! Search for the mixture (specification, section 3).

pub(crate) mod merge_split;
pub(crate) mod repair;
pub(crate) mod starts;

use crate::criterion::{SharedNats, min_equal, shared_information};
use crate::model::Prior;
use crate::model::em::{Em, Fit, TOLERANCE};
use crate::model::moments::Moments;
use crate::observations::Observations;
use crate::watch::Watch;
use cdimc_core::{ClusterError, Observer};
use cdimc_data::Seed;
use rayon::prelude::*;
use starts::Start;
use std::borrow::Borrow;

/// Maximum number of alternations of merge-and-split and repair.
const MAX_CYCLES: u64 = 3;
/// Maximum number of rounds of merge-and-split, and of repair.
const MAX_ROUNDS: usize = 10;
/// Share of a cluster's samples that may change before it counts as another cluster.
const MAX_CHANGED_SHARE: f64 = 0.02;

/// Local optimum of the search.
#[derive(Debug, Clone)]
pub(crate) struct Optimum {
    pub(crate) fit: Fit,
    pub(crate) shared: SharedNats,
}

/// Input of every part of the search.
#[derive(Clone, Copy)]
pub(crate) struct Search<'a> {
    pub(crate) observations: &'a Observations,
    pub(crate) prior: &'a Prior,
    pub(crate) n_clusters: usize,
    /// Number of starts, and of the likeliest that are refined.
    pub(crate) effort: (usize, usize),
    pub(crate) seed: Seed,
}

/// Progress of a search, which a search of more effort can continue.
#[derive(Default)]
pub(crate) struct SearchState {
    starts: Vec<Start>,
    refinements: Vec<Refinement>,
}

/// Refinement of one start, from the end of EM until no move is accepted.
struct Refinement {
    start: usize,
    /// Clusters at the end of EM.
    begin: Vec<usize>,
    found: Optimum,
    is_refined: bool,
}

impl SearchState {
    /// Returns the optima in descending order of shared information.
    pub(crate) fn into_optima(self) -> Vec<Optimum> {
        let mut optima: Vec<Optimum> = self.refinements.into_iter().map(|r| r.found).collect();
        optima.sort_by(|a, b| b.shared.information.total_cmp(&a.shared.information));
        optima
    }

    /// Returns the optima of the starts.
    pub(crate) fn optima(&self) -> impl Iterator<Item = &Optimum> {
        self.refinements.iter().map(|r| &r.found)
    }
}

/// Returns the optimum with the highest log-likelihood among those whose T is nearly the largest; on a tie, the first.
/// There must be an optimum.
///
/// T prefers clusters common to the views over shapes of one view; likelihood breaks near-ties.
pub(crate) fn best<F: Borrow<Optimum>>(found: impl IntoIterator<Item = F>) -> F {
    let found: Vec<F> = found.into_iter().collect();
    let information = |found: &F| found.borrow().shared.information;
    let least = min_equal(found.iter().map(information).fold(f64::NEG_INFINITY, f64::max));
    let likelihood = |found: &F| found.borrow().fit.log_likelihood;
    let allowed = found.into_iter().filter(|found| information(found) >= least);
    let better = |best, other| if likelihood(&other) > likelihood(&best) { other } else { best };
    allowed.reduce(better).unwrap_or_else(|| unreachable!("every search has a start"))
}

impl<'a> Search<'a> {
    /// Returns EM on all samples.
    pub(crate) fn em(&self, watch: &'a Watch<'a>) -> Em<'a> {
        Em::new(self.observations, self.prior, watch)
    }

    /// Continues from `state`; returns the refined starts in descending order of shared information.
    pub(crate) fn run(
        &self,
        mut state: SearchState,
        observer: &dyn Observer,
    ) -> Result<Vec<Optimum>, ClusterError> {
        self.run_starts(&mut state, observer)?;
        self.refine(&mut state, observer)?;
        Ok(state.into_optima())
    }

    /// Runs the starts that `state` lacks, and EM to its end from the likeliest. Starts that end at the clusters of an
    /// earlier one are dropped: their refinements would be the same.
    pub(crate) fn run_starts(
        &self,
        state: &mut SearchState,
        observer: &dyn Observer,
    ) -> Result<(), ClusterError> {
        let n = self.observations.n_samples;
        let watch = Watch::new(observer, "starts", self.effort.0, n);
        let new: Vec<Start> = (state.starts.len()..self.effort.0)
            .into_par_iter()
            .map(|index| {
                let start = starts::run_start(self, index, &watch)?;
                watch.step()?;
                Ok(start)
            })
            .collect::<Result<_, ClusterError>>()?;
        state.starts.extend(new);
        let mut best: Vec<&Start> = state.starts.iter().collect();
        best.sort_by(|a, b| b.log_likelihood.total_cmp(&a.log_likelihood));
        best.truncate(self.effort.1);
        let is_new = |start: &&Start| state.refinements.iter().all(|r| r.start != start.index);
        let refinements: Vec<Refinement> = best
            .into_par_iter()
            .filter(is_new)
            .map(|start| {
                let found = self.evaluate(self.em(&watch).run(start.moments.clone())?);
                let begin = found.fit.responsibilities.labels();
                Ok(Refinement { start: start.index, begin, found, is_refined: false })
            })
            .collect::<Result<_, ClusterError>>()?;
        for new in refinements {
            let is_known =
                |known: &Refinement| same_clusters(&known.begin, &new.begin, self.n_clusters);
            if !state.refinements.iter().any(is_known) {
                state.refinements.push(new);
            }
        }
        Ok(())
    }

    /// Alternates merge-and-split and repair until neither finds a move.
    pub(crate) fn refine(
        &self,
        state: &mut SearchState,
        observer: &dyn Observer,
    ) -> Result<(), ClusterError> {
        let n = self.observations.n_samples;
        let watch = Watch::new(observer, "refinement", state.refinements.len(), n);
        state.refinements.par_iter_mut().try_for_each(|refinement| {
            let Refinement { start, found, is_refined, .. } = refinement;
            let seed = self.seed.stream("splits").nth(*start as u64);
            let n_cycles = if *is_refined { 0 } else { MAX_CYCLES };
            for cycle in 0..n_cycles {
                merge_split::improve(self, found, seed.nth(cycle), &watch)?;
                if !repair::improve(self, found, &watch)? {
                    break;
                }
            }
            *is_refined = true;
            watch.step()
        })
    }

    fn evaluate(&self, fit: Fit) -> Optimum {
        let shared = shared_information(self.observations, &fit.responsibilities, self.prior);
        Optimum { fit, shared }
    }

    /// Runs EM from each of `moves`; returns the first result that raises the likelihood of `found` and keeps its
    /// shared information within the tolerance.
    ///
    /// Likelihood alone would replace clusters shared by the views by shapes of one view.
    fn first_better(
        &self,
        found: &Optimum,
        moves: impl Iterator<Item = Moments>,
        watch: &Watch<'_>,
    ) -> Result<Option<Optimum>, ClusterError> {
        // The log-likelihood must rise by more than the tolerance of EM.
        let goal = found.fit.log_likelihood + TOLERANCE * self.observations.n_samples as f64;
        let em = Em { goal: Some(goal), ..self.em(watch) };
        let least = min_equal(found.shared.information);
        for moments in moves {
            let fit = em.run(moments)?;
            // From some moves the likelihood rises above the goal and falls again: EM maximizes it under the prior.
            if fit.log_likelihood > goal && !fit.is_abandoned {
                let better = self.evaluate(fit);
                if better.shared.information >= least {
                    return Ok(Some(better));
                }
            }
        }
        Ok(None)
    }
}

/// Returns whether every cluster of `a` has nearly the samples of a cluster of `b`.
fn same_clusters(a: &[usize], b: &[usize], n_clusters: usize) -> bool {
    let mut shared = ndarray::Array2::<usize>::zeros((n_clusters, n_clusters));
    a.iter().zip(b).for_each(|(&c, &d)| shared[[c, d]] += 1);
    let sizes = [ndarray::Axis(1), ndarray::Axis(0)].map(|axis| shared.sum_axis(axis));
    shared.outer_iter().zip(&sizes[0]).all(|(of_cluster, &size)| {
        let changed = |(&n, &other): (&usize, &usize)| size + other - 2 * n;
        let least = of_cluster.iter().zip(&sizes[1]).map(changed).min().unwrap_or(0);
        least as f64 <= MAX_CHANGED_SHARE * size as f64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_the_same_under_other_numbers_and_except_for_few_samples() {
        let a: Vec<usize> = (0..300).map(|i| i / 100).collect();
        let mut b: Vec<usize> = a.iter().map(|c| (c + 1) % 3).collect();
        b[..2].fill(2);
        assert!(same_clusters(&a, &b, 3));
        b[2] = 2;
        assert!(!same_clusters(&a, &b, 3));
        // Two clusters in one are not the same, although each has all its samples there.
        assert!(!same_clusters(&a, &[0; 300], 3));
    }
}
