//! The final step of methods with a representation: k-means on its rows.

use super::observed_rows::unit_rows;
use cdimc_core::{
    ClusterError, Clustering, Curve, KMeans, Observer, confidence::margins_of_centers,
};
use cdimc_data::Seed;
use ndarray::Array2;

/// Labels rows by the best of `restarts` runs of k-means with `n_clusters` clusters.
#[derive(Clone, Copy)]
pub(crate) struct ReadOut<'a> {
    pub(crate) n_clusters: usize,
    pub(crate) restarts: usize,
    pub(crate) seed: Seed,
    pub(crate) observer: &'a dyn Observer,
}

impl<'a> ReadOut<'a> {
    /// Returns a readout with the method's own stream of its `seed`.
    pub(crate) fn new(
        n_clusters: usize,
        restarts: usize,
        seed: Seed,
        observer: &'a dyn Observer,
    ) -> Self {
        Self { n_clusters, restarts, seed: seed.stream("kmeans"), observer }
    }

    /// Clusters the rows of `points` and returns their confidence by distances to centers.
    pub(crate) fn rows(self, points: &Array2<f64>) -> Result<Clustering, ClusterError> {
        let k_means = KMeans { restarts: self.restarts, ..KMeans::new(self.n_clusters) };
        let fit = k_means.fit(points.view(), self.seed)?;
        let loss = fit.inertia / points.nrows() as f64;
        self.observer.step("kmeans", 1, 1, Some(loss))?;
        let confidence = margins_of_centers(points.view(), fit.centers.view(), &fit.labels);
        Ok(Clustering { confidence: Some(confidence), ..Clustering::from_labels(fit.labels) })
    }

    /// Clusters the rows of a factorization's representation scaled to unit length and returns both; zero rows are
    /// unchanged.
    pub(crate) fn of_unit_rows(
        self,
        representation: Array2<f64>,
        objectives: Vec<f64>,
    ) -> Result<Clustering, ClusterError> {
        let mut rows = representation.clone();
        unit_rows(&mut rows);
        Ok(with_representation(self.rows(&rows)?, representation, objectives))
    }

    /// Divides a representation by its largest entry, clusters its rows and returns both. For views of sum 1 the
    /// original entries are too small for k-means and readers.
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

/// Adds the representation and the objective after every iteration to a clustering.
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
