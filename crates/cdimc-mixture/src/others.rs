//! Views by themselves: the contribution of each to every cluster, the clusters by each view alone, and the clusters by
//! all views except one, so that this view can be tested against independent clusters.

use crate::criterion::each_contribution;
use crate::fitted::FittedMixture;
use crate::model::passes::expectation;
use crate::search::{self, Search, SearchState};
use cdimc_core::{ClusterError, Model, Observer, Step};
use cdimc_data::Seed;
use ndarray::Array2;

/// Starts of the search on the other views, and how many run to the end of EM.
const EFFORT: (usize, usize) = (4, 2);
/// Minimum number of samples per cluster.
const MIN_SAMPLES_PER_CLUSTER: usize = 2;

impl FittedMixture {
    /// Returns the shared information of every view with the others in every cluster, `(n_views, n_clusters)`: the
    /// mean of `log p(all views) - log p(this view) - log p(the others)` in nats; NaN without samples that have the
    /// view and another.
    ///
    /// The value is -log w if all views separate a cluster of weight w, 0 if this view does not, and negative if it
    /// contradicts the others.
    pub fn contributions_by_cluster(&self) -> Array2<f64> {
        let mut sums = Array2::<f64>::zeros((self.observations.n_views(), self.n_clusters()));
        let mut counts = sums.clone();
        each_contribution(&self.observations, &self.model.mixture, |v, i, nats| {
            sums[[v, self.labels[i]]] += nats;
            counts[[v, self.labels[i]]] += 1.0;
        });
        sums / counts
    }

    /// Returns for each view the clusters by this view alone, of the samples that have it.
    pub fn labels_by_view(&self) -> Vec<Vec<Option<usize>>> {
        let of_view = |v: usize| {
            let one = self.observations.without_rows(|_, w| w != v);
            let all = self.model.responsibilities(&one).labels();
            let mut labels = vec![None; all.len()];
            one.each_row(v, |i, _| labels[i] = Some(all[i]));
            labels
        };
        (0..self.observations.n_views()).map(of_view).collect()
    }

    /// Returns for each view the clusters by the other views, in any order of numbers; `None` for a sample without
    /// another view, and for all samples if these are too few. Returns `None` for a single view.
    ///
    /// The search is new: one that began at the clusters of all views would stay near them, and the view would be
    /// tested against its own clusters.
    ///
    /// # Errors
    /// If the observer stops the run.
    pub fn labels_by_others(
        &self,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Option<Vec<Vec<Option<usize>>>>, ClusterError> {
        let (n, n_views) = (self.observations.n_samples, self.observations.n_views());
        if n_views < 2 {
            return Ok(None);
        }
        let fits = |labels: &Vec<Option<usize>>| {
            labels.len() == n && labels.iter().flatten().all(|&label| label < self.n_clusters())
        };
        let without = |v: usize| {
            observer.part(("without view", v), fits, || self.labels_without_view(v, seed, observer))
        };
        (0..n_views).map(without).collect::<Result<Vec<_>, _>>().map(Some)
    }

    /// Returns the clusters without view `v`.
    fn labels_without_view(
        &self,
        v: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Vec<Option<usize>>, ClusterError> {
        let (observations, settings) = (&self.observations, &self.model.settings);
        let (n, n_views, k) = (observations.n_samples, observations.n_views(), self.n_clusters());
        let others = observations.clone().without_view(v);
        let samples = others.samples_with_views(0);
        let mut labels = vec![None; n];
        if samples.len() < MIN_SAMPLES_PER_CLUSTER * k {
            return Ok(labels);
        }
        let others = others.select(&samples);
        let seed = seed.stream("other views").nth(v as u64);
        let searched = seed.stream("samples").subset(others.n_samples, settings.search_samples);
        let search = Search {
            observations: &others.select(&searched),
            prior: &self.model.prior(),
            n_clusters: k,
            effort: EFFORT,
            seed,
        };
        let report = |step: &Step| {
            observer.on_step(&Step { stage: "other views", done: v, of: n_views, ..*step })
        };
        let mut state = SearchState::default();
        search.run_starts(&mut state, &report)?;
        let best = search::best(state.into_optima());
        let (responsibilities, ..) = expectation(&others, &best.fit.mixture);
        for (&i, label) in samples.iter().zip(responsibilities.labels()) {
            labels[i] = Some(label);
        }
        Ok(labels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TMixture;
    use cdimc_core::Silent;
    use cdimc_data::MultiView;
    use rand::Rng;

    #[test]
    fn clusters_without_a_view_match_the_other_views() {
        let (n, mut rng) = (120, Seed::new(2).rng());
        let mut view = |group: fn(usize) -> usize| {
            Array2::from_shape_fn((n, 4), |(i, _)| 6.0 * group(i) as f64 + rng.gen_range(-1.0..1.0))
        };
        // Two views share a pair of clusters; the third has another.
        let mut views = vec![view(|i| i % 2), view(|i| i % 2), view(|i| i / 60)];
        for v in [0, 1] {
            views[v].row_mut(7).fill(f64::NAN);
        }
        let data = MultiView::from_nan_rows(views).unwrap();
        let settings = TMixture { starts: 4, ..TMixture::default() };
        let (model, _) = settings.train(&data, 2, Seed::new(1), &Silent).unwrap();
        let found = model.labels_by_others(Seed::new(1), &Silent).unwrap().unwrap();
        let without_third = &found[2];
        assert_eq!(without_third[7], None, "it has no other view");
        let pair = [without_third[0].unwrap(), without_third[1].unwrap()];
        assert_ne!(pair[0], pair[1]);
        let right = (0..n).filter(|&i| without_third[i] == Some(pair[i % 2])).count();
        assert_eq!(right, n - 1);
        let one = MultiView::from_nan_rows(vec![data.view(2).to_owned()]).unwrap();
        let (model, _) = settings.train(&one, 2, Seed::new(1), &Silent).unwrap();
        assert_eq!(model.labels_by_others(Seed::new(1), &Silent).unwrap(), None);
    }

    #[test]
    fn a_view_contributes_to_the_clusters_that_it_separates() {
        let mut rng = Seed::new(4).rng();
        let n = 150;
        // The first view separates all three clusters, the second only the last, and the third no cluster.
        let mut view = |center: fn(usize) -> f64| {
            Array2::from_shape_fn((n, 4), |(i, _)| center(i % 3) + rng.gen_range(-1.0..1.0))
        };
        let views =
            vec![view(|c| 5.0 * c as f64), view(|c| if c == 2 { 5.0 } else { 0.0 }), view(|_| 0.0)];
        let data = MultiView::from_nan_rows(views).unwrap();
        let settings = TMixture { starts: 4, ..TMixture::default() };
        let (model, clustering) = settings.train(&data, 3, Seed::new(1), &Silent).unwrap();
        let found = model.contributions_by_cluster();
        let labels = &clustering.labels;
        let by_view = model.labels_by_view();
        let alike = |v: usize| (0..n).filter(|&i| by_view[v][i] == Some(labels[i])).count();
        assert!(alike(0) == n && alike(1) < n, "{} {}", alike(0), alike(1));
        assert!((found[[0, labels[2]]] - 3.0_f64.ln()).abs() < 0.1, "{found}");
        assert!((found[[1, labels[2]]] - 3.0_f64.ln()).abs() < 0.1, "{found}");
        assert!(found[[1, labels[0]]] < 0.7, "{found}");
        assert!(found.row(2).iter().all(|x| x.abs() < 0.3), "{found}");
        let all = labels.iter().map(|&c| found[[0, c]]).sum::<f64>() / n as f64;
        let contribution = model.model.findings.contributions[0].shared_information.unwrap();
        assert!((all - contribution).abs() < 1e-9);
    }
}
