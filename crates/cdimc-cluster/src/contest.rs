//! Chooses the weight of the graph for the next run.
//!
//! The paper lets the data set decide the weight, alpha. Here whole runs compete by the shared information, √(TM), of
//! their final clusters, without labels. Successive halving (Jamieson and Talwalkar, AISTATS 2016) removes weights:
//! after every round the better half continues with other initial weights of the network.

use crate::CdimcNet;
use cdimc_core::Curve;
use serde::{Deserialize, Serialize};

/// Result of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reached {
    /// Weight of its graph.
    pub(crate) alpha: f64,
    /// √(TM) of its final clusters; `None` if it diverged.
    pub(crate) shared_information: Option<f64>,
}

/// Competing weights and finished runs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Contest {
    /// In ascending order.
    pub(crate) alphas: Vec<f64>,
    pub(crate) rounds: usize,
    pub(crate) ended: Vec<Reached>,
}

impl Contest {
    /// Returns the contest before the first run, with a single run if runs cannot be compared.
    pub(crate) fn new(settings: &CdimcNet, can_choose: bool) -> Self {
        let mut alphas = settings.alpha.values().to_vec();
        alphas.sort_by(f64::total_cmp);
        let rounds = if can_choose { settings.restarts } else { 1 };
        if !can_choose {
            alphas.truncate(1);
        }
        Self { alphas, rounds, ended: Vec::new() }
    }

    /// Returns the weight and the round of the next run; `None` after the last.
    pub(crate) fn next(&self) -> Option<(f64, usize)> {
        let mut alive = self.alphas.clone();
        let (mut round, mut done) = (0, 0);
        while self.ended.len() >= done + alive.len() {
            done += alive.len();
            round += 1;
            let best = |alpha: &f64| {
                let of_it = self.ended[..done].iter().filter(|run| run.alpha == *alpha);
                let reached = of_it.filter_map(|run| run.shared_information);
                reached.fold(f64::NEG_INFINITY, f64::max)
            };
            alive.sort_by(|a, b| best(b).total_cmp(&best(a)));
            alive.truncate(alive.len().div_ceil(2));
            alive.sort_by(f64::total_cmp);
        }
        (round < self.rounds).then(|| (alive[self.ended.len() - done], round))
    }

    /// Returns weight and shared information of every run in the order they ended, 0 for one that diverged, and the
    /// number of the best run.
    pub(crate) fn curves(&self, chosen: usize) -> [Curve; 3] {
        let curve = |name: &str, values| Curve { name: name.into(), values };
        let shared = self.ended.iter().map(|run| run.shared_information.unwrap_or(0.0));
        [
            curve("run-alpha", self.ended.iter().map(|run| run.alpha).collect()),
            curve("run-shared-information", shared.collect()),
            curve("chosen-run", vec![chosen as f64]),
        ]
    }

    pub(crate) fn n_runs(&self) -> usize {
        let halved = |&alive: &usize| (alive > 1).then(|| alive.div_ceil(2));
        let rounds = std::iter::successors(Some(self.alphas.len()), halved).take(self.rounds);
        let runs: Vec<usize> = rounds.collect();
        // One weight runs once per round.
        runs.iter().sum::<usize>().saturating_add(self.rounds - runs.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OneOrMore;

    fn contest(alphas: &[f64], restarts: usize) -> Contest {
        let alpha = OneOrMore::Several(alphas.to_vec());
        Contest::new(&CdimcNet { alpha, restarts, ..CdimcNet::default() }, true)
    }

    #[test]
    fn the_better_half_continues_after_every_round() {
        let mut contest = contest(&[1.0, 0.1, 0.01, 0.001], 3);
        let values = [Some(0.5), Some(0.9), None, Some(0.7), Some(0.2), Some(1.0), Some(0.3)];
        let mut seen = Vec::new();
        for shared_information in values {
            let (alpha, round) = contest.next().unwrap();
            seen.push((alpha, round));
            contest.ended.push(Reached { alpha, shared_information });
        }
        let first = [(0.001, 0), (0.01, 0), (0.1, 0), (1.0, 0)];
        // 0.01 and 1 are the best of the first round; then 1, by its second run.
        assert_eq!(seen, [&first[..], &[(0.01, 1), (1.0, 1), (1.0, 2)]].concat());
        assert_eq!((contest.next(), contest.n_runs()), (None, 7));
    }

    #[test]
    fn one_weight_runs_once_per_restart() {
        let mut contest = contest(&[0.1], 5);
        for restart in 0..5 {
            assert_eq!(contest.next(), Some((0.1, restart)));
            contest.ended.push(Reached { alpha: 0.1, shared_information: None });
        }
        assert_eq!((contest.next(), contest.n_runs()), (None, 5));
        let undecidable = Contest::new(&CdimcNet::default(), false);
        assert_eq!((undecidable.alphas, undecidable.rounds), (vec![0.01], 1));
    }
}
