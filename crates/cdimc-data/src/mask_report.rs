//! Summary of a mask: missing rates, and samples by number of views.

use crate::ViewMask;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Counts of a mask.
///
/// ```
/// use cdimc_data::{MaskReport, ViewMask};
/// use ndarray::array;
/// let mask = ViewMask::new(array![[true, false], [true, false], [false, true]])?;
/// let report = MaskReport::new(&mask);
/// assert_eq!(report.observed, vec![2, 1]);
/// assert_eq!(report.disjoint_views(), vec![(0, 1)]);
/// assert!(!report.are_related(0, 1));
/// # Ok::<(), cdimc_data::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct MaskReport {
    /// Number of samples.
    pub n_samples: usize,
    /// Number of samples per view.
    pub observed: Vec<usize>,
    /// Number of samples with exactly `i` views, for `i` in `0..=n_views`.
    pub samples_by_views: Vec<usize>,
    /// Number of samples observed in both views `u` and `v`, at `[u][v]`.
    pub common: Vec<Vec<usize>>,
    /// Sets of views that occur, one flag per view, each with its number of samples; the most common first.
    pub patterns: Vec<(Vec<bool>, usize)>,
}

impl MaskReport {
    /// Counts the cells of `mask`.
    pub fn new(mask: &ViewMask) -> Self {
        let (n_samples, n_views) = (mask.n_samples(), mask.n_views());
        let mut report = Self {
            n_samples,
            observed: vec![0; n_views],
            samples_by_views: vec![0; n_views + 1],
            common: vec![vec![0; n_views]; n_views],
            patterns: Vec::new(),
        };
        let mut patterns: BTreeMap<Vec<bool>, usize> = BTreeMap::new();
        for row in mask.entries().outer_iter() {
            let views: Vec<usize> = (0..n_views).filter(|&view| row[view]).collect();
            report.samples_by_views[views.len()] += 1;
            *patterns.entry(row.to_vec()).or_default() += 1;
            for &u in &views {
                report.observed[u] += 1;
                for &v in &views {
                    report.common[u][v] += 1;
                }
            }
        }
        report.patterns = patterns.into_iter().collect();
        report.patterns.sort_by_key(|&(_, n_samples)| Reverse(n_samples));
        report
    }

    /// Number of views.
    pub(crate) fn n_views(&self) -> usize {
        self.observed.len()
    }

    /// Number of samples with every view.
    pub fn n_complete(&self) -> usize {
        self.samples_by_views.last().copied().unwrap_or(0)
    }

    /// Returns the fraction of samples that each view misses.
    pub fn missing_rates(&self) -> Vec<f64> {
        let rate = |&observed: &usize| 1.0 - observed as f64 / self.n_samples as f64;
        self.observed.iter().map(rate).collect()
    }

    /// Returns whether common samples link view `u` to view `v`, directly or through other views.
    ///
    /// # Panics
    /// If there is no view `u`.
    pub fn are_related(&self, u: usize, v: usize) -> bool {
        let mut reached = vec![u];
        let mut next = 0;
        while let Some(&view) = reached.get(next) {
            let neighbors = (0..self.n_views()).filter(|&other| self.common[view][other] > 0);
            let new: Vec<usize> = neighbors.filter(|other| !reached.contains(other)).collect();
            reached.extend(new);
            next += 1;
        }
        reached.contains(&v)
    }

    /// Returns the pairs of views without a common sample; only other views can relate them.
    pub fn disjoint_views(&self) -> Vec<(usize, usize)> {
        let pairs = (0..self.n_views()).flat_map(|u| (u + 1..self.n_views()).map(move |v| (u, v)));
        pairs.filter(|&(u, v)| self.common[u][v] == 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn counts_agree_with_the_mask() {
        let entries = array![[true, true, false], [true, false, true], [false, true, false]];
        let report = MaskReport::new(&ViewMask::new(entries).unwrap());
        assert_eq!(report.observed, vec![2, 2, 1]);
        assert_eq!(report.samples_by_views, vec![0, 1, 2, 0]);
        assert_eq!(report.common, vec![vec![2, 1, 1], vec![1, 2, 0], vec![1, 0, 1]]);
        assert_eq!(report.n_complete(), 0);
        assert_eq!(report.missing_rates(), [1.0 - 2.0 / 3.0, 1.0 - 2.0 / 3.0, 1.0 - 1.0 / 3.0]);
        assert_eq!(report.disjoint_views(), [(1, 2)]);
        assert!(report.are_related(1, 2));
    }

    #[test]
    fn the_most_common_pattern_comes_first() {
        let entries = array![[true, false], [true, true], [false, true], [true, true]];
        let report = MaskReport::new(&ViewMask::new(entries).unwrap());
        let expected = [(vec![true, true], 2), (vec![false, true], 1), (vec![true, false], 1)];
        assert_eq!(report.patterns, expected);
    }
}
