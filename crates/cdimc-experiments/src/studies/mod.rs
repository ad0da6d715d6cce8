//! `cargo xtask study`: small experiments behind single tables of the documents, on simulated or damaged data.

mod accuracy;
mod coverage;
mod damage;
mod markers;
mod next_view;
mod simulated;
mod warnings;

use crate::datasets;
use crate::table::{Summary, or_dash};
use anyhow::Result;
use cdimc_data::{Dataset, Seed, ViewMask};
use std::process::ExitCode;

#[derive(clap::Subcommand)]
pub enum Study {
    /// Count false and missed warnings on sound and flawed data: the tables of docs/comparisons.md.
    Warnings(warnings::Arguments),
    /// Count false and found markers: the table of docs/comparisons.md.
    Markers(markers::Arguments),
    /// Reveal the view that doubtful samples should be measured in: the table of docs/guides/one-sample.md.
    NextView(Masks),
    /// Count how often sets of clusters contain the cluster by all views: the table of docs/guides/one-sample.md.
    Coverage(coverage::Arguments),
    /// Score t-mixture on a data set with known classes, one line per mask.
    Accuracy(accuracy::Arguments),
    /// Damage files and read them: docs/notes/reliability.md.
    #[command(subcommand)]
    Damage(damage::Command),
}

impl Study {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        match self {
            Self::Warnings(arguments) => warnings::run(arguments),
            Self::Markers(arguments) => markers::run(arguments),
            Self::NextView(masks) => next_view::run(masks),
            Self::Coverage(arguments) => coverage::run(arguments),
            Self::Accuracy(arguments) => accuracy::run(arguments),
            Self::Damage(command) => damage::run(command),
        }?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Masks of a data set with known classes.
#[derive(clap::Args)]
pub struct Masks {
    /// A data set, as in experiments.
    dataset: String,
    /// A missing pattern, as in experiments, or `authors:RATE` for the masks published with the data.
    pattern: String,
    /// Number of masks.
    #[arg(long, value_name = "N", default_value_t = 5)]
    masks: usize,
}

impl Masks {
    /// Measures N numbers under each mask, which has a name; returns mean and deviation of each number.
    fn measure<const N: usize>(
        &self,
        measure: impl Fn(&str, &Dataset, ViewMask, Seed) -> Result<[f64; N]>,
    ) -> Result<[String; N]> {
        let dataset = datasets::load(&self.dataset)?;
        let published =
            self.pattern.strip_prefix("authors:").map(|rate| format!("per-view:{rate}"));
        let text = published.as_ref().unwrap_or(&self.pattern);
        let mut all = Vec::new();
        for i in 0..self.masks {
            let seed = Seed::new(i as u64);
            let mask = datasets::mask(&dataset, text, published.as_ref().map(|_| i), seed)?;
            let name = format!("{} {} {i}", self.dataset, self.pattern);
            all.push(measure(&name, &dataset, mask, seed)?);
        }
        let of = |j: usize| or_dash(Summary::of(all.iter().map(|found| found[j])));
        Ok(std::array::from_fn(of))
    }
}
