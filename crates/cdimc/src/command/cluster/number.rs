//! `--k-range`: the number of clusters chosen by trials.

use super::run::Run;
use super::watch::Watch;
use anyhow::Context;
use cdimc::cluster_number::NumberSearch;
use cdimc::core::{Observer, Step};
use cdimc::data::Seed;
use cdimc::note;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

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
        let samples = || self.record.input.samples(&self.joined);
        let shown = |step: &Step| match step.stage {
            NumberSearch::STAGE => watch.step(step),
            _ => watch.goes_on(),
        };
        let search = NumberSearch {
            method: self.clusterer.as_ref(),
            data: &self.joined.data,
            range: range.from..=range.to,
            n_seeds: range.seeds,
            seed: Seed::new(self.record.seed),
        };
        let number =
            search.choose(&mut self.record.trials, &Observer::new(&shown)).with_context(samples)?;
        if !quiet {
            let next = number.runner_up.map_or_else(String::new, |k| format!("; runner-up: {k}"));
            note!("{}{next}", number.reason);
        }
        let chosen = number.chosen;
        self.record.cluster_number = Some(number);
        Ok(chosen)
    }
}
