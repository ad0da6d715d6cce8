//! `--k-range`: the number of clusters chosen by trials.

use super::run::Run;
use super::watch::Watch;
use anyhow::{Context, bail};
use cdimc::cluster::{ClusterError, Observer, Step};
use cdimc::cluster_number::{Candidate, ClusterNumber, decide, graph_eigenvalues};
use cdimc::data::Seed;
use cdimc::note;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::str::FromStr;

/// The numbers of clusters to try, and the seeds of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NumberRange {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) seeds: usize,
}

impl FromStr for NumberRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rule = || format!("{text}: must be FROM..TO with 2 <= FROM <= TO");
        let (from, to) = text.split_once("..").ok_or_else(rule)?;
        let number = |text: &str| text.trim_start_matches('=').parse().map_err(|_| rule());
        let (from, to) = (number(from)?, number(to)?);
        if from < 2 || to < from { Err(rule()) } else { Ok(Self { from, to, seeds: 0 }) }
    }
}

impl Run {
    /// Tries every number of clusters that was not tried yet and chooses one; where it is interrupted, what
    /// is done stays in the record.
    pub(super) fn choose_number(
        &mut self,
        range: NumberRange,
        quiet: bool,
        watch: &Watch,
    ) -> anyhow::Result<usize> {
        let NumberRange { from, to, seeds } = range;
        let data = &self.joined.data;
        let samples = || self.record.input.samples(&self.joined);
        if to >= data.n_samples() {
            bail!("{}: --k-range {from}..{to}: must end below the number of samples", samples());
        }
        let shortened = self.clusterer.shortened();
        let method = shortened.as_deref().unwrap_or(self.clusterer.as_ref());
        let seed = Seed::new(self.record.seed).stream("number of clusters");
        let eigenvalues = graph_eigenvalues(data, 10, to + 1, seed)?;
        let silent = |_: &Step| watch.goes_on();
        for n_clusters in from..=to {
            if self.record.trials.iter().any(|trial| trial.n_clusters == n_clusters) {
                continue;
            }
            let mut found = Vec::with_capacity(seeds);
            for nth in 0..seeds {
                let observer = Observer::new(&silent);
                let fitted = method.fit(data, n_clusters, seed.nth(nth as u64), &observer);
                found.push(fitted.with_context(samples)?.clustering);
                let done = (n_clusters - from) * seeds + nth + 1;
                let of = (to - from + 1) * seeds;
                let step = Step { stage: "choose-k", done, of, loss: None };
                if watch.step(&step) == ControlFlow::Break(()) && nth + 1 < seeds {
                    return Err(ClusterError::Interrupted { checkpoint: None }.into());
                }
            }
            let trial = Candidate::new(n_clusters, &found, &eigenvalues, seed);
            self.record.trials.push(trial);
            if watch.goes_on() == ControlFlow::Break(()) {
                return Err(ClusterError::Interrupted { checkpoint: None }.into());
            }
        }
        let number: ClusterNumber = decide(self.record.trials.clone(), seeds);
        if !quiet {
            note!("{}", number.reason);
        }
        let chosen = number.chosen;
        self.record.cluster_number = Some(number);
        Ok(chosen)
    }
}
