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
use std::sync::{Mutex, PoisonError};

/// The name of the curve that says what the views shared in every run that found clusters.
const CURVE: &str = "shared-information-of-runs";
/// What a checkpoint is, and the beginning of the names of those of single runs within it.
const KIND: &str = "cdimc checkpoint of restarts";
const RUN: &str = "run";

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
        let (runs, labelings, last) = (self.runs, Vec::new(), BTreeMap::new());
        self.go(data, Done { n_clusters, seed, runs, labelings, last }, observer)
    }

    fn resume(
        &self,
        checkpoint: &[u8],
        data: &MultiView,
        observer: &Observer<'_>,
    ) -> Result<Fitted, ClusterError> {
        let archive = Archive::from_bytes(KIND, checkpoint)?;
        let mut done: Done = archive.description()?;
        let fits = |labels: &Vec<usize>| {
            labels.len() == data.n_samples() && labels.iter().all(|&label| label < done.n_clusters)
        };
        if done.runs != self.runs || !done.labelings.iter().flatten().all(fits) {
            let reason = "the checkpoint was made with other settings or data: the same are needed";
            return Err(ClusterError::Model(reason.into()));
        }
        for run in (0..self.runs).filter(|run| archive.has(&format!("{RUN}{run}"))) {
            done.last.insert(run, archive.list(&format!("{RUN}{run}"))?);
        }
        self.go(data, done, observer)
    }

    fn cost(&self, data: &MultiView, n_clusters: usize) -> Option<Cost> {
        let cost = self.method.cost(data, n_clusters)?;
        // Of every run its last checkpoint is kept, a third of what the method says.
        let bytes = cost.bytes * (2.0 + self.runs as f64) / 3.0;
        Some(Cost { operations: cost.operations * self.runs as f64, bytes })
    }

    fn shortened(&self) -> Option<Box<dyn Clusterer>> {
        self.method.shortened()
    }
}

/// The runs that have ended, and how far others are.
#[derive(Serialize, Deserialize)]
struct Done {
    n_clusters: usize,
    seed: Seed,
    /// Runs in all.
    runs: usize,
    /// What each found; `None` if chance spoiled it.
    labelings: Vec<Option<Vec<usize>>>,
    /// The last checkpoint of each run that made one, of those that have ended too: one of them wins, and what
    /// it found is more than its labels.
    #[serde(skip)]
    last: BTreeMap<usize, Vec<u8>>,
}

impl Done {
    /// The seed of run `run`.
    fn seed_of(&self, run: usize) -> Seed {
        if run == 0 { self.seed } else { self.seed.stream("restarts").nth(run as u64) }
    }

    fn checkpoint(&self) -> Result<Vec<u8>, ClusterError> {
        let mut archive = Archive::new(KIND, self)?;
        for (run, bytes) in &self.last {
            archive.put(format!("{RUN}{run}"), bytes.iter().copied());
        }
        archive.to_bytes()
    }
}

/// Takes checkpoints of run `run`, and hands them on with the other runs.
struct Within<'a> {
    observer: &'a Observer<'a>,
    done: Mutex<&'a mut Done>,
    run: usize,
}

impl Checkpoints for Within<'_> {
    fn is_due(&self) -> bool {
        self.observer.is_due()
    }

    fn keep(&self, checkpoint: Vec<u8>) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.last.insert(self.run, checkpoint);
        // The next one may succeed.
        let _ = self.observer.checkpoint(|| done.checkpoint());
    }
}

impl Restarts {
    /// The runs that are left after `done`.
    fn go(
        &self,
        data: &MultiView,
        mut done: Done,
        observer: &Observer<'_>,
    ) -> Result<Fitted, ClusterError> {
        let n_clusters = done.n_clusters;
        let (mut found, mut failure) = (BTreeMap::new(), None);
        for run in done.labelings.len()..self.runs {
            let labels = match self.one(data, &mut done, run, observer) {
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
            observer.checkpoint(|| done.checkpoint())?;
            observer
                .step("restarts", run + 1, self.runs, None)
                .map_err(|_| done.checkpoint().map_or_else(|e| e, interrupted))?;
        }
        let ended = done.labelings.iter().enumerate();
        let (runs, labelings): (Vec<usize>, Vec<Vec<usize>>) =
            ended.filter_map(|(run, labels)| Some((run, labels.clone()?))).unzip();
        let shared = TMixture::default().shared_information(data, &labelings, n_clusters)?;
        let most = runs.into_iter().zip(&shared);
        let most = most.reduce(|best, other| if other.1 > best.1 { other } else { best });
        let mut best = match (most, failure) {
            // Of a run in an earlier sitting there are its labels and its last checkpoint: it ends once more.
            (Some((run, _)), _) => match found.remove(&run) {
                Some(fitted) => fitted,
                None => self.one(data, &mut done, run, observer)?,
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

    /// One run, from its last checkpoint if it has one.
    fn one(
        &self,
        data: &MultiView,
        done: &mut Done,
        run: usize,
        observer: &Observer<'_>,
    ) -> Result<Fitted, ClusterError> {
        let (n_clusters, seed, begun) = (done.n_clusters, done.seed_of(run), done.last.get(&run));
        let begun = begun.cloned();
        let within = Within { observer, done: Mutex::new(&mut *done), run };
        let observer = observer.keeping(&within);
        let fitted = match begun {
            Some(checkpoint) => self.method.resume(&checkpoint, data, &observer),
            None => self.method.fit(data, n_clusters, seed, &observer),
        };
        fitted.map_err(|error| match error {
            ClusterError::Interrupted { checkpoint } => {
                done.last.extend(checkpoint.map(|checkpoint| (run, checkpoint)));
                done.checkpoint().map_or_else(|e| e, interrupted)
            }
            error => error,
        })
    }
}

fn interrupted(checkpoint: Vec<u8>) -> ClusterError {
    ClusterError::Interrupted { checkpoint: Some(checkpoint) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_core::{Clustering, Step};
    use cdimc_data::SyntheticViews;
    use std::ops::ControlFlow;

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
    fn a_run_that_won_in_an_earlier_sitting_goes_on_from_its_last_checkpoint() {
        let (_, data, truth) = lucky(1, 0);
        let settings = serde_json::json!({
            "neighbors": 3, "architecture": { "wide": 8 }, "pretrain": { "epochs": 6 },
            "finetune": { "rounds": 3, "minimum-rounds": 3, "epochs-per-round": 1 },
        });
        let method = || crate::method("cdimc-net", settings.clone()).unwrap();
        let restarts = Restarts { method: method(), runs: 2 };
        let k = n_classes(&truth);
        let whole = restarts.fit(&data, k, Seed::new(1), &Observer::silent()).unwrap().clustering;
        // Killed at the end of the second run, and interrupted while the winner ends once more.
        let kept = Last::default();
        let stop = |step: &Step| match step.stage {
            "restarts" if step.done == 2 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let observer = Observer::new(&stop);
        assert!(restarts.fit(&data, k, Seed::new(1), &observer.keeping(&kept)).is_err());
        let last = kept.0.into_inner().unwrap();
        let stages = Mutex::new(Vec::new());
        let note = |step: &Step| {
            stages.lock().unwrap().push((step.stage, step.done));
            ControlFlow::Continue(())
        };
        let resumed = restarts.resume(&last, &data, &Observer::new(&note)).unwrap();
        assert_eq!(resumed.clustering, whole);
        // Its last checkpoint was that of its last step.
        assert_eq!(stages.into_inner().unwrap(), []);
        let without = Archive::from_bytes(KIND, &last).unwrap().description::<Done>().unwrap();
        let stop = |step: &Step| match (step.stage, step.done) {
            ("pretrain", 4) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let stopped = restarts.resume(&without.checkpoint().unwrap(), &data, &Observer::new(&stop));
        let Err(ClusterError::Interrupted { checkpoint: Some(checkpoint) }) = stopped else {
            panic!("{stopped:?}");
        };
        let resumed = restarts.resume(&checkpoint, &data, &Observer::silent()).unwrap();
        assert_eq!(resumed.clustering, whole);
    }

    /// Keeps the last of all checkpoints.
    #[derive(Default)]
    struct Last(Mutex<Vec<u8>>);

    impl Checkpoints for Last {
        fn is_due(&self) -> bool {
            true
        }

        fn keep(&self, checkpoint: Vec<u8>) {
            *self.0.lock().unwrap() = checkpoint;
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
