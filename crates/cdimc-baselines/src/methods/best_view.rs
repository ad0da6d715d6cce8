//! k-means on every view alone: the candidates of BSV (best single view), and a best view chosen
//! without labels.
//!
//! BSV is compared with in H. Zhao, H. Liu, Y. Fu, "Incomplete multi-modal visual data grouping",
//! IJCAI 2016; steps of Survey_IMC, the code of the CDIMC-net authors (`BSV_Concat/BSV.m`).

use crate::shared::clusters_of_rows::ReadOut;
use crate::shared::observed_rows::Observed;
use cdimc_cluster::{ClusterError, Clusterer, Clustering, Fitted, Observer, check::at_least_one};
use cdimc_data::{MultiView, Seed};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The view whose own clusters agree best with those of the other views.
///
/// Each view is clustered alone as in [`BestView::each_view`]. The agreement of two views is the normalized
/// mutual information (arithmetic mean) of their clusters over the samples that both observe; the
/// view with the greatest mean agreement with the others wins, the first on ties. Labels play no part,
/// so this is what BSV would be without the truth. Any number of views, any mask.
///
/// On five folds of Handwritten this chose the view of the highest accuracy each time; the silhouette
/// prefers a view of low accuracy there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
        observer: &Observer<'_>,
    ) -> Result<Vec<Clustering>, ClusterError> {
        let one = |view| {
            observer.step("views", view, data.n_views(), None)?;
            let points = Observed::unit(data, view).filled(data.n_samples());
            let seed = seed.stream("kmeans").nth(view as u64);
            let observer = Observer::silent();
            ReadOut { n_clusters, restarts: self.restarts, seed, observer }.rows(&points)
        };
        (0..data.n_views()).map(one).collect()
    }
}

impl Clusterer for BestView {
    fn name(&self) -> &'static str {
        "best-view"
    }

    fn check(&self) -> Result<(), ClusterError> {
        at_least_one(&[("restarts", self.restarts)])
    }

    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &Observer<'_>,
    ) -> Result<Fitted, ClusterError> {
        let mut each = self.each_view(data, n_clusters, seed, observer)?;
        let mut best = (f64::NEG_INFINITY, 0);
        for view in 0..each.len() {
            let agreement = mean_agreement(data, &each, view);
            tracing::debug!(view, agreement, "clustered one view");
            // Of two views each agrees as much with the other, up to rounding.
            if agreement > best.0 + 1e-9 {
                best = (agreement, view);
            }
        }
        Ok(each.swap_remove(best.1).into())
    }
}

/// The mean agreement of `view` with every other one, in [0, 1].
fn mean_agreement(data: &MultiView, each: &[Clustering], view: usize) -> f64 {
    let mask = data.mask();
    let agreement = |other: usize| {
        let both: Vec<(usize, usize)> = (0..data.n_samples())
            .filter(|&i| mask.is_observed(i, view) && mask.is_observed(i, other))
            .map(|i| (each[view].labels[i], each[other].labels[i]))
            .collect();
        mutual_information(&both)
    };
    let others: Vec<f64> = (0..each.len()).filter(|&v| v != view).map(agreement).collect();
    if others.is_empty() { 0.0 } else { others.iter().sum::<f64>() / others.len() as f64 }
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
        let each =
            BestView::default().each_view(&data, 2, Seed::new(3), &Observer::silent()).unwrap();
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
