//! The table of how many samples each class shares with each cluster.

use std::collections::{BTreeMap, BTreeSet};

/// Labels that cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetricsError {
    /// The two labelings do not describe the same samples.
    #[error("labels = {found}, true labels = {truth}: one of each is needed for every sample")]
    Length {
        /// True labels given.
        truth: usize,
        /// Found labels given.
        found: usize,
    },
    /// There is nothing to score.
    #[error("samples = 0: at least one sample is needed")]
    NoSamples,
    /// More pairs of a class and a cluster than a best naming can be sought among.
    #[error(
        "classes = {n_classes}, clusters = {n_clusters}: {what} must be at most {most} for a best naming"
    )]
    TooManyLabels {
        /// Different true labels.
        n_classes: usize,
        /// Different found labels.
        n_clusters: usize,
        /// What counts the pairs: their product, or the square of the larger.
        what: &'static str,
        /// The most pairs.
        most: usize,
    },
}

/// How many samples each class (row) shares with each cluster (column); only labels that occur have
/// a row or column, ascending by label, and only pairs that occur have a cell.
pub(crate) struct Contingency {
    /// The label of each row.
    pub(crate) classes: Vec<usize>,
    /// The label of each column.
    pub(crate) clusters: Vec<usize>,
    /// The counts `N_ab > 0` by `(a, b)`.
    pub(crate) cells: BTreeMap<(usize, usize), usize>,
    /// Samples of each class, `R_a`.
    pub(crate) class_sizes: Vec<usize>,
    /// Samples of each cluster, `C_b`.
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

    /// Whether both labelings split the samples alike.
    pub(crate) fn is_identity(&self) -> bool {
        self.cells.len() == self.classes.len() && self.cells.len() == self.clusters.len()
    }
}

/// The distinct labels, ascending, and the position of each sample's label among them.
fn compact(labels: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let distinct: Vec<usize> =
        labels.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let position: BTreeMap<usize, usize> =
        distinct.iter().enumerate().map(|(position, &label)| (label, position)).collect();
    let positions = labels.iter().map(|label| position[label]).collect();
    (distinct, positions)
}
