//! Short searches that compare coordinates by held-out shared information, and priors by held-out likelihood.

use crate::coordinates::projection::Projection;
use crate::coordinates::{Kind, Views, Width};
use crate::folds::{held_out_log_likelihood, held_out_terms};
use crate::model::Prior;
use crate::model::em::Em;
use crate::observations::Observations;
use crate::search::{self, Optimum, Search, SearchState, starts};
use crate::settings::TMixture;
use crate::watch::Watch;
use cdimc_core::{CRITICAL_Z, ClusterError, Observer, standard_errors};
use cdimc_data::Seed;
use rand::seq::SliceRandom;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of starts and of refined starts of a pilot search.
const EFFORT: (usize, usize) = (8, 2);
/// Folds of the samples; each is held out once.
const FOLDS: usize = 10;
/// Held-out terms of T that a comparison of kinds needs; fewer samples are divided into folds more often.
const HELD_OUT_TERMS: usize = 2000;
/// Maximum number of divisions.
const MAX_DIVISIONS: usize = 10;

/// Settings of the short searches.
pub(crate) struct PilotSearch<'a> {
    pub(crate) settings: &'a TMixture,
    pub(crate) n_clusters: usize,
    pub(crate) seed: Seed,
    pub(crate) prior: Prior,
    pub(crate) observer: &'a dyn Observer,
    /// Number of finished searches and refinements.
    pub(crate) done: &'a AtomicUsize,
}

impl PilotSearch<'_> {
    /// Returns the coordinates of a kind for the samples that have a view, without a search; similar samples are next
    /// to one another.
    pub(crate) fn pilot(&self, views: &Views<'_>, kind: Kind) -> Result<Pilot, ClusterError> {
        let width = Width::by_centers(self.settings.dimensions, self.n_clusters);
        let (projections, observations) = views.coordinates(kind, width)?;
        let samples = observations.samples_with_views(self.n_clusters);
        let order = starts::order(&observations.select(&samples), self.n_clusters, self.seed)?;
        let order: Vec<usize> = order.into_iter().map(|place| samples[place]).collect();
        let observations = observations.select(&order);
        let mut places = vec![None; views.data.n_samples()];
        order.iter().enumerate().for_each(|(place, &i)| places[i] = Some(place));
        let (state, held_out) = (SearchState::default(), Vec::new());
        Ok(Pilot { kind, projections, observations, places, state, held_out })
    }

    /// Runs a few starts to the end of EM.
    pub(crate) fn run_pilot(&self, views: &Views<'_>, kind: Kind) -> Result<Pilot, ClusterError> {
        let mut pilot = self.pilot(views, kind)?;
        self.search(&pilot.observations).run_starts(&mut pilot.state, self.observer)?;
        pilot.held_out = self.held_out(&pilot, &pilot);
        self.done.fetch_add(1, Ordering::Relaxed);
        Ok(pilot)
    }

    /// Refines the starts until no move is accepted.
    pub(crate) fn refine(&self, pilot: &mut Pilot) -> Result<(), ClusterError> {
        self.search(&pilot.observations).refine(&mut pilot.state, self.observer)?;
        pilot.held_out = self.held_out(pilot, pilot);
        self.done.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the held-out terms of T per sample, for the clusters of one pilot in the coordinates of another; NaN
    /// for samples absent from either or with fewer than two views.
    ///
    /// In-sample T is biased upward where columns are many and samples few. In small data T depends on the division
    /// into folds, so it is the mean over several.
    fn held_out(&self, coordinates: &Pilot, clusters: &Pilot) -> Vec<f64> {
        let (observations, n_samples) = (&coordinates.observations, coordinates.places.len());
        let place_of = |i: usize| coordinates.places[i].zip(clusters.places[i]);
        let mut rows = vec![0; observations.n_samples];
        (0..n_samples).filter_map(place_of).for_each(|(place, row)| rows[place] = row);
        let of_clusters = clusters.best().fit.responsibilities.select(&rows);
        let n_divisions = (HELD_OUT_TERMS / n_samples).clamp(1, MAX_DIVISIONS);
        let mut sums = vec![f64::NAN; n_samples];
        for division in 0..n_divisions {
            let shuffled = self.shuffled(n_samples, division);
            let (shared, places): (Vec<usize>, Vec<usize>) =
                shuffled.into_iter().filter_map(|i| Some((i, place_of(i)?.0))).unzip();
            let parts = (places.as_slice(), FOLDS);
            let terms = held_out_terms(observations, &of_clusters, &self.prior, parts);
            shared.into_iter().zip(terms).for_each(|(i, term)| {
                sums[i] = if division == 0 { term } else { sums[i] + term };
            });
        }
        sums.into_iter().map(|sum| sum / n_divisions as f64).collect()
    }

    /// Returns the pilot with larger T; on a tie, the earlier.
    ///
    /// If the difference is not significant, the other wins if its clusters share significantly more under both
    /// coordinates.
    pub(crate) fn better(&self, earlier: Pilot, later: Pilot) -> Pilot {
        let (first, second) = if later.shared_information() > earlier.shared_information() {
            (later, earlier)
        } else {
            (earlier, later)
        };
        let (own, others) = (&first.held_out, &second.held_out);
        if standard_errors(own.iter().zip(others).map(|(a, b)| a - b)) > CRITICAL_Z {
            return first;
        }
        let (mine, theirs) = (self.held_out(&second, &first), self.held_out(&first, &second));
        let by_first = own.iter().zip(&mine).map(|(a, b)| a + b);
        let by_second = others.iter().zip(&theirs).map(|(a, b)| a + b);
        let gain = standard_errors(by_second.zip(by_first).map(|(second, first)| second - first));
        if gain > CRITICAL_Z { second } else { first }
    }

    /// Returns the samples in a random order, the same for all kinds, so that the folds agree.
    fn shuffled(&self, n_samples: usize, division: usize) -> Vec<usize> {
        let mut samples: Vec<usize> = (0..n_samples).collect();
        let seed = self.seed.stream("shapes");
        let seed = if division == 0 { seed } else { seed.nth(division as u64) };
        samples.shuffle(&mut seed.rng());
        samples
    }

    fn search<'b>(&'b self, observations: &'b Observations) -> Search<'b> {
        let Self { settings, n_clusters, seed, ref prior, .. } = *self;
        let effort = (EFFORT.0.min(settings.starts), EFFORT.1);
        Search { observations, prior, n_clusters, effort, seed }
    }

    /// Returns the prior that maximizes the held-out likelihood (Friedman, JASA 84, 1989) after EM from the best
    /// clusters of `pilot`; on a tie, the first.
    pub(crate) fn likeliest_prior(
        &self,
        pilot: &Pilot,
        priors: &[Prior],
    ) -> Result<Prior, ClusterError> {
        if let [prior] = priors {
            return Ok(*prior);
        }
        let (found, observations) = (pilot.best(), &pilot.observations);
        let watch = Watch::new(self.observer, "shapes", priors.len(), observations.n_samples);
        let samples: Vec<usize> = self
            .shuffled(pilot.places.len(), 0)
            .into_iter()
            .filter_map(|i| pilot.places[i])
            .collect();
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

/// Coordinates and the result of a short search on them.
pub(crate) struct Pilot {
    pub(crate) kind: Kind,
    pub(crate) projections: Vec<Projection>,
    pub(crate) observations: Observations,
    /// Position of each sample in the observations; `None` for a sample without a view.
    pub(crate) places: Vec<Option<usize>>,
    pub(crate) state: SearchState,
    /// Held-out terms of T under the best mixture, one per sample.
    pub(crate) held_out: Vec<f64>,
}

impl Pilot {
    pub(crate) fn best(&self) -> &Optimum {
        search::best(self.state.optima())
    }

    /// Returns the clusters of `found` for all samples; those without a view of this kind are a group of their own.
    pub(crate) fn labels(&self, found: &Optimum) -> Vec<usize> {
        let of_found = found.fit.responsibilities.labels();
        let label = |place: &Option<usize>| {
            place.map_or(found.fit.mixture.n_clusters(), |place| of_found[place])
        };
        self.places.iter().map(label).collect()
    }

    /// Returns the mean held-out T in nats; 0 if no sample has two views.
    pub(crate) fn shared_information(&self) -> f64 {
        let terms = self.held_out.iter().filter(|term| !term.is_nan());
        let (total, n) = terms.fold((0.0, 0), |(total, n), term| (total + term, n + 1));
        total / f64::from(n.max(1))
    }
}
