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
    /// Whether a sample is unlike all training samples of its cluster, if the method has this test.
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
        let finite = |what: &str, x: Option<&f64>| match x {
            Some(x) if !x.is_finite() => Some(format!("{what} = {x}: must be finite")),
            _ => None,
        };
        let odd = |x: &&f64| !x.is_finite();
        let first = self.labels.first();
        let embedding = self.embedding.as_ref().filter(|h| !h.is_empty());
        let fault = None
            .or_else(|| finite("loss", self.losses.iter().flatten().find(odd)))
            .or_else(|| finite("confidence", self.confidence.iter().flatten().find(odd)))
            .or_else(|| finite("probability", self.probabilities.iter().flatten().find(odd)))
            .or_else(|| finite("embedding", self.embedding.iter().flatten().find(odd)))
            .or_else(|| {
                let zeros = embedding.is_some_and(|h| h.iter().all(|&x| x == 0.0));
                zeros.then(|| "its embedding is 0 throughout".into())
            })
            .or_else(|| {
                let n = self.labels.len();
                let one = self.labels.iter().all(|label| Some(label) == first);
                one.then(|| format!("all {n} samples are in one cluster"))
            });
        match fault {
            Some(reason) => Err(ClusterError::Unusable { method, reason }),
            None => Ok(()),
        }
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
