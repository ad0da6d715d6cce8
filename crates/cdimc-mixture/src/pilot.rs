//! Short searches, by which coordinates and priors are compared: on what views share under them in samples held out, and how
//! likely these are.

use crate::coordinates::profile::ColumnProfile;
use crate::coordinates::projection::Projection;
use crate::coordinates::{self, Kind, Width, kinds_of_views};
use crate::folds::{held_out_log_likelihood, held_out_terms};
use crate::model::Prior;
use crate::model::em::Em;
use crate::observations::Observations;
use crate::search::{Begun, Effort, Found, Search, starts};
use crate::settings::{Rule, TMixture};
use crate::watch::{Progress, Watch};
use cdimc_core::ClusterError;
use cdimc_data::{MultiView, Seed};
use rand::seq::SliceRandom;

/// Starts of a search that compares coordinates, and how many of them are refined.
const PILOT: (usize, usize) = (8, 2);
/// Parts of the samples, each held out once, that choose coordinates and the prior.
const FOLDS: usize = 10;
/// So many standard errors a difference of T is by chance in 5 of 100 cases.
pub(crate) const CHANCE: f64 = 1.645;

/// Data and what is known of their columns.
pub(crate) struct Views<'a> {
    pub(crate) data: &'a MultiView,
    pub(crate) profiles: Vec<Vec<ColumnProfile>>,
}

impl<'a> Views<'a> {
    /// Some samples of `all`, or all of them.
    pub(crate) fn of(data: &'a MultiView, all: &MultiView) -> Self {
        Self { data, profiles: ColumnProfile::of_part(data, all) }
    }
}

/// What may be chosen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    pub(crate) kind: Kind,
    pub(crate) width: Width,
    pub(crate) prior: Prior,
}

/// Short searches, which compare candidates.
pub(crate) struct PilotSearch<'a> {
    pub(crate) settings: &'a TMixture,
    pub(crate) n_clusters: usize,
    pub(crate) seed: Seed,
    pub(crate) progress: &'a Progress<'a>,
}

impl PilotSearch<'_> {
    /// The projections of a candidate, the observations they give of the samples that have a view, those that are alike next to
    /// one another, and the places of these in the order of the data.
    pub(crate) fn coordinates(
        &self,
        views: &Views<'_>,
        candidate: Candidate,
        earlier: &[Pilot],
    ) -> Result<(Vec<Projection>, Observations, Vec<usize>), ClusterError> {
        let kinds = kinds_of_views(candidate.kind, &views.profiles);
        let earlier: Vec<&[Projection]> =
            earlier.iter().map(|pilot| pilot.projections.as_slice()).collect();
        let (projections, observations) = coordinates::fit_beside(
            views.data,
            &views.profiles,
            &kinds,
            candidate.width,
            &earlier,
        )?;
        let samples = observations.with_views(self.n_clusters);
        let order = starts::order(&observations.select(&samples), self.n_clusters, self.seed)?;
        let order: Vec<usize> = order.into_iter().map(|place| samples[place]).collect();
        Ok((projections, observations.select(&order), order))
    }

    /// Where EM ends from a few starts under a candidate, the coordinates of `earlier` pilots of the same width known.
    pub(crate) fn begun(
        &self,
        views: &Views<'_>,
        candidate: Candidate,
        earlier: &[Pilot],
    ) -> Result<Pilot, ClusterError> {
        let (projections, observations, order) = self.coordinates(views, candidate, earlier)?;
        let mut places = vec![None; views.data.n_samples()];
        order.iter().enumerate().for_each(|(place, &i)| places[i] = Some(place));
        let (begun, held_out) = (Begun::default(), Vec::new());
        let mut pilot =
            Pilot { candidate, projections, observations, order, places, begun, held_out };
        let Pilot { observations, begun, .. } = &mut pilot;
        self.search(observations, &candidate.prior).begin(begun, self.progress)?;
        pilot.held_out = self.held_out(&pilot, &pilot);
        Ok(pilot)
    }

    /// Goes on to where no move is kept.
    pub(crate) fn refine(&self, pilot: &mut Pilot) -> Result<(), ClusterError> {
        let Pilot { candidate, observations, begun, .. } = pilot;
        self.search(observations, &candidate.prior).refine(begun, self.progress)?;
        pilot.held_out = self.held_out(pilot, pilot);
        Ok(())
    }

    /// The terms of T of samples held out of the best clusters of one pilot with the coordinates of another, for every
    /// sample of the data; not a number of one that either lacks, or without two views.
    ///
    /// T of the samples that a mixture was fitted to says too much where columns are many and samples few.
    fn held_out(&self, coordinates: &Pilot, clusters: &Pilot) -> Vec<f64> {
        let observations = &coordinates.observations;
        let mut rows = vec![0; observations.n_samples];
        let (mut those, mut places) = (Vec::new(), Vec::new());
        for i in self.shuffled(coordinates.places.len()) {
            if let (Some(place), Some(row)) = (coordinates.places[i], clusters.places[i]) {
                those.push(i);
                places.push(place);
                rows[place] = row;
            }
        }
        let best = &clusters.best(self.settings.rule).fit.responsibilities;
        let parts = (places.as_slice(), FOLDS);
        let of_those =
            held_out_terms(observations, &best.select(&rows), &coordinates.candidate.prior, parts);
        let mut terms = vec![f64::NAN; coordinates.places.len()];
        those.into_iter().zip(of_those).for_each(|(i, term)| terms[i] = term);
        terms
    }

    /// That of larger T, the earlier of equals; but where the difference may be chance, the other if its clusters share more
    /// under the coordinates of both, which is no chance: T of either under its own coordinates differs, too, by how much
    /// these show of any clusters.
    pub(crate) fn better(&self, earlier: Pilot, later: Pilot) -> Pilot {
        let (first, second) = if later.shared_information() > earlier.shared_information() {
            (later, earlier)
        } else {
            (earlier, later)
        };
        let (own, others) = (&first.held_out, &second.held_out);
        if standard_errors(own.iter().zip(others).map(|(a, b)| a - b)) > CHANCE {
            return first;
        }
        let (mine, theirs) = (self.held_out(&second, &first), self.held_out(&first, &second));
        let by_first = own.iter().zip(&mine).map(|(a, b)| a + b);
        let by_second = others.iter().zip(&theirs).map(|(a, b)| a + b);
        let gain = standard_errors(by_second.zip(by_first).map(|(second, first)| second - first));
        if gain > CHANCE { second } else { first }
    }

    /// The samples of the data in a random order, which is the same for every kind: their parts are those of the other
    /// kinds too.
    fn shuffled(&self, n_samples: usize) -> Vec<usize> {
        let mut samples: Vec<usize> = (0..n_samples).collect();
        samples.shuffle(&mut self.seed.stream("shapes").rng());
        samples
    }

    fn search<'b>(&self, observations: &'b Observations, prior: &'b Prior) -> Search<'b> {
        let Self { settings, n_clusters, seed, .. } = *self;
        let effort = Effort {
            starts: PILOT.0.min(settings.starts),
            refined: PILOT.1.min(settings.refined),
            tries: settings.tries,
        };
        Search { observations, prior, n_clusters, effort, seed }
    }

    /// The prior under which samples held out of the best clusters of `pilot` are likeliest (Friedman, JASA 84, 1989), EM
    /// going on from them under each; the first of equals.
    pub(crate) fn likeliest(&self, pilot: &Pilot, priors: &[Prior]) -> Result<Prior, ClusterError> {
        if let [prior] = priors {
            return Ok(*prior);
        }
        let (found, observations) = (pilot.best(self.settings.rule), &pilot.observations);
        let watch = Watch::new(self.progress, "shapes", priors.len(), observations.n_samples);
        let samples: Vec<usize> =
            self.shuffled(pilot.places.len()).into_iter().filter_map(|i| pilot.places[i]).collect();
        let parts = (samples.as_slice(), FOLDS);
        let mut best = (f64::NEG_INFINITY, priors[0]);
        for prior in priors {
            let em = Em::new(observations, prior, &watch);
            let fit = em.run(found.fit.moments.clone())?;
            let value = held_out_log_likelihood(observations, &fit.responsibilities, prior, parts);
            if value > best.0 {
                best = (value, *prior);
            }
            watch.step()?;
        }
        Ok(best.1)
    }
}

/// Coordinates, and what a short search on them found.
pub(crate) struct Pilot {
    pub(crate) candidate: Candidate,
    pub(crate) projections: Vec<Projection>,
    pub(crate) observations: Observations,
    pub(crate) order: Vec<usize>,
    /// The inverse of `order`: `None` of a sample without a view.
    places: Vec<Option<usize>>,
    pub(crate) begun: Begun,
    /// The terms of T of samples held out of the best mixture so far, of every sample of the data.
    held_out: Vec<f64>,
}

impl Pilot {
    pub(crate) fn best(&self, rule: Rule) -> &Found {
        let Some(best) = rule.best(self.begun.so_far().collect()) else {
            unreachable!("every pilot has one start at least")
        };
        best
    }

    /// T of samples held out; 0 where none has two views.
    pub(crate) fn shared_information(&self) -> f64 {
        let terms = self.held_out.iter().filter(|term| !term.is_nan());
        let (total, n) = terms.fold((0.0, 0), |(total, n), term| (total + term, n + 1));
        total / f64::from(n.max(1))
    }
}

/// The mean of those of `differences` that are numbers, in its standard errors.
pub(crate) fn standard_errors(differences: impl Iterator<Item = f64>) -> f64 {
    let differences: Vec<f64> = differences.filter(|x| !x.is_nan()).collect();
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let squares: f64 = differences.iter().map(|x| (x - mean).powi(2)).sum();
    mean / (squares / (n - 1.0) / n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_told_in_standard_errors_of_the_samples_that_both_have() {
        // Mean 2, variance 1.
        let value = standard_errors([1.0, f64::NAN, 2.0, 3.0].into_iter());
        assert!((value - 12.0_f64.sqrt()).abs() < 1e-12, "{value}");
        // Equal clusters differ by neither more nor less than chance.
        assert!(standard_errors([0.0; 3].into_iter()).is_nan());
    }
}
