//! k-means on every view alone: the candidates of BSV (best single view), and a best view chosen
//! without labels.
//!
//! BSV is compared with in H. Zhao, H. Liu, Y. Fu, "Incomplete multi-modal visual data grouping",
//! IJCAI 2016; steps of Survey_IMC, the code of the CDIMC-net authors (`BSV_Concat/BSV.m`).

use crate::shared::clusters_of_rows::ReadOut;
use crate::shared::observed_rows::Observed;
use crate::shared::refusals::counts;
use cdimc_core::{ClusterError, Clusterer, Clustering, Fitted, Observer, Silent};
use cdimc_data::{MultiView, Seed, ViewMask};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Agreements that differ by less are equal but for rounding.
const ROUNDING: f64 = 1e-9;

/// The view whose own clusters agree best with those of the other views.
///
/// Each view is clustered alone as in [`BestView::each_view`]. The agreement of two views is the normalized
/// mutual information (arithmetic mean) of their clusters over the samples that both observe; the
/// view with the greatest mean agreement with the others wins. Two views agree with each other alike: on ties
/// that view wins whose clusters come back from other starts of k-means, by the same measure, and then the
/// first. A view with all its samples in one cluster wins only where all views are so. Labels play no part,
/// so this is what BSV would be without the truth. Any number of views, any mask.
///
/// On five folds of Handwritten this chose the view of the highest accuracy each time; the silhouette
/// prefers a view of low accuracy there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct BestView {
    /// Starts of k-means, of which the best is kept: 20; the authors' code takes 1.
    pub restarts: usize,
}

impl Default for BestView {
    fn default() -> Self {
        Self { restarts: 20 }
    }
}

impl BestView {
    /// k-means on each view alone, one clustering a view.
    ///
    /// Observed rows get unit length and their mean fills the gaps. The best of these by the truth is the
    /// baseline BSV, which takes an experiment that knows the truth.
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
            self.alone(data, view, n_clusters, seed.stream("kmeans"))
        };
        (0..data.n_views()).map(one).collect()
    }

    /// k-means on `view` alone.
    fn alone(
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
        // Where no view is, the first shows that nothing was found.
        let grouped = if grouped.is_empty() { vec![0] } else { grouped };
        let agreement = |&view: &usize| {
            let agreement = mean_agreement(data.mask(), &each, view);
            tracing::debug!(view, agreement, "clustered one view");
            agreement
        };
        let agreements: Vec<f64> = grouped.iter().map(agreement).collect();
        let mut best = with_most(&grouped, &agreements);
        if best.len() > 1 {
            let mut lasting = Vec::with_capacity(best.len());
            for (done, &view) in best.iter().enumerate() {
                observer.step("ties", done, best.len(), None)?;
                let again = self.alone(data, view, n_clusters, seed.stream("kmeans again"))?;
                lasting.push(agreement_of(data.mask(), [(view, &each[view]), (view, &again)]));
            }
            best = with_most(&best, &lasting);
        }
        Ok(each.swap_remove(best[0]).into())
    }
}

/// Whether the samples that `view` observes are in more than one cluster.
fn is_grouped(mask: &ViewMask, view: usize, found: &Clustering) -> bool {
    let mut labels = mask.observed_rows(view).into_iter().map(|i| found.labels[i]);
    let first = labels.next();
    labels.any(|label| Some(label) != first)
}

/// The `views` whose score is the greatest, up to rounding, in their order.
fn with_most(views: &[usize], scores: &[f64]) -> Vec<usize> {
    let greatest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let most = views.iter().zip(scores).filter(|(_, score)| **score >= greatest - ROUNDING);
    most.map(|(&view, _)| view).collect()
}

/// The mean agreement of `view` with every other one, in [0, 1].
fn mean_agreement(mask: &ViewMask, each: &[Clustering], view: usize) -> f64 {
    let agreement = |other: usize| agreement_of(mask, [(view, &each[view]), (other, &each[other])]);
    let others: Vec<f64> = (0..each.len()).filter(|&v| v != view).map(agreement).collect();
    if others.is_empty() { 0.0 } else { others.iter().sum::<f64>() / others.len() as f64 }
}

/// The agreement of two clusterings, each of one view, over the samples that both views observe.
fn agreement_of(mask: &ViewMask, [(a, of_a), (b, of_b)]: [(usize, &Clustering); 2]) -> f64 {
    let both: Vec<(usize, usize)> = (0..mask.n_samples())
        .filter(|&i| mask.is_observed(i, a) && mask.is_observed(i, b))
        .map(|i| (of_a.labels[i], of_b.labels[i]))
        .collect();
    mutual_information(&both)
}

/// Mutual information over the mean of the two entropies; 0 where nothing is shared.
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

    /// Four groups along different axes.
    fn groups() -> Array2<f64> {
        Array2::from_shape_fn((120, 4), |(i, j)| {
            if i % 4 == j { 9.0 } else { 1.0 + 0.01 * ((i * 7 + j) % 5) as f64 }
        })
    }

    /// Asserts that of `groups` and `other`, in either order, the groups are chosen.
    fn assert_groups_are_chosen_beside(other: &Array2<f64>) {
        for views in [vec![other.clone(), groups()], vec![groups(), other.clone()]] {
            let data = MultiView::from_nan_rows(views).unwrap();
            let labels = BestView::default().cluster(&data, 4, Seed::new(3)).unwrap().labels;
            assert!((0..120).all(|i| labels[i] == labels[i % 4]));
            assert!((1..4).all(|i| !labels[..i].contains(&labels[i])));
        }
    }

    #[test]
    fn of_two_views_the_one_whose_clusters_come_back_is_chosen() {
        let mut rng = Seed::new(4).rng();
        let noise = Array2::from_shape_simple_fn((120, 20), || rng.gen_range(0.0..1.0));
        assert_groups_are_chosen_beside(&noise);
    }

    #[test]
    fn a_view_of_equal_rows_is_not_chosen_beside_another() {
        let mut equal = Array2::from_elem((120, 3), 0.1);
        for i in (0..120).step_by(5) {
            equal.row_mut(i).fill(f64::NAN);
        }
        assert_groups_are_chosen_beside(&equal);
    }

    fn noise_and_groups() -> MultiView {
        let groups = |shift: f64| {
            Array2::from_shape_fn((12, 2), |(i, j)| {
                let near = if i % 2 == j { 9.0 } else { 1.0 };
                near + shift * i as f64
            })
        };
        let noise = Array2::from_shape_fn((12, 2), |(i, j)| ((i * 7 + j * 5) % 11) as f64 + 1.0);
        MultiView::from_nan_rows(vec![noise, groups(0.01), groups(0.02)]).unwrap()
    }

    #[test]
    fn a_view_that_agrees_with_another_is_chosen() {
        let data = noise_and_groups();
        let found = BestView::default().cluster(&data, 2, Seed::new(3)).unwrap();
        let each = BestView::default().each_view(&data, 2, Seed::new(3), &Silent).unwrap();
        assert!(found == each[1] || found == each[2]);
        assert_ne!(found.labels, each[0].labels);
        assert!((0..12).all(|i| found.labels[i] == found.labels[i % 2]));
    }

    #[test]
    fn mutual_information_ignores_the_numbers_of_clusters() {
        assert_eq!(mutual_information(&[(0, 1), (1, 0), (0, 1), (1, 0)]), 1.0);
        assert!(mutual_information(&[(0, 0), (0, 1), (1, 0), (1, 1)]).abs() < 1e-15);
        assert_eq!(mutual_information(&[(0, 0), (0, 0)]), 0.0);
        assert_eq!(mutual_information(&[]), 0.0);
    }
}
