//! Self-paced selection: samples enter the training from easy to hard (paper, eq. 8, 9 and 15).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the age lambda grows and which samples it lets in.
///
/// The paper leaves these choices open or prints them differently from the authors' code. The defaults follow the
/// code, except for the scope: the code has one age for all samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct AgeRule {
    /// Whether each cluster has an age of its own.
    pub scope: Scope,
    /// The standard deviation in eq. 9.
    pub deviation: Deviation,
    /// How a loss is compared with the age in eq. 15.
    pub comparison: Comparison,
    /// Which comes first after the network's step, the age or the selection.
    pub update: Update,
    /// The t of the first round in eq. 9.
    pub first_round: FirstRound,
}

/// The samples whose losses make up one age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The samples of one cluster: every cluster keeps its easiest samples, however wide it is.
    #[default]
    Cluster,
    /// All samples (paper and authors' code): a compact cluster is selected first and then draws in samples of others.
    All,
}

/// The standard deviation of the losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Deviation {
    /// Divided by n - 1 (authors' code).
    #[default]
    Unbiased,
    /// Divided by n (the code of ASPC-DA, the ancestor of eq. 9).
    Population,
}

/// How a loss is compared with the age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Comparison {
    /// Selected if the loss is below the age (authors' code).
    #[default]
    Below,
    /// Selected if the loss is at most the age (paper, eq. 15).
    AtMost,
}

/// The order of the last two updates of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Update {
    /// The age from the newest losses, then the selection by it (authors' code).
    #[default]
    AgeFirst,
    /// The selection by the age of the round before, then the age (paper, Algorithm 1); the age before
    /// the first round is infinite, so that all samples are selected.
    SelectionFirst,
}

/// The value of t in the first round; the share of the deviation is t / T.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FirstRound {
    /// 0, ..., T - 1 (authors' code).
    #[default]
    Zero,
    /// 1, ..., T (paper, Algorithm 1).
    One,
}

/// The ages and the samples they let in, between two rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Pace {
    /// The age lambda (eq. 9) of every cluster, infinite before the first round.
    pub ages: Vec<f64>,
    /// Whether each sample counts, r (eq. 15), `(n_samples)`.
    pub selected: Vec<bool>,
}

impl Pace {
    /// The start: every sample is selected (Algorithm 1, initialization).
    pub fn all(n_samples: usize, n_clusters: usize) -> Self {
        Self { ages: vec![f64::INFINITY; n_clusters], selected: vec![true; n_samples] }
    }

    /// Number of samples selected.
    pub fn n_selected(&self) -> usize {
        self.selected.iter().filter(|&&r| r).count()
    }

    /// Mean age over the samples, which have these clusters.
    pub fn mean_age(&self, labels: &[usize]) -> f64 {
        labels.iter().map(|&label| self.ages[label]).sum::<f64>() / labels.len() as f64
    }

    /// Updates ages and selection from losses and clusters of the samples after the 0-based round `round` of `rounds`.
    pub fn update(
        &mut self,
        rule: AgeRule,
        (losses, labels): (&[f64], &[usize]),
        (round, rounds): (usize, usize),
    ) {
        let groups = match rule.scope {
            Scope::All => vec![(0..losses.len()).collect()],
            Scope::Cluster => {
                let mut groups = vec![Vec::new(); self.ages.len()];
                labels.iter().enumerate().for_each(|(i, &label)| groups[label].push(i));
                groups
            }
        };
        for (group, members) in groups.iter().enumerate().filter(|(_, members)| !members.is_empty())
        {
            let losses: Vec<f64> = members.iter().map(|&i| losses[i]).collect();
            let (before, after) = (self.ages[group], rule.age(&losses, round, rounds));
            match rule.scope {
                Scope::All => self.ages.fill(after),
                Scope::Cluster => self.ages[group] = after,
            }
            let by = match rule.update {
                Update::AgeFirst => after,
                Update::SelectionFirst => before,
            };
            let selected = rule.select(&losses, by);
            members.iter().zip(selected).for_each(|(&i, selected)| self.selected[i] = selected);
        }
    }
}

impl AgeRule {
    /// The age after the 0-based round `round` of `rounds` (eq. 9):
    /// lambda = mean(losses) + t / T sd(losses).
    pub fn age(self, losses: &[f64], round: usize, rounds: usize) -> f64 {
        let t = match self.first_round {
            FirstRound::Zero => round,
            FirstRound::One => round + 1,
        };
        let (mean, deviation) = self.moments(losses);
        mean + t as f64 * deviation / rounds as f64
    }

    /// Which losses are within `age` (eq. 15); if none is, the smallest one and its equals.
    ///
    /// Without that exception equal losses, all at their mean, would end the training.
    pub fn select(self, losses: &[f64], age: f64) -> Vec<bool> {
        let within = |loss: f64| match self.comparison {
            Comparison::Below => loss < age,
            Comparison::AtMost => loss <= age,
        };
        let selected: Vec<bool> = losses.iter().map(|&loss| within(loss)).collect();
        if selected.contains(&true) {
            return selected;
        }
        let smallest = losses.iter().copied().fold(f64::INFINITY, f64::min);
        losses.iter().map(|&loss| loss == smallest).collect()
    }

    /// Mean and standard deviation in two passes; the deviation of a single loss is 0.
    fn moments(self, losses: &[f64]) -> (f64, f64) {
        let n = losses.len() as f64;
        let mean = losses.iter().sum::<f64>() / n;
        let squares: f64 = losses.iter().map(|loss| (loss - mean) * (loss - mean)).sum();
        let divisor = match self.deviation {
            Deviation::Unbiased => (n - 1.0).max(1.0),
            Deviation::Population => n,
        };
        (mean, (squares / divisor).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CODE: AgeRule = AgeRule {
        scope: Scope::All,
        deviation: Deviation::Unbiased,
        comparison: Comparison::Below,
        update: Update::AgeFirst,
        first_round: FirstRound::Zero,
    };

    #[test]
    fn the_default_is_the_authors_code_except_for_the_scope() {
        assert_eq!(AgeRule { scope: Scope::All, ..AgeRule::default() }, CODE);
    }

    #[test]
    fn age_is_the_mean_plus_a_share_of_the_deviation() {
        let losses = [1.0, 2.0, 3.0, 6.0]; // mean 3, squares 14
        assert_eq!(CODE.age(&losses, 0, 100), 3.0);
        assert_eq!(CODE.age(&losses, 50, 100), 3.0 + 0.5 * (14.0_f64 / 3.0).sqrt());
        let population = AgeRule { deviation: Deviation::Population, ..CODE };
        assert_eq!(population.age(&losses, 50, 100), 3.0 + 0.5 * 3.5_f64.sqrt());
        let from_one = AgeRule { first_round: FirstRound::One, ..CODE };
        assert_eq!(from_one.age(&losses, 49, 100), CODE.age(&losses, 50, 100));
    }

    #[test]
    fn one_sample_has_no_deviation_and_is_selected() {
        assert_eq!(CODE.age(&[0.25], 99, 100), 0.25);
        assert_eq!(CODE.select(&[0.25], 0.25), [true]);
    }

    #[test]
    fn equal_losses_are_all_selected_under_either_comparison() {
        for comparison in [Comparison::Below, Comparison::AtMost] {
            let mut pace = Pace::all(3, 1);
            pace.update(AgeRule { comparison, ..CODE }, (&[0.5; 3], &[0; 3]), (0, 10));
            assert_eq!(pace.selected, [true; 3]);
        }
    }

    #[test]
    fn the_comparisons_differ_on_a_loss_equal_to_the_age() {
        let losses = [1.0, 2.0, 3.0];
        assert_eq!(CODE.select(&losses, 2.0), [true, false, false]);
        let paper = AgeRule { comparison: Comparison::AtMost, ..CODE };
        assert_eq!(paper.select(&losses, 2.0), [true, true, false]);
    }

    #[test]
    fn the_printed_order_selects_by_the_age_of_the_round_before() {
        let rule = AgeRule { update: Update::SelectionFirst, ..CODE };
        let (mut pace, labels) = (Pace::all(3, 1), [0; 3]);
        pace.update(rule, (&[1.0, 2.0, 6.0], &labels), (0, 10));
        assert_eq!(pace, Pace { ages: vec![3.0], selected: vec![true; 3] });
        pace.update(rule, (&[2.5, 3.5, 0.0], &labels), (1, 10));
        assert_eq!(pace.selected, [true, false, true]);
    }

    #[test]
    fn every_cluster_has_an_age_of_its_own() {
        // Cluster 0: losses 1, 2, 6, mean 3, SD 7^(1/2). Cluster 1: losses 10, 20, mean 15, SD 50^(1/2).
        let (losses, labels) = ([1.0, 10.0, 2.0, 20.0, 6.0], [0, 1, 0, 1, 0]);
        let mut pace = Pace::all(5, 3);
        pace.update(AgeRule { scope: Scope::Cluster, ..CODE }, (&losses, &labels), (5, 10));
        assert_eq!(pace.ages[..2], [3.0 + 0.5 * 7.0_f64.sqrt(), 15.0 + 0.5 * 50.0_f64.sqrt()]);
        assert_eq!(pace.selected, [true, true, true, false, false]);
        let mean = (3.0 * pace.ages[0] + 2.0 * pace.ages[1]) / 5.0;
        assert!((pace.mean_age(&labels) - mean).abs() < 1e-12);
        // One age for all, 7.8 + SD / 2 = 11.8, selects the whole compact cluster.
        pace.update(AgeRule { scope: Scope::All, ..CODE }, (&losses, &labels), (5, 10));
        assert_eq!(pace.selected, [true, true, true, false, true]);
    }

    proptest! {
        #[test]
        fn the_age_grows_with_the_round_and_with_it_the_selection(
            losses in proptest::collection::vec(0.0..1e3_f64, 1..60),
            round in 0_usize..99,
        ) {
            let (young, old) = (CODE.age(&losses, round, 100), CODE.age(&losses, round + 1, 100));
            prop_assert!(young <= old);
            let (before, after) = (CODE.select(&losses, young), CODE.select(&losses, old));
            prop_assert!(before.iter().zip(&after).all(|(&b, &a)| a || !b));
        }

        #[test]
        fn at_least_one_is_selected_and_at_the_end_at_least_half(
            losses in proptest::collection::vec(0.0..1e3_f64, 2..60),
        ) {
            prop_assert!(CODE.select(&losses, CODE.age(&losses, 0, 100)).contains(&true));
            // Cantelli's inequality: at most half of the losses exceed mean + sd.
            let rule = AgeRule { comparison: Comparison::AtMost, first_round: FirstRound::One, ..CODE };
            let kept = rule.select(&losses, rule.age(&losses, 99, 100));
            prop_assert!(2 * kept.iter().filter(|&&r| r).count() >= losses.len());
        }

        #[test]
        fn the_two_passes_keep_small_deviations_on_large_means(
            offset in 1e6..1e8_f64,
        ) {
            let losses = [offset, offset + 1.0, offset + 2.0];
            prop_assert!((CODE.age(&losses, 100, 100) - (offset + 2.0)).abs() < 1e-6);
        }
    }
}
