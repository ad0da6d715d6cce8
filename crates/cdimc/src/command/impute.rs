//! `cdimc impute`: every view completed by a model's decoders, and how well that works.

use super::cluster::command_line;
use super::input::Input;
use super::output::{OutputFolder, RUN_FILE, csv_bytes};
use cdimc::NamedModel;
use cdimc::data::{MultiView, Seed, ViewMask};
use cdimc::report::imputation_html;
use cdimc::say;
use cdimc::tables::Joined;
use clap::Args;
use rand::seq::SliceRandom;
use std::path::PathBuf;

/// Share of a view's measured rows that are hidden to see how well they are recovered.
const HELD_OUT: f64 = 0.1;

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
        let output = OutputFolder::begin(&self.output, self.force)?;
        let (joined, which) = self.input.read_for(&model)?;
        let views = model.model.impute_from(&joined.data, &which)?;
        for (view, (named, values)) in model.views.iter().zip(&views).enumerate() {
            let given = which.iter().position(|&v| v == view);
            let filled = |i: usize| !given.is_some_and(|g| joined.data.mask().is_observed(i, g));
            let header: Vec<&str> = ["id", "filled"]
                .into_iter()
                .chain(named.features.iter().map(String::as_str))
                .collect();
            let rows = values.rows().into_iter().enumerate().map(|(i, row)| {
                let row: Vec<String> = row.iter().map(ToString::to_string).collect();
                [joined.ids[i].clone(), u8::from(filled(i)).to_string()].into_iter().chain(row)
            });
            output.write(&format!("{}.csv", named.name), &csv_bytes(&header, rows)?)?;
        }
        let recovered = self.recovery(&model, &joined, &which)?;
        let command = command_line();
        output.write("report.html", imputation_html(&command, &recovered).as_bytes())?;
        let record = serde_json::json!({
            "command": command, "model": self.model, "input": self.input, "seed": self.seed,
            "recovered": recovered.iter().map(|(view, rows, r2, error)| serde_json::json!({
                "view": view, "hidden-rows": rows, "r2": r2, "error": error,
            })).collect::<Vec<_>>(),
        });
        output.write(RUN_FILE, serde_json::to_string_pretty(&record)?.as_bytes())?;
        output.finish()?;
        for (view, n, r2, error) in recovered {
            say!("{view}: {n} hidden rows recovered with R2 = {r2:.3}, error {error:.3} sd");
        }
        Ok(())
    }

    /// For every view with enough rows: name, rows hidden, R2 over them and the error in standard
    /// deviations of the columns.
    fn recovery(
        &self,
        model: &NamedModel,
        joined: &Joined,
        which: &[usize],
    ) -> anyhow::Result<Vec<(String, usize, f64, f64)>> {
        let (data, mask) = (&joined.data, joined.data.mask());
        let mut recovered = Vec::new();
        for given in 0..data.n_views() {
            let mut rows: Vec<usize> =
                mask.observed_rows(given).into_iter().filter(|&i| mask.n_views_of(i) > 1).collect();
            let n_hidden = (HELD_OUT * rows.len() as f64) as usize;
            if n_hidden == 0 {
                continue;
            }
            rows.shuffle(&mut Seed::new(self.seed).stream("held out").nth(given as u64).rng());
            rows.truncate(n_hidden);
            let mut entries = mask.entries().to_owned();
            rows.iter().for_each(|&i| entries[[i, given]] = false);
            let views = (0..data.n_views()).map(|v| data.view(v).to_owned()).collect();
            let hidden = MultiView::new(views, ViewMask::new(entries)?)?;
            let view = which[given];
            let filled = &model.model.impute_from(&hidden, which)?[view];
            let (mut r2, mut error) = (Vec::new(), Vec::new());
            for (column, scale) in model.model.standardizers()[view].scale.iter().enumerate() {
                let truth: Vec<f64> = rows.iter().map(|&i| data.view(given)[[i, column]]).collect();
                let mean = truth.iter().sum::<f64>() / truth.len() as f64;
                let total: f64 = truth.iter().map(|x| (x - mean) * (x - mean)).sum();
                let left: f64 =
                    rows.iter().zip(&truth).map(|(&i, x)| (filled[[i, column]] - x).powi(2)).sum();
                r2.push((left, total));
                error.push((left / truth.len() as f64).sqrt() / scale);
            }
            // Columns count by their variance in units of their own scale, so that none drowns the others.
            let scaled = |pick: fn(&(f64, f64)) -> f64| -> f64 {
                let scales = &model.model.standardizers()[view].scale;
                r2.iter().zip(scales).map(|(pair, s)| pick(pair) / (s * s)).sum()
            };
            let total = scaled(|pair| pair.1);
            let r2 = if total > 0.0 { 1.0 - scaled(|pair| pair.0) / total } else { 0.0 };
            let error = error.iter().sum::<f64>() / error.len() as f64;
            recovered.push((model.views[view].name.clone(), n_hidden, r2, error));
        }
        Ok(recovered)
    }
}
