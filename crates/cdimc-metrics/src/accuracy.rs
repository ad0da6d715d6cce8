//! Clustering accuracy: fraction of correct samples after the best matching of clusters and classes.

use crate::MetricsError;
use crate::assignment::{Assignment, Weights};
use crate::contingency::Contingency;
use std::collections::BTreeMap;

/// Largest number of (class, cluster) pairs: 200 MB, and a few minutes in the worst case.
const MAX_PAIRS: usize = 25_000_000;

/// Returns the clustering accuracy, in `(0, 1]`; 1 for equal partitions.
///
/// ACC = 1/n · max over injective π of `Σ_b N_{π(b), b}`, where `N_ab` is the number of samples of class `a` in cluster `b`
/// and π assigns classes to clusters. If there are more clusters than classes, the samples of clusters without a class
/// are wrong.
///
/// ```
/// # use cdimc_metrics::accuracy;
/// assert_eq!(accuracy(&[0, 0, 1, 1], &[7, 7, 7, 4])?, 0.75);
/// assert_eq!(accuracy(&[0, 0, 0, 0], &[0, 0, 0, 1])?, 0.75);
/// # Ok::<(), cdimc_metrics::MetricsError>(())
/// ```
///
/// # Errors
/// If the numbers of labels differ or are 0, or there are more than 25 million (class, cluster) pairs.
pub fn accuracy(truth: &[usize], found: &[usize]) -> Result<f64, MetricsError> {
    let table = Contingency::new(truth, found)?;
    check_size(&table)?;
    Ok(of_table(&table))
}

pub(crate) fn of_table(table: &Contingency) -> f64 {
    let (n_classes, n_clusters) = (table.classes.len(), table.clusters.len());
    let (n_lines, n_columns) = (n_classes.min(n_clusters), n_classes.max(n_clusters));
    let mut values = vec![0; n_lines * n_columns];
    for (&(class, cluster), &count) in &table.cells {
        let (line, column) =
            if n_classes <= n_clusters { (class, cluster) } else { (cluster, class) };
        values[line * n_columns + column] = count as i64;
    }
    let weights = Weights { values, n_lines, n_columns };
    Assignment::best(&weights).total() as f64 / table.n_samples as f64
}

/// Checks that the best matching is affordable: its memory is quadratic, its time cubic in the number of labels.
pub(crate) fn check_size(table: &Contingency) -> Result<(), MetricsError> {
    check_pairs(table, table.classes.len().saturating_mul(table.clusters.len()), "their product")
}

fn check_pairs(
    table: &Contingency,
    n_pairs: usize,
    what: &'static str,
) -> Result<(), MetricsError> {
    if n_pairs > MAX_PAIRS {
        let (n_classes, n_clusters) = (table.classes.len(), table.clusters.len());
        return Err(MetricsError::TooManyLabels { n_classes, n_clusters, what, most: MAX_PAIRS });
    }
    Ok(())
}

/// Returns the class of each cluster in the best matching, by cluster label; `None` for clusters left over when there
/// are more clusters than classes.
///
/// Among several best matchings it returns the lexicographically smallest list of classes in the order of the cluster
/// labels, with `None` last. Memory is quadratic in the number of labels.
///
/// ```
/// # use cdimc_metrics::match_labels;
/// let names = match_labels(&[3, 3, 8, 8, 8], &[1, 1, 0, 0, 2])?;
/// assert_eq!(names.into_iter().collect::<Vec<_>>(), [(0, Some(8)), (1, Some(3)), (2, None)]);
/// # Ok::<(), cdimc_metrics::MetricsError>(())
/// ```
///
/// # Errors
/// Same as [`accuracy`], with the square of the larger number of labels as the number of pairs.
pub fn match_labels(
    truth: &[usize],
    found: &[usize],
) -> Result<BTreeMap<usize, Option<usize>>, MetricsError> {
    let table = Contingency::new(truth, found)?;
    let size = table.classes.len().max(table.clusters.len());
    check_pairs(&table, size.saturating_mul(size), "the square of the larger")?;
    let mut values = vec![0; size * size];
    for (&(class, cluster), &count) in &table.cells {
        values[cluster * size + class] = count as i64;
    }
    let weights = Weights { values, n_lines: size, n_columns: size };
    let class_of = Assignment::best(&weights).lexicographically_smallest();
    let names = class_of.into_iter().map(|class| table.classes.get(class).copied());
    Ok(table.clusters.into_iter().zip(names).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All assignments of different numbers below `size` to `n_clusters` clusters, ascending.
    fn matchings(n_clusters: usize, size: usize) -> Vec<Vec<usize>> {
        let mut all = vec![vec![]];
        for _ in 0..n_clusters {
            let longer = |naming: Vec<usize>| {
                let free = (0..size).filter(|class| !naming.contains(class)).collect::<Vec<_>>();
                free.into_iter().map(move |class| [&naming[..], &[class]].concat())
            };
            all = all.into_iter().flat_map(longer).collect();
        }
        all
    }

    fn hits(table: &Contingency, naming: &[usize]) -> usize {
        let hit = |(cluster, &class)| table.cells.get(&(class, cluster)).copied().unwrap_or(0);
        naming.iter().enumerate().map(hit).sum()
    }

    #[test]
    fn thousands_of_clusters_take_little_memory_and_time() {
        let truth: Vec<usize> = (0..70_000).map(|i| i % 10).collect();
        let found: Vec<usize> = (0..70_000).collect();
        assert_eq!(accuracy(&truth, &found).unwrap(), 10.0 / 70_000.0);
    }

    #[test]
    fn too_many_pairs_are_an_error_with_the_numbers_of_labels() {
        let rule = "must be at most 25000000 to find the best matching";
        let many: Vec<usize> = (0..60_000).collect();
        let error = accuracy(&many, &many).unwrap_err().to_string();
        assert_eq!(error, format!("classes = 60000, clusters = 60000: their product {rule}"));
        let (truth, found) = ([0, 1, 2].repeat(2_000), &many[..6_000]);
        let error = match_labels(&truth, found).unwrap_err().to_string();
        assert_eq!(error, format!("classes = 3, clusters = 6000: the square of the larger {rule}"));
        assert_eq!(accuracy(&truth, found).unwrap(), 3.0 / 6_000.0);
    }

    proptest! {
        #[test]
        fn accuracy_and_matching_agree_with_an_exhaustive_search(
            labels in prop::collection::vec((0_usize..5, 0_usize..5), 1..30),
        ) {
            let (truth, found): (Vec<_>, Vec<_>) = labels.into_iter().unzip();
            let table = Contingency::new(&truth, &found).unwrap();
            let size = table.classes.len().max(table.clusters.len());
            let all = matchings(table.clusters.len(), size);
            let most = all.iter().map(|naming| hits(&table, naming)).max().unwrap();
            prop_assert_eq!(accuracy(&truth, &found).unwrap(), most as f64 / truth.len() as f64);

            let first = all.iter().find(|naming| hits(&table, naming) == most).unwrap();
            let expected: Vec<_> =
                first.iter().map(|&class| table.classes.get(class).copied()).collect();
            let names = match_labels(&truth, &found).unwrap();
            prop_assert_eq!(names.keys().copied().collect::<Vec<_>>(), table.clusters);
            prop_assert_eq!(names.into_values().collect::<Vec<_>>(), expected);
        }
    }
}
