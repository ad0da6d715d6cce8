//! `cdimc predict`: clusters of new samples that have any of a model's views.

use super::input::Input;
use super::output::{OutputFile, samples_csv};
use super::parts::{InputParts, MissingViews};
use crate::core::Clustering;
use crate::parts::Seen;
use crate::sample_table::SampleTable;
use crate::{NamedModel, note};
use clap::Args;
use std::collections::HashSet;
use std::path::PathBuf;

/// Assign new samples, with any subset of the views, to the clusters of a model
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  cdimc predict --model result/model.safetensors --view rna=new_rna.csv --id patient -o new_labels.csv"
)]
pub(crate) struct Predict {
    /// The model of an earlier run
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    #[command(flatten)]
    input: Input,
    /// The CSV for the labels
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace FILE if it exists
    #[arg(long)]
    force: bool,
}

impl Predict {
    pub(crate) fn run(self, quiet: bool) -> anyhow::Result<()> {
        let inputs = [self.input.files(), vec![self.model.clone()]].concat();
        let output = OutputFile::begin(&self.output, self.force, &inputs)?;
        let model = NamedModel::load(&self.model)?;
        let (mut n, mut n_unusual, mut clusters) = (0, 0, HashSet::new());
        let mut count = |found: &Clustering| {
            n += found.labels.len();
            n_unusual += found.unusual.iter().flatten().filter(|&&unusual| unusual).count();
            clusters.extend(found.labels.iter().copied());
        };
        let mut missing = MissingViews::default();
        match InputParts::of(&self.input)? {
            None => {
                let (joined, which) = self.input.read_for(&model)?;
                let found = model.predict(&joined, &which)?;
                count(&found);
                let table = SampleTable::new(&found, &joined);
                output.finish(&samples_csv(&table, &joined.ids, &joined.unobserved)?)?;
            }
            Some(parts) => {
                let seen = Some(Seen::default());
                output.finish_pieces(parts.labels(Some(&model), &mut missing, seen, count))?;
            }
        }
        missing.report();
        if 2 * n_unusual > n {
            tracing::warn!(
                "do not use these clusters: {n_unusual} of {n} samples are unlike anything in training; check units, \
                 logarithms and scaling"
            );
        }
        if !quiet {
            let unusual = match n_unusual {
                0 => String::new(),
                n => format!("; unlike anything in training: {n}"),
            };
            note!(
                "{}: {n} samples in {} of the {} clusters of {}{unusual}",
                self.output.display(),
                clusters.len(),
                model.model.n_clusters(),
                model.model.method()
            );
        }
        Ok(())
    }
}
