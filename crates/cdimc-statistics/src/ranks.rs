//! Rank tests for different values in groups.

use crate::distributions::{chi_squared_tail, two_sided};
use std::cmp::Ordering;

/// Kruskal-Wallis test (1952), corrected for ties.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct KruskalWallis {
    /// Statistic H.
    pub statistic: f64,
    /// Number of groups with samples, minus 1.
    pub degrees: usize,
    /// p value, by the chi-squared distribution.
    pub p: f64,
    /// Fraction of the variance of the ranks that the groups explain, (H - k + 1) / (n - k), at least 0.
    pub eta_squared: f64,
}

/// Tests whether values are larger in some groups; `None` with fewer than two groups, or if all values are equal.
///
/// # Panics
/// If the numbers of values and groups differ, or a value is NaN.
pub fn kruskal_wallis(values: &[f64], groups: &[usize]) -> Option<KruskalWallis> {
    assert_eq!(values.len(), groups.len(), "one group per value");
    let n_groups = groups.iter().max()? + 1;
    let Ranks { ranks, ties } = Ranks::of(values);
    let (mut sums, mut sizes) = (vec![0.0; n_groups], vec![0.0; n_groups]);
    for (&group, rank) in groups.iter().zip(ranks) {
        sums[group] += rank;
        sizes[group] += 1.0;
    }
    let n = values.len() as f64;
    let k = sizes.iter().filter(|&&size| size > 0.0).count();
    let correction = 1.0 - ties / (n * n * n - n);
    if k < 2 || correction <= 0.0 {
        return None;
    }
    // Squares about the mean rank avoid cancellation.
    let mean = f64::midpoint(n, 1.0);
    let spread = |(sum, size): (&f64, &f64)| {
        if *size > 0.0 { size * (sum / size - mean).powi(2) } else { 0.0 }
    };
    let between: f64 = sums.iter().zip(&sizes).map(spread).sum();
    let statistic = 12.0 / (n * (n + 1.0)) * between / correction;
    let degrees = k - 1;
    let left = n - k as f64;
    let eta_squared = if left > 0.0 { ((statistic - degrees as f64) / left).max(0.0) } else { 0.0 };
    Some(KruskalWallis { statistic, degrees, p: chi_squared_tail(statistic, degrees), eta_squared })
}

/// Mann-Whitney test (1947), corrected for ties.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct MannWhitney {
    /// Probability that a value inside is larger than one outside, ties counted half: the area under the receiver operating
    /// characteristic curve.
    pub auc: f64,
    /// p value, by the normal distribution with continuity correction.
    pub p: f64,
}

/// Tests whether values `inside` and `outside` differ; `None` if one side is empty or all values are equal.
///
/// # Panics
/// If a value is NaN.
pub fn mann_whitney(inside: &[f64], outside: &[f64]) -> Option<MannWhitney> {
    let Ranks { ranks, ties } = Ranks::of(&[inside, outside].concat());
    let sum = ranks[..inside.len()].iter().sum::<f64>();
    MannWhitney::of_ranks(sum, (inside.len() as f64, outside.len() as f64), ties)
}

impl MannWhitney {
    /// Test from the rank sum inside, the numbers of values inside and outside, and the ties of all values.
    pub(crate) fn of_ranks(sum: f64, (a, b): (f64, f64), ties: f64) -> Option<Self> {
        let (n, pairs) = (a + b, a * b);
        // The same expression as in `Ranks::of`, so that the difference is exactly 0 if all values are equal.
        let all = n * n * n - n;
        let variance = pairs / 12.0 * (n + 1.0) * ((all - ties) / all);
        if pairs == 0.0 || variance <= 0.0 {
            return None;
        }
        let above = sum - a * (a + 1.0) / 2.0;
        let away = ((above - pairs / 2.0).abs() - 0.5).max(0.0);
        Some(Self { auc: above / pairs, p: two_sided(away / variance.sqrt()) })
    }
}

/// Ranks from 1; ties share their mean rank.
pub(crate) struct Ranks {
    pub(crate) ranks: Vec<f64>,
    /// Sum of t^3 - t over all sets of t ties.
    pub(crate) ties: f64,
}

impl Ranks {
    pub(crate) fn of(values: &[f64]) -> Self {
        assert!(values.iter().all(|x| !x.is_nan()), "NaN has no rank");
        // Counts are mostly zeros, which need no sorting.
        let [mut order, zeros, mut above] = [Ordering::Less, Ordering::Equal, Ordering::Greater]
            .map(|sign| {
                let has = |&i: &usize| values[i].partial_cmp(&0.0) == Some(sign);
                (0..values.len()).filter(has).collect::<Vec<usize>>()
            });
        for part in [&mut order, &mut above] {
            part.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
        }
        order.extend(zeros.into_iter().chain(above));
        let (mut ranks, mut ties, mut done) = (vec![0.0; values.len()], 0.0, 0);
        for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
            let t = tied.len() as f64;
            let rank = done as f64 + f64::midpoint(t, 1.0);
            tied.iter().for_each(|&i| ranks[i] = rank);
            ties += t * t * t - t;
            done += tied.len();
        }
        Self { ranks, ties }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_and_single_groups_are_not_tested() {
        assert_eq!(kruskal_wallis(&[1.0, 1.0, 1.0], &[0, 1, 1]), None);
        assert_eq!(kruskal_wallis(&[1.0, 2.0], &[1, 1]), None);
        assert_eq!(kruskal_wallis(&[], &[]), None);
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(mann_whitney(&[1.0], &[1.0]), None);
        // n^3 is not exact in floating point here.
        assert_eq!(mann_whitney(&[0.0; 142], &vec![0.0; 330_142]), None);
    }

    #[test]
    fn the_area_is_one_where_all_inside_are_larger() {
        assert_eq!(mann_whitney(&[3.0, 4.0], &[1.0, 2.0, -0.0]).unwrap().auc, 1.0);
        assert_eq!(mann_whitney(&[0.0], &[-0.0, 5.0]).unwrap().auc, 0.25, "zeros are equal");
    }
}
