//! The one verb of every method, and what comes out of it.

use crate::ClusterError;
use cdimc_data::{MultiView, Seed};
use ndarray::Array2;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

/// A method that groups incomplete multi-view samples.
///
/// A clusterer reads observed values only, draws all randomness from the seed, and gives the same
/// bits for the same input and seed. It returns one label a sample, in the caller's order.
pub trait Clusterer: Send + Sync {
    /// The method's name as the command line spells it, such as `cdimc-net`.
    fn name(&self) -> &'static str;

    /// Holds the settings against their ranges, which needs no data; a method without ranges has
    /// nothing to hold.
    ///
    /// # Errors
    /// If a setting is out of range.
    fn check(&self) -> Result<(), ClusterError> {
        Ok(())
    }

    /// Groups the samples of `data` into `n_clusters` clusters.
    ///
    /// # Errors
    /// If `n_clusters` is not in `2..=n_samples`, a setting is out of range, the method does not apply
    /// to such data, or its iteration diverges.
    fn cluster(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
    ) -> Result<Clustering, ClusterError>;
}

/// What a method found.
#[derive(Debug, Clone, PartialEq)]
pub struct Clustering {
    /// The cluster of every sample, in `0..n_clusters`; a cluster may be empty.
    pub labels: Vec<usize>,
    /// The clustering loss of every sample, where the method has one: small is sure.
    pub losses: Option<Vec<f64>>,
    /// The common representation, `(n_samples, latent)`, where the method has one.
    pub embedding: Option<Array2<f64>>,
    /// What was recorded along the way, such as the loss of every epoch.
    pub curves: Vec<Curve>,
}

impl Clustering {
    /// A clustering that is labels alone.
    pub fn from_labels(labels: Vec<usize>) -> Self {
        Self { labels, losses: None, embedding: None, curves: Vec::new() }
    }
}

/// A named series of values over epochs, rounds or iterations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// What the values are, such as `pretrain-loss`.
    pub name: String,
    /// One value a step.
    pub values: Vec<f64>,
}

/// The order in which a method that depends on it reads the samples.
///
/// Benchmark files are sorted by class: a method that reads them in the file's order can read the
/// classes off it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowOrder {
    /// Shuffled by the seed before anything else.
    #[default]
    Shuffled,
    /// As the caller gave them: only to compare with programs that do so.
    File,
}

impl RowOrder {
    /// The samples `0..n_samples` in reading order.
    pub fn rows(self, n_samples: usize, seed: Seed) -> Vec<usize> {
        let mut rows: Vec<usize> = (0..n_samples).collect();
        if self == Self::Shuffled {
            rows.shuffle(&mut seed.stream("row order").rng());
        }
        rows
    }
}

/// Holds `n_clusters` against the rule every method shares.
///
/// # Errors
/// If `n_clusters` is not in `2..=n_samples`.
pub fn check_n_clusters(n_clusters: usize, n_samples: usize) -> Result<(), ClusterError> {
    if (2..=n_samples).contains(&n_clusters) {
        Ok(())
    } else {
        Err(ClusterError::ClusterCount { n_clusters, n_samples })
    }
}
