//! Proposal of a number of clusters from a curve of shared information.

use crate::cluster_number::HeldOut;
use cdimc_core::CRITICAL_Z;
use serde::{Deserialize, Serialize};

/// Proposed number of clusters, runner-up and reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Proposal {
    /// Proposed number of clusters.
    pub n_clusters: usize,
    /// Runner-up; `None` if only one number was tried.
    pub runner_up: Option<usize>,
    /// Numbers that the data support.
    pub supported: Supported,
    /// Share of the splits that choose each number by themselves, in descending order.
    pub votes: Vec<Vote>,
    /// Reason, one sentence.
    pub reason: String,
}

/// Range of the numbers of clusters that the data support; the proposed number lies in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Supported {
    /// Last number up to which every step gains at least half of the largest gain, beyond chance.
    pub clearly: usize,
    /// Last number under which the views share more than under the best smaller one, beyond chance.
    pub up_to: usize,
}

/// Votes of the splits for one number of clusters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Vote {
    /// Number of clusters.
    pub n_clusters: usize,
    /// Share of the splits that choose it, in [0, 1].
    pub share: f64,
}

/// Share of the largest gain that a proposed number must reach.
const MIN_GAIN_SHARE: f64 = 0.25;
/// Share of the largest gain that every step to a clear number must reach.
const MIN_CLEAR_SHARE: f64 = 0.5;

/// Proposes the elbow of the mean curve: the last number with at least a quarter of the largest gain. Beyond the
/// true number, a mixture splits non-normal clusters, with smaller gains. Returns `None` for an empty `curve`.
///
/// The gain of a number is the increase of T per additional cluster; T is 0 for one cluster. Pooling of adjacent
/// gains makes them decrease (isotonic regression; Barlow, Bartholomew, Bremner and Brunk, 1972). Each split votes
/// by its own gains; the runner-up has the most votes among the other numbers.
pub fn propose(curve: &[HeldOut]) -> Option<Proposal> {
    let mut curve: Vec<&HeldOut> = curve.iter().filter(|point| point.n_clusters > 1).collect();
    curve.sort_by_key(|held_out| held_out.n_clusters);
    curve.dedup_by_key(|held_out| held_out.n_clusters);
    let numbers: Vec<usize> = curve.iter().map(|held_out| held_out.n_clusters).collect();
    let mean: Vec<f64> = curve.iter().map(|held_out| held_out.shared_information).collect();
    let gains = falling_gains(&numbers, &mean);
    // The threshold of the mean curve holds for the splits, too; their own would be noise.
    let least = MIN_GAIN_SHARE * gains.first()?.max(0.0);
    let chosen = elbow(&gains, least);
    let n_clusters = numbers[chosen];
    let n_splits = curve.iter().map(|held_out| held_out.parts.len()).min().unwrap_or(0);
    let votes = votes(&numbers, &curve, n_splits, least);
    let voted = votes.iter().map(|vote| vote.n_clusters).find(|&k| k != n_clusters);
    let neighbor = chosen.checked_sub(1).unwrap_or(chosen + 1);
    let runner_up = voted.or_else(|| numbers.get(neighbor).copied());
    let share = votes.iter().find(|vote| vote.n_clusters == n_clusters).map_or(0.0, |v| v.share);
    let supported = supported(&curve, gains[0], chosen);
    let reason = if numbers.len() == 1 {
        "the only number tried".into()
    } else if gains[chosen] <= 0.0 {
        "on held-out samples the views share nothing under any number tried".into()
    } else if chosen + 1 == numbers.len() {
        "shared information rises up to the last number tried: more clusters may share more".into()
    } else {
        format!(
            "{:.0} % of the splits choose it; the data support {} clearly, up to {}",
            100.0 * share,
            supported.clearly,
            supported.up_to
        )
    };
    Some(Proposal { n_clusters, runner_up, supported, votes, reason })
}

/// Returns the supported range, given the largest gain per cluster and the index of the proposed number.
fn supported(curve: &[&HeldOut], largest_gain: f64, chosen: usize) -> Supported {
    let gain = |more: &HeldOut, less: &HeldOut| {
        let parts: Vec<f64> = more.parts.iter().zip(&less.parts).map(|(a, b)| a - b).collect();
        let shared_information = more.shared_information - less.shared_information;
        let gain = HeldOut { n_clusters: more.n_clusters, shared_information, parts };
        Some(shared_information).filter(|&x| x > 0.0 && x > CRITICAL_Z * gain.standard_error())
    };
    let is_clear = |pair: &&[&HeldOut]| {
        let steps = (pair[1].n_clusters - pair[0].n_clusters) as f64;
        gain(pair[1], pair[0]).is_some_and(|x| x >= MIN_CLEAR_SHARE * largest_gain * steps)
    };
    let clear = curve.windows(2).take_while(is_clear).count();
    let up_to = (1..curve.len())
        .fold(0, |best, i| if gain(curve[i], curve[best]).is_some() { i } else { best });
    Supported {
        clearly: curve[clear.min(chosen)].n_clusters,
        up_to: curve[up_to.max(chosen)].n_clusters,
    }
}

/// Returns the gain in value per cluster of each of `numbers`, pooled so that gains do not increase.
fn falling_gains(numbers: &[usize], values: &[f64]) -> Vec<f64> {
    // Sum of gains, clusters and numbers of each pool.
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

/// Returns the index of the last gain of at least `least`; 0 without one.
fn elbow(gains: &[f64], least: f64) -> usize {
    gains.iter().rposition(|&gain| gain > 0.0 && gain >= least).unwrap_or(0)
}

/// Returns the votes of the splits in descending order; on a tie, the smaller number first.
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

    fn held_out(n_clusters: usize, t: f64, noise: f64) -> HeldOut {
        HeldOut { n_clusters, shared_information: t, parts: vec![t - noise, t, t + noise] }
    }

    fn curve(points: &[(usize, f64)]) -> Vec<HeldOut> {
        points.iter().map(|&(k, t)| held_out(k, t, 0.01)).collect()
    }

    #[test]
    fn the_elbow_is_the_last_gain_of_a_quarter_of_the_largest() {
        let proposal = propose(&curve(&[(2, 0.8), (3, 1.25), (4, 1.46), (5, 1.55)])).unwrap();
        assert_eq!((proposal.n_clusters, proposal.runner_up), (4, Some(3)));
        assert!(proposal.reason.contains("100 % of the splits"), "{}", proposal.reason);
        assert_eq!(proposal.supported, Supported { clearly: 3, up_to: 5 });
        let proposal = propose(&curve(&[(2, 0.8), (3, 1.25), (4, 1.44), (5, 1.55)])).unwrap();
        assert_eq!(proposal.n_clusters, 3);
    }

    #[test]
    fn gains_that_do_not_fall_are_averaged() {
        let gains = falling_gains(&[2, 3, 4, 5, 7], &[0.1, 0.5, 0.6, 0.7, 0.7]);
        let expected = [0.25, 0.25, 0.1, 0.1, 0.0];
        assert!(gains.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{gains:?}");
    }

    #[test]
    fn recovery_from_a_loss_is_no_gain() {
        let points = [(2, 0.37), (3, 0.79), (4, 0.86), (5, 0.84), (6, 0.70), (7, 0.88)];
        assert_eq!(propose(&curve(&points)).unwrap().n_clusters, 3);
    }

    #[test]
    fn a_gain_within_chance_supports_no_number() {
        let points = [(2, 0.8, 0.0), (3, 1.2, 0.5), (4, 1.6, 0.1), (5, 1.65, 0.1)];
        let proposal = propose(&points.map(|(k, t, noise)| held_out(k, t, noise))).unwrap();
        assert_eq!(proposal.supported, Supported { clearly: 2, up_to: 5 });
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
    fn a_range_that_ends_too_early_is_reported() {
        let proposal = propose(&curve(&[(2, 0.5), (3, 1.0), (4, 1.5)])).unwrap();
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
    fn a_curve_that_never_rises_means_nothing_is_shared() {
        let proposal = propose(&curve(&[(2, -0.3), (3, -0.2), (4, -0.4)])).unwrap();
        assert_eq!(proposal.n_clusters, 2);
        assert!(proposal.reason.contains("the views share nothing"), "{proposal:?}");
    }
}
