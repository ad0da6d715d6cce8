//! `--k-range`: the number of clusters chosen by trials.

use super::run::Run;
use super::watch::Watch;
use anyhow::{Context, bail};
use cdimc::cluster::{ClusterError, Observer, Step};
use cdimc::cluster_number::{Candidate, decide, graph_eigenvalues};
use cdimc::data::Seed;
use cdimc::mixture::{ClusterNumberSearch, TMixture};
use cdimc::note;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::str::FromStr;

/// Seeds of each number of clusters where stability over them decides.
const SEEDS: usize = 3;
/// Neighbors in the graph whose eigengap is looked at.
const NEIGHBORS: usize = 10;

/// The numbers of clusters to try, and the seeds of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NumberRange {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// How many clusterings of each are compared.
    pub(crate) seeds: Option<usize>,
}

impl FromStr for NumberRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rule = || format!("{text}: must be FROM..TO with 2 <= FROM <= TO");
        let (from, to) = text.split_once("..").ok_or_else(rule)?;
        let number = |text: &str| text.trim_start_matches('=').parse().map_err(|_| rule());
        let (from, to) = (number(from)?, number(to)?);
        if from < 2 || to < from { Err(rule()) } else { Ok(Self { from, to, seeds: None }) }
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
        let NumberRange { from, to, .. } = range;
        let data = &self.joined.data;
        let samples = || self.record.input.samples(&self.joined);
        if 3 * to >= 2 * data.n_samples() {
            bail!(
                "{}: --k-range {from}..{to}: must end below two thirds of the number of samples",
                samples()
            );
        }
        let seed = Seed::new(self.record.seed).stream("number of clusters");
        let silent = |_: &Step| watch.goes_on();
        let observer = Observer::new(&silent);
        // Where no sample has two views there is nothing that views could share.
        let shared = (0..data.n_samples()).any(|i| data.mask().n_views_of(i) > 1);
        let search = shared
            .then(|| ClusterNumberSearch::new(&TMixture::default(), data, to, seed, &observer));
        let search = search.transpose().with_context(samples)?;
        let seeds = range.seeds.unwrap_or(if shared { 0 } else { SEEDS });
        let shortened = self.clusterer.shortened();
        let method = shortened.as_deref().unwrap_or(self.clusterer.as_ref());
        let eigenvalues = graph_eigenvalues(data, NEIGHBORS, to + 1, seed)?;
        for n_clusters in from..=to {
            if self.record.trials.iter().any(|trial| trial.n_clusters == n_clusters) {
                continue;
            }
            let mut found = Vec::with_capacity(seeds);
            for nth in 0..seeds as u64 {
                let fitted = method.fit(data, n_clusters, seed.nth(nth), &observer);
                found.push(fitted.with_context(samples)?.clustering);
            }
            let mut trial = Candidate::new(n_clusters, &found, &eigenvalues, seed);
            if let Some(search) = &search {
                trial.held_out =
                    Some(search.held_out(n_clusters, &observer).with_context(samples)?);
            }
            self.record.trials.push(trial);
            let (done, of) = (n_clusters + 1 - from, to + 1 - from);
            if watch.step(&Step { stage: "choose-k", done, of, loss: None })
                == ControlFlow::Break(())
            {
                return Err(ClusterError::Interrupted { checkpoint: None }.into());
            }
        }
        let number = decide(self.record.trials.clone(), seeds);
        if !quiet {
            let next = number.runner_up.map_or_else(String::new, |k| format!("; runner-up: {k}"));
            note!("{}{next}", number.reason);
        }
        let chosen = number.chosen;
        self.record.cluster_number = Some(number);
        Ok(chosen)
    }
}
