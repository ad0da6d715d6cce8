//! `cdimc predict`: clusters of new samples that have any of a model's views.

use super::cluster::labels_csv;
use super::input::Input;
use super::output::write_file;
use cdimc::NamedModel;
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
}

impl Predict {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let model = NamedModel::load(&self.model)?;
        let (joined, which) = self.input.read_for(&model)?;
        let found = model.model.predict_from(&joined.data, &which)?;
        let (losses, confidence) = (found.losses.as_deref(), Some(found.confidence.as_slice()));
        write_file(&self.output, &labels_csv(&joined, &found.labels, losses, confidence)?)
    }
}
