//! `cdimc impute`: every view completed by a model, and how well that works.

use super::cluster::command_line;
use super::input::Input;
use super::output::{OutputFolder, csv_bytes, unused, view_file};
use crate::NamedModel;
use crate::data::{MultiView, Seed};
use crate::numbers::six_digits;
use crate::recovery::{NOTHING_HIDDEN, recoveries};
use crate::report::imputation_html;
use crate::say;
use clap::Args;
use std::path::PathBuf;

/// Fill in missing views from the ones that were measured
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  cdimc impute --model result/model.safetensors --view rna.csv --view protein.npy --id patient -o filled"
)]
pub(crate) struct Impute {
    /// The model of an earlier run
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    #[command(flatten)]
    input: Input,
    /// The seed that draws the rows hidden for the report
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The folder for the completed views, one CSV each with a column `filled`
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Replace an earlier run in DIR
    #[arg(long)]
    force: bool,
}

impl Impute {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let model = NamedModel::load(&self.model)?;
        let files: Vec<String> =
            model.views.iter().map(|view| view_file(&view.name)).collect::<Result<_, _>>()?;
        let inputs = [self.input.files(), vec![self.model.clone()]].concat();
        let output = OutputFolder::begin(&self.output, self.force, &inputs)?;
        let (joined, which) = self.input.read_for(&model)?;
        let views = model.impute(&joined, &which)?;
        for (view, (named, values)) in model.views.iter().zip(&views).enumerate() {
            let given = which.iter().position(|&v| v == view);
            let is_measured = |g: &usize, i: usize| joined.data.mask().is_observed(i, *g);
            let mut n_filled = vec![0_usize; joined.ids.len()];
            let of_view = joined.filled.iter().filter(|filled| filled.view == named.name);
            of_view.flat_map(|filled| &filled.samples).for_each(|&i| n_filled[i] += 1);
            let filled = |i: usize| match given.filter(|g| is_measured(g, i)) {
                Some(_) => n_filled[i] as f64 / named.features.len() as f64,
                None => 1.0,
            };
            let own = ["id", "filled"].map(|name| unused(name, &named.features));
            let header: Vec<&String> = own.iter().chain(&named.features).collect();
            let rows = values.rows().into_iter().enumerate().map(|(i, row)| {
                let row: Vec<String> = row.iter().map(ToString::to_string).collect();
                [joined.ids[i].clone(), six_digits(filled(i))].into_iter().chain(row)
            });
            output.write(&files[view], &csv_bytes(&header, rows)?)?;
        }
        let seed = Seed::new(self.seed);
        let impute = |hidden: &MultiView| model.model.impute_from(hidden, &which);
        let standardizers = model.model.standardizers();
        let recovered = recoveries(impute, standardizers, &joined.data, &which, seed)?;
        let names: Vec<String> = model.views.iter().map(|view| view.name.clone()).collect();
        let command = command_line();
        output.write("report.html", imputation_html(&command, &names, &recovered).as_bytes())?;
        let record = serde_json::json!({
            "command": command, "model": self.model, "method": model.model.method(),
            "input": self.input, "seed": self.seed, "views": names, "recovered": recovered,
        });
        output.finish(&record)?;
        if recovered.is_empty() {
            say!("{NOTHING_HIDDEN}");
        }
        for found in recovered {
            let neighbors =
                found.error_of_neighbors.map_or_else(|| "none".into(), |e| format!("{e:.3}"));
            say!(
                "{}: {} hidden rows recovered with R2 = {:.3}; error in standard deviations {:.3}, of column means \
                 {:.3}, of nearest neighbors {neighbors}",
                names[found.view],
                found.hidden_rows,
                found.r2,
                found.error,
                found.error_of_means
            );
        }
        Ok(())
    }
}
