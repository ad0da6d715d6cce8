//! `cdimc predict`: clusters of new samples that have any of a model's views.

use super::cluster::Labels;
use super::input::Input;
use super::output::OutputFile;
use crate::{NamedModel, note};
use clap::Args;
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
        let (joined, which) = self.input.read_for(&model)?;
        let found = model.predict(&joined, &which)?;
        let labels = Labels {
            labels: &found.labels,
            confidence: Some(&found.confidence),
            losses: found.losses.as_deref(),
            unusual: found.unusual.as_deref(),
            stability: None,
            by_view: &[],
        };
        output.finish(&labels.csv(&joined)?)?;
        if !quiet {
            let unusual = found.unusual.iter().flatten().filter(|&&unusual| unusual).count();
            let unusual = match unusual {
                0 => String::new(),
                n => format!("; unlike anything in training: {n}"),
            };
            note!(
                "{}: {} samples in {} of the {} clusters of {}{unusual}",
                self.output.display(),
                found.labels.len(),
                found.labels.iter().collect::<std::collections::HashSet<_>>().len(),
                model.model.n_clusters(),
                model.model.method()
            );
        }
        Ok(())
    }
}
