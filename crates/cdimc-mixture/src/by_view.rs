//! Views by themselves: the contribution of each to every cluster, and the clusters by each view alone.

use crate::criterion::each_contribution;
use crate::fitted::FittedMixture;
use cdimc_core::Model;
use ndarray::Array2;

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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TMixture;
    use cdimc_core::Silent;
    use cdimc_data::{MultiView, Seed};
    use rand::Rng;

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
