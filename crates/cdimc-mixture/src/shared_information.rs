//! What views share under clusters that any method found: T after one M step from their labels (specification,
//! section 4).

use crate::choice::candidates;
use crate::coordinates::profile::ColumnProfile;
use crate::coordinates::{self, Width, kinds_of_views};
use crate::criterion;
use crate::model::Prior;
use crate::observations::Observations;
use crate::responsibilities::Responsibilities;
use crate::settings::TMixture;
use cdimc_core::{ClusterError, SharedInformation};
use cdimc_data::MultiView;

impl TMixture {
    /// What tells T of labelings of the samples of `data` into `n_clusters` clusters. Where coordinates are `auto`, it
    /// is that of the kind under which the views share most.
    ///
    /// # Errors
    /// If the views have no coordinates.
    pub fn shared_information(
        &self,
        data: &MultiView,
        n_clusters: usize,
    ) -> Result<Box<dyn SharedInformation>, ClusterError> {
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

impl SharedInformation for OnCoordinates {
    fn of(&self, labels: &[usize]) -> f64 {
        let responsibilities = Responsibilities::from_labels(labels, self.n_clusters);
        let under = |observations| {
            criterion::shared_information(observations, &responsibilities, &self.prior).information
        };
        self.observations.iter().map(under).fold(f64::NEG_INFINITY, f64::max)
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
        let [of_truth, of_chance] = [truth, chance].map(|labels| shared.of(&labels));
        assert!(of_truth > of_chance + 0.2, "{of_truth} and {of_chance}");
    }
}
