//! From samples to a result: number of clusters, fit and warnings, in one call for every program.

use crate::NamedModel;
use crate::cluster_number::{self, ClusterNumber, NumberRange};
use crate::machine::{announcement, forecast, seconds};
use crate::markers::{Clustered, Markers};
use crate::tables::Joined;
use crate::warnings::{self, ClustersFound, Warning};
use cdimc_core::{
    CHECKPOINT, ClusterError, Clusterer, Clustering, Configured, Fitted, Observer, Step,
};
use cdimc_data::Seed;
use cdimc_metrics::match_labels;
use cdimc_mixture::{FittedMixture, Stability, TMixture};
use rand::seq::SliceRandom;
use serde_json::Value;

/// Largest forecast of a fit, in seconds on one thread, for which the fit is repeated to test its clusters.
const QUICK_SECONDS: f64 = 0.75;
/// Largest number of values for which the fit of a method without a forecast is repeated.
const QUICK_VALUES: usize = 1_000_000;
/// Number of subsamples for the stability of a quick mixture.
const SUBSAMPLES: usize = 50;
/// Number of other seeds for the fits of other quick methods.
const OTHER_SEEDS: u64 = 2;

/// Name under which the chosen number is stored.
pub(crate) const CLUSTER_NUMBER: &str = "cluster number";

/// A clustering of samples with everything that follows it.
///
/// ```
/// use cdimc::analysis::{Analysis, Number};
/// use cdimc::core::Silent;
/// use cdimc::data::Seed;
/// # let table = |name: &str, sign: f64| cdimc::tables::Table {
/// #     features: vec!["x".into(), "y".into()],
/// #     ..cdimc::tables::Table::new(name, ndarray::Array2::from_shape_fn((40, 2), |(i, j)| {
/// #         sign * (9 * (i % 2)) as f64 + ((i * 7 + j * 3) % 10) as f64 / 10.0
/// #     }))
/// # };
/// # let tables = vec![table("rna", 1.0), table("protein", -1.0)];
/// let samples = cdimc::training_set(tables, false)?;
/// let method = cdimc::configured("t-mixture", serde_json::Value::Null)?;
/// let analysis = Analysis::new(&method, &samples, Number::Known(2), Seed::new(0));
/// let outcome = analysis.run(&Silent)?;
/// assert_eq!(outcome.clustering.labels.len(), 40);
/// assert!(outcome.model.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Analysis<'a> {
    /// The method with its settings.
    pub method: &'a Configured,
    /// The samples.
    pub samples: &'a Joined,
    /// Number of clusters.
    pub number: Number,
    /// Root of all randomness.
    pub seed: Seed,
    /// Number of subsamples for the stability of the clusters, only for the mixture; 0 for none. If absent, 50 if a fit is
    /// quick.
    pub n_subsamples: Option<usize>,
    /// Whether quick fits are compared with fits of other seeds and with plain k-means.
    pub compares: bool,
    /// Whether markers are tested, which needs one more fit per view, without that view.
    pub tests_markers: bool,
}

/// Number of clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// A given number.
    Known(usize),
    /// The best number of a range.
    Within(NumberRange),
}

/// Result of an analysis.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The clusters of the samples.
    pub clustering: Clustering,
    /// The given or chosen number of clusters.
    pub n_clusters: usize,
    /// The choice of this number, if it was not given.
    pub cluster_number: Option<ClusterNumber>,
    /// Model that clusters new samples, if the method makes one.
    pub model: Option<NamedModel>,
    /// Stability of the clusters in subsamples, if it was computed.
    pub stability: Option<Stability>,
    /// Per view, the clusters that the other views give, with the numbers of the clusters of all views; `None` for a sample
    /// without another view. Only for a mixture of several views, if markers are tested.
    pub by_others: Option<Vec<Vec<Option<usize>>>>,
    /// Warnings that the clusters may be meaningless.
    pub warnings: Vec<Warning>,
}

impl Outcome {
    /// Returns the findings of the fit about the data, as JSON for records and reports; null if there are none.
    pub fn facts(&self) -> Value {
        self.model.as_ref().map_or(Value::Null, |named| named.model.facts())
    }

    /// Returns, per cluster and view, the `most` columns that differ most from the other samples.
    ///
    /// # Panics
    /// If these are not the samples that were clustered.
    pub fn markers(&self, samples: &Joined, most: usize) -> Markers {
        let clustered = Clustered {
            data: &samples.data,
            labels: &self.clustering.labels,
            model: self.model.as_ref().and_then(NamedModel::mixture),
            by_others: self.by_others.as_deref(),
        };
        Markers::of(&clustered, most)
    }
}

impl<'a> Analysis<'a> {
    /// Returns an analysis without stability, tests of markers, and comparisons with other seeds and methods.
    pub fn new(method: &'a Configured, samples: &'a Joined, number: Number, seed: Seed) -> Self {
        let (n_subsamples, compares, tests_markers) = (Some(0), false, false);
        Self { method, samples, number, seed, n_subsamples, compares, tests_markers }
    }

    /// Chooses the number of clusters if it is not known, fits, and computes warnings. It resumes from what `observer` has
    /// stored, and stores what a later run with the same settings needs.
    ///
    /// # Errors
    /// If there is no memory for the fit, if `observer` stops it, or same as the method.
    pub fn run(&self, observer: &dyn Observer) -> Result<Outcome, ClusterError> {
        let (n_clusters, cluster_number) = match self.number {
            Number::Known(n_clusters) => (n_clusters, None),
            Number::Within(range) => {
                let number = self.choose(range, observer)?;
                (number.chosen, Some(number))
            }
        };
        // One cluster needs no fit.
        let is_one = matches!(self.number, Number::Within(_)) && n_clusters == 1;
        let Fitted { clustering, model } = if is_one {
            let labels = vec![0; self.samples.data.n_samples()];
            Fitted { clustering: Clustering::from_labels(labels), model: None }
        } else {
            self.fit(n_clusters, observer)?
        };
        observer.stage_finished("finish");
        let labels = &clustering.labels;
        let model = model.map(|model| NamedModel::new(model, self.samples));
        let fitted = model.as_ref().and_then(NamedModel::fitted_mixture);
        let mut warnings = warnings::far_samples(self.samples);
        if !is_one {
            let found = ClustersFound::new(self.samples, labels, n_clusters, fitted);
            warnings.extend(found.warnings(matches!(self.number, Number::Within(_))));
            if self.compares {
                warnings.extend(found.plain_is_better());
            }
        }
        observer.stage_finished("warnings");
        if let Some(model) = model.as_ref().filter(|_| fitted.is_some()) {
            // What follows can take longer than the fit.
            observer.store(CHECKPOINT, model.to_bytes()?);
        }
        let n_subsamples = self.n_subsamples(n_clusters);
        let stability = match fitted {
            Some(fitted) if n_subsamples > 0 => self.stability(fitted, n_subsamples, observer)?,
            _ => None,
        };
        let by_others = match fitted {
            Some(fitted) if self.tests_markers => self.by_others(fitted, labels, observer)?,
            _ => None,
        };
        // Each subsample has a separate seed for its search.
        match &stability {
            Some(found) => warnings.extend(warnings::of_stability(found)),
            None if self.compares && !is_one && self.is_quick(n_clusters) => {
                warnings.extend(self.other_seeds(labels, n_clusters, observer));
                observer.stage_finished("other seeds");
            }
            None => {}
        }
        warnings.extend(cluster_number.as_ref().and_then(warnings::of_number));
        Ok(Outcome {
            clustering,
            n_clusters,
            cluster_number,
            model,
            stability,
            by_others,
            warnings,
        })
    }

    /// Returns the stages of a run of the mixture in order, with their typical time as a share of the fit; none for other
    /// methods.
    #[cfg(feature = "command")]
    pub(crate) fn stages(&self) -> Vec<(&'static str, f64)> {
        if self.clusterer().name() != TMixture::NAME {
            return Vec::new();
        }
        let (n_numbers, n_clusters) = match self.number {
            Number::Known(n_clusters) => (0, n_clusters),
            Number::Within(NumberRange { from, to, .. }) => (to + 1 - from, to),
        };
        let stability = 0.1 * self.n_subsamples(n_clusters) as f64;
        vec![
            (cluster_number::STAGE, 0.2 * n_numbers as f64),
            ("coordinates", 0.6),
            ("starts", 0.1),
            ("refinement", 0.3),
            ("searches", (TMixture::n_searches(self.samples.data.n_samples()) - 1) as f64),
            ("stability", stability),
            ("other views", if self.tests_markers { 0.4 } else { 0.0 }),
        ]
    }

    fn clusterer(&self) -> &dyn Clusterer {
        self.method.clusterer.as_ref()
    }

    /// Returns the number of clusters: the stored choice, or the best number of the range.
    fn choose(
        &self,
        range: NumberRange,
        observer: &dyn Observer,
    ) -> Result<ClusterNumber, ClusterError> {
        if let Some(number) = observer.load(CLUSTER_NUMBER) {
            return Ok(number);
        }
        let data = &self.samples.data;
        let number = cluster_number::choose(self.method, data, range, self.seed, observer)?;
        let next = number.runner_up.map_or_else(String::new, |k| format!("; runner-up: {k}"));
        observer.message(&format!("{}{next}", number.reason));
        observer.save(CLUSTER_NUMBER, &number);
        Ok(number)
    }

    fn fit(&self, n_clusters: usize, observer: &dyn Observer) -> Result<Fitted, ClusterError> {
        let (method, data) = (self.clusterer(), &self.samples.data);
        let cost = forecast(method, data, n_clusters)?;
        if let Some(line) = cost.and_then(|cost| announcement(method.name(), &cost)) {
            observer.message(&line);
        }
        let fitted = match observer.stored(CHECKPOINT) {
            Some(checkpoint) => method.resume(&checkpoint, data, observer),
            None => method.fit(data, n_clusters, self.seed, observer),
        };
        fitted.inspect_err(|error| {
            if let ClusterError::Interrupted { checkpoint: Some(checkpoint) } = error {
                observer.store(CHECKPOINT, checkpoint.clone());
            }
        })
    }

    /// Returns the given number of subsamples, or 50 for a mixture whose fit is quick.
    fn n_subsamples(&self, n_clusters: usize) -> usize {
        self.n_subsamples.unwrap_or_else(|| {
            let is_mixture = self.clusterer().name() == TMixture::NAME;
            if is_mixture && self.is_quick(n_clusters) { SUBSAMPLES } else { 0 }
        })
    }

    /// Returns whether repeated fits are quick, by forecast, so that every machine writes the same files.
    fn is_quick(&self, n_clusters: usize) -> bool {
        let (method, data) = (self.clusterer(), &self.samples.data);
        match method.cost(data, n_clusters) {
            Some(cost) => seconds(&cost) <= QUICK_SECONDS,
            None => data.n_samples() * data.widths().iter().sum::<usize>() <= QUICK_VALUES,
        }
    }

    fn stability(
        &self,
        fitted: &FittedMixture,
        n_subsamples: usize,
        observer: &dyn Observer,
    ) -> Result<Option<Stability>, ClusterError> {
        let seed = self.seed.stream("stability");
        let found = fitted.stability(n_subsamples, seed, observer);
        observer.stage_finished("stability");
        match found {
            // Too few samples are an error only if stability was requested.
            Err(ClusterError::Inapplicable { .. }) if self.n_subsamples.is_none() => Ok(None),
            // If stability is interrupted, the run stops here so that it can resume.
            found => found.map(Some),
        }
    }

    /// Returns for each view the clusters that the other views give. Each gets the distinct number of the cluster with
    /// which it shares most samples. The numbers match tests to clusters; they do not change the results.
    fn by_others(
        &self,
        fitted: &FittedMixture,
        labels: &[usize],
        observer: &dyn Observer,
    ) -> Result<Option<Vec<Vec<Option<usize>>>>, ClusterError> {
        let seed = self.seed.stream("other views");
        let found = fitted.labels_by_others(seed, observer);
        observer.stage_finished("other views");
        let mut found = found?;
        found.iter_mut().flatten().for_each(|of_view| match_numbers(of_view, labels));
        Ok(found)
    }

    /// Compares the clusters with the clusters from other seeds and sample orders.
    fn other_seeds(
        &self,
        labels: &[usize],
        n_clusters: usize,
        observer: &dyn Observer,
    ) -> Option<Warning> {
        let seed = self.seed.stream("other seeds");
        // Checkpoints of these fits are not stored.
        let inner = |step: &Step| observer.on_inner_step(step);
        let mut found = vec![labels.to_vec()];
        for nth in 0..OTHER_SEEDS {
            let seed = seed.nth(nth);
            let mut order: Vec<usize> = (0..labels.len()).collect();
            order.shuffle(&mut seed.stream("order").rng());
            let data = self.samples.data.select_rows(&order).ok()?;
            // An interruption here loses nothing: the result exists.
            let fitted = self.clusterer().fit(&data, n_clusters, seed, &inner);
            let mut others = vec![0; labels.len()];
            for (&i, label) in order.iter().zip(fitted.ok()?.clustering.labels) {
                others[i] = label;
            }
            found.push(others);
        }
        warnings::seeds_disagree(&found)
    }
}

/// Gives the clusters of some samples the numbers of the clusters in `labels` with which they share most samples.
fn match_numbers(clusters: &mut [Option<usize>], labels: &[usize]) {
    let known =
        clusters.iter().zip(labels).filter_map(|(cluster, &label)| Some((label, (*cluster)?)));
    let (truth, found): (Vec<usize>, Vec<usize>) = known.unzip();
    let Ok(mut names) = match_labels(&truth, &found) else { return };
    // No two clusters get one number.
    let taken: Vec<usize> = names.values().flatten().copied().collect();
    let mut free = (0..).filter(|name| !taken.contains(name));
    for name in names.values_mut().filter(|name| name.is_none()) {
        *name = free.next();
    }
    for cluster in clusters.iter_mut() {
        *cluster = cluster.and_then(|cluster| names[&cluster]);
    }
}

#[cfg(test)]
mod tests;
