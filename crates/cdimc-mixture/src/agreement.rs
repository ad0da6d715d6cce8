//! How much views agree on clusters that any method found: shared information after one M step from their
//! labels (specification, section 4).

use crate::choice::{candidates, kinds_of_views};
use crate::coordinates::profile::ColumnProfile;
use crate::coordinates::{self, Kind, Width};
use crate::criterion::shared_information;
use crate::responsibilities::Responsibilities;
use crate::settings::TMixture;
use cdimc_core::ClusterError;
use cdimc_data::MultiView;

impl TMixture {
    /// T in nats of each of `labelings`: the more, the more the views agree on its clusters. Where coordinates
    /// are `auto`, those of the kind in which the best of them has most; only values of one call may be
    /// compared.
    ///
    /// # Errors
    /// If the views have no coordinates.
    ///
    /// # Panics
    /// If a labeling has not one label below `n_clusters` for every sample.
    pub fn shared_information(
        &self,
        data: &MultiView,
        labelings: &[Vec<usize>],
        n_clusters: usize,
    ) -> Result<Vec<f64>, ClusterError> {
        let (prior, profiles) = (self.priors()[0], ColumnProfile::of_views(data));
        let under = |kind: Kind| -> Result<Vec<f64>, ClusterError> {
            let kinds = kinds_of_views(kind, &profiles);
            let width = Width::by_centers(self.dimensions, n_clusters);
            let (_, observations) = coordinates::fit(data, &profiles, &kinds, width)?;
            let of_labels = |labels: &Vec<usize>| {
                let responsibilities = Responsibilities::from_labels(labels, n_clusters);
                shared_information(&observations, &responsibilities, &prior).information
            };
            Ok(labelings.iter().map(of_labels).collect())
        };
        let all =
            candidates(self, &profiles).into_iter().map(under).collect::<Result<Vec<_>, _>>()?;
        let best = |values: &Vec<f64>| values.iter().copied().fold(f64::MIN, f64::max);
        let most = all.into_iter().reduce(|a, b| if best(&b) > best(&a) { b } else { a });
        Ok(most.unwrap_or_default())
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
        let labelings = [truth, chance];
        let found = TMixture::default().shared_information(&data, &labelings, n_clusters).unwrap();
        assert!(found[0] > found[1] + 0.2, "{found:?}");
    }
}
