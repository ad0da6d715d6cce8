//! Numbers of samples per class and cluster.

use std::collections::{BTreeMap, BTreeSet};

/// Error of labels that cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetricsError {
    /// The numbers of labels differ.
    #[error("labels = {found}, true labels = {truth}: one of each is needed for every sample")]
    Length {
        /// Number of true labels.
        truth: usize,
        /// Number of found labels.
        found: usize,
    },
    /// There are no samples.
    #[error("samples = 0: at least one sample is needed")]
    NoSamples,
    /// There are too many (class, cluster) pairs for the best matching.
    #[error(
        "classes = {n_classes}, clusters = {n_clusters}: {what} must be at most {most} to find the best matching"
    )]
    TooManyLabels {
        /// Number of different true labels.
        n_classes: usize,
        /// Number of different found labels.
        n_clusters: usize,
        /// Name of the count of pairs: the product, or the square of the larger.
        what: &'static str,
        /// Largest number of pairs.
        most: usize,
    },
}

/// Number of samples per class (row) and cluster (column). Rows and columns are the labels that occur, ascending; only
/// nonzero cells are stored.
pub(crate) struct Contingency {
    /// Label of each row.
    pub(crate) classes: Vec<usize>,
    /// Label of each column.
    pub(crate) clusters: Vec<usize>,
    /// Counts `N_ab > 0` by `(a, b)`.
    pub(crate) cells: BTreeMap<(usize, usize), usize>,
    /// Number of samples per class, `R_a`.
    pub(crate) class_sizes: Vec<usize>,
    /// Number of samples per cluster, `C_b`.
    pub(crate) cluster_sizes: Vec<usize>,
    pub(crate) n_samples: usize,
}

impl Contingency {
    pub(crate) fn new(truth: &[usize], found: &[usize]) -> Result<Self, MetricsError> {
        if truth.len() != found.len() {
            return Err(MetricsError::Length { truth: truth.len(), found: found.len() });
        }
        if truth.is_empty() {
            return Err(MetricsError::NoSamples);
        }
        let (classes, rows) = compact(truth);
        let (clusters, columns) = compact(found);
        let mut table = Self {
            class_sizes: vec![0; classes.len()],
            cluster_sizes: vec![0; clusters.len()],
            classes,
            clusters,
            cells: BTreeMap::new(),
            n_samples: truth.len(),
        };
        for cell in rows.into_iter().zip(columns) {
            *table.cells.entry(cell).or_default() += 1;
            table.class_sizes[cell.0] += 1;
            table.cluster_sizes[cell.1] += 1;
        }
        Ok(table)
    }

    /// Returns whether both labelings are the same partition.
    pub(crate) fn is_identity(&self) -> bool {
        self.cells.len() == self.classes.len() && self.cells.len() == self.clusters.len()
    }
}

/// Returns the distinct labels, ascending, and the position of each sample's label in them.
fn compact(labels: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let distinct: Vec<usize> =
        labels.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let position: BTreeMap<usize, usize> =
        distinct.iter().enumerate().map(|(position, &label)| (label, position)).collect();
    let positions = labels.iter().map(|label| position[label]).collect();
    (distinct, positions)
}
