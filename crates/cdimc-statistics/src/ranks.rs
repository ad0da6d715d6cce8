//! Whether numbers differ between groups, by their ranks.

use crate::distributions::{chi_squared_tail, two_sided};
use std::cmp::Ordering;

/// The test of Kruskal and Wallis (1952), corrected for ties.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct KruskalWallis {
    /// H.
    pub statistic: f64,
    /// Groups with samples, less one.
    pub degrees: usize,
    /// The p value, by the chi squared distribution.
    pub p: f64,
    /// The share of the ranks' variance that the groups explain, (H - k + 1) / (n - k), and at least 0.
    pub eta_squared: f64,
}

/// Whether values are larger in some groups; `None` with fewer than two groups, or if all values are equal.
///
/// # Panics
/// If there is not one group a value, or a value is NaN.
pub fn kruskal_wallis(values: &[f64], groups: &[usize]) -> Option<KruskalWallis> {
    assert_eq!(values.len(), groups.len(), "one group a value");
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
    // Squares about the mean rank lose no digits to one another.
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

/// The test of Mann and Whitney (1947), corrected for ties.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct MannWhitney {
    /// The chance that a value inside is larger than one outside, ties counted half: the area under the curve of the
    /// receiver operating characteristic.
    pub auc: f64,
    /// The p value, by the normal distribution with continuity correction.
    pub p: f64,
}

/// Whether values `inside` are larger or smaller than those `outside`; `None` if one side is empty or all are equal.
///
/// # Panics
/// If a value is NaN.
pub fn mann_whitney(inside: &[f64], outside: &[f64]) -> Option<MannWhitney> {
    let Ranks { ranks, ties } = Ranks::of(&[inside, outside].concat());
    let sum = ranks[..inside.len()].iter().sum::<f64>();
    MannWhitney::of_ranks(sum, (inside.len() as f64, outside.len() as f64), ties)
}

impl MannWhitney {
    /// That of the sum of the ranks inside, how many values are inside and outside, and the ties of all.
    pub(crate) fn of_ranks(sum: f64, (a, b): (f64, f64), ties: f64) -> Option<Self> {
        let (n, pairs) = (a + b, a * b);
        // By the expression of `Ranks::of`: where all are equal the difference is zero and no rounding.
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

/// Ranks from 1, ties sharing their mean.
pub(crate) struct Ranks {
    pub(crate) ranks: Vec<f64>,
    /// The sum of t^3 - t over the sets of t ties.
    pub(crate) ties: f64,
}

impl Ranks {
    pub(crate) fn of(values: &[f64]) -> Self {
        assert!(values.iter().all(|x| !x.is_nan()), "NaN has no rank");
        // Counts are mostly zeros, which are no work for a sort.
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
    fn what_cannot_differ_is_not_tested() {
        assert_eq!(kruskal_wallis(&[1.0, 1.0, 1.0], &[0, 1, 1]), None);
        assert_eq!(kruskal_wallis(&[1.0, 2.0], &[1, 1]), None);
        assert_eq!(kruskal_wallis(&[], &[]), None);
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(mann_whitney(&[1.0], &[1.0]), None);
        // n^3 has no exact number here.
        assert_eq!(mann_whitney(&[0.0; 142], &vec![0.0; 330_142]), None);
    }

    #[test]
    fn the_area_is_one_where_all_inside_are_larger() {
        assert_eq!(mann_whitney(&[3.0, 4.0], &[1.0, 2.0, -0.0]).unwrap().auc, 1.0);
        assert_eq!(mann_whitney(&[0.0], &[-0.0, 5.0]).unwrap().auc, 0.25, "zeros are equal");
    }
}
