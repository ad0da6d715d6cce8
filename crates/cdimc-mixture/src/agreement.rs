//! How much views agree on clusters that any method found: shared information after one M step from their
//! labels (specification, section 4).

use crate::choice::{candidates, kinds_of_views};
use crate::coordinates::profile::ColumnProfile;
use crate::coordinates::{self, Width};
use crate::criterion::shared_information;
use crate::model::Prior;
use crate::observations::Observations;
use crate::responsibilities::Responsibilities;
use crate::settings::TMixture;
use cdimc_core::{Agreement, ClusterError};
use cdimc_data::MultiView;

impl TMixture {
    /// What tells T of labelings of the samples of `data` into `n_clusters` clusters. Where coordinates are `auto`, it
    /// is that of the kind under which the views share most.
    ///
    /// # Errors
    /// If the views have no coordinates.
    pub fn agreement(
        &self,
        data: &MultiView,
        n_clusters: usize,
    ) -> Result<Box<dyn Agreement>, ClusterError> {
        let profiles = ColumnProfile::of_views(data);
        let width = Width::by_centers(self.dimensions, n_clusters);
        let of_kind = |kind| {
            let kinds = kinds_of_views(kind, &profiles);
            Ok(coordinates::fit(data, &profiles, &kinds, width)?.1)
        };
        let observations = candidates(self, &profiles).into_iter().map(of_kind);
        Ok(Box::new(OnCoordinates {
            observations: observations.collect::<Result<_, ClusterError>>()?,
            prior: self.priors()[0],
            n_clusters,
        }))
    }
}

/// The samples in every kind of coordinates that is a candidate.
struct OnCoordinates {
    observations: Vec<Observations>,
    prior: Prior,
    n_clusters: usize,
}

impl Agreement for OnCoordinates {
    fn shared_information(&self, labels: &[usize]) -> f64 {
        let responsibilities = Responsibilities::from_labels(labels, self.n_clusters);
        let under = |observations| {
            shared_information(observations, &responsibilities, &self.prior).information
        };
        self.observations.iter().map(under).fold(f64::NEG_INFINITY, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_data::{Seed, SyntheticViews};

    #[test]
    fn views_agree_on_the_truth_and_not_on_chance() {
        let views = SyntheticViews { n_samples: 240, ..SyntheticViews::default() };
        let dataset = views.generate(Seed::new(2)).unwrap();
        let truth = dataset.labels().unwrap().to_vec();
        let n_clusters = dataset.n_classes();
        let data = MultiView::from_nan_rows(dataset.views().to_vec()).unwrap();
        let chance: Vec<usize> = (0..240).map(|i| (i * 7 + i / 11) % n_clusters).collect();
        let agreement = TMixture::default().agreement(&data, n_clusters).unwrap();
        let [of_truth, of_chance] =
            [truth, chance].map(|labels| agreement.shared_information(&labels));
        assert!(of_truth > of_chance + 0.2, "{of_truth} and {of_chance}");
    }
}
