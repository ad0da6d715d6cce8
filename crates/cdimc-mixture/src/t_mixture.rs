//! Fit of the method, from data to a model.

use crate::choice::{self, Choice};
use crate::coordinates::{self, Kind, Views, projection};
use crate::criterion::min_equal;
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
use ndarray::{Array1, Array2, Axis};

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
    /// stability and ranks the views to measure next.
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
        let part = self.subset_to_search(data, seed)?;
        if part.is_some() {
            let enough = "must be at least the number of clusters";
            setting("search-samples", self.search_samples, enough, |&n| n >= n_clusters)?;
        }
        let searched = part.as_ref().unwrap_or(data);
        let views = Views::of(searched, data);
        let found = self.search(&views, n_clusters, seed, observer)?;
        let Found { choice, best: Optimum { fit, shared }, curves } = found;
        let Choice { pilot, evidence, prior } = choice;
        let mut fit = fit.by_size();
        let observations = if pilot.observations.n_samples == data.n_samples() {
            let back: Vec<usize> = pilot.places.into_iter().flatten().collect();
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
        Ok(Solution { projections, observations, fit, shared, curves, evidence, prior })
    }

    /// Chooses coordinates and searches: in few samples several times, with the most typical result.
    fn search(
        &self,
        views: &Views<'_>,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Found, ClusterError> {
        let n_samples = views.data.n_samples();
        let n_searches = Self::n_searches(n_samples);
        let mut found = vec![self.search_once(views, n_clusters, seed, observer)?];
        let inner = |step: &Step| observer.on_inner_step(step);
        for nth in 1..n_searches {
            observer.step("searches", nth, n_searches, None)?;
            let seed = seed.stream("searches").nth(nth as u64);
            found.push(self.search_once(views, n_clusters, seed, &inner)?);
        }
        Ok(most_typical(found, n_samples))
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
        Ok(Found { choice, best: search::best(found), curves })
    }

    /// Returns how often a fit of `n_samples` samples searches: 7 times below 500 samples, else once.
    pub fn n_searches(n_samples: usize) -> usize {
        if n_samples < FEW_SAMPLES { SEARCHES } else { 1 }
    }

    /// Returns the samples that the search uses, ascending: all, or at most `search-samples` drawn at random.
    pub fn samples_to_search(&self, n_samples: usize, seed: Seed) -> Vec<usize> {
        seed.stream("search samples").subset(n_samples, self.search_samples)
    }

    /// Returns the samples for the search if these are not all.
    pub(crate) fn subset_to_search(
        &self,
        data: &MultiView,
        seed: Seed,
    ) -> Result<Option<MultiView>, ClusterError> {
        let n = data.n_samples();
        if n <= self.search_samples {
            return Ok(None);
        }
        let mut rows = self.samples_to_search(n, seed);
        data.mask().cover_views(&mut rows);
        rows.sort_unstable();
        rows.dedup();
        Ok(Some(data.select_rows(&rows)?))
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
        Ok(fitted(self.train(data, n_clusters, seed, observer)?))
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
        Ok(fitted((mixture, clustering)))
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
        // Copies of a subset of the samples and of halves of the columns.
        let copies = usize::from(searched < n) + usize::from(!data.mask().shares_samples());
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

/// Result of a search.
struct Found {
    choice: Choice,
    best: Optimum,
    /// Log-likelihood and shared information of the refined starts.
    curves: Vec<Curve>,
}

/// Returns the most typical result. Results whose T is nearly the largest compete. The winner has the largest sum of
/// adjusted Rand indices with the other competitors.
fn most_typical(found: Vec<Found>, n_samples: usize) -> Found {
    let largest = found.iter().map(|f| f.best.shared.information).fold(f64::NEG_INFINITY, f64::max);
    let is_equal = |f: &Found| f.best.shared.information >= min_equal(largest);
    let equal: Vec<(Found, Vec<usize>)> = found
        .into_iter()
        .filter(is_equal)
        .map(|found| {
            // Samples without a view of this kind are a group of their own.
            let mut labels = vec![found.best.fit.mixture.n_clusters(); n_samples];
            let of_found = found.best.fit.responsibilities.labels();
            found.choice.pilot.order.iter().zip(of_found).for_each(|(&i, label)| labels[i] = label);
            (found, labels)
        })
        .collect();
    let all: Vec<Vec<usize>> = equal.iter().map(|(_, labels)| labels.clone()).collect();
    let likeness = |(found, labels): (Found, Vec<usize>)| {
        (all.iter().map(|other| adjusted_rand(&labels, other)).sum::<f64>(), found)
    };
    let best = equal.into_iter().map(likeness).reduce(|a, b| if b.0 > a.0 { b } else { a });
    let Some((_, found)) = best else { unreachable!("the largest T is equal to itself") };
    found
}

/// Returns the adjusted Rand index (Hubert and Arabie, J. Classif. 2, 1985), with pairs of a sample with itself.
fn adjusted_rand(a: &[usize], b: &[usize]) -> f64 {
    let size = |labels: &[usize]| labels.iter().max().map_or(0, |most| most + 1);
    let mut shared = Array2::<f64>::zeros((size(a), size(b)));
    a.iter().zip(b).for_each(|(&a, &b)| shared[[a, b]] += 1.0);
    let pairs = |sizes: Array1<f64>| sizes.iter().map(|n| n * n).sum::<f64>();
    let (of_a, of_b) = (pairs(shared.sum_axis(Axis(1))), pairs(shared.sum_axis(Axis(0))));
    let expected = of_a * of_b / (a.len() as f64).powi(2);
    let most = 0.5 * (of_a + of_b);
    // One cluster, or every sample alone, in both.
    if most == expected {
        1.0
    } else {
        (pairs(shared.flatten().to_owned()) - expected) / (most - expected)
    }
}

fn fitted((mixture, clustering): (FittedMixture, Clustering)) -> Fitted {
    Fitted { clustering, model: Some(Box::new(mixture)) }
}

#[cfg(test)]
mod tests;
