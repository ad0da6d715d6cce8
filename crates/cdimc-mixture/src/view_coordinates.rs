//! The coordinates of the mixture, for methods that train on them or choose by what the views share in them.

use crate::archive::{projection_of, put_projection};
use crate::choice::choose;
use crate::coordinates::{Kind, observe, projection::Projection};
use crate::pilot::Views;
use crate::settings::TMixture;
use crate::shared_information::SharedUnderLabels;
use cdimc_core::archive::Archive;
use cdimc_core::{ClusterError, Observer, SharedInformation};
use cdimc_data::{Matrix, MultiView, Seed};
use ndarray::{Array2, s};

/// Maps the rows of every view to its leading coordinates.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewCoordinates {
    projections: Vec<Projection>,
}

impl TMixture {
    /// Returns coordinates of the kind under which the views share most, by the searches that precede a fit
    /// (specification, sections 1 and 4); at most [`TMixture::dimensions`] per view.
    ///
    /// # Errors
    /// If a decomposition does not converge, or `observer` stops the search.
    pub fn view_coordinates(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &Observer<'_>,
    ) -> Result<ViewCoordinates, ClusterError> {
        // The shape of the clusters is not needed, only the kind of coordinates.
        let prior = self.priors()[0];
        let settings =
            Self { pooling: Some(prior.kappa), diagonal: Some(prior.diagonal), ..self.clone() };
        let chosen = choose(&settings, &Views::of(data, data), n_clusters, seed, observer)?;
        Ok(ViewCoordinates { projections: chosen.projections })
    }
}

impl ViewCoordinates {
    /// Kind of the coordinates of every view.
    pub fn kinds(&self) -> Vec<Kind> {
        self.projections.iter().map(|projection| projection.kind).collect()
    }

    /// Number of coordinates of every view.
    pub fn widths(&self) -> Vec<usize> {
        self.projections.iter().map(Projection::width).collect()
    }

    /// Number of columns of every view.
    pub fn n_features(&self) -> Vec<usize> {
        self.projections.iter().map(|projection| projection.means.len()).collect()
    }

    /// Returns the rows of a view that have coordinates: in the kind `unit` a row of zeros has none.
    ///
    /// # Panics
    /// As [`of_rows`](Self::of_rows).
    pub fn with_coordinates(&self, view: usize, rows_of: &Matrix, rows: Vec<usize>) -> Vec<usize> {
        self.projections[view].with_direction(rows_of, rows)
    }

    /// Returns the coordinates of some rows of a view, `(n_rows, n_coordinates)`.
    ///
    /// # Panics
    /// If there is no such view or row, or `rows_of` has another number of columns than the view.
    pub fn of_rows(&self, view: usize, rows_of: &Matrix, rows: &[usize]) -> Array2<f64> {
        let projection = &self.projections[view];
        let mut all = Array2::zeros((rows.len(), projection.width()));
        projection.each_block(rows_of, rows, |start, block| {
            all.slice_mut(s![start..start + block.nrows(), ..]).assign(&block);
        });
        all
    }

    /// Returns T of labelings of the samples of `data` into `n_clusters` clusters, in these coordinates.
    pub fn shared_information(
        &self,
        settings: &TMixture,
        data: &MultiView,
        n_clusters: usize,
    ) -> Box<dyn SharedInformation> {
        Box::new(SharedUnderLabels {
            observations: vec![observe(data, &self.projections)],
            prior: settings.priors()[0],
            n_clusters,
        })
    }

    /// Adds the coordinates of view `v` as arrays `view{v}.*`.
    pub fn put(&self, archive: &mut Archive) {
        for (v, projection) in self.projections.iter().enumerate() {
            put_projection(archive, v, projection);
        }
    }

    /// Reads coordinates of these kinds, one per view, that [`put`](Self::put) added.
    ///
    /// # Errors
    /// If an array is missing or their shapes disagree.
    pub fn read(archive: &Archive, kinds: &[Kind]) -> Result<Self, ClusterError> {
        let read = |(v, &kind)| projection_of(archive, v, kind);
        Ok(Self { projections: kinds.iter().enumerate().map(read).collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_data::SyntheticViews;

    #[test]
    fn coordinates_are_those_of_the_fit_also_after_a_round_trip() {
        let views = SyntheticViews { n_samples: 90, ..SyntheticViews::default() };
        let views = views.generate(Seed::new(1)).unwrap().views().to_vec();
        let data = MultiView::from_nan_rows(views).unwrap();
        let settings = TMixture { starts: 2, refined: 1, ..TMixture::default() };
        let silent = Observer::silent();
        let found = settings.view_coordinates(&data, 4, Seed::new(1), &silent).unwrap();
        let chosen = choose(&settings, &Views::of(&data, &data), 4, Seed::new(1), &silent).unwrap();
        assert_eq!(found.projections, chosen.projections);
        let mut archive = Archive::new("test file", &()).unwrap();
        found.put(&mut archive);
        let bytes = archive.to_bytes().unwrap();
        let archive = Archive::from_bytes("test file", &bytes).unwrap();
        let again = ViewCoordinates::read(&archive, &found.kinds()).unwrap();
        assert_eq!(again, found);
        let z = again.of_rows(0, data.matrix(0), &[3, 5]);
        assert_eq!(z.dim(), (2, found.widths()[0]));
        assert!(
            ViewCoordinates::read(&archive, &[found.kinds(), vec![Kind::Unit]].concat()).is_err()
        );
    }
}
