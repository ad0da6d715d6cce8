//! Coordinates of the mixture, for methods that train on them or select by their shared information.

use crate::archive::{projection_of, put_projection};
use crate::choice::choose;
use crate::coordinates::{Kind, Views, observe, projection::Projection};
use crate::model::Prior;
use crate::settings::TMixture;
use crate::shared_information::LabelInformation;
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
        Self { dimensions: max_width, ..self.clone() }.shared_information(data, n_clusters)
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

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_core::Silent;
    use cdimc_data::SyntheticViews;

    #[test]
    fn coordinates_are_those_of_the_fit_also_after_a_round_trip() {
        let views = SyntheticViews { n_samples: 90, ..SyntheticViews::default() };
        let views = views.generate(Seed::new(1)).unwrap().views().to_vec();
        let data = MultiView::from_nan_rows(views).unwrap();
        let settings = TMixture { starts: 2, ..TMixture::default() };
        let size = AnalysisSize { n_clusters: 4, max_width: settings.dimensions };
        let silent = Silent;
        let found = settings.coordinates(&data, size, Seed::new(1), &silent).unwrap();
        let bytes = |coordinates: &dyn ViewCoordinates| {
            let mut archive = Archive::new("test file", &()).unwrap();
            coordinates.put(&mut archive);
            archive.to_bytes().unwrap()
        };
        let chosen = choose(&settings, &Views::of(&data, &data), 4, Seed::new(1), &silent).unwrap();
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
    fn an_analysis_equals_another_with_its_settings() {
        let analysis = |dimensions| -> Box<dyn ViewAnalysis> {
            Box::new(TMixture { dimensions, ..TMixture::default() })
        };
        assert!(*analysis(20) == *analysis(20) && *analysis(20) != *analysis(30));
    }
}
