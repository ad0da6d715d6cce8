//! All scores at once, and purity.

use crate::NmiNormalizer::{Arithmetic, Geometric, Max, Min};
use crate::contingency::Contingency;
use crate::{MetricsError, accuracy, information, pairs};
use serde::Serialize;

/// Defines [`Scores`] from one entry per score: doc comment, name, and function of the contingency table.
macro_rules! scores {
    ($($(#[$doc:meta])* $name:ident: $of_table:expr,)*) => {
        /// All scores of a clustering, as fractions; high is good.
        #[derive(Debug, Clone, Copy, PartialEq, Serialize)]
        pub struct Scores {
            $($(#[$doc])* pub $name: f64,)*
        }

        impl Scores {
            /// Names of all scores, in the order of [`Scores::iter`].
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// Iterates over names and values.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, f64)> {
                [$((stringify!($name), self.$name)),*].into_iter()
            }

            fn of_table(table: &Contingency) -> Self {
                Self { $($name: $of_table(table),)* }
            }
        }
    };
}

scores! {
    /// Clustering accuracy, [`accuracy`](fn@crate::accuracy).
    acc: accuracy::of_table,
    /// Mutual information divided by the arithmetic mean of the entropies, [`nmi`](crate::nmi).
    nmi: |table| information::of_table(table, Arithmetic),
    /// Mutual information divided by the geometric mean of the entropies.
    nmi_geometric: |table| information::of_table(table, Geometric),
    /// Mutual information divided by the larger entropy.
    nmi_max: |table| information::of_table(table, Max),
    /// Mutual information divided by the smaller entropy.
    nmi_min: |table| information::of_table(table, Min),
    /// Adjusted Rand index, [`ari`](crate::ari).
    ari: pairs::ari_of_table,
    /// Purity, [`purity`].
    purity: purity_of_table,
    /// Precision over pairs of samples, [`pairwise`](crate::pairwise).
    precision: |table| pairs::pairwise_of_table(table).precision,
    /// Recall over pairs of samples.
    recall: |table| pairs::pairwise_of_table(table).recall,
    /// F over pairs of samples.
    f: |table| pairs::pairwise_of_table(table).f,
}

/// Returns all scores of the labels `found` against `truth`.
///
/// # Errors
/// Same as [`accuracy`](fn@crate::accuracy).
pub fn scores(truth: &[usize], found: &[usize]) -> Result<Scores, MetricsError> {
    let table = Contingency::new(truth, found)?;
    accuracy::check_size(&table)?;
    Ok(Scores::of_table(&table))
}

/// Returns the purity, in `(0, 1]`: the fraction of samples in the largest class of their cluster.
///
/// Pur = 1/n · `Σ_b max_a N_ab`. It does not penalize many clusters: clusters of single samples are pure.
///
/// ```
/// # use cdimc_metrics::purity;
/// assert_eq!(purity(&[0, 0, 1, 1], &[0, 0, 0, 0])?, 0.5);
/// assert_eq!(purity(&[0, 0, 1, 1], &[0, 1, 2, 3])?, 1.0);
/// # Ok::<(), cdimc_metrics::MetricsError>(())
/// ```
///
/// # Errors
/// If the numbers of labels differ or are 0.
pub fn purity(truth: &[usize], found: &[usize]) -> Result<f64, MetricsError> {
    Ok(purity_of_table(&Contingency::new(truth, found)?))
}

fn purity_of_table(table: &Contingency) -> f64 {
    let mut largest = vec![0; table.clusters.len()];
    for (&(_, cluster), &count) in &table.cells {
        largest[cluster] = count.max(largest[cluster]);
    }
    largest.iter().sum::<usize>() as f64 / table.n_samples as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NmiNormalizer, Pairwise, ari, nmi, pairwise};
    use proptest::prelude::*;

    const NORMALIZERS: [NmiNormalizer; 4] = [Arithmetic, Geometric, Min, Max];

    fn all(truth: &[usize], found: &[usize]) -> Scores {
        scores(truth, found).unwrap()
    }

    // Values of scikit-learn 1.9.1, NMI in the order of NORMALIZERS.
    #[test]
    fn nmi_and_ari_agree_with_scikit_learn() {
        let check = |truth: &[usize], found: &[usize], expected: [f64; 4], expected_ari| {
            for (normalizer, expected) in NORMALIZERS.into_iter().zip(expected) {
                let value = nmi(truth, found, normalizer).unwrap();
                approx::assert_abs_diff_eq!(value, expected, epsilon = 1e-14);
            }
            approx::assert_abs_diff_eq!(ari(truth, found).unwrap(), expected_ari, epsilon = 1e-15);
        };
        check(&[0, 0, 0], &[0, 0, 0], [1.0; 4], 1.0);
        check(&[0, 1, 2], &[0, 0, 0], [0.0; 4], 0.0);
        check(&[0, 0, 0], &[0, 1, 2], [0.0; 4], 0.0);
        check(&[0], &[0], [1.0; 4], 1.0);
        check(&[0, 0, 1, 1], &[0, 1, 2, 3], [2.0 / 3.0, 0.5_f64.sqrt(), 1.0, 0.5], 0.0);
        check(&[0, 0, 1, 1], &[0, 1, 0, 1], [0.0; 4], -0.5);
        check(&[0, 1, 2, 3], &[0, 1, 2, 3], [1.0; 4], 1.0);
        // i = range(100); truth = [k*k % 7 for k in i]; found = [k**3 % 11 % 5 for k in i]
        let truth: Vec<usize> = (0..100).map(|i| i * i % 7).collect();
        let found: Vec<usize> = (0..100).map(|i| i * i * i % 11 % 5).collect();
        let expected = [
            0.012_657_576_535_935_857,
            0.012_697_886_309_046_981,
            0.013_752_520_283_670_818,
            0.011_724_128_624_549_508,
        ];
        check(&truth, &found, expected, -0.025_597_074_620_043_424);
    }

    #[test]
    fn every_score_is_found_by_its_name() {
        let (truth, found) = ([0, 0, 1, 1, 2, 2], [5, 5, 3, 3, 3, 9]);
        let s = all(&truth, &found);
        let first = [s.acc, s.nmi, s.nmi_geometric, s.nmi_max, s.nmi_min, s.ari, s.purity];
        let by_field = first.into_iter().chain([s.precision, s.recall, s.f]);
        assert!(s.iter().eq(Scores::NAMES.iter().copied().zip(by_field)), "{s:?}");
        assert_eq!(s.nmi_max, nmi(&truth, &found, Max).unwrap());
    }

    #[test]
    fn pairwise_scores_have_a_value_where_no_pair_is_found_or_true() {
        let p = |truth: &[usize], found: &[usize]| {
            let Pairwise { precision, recall, f } = pairwise(truth, found).unwrap();
            (precision, recall, f)
        };
        assert_eq!(p(&[0, 0, 1], &[0, 1, 2]), (1.0, 0.0, 0.0));
        assert_eq!(p(&[0, 1, 2], &[0, 0, 1]), (0.0, 1.0, 0.0));
        assert_eq!(p(&[0, 1, 2], &[2, 1, 0]), (1.0, 1.0, 1.0));
        assert_eq!(p(&[0, 0, 1, 1], &[0; 4]), (1.0 / 3.0, 1.0, 0.5));
        assert_eq!(p(&[0, 0, 1, 1], &[0, 1, 0, 1]), (0.0, 0.0, 0.0));
    }

    #[test]
    fn labels_that_cannot_be_compared_are_errors() {
        assert_eq!(
            scores(&[0, 1], &[0]).unwrap_err().to_string(),
            "labels = 1, true labels = 2: one of each is needed for every sample"
        );
        assert_eq!(
            purity(&[], &[]).unwrap_err().to_string(),
            "samples = 0: at least one sample is needed"
        );
    }

    #[test]
    fn large_counts_do_not_overflow() {
        let truth: Vec<usize> = (0..300_000).map(|i| i / 150_000).collect();
        let found: Vec<usize> = truth.iter().map(|&label| usize::MAX - label).collect();
        assert_eq!(all(&truth, &found).ari, 1.0);
        let halves: Vec<usize> = (0..300_000).map(|i| i % 2).collect();
        assert!(all(&truth, &halves).ari.abs() < 1e-4);
        assert_eq!(all(&truth, &halves).nmi, 0.0);
    }

    fn two_labelings() -> impl Strategy<Value = (Vec<usize>, Vec<usize>)> {
        prop::collection::vec((0_usize..6, 0_usize..8), 1..60)
            .prop_map(|labels| labels.into_iter().unzip())
    }

    proptest! {
        #[test]
        fn equal_partitions_score_1_under_any_names(
            labels in prop::collection::vec(0_usize..9, 1..60), step in 1_usize..50,
        ) {
            let renamed: Vec<usize> = labels.iter().map(|label| 1000 - label * step).collect();
            let s = all(&labels, &renamed);
            for (name, score) in s.iter() {
                prop_assert_eq!(score, 1.0, "{}", name);
            }
        }

        #[test]
        fn scores_lie_in_their_ranges_and_order((truth, found) in two_labelings()) {
            let s = all(&truth, &found);
            prop_assert!(0.0 < s.acc && s.acc <= s.purity && s.purity <= 1.0);
            prop_assert!((-0.5..=1.0).contains(&s.ari));
            let by = |normalizer| nmi(&truth, &found, normalizer).unwrap();
            let ordered = [0.0, by(Max), by(Arithmetic), by(Geometric), by(Min), 1.0];
            prop_assert!(ordered.is_sorted_by(|a, b| *a <= b + 1e-12), "{:?}", ordered);
        }

        #[test]
        fn order_and_names_never_matter((truth, found) in two_labelings(), names: [usize; 8]) {
            prop_assume!(names.iter().collect::<std::collections::BTreeSet<_>>().len() == 8);
            let renamed: Vec<usize> = found.iter().rev().map(|&label| names[label]).collect();
            let reversed: Vec<usize> = truth.iter().rev().copied().collect();
            let (a, b) = (all(&truth, &found), all(&reversed, &renamed));
            prop_assert_eq!((a.acc, a.purity), (b.acc, b.purity));
            prop_assert_eq!((a.precision, a.recall, a.f), (b.precision, b.recall, b.f));
            prop_assert!((a.nmi - b.nmi).abs() < 1e-12 && (a.ari - b.ari).abs() < 1e-12);
        }

        #[test]
        fn nmi_is_symmetric((truth, found) in two_labelings()) {
            let difference = all(&truth, &found).nmi - all(&found, &truth).nmi;
            prop_assert!(difference.abs() < 1e-12, "{}", difference);
        }

        #[test]
        fn pairs_agree_with_an_exhaustive_count((truth, found) in two_labelings()) {
            let n = truth.len();
            let (mut both, mut of_truth, mut of_found) = (0.0, 0.0, 0.0);
            for (i, j) in (0..n).flat_map(|i| (0..i).map(move |j| (i, j))) {
                let (t, f) = (truth[i] == truth[j], found[i] == found[j]);
                both += f64::from(u8::from(t && f));
                of_truth += f64::from(u8::from(t));
                of_found += f64::from(u8::from(f));
            }
            let s = all(&truth, &found);
            prop_assert!(of_found == 0.0 || s.precision == both / of_found);
            prop_assert!(of_truth == 0.0 || s.recall == both / of_truth);
            let chance = of_truth * of_found / ((n * (n - 1)) as f64 / 2.0);
            let expected = (both - chance) / (f64::midpoint(of_truth, of_found) - chance);
            prop_assert!(s.ari == 1.0 || (s.ari - expected).abs() < 1e-12);
        }
    }
}
