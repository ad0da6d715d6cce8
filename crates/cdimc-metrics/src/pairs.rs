//! Scores over pairs of samples: adjusted Rand index, pairwise precision, recall and F.

use crate::MetricsError;
use crate::contingency::Contingency;
use serde::{Deserialize, Serialize};

/// Precision, recall and F over pairs of samples, each in `[0, 1]`, high is good.
///
/// A pair is found if both samples are in one cluster, and true if both are in one class. This is not the per-class
/// precision after matching, which some codes report under the same name.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pairwise {
    /// Fraction of true pairs among found pairs; 1 if no pair is found.
    pub precision: f64,
    /// Fraction of found pairs among true pairs; 1 if no pair is true.
    pub recall: f64,
    /// `2 · precision · recall / (precision + recall)`; 0 if both are 0.
    pub f: f64,
}

/// Returns the adjusted Rand index, in `[-0.5, 1]`; 1 for equal partitions, 0 expected for random ones.
///
/// ARI = (S - PQ/T) / ((P + Q)/2 - PQ/T), with P true pairs, Q found pairs, S pairs that are both, and T pairs in all. A
/// partition into one part, or into single samples, scores 0 against any other partition.
///
/// L. Hubert and P. Arabie, Journal of Classification 2 (1985), <https://doi.org/10.1007/BF01908075>.
///
/// ```
/// # use cdimc_metrics::ari;
/// assert_eq!(ari(&[0, 0, 1, 1], &[0, 1, 0, 1])?, -0.5);
/// # Ok::<(), cdimc_metrics::MetricsError>(())
/// ```
///
/// # Errors
/// If the numbers of labels differ or are 0.
pub fn ari(truth: &[usize], found: &[usize]) -> Result<f64, MetricsError> {
    Ok(ari_of_table(&Contingency::new(truth, found)?))
}

/// Returns precision, recall and F over pairs of samples.
///
/// # Errors
/// If the numbers of labels differ or are 0.
pub fn pairwise(truth: &[usize], found: &[usize]) -> Result<Pairwise, MetricsError> {
    Ok(pairwise_of_table(&Contingency::new(truth, found)?))
}

pub(crate) fn ari_of_table(table: &Contingency) -> f64 {
    // For some equal partitions the formula is 0/0.
    if table.is_identity() {
        return 1.0;
    }
    let Pairs { both, truth, found } = Pairs::of_table(table);
    // Both sides of the fraction are multiplied by T to stay whole numbers.
    let (all, chance) = (n_pairs(table.n_samples), truth * found);
    (both * all - chance) / (f64::midpoint(truth, found) * all - chance)
}

pub(crate) fn pairwise_of_table(table: &Contingency) -> Pairwise {
    let Pairs { both, truth, found } = Pairs::of_table(table);
    let precision = if found == 0.0 { 1.0 } else { both / found };
    let recall = if truth == 0.0 { 1.0 } else { both / truth };
    let sum = precision + recall;
    Pairwise { precision, recall, f: if sum == 0.0 { 0.0 } else { 2.0 * precision * recall / sum } }
}

/// Numbers of pairs of samples in the same class and cluster, in the same class, and in the same cluster.
struct Pairs {
    both: f64,
    truth: f64,
    found: f64,
}

impl Pairs {
    fn of_table(table: &Contingency) -> Self {
        let sum = |sizes: &[usize]| sizes.iter().map(|&size| n_pairs(size)).sum();
        Self {
            both: table.cells.values().map(|&count| n_pairs(count)).sum(),
            truth: sum(&table.class_sizes),
            found: sum(&table.cluster_sizes),
        }
    }
}

/// `n (n - 1) / 2`.
fn n_pairs(n: usize) -> f64 {
    n as f64 * (n as f64 - 1.0) / 2.0
}
