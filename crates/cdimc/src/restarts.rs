//! Several runs of a method, of which that wins on whose clusters the views agree most.
//!
//! A network's loss does not distinguish a good run from a bad one; what its clusters make the views share does,
//! and needs no labels ([`TMixture::shared_information`]).

use cdimc_core::{ClusterError, Clusterer, Cost, Curve, Fitted, Observer};
use cdimc_data::{MultiView, Seed};
use cdimc_mixture::TMixture;

/// The name of the curve that says what the views shared in every run that found clusters.
const CURVE: &str = "shared-information-of-runs";

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
        let (mut found, mut failure) = (Vec::new(), None);
        for run in 0..self.runs {
            let seed = if run == 0 { seed } else { seed.stream("restarts").nth(run as u64) };
            match self.method.fit(data, n_clusters, seed, observer) {
                // A checkpoint of one run says nothing of those before it.
                Err(ClusterError::Interrupted { .. }) => {
                    return Err(ClusterError::Interrupted { checkpoint: None });
                }
                // Chance may spoil a run, and does not spoil the others.
                Err(error @ (ClusterError::Unusable { .. } | ClusterError::Diverged { .. })) => {
                    failure = Some(error);
                }
                fitted => found.push(fitted?),
            }
            observer.step("restarts", run + 1, self.runs, None)?;
        }
        if let (true, Some(error)) = (found.is_empty(), failure) {
            return Err(error);
        }
        let labelings: Vec<Vec<usize>> =
            found.iter().map(|fitted| fitted.clustering.labels.clone()).collect();
        let shared = TMixture::default().shared_information(data, &labelings, n_clusters)?;
        let runs = found.into_iter().zip(&shared);
        let best = runs.reduce(|best, other| if other.1 > best.1 { other } else { best });
        let Some((mut best, _)) = best else {
            return Err(ClusterError::Setting {
                name: "restarts",
                value: self.runs.to_string(),
                rule: "must be at least 1",
            });
        };
        best.clustering.curves.push(Curve { name: CURVE.to_owned(), values: shared });
        Ok(best)
    }

    fn cost(&self, data: &MultiView, n_clusters: usize) -> Option<Cost> {
        let cost = self.method.cost(data, n_clusters)?;
        Some(Cost { operations: cost.operations * self.runs as f64, ..cost })
    }

    fn shortened(&self) -> Option<Box<dyn Clusterer>> {
        self.method.shortened()
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
    fn any_number_of_runs_can_begin() {
        let (restarts, data, truth) = lucky(usize::MAX, 0);
        let stop = |_: &Step| ControlFlow::Break(());
        let observer = Observer::new(&stop);
        let error = restarts.fit(&data, n_classes(&truth), Seed::new(1), &observer).unwrap_err();
        assert!(matches!(error, ClusterError::Interrupted { .. }), "{error}");
    }
}
