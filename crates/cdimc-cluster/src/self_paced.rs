//! Self-paced selection: samples enter the training from easy to hard (paper, eq. 8, 9 and 15).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rule by which the age lambda grows (eq. 9) and selects samples (eq. 15).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AgeRule {
    /// As in the authors' code: t = 0, ..., T - 1, the age before the selection, and losses below the age.
    #[default]
    Code,
    /// As in the paper: t = 1, ..., T, selection by the age of the previous round, and losses up to the age. The first
    /// age is infinite, so that all samples are selected.
    Paper,
}

/// Samples whose losses determine an age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The samples of each cluster, which keeps its easiest samples even if it is wide.
    #[default]
    Cluster,
    /// All samples (paper and authors' code): a compact cluster is selected first and then attracts samples of others.
    All,
}

/// Ages and the samples they select, between two rounds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pace {
    /// Age lambda (eq. 9) of every cluster, infinite before the first round.
    pub(crate) ages: Vec<f64>,
    /// Whether each sample is selected, r (eq. 15), `(n_samples)`.
    pub(crate) selected: Vec<bool>,
}

impl Pace {
    /// Returns the initial state, with every sample selected (Algorithm 1).
    pub(crate) fn all(n_samples: usize, n_clusters: usize) -> Self {
        Self { ages: vec![f64::INFINITY; n_clusters], selected: vec![true; n_samples] }
    }

    /// Returns the mean age over samples with these clusters.
    pub(crate) fn mean_age(&self, labels: &[usize]) -> f64 {
        labels.iter().map(|&label| self.ages[label]).sum::<f64>() / labels.len() as f64
    }

    /// Updates ages and selection from losses and clusters of the samples after the 0-based round `round` of `rounds`.
    pub(crate) fn update(
        &mut self,
        (rule, scope): (AgeRule, Scope),
        (losses, labels): (&[f64], &[usize]),
        (round, rounds): (usize, usize),
    ) {
        let mut groups = vec![Vec::new(); self.ages.len()];
        for (i, &label) in labels.iter().enumerate() {
            let group = if scope == Scope::All { 0 } else { label };
            groups[group].push(i);
        }
        for (group, members) in groups.iter().enumerate().filter(|(_, members)| !members.is_empty())
        {
            let losses: Vec<f64> = members.iter().map(|&i| losses[i]).collect();
            let before = self.ages[group];
            self.ages[group] = rule.age(&losses, round, rounds);
            let by = if rule == AgeRule::Code { self.ages[group] } else { before };
            let selected = rule.select(&losses, by);
            members.iter().zip(selected).for_each(|(&i, selected)| self.selected[i] = selected);
        }
        let age = self.ages[0];
        if scope == Scope::All {
            self.ages.fill(age);
        }
    }
}

impl AgeRule {
    /// Returns the age after the 0-based round `round` of `rounds` (eq. 9): lambda = mean(losses) + t / T sd(losses).
    pub(crate) fn age(self, losses: &[f64], round: usize, rounds: usize) -> f64 {
        let t = match self {
            Self::Code => round,
            Self::Paper => round + 1,
        };
        let (mean, deviation) = moments(losses);
        mean + t as f64 * deviation / rounds as f64
    }

    /// Returns which losses are within `age` (eq. 15); if none is, the smallest one and its equals.
    ///
    /// Without this exception, equal losses, all at their mean, would end the training.
    pub(crate) fn select(self, losses: &[f64], age: f64) -> Vec<bool> {
        let within = |loss: f64| match self {
            Self::Code => loss < age,
            Self::Paper => loss <= age,
        };
        let selected: Vec<bool> = losses.iter().map(|&loss| within(loss)).collect();
        if selected.contains(&true) {
            return selected;
        }
        let smallest = losses.iter().copied().fold(f64::INFINITY, f64::min);
        losses.iter().map(|&loss| loss == smallest).collect()
    }
}

/// Returns mean and standard deviation (divided by n - 1) in two passes; the standard deviation of a single loss is 0.
fn moments(losses: &[f64]) -> (f64, f64) {
    let n = losses.len() as f64;
    let mean = losses.iter().sum::<f64>() / n;
    let squares: f64 = losses.iter().map(|loss| (loss - mean) * (loss - mean)).sum();
    (mean, (squares / (n - 1.0).max(1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::AgeRule::{Code, Paper};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn age_is_the_mean_plus_a_share_of_the_deviation() {
        let losses = [1.0, 2.0, 3.0, 6.0]; // mean 3, squares 14
        assert_eq!(Code.age(&losses, 0, 100), 3.0);
        assert_eq!(Code.age(&losses, 50, 100), 3.0 + 0.5 * (14.0_f64 / 3.0).sqrt());
        assert_eq!(Paper.age(&losses, 49, 100), Code.age(&losses, 50, 100));
        assert_eq!(Code.age(&[0.25], 99, 100), 0.25);
        // Two passes keep small deviations on large means.
        let age = Code.age(&[1e8, 1e8 + 1.0, 1e8 + 2.0], 100, 100);
        assert!((age - (1e8 + 2.0)).abs() < 1e-6, "{age}");
    }

    #[test]
    fn equal_losses_are_all_selected_by_either_rule() {
        for rule in [Code, Paper] {
            let mut pace = Pace::all(3, 1);
            pace.update((rule, Scope::All), (&[0.5; 3], &[0; 3]), (0, 10));
            assert_eq!(pace.selected, [true; 3]);
        }
    }

    #[test]
    fn the_rules_differ_on_a_loss_equal_to_the_age() {
        let losses = [1.0, 2.0, 3.0];
        assert_eq!(Code.select(&losses, 2.0), [true, false, false]);
        assert_eq!(Paper.select(&losses, 2.0), [true, true, false]);
    }

    #[test]
    fn the_papers_order_selects_by_the_age_of_the_previous_round() {
        let (mut pace, labels) = (Pace::all(3, 1), [0; 3]);
        pace.update((Paper, Scope::All), (&[1.0, 2.0, 6.0], &labels), (0, 10));
        // Mean 3, SD 7^(1/2), t = 1.
        assert_eq!(pace, Pace { ages: vec![3.0 + 7.0_f64.sqrt() / 10.0], selected: vec![true; 3] });
        pace.update((Paper, Scope::All), (&[2.5, 3.5, 0.0], &labels), (1, 10));
        assert_eq!(pace.selected, [true, false, true]);
    }

    #[test]
    fn every_cluster_has_its_own_age() {
        // Cluster 0: losses 1, 2, 6, mean 3, SD 7^(1/2). Cluster 1: losses 10, 20, mean 15, SD 50^(1/2).
        let (losses, labels) = ([1.0, 10.0, 2.0, 20.0, 6.0], [0, 1, 0, 1, 0]);
        let mut pace = Pace::all(5, 3);
        pace.update((Code, Scope::Cluster), (&losses, &labels), (5, 10));
        assert_eq!(pace.ages[..2], [3.0 + 0.5 * 7.0_f64.sqrt(), 15.0 + 0.5 * 50.0_f64.sqrt()]);
        assert_eq!(pace.selected, [true, true, true, false, false]);
        let mean = (3.0 * pace.ages[0] + 2.0 * pace.ages[1]) / 5.0;
        assert!((pace.mean_age(&labels) - mean).abs() < 1e-12);
        // A common age, 7.8 + SD / 2 = 11.8, selects the whole compact cluster.
        pace.update((Code, Scope::All), (&losses, &labels), (5, 10));
        assert_eq!(pace.selected, [true, true, true, false, true]);
    }

    proptest! {
        #[test]
        fn the_age_grows_with_the_round_and_with_it_the_selection(
            losses in proptest::collection::vec(0.0..1e3_f64, 1..60),
            round in 0_usize..99,
        ) {
            let (young, old) = (Code.age(&losses, round, 100), Code.age(&losses, round + 1, 100));
            prop_assert!(young <= old);
            let (before, after) = (Code.select(&losses, young), Code.select(&losses, old));
            prop_assert!(before.iter().zip(&after).all(|(&b, &a)| a || !b));
        }

        #[test]
        fn at_least_one_is_selected_and_at_the_end_at_least_half(
            losses in proptest::collection::vec(0.0..1e3_f64, 1..60),
        ) {
            prop_assert!(Code.select(&losses, Code.age(&losses, 0, 100)).contains(&true));
            // Cantelli's inequality: at most half of the losses exceed mean + sd.
            let kept = Paper.select(&losses, Paper.age(&losses, 99, 100));
            prop_assert!(2 * kept.iter().filter(|&&r| r).count() >= losses.len());
        }
    }
}
