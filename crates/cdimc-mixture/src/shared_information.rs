//! Shared information of views under labels from any method: T after one M step (specification, section 4).

use crate::choice::candidates;
use crate::coordinates::{Views, Width};
use crate::criterion;
use crate::model::Prior;
use crate::observations::Observations;
use crate::responsibilities::Responsibilities;
use crate::settings::TMixture;
use cdimc_core::{ClusterError, SharedInformation};
use cdimc_data::MultiView;

impl TMixture {
    /// Returns an evaluator of T for labels of the samples of `data` in `n_clusters` clusters; with `auto`
    /// coordinates, T of the kind with the most shared information.
    ///
    /// # Errors
    /// If the views have no coordinates.
    pub fn shared_information(
        &self,
        data: &MultiView,
        n_clusters: usize,
    ) -> Result<Box<dyn SharedInformation>, ClusterError> {
        let views = Views::of(data, data);
        let width = Width::by_centers(self.dimensions, n_clusters);
        let of_kind = |kind| Ok(views.coordinates(kind, width)?.1);
        let observations = candidates(self, &views).into_iter().map(of_kind);
        Ok(Box::new(LabelInformation {
            observations: observations.collect::<Result<_, ClusterError>>()?,
            prior: self.priors()[0],
            n_clusters,
        }))
    }
}

/// Observations in each candidate kind of coordinates.
pub(crate) struct LabelInformation {
    pub(crate) observations: Vec<Observations>,
    pub(crate) prior: Prior,
    pub(crate) n_clusters: usize,
}

impl SharedInformation for LabelInformation {
    /// The terms of T in the kind of coordinates with the largest T.
    fn terms(&self, labels: &[usize]) -> Vec<f64> {
        let responsibilities = Responsibilities::from_labels(labels, self.n_clusters);
        let under = |observations| criterion::terms(observations, &responsibilities, &self.prior);
        let most = self.observations.iter().map(under);
        let most = most.max_by(|(_, a), (_, b)| a.information.total_cmp(&b.information));
        most.map_or_else(Vec::new, |(terms, _)| terms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_data::{Seed, SyntheticViews};

    #[test]
    fn views_share_more_under_the_truth_than_under_chance() {
        let views = SyntheticViews { n_samples: 240, ..SyntheticViews::default() };
        let dataset = views.generate(Seed::new(2)).unwrap();
        let truth = dataset.labels().unwrap().to_vec();
        let n_clusters = dataset.n_classes();
        let data = MultiView::from_nan_rows(dataset.views().to_vec()).unwrap();
        let chance: Vec<usize> = (0..240).map(|i| (i * 7 + i / 11) % n_clusters).collect();
        let shared = TMixture::default().shared_information(&data, n_clusters).unwrap();
        let [of_truth, of_chance] = [&truth, &chance].map(|labels| shared.of(labels));
        assert!(of_truth > of_chance + 0.2, "{of_truth} and {of_chance}");
        // One moved sample is not significant.
        let mut nearly = truth.clone();
        nearly[0] = (nearly[0] + 1) % n_clusters;
        assert!(shared.of(&nearly) != of_truth);
        for (a, b, is_more) in [(&truth, &chance, true), (&chance, &truth, false)] {
            assert_eq!(shared.is_more(a, b), is_more);
        }
        assert!(!shared.is_more(&truth, &nearly) && !shared.is_more(&nearly, &truth));
        assert!(!shared.is_more(&truth, &truth));
    }
}
