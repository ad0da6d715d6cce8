//! The one verb of every method, and what comes out of it.

use crate::{ClusterError, Model, Observer};
use cdimc_data::{MultiView, Seed};
use ndarray::Array2;
use rand::seq::SliceRandom;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// GiB of values that sparse views may become where a method asks for their zeros.
const LARGEST_DENSE: f64 = 2.0;

/// A method that groups incomplete multi-view samples.
///
/// A clusterer reads observed values only, draws all randomness from the seed, and gives the same
/// bits for the same input and seed. It returns one label a sample, in the caller's order.
///
/// A method has a [`name`](Self::name) and a [`run`](Self::run); callers use [`fit`](Self::fit) or
/// [`cluster`](Self::cluster), which do what all methods share.
pub trait Clusterer: Send + Sync {
    /// The method's name as the command line spells it, such as `cdimc-net`.
    fn name(&self) -> &'static str;

    /// Checks the settings alone, which needs no data.
    ///
    /// # Errors
    /// If a setting is out of range.
    fn check(&self) -> Result<(), ClusterError> {
        Ok(())
    }

    /// Checks what the method asks of the data beyond what all methods ask.
    ///
    /// # Errors
    /// [`ClusterError::Inapplicable`] if the method is not made for such data.
    fn applies(&self, data: &MultiView, n_clusters: usize) -> Result<(), ClusterError> {
        let (_, _) = (data, n_clusters);
        Ok(())
    }

    /// Whether the method reads sparse views as they are; for the others they become dense, up to 2 GiB.
    fn reads_sparse(&self) -> bool {
        false
    }

    /// The method itself, once settings, number of clusters and data are checked.
    ///
    /// # Errors
    /// If its iteration diverges, or `observer` stops it.
    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &Observer<'_>,
    ) -> Result<Fitted, ClusterError>;

    /// Groups the samples of `data` into `n_clusters` clusters, and reports every step to `observer`.
    ///
    /// # Errors
    /// If a setting is out of range, `n_clusters` is not in `2..=n_samples`, the method does not apply
    /// to such data, its iteration diverges, what it found is not finite, or `observer` stops it.
    fn fit(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &Observer<'_>,
    ) -> Result<Fitted, ClusterError> {
        self.check()?;
        check_n_clusters(n_clusters, data.n_samples())?;
        if !self.reads_sparse() {
            check_dense(self.name(), data)?;
        }
        self.applies(data, n_clusters)?;
        let fitted = self.run(data, n_clusters, seed, observer)?;
        fitted.clustering.check(self.name())?;
        Ok(fitted)
    }

    /// As [`fit`](Self::fit), unobserved and without the model.
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    fn cluster(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
    ) -> Result<Clustering, ClusterError> {
        Ok(self.fit(data, n_clusters, seed, &Observer::silent())?.clustering)
    }

    /// Resumes from the checkpoint of an interrupted [`fit`](Self::fit) with the same settings and data.
    ///
    /// # Errors
    /// If the method has no checkpoints, this is none of its own, it was made with other settings or on data of
    /// another shape, or as [`fit`](Self::fit).
    fn resume(
        &self,
        checkpoint: &[u8],
        data: &MultiView,
        observer: &Observer<'_>,
    ) -> Result<Fitted, ClusterError> {
        let (_, _, _) = (checkpoint, data, observer);
        Err(ClusterError::Model(format!("{} has no checkpoints to go on from", self.name())))
    }

    /// What a fit of such data needs, roughly; `None` if the method does not know.
    fn cost(&self, data: &MultiView, n_clusters: usize) -> Option<Cost> {
        let (_, _) = (data, n_clusters);
        None
    }

    /// The method with less effort, to try several numbers of clusters; `None` if it is quick.
    fn shortened(&self) -> Option<Box<dyn Clusterer>> {
        None
    }
}

/// Whether the sparse views of the data are small enough to be made dense.
///
/// # Errors
/// [`ClusterError::Inapplicable`] with their size if they are not.
fn check_dense(method: &'static str, data: &MultiView) -> Result<(), ClusterError> {
    let sparse = (0..data.n_views()).filter(|&v| data.matrix(v).sparse().is_some());
    let size = |v: usize| data.n_samples() as f64 * data.width(v) as f64 * size_of::<f64>() as f64;
    let (bytes, gibibyte) = (sparse.map(size).sum::<f64>(), (1_u64 << 30) as f64);
    if bytes <= LARGEST_DENSE * gibibyte {
        return Ok(());
    }
    let reason = format!(
        "it reads the zeros of sparse views too, {:.1} GiB of values: at most {LARGEST_DENSE} GiB are written out; leave out \
         columns, or take t-mixture, which reads sparse views as they are",
        bytes / gibibyte
    );
    Err(ClusterError::Inapplicable { method, reason })
}

/// What a fit needs, to be known before it starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Bytes of memory at its peak, beyond the data.
    pub bytes: f64,
    /// Floating-point operations.
    pub operations: f64,
}

/// What a fit gives.
#[derive(Debug)]
pub struct Fitted {
    /// The clusters of the samples.
    pub clustering: Clustering,
    /// What clusters new samples, where the method makes it.
    pub model: Option<Box<dyn Model>>,
}

impl From<Clustering> for Fitted {
    fn from(clustering: Clustering) -> Self {
        Self { clustering, model: None }
    }
}

/// Clusters of samples: those of a fit, or those that a model predicts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Clustering {
    /// The cluster of every sample, in `0..n_clusters`; a cluster may be empty.
    pub labels: Vec<usize>,
    /// The clustering loss of every sample, where the method has one: the smaller, the surer.
    pub losses: Option<Vec<f64>>,
    /// How sure the cluster of every sample is, in [0, 1]: its relative margin
    /// ([`relative_margins`](crate::confidence::relative_margins)) or the calibrated probability.
    pub confidence: Option<Vec<f64>>,
    /// The calibrated probability of every cluster, `(n_samples, n_clusters)`, where the method has it.
    pub probabilities: Option<Array2<f64>>,
    /// The common representation, `(n_samples, latent)`, where the method has one.
    pub embedding: Option<Array2<f64>>,
    /// The records of a fit, such as the loss of every epoch; a prediction has none.
    pub curves: Vec<Curve>,
    /// Whether a sample is unlike all training samples of its cluster, where the method can tell.
    pub unusual: Option<Vec<bool>>,
}

impl Clustering {
    /// A clustering that is labels alone.
    pub fn from_labels(labels: Vec<usize>) -> Self {
        Self { labels, ..Self::default() }
    }

    /// Checks that what `method` found is finite and not the same for all samples; [`Clusterer::fit`] does.
    ///
    /// # Errors
    /// [`ClusterError::Unusable`] if it is not.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
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

/// Checks that `n_clusters` obeys the rule every method shares.
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
