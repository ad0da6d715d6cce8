//! k-means on every view alone: the candidates of BSV (best single view), and a best view chosen
//! without labels.
//!
//! BSV is compared with in H. Zhao, H. Liu, Y. Fu, "Incomplete multi-modal visual data grouping",
//! IJCAI 2016; steps of Survey_IMC, the code of the CDIMC-net authors (BSV_Concat/BSV.m).

use crate::observed::Observed;
use crate::ranges::at_least_one;
use cdimc_cluster::{ClusterError, Clusterer, Clustering, KMeans, KMeansFit, check_n_clusters};
use cdimc_data::{MultiView, Seed};
use serde::{Deserialize, Serialize};

/// The view whose own k-means separates its observed samples best.
///
/// Each view is clustered alone as in [`single_views`]. The view with the greatest mean simplified
/// silhouette over its observed samples wins; ties go to the first view. Labels play no part, so this
/// is what BSV would be without the truth. Any number of views, any mask.
///
/// The simplified silhouette of a sample is (b - a) / max(a, b), with a its distance to its own
/// center and b that to the nearest other one (Hruschka, de Castro, Campello, ICDM 2004, DOI
/// 10.1109/ICDM.2004.10073): it needs no distances between samples and compares views of any scale.
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
    /// Holds the settings against their ranges.
    ///
    /// # Errors
    /// If a setting is out of range.
    pub fn check(&self) -> Result<(), ClusterError> {
        at_least_one("restarts", self.restarts)
    }
}

impl Clusterer for BestView {
    fn name(&self) -> &'static str {
        "best-view"
    }

    fn cluster(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
    ) -> Result<Clustering, ClusterError> {
        self.check()?;
        check_n_clusters(n_clusters, data.n_samples())?;
        let mut best: Option<(f64, Vec<usize>)> = None;
        for view in 0..data.n_views() {
            let (observed, fit) = fit_view(data, view, n_clusters, self.restarts, seed)?;
            let silhouette = simplified_silhouette(&observed, &fit);
            tracing::debug!(view, silhouette, "clustered one view");
            if best.as_ref().is_none_or(|(most, _)| silhouette > *most) {
                best = Some((silhouette, fit.labels));
            }
        }
        Ok(Clustering::from_labels(best.map(|(_, labels)| labels).unwrap_or_default()))
    }
}

/// k-means on each view alone, one clustering a view.
///
/// Observed rows get unit length and their mean fills the gaps. The best of these by the truth is the
/// baseline BSV, which only an experiment that holds the truth can tell. `restarts` starts of k-means
/// each; the authors' code takes 1.
///
/// # Errors
/// If `n_clusters` is not in `2..=n_samples` or `restarts` is 0.
pub fn single_views(
    data: &MultiView,
    n_clusters: usize,
    restarts: usize,
    seed: Seed,
) -> Result<Vec<Clustering>, ClusterError> {
    check_n_clusters(n_clusters, data.n_samples())?;
    at_least_one("restarts", restarts)?;
    let one = |view| {
        let (_, fit) = fit_view(data, view, n_clusters, restarts, seed)?;
        Ok(Clustering::from_labels(fit.labels))
    };
    (0..data.n_views()).map(one).collect()
}

fn fit_view(
    data: &MultiView,
    view: usize,
    n_clusters: usize,
    restarts: usize,
    seed: Seed,
) -> Result<(Observed, KMeansFit), ClusterError> {
    let observed = Observed::unit(data, view);
    let points = observed.filled(data.n_samples());
    let k_means = KMeans { restarts, ..KMeans::new(n_clusters) };
    let fit = k_means.fit(points.view(), seed.stream("kmeans").nth(view as u64))?;
    Ok((observed, fit))
}

/// The mean simplified silhouette of the observed samples, in [-1, 1]; 0 where all lie in one cluster.
fn simplified_silhouette(observed: &Observed, fit: &KMeansFit) -> f64 {
    let mut used = vec![false; fit.centers.nrows()];
    observed.rows.iter().for_each(|&row| used[fit.labels[row]] = true);
    if used.iter().filter(|&&used| used).count() < 2 {
        return 0.0;
    }
    let mut sum = 0.0;
    for (x, &row) in observed.x.outer_iter().zip(&observed.rows) {
        let (mut own, mut other) = (0.0, f64::INFINITY);
        for (c, center) in fit.centers.outer_iter().enumerate().filter(|&(c, _)| used[c]) {
            let squares: f64 = x.iter().zip(center).map(|(x, c)| (x - c) * (x - c)).sum();
            if c == fit.labels[row] {
                own = squares.sqrt();
            } else {
                other = other.min(squares.sqrt());
            }
        }
        let most = own.max(other);
        sum += if most > 0.0 { (other - own) / most } else { 0.0 };
    }
    sum / observed.rows.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};

    fn noise_and_groups() -> MultiView {
        let noise = Array2::from_shape_fn((12, 2), |(i, j)| ((i * 7 + j * 5) % 11) as f64 + 1.0);
        let groups = Array2::from_shape_fn((12, 2), |(i, j)| {
            let near = if i % 2 == j { 9.0 } else { 1.0 };
            near + 0.01 * i as f64
        });
        MultiView::from_nan_rows(vec![noise, groups]).unwrap()
    }

    #[test]
    fn the_view_with_groups_is_chosen() {
        let data = noise_and_groups();
        let found = BestView::default().cluster(&data, 2, Seed::new(3)).unwrap();
        let each = single_views(&data, 2, 20, Seed::new(3)).unwrap();
        assert_eq!(found, each[1]);
        assert_ne!(found, each[0]);
        assert!((0..12).all(|i| found.labels[i] == found.labels[i % 2]));
    }

    #[test]
    fn one_cluster_for_all_observed_samples_has_silhouette_zero() {
        let data = MultiView::from_nan_rows(vec![array![[1.0], [1.0], [1.0]]]).unwrap();
        let (observed, fit) = fit_view(&data, 0, 2, 1, Seed::new(1)).unwrap();
        assert_eq!(simplified_silhouette(&observed, &fit), 0.0);
    }
}
