//! Several runs of a method, of which that wins on whose clusters the views agree most.
//!
//! A network's loss does not distinguish a good run from a bad one; what its clusters make the views share does,
//! and needs no labels ([`TMixture::shared_information`]).

use cdimc_core::archive::Archive;
use cdimc_core::{Checkpoints, ClusterError, Clusterer, Cost, Curve, Fitted, Observer};
use cdimc_data::{MultiView, Seed};
use cdimc_mixture::TMixture;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The name of the curve that says what the views shared in every run that found clusters.
const CURVE: &str = "shared-information-of-runs";
/// What a checkpoint is, and the name of that of the run within it.
const KIND: &str = "cdimc checkpoint of restarts";
const INNER: &str = "run";

/// A method run several times.
pub(crate) struct Restarts {
    pub(crate) method: Box<dyn Clusterer>,
    /// Runs, at least two; the first is that of a single run with the same seed.
    pub(crate) runs: usize,
}

impl Clusterer for Restarts {
    fn name(&self) -> &'static str {
        self.method.name()
    }

    fn check(&self) -> Result<(), ClusterError> {
        self.method.check()
    }

    fn applies(&self, data: &MultiView, n_clusters: usize) -> Result<(), ClusterError> {
        self.method.applies(data, n_clusters)
    }

    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &Observer<'_>,
    ) -> Result<Fitted, ClusterError> {
        let (runs, labelings) = (self.runs, Vec::new());
        self.go(data, Done { n_clusters, seed, runs, labelings }, None, observer)
    }

    fn resume(
        &self,
        checkpoint: &[u8],
        data: &MultiView,
        observer: &Observer<'_>,
    ) -> Result<Fitted, ClusterError> {
        let archive = Archive::from_bytes(KIND, checkpoint)?;
        let done: Done = archive.description()?;
        let fits = |labels: &Vec<usize>| {
            labels.len() == data.n_samples() && labels.iter().all(|&label| label < done.n_clusters)
        };
        if done.runs != self.runs || !done.labelings.iter().flatten().all(fits) {
            let reason = "the checkpoint was made with other settings or data: the same are needed";
            return Err(ClusterError::Model(reason.into()));
        }
        let inner = archive.list::<u8>(INNER)?;
        self.go(data, done, (!inner.is_empty()).then_some(inner), observer)
    }

    fn cost(&self, data: &MultiView, n_clusters: usize) -> Option<Cost> {
        let cost = self.method.cost(data, n_clusters)?;
        Some(Cost { operations: cost.operations * self.runs as f64, ..cost })
    }

    fn shortened(&self) -> Option<Box<dyn Clusterer>> {
        self.method.shortened()
    }
}

/// The runs that have ended.
#[derive(Serialize, Deserialize)]
struct Done {
    n_clusters: usize,
    seed: Seed,
    /// Runs in all.
    runs: usize,
    /// What each found; `None` if chance spoiled it.
    labelings: Vec<Option<Vec<usize>>>,
}

impl Done {
    /// The seed of run `run`.
    fn seed_of(&self, run: usize) -> Seed {
        if run == 0 { self.seed } else { self.seed.stream("restarts").nth(run as u64) }
    }

    /// These runs with a checkpoint of the one after them, if there is one.
    fn checkpoint(&self, inner: &[u8]) -> Result<Vec<u8>, ClusterError> {
        let mut archive = Archive::new(KIND, self)?;
        archive.put(INNER, inner.iter().copied());
        archive.to_bytes()
    }
}

/// Hands on checkpoints of a run with the runs before it.
struct Within<'a> {
    observer: &'a Observer<'a>,
    done: &'a Done,
}

impl Checkpoints for Within<'_> {
    fn is_due(&self) -> bool {
        self.observer.is_due()
    }

    fn keep(&self, checkpoint: Vec<u8>) {
        // The next one may succeed.
        let _ = self.observer.checkpoint(|| self.done.checkpoint(&checkpoint));
    }
}

impl Restarts {
    /// The runs that are left after `done`, the first of them from its checkpoint.
    fn go(
        &self,
        data: &MultiView,
        mut done: Done,
        mut begun: Option<Vec<u8>>,
        observer: &Observer<'_>,
    ) -> Result<Fitted, ClusterError> {
        let n_clusters = done.n_clusters;
        let (mut found, mut failure) = (BTreeMap::new(), None);
        for run in done.labelings.len()..self.runs {
            let within = Within { observer, done: &done };
            let inner = observer.keeping(&within);
            let fitted = match begun.take() {
                Some(checkpoint) => self.method.resume(&checkpoint, data, &inner),
                None => self.method.fit(data, n_clusters, done.seed_of(run), &inner),
            };
            let labels = match fitted {
                Err(ClusterError::Interrupted { checkpoint }) => {
                    let checkpoint = done.checkpoint(&checkpoint.unwrap_or_default())?;
                    return Err(ClusterError::Interrupted { checkpoint: Some(checkpoint) });
                }
                // Chance may spoil a run, and does not spoil the others.
                Err(error @ (ClusterError::Unusable { .. } | ClusterError::Diverged { .. })) => {
                    failure = Some(error);
                    None
                }
                fitted => {
                    let fitted = fitted?;
                    let labels = fitted.clustering.labels.clone();
                    found.insert(run, fitted);
                    Some(labels)
                }
            };
            done.labelings.push(labels);
            observer.checkpoint(|| done.checkpoint(&[]))?;
            observer.step("restarts", run + 1, self.runs, None).or_else(|_| {
                Err(ClusterError::Interrupted { checkpoint: Some(done.checkpoint(&[])?) })
            })?;
        }
        let ended = done.labelings.iter().enumerate();
        let (runs, labelings): (Vec<usize>, Vec<Vec<usize>>) =
            ended.filter_map(|(run, labels)| Some((run, labels.clone()?))).unzip();
        let shared = TMixture::default().shared_information(data, &labelings, n_clusters)?;
        let most = runs.into_iter().zip(&shared);
        let most = most.reduce(|best, other| if other.1 > best.1 { other } else { best });
        let mut best = match (most, failure) {
            // Of a run in an earlier sitting there are only the labels: its seed gives it again.
            (Some((run, _)), _) => match found.remove(&run) {
                Some(fitted) => fitted,
                None => {
                    let observer = observer.without_checkpoints();
                    self.method.fit(data, n_clusters, done.seed_of(run), &observer)?
                }
            },
            (None, Some(error)) => return Err(error),
            // None of an earlier sitting succeeded.
            (None, None) => {
                let reason = format!("none of {} runs found clusters", self.runs);
                return Err(ClusterError::Unusable { method: self.name(), reason });
            }
        };
        best.clustering.curves.push(Curve { name: CURVE.to_owned(), values: shared });
        Ok(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_core::{Clustering, Step};
    use cdimc_data::SyntheticViews;
    use std::ops::ControlFlow;
    use std::sync::Mutex;

    /// Gives the truth in its third run, one cluster in the first so many and nonsense in the others.
    struct Lucky {
        truth: Vec<usize>,
        useless: usize,
        runs: Mutex<usize>,
    }

    fn lucky(runs: usize, useless: usize) -> (Restarts, MultiView, Vec<usize>) {
        let views = SyntheticViews { n_samples: 200, ..SyntheticViews::default() };
        let dataset = views.generate(Seed::new(3)).unwrap();
        let truth = dataset.labels().unwrap().to_vec();
        let data = MultiView::from_nan_rows(dataset.views().to_vec()).unwrap();
        let method = Lucky { truth: truth.clone(), useless, runs: Mutex::new(0) };
        (Restarts { method: Box::new(method), runs }, data, truth)
    }

    fn n_classes(truth: &[usize]) -> usize {
        1 + truth.iter().max().unwrap()
    }

    impl Clusterer for Lucky {
        fn name(&self) -> &'static str {
            "lucky"
        }

        fn run(
            &self,
            data: &MultiView,
            n_clusters: usize,
            _: Seed,
            _: &Observer<'_>,
        ) -> Result<Fitted, ClusterError> {
            let mut runs = self.runs.lock().unwrap();
            *runs += 1;
            let nonsense = |i: usize| (i * (*runs + 6) + i / 11) % n_clusters;
            let labels = match *runs {
                run if run <= self.useless => vec![0; data.n_samples()],
                3 => self.truth.clone(),
                _ => (0..data.n_samples()).map(nonsense).collect(),
            };
            Ok(Clustering::from_labels(labels).into())
        }
    }

    #[test]
    fn the_run_on_which_views_agree_wins() {
        let (restarts, data, truth) = lucky(4, 0);
        let found = restarts.cluster(&data, n_classes(&truth), Seed::new(1)).unwrap();
        assert_eq!(found.labels, truth);
        assert_eq!(found.curves[0].name, CURVE);
        assert_eq!(found.curves[0].values.len(), 4);
    }

    #[test]
    fn runs_that_find_nothing_lose_to_those_that_do() {
        let (restarts, data, truth) = lucky(4, 2);
        let found = restarts.cluster(&data, n_classes(&truth), Seed::new(1)).unwrap();
        assert_eq!((found.labels, found.curves[0].values.len()), (truth.clone(), 2));
        let (restarts, ..) = lucky(2, 2);
        let error = restarts.cluster(&data, n_classes(&truth), Seed::new(1)).unwrap_err();
        assert!(matches!(error, ClusterError::Unusable { .. }), "{error}");
    }

    #[test]
    fn interrupted_runs_go_on_to_the_same_result() {
        let (_, data, truth) = lucky(1, 0);
        let method = || crate::method("concat", serde_json::Value::Null).unwrap();
        let restarts = Restarts { method: method(), runs: 3 };
        let fit = |observer: &Observer<'_>| {
            restarts.fit(&data, n_classes(&truth), Seed::new(1), observer)
        };
        let whole = fit(&Observer::silent()).unwrap().clustering;
        for stop_after in 1..=3 {
            let stop = |step: &Step| match (step.stage, step.done == stop_after) {
                ("restarts", true) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            };
            let stopped = fit(&Observer::new(&stop)).unwrap_err();
            let ClusterError::Interrupted { checkpoint: Some(checkpoint) } = stopped else {
                panic!("{stopped}");
            };
            let resumed = restarts.resume(&checkpoint, &data, &Observer::silent()).unwrap();
            assert_eq!(resumed.clustering, whole);
            let others = Restarts { method: method(), runs: 4 };
            assert!(others.resume(&checkpoint, &data, &Observer::silent()).is_err());
        }
    }

    #[test]
    fn any_number_of_runs_can_begin() {
        let (restarts, data, truth) = lucky(usize::MAX, 0);
        let stop = |_: &Step| ControlFlow::Break(());
        let observer = Observer::new(&stop);
        let error = restarts.fit(&data, n_classes(&truth), Seed::new(1), &observer).unwrap_err();
        assert!(matches!(error, ClusterError::Interrupted { .. }), "{error}");
    }
}
