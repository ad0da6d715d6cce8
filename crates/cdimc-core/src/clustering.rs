//! Clusters of samples, from a fit or from a prediction.

use crate::ClusterError;
use ndarray::Array2;
use serde::{Deserialize, Serialize};

/// Clusters of samples, from a fit or from a prediction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Clustering {
    /// Cluster per sample, in `0..n_clusters`; a cluster may be empty.
    pub labels: Vec<usize>,
    /// Clustering loss per sample, if the method has one; low is good.
    pub losses: Option<Vec<f64>>,
    /// Confidence of the label per sample, in [0, 1], high is good: the relative margin
    /// ([`relative_margins`](crate::confidence::relative_margins)) or the calibrated probability.
    pub confidence: Option<Vec<f64>>,
    /// Calibrated probability of every cluster, `(n_samples, n_clusters)`, if the method has it.
    pub probabilities: Option<Array2<f64>>,
    /// Common representation, `(n_samples, latent)`, if the method has one.
    pub embedding: Option<Array2<f64>>,
    /// Curves of a fit, such as the loss per epoch; empty for a prediction.
    pub curves: Vec<Curve>,
    /// Clusters per sample that contain, with a promised probability, the cluster by all views; ascending, never empty.
    pub sets: Option<Vec<Vec<usize>>>,
    /// Whether a sample is unlike nearly all training samples, if the method has this test.
    pub unusual: Option<Vec<bool>>,
}

impl Clustering {
    /// Returns a clustering that holds labels only.
    pub fn from_labels(labels: Vec<usize>) -> Self {
        Self { labels, ..Self::default() }
    }

    /// Checks that the result of `method` is finite and has at least two clusters; called by
    /// [`Clusterer::fit`](crate::Clusterer::fit).
    ///
    /// # Errors
    /// [`ClusterError::Unusable`] otherwise.
    pub fn check(&self, method: &'static str) -> Result<(), ClusterError> {
        let unusable = |reason| Err(ClusterError::Unusable { method, reason });
        let odd = |x: &&f64| !x.is_finite();
        for (what, found) in [
            ("loss", self.losses.iter().flatten().find(odd)),
            ("confidence", self.confidence.iter().flatten().find(odd)),
            ("probability", self.probabilities.iter().flatten().find(odd)),
            ("embedding", self.embedding.iter().flatten().find(odd)),
        ] {
            if let Some(x) = found {
                return unusable(format!("{what} = {x}: must be finite"));
            }
        }
        if self.embedding.as_ref().is_some_and(|h| !h.is_empty() && h.iter().all(|&x| x == 0.0)) {
            return unusable("its embedding is 0 throughout".into());
        }
        let first = self.labels.first();
        if self.labels.iter().all(|label| Some(label) == first) {
            return unusable(format!("all {} samples are in one cluster", self.labels.len()));
        }
        Ok(())
    }
}

/// Named series of values over epochs, rounds or iterations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Name of the values, such as `pretrain-loss`.
    pub name: String,
    /// One value per step.
    pub values: Vec<f64>,
}
