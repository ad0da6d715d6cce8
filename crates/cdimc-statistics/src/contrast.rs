//! Comparison of each group of numbers with all other numbers.

use crate::distributions::Z_975;
use crate::ranks::{MannWhitney, Ranks};

/// Smallest standard deviation within the groups, relative to the one of all values.
const MIN_SD_SHARE: f64 = 1e-6;

/// Difference between the values of a group (inside) and all other values (outside).
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Contrast {
    /// Hedges' g (J. Educ. Stat. 6, 1981, DOI 10.3102/10769986006002107): mean inside minus mean outside, in units of the
    /// standard deviation within both, corrected for small samples.
    ///
    /// g = J (mean₁ - mean₂) / s, s² = ((n₁ - 1) s₁² + (n₂ - 1) s₂²) / m, J = Γ(m / 2) / (√(m / 2) Γ((m - 1) / 2)), with
    /// m = n₁ + n₂ - 2. NaN if a value is infinite.
    pub difference: f64,
    /// Its 95 % interval, with the variance 1 / n₁ + 1 / n₂ + g² / (2 (n₁ + n₂)).
    pub interval: (f64, f64),
    /// Probability that a value inside is larger than one outside; ties count half.
    pub auc: f64,
    /// p value of the Mann-Whitney test.
    pub p: f64,
    /// Numbers of values inside and outside.
    pub n: (usize, usize),
}

/// Compares each of `n_groups` groups with all others; `None` if a side is empty, there are fewer than four values, or all
/// values are equal.
///
/// # Panics
/// If the numbers of values and groups differ, a group is not below `n_groups`, or a value is NaN.
pub fn contrasts(values: &[f64], groups: &[usize], n_groups: usize) -> Vec<Option<Contrast>> {
    assert_eq!(values.len(), groups.len(), "one group per value");
    let Ranks { ranks, ties } = Ranks::of(values);
    // Squares of values divided by the largest are finite.
    let unit = values.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let unit = if unit > 0.0 { unit } else { 1.0 };
    let mut all = vec![Group::default(); n_groups];
    for ((&group, &x), rank) in groups.iter().zip(values).zip(ranks) {
        let group = &mut all[group];
        group.n += 1;
        group.mean += x / unit;
        group.ranks += rank;
    }
    all.iter_mut().for_each(|group| group.mean /= group.n.max(1) as f64);
    for (&group, &x) in groups.iter().zip(values) {
        all[group].squares += (x / unit - all[group].mean).powi(2);
    }
    (0..n_groups).map(|inside| Contrast::of(&all, inside, ties)).collect()
}

#[derive(Debug, Clone, Copy, Default)]
struct Group {
    n: usize,
    mean: f64,
    /// Sum of squares about the mean.
    squares: f64,
    ranks: f64,
}

impl Contrast {
    fn of(all: &[Group], inside: usize, ties: f64) -> Option<Self> {
        let group = all[inside];
        let others =
            || all.iter().enumerate().filter(|(g, _)| *g != inside).map(|(_, group)| group);
        let n_outside: usize = others().map(|group| group.n).sum();
        let (a, b) = (group.n as f64, n_outside as f64);
        if group.n == 0 || n_outside == 0 || group.n + n_outside < 4 {
            return None;
        }
        let outside = others().map(|group| group.n as f64 * group.mean).sum::<f64>() / b;
        let about = |g: &Group| g.squares + g.n as f64 * (g.mean - outside).powi(2);
        let within = group.squares + others().map(about).sum::<f64>();
        let between = a * b / (a + b) * (group.mean - outside).powi(2);
        let freedom = a + b - 2.0;
        let finest = MIN_SD_SHARE * ((within + between) / (a + b)).sqrt();
        let deviation = (within / freedom).sqrt().max(finest);
        let MannWhitney { auc, p } = MannWhitney::of_ranks(group.ranks, (a, b), ties)?;
        let half = freedom / 2.0;
        let unbiased = (libm::lgamma(half) - libm::lgamma(half - 0.5)).exp() / half.sqrt();
        let g = unbiased * (group.mean - outside) / deviation;
        let error = (1.0 / a + 1.0 / b + g * g / (2.0 * (a + b))).sqrt();
        let interval = (g - Z_975 * error, g + Z_975 * error);
        Some(Self { difference: g, interval, auc, p, n: (group.n, n_outside) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mann_whitney;

    /// For 11, 13 and 7, 9: s = √2, J = Γ(1) / Γ(1/2) = 1 / √π.
    #[test]
    fn the_difference_is_hedges_g() {
        let found = contrasts(&[11.0, 7.0, 9.0, 13.0], &[0, 1, 1, 0], 3);
        let g = 4.0 / 2.0_f64.sqrt() / std::f64::consts::PI.sqrt();
        let error = (1.0 + g * g / 8.0).sqrt();
        for (found, g) in found[..2].iter().flatten().zip([g, -g]) {
            assert!((found.difference - g).abs() < 1e-12, "{found:?}");
            assert!((found.interval.0 - g + Z_975 * error).abs() < 1e-12);
            assert!((found.interval.1 - g - Z_975 * error).abs() < 1e-12);
            assert_eq!(found.n, (2, 2));
        }
        assert_eq!(found[2], None);
    }

    #[test]
    fn contrasts_agree_with_mann_whitney() {
        let (values, groups) = ([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0], [0, 0, 2, 2, 0, 3, 3]);
        for (group, found) in contrasts(&values, &groups, 4).into_iter().enumerate() {
            let side = |inside: bool| -> Vec<f64> {
                let is_there = |&(_, &g): &(&f64, &usize)| (g == group) == inside;
                values.iter().zip(&groups).filter(is_there).map(|(&x, _)| x).collect()
            };
            let expected = mann_whitney(&side(true), &side(false));
            assert_eq!(found.map(|c| (c.auc, c.p)), expected.map(|e| (e.auc, e.p)), "{group}");
        }
    }

    #[test]
    fn units_change_nothing_and_constant_groups_are_not_infinitely_far() {
        let scaled = |s: f64| {
            let values: Vec<f64> = [1.0, 2.0, 4.0, 3.0, 5.0].iter().map(|x| x * s).collect();
            contrasts(&values, &[0, 0, 0, 1, 1], 2)[0].unwrap().difference
        };
        for s in [1e-300, 1e300] {
            assert!((scaled(s) / scaled(1.0) - 1.0).abs() < 1e-9);
        }
        let apart = contrasts(&[1.0, 1.0, 0.0, 0.0, 0.0], &[0, 0, 1, 1, 1], 2)[0].unwrap();
        assert!(apart.difference > 1e5 && apart.difference.is_finite(), "{apart:?}");
    }

    #[test]
    fn equal_values_and_empty_sides_have_no_contrast() {
        assert_eq!(contrasts(&[1.0; 5], &[0, 0, 1, 1, 1], 2), [None, None]);
        assert_eq!(contrasts(&[0.0; 5], &[0, 0, 1, 1, 1], 2), [None, None]);
        assert_eq!(contrasts(&[1.0, 2.0, 3.0], &[0, 0, 1], 2), [None, None]);
        assert_eq!(contrasts(&[1.0, 2.0, 3.0, 4.0], &[1; 4], 2), [None, None]);
    }
}
