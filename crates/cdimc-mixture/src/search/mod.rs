//! The search for the mixture (specification, section 3).

pub(crate) mod merge_split;
pub(crate) mod repair;
pub(crate) mod starts;

use crate::criterion::{Shared, least_equal, shared_information};
use crate::model::Prior;
use crate::model::em::{Em, Fit, TOLERANCE};
use crate::model::moments::Moments;
use crate::observations::Observations;
use crate::watch::{Progress, Watch};
use cdimc_core::ClusterError;
use cdimc_data::Seed;
use rayon::prelude::*;
use starts::Tried;

/// How long to search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Effort {
    pub(crate) starts: usize,
    pub(crate) refined: usize,
    /// Combinations of a split and a merge tried in a round.
    pub(crate) tries: usize,
}

/// Most rounds of merge-and-split and repair.
const CYCLES: u64 = 3;
/// Rounds of merge-and-split, and of repair, at most.
const ROUNDS: usize = 10;

/// A mixture that the search came to.
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

/// How far a search has come; a search of more effort goes on from it.
#[derive(Default)]
pub(crate) struct Begun {
    tried: Vec<Tried>,
    courses: Vec<Course>,
}

/// The way of a start from the end of EM to where no move is kept.
struct Course {
    start: usize,
    found: Found,
    is_refined: bool,
}

impl Begun {
    /// Where the starts have come to, that of the most shared information first.
    pub(crate) fn found(self) -> Vec<Found> {
        let mut found: Vec<Found> = self.courses.into_iter().map(|course| course.found).collect();
        found.sort_by(|a, b| b.shared.information.total_cmp(&a.shared.information));
        found
    }

    /// The mixtures that its starts have come to.
    pub(crate) fn so_far(&self) -> impl Iterator<Item = &Found> {
        self.courses.iter().map(|course| &course.found)
    }
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
        let mut begun = Begun::default();
        self.begin(&mut begun, progress)?;
        self.refine(&mut begun, progress)?;
        Ok(begun.found())
    }

    /// Starts up to as many as the search has, and EM to its end from the likeliest of them.
    ///
    /// # Errors
    /// If the observer asks to stop.
    pub(crate) fn begin(
        &self,
        begun: &mut Begun,
        progress: &Progress<'_>,
    ) -> Result<(), ClusterError> {
        let n = self.observations.n_samples;
        let watch = Watch::new(progress, "starts", self.effort.starts, n);
        let new: Vec<Tried> = (begun.tried.len()..self.effort.starts)
            .into_par_iter()
            .map(|start| {
                let tried = starts::attempt(self, start, &watch)?;
                watch.step()?;
                Ok(tried)
            })
            .collect::<Result<_, ClusterError>>()?;
        begun.tried.extend(new);
        let best = starts::best(&begun.tried, self.effort.refined);
        let is_new = |tried: &&Tried| begun.courses.iter().all(|c| c.start != tried.start);
        let courses: Vec<Course> = best
            .into_par_iter()
            .filter(is_new)
            .map(|tried| {
                let found = self.judged(self.em(&watch).run(tried.moments.clone())?);
                Ok(Course { start: tried.start, found, is_refined: false })
            })
            .collect::<Result<_, ClusterError>>()?;
        begun.courses.extend(courses);
        Ok(())
    }

    /// Merge-and-split and repair from where EM ended, in turn until neither finds a move.
    ///
    /// # Errors
    /// If the observer asks to stop.
    pub(crate) fn refine(
        &self,
        begun: &mut Begun,
        progress: &Progress<'_>,
    ) -> Result<(), ClusterError> {
        let watch =
            Watch::new(progress, "refinement", begun.courses.len(), self.observations.n_samples);
        begun.courses.par_iter_mut().try_for_each(|course| {
            if !course.is_refined {
                let seed = self.seed.stream("splits").nth(course.start as u64);
                self.improve(&mut course.found, seed, &watch)?;
                course.is_refined = true;
            }
            watch.step()
        })
    }

    fn improve(
        &self,
        found: &mut Found,
        seed: Seed,
        watch: &Watch<'_>,
    ) -> Result<(), ClusterError> {
        for cycle in 0..CYCLES {
            let before = found.fit.log_likelihood;
            merge_split::improve(self, found, seed.nth(cycle), watch)?;
            repair::improve(self, found, watch)?;
            if found.fit.log_likelihood <= self.goal(before) {
                break;
            }
        }
        Ok(())
    }

    fn judged(&self, fit: Fit) -> Found {
        let shared = shared_information(self.observations, &fit.responsibilities, self.prior);
        Found { fit, shared }
    }

    /// Where EM ends from the first of `moves` that raises the likelihood of `found` while its views share as
    /// much, or nearly so; none if none does.
    ///
    /// Likelihood alone trades clusters that the views agree on for shapes of one view.
    fn first_better(
        &self,
        found: &Found,
        moves: impl Iterator<Item = Moments>,
        watch: &Watch<'_>,
    ) -> Result<Option<Found>, ClusterError> {
        let goal = self.goal(found.fit.log_likelihood);
        let em = Em { goal: Some(goal), ..self.em(watch) };
        let least = least_equal(found.shared.information);
        for moments in moves {
            let fit = em.run(moments)?;
            if fit.log_likelihood > goal {
                let tried = self.judged(fit);
                if tried.shared.information >= least {
                    return Ok(Some(tried));
                }
            }
        }
        Ok(None)
    }

    /// The log-likelihood that a move from `value` has to exceed: EM ends at less.
    fn goal(&self, value: f64) -> f64 {
        value + TOLERANCE * self.observations.n_samples as f64
    }
}
