//! Coordinates of the mixture, for methods that train on them or select by their shared information.

use crate::archive::{projection_of, put_projection};
use crate::choice::{candidates, choose};
use crate::coordinates::{Kind, Views, Width, observe, projection::Projection};
use crate::criterion;
use crate::model::Prior;
use crate::observations::Observations;
use crate::responsibilities::Responsibilities;
use crate::settings::TMixture;
use cdimc_core::archive::Archive;
use cdimc_core::{
    AnalysisSize, ClusterError, Observer, SharedInformation, ViewAnalysis, ViewCoordinates,
};
use cdimc_data::{Matrix, MultiView, Seed};
use ndarray::Array2;
use serde_json::{Value, json};
use std::sync::Arc;

/// Projections of all views.
#[derive(Debug)]
struct Projections {
    of_views: Vec<Projection>,
    /// Prior for shared information.
    prior: Prior,
}

/// Coordinates of the kind with the most shared information, by the searches that precede a fit (specification, sections
/// 1 and 4).
impl ViewAnalysis for TMixture {
    fn coordinates(
        &self,
        data: &MultiView,
        AnalysisSize { n_clusters, max_width }: AnalysisSize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Arc<dyn ViewCoordinates>, ClusterError> {
        // Only the kind of coordinates is needed, not the cluster shapes.
        let prior = self.priors()[0];
        let (pooling, diagonal) = (Some(prior.kappa), Some(prior.diagonal));
        let settings = Self { dimensions: max_width, pooling, diagonal, ..self.clone() };
        let chosen = choose(&settings, &Views::of(data, data), n_clusters, seed, observer)?;
        Ok(Arc::new(Projections { of_views: chosen.pilot.projections, prior }))
    }

    fn information(
        &self,
        data: &MultiView,
        AnalysisSize { n_clusters, max_width }: AnalysisSize,
    ) -> Result<Box<dyn SharedInformation>, ClusterError> {
        let views = Views::of(data, data);
        let width = Width::by_centers(max_width, n_clusters);
        let of_kind = |kind| Ok(views.coordinates(kind, width)?.1);
        let observations = candidates(self, &views).into_iter().map(of_kind);
        let observations = observations.collect::<Result<Vec<_>, ClusterError>>()?;
        Ok(Box::new(LabelInformation { observations, prior: self.priors()[0], n_clusters }))
    }

    fn read_coordinates(
        &self,
        archive: &Archive,
        kinds: &Value,
    ) -> Result<Arc<dyn ViewCoordinates>, ClusterError> {
        let kinds: Vec<Kind> = serde_json::from_value(kinds.clone())
            .map_err(|error| ClusterError::Model(format!("kinds of coordinates: {error}")))?;
        let read = |(v, &kind)| projection_of(archive, v, kind);
        let of_views = kinds.iter().enumerate().map(read).collect::<Result<_, _>>()?;
        Ok(Arc::new(Projections { of_views, prior: self.priors()[0] }))
    }
}

impl ViewCoordinates for Projections {
    fn kinds(&self) -> Value {
        self.of_views.iter().map(|projection| json!(projection.kind)).collect()
    }

    fn n_features(&self) -> Vec<usize> {
        self.of_views.iter().map(|projection| projection.means.len()).collect()
    }

    fn widths(&self) -> Vec<usize> {
        self.of_views.iter().map(Projection::width).collect()
    }

    /// In `unit`, rows of zeros have no coordinates.
    fn with_coordinates(&self, view: usize, rows_of: &Matrix, rows: Vec<usize>) -> Vec<usize> {
        self.of_views[view].nonzero_rows(rows_of, rows)
    }

    fn of_rows(&self, view: usize, rows_of: &Matrix, rows: &[usize]) -> Array2<f64> {
        self.of_views[view].of_rows(rows_of, rows)
    }

    fn shared_information(
        &self,
        data: &MultiView,
        n_clusters: usize,
    ) -> Box<dyn SharedInformation> {
        let observations = vec![observe(data, &self.of_views)];
        Box::new(LabelInformation { observations, prior: self.prior, n_clusters })
    }

    fn put(&self, archive: &mut Archive) {
        for (v, projection) in self.of_views.iter().enumerate() {
            put_projection(archive, v, projection);
        }
    }
}

/// Observations in each candidate kind of coordinates.
struct LabelInformation {
    observations: Vec<Observations>,
    prior: Prior,
    n_clusters: usize,
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
    use crate::test_data::{complete, synthetic};
    use cdimc_core::Silent;

    #[test]
    fn coordinates_are_those_of_the_fit_also_after_a_round_trip() {
        let data = complete(synthetic(90, 1).views());
        let settings = TMixture { starts: 2, ..TMixture::default() };
        let size = AnalysisSize { n_clusters: 4, max_width: settings.dimensions };
        let found = settings.coordinates(&data, size, Seed::new(1), &Silent).unwrap();
        let bytes = |coordinates: &dyn ViewCoordinates| {
            let mut archive = Archive::new("test file", &()).unwrap();
            coordinates.put(&mut archive);
            archive.to_bytes().unwrap()
        };
        let chosen = choose(&settings, &Views::of(&data, &data), 4, Seed::new(1), &Silent).unwrap();
        let prior = settings.priors()[0];
        let of_fit = Projections { of_views: chosen.pilot.projections, prior };
        assert_eq!((bytes(&*found), found.kinds()), (bytes(&of_fit), of_fit.kinds()));
        let archive = Archive::from_bytes("test file", &bytes(&*found)).unwrap();
        let again = settings.read_coordinates(&archive, &found.kinds()).unwrap();
        assert_eq!(format!("{again:?}"), format!("{found:?}"));
        let z = again.of_rows(0, data.matrix(0), &[3, 5]);
        assert_eq!(z.dim(), (2, found.widths()[0]));
        for kinds in [json!(["unit", "unit", "unit", "unit", "unit"]), json!(["none"])] {
            assert!(settings.read_coordinates(&archive, &kinds).is_err());
        }
    }

    #[test]
    fn views_share_more_under_the_truth_than_under_chance() {
        let dataset = synthetic(240, 2);
        let truth = dataset.labels().unwrap().to_vec();
        let n_clusters = dataset.n_classes();
        let data = complete(dataset.views());
        let chance: Vec<usize> = (0..240).map(|i| (i * 7 + i / 11) % n_clusters).collect();
        let settings = TMixture::default();
        let size = AnalysisSize { n_clusters, max_width: settings.dimensions };
        let shared = settings.information(&data, size).unwrap();
        let [of_truth, of_chance] = [&truth, &chance].map(|labels| shared.of(labels));
        assert!(of_truth > of_chance + 0.2, "{of_truth} and {of_chance}");
        // One moved sample is not significant.
        let mut nearly = truth.clone();
        nearly[0] = (nearly[0] + 1) % n_clusters;
        assert!(shared.of(&nearly) != of_truth);
        assert!(shared.is_more(&truth, &chance) && !shared.is_more(&chance, &truth));
        assert!(!shared.is_more(&truth, &nearly) && !shared.is_more(&nearly, &truth));
        assert!(!shared.is_more(&truth, &truth));
    }

    #[test]
    fn an_analysis_equals_another_with_its_settings() {
        let analysis = |dimensions| -> Box<dyn ViewAnalysis> {
            Box::new(TMixture { dimensions, ..TMixture::default() })
        };
        assert!(*analysis(20) == *analysis(20) && *analysis(20) != *analysis(30));
    }
}
