//! The trait of clustering methods and the result of a fit.

use crate::{ClusterError, Clustering, Model, Observer, Silent};
use cdimc_data::{MultiView, Seed};
use rand::seq::SliceRandom;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest size, in GiB, of sparse views that are made dense for a method.
const MAX_DENSE_GIB: f64 = 2.0;

/// A method that clusters incomplete multi-view samples.
///
/// A clusterer reads observed values only and draws all randomness from the seed. The same input and seed give the same
/// bits. It returns one label per sample, in the caller's order.
///
/// A method implements [`name`](Self::name) and [`run`](Self::run). Callers use [`fit`](Self::fit) or
/// [`cluster`](Self::cluster), which add the checks that all methods share.
#[allow(unused_variables)] // A default needs no arguments.
pub trait Clusterer: Send + Sync {
    /// Name of the method on the command line, such as `cdimc-net`.
    fn name(&self) -> &'static str;

    /// Checks the settings; needs no data.
    ///
    /// # Errors
    /// If a setting is out of range.
    fn check(&self) -> Result<(), ClusterError> {
        Ok(())
    }

    /// Checks what the method needs from the data beyond what all methods need.
    ///
    /// # Errors
    /// [`ClusterError::Inapplicable`] if the method cannot treat such data.
    fn applies(&self, data: &MultiView, n_clusters: usize) -> Result<(), ClusterError> {
        Ok(())
    }

    /// Returns whether the method reads sparse views; for other methods they are made dense, up to 2 GiB.
    fn reads_sparse(&self) -> bool {
        false
    }

    /// Runs the method; settings, number of clusters and data are already checked.
    ///
    /// # Errors
    /// If its iteration diverges, or `observer` stops it.
    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Fitted, ClusterError>;

    /// Groups the samples of `data` into `n_clusters` clusters and reports every step to `observer`.
    ///
    /// # Errors
    /// If a setting is out of range, `n_clusters` is not in `2..=n_samples`, the method cannot treat such data, its
    /// iteration diverges, its result is not finite, or `observer` stops it.
    fn fit(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
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

    /// Like [`fit`](Self::fit), without an observer and without the model.
    ///
    /// # Errors
    /// Same as [`fit`](Self::fit).
    fn cluster(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
    ) -> Result<Clustering, ClusterError> {
        Ok(self.fit(data, n_clusters, seed, &Silent)?.clustering)
    }

    /// Resumes from the checkpoint of an interrupted [`fit`](Self::fit) with the same settings and data.
    ///
    /// # Errors
    /// If the method has no checkpoints, if the checkpoint comes from another method, other settings or data of another
    /// shape, or as for [`fit`](Self::fit).
    fn resume(
        &self,
        checkpoint: &[u8],
        data: &MultiView,
        observer: &dyn Observer,
    ) -> Result<Fitted, ClusterError> {
        Err(ClusterError::Model(format!("{} cannot continue from a checkpoint", self.name())))
    }

    /// Estimates the cost of a fit; `None` if the method has no estimate.
    fn cost(&self, data: &MultiView, n_clusters: usize) -> Option<Cost> {
        None
    }

    /// Returns the method with less effort, to try several numbers of clusters; `None` if the method is fast already.
    fn shortened(&self) -> Option<Box<dyn Clusterer>> {
        None
    }
}

/// Checks that the sparse views are small enough to be made dense.
///
/// # Errors
/// [`ClusterError::Inapplicable`] with their size if they are too large.
fn check_dense(method: &'static str, data: &MultiView) -> Result<(), ClusterError> {
    let sparse = (0..data.n_views()).filter(|&v| data.matrix(v).sparse().is_some());
    let size = |v: usize| data.n_samples() as f64 * data.width(v) as f64 * size_of::<f64>() as f64;
    let (bytes, gibibyte) = (sparse.map(size).sum::<f64>(), (1_u64 << 30) as f64);
    if bytes <= MAX_DENSE_GIB * gibibyte {
        return Ok(());
    }
    let reason = format!(
        "it reads the zeros of sparse views too, {:.1} GiB of values: at most {MAX_DENSE_GIB} GiB are written out; leave out \
         columns, or take t-mixture, which reads sparse views as they are",
        bytes / gibibyte
    );
    Err(ClusterError::Inapplicable { method, reason })
}

/// Estimated cost of a fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Peak memory in bytes, without the data.
    pub bytes: f64,
    /// Floating-point operations.
    pub operations: f64,
}

/// Result of a fit.
#[derive(Debug)]
pub struct Fitted {
    /// The clusters of the samples.
    pub clustering: Clustering,
    /// Model that clusters new samples, if the method makes one.
    pub model: Option<Box<dyn Model>>,
}

impl<M: Model> From<(M, Clustering)> for Fitted {
    fn from((model, clustering): (M, Clustering)) -> Self {
        Self { clustering, model: Some(Box::new(model)) }
    }
}

impl From<Clustering> for Fitted {
    fn from(clustering: Clustering) -> Self {
        Self { clustering, model: None }
    }
}

/// The order in which an order-dependent method reads the samples.
///
/// Benchmark files are sorted by class, so a method that reads them in the order of the file can learn the classes from
/// the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RowOrder {
    /// Shuffled by the seed before anything else.
    #[default]
    Shuffled,
    /// As the caller gave them; only to compare with programs that do so.
    File,
}

impl RowOrder {
    /// Returns the samples `0..n_samples` in reading order.
    pub fn rows(self, n_samples: usize, seed: Seed) -> Vec<usize> {
        let mut rows: Vec<usize> = (0..n_samples).collect();
        if self == Self::Shuffled {
            rows.shuffle(&mut seed.stream("row order").rng());
        }
        rows
    }
}

/// Checks the number of clusters by the rule of all methods.
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
