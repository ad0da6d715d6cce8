//! Fit of the method, from data to a model.

use crate::choice::{self, Choice};
use crate::coordinates::{self, Kind, Views, projection};
use crate::criterion::{adjusted_rand, min_equal};
use crate::fitted::{FittedMixture, MixtureModel, Solution};
use crate::model::em::Em;
use crate::model::passes::expectation;
use crate::search::{self, Optimum, Search};
use crate::settings::TMixture;
use crate::watch::Watch;
use cdimc_core::check::{at_least_one, positive, setting};
use cdimc_core::{
    ClusterError, Clusterer, Clustering, Cost, Curve, Fitted, Observer, Step, check_n_clusters,
};
use cdimc_data::{MultiView, Seed};
use ndarray::Array2;
use std::cmp::Ordering;

/// Operations of the search per number read in an iteration.
const SEARCH_OPERATIONS: f64 = 2_000.0;
/// Operations of EM on all samples per number read in an iteration.
const EM_OPERATIONS: f64 = 200.0;
/// Operations per entry and coordinate of the decomposition of a sparse table.
const SPARSE_OPERATIONS: f64 = 500.0;
/// Smallest value of `search-samples`.
const MIN_SEARCH_SAMPLES: usize = 100;
/// Number of samples below which the search is repeated: coordinates and clusters depend on chance.
const FEW_SAMPLES: usize = 500;
/// Number of searches in few samples.
const SEARCHES: usize = 7;
/// Largest value of `degrees-of-freedom`; beyond it, distances are lost in rounding.
const MAX_DEGREES_OF_FREEDOM: f64 = 1e6;

impl TMixture {
    /// Same as [`Clusterer::fit`], but returns the model as its own type, which also explains the clusters, measures their
    /// stability and ranks the views to measure next. With fewer than 500 samples, `seed` and the order of the samples do
    /// not change the clusters.
    ///
    /// # Errors
    /// Same as [`Clusterer::fit`].
    pub fn train(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<(FittedMixture, Clustering), ClusterError> {
        self.check()?;
        check_n_clusters(n_clusters, data.n_samples())?;
        let solution = self.solve(data, n_clusters, seed, observer)?;
        observer.step("calibration", 0, 1, None)?;
        let model = MixtureModel::new(self.clone(), data, &solution, seed);
        let mixture = FittedMixture::new(model, solution.observations);
        let clustering = Clustering { curves: solution.curves, ..mixture.clustering() };
        clustering.check(Self::NAME)?;
        Ok((mixture, clustering))
    }

    /// Chooses coordinates, searches and runs EM on all samples.
    pub(crate) fn solve(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Solution, ClusterError> {
        let Searched { samples, part, seed } = self.searched(data, seed)?;
        if samples.len() < data.n_samples() {
            let enough = "must be at least the number of clusters";
            setting("search-samples", self.search_samples, enough, |&n| n >= n_clusters)?;
        }
        let views = Views::of(part.as_ref().unwrap_or(data), data);
        let found = self.search(&views, n_clusters, seed, observer)?;
        let Found { choice, best: Optimum { fit, shared }, curves, agreement } = found;
        let Choice { pilot, evidence, prior } = choice;
        let mut fit = fit.by_size();
        let observations = if pilot.observations.n_samples == data.n_samples() {
            let mut back = vec![0; samples.len()];
            let places = pilot.places.into_iter().flatten();
            samples.into_iter().zip(places).for_each(|(i, place)| back[i] = place);
            fit.responsibilities = fit.responsibilities.select(&back);
            pilot.observations.select(&back)
        } else {
            drop(part);
            let all = coordinates::observe(data, &pilot.projections);
            let watch = Watch::new(observer, "all samples", 1, all.n_samples);
            let (_, _, moments) = expectation(&all, &fit.mixture);
            fit = Em::new(&all, &prior, &watch).run(moments)?;
            all
        };
        let projections = pilot.projections;
        Ok(Solution { projections, observations, fit, shared, curves, evidence, prior, agreement })
    }

    /// Chooses coordinates and searches: in few samples several times, with the most typical result.
    fn search(
        &self,
        views: &Views<'_>,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Found, ClusterError> {
        let n_searches = Self::n_searches(views.data.n_samples());
        let mut found = vec![self.search_once(views, n_clusters, seed, observer)?];
        let inner = |step: &Step| observer.on_inner_step(step);
        for nth in 1..n_searches {
            observer.step("searches", nth, n_searches, None)?;
            let seed = seed.stream("searches").nth(nth as u64);
            found.push(self.search_once(views, n_clusters, seed, &inner)?);
        }
        Ok(most_typical(found))
    }

    /// Chooses coordinates and searches once.
    fn search_once(
        &self,
        views: &Views<'_>,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Found, ClusterError> {
        let mut choice = choice::choose(self, views, n_clusters, seed, observer)?;
        let state = std::mem::take(&mut choice.pilot.state);
        let search = Search {
            observations: &choice.pilot.observations,
            prior: &choice.prior,
            n_clusters,
            effort: (self.starts, self.n_refined()),
            seed,
        };
        let found = search.run(state, observer)?;
        let curve = |name: &str, value: fn(&Optimum) -> f64| Curve {
            name: name.to_owned(),
            values: found.iter().map(value).collect(),
        };
        let curves = vec![
            curve("log-likelihood", |found| found.fit.log_likelihood),
            curve("shared-information", |found| found.shared.information),
        ];
        Ok(Found { choice, best: search::best(found), curves, agreement: None })
    }

    /// Returns how often a fit of `n_samples` samples searches: 7 times below 500 samples, else once.
    pub fn n_searches(n_samples: usize) -> usize {
        if n_samples < FEW_SAMPLES { SEARCHES } else { 1 }
    }

    /// Returns the samples that the search uses, ascending: all, or at most `search-samples` drawn at random.
    pub fn samples_to_search(&self, n_samples: usize, seed: Seed) -> Vec<usize> {
        seed.stream("search samples").subset(n_samples, self.search_samples)
    }

    /// Returns what the search uses. With few samples, neither their order nor the seed changes it, so all seeds find
    /// the same clusters.
    pub(crate) fn searched(&self, data: &MultiView, seed: Seed) -> Result<Searched, ClusterError> {
        let n = data.n_samples();
        if n < FEW_SAMPLES.min(self.search_samples + 1) {
            let samples = order_of_values(data);
            let part = Some(data.select_rows(&samples)?);
            return Ok(Searched { samples, part, seed: Seed::new(0).stream("few samples") });
        }
        let mut samples = self.samples_to_search(n, seed);
        if n <= self.search_samples {
            return Ok(Searched { samples, part: None, seed });
        }
        data.mask().cover_views(&mut samples);
        samples.sort_unstable();
        samples.dedup();
        let part = Some(data.select_rows(&samples)?);
        Ok(Searched { samples, part, seed })
    }
}

impl Clusterer for TMixture {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn check(&self) -> Result<(), ClusterError> {
        at_least_one(&[("dimensions", self.dimensions), ("starts", self.starts)])?;
        let range = "must be positive and at most 1e6";
        setting("degrees-of-freedom", self.degrees_of_freedom, range, |&nu| {
            nu > 0.0 && nu <= MAX_DEGREES_OF_FREEDOM
        })?;
        if let Some(pooling) = self.pooling {
            positive("pooling", pooling)?;
        }
        if let Some(diagonal) = self.diagonal {
            setting("diagonal", diagonal, "must lie in [0, 1]", |x| (0.0..=1.0).contains(x))?;
        }
        setting("coverage", self.coverage, "must lie above 0 and below 1", |x| {
            0.0 < *x && *x < 1.0
        })?;
        let few = "must be at least 100";
        setting("search-samples", self.search_samples, few, |&n| n >= MIN_SEARCH_SAMPLES)
    }

    fn reads_sparse(&self) -> bool {
        true
    }

    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Fitted, ClusterError> {
        Ok(self.train(data, n_clusters, seed, observer)?.into())
    }

    /// Restores a finished fit from its model; the curves are not saved.
    fn resume(
        &self,
        checkpoint: &[u8],
        data: &MultiView,
        observer: &dyn Observer,
    ) -> Result<Fitted, ClusterError> {
        observer.step("calibration", 1, 1, None)?;
        let model = MixtureModel::from_bytes(checkpoint)?;
        if model.settings != *self {
            return Err(ClusterError::Model(format!("{}: it has other settings", Self::NAME)));
        }
        let mixture = model.fitted_to(data)?;
        let clustering = mixture.clustering();
        Ok((mixture, clustering).into())
    }

    /// Estimates memory, as the maximum of the largest decomposition and of coordinates, responsibilities and
    /// clusters, plus copies; and operations, of one typical search and of EM on all samples.
    fn cost(&self, data: &MultiView, n_clusters: usize) -> Option<Cost> {
        let (n, k) = (data.n_samples() as f64, n_clusters as f64);
        let searched = n.min(self.search_samples as f64);
        let (mut decomposed, mut coordinates, mut iteration) = (0.0_f64, 0.0, 0.0);
        let (mut values, mut decompositions) = (0.0, 0.0);
        for v in 0..data.n_views() {
            let (observed, d) = (data.mask().n_observed(v) as f64, data.width(v) as f64);
            let q = d.min(self.dimensions as f64);
            let sparse = data.matrix(v).sparse();
            let entries = sparse.map(|sparse| sparse.n_entries() as f64);
            values += entries.map_or(n * d, |entries| 1.5 * entries);
            let rows = observed * searched / n;
            let dense = rows * d * d.min(rows);
            decompositions += entries.map_or(dense, |entries| SPARSE_OPERATIONS * entries * q);
            decomposed = decomposed.max(projection::numbers_held(rows, d, q));
            coordinates += observed * q + k * q * q;
            iteration += observed * k * (q * q + q);
        }
        let columns = data.widths().iter().sum::<usize>() as f64;
        // Copies of the searched samples and of halves of the columns.
        let is_copied = searched < n || data.n_samples() < FEW_SAMPLES;
        let copies = usize::from(is_copied) + usize::from(!data.mask().shares_samples());
        let copied = copies as f64 * values * searched / n;
        // Coordinates of the data and of every competing kind, sorted.
        let held = 6.0 * coordinates + 3.0 * k * columns + (self.n_refined() as f64 + 3.0) * n * k;
        Some(Cost {
            bytes: 8.0 * (copied + held.max(coordinates + decomposed)),
            operations: Kind::ALL.len() as f64 * decompositions
                + iteration * (SEARCH_OPERATIONS * searched / n + EM_OPERATIONS),
        })
    }
}

/// Samples of a search.
pub(crate) struct Searched {
    /// Samples in the order of the search.
    samples: Vec<usize>,
    /// Their data; `None` for all samples in their own order.
    pub(crate) part: Option<MultiView>,
    pub(crate) seed: Seed,
}

/// Returns the samples ordered by their values, so that the order in `data` does not matter.
fn order_of_values(data: &MultiView) -> Vec<usize> {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let mut compare = |a: usize, b: usize| {
        let mut of_view = |v: usize| {
            let is_observed = |i: usize| data.mask().is_observed(i, v);
            if !is_observed(a) || !is_observed(b) {
                return is_observed(a).cmp(&is_observed(b));
            }
            let (a, b) = (data.matrix(v).row(a, &mut first), data.matrix(v).row(b, &mut second));
            a.iter().map(|x| x.to_bits()).cmp(b.iter().map(|x| x.to_bits()))
        };
        (0..data.n_views()).map(&mut of_view).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    let mut order: Vec<usize> = (0..data.n_samples()).collect();
    order.sort_by(|&a, &b| compare(a, b));
    order
}

/// Result of a search.
struct Found {
    choice: Choice,
    best: Optimum,
    /// Log-likelihood and shared information of the refined starts.
    curves: Vec<Curve>,
    /// Mean adjusted Rand index with the other searches; `None` for one search.
    agreement: Option<f64>,
}

/// Returns the most typical result. Results whose T is nearly the largest compete. The winner has the largest sum of
/// adjusted Rand indices with the other competitors.
fn most_typical(mut found: Vec<Found>) -> Found {
    let n = found.len();
    let information = |found: &Found| found.best.shared.information;
    let least = min_equal(found.iter().map(information).fold(f64::NEG_INFINITY, f64::max));
    let competes: Vec<bool> = found.iter().map(|found| information(found) >= least).collect();
    let labels = |found: &Found| found.choice.pilot.labels(&found.best);
    let labels: Vec<Vec<usize>> = found.iter().map(labels).collect();
    let agreement = Array2::from_shape_fn((n, n), |(a, b)| {
        if a == b { 0.0 } else { adjusted_rand(&labels[a], &labels[b]) }
    });
    let likeness = |nth: usize| -> f64 {
        (0..n).filter(|&other| competes[other]).map(|other| agreement[[nth, other]]).sum()
    };
    let better = |a: usize, b: usize| if likeness(b) > likeness(a) { b } else { a };
    let typical = (0..n).filter(|&nth| competes[nth]).reduce(better);
    let Some(typical) = typical else { unreachable!("the largest T is equal to itself") };
    let mut found = found.swap_remove(typical);
    found.agreement = (n > 1).then(|| agreement.row(typical).sum() / (n - 1) as f64);
    found
}

#[cfg(test)]
mod tests;
