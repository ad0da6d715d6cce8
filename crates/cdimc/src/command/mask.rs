//! `cdimc mask`: hides part of complete tables, for experiments.

use super::input::Input;
use super::output::{OutputFolder, RUN_FILE, csv_bytes};
use anyhow::anyhow;
use cdimc::data::{DataError, MissingPattern, Seed};
use cdimc::say;
use clap::Args;
use std::path::PathBuf;

/// Hide views of samples by a missing pattern, for experiments
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  cdimc mask --view rna.csv --view protein.csv --id patient --pattern per-view:0.3 -o masked"
)]
pub(crate) struct Mask {
    #[command(flatten)]
    input: Input,
    /// per-view:0.3, paired:0.5, incomplete:0.3:mem, cells:0.3, per-view:0.1,0.5, blocks:0.3, random-views:2, chain, ring
    #[arg(long)]
    pattern: String,
    /// The seed of the draw
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The folder for the masked tables, one CSV a view
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Replace an earlier run in DIR
    #[arg(long)]
    force: bool,
}

impl Mask {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let pattern: MissingPattern = self.pattern.parse()?;
        let output = OutputFolder::begin(&self.output, self.force)?;
        let joined = self.input.read()?;
        let data = &joined.data;
        // Samples and views are told by the names the user gave them.
        let named = |error: DataError| match error {
            DataError::SampleWithoutView { sample } => anyhow!(
                "--pattern {}: sample `{}` would keep no view: every sample needs at least one",
                self.pattern,
                joined.ids[sample]
            ),
            DataError::ViewWithoutSample { view } | DataError::EmptiedView { view, .. } => {
                anyhow!(
                    "--pattern {}: view `{}` would keep no sample: every view needs at least one",
                    self.pattern,
                    joined.names[view]
                )
            }
            error => anyhow!(error).context(self.input.samples(&joined)),
        };
        let seed = Seed::new(self.seed);
        let drawn = pattern.mask(data.n_samples(), data.n_views(), seed).map_err(named)?;
        let both =
            |(i, v): (usize, usize)| drawn.is_observed(i, v) && data.mask().is_observed(i, v);
        let shape = (data.n_samples(), data.n_views());
        let mask = cdimc::data::ViewMask::new(ndarray::Array2::from_shape_fn(shape, both))
            .map_err(named)?;
        for (v, name) in joined.names.iter().enumerate() {
            let id = self.input.id.as_deref().unwrap_or("id");
            let header: Vec<&str> =
                std::iter::once(id).chain(joined.features[v].iter().map(String::as_str)).collect();
            let rows = mask.observed_rows(v).into_iter().map(|i| {
                let values =
                    data.view(v).row(i).iter().map(ToString::to_string).collect::<Vec<_>>();
                std::iter::once(joined.ids[i].clone()).chain(values)
            });
            output.write(&format!("{name}.csv"), &csv_bytes(&header, rows)?)?;
        }
        let record = serde_json::json!({
            "command": "mask", "pattern": self.pattern, "seed": self.seed, "input": self.input,
        });
        output.write(RUN_FILE, serde_json::to_string_pretty(&record)?.as_bytes())?;
        output.finish()?;
        say!("{}", cdimc::data::MaskReport::new(&mask));
        Ok(())
    }
}
