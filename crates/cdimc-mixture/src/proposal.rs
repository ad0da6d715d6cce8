//! Which number of clusters a curve of shared information speaks for, and how surely.

use crate::cluster_number::HeldOut;
use serde::{Deserialize, Serialize};

/// One proposed number of clusters, the next best, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Proposal {
    /// The number of clusters to take.
    pub n_clusters: usize,
    /// The next best; none only if no other was tried.
    pub runner_up: Option<usize>,
    /// The share of the splits that would each by itself choose a number, the largest share first.
    pub votes: Vec<Vote>,
    /// One sentence that says why.
    pub reason: String,
}

/// How many splits of the samples choose a number of clusters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Vote {
    /// The number of clusters.
    pub n_clusters: usize,
    /// The share of the splits that choose it, in [0, 1].
    pub share: f64,
}

/// The share of the largest gain that a number must gain to be taken.
const SHARE: f64 = 0.25;

/// Proposes a number of clusters, given T of several: the elbow of the mean curve, which is the last number whose gain
/// is at least a quarter of the largest gain. Beyond the clusters that are there a mixture goes on to split what has
/// shape, and gains less by it.
///
/// The gain of a number is what a cluster more adds to T, which is 0 for one cluster: the views are independent given the
/// cluster. Gains that do not fall are averaged with those before them until all do, which takes noise from the curve
/// (isotonic regression; Barlow, Bartholomew, Bremner and Brunk, 1972). Every split does the same with its own gains,
/// which is its vote; that of largest share among the others is the runner-up. Nothing if `curve` is empty.
pub fn propose(curve: &[HeldOut]) -> Option<Proposal> {
    let mut curve: Vec<&HeldOut> = curve.iter().filter(|point| point.n_clusters > 1).collect();
    curve.sort_by_key(|held_out| held_out.n_clusters);
    curve.dedup_by_key(|held_out| held_out.n_clusters);
    let numbers: Vec<usize> = curve.iter().map(|held_out| held_out.n_clusters).collect();
    let mean: Vec<f64> = curve.iter().map(|held_out| held_out.shared_information).collect();
    let gains = falling_gains(&numbers, &mean);
    // That of the mean holds for the splits too, whose own would be their noise.
    let least = SHARE * gains.first()?.max(0.0);
    let chosen = elbow(&gains, least);
    let n_clusters = numbers[chosen];
    let n_splits = curve.iter().map(|held_out| held_out.parts.len()).min().unwrap_or(0);
    let votes = votes(&numbers, &curve, n_splits, least);
    let voted = votes.iter().map(|vote| vote.n_clusters).find(|&k| k != n_clusters);
    let beside = chosen.checked_sub(1).unwrap_or(chosen + 1);
    let runner_up = voted.or_else(|| numbers.get(beside).copied());
    let share = votes.iter().find(|vote| vote.n_clusters == n_clusters).map_or(0.0, |v| v.share);
    let reason = if numbers.len() == 1 {
        "the only number tried".into()
    } else if gains[chosen] <= 0.0 {
        "on held-out samples the views share nothing under any number tried".into()
    } else if chosen + 1 == numbers.len() {
        "shared information rises up to the last number tried: more clusters may share more".into()
    } else {
        format!(
            "shared information rises less beyond it; {:.0} % of the splits choose it by themselves",
            100.0 * share
        )
    };
    Some(Proposal { n_clusters, runner_up, votes, reason })
}

/// What each of `numbers` adds to the value of the one before, a cluster, so that no gain is larger than one before it.
fn falling_gains(numbers: &[usize], values: &[f64]) -> Vec<f64> {
    // Sums, clusters and numbers of what has one gain.
    let mut blocks: Vec<(f64, f64, usize)> = Vec::with_capacity(numbers.len());
    let (mut before, mut value_before) = (1, 0.0);
    for (&number, &value) in numbers.iter().zip(values) {
        let mut block = (value - value_before, (number - before) as f64, 1);
        while let Some(last) = blocks.pop_if(|last| last.0 / last.1 < block.0 / block.1) {
            block = (last.0 + block.0, last.1 + block.1, last.2 + block.2);
        }
        blocks.push(block);
        (before, value_before) = (number, value);
    }
    blocks.iter().flat_map(|&(sum, steps, n)| std::iter::repeat_n(sum / steps, n)).collect()
}

/// The place of the last gain of `least` or more; the first if there is none.
fn elbow(gains: &[f64], least: f64) -> usize {
    gains.iter().rposition(|&gain| gain > 0.0 && gain >= least).unwrap_or(0)
}

/// The numbers that splits choose, the largest share first, the smaller number of equals.
fn votes(numbers: &[usize], curve: &[&HeldOut], n_splits: usize, least: f64) -> Vec<Vote> {
    let mut counts = vec![0_usize; numbers.len()];
    for split in 0..n_splits {
        let values: Vec<f64> = curve.iter().map(|held_out| held_out.parts[split]).collect();
        counts[elbow(&falling_gains(numbers, &values), least)] += 1;
    }
    let vote =
        |(&n_clusters, &count)| Vote { n_clusters, share: count as f64 / n_splits.max(1) as f64 };
    let mut votes: Vec<Vote> = numbers.iter().zip(&counts).map(vote).collect();
    votes.retain(|vote| vote.share > 0.0);
    votes.sort_by(|a, b| b.share.total_cmp(&a.share));
    votes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(usize, f64)]) -> Vec<HeldOut> {
        let held_out = |&(n_clusters, t): &(usize, f64)| HeldOut {
            n_clusters,
            shared_information: t,
            parts: vec![t - 0.01, t, t + 0.01],
        };
        points.iter().map(held_out).collect()
    }

    #[test]
    fn the_elbow_is_the_last_gain_of_a_quarter_of_the_largest() {
        let proposal = propose(&curve(&[(2, 0.8), (3, 1.2), (4, 1.41), (5, 1.5)])).unwrap();
        assert_eq!((proposal.n_clusters, proposal.runner_up), (4, Some(3)));
        assert!(proposal.reason.contains("100 % of the splits"), "{}", proposal.reason);
        let proposal = propose(&curve(&[(2, 0.8), (3, 1.2), (4, 1.39), (5, 1.5)])).unwrap();
        assert_eq!(proposal.n_clusters, 3);
    }

    #[test]
    fn gains_that_do_not_fall_are_averaged() {
        let gains = falling_gains(&[2, 3, 4, 5, 7], &[0.1, 0.5, 0.6, 0.7, 0.7]);
        let expected = [0.25, 0.25, 0.1, 0.1, 0.0];
        assert!(gains.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{gains:?}");
    }

    #[test]
    fn what_only_makes_up_for_a_loss_is_no_gain() {
        let points = [(2, 0.37), (3, 0.79), (4, 0.86), (5, 0.84), (6, 0.70), (7, 0.88)];
        assert_eq!(propose(&curve(&points)).unwrap().n_clusters, 3);
    }

    #[test]
    fn splits_that_choose_otherwise_are_counted() {
        let knee = |k: usize, at: usize| k.min(at) as f64;
        let held_out = |n_clusters: usize| {
            let parts = vec![knee(n_clusters, 3), knee(n_clusters, 3), knee(n_clusters, 6)];
            let shared_information = parts.iter().sum::<f64>() / 3.0;
            HeldOut { n_clusters, shared_information, parts }
        };
        let proposal = propose(&(2..=9).map(held_out).collect::<Vec<_>>()).unwrap();
        let shares: Vec<(usize, f64)> =
            proposal.votes.iter().map(|vote| (vote.n_clusters, vote.share)).collect();
        assert_eq!(shares, [(3, 2.0 / 3.0), (6, 1.0 / 3.0)]);
        assert_eq!((proposal.n_clusters, proposal.runner_up), (3, Some(6)));
    }

    #[test]
    fn a_range_that_ends_too_early_is_said() {
        let rising = curve(&[(2, 0.5), (3, 1.0), (4, 1.5)]);
        let proposal = propose(&rising).unwrap();
        assert_eq!((proposal.n_clusters, proposal.runner_up), (4, Some(3)));
        assert!(proposal.reason.contains("more clusters may share more"));
        assert_eq!(propose(&[]), None);
    }

    #[test]
    fn one_number_is_no_curve_that_bends() {
        for shared in [-0.1, 0.5] {
            let proposal = propose(&curve(&[(3, shared)])).unwrap();
            assert_eq!((proposal.n_clusters, proposal.runner_up), (3, None));
            assert_eq!(proposal.reason, "the only number tried");
        }
    }

    #[test]
    fn of_a_curve_that_never_rises_it_is_said_that_the_views_share_nothing() {
        let proposal = propose(&curve(&[(2, -0.3), (3, -0.2), (4, -0.4)])).unwrap();
        assert_eq!(proposal.n_clusters, 2);
        assert!(proposal.reason.contains("the views share nothing"), "{proposal:?}");
    }
}
