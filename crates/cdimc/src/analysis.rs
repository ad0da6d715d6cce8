//! From samples to a result: number of clusters, fit and warnings, in one call for every program.

use crate::NamedModel;
use crate::cluster_number::{Candidate, ClusterNumber, NumberRange, NumberSearch};
use crate::machine::{announcement, check_cost, seconds_of};
use crate::markers::{Clustered, Markers};
use crate::tables::Joined;
use crate::warnings::{self, ClustersFound, Warning};
use cdimc_core::Configured;
use cdimc_core::{Checkpoints, ClusterError, Clusterer, Clustering, Fitted, Observer, Step};
use cdimc_data::Seed;
use cdimc_metrics::match_labels;
use cdimc_mixture::{FittedMixture, Stability, TMixture};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

/// Forecast seconds of a fit on one thread up to which the fit is repeated to see whether its clusters come back ...
const QUICK_SECONDS: f64 = 4.0;
/// ... and the number of values for methods without a forecast.
const QUICK_VALUES: usize = 1_000_000;
/// Subsamples that a quick mixture is fitted to.
const SUBSAMPLES: usize = 50;
/// Seeds that other quick methods begin from.
const OTHER_SEEDS: u64 = 2;

/// What is asked of samples.
///
/// ```
/// use cdimc::analysis::{Analysis, Interim, Number};
/// use cdimc::core::Observer;
/// use cdimc::data::Seed;
/// # let table = |name: &str, sign: f64| cdimc::tables::Table {
/// #     name: name.into(), path: name.into(), ids: None, labels: None, features: vec!["x".into(), "y".into()],
/// #     left_out: vec![], values: ndarray::Array2::from_shape_fn((40, 2), |(i, j)| {
/// #         sign * (9 * (i % 2)) as f64 + ((i * 7 + j * 3) % 10) as f64 / 10.0
/// #     }).into(),
/// # };
/// # let tables = vec![table("rna", 1.0), table("protein", -1.0)];
/// let samples = cdimc::training_set(tables, false)?;
/// let method = cdimc::configured("t-mixture", serde_json::Value::Null)?;
/// let analysis = Analysis::new(&method, &samples, Number::Known(2), Seed::new(0));
/// let outcome = analysis.run(&mut Interim::default(), &Observer::silent())?;
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
    /// How many clusters.
    pub number: Number,
    /// Root of all randomness.
    pub seed: Seed,
    /// Subsamples in which the stability of the clusters is looked at, with the mixture alone; 0 for none, and if absent
    /// 50 where a fit is quick.
    pub n_subsamples: Option<usize>,
    /// Whether quick fits are compared with those of other seeds, and with plain k-means.
    pub compares: bool,
    /// Whether the clusters that all views but one give are looked for, against which markers are tested.
    pub tests_markers: bool,
}

/// How many clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// So many.
    Known(usize),
    /// The best of a range.
    Within(NumberRange),
}

/// What is done of an analysis, from which it goes on.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Interim {
    /// The numbers of clusters that were tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<Candidate>,
    /// The number chosen of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_number: Option<ClusterNumber>,
    /// The last checkpoint of the fit with that number.
    #[serde(skip)]
    pub checkpoint: Option<Vec<u8>>,
    /// Parts of what follows the fit, as JSON.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, String>,
}

/// The program that an analysis runs in.
pub trait Host: Sync {
    /// Hears of a step, and says whether to go on.
    fn step(&self, step: &Step) -> ControlFlow<()>;

    /// As [`step`](Self::step), of a step within one that will be told.
    fn inner_step(&self, step: &Step) -> ControlFlow<()> {
        self.step(step)
    }

    /// What was done since the last step belongs to `stage`.
    fn end_of(&self, stage: &'static str) {
        let _ = stage;
    }

    /// Hears a line for whoever waits.
    fn announce(&self, line: &str) {
        let _ = line;
    }

    /// Whether it is time to keep what is done.
    fn is_due(&self) -> bool {
        false
    }

    /// Keeps what is done.
    fn keep(&self, interim: &Interim) {
        let _ = interim;
    }
}

impl Host for Observer<'_> {
    fn step(&self, step: &Step) -> ControlFlow<()> {
        match self.report(step) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

/// What an analysis gives.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The clusters of the samples.
    pub clustering: Clustering,
    /// The number of clusters asked for or chosen.
    pub n_clusters: usize,
    /// How it was chosen, if it was not given.
    pub cluster_number: Option<ClusterNumber>,
    /// What clusters new samples, where the method makes it.
    pub model: Option<NamedModel>,
    /// How far clusters stay the same in subsamples, if that was asked.
    pub stability: Option<Stability>,
    /// Of every view the clusters that the others give, by the names of those of all; `None` for a sample without another
    /// view. Only of a mixture of several views, if that was asked.
    pub by_others: Option<Vec<Vec<Option<usize>>>>,
    /// Signs that the clusters should not be believed as they stand.
    pub warnings: Vec<Warning>,
}

impl Outcome {
    /// What the method found out about the data, as JSON for records and reports; null for nothing.
    pub fn facts(&self) -> Value {
        self.model.as_ref().map_or(Value::Null, |named| named.model.facts())
    }

    /// The `most` columns of every cluster and view of the samples that set it apart most.
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
    /// An analysis that compares nothing with other seeds, methods or subsamples.
    pub fn new(method: &'a Configured, samples: &'a Joined, number: Number, seed: Seed) -> Self {
        let (n_subsamples, compares, tests_markers) = (Some(0), false, false);
        Self { method, samples, number, seed, n_subsamples, compares, tests_markers }
    }

    /// Chooses the number of clusters if it is not known, fits, and looks for signs of nonsense; begins where
    /// `interim` ends, and leaves there what is done when `host` stops it.
    ///
    /// # Errors
    /// If there is no memory for the fit, or as the method.
    pub fn run(&self, interim: &mut Interim, host: &dyn Host) -> Result<Outcome, ClusterError> {
        let n_clusters = match (self.number, &interim.cluster_number) {
            (Number::Known(n_clusters), _) => n_clusters,
            (Number::Within(_), Some(number)) => number.chosen,
            (Number::Within(range), None) => self.choose(range, interim, host)?,
        };
        // One cluster is the answer of a search, and no method is asked for it.
        let is_one = matches!(self.number, Number::Within(_)) && n_clusters == 1;
        let Fitted { clustering, model } = if is_one {
            let labels = vec![0; self.samples.data.n_samples()];
            Fitted { clustering: Clustering::from_labels(labels), model: None }
        } else {
            self.fit(n_clusters, interim, host)?
        };
        host.end_of("finish");
        let labels = &clustering.labels;
        let model = model.map(|model| NamedModel::new(model, self.samples));
        let fitted = model.as_ref().and_then(NamedModel::fitted_mixture);
        let mut warnings = warnings::far_samples(self.samples);
        if !is_one {
            let found = ClustersFound::new(self.samples, labels, n_clusters, fitted);
            warnings.extend(found.warnings(matches!(self.number, Number::Within(_))));
            // The curves of the mixture have a point for every start, in no order.
            if fitted.is_none() {
                warnings.extend(warnings::less_shared(&clustering.curves));
            }
            if self.compares {
                warnings.extend(found.plain_is_better());
            }
        }
        host.end_of("warnings");
        if let Some(model) = model.as_ref().filter(|_| fitted.is_some()) {
            // What follows can take longer than the fit.
            interim.checkpoint = Some(model.to_bytes()?);
        }
        let kept = Kept { host, interim: Mutex::new(&mut *interim) };
        let n_subsamples = self.n_subsamples(n_clusters);
        let stability = match fitted {
            Some(fitted) if n_subsamples > 0 => self.stability(fitted, n_subsamples, &kept)?,
            _ => None,
        };
        let by_others = match fitted {
            Some(fitted) if self.tests_markers => self.by_others(fitted, labels, &kept)?,
            _ => None,
        };
        // Each subsample is searched with a seed of its own.
        match &stability {
            Some(found) => warnings.extend(warnings::of_stability(found)),
            None if self.compares && !is_one && self.is_quick(n_clusters) => {
                warnings.extend(self.other_seeds(labels, n_clusters, host));
                host.end_of("other seeds");
            }
            None => {}
        }
        let cluster_number = interim.cluster_number.take();
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

    fn clusterer(&self) -> &dyn Clusterer {
        self.method.clusterer.as_ref()
    }

    /// Tries every number of the range that was not tried yet and chooses one.
    fn choose(
        &self,
        range: NumberRange,
        interim: &mut Interim,
        host: &dyn Host,
    ) -> Result<usize, ClusterError> {
        let report = |step: &Step| match step.stage {
            NumberSearch::STAGE => host.step(step),
            _ => host.inner_step(step),
        };
        let search =
            NumberSearch { method: self.method, data: &self.samples.data, range, seed: self.seed };
        let mut trials = std::mem::take(&mut interim.trials);
        let keep = |trials: &[Candidate]| {
            if host.is_due() {
                host.keep(&Interim { trials: trials.to_vec(), ..Interim::default() });
            }
        };
        let number = search.choose(&mut trials, &keep, &Observer::new(&report));
        interim.trials = trials;
        let number = number.map_err(|error| match error {
            // A fit of the search leaves one too, which is none of the fit that follows it.
            ClusterError::Interrupted { .. } => ClusterError::Interrupted { checkpoint: None },
            error => error,
        })?;
        let next = number.runner_up.map_or_else(String::new, |k| format!("; runner-up: {k}"));
        host.announce(&format!("{}{next}", number.reason));
        let chosen = number.chosen;
        interim.cluster_number = Some(number);
        Ok(chosen)
    }

    fn fit(
        &self,
        n_clusters: usize,
        interim: &mut Interim,
        host: &dyn Host,
    ) -> Result<Fitted, ClusterError> {
        let (method, data) = (self.clusterer(), &self.samples.data);
        check_cost(method, data, n_clusters)?;
        if let Some(line) = announcement(method, data, n_clusters) {
            host.announce(&line);
        }
        let begun = interim.checkpoint.take();
        let report = |step: &Step| host.step(step);
        let kept = Kept { host, interim: Mutex::new(&mut *interim) };
        let observer = Observer::new(&report).keeping(&kept);
        let fitted = match begun {
            Some(checkpoint) => method.resume(&checkpoint, data, &observer),
            None => method.fit(data, n_clusters, self.seed, &observer),
        };
        fitted.inspect_err(|error| {
            if let ClusterError::Interrupted { checkpoint: Some(checkpoint) } = error {
                interim.checkpoint = Some(checkpoint.clone());
            }
        })
    }

    /// The subsamples that are asked for, or 50 of a mixture whose fit is quick.
    fn n_subsamples(&self, n_clusters: usize) -> usize {
        self.n_subsamples.unwrap_or_else(|| {
            let is_mixture = self.clusterer().name() == TMixture::NAME;
            if is_mixture && self.is_quick(n_clusters) { SUBSAMPLES } else { 0 }
        })
    }

    /// Whether repeated fits cost little, by forecast, so that the same files come out on every machine.
    fn is_quick(&self, n_clusters: usize) -> bool {
        let (method, data) = (self.clusterer(), &self.samples.data);
        match seconds_of(method, data, n_clusters) {
            Some(seconds) => seconds <= QUICK_SECONDS,
            None => data.n_samples() * data.widths().iter().sum::<usize>() <= QUICK_VALUES,
        }
    }

    fn stability(
        &self,
        fitted: &FittedMixture,
        n_subsamples: usize,
        kept: &Kept<'_>,
    ) -> Result<Option<Stability>, ClusterError> {
        let report = |step: &Step| kept.host.inner_step(step);
        let seed = self.seed.stream("stability");
        let found = fitted.stability(n_subsamples, seed, &Observer::new(&report).keeping(kept));
        kept.host.end_of("stability");
        match found {
            // Too few samples are an error only if stability was requested.
            Err(ClusterError::Inapplicable { .. }) if self.n_subsamples.is_none() => Ok(None),
            // If stability is interrupted, the run stops here so that it can resume.
            found => found.map(Some),
        }
    }

    /// Returns for every view the clusters that the other views give, each with the number of the cluster that it shares
    /// most samples with, all different. The numbers decide which test stands beside which cluster, not its result.
    fn by_others(
        &self,
        fitted: &FittedMixture,
        labels: &[usize],
        kept: &Kept<'_>,
    ) -> Result<Option<Vec<Vec<Option<usize>>>>, ClusterError> {
        let report = |step: &Step| kept.host.inner_step(step);
        let seed = self.seed.stream("other views");
        let found = fitted.labels_by_others(seed, &Observer::new(&report).keeping(kept));
        kept.host.end_of("other views");
        let mut found = found?;
        found.iter_mut().flatten().for_each(|of_view| match_numbers(of_view, labels));
        Ok(found)
    }

    /// Whether other seeds give the same clusters, with the samples in other orders too.
    fn other_seeds(&self, labels: &[usize], n_clusters: usize, host: &dyn Host) -> Option<Warning> {
        let seed = self.seed.stream("other seeds");
        let report = |step: &Step| host.inner_step(step);
        let mut found = vec![labels.to_vec()];
        for nth in 0..OTHER_SEEDS {
            let seed = seed.nth(nth);
            let mut order: Vec<usize> = (0..labels.len()).collect();
            order.shuffle(&mut seed.stream("order").rng());
            let data = self.samples.data.select_rows(&order).ok()?;
            // An interruption here loses nothing: the result exists.
            let fitted = self.clusterer().fit(&data, n_clusters, seed, &Observer::new(&report));
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

/// Hands checkpoints of the method, and parts of what follows it, to the host with what was done before.
struct Kept<'a> {
    host: &'a dyn Host,
    interim: Mutex<&'a mut Interim>,
}

impl Checkpoints for Kept<'_> {
    fn is_due(&self) -> bool {
        self.host.is_due()
    }

    fn keep(&self, checkpoint: Vec<u8>) {
        let mut interim = self.interim.lock().unwrap_or_else(PoisonError::into_inner);
        interim.checkpoint = Some(checkpoint);
        self.host.keep(&interim);
    }

    fn part(&self, name: &str) -> Option<String> {
        self.interim.lock().unwrap_or_else(PoisonError::into_inner).parts.get(name).cloned()
    }

    fn keep_part(&self, name: String, part: String) {
        let mut interim = self.interim.lock().unwrap_or_else(PoisonError::into_inner);
        interim.parts.insert(name, part);
        if self.host.is_due() {
            self.host.keep(&interim);
        }
    }
}

#[cfg(test)]
mod tests;
