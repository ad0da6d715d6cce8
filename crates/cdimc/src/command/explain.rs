//! `cdimc explain`: why samples are in their clusters, and what to measure next.

use super::cluster::command_line;
use super::input::Input;
use super::output::{OutputFolder, readable_csv};
use crate::data::Seed;
use crate::reasons::Reasons;
use crate::report::sample_html;
use crate::{NamedModel, note, say};
use anyhow::ensure;
use clap::Args;
use std::path::PathBuf;

/// Explain why samples are in their clusters, and which view to measure next
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  cdimc explain --model result/model.safetensors --view rna.csv --view protein.npy --id patient --sample P17"
)]
pub(crate) struct Explain {
    /// The model of an earlier run of t-mixture
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    #[command(flatten)]
    input: Input,
    /// A sample to explain [default: all samples, which needs -o]
    #[arg(long = "sample", value_name = "ID", allow_hyphen_values = true)]
    samples: Vec<String>,
    /// The folder for explanations.csv, and a page to print for each named sample
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Replace an earlier run in DIR
    #[arg(long)]
    force: bool,
    /// The seed for drawing views that are missing
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

impl Explain {
    pub(crate) fn run(self, quiet: bool) -> anyhow::Result<()> {
        ensure!(
            self.output.is_some() || !self.samples.is_empty(),
            "name samples with --sample ID, or a folder for all of them with -o DIR"
        );
        let inputs = [self.input.files(), vec![self.model.clone()]].concat();
        let begin = |folder: &PathBuf| OutputFolder::begin(folder, self.force, &inputs);
        let output = self.output.as_ref().map(begin).transpose()?;
        let model = NamedModel::load(&self.model)?;
        let (joined, which) = self.input.read_for(&model)?;
        let found = model.reasons(&joined, &which, &self.samples, Seed::new(self.seed))?;
        let named = if self.samples.is_empty() { &[][..] } else { &found };
        for (i, reasons) in named.iter().enumerate().filter(|_| output.is_none() || !quiet) {
            say!("{}{}", if i > 0 { "\n" } else { "" }, reasons.text().trim_end());
        }
        let Some(output) = output else { return Ok(()) };
        let command = command_line();
        let (header, rows) = Reasons::table(&found);
        output.write("explanations.csv", &readable_csv(&header, 6, rows)?)?;
        for (i, reasons) in named.iter().enumerate() {
            output.write(&page_file(i, &reasons.id), sample_html(reasons, &command).as_bytes())?;
        }
        let folder = output.shown.clone();
        output.finish(&serde_json::json!({
            "command": command, "model": self.model, "method": model.model.method(),
            "input": self.input, "seed": self.seed, "samples": self.samples,
        }))?;
        if !quiet {
            note!("{folder}: samples explained: {}, pages: {}", found.len(), named.len());
        }
        Ok(())
    }
}

/// Returns the file name of a sample's page: its number and the plain letters of its id.
fn page_file(i: usize, id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let id: String = id.chars().map(plain).take(100).collect();
    format!("{}-{id}.html", i + 1)
}
