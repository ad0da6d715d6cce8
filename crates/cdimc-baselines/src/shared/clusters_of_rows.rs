//! The last step of methods that end in a representation: k-means on its rows.

use super::observed_rows::unit_rows;
use cdimc_core::{
    ClusterError, Clustering, Curve, KMeans, Observer, confidence::margins_of_centers,
};
use cdimc_data::Seed;
use ndarray::Array2;

/// How labels are read from rows: by the best of `restarts` k-means into `n_clusters` clusters.
#[derive(Clone, Copy)]
pub(crate) struct ReadOut<'a> {
    pub(crate) n_clusters: usize,
    pub(crate) restarts: usize,
    pub(crate) seed: Seed,
    pub(crate) observer: &'a dyn Observer,
}

impl<'a> ReadOut<'a> {
    /// By k-means with the method's own stream of its `seed`.
    pub(crate) fn new(
        n_clusters: usize,
        restarts: usize,
        seed: Seed,
        observer: &'a dyn Observer,
    ) -> Self {
        Self { n_clusters, restarts, seed: seed.stream("kmeans"), observer }
    }

    /// The clusters of the rows of `points` as they are, and how sure they are by their centers.
    pub(crate) fn rows(self, points: &Array2<f64>) -> Result<Clustering, ClusterError> {
        let k_means = KMeans { restarts: self.restarts, ..KMeans::new(self.n_clusters) };
        let fit = k_means.fit(points.view(), self.seed)?;
        let loss = fit.inertia / points.nrows() as f64;
        self.observer.step("kmeans", 1, 1, Some(loss))?;
        let confidence = margins_of_centers(points.view(), fit.centers.view(), &fit.labels);
        Ok(Clustering { confidence: Some(confidence), ..Clustering::from_labels(fit.labels) })
    }

    /// The clusters of the rows of `representation` scaled to unit length; zero rows stay.
    pub(crate) fn unit_rows(
        self,
        representation: &Array2<f64>,
    ) -> Result<Clustering, ClusterError> {
        let mut rows = representation.clone();
        unit_rows(&mut rows);
        self.rows(&rows)
    }

    /// What a factorization ends in: its representation and the clusters of the unit rows.
    pub(crate) fn of_unit_rows(
        self,
        representation: Array2<f64>,
        objectives: Vec<f64>,
    ) -> Result<Clustering, ClusterError> {
        let clustering = self.unit_rows(&representation)?;
        Ok(with_representation(clustering, representation, objectives))
    }

    /// What a factorization of views of sum 1 ends in: its representation over the greatest entry and
    /// the clusters of these rows. As found, the entries are far below what k-means and readers expect.
    pub(crate) fn scaled_to_largest_entry(
        self,
        mut representation: Array2<f64>,
    ) -> Result<Clustering, ClusterError> {
        let greatest = representation.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        representation /= greatest;
        let clustering = self.rows(&representation)?;
        Ok(with_representation(clustering, representation, Vec::new()))
    }
}

/// A clustering with the representation it was read from, and the objective after every iteration.
pub(crate) fn with_representation(
    clustering: Clustering,
    representation: Array2<f64>,
    objectives: Vec<f64>,
) -> Clustering {
    let curve = Curve { name: "objective".into(), values: objectives };
    Clustering {
        embedding: Some(representation),
        curves: if curve.values.is_empty() { Vec::new() } else { vec![curve] },
        ..clustering
    }
}
