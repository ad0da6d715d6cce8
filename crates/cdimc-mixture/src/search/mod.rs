//! The search for the mixture (specification, section 3).

pub(crate) mod merge_split;
pub(crate) mod repair;
pub(crate) mod starts;

use crate::criterion::{Shared, least_equal, shared_information};
use crate::model::Prior;
use crate::model::em::{Em, Fit, TOLERANCE};
use crate::model::passes::moments_of;
use crate::observations::Observations;
use crate::responsibilities::Responsibilities;
use crate::watch::{Progress, Watch};
use cdimc_core::ClusterError;
use cdimc_data::Seed;
use merge_split::Split;
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

/// Rounds of merge-and-split and of repair at most, together.
const ROUNDS: usize = 60;
/// The share of a sample that is spread evenly over all clusters before EM from a move.
const SMOOTHING: f64 = 0.02;
/// EM on the samples of few clusters: iterations at most, and its tolerance.
const PART_ITERATIONS: usize = 15;
const PART_TOLERANCE: f64 = 1e-4;

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
    next: Move,
    /// What is known of splitting its clusters.
    splits: Vec<Split>,
    /// Kinds of moves that were tried in vain since the last that was kept.
    in_vain: usize,
}

#[derive(Clone, Copy)]
enum Move {
    MergeSplit,
    Repair,
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
                let fit = self.em(&watch).run(tried.moments.clone())?;
                let found = self.judged(fit);
                let next = Move::MergeSplit;
                Ok(Course { start: tried.start, found, next, splits: Vec::new(), in_vain: 0 })
            })
            .collect::<Result<_, ClusterError>>()?;
        begun.courses.extend(courses);
        Ok(())
    }

    /// Merge-and-split and repair in turn, each until it finds no move, and until neither does. Of starts that meet one
    /// goes on.
    ///
    /// # Errors
    /// If the observer asks to stop.
    pub(crate) fn refine(
        &self,
        begun: &mut Begun,
        progress: &Progress<'_>,
    ) -> Result<(), ClusterError> {
        let n = self.observations.n_samples;
        let watch = Watch::new(progress, "refinement", begun.courses.len(), n);
        for round in 0..ROUNDS {
            keep_one_of_equals(&mut begun.courses);
            let open: Vec<&mut Course> =
                begun.courses.iter_mut().filter(|course| course.in_vain < 2).collect();
            if open.is_empty() {
                break;
            }
            open.into_par_iter().try_for_each(|course| course.go_on(self, round, &watch))?;
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
        moves: impl Iterator<Item = Moved>,
        watch: &Watch<'_>,
    ) -> Result<Option<Found>, ClusterError> {
        let likelihood = found.fit.log_likelihood;
        let em = Em { goal: Some(goal(likelihood)), ..self.em(watch) };
        let least = least_equal(found.shared.information);
        let labels = found.fit.responsibilities.labels();
        for moved in moves {
            if !self.is_promising(found, &labels, &moved, watch)? {
                continue;
            }
            let moments = moments_of(self.observations, &moved.responsibilities);
            let fit = em.run(moments.mixed_with_uniform(SMOOTHING))?;
            if raises(fit.log_likelihood, likelihood) {
                let tried = self.judged(fit);
                if tried.shared.information >= least {
                    return Ok(Some(tried));
                }
            }
        }
        Ok(None)
    }

    /// Whether a move gains among the samples of the clusters that it changes, on which EM costs little.
    fn is_promising(
        &self,
        found: &Found,
        labels: &[usize],
        moved: &Moved,
        watch: &Watch<'_>,
    ) -> Result<bool, ClusterError> {
        let is_of = |i: &usize| moved.changed.contains(&labels[*i]);
        let samples: Vec<usize> = (0..labels.len()).filter(is_of).collect();
        let part = self.observations.select(&samples);
        let em = Em {
            observations: &part,
            iterations: PART_ITERATIONS,
            tolerance: PART_TOLERANCE,
            held: Some(&found.fit.pooled),
            ..self.em(watch)
        };
        let value = |responsibilities: &Responsibilities, goal| -> Result<f64, ClusterError> {
            let of_part = responsibilities.of_clusters(&samples, &moved.changed);
            Ok(Em { goal, ..em }.run(moments_of(&part, &of_part))?.log_likelihood)
        };
        let before = value(&found.fit.responsibilities, None)?;
        Ok(value(&moved.responsibilities, Some(before))? > before)
    }
}

/// What a move makes of responsibilities.
struct Moved {
    responsibilities: Responsibilities,
    /// The clusters that it changes.
    changed: Vec<usize>,
}

impl Course {
    /// One round of moves.
    fn go_on(
        &mut self,
        search: &Search<'_>,
        round: usize,
        watch: &Watch<'_>,
    ) -> Result<(), ClusterError> {
        let better = match self.next {
            Move::MergeSplit => {
                let seed = search.seed.stream("splits").nth(self.start as u64).nth(round as u64);
                merge_split::improved(search, &self.found, &mut self.splits, seed, watch)?
            }
            Move::Repair => repair::repaired(search, &self.found, watch)?,
        };
        match better {
            Some(better) => {
                self.found = better;
                self.in_vain = 0;
            }
            None => {
                self.in_vain += 1;
                self.next = match self.next {
                    Move::MergeSplit => Move::Repair,
                    Move::Repair => Move::MergeSplit,
                };
                if self.in_vain == 2 {
                    watch.step()?;
                }
            }
        }
        Ok(())
    }
}

/// Of courses whose likelihoods are equal to within EM's tolerance, the first.
fn keep_one_of_equals(courses: &mut Vec<Course>) {
    let mut kept: Vec<f64> = Vec::new();
    courses.retain(|course| {
        let value = course.found.fit.log_likelihood;
        let is_new = kept.iter().all(|&other| raises(value, other) || raises(other, value));
        if is_new {
            kept.push(value);
        }
        is_new
    });
}

/// Whether a log-likelihood is higher than another by more than EM's tolerance.
fn raises(value: f64, than: f64) -> bool {
    value > goal(than)
}

/// The log-likelihood that a move from `value` has to exceed: EM ends at less.
fn goal(value: f64) -> f64 {
    value + TOLERANCE * value.abs()
}
