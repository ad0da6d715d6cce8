//! `cdimc mask`: hides part of complete tables, for experiments.

use super::input::Input;
use super::inspect::print_patterns;
use super::output::{OutputFolder, csv_bytes, unused, view_file};
use crate::data::{DataError, MaskReport, MissingPattern, Seed, ViewMask};
use anyhow::anyhow;
use clap::Args;
use std::collections::HashSet;
use std::path::PathBuf;

/// Number of draws after which a sample counts as impossible.
const ATTEMPTS: u64 = 200;

/// Hide views of samples by a missing pattern, for experiments
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  cdimc mask --view rna.csv --view protein.csv --id patient --pattern per-view:0.3 -o masked"
)]
pub(crate) struct Mask {
    #[command(flatten)]
    input: Input,
    /// Shares of all samples: per-view:0.3 or per-view:0.1,0.5 hides, paired:0.5 keeps complete; or incomplete:0.3:mem,
    /// cells:0.3, blocks:0.3, random-views:2, chain, ring, complete
    #[arg(long)]
    pattern: String,
    /// The seed of the draw
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The folder for the masked tables, one CSV per view
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Replace an earlier run in DIR
    #[arg(long)]
    force: bool,
}

impl Mask {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let pattern: MissingPattern = self.pattern.parse()?;
        let output = OutputFolder::begin(&self.output, self.force, &self.input.files())?;
        let joined = self.input.read()?;
        let gaps = joined.filled.iter().flat_map(|filled| {
            let (view, column) = (filled.view.as_str(), filled.column.as_str());
            filled.samples.iter().map(move |&i| (view, column, i))
        });
        let gaps: HashSet<(&str, &str, usize)> = gaps.collect();
        let files: Vec<String> =
            joined.names.iter().map(|name| view_file(name)).collect::<Result<_, _>>()?;
        let data = &joined.data;
        // Errors use the names of samples and views in the user's files.
        let named = |error: DataError| match error {
            DataError::SampleWithoutView { sample } => anyhow!(
                "--pattern {}: sample `{}` would keep no view: every sample needs at least one",
                self.pattern,
                joined.ids[sample]
            ),
            DataError::ViewWithoutSample { view } | DataError::EmptiedView { view, .. } => anyhow!(
                "--pattern {}: view `{}` would keep no sample: every view needs at least one",
                self.pattern,
                joined.names[view]
            ),
            error => anyhow!(error).context(self.input.samples(&joined)),
        };
        let (mask, n_again) = draw(&pattern, data.mask(), Seed::new(self.seed)).map_err(named)?;
        if n_again > 0 {
            tracing::warn!(
                "{n_again} samples were drawn again, because no view would have been left"
            );
        }
        for (v, file) in files.iter().enumerate() {
            let (view, features) = (joined.names[v].as_str(), &joined.features[v]);
            let id = unused(self.input.id_column().unwrap_or("id"), features);
            let header: Vec<&String> = std::iter::once(&id).chain(features).collect();
            let rows = mask.observed_rows(v).into_iter().map(|i| {
                let mut buffer = Vec::new();
                let row = data.matrix(v).row(i, &mut buffer).iter().enumerate();
                // Missing cells stay missing.
                let is_gap = |j: usize| gaps.contains(&(view, features[j].as_str(), i));
                let cell =
                    |(j, x): (usize, &f64)| if is_gap(j) { String::new() } else { x.to_string() };
                let values = row.map(cell).collect::<Vec<_>>();
                std::iter::once(joined.ids[i].clone()).chain(values)
            });
            output.write(file, &csv_bytes(&header, rows)?)?;
        }
        let record = serde_json::json!({
            "command": "mask", "pattern": self.pattern, "seed": self.seed, "input": self.input,
        });
        output.finish(&record)?;
        print_patterns(&joined.names, &MaskReport::new(&mask))
    }
}

/// Applies `pattern` to `mask`; also returns how many samples would have lost their last view. Those are drawn again,
/// one by one, until a view is left.
fn draw(
    pattern: &MissingPattern,
    mask: &ViewMask,
    seed: Seed,
) -> Result<(ViewMask, usize), DataError> {
    let (n_samples, n_views) = mask.entries().dim();
    let mut entries = ndarray::Array2::from_elem((n_samples, n_views), false);
    let mut open: Vec<usize> = (0..n_samples).collect();
    let mut n_again = 0;
    for attempt in 0..ATTEMPTS {
        // The first draw is the same as for a complete table.
        let seed = if attempt == 0 { seed } else { seed.stream("again").nth(attempt) };
        let drawn = pattern.mask(n_samples, n_views, seed)?;
        for &i in &open {
            for v in 0..n_views {
                entries[[i, v]] = drawn.is_observed(i, v) && mask.is_observed(i, v);
            }
        }
        open.retain(|&i| !entries.row(i).iter().any(|&observed| observed));
        if attempt == 0 {
            n_again = open.len();
        }
        if open.is_empty() {
            break;
        }
    }
    Ok((ViewMask::new(entries)?, n_again))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_that_would_lose_their_last_view_are_drawn_again() {
        let entries = ndarray::Array2::from_shape_fn((200, 2), |(i, v)| v == 0 || i % 2 == 0);
        let mask = ViewMask::new(entries).unwrap();
        let pattern: MissingPattern = "per-view:0.3".parse().unwrap();
        let (left, n_again) = draw(&pattern, &mask, Seed::new(1)).unwrap();
        assert!(n_again > 10, "{n_again}");
        let mut cells = left.entries().into_iter().zip(mask.entries());
        assert!(cells.all(|(is_left, was_there)| *was_there || !is_left));
    }
}
