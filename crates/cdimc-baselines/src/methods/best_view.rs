//! k-means on every single view: the candidates of BSV (best single view), and a best view chosen without labels.
//!
//! Source of BSV: H. Zhao, H. Liu, Y. Fu, "Incomplete multi-modal visual data grouping", IJCAI 2016; steps of
//! Survey_IMC, the code of the CDIMC-net authors (`BSV_Concat/BSV.m`).

use crate::shared::clusters_of_rows::ReadOut;
use crate::shared::observed_rows::Observed;
use crate::shared::settings::{counts, settings};
use cdimc_core::{ClusterError, Clusterer, Clustering, Fitted, Observer, Silent};
use cdimc_data::{MultiView, Seed, ViewMask};
use std::collections::BTreeMap;

/// Scores that differ by less are equal; the difference is rounding.
const SCORE_TOLERANCE: f64 = 1e-9;

settings! {
    /// Clusters the view whose clusters agree best with the other views.
    ///
    /// Each view is clustered as in [`BestView::each_view`]. The agreement of two views is the normalized mutual
    /// information (arithmetic mean) of their clusters over the samples that both observe. The view with the largest
    /// mean agreement is chosen. Ties, as between two views, are broken by the agreement of a view's clusters with a
    /// second k-means from other starts, then by order. A view with all samples in one cluster is chosen only if all
    /// views are such. Labels are not used. Any number of views, any mask.
    ///
    /// On five folds of Handwritten this chose the most accurate view each time; the silhouette prefers an inaccurate
    /// view there.
    pub struct BestView {
        /// Number of k-means starts; the best is kept. The authors' code uses 1.
        pub restarts: usize = 20,
    }
}

impl BestView {
    /// Returns a k-means clustering of each single view.
    ///
    /// Observed rows are scaled to unit length, and their mean fills the gaps. The baseline BSV is the best of these by
    /// the true labels, which only an experiment has.
    ///
    /// # Errors
    /// If there are fewer samples than clusters, or `observer` stops it.
    pub fn each_view(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Vec<Clustering>, ClusterError> {
        let one = |view| {
            observer.step("views", view, data.n_views(), None)?;
            self.cluster_view(data, view, n_clusters, seed.stream("kmeans"))
        };
        (0..data.n_views()).map(one).collect()
    }

    fn cluster_view(
        &self,
        data: &MultiView,
        view: usize,
        n_clusters: usize,
        seed: Seed,
    ) -> Result<Clustering, ClusterError> {
        let points = Observed::unit(data, view).filled(data.n_samples());
        let (seed, restarts) = (seed.nth(view as u64), self.restarts);
        ReadOut { n_clusters, restarts, seed, observer: &Silent }.rows(&points)
    }
}

impl Clusterer for BestView {
    fn name(&self) -> &'static str {
        "best-view"
    }

    fn check(&self) -> Result<(), ClusterError> {
        counts(&[], self.restarts)
    }

    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Fitted, ClusterError> {
        let mut each = self.each_view(data, n_clusters, seed, observer)?;
        let grouped: Vec<usize> =
            (0..each.len()).filter(|&view| is_grouped(data.mask(), view, &each[view])).collect();
        // If no view has several clusters, return the first.
        let grouped = if grouped.is_empty() { vec![0] } else { grouped };
        let agreement = |&view: &usize| mean_agreement(data.mask(), &each, view);
        let agreements: Vec<f64> = grouped.iter().map(agreement).collect();
        tracing::debug!(views = ?grouped, ?agreements, "clustered single views");
        let mut best = with_largest_score(&grouped, &agreements);
        if best.len() > 1 {
            let mut lasting = Vec::with_capacity(best.len());
            for (done, &view) in best.iter().enumerate() {
                observer.step("ties", done, best.len(), None)?;
                let again =
                    self.cluster_view(data, view, n_clusters, seed.stream("kmeans again"))?;
                lasting.push(agreement_of(data.mask(), [(view, &each[view]), (view, &again)]));
            }
            best = with_largest_score(&best, &lasting);
        }
        Ok(each.swap_remove(best[0]).into())
    }
}

/// Returns whether the samples observed in `view` have more than one cluster.
fn is_grouped(mask: &ViewMask, view: usize, found: &Clustering) -> bool {
    let mut labels = mask.observed_rows(view).into_iter().map(|i| found.labels[i]);
    let first = labels.next();
    labels.any(|label| Some(label) != first)
}

/// Returns the `views` with the largest score, up to rounding, in their order.
fn with_largest_score(views: &[usize], scores: &[f64]) -> Vec<usize> {
    let greatest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let most = views.iter().zip(scores).filter(|(_, score)| **score >= greatest - SCORE_TOLERANCE);
    most.map(|(&view, _)| view).collect()
}

/// Returns the mean agreement of `view` with the other views, in [0, 1].
fn mean_agreement(mask: &ViewMask, each: &[Clustering], view: usize) -> f64 {
    let agreement = |other: usize| agreement_of(mask, [(view, &each[view]), (other, &each[other])]);
    let others: Vec<f64> = (0..each.len()).filter(|&v| v != view).map(agreement).collect();
    if others.is_empty() { 0.0 } else { others.iter().sum::<f64>() / others.len() as f64 }
}

/// Returns the agreement of two clusterings of single views over the samples that both views observe.
fn agreement_of(mask: &ViewMask, [(a, of_a), (b, of_b)]: [(usize, &Clustering); 2]) -> f64 {
    let both: Vec<(usize, usize)> = (0..mask.n_samples())
        .filter(|&i| mask.is_observed(i, a) && mask.is_observed(i, b))
        .map(|i| (of_a.labels[i], of_b.labels[i]))
        .collect();
    mutual_information(&both)
}

/// Returns the mutual information divided by the mean entropy, or 0 if both entropies are 0.
fn mutual_information(pairs: &[(usize, usize)]) -> f64 {
    let n = pairs.len() as f64;
    let entropy = |key: fn(&(usize, usize)) -> (usize, usize)| {
        let mut counts = BTreeMap::<_, usize>::new();
        pairs.iter().for_each(|pair| *counts.entry(key(pair)).or_default() += 1);
        let share = |&count: &usize| count as f64 / n;
        -counts.values().map(share).map(|p| p * p.ln()).sum::<f64>()
    };
    let (first, second) = (entropy(|pair| (pair.0, 0)), entropy(|pair| (pair.1, 0)));
    let joint = entropy(|pair| *pair);
    if first + second > 0.0 { 2.0 * (first + second - joint) / (first + second) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;
    use rand::Rng;

    /// Returns four groups along different axes.
    fn groups() -> Array2<f64> {
        Array2::from_shape_fn((120, 4), |(i, j)| {
            if i % 4 == j { 9.0 } else { 1.0 + 0.01 * ((i * 7 + j) % 5) as f64 }
        })
    }

    /// Asserts that `groups` is chosen over `other`, in either order.
    fn assert_groups_are_chosen_over(other: &Array2<f64>) {
        for views in [vec![other.clone(), groups()], vec![groups(), other.clone()]] {
            let data = MultiView::from_nan_rows(views).unwrap();
            let labels = BestView::default().cluster(&data, 4, Seed::new(3)).unwrap().labels;
            assert!((0..120).all(|i| labels[i] == labels[i % 4]));
            assert!((1..4).all(|i| !labels[..i].contains(&labels[i])));
        }
    }

    fn noise() -> Array2<f64> {
        let mut rng = Seed::new(4).rng();
        Array2::from_shape_simple_fn((120, 20), || rng.gen_range(0.0..1.0))
    }

    #[test]
    fn the_more_reproducible_of_two_views_is_chosen() {
        assert_groups_are_chosen_over(&noise());
    }

    #[test]
    fn a_view_of_equal_rows_is_not_chosen_beside_another() {
        let mut equal = Array2::from_elem((120, 3), 0.1);
        for i in (0..120).step_by(5) {
            equal.row_mut(i).fill(f64::NAN);
        }
        assert_groups_are_chosen_over(&equal);
    }

    #[test]
    fn a_view_that_agrees_with_another_is_chosen() {
        let views = vec![noise(), groups(), groups().mapv(f64::sqrt)];
        let data = MultiView::from_nan_rows(views).unwrap();
        let found = BestView::default().cluster(&data, 4, Seed::new(3)).unwrap();
        let each = BestView::default().each_view(&data, 4, Seed::new(3), &Silent).unwrap();
        assert!(found == each[1] || found == each[2]);
        assert_ne!(found.labels, each[0].labels);
        assert!((0..120).all(|i| found.labels[i] == found.labels[i % 4]));
    }

    #[test]
    fn mutual_information_ignores_the_numbers_of_clusters() {
        assert_eq!(mutual_information(&[(0, 1), (1, 0), (0, 1), (1, 0)]), 1.0);
        assert!(mutual_information(&[(0, 0), (0, 1), (1, 0), (1, 1)]).abs() < 1e-15);
        assert_eq!(mutual_information(&[(0, 0), (0, 0)]), 0.0);
        assert_eq!(mutual_information(&[]), 0.0);
    }
}
