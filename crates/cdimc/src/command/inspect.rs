//! `cdimc inspect`: shows what is in the files and what `cluster` would do about it.

use super::input::{Input, without_cluster};
use super::output::OutputFile;
use crate::data::MaskReport;
use crate::numbers::mean_and_deviation;
use crate::report::figures::missing_pattern;
use crate::say;
use crate::tables::{Joined, Table, joined_by_number};
use clap::Args;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

/// Columns whose spreads differ by more than this factor get a warning.
const SCALE_DIFFERENCE: f64 = 100.0;

/// Show which samples have which views, and what looks odd, before clustering
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  cdimc inspect --view rna.csv --view methylation.parquet --view protein.npy --id patient"
)]
pub(crate) struct Inspect {
    #[command(flatten)]
    input: Input,
    /// Also draw the missing pattern as an SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Replace the SVG if it exists
    #[arg(long)]
    force: bool,
}

impl Inspect {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let inputs = self.input.files();
        let svg = self.svg.as_ref().map(|path| OutputFile::begin(path, self.force, &inputs));
        let svg = svg.transpose()?;
        let tables = self.input.tables()?;
        for table in &tables {
            say_table(table)?;
        }
        let note = joined_by_number(&tables);
        let mut joined = crate::tables::join(tables, self.input.strict)?;
        joined.warnings.extend(note);
        let report = MaskReport::new(joined.data.mask());
        say!("");
        print_patterns(&joined.names, &report)?;
        print_findings(&joined, &report)?;
        for line in self.input.unused() {
            say!("{line}");
        }
        if let Some(file) = svg {
            let svg = missing_pattern(&joined.names, &report.patterns);
            // A separate SVG file needs a text color, as it has no page.
            let svg = svg.replacen("<svg class=\"figure\"", "<svg color=\"#444\"", 1);
            file.finish(svg.as_bytes())?;
        }
        Ok(())
    }
}

fn say_table(table: &Table) -> anyhow::Result<()> {
    let (n_rows, n_features) = table.values.dim();
    say!("{}: {n_rows} rows, {n_features} features ({})", table.name, table.path.display());
    let rows: Vec<usize> = (0..n_rows).filter(|&i| !table.values.is_missing(i)).collect();
    let empty_rows = n_rows - rows.len();
    // `None` for a column without a value, `Some(None)` for a constant column.
    let spread = |_, mut observed: Vec<f64>| {
        observed.retain(|x| !x.is_nan());
        let first = *observed.first()?;
        Some(observed.iter().any(|&x| x != first).then(|| mean_and_deviation(&observed).1))
    };
    let (mut empty, mut constant, mut spreads) = (Vec::new(), Vec::new(), Vec::new());
    for (spread, name) in table.values.map_columns(&rows, spread).into_iter().zip(&table.features) {
        match spread {
            None => empty.push(name.as_str()),
            Some(None) => constant.push(name.as_str()),
            Some(Some(spread)) => spreads.push(spread),
        }
    }
    let gaps = table.values.missing_cells();
    let cells: usize = gaps.values().map(Vec::len).filter(|&n| n < rows.len()).sum();
    if empty_rows > 0 {
        say!("  rows without any value, which count as not measured: {empty_rows}");
    }
    if cells > 0 {
        say!(
            "  {cells} single missing cells: filled with the column's mean (refused with --strict)"
        );
    }
    if let [first, ..] = empty.as_slice() {
        say!("  {} columns without any value (first: `{first}`): left out", empty.len());
    }
    if let [first, ..] = constant.as_slice() {
        let others = if spreads.is_empty() { "" } else { " and harmless" };
        let n = constant.len();
        say!("  {n} constant columns (first: `{first}`): without information{others}");
    }
    let (low, high) =
        spreads.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), &s| (low.min(s), high.max(s)));
    if high > SCALE_DIFFERENCE * low {
        say!(
            "  standard deviations of columns from {low:.3e} to {high:.3e}: `t-mixture` chooses how to weigh \
             them; for other methods consider logarithms or a scaling"
        );
    }
    let zeros = |_, observed: Vec<f64>| {
        let counts = observed.iter().all(|&x| x.is_nan() || (x >= 0.0 && x.fract() == 0.0));
        let n_zeros = observed.iter().filter(|&&x| x == 0.0).count();
        (counts && observed.iter().any(|&x| x > 1.0)).then_some(n_zeros)
    };
    let of_counts = table.values.map_columns(&rows, zeros);
    let (n_counts, n_zeros) =
        of_counts.iter().flatten().fold((0, 0), |(columns, sum), n| (columns + 1, sum + n));
    if 2 * n_counts > n_features && 2 * n_zeros > n_counts * rows.len() {
        let share = 100 * n_zeros / (n_counts * rows.len());
        say!("  counts, {share} % of them zeros: cluster their logarithms, log2(x + 1)");
    }
    let (mut seen, mut buffer, mut duplicates) = (HashSet::new(), Vec::new(), 0);
    for &i in &rows {
        let row = table.values.row(i, &mut buffer).iter().enumerate();
        let mut hash = DefaultHasher::new();
        row.filter(|(_, x)| x.to_bits() != 0).for_each(|(j, x)| (j, x.to_bits()).hash(&mut hash));
        duplicates += usize::from(!seen.insert(hash.finish()));
    }
    if duplicates > 0 {
        say!("  {duplicates} rows equal an earlier one in all columns: kept");
    }
    Ok(())
}

/// Prints the number of samples, the sets of views that occur, with their numbers of samples, and the share of samples that each view misses.
pub(super) fn print_patterns(names: &[String], report: &MaskReport) -> anyhow::Result<()> {
    say!("{} samples in {} views", report.n_samples, names.len());
    let n = report.n_samples as f64;
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).clamp(6, 14) + 2;
    let cut = |name: &String| name.chars().take(14).collect::<String>();
    let header: String = names.iter().map(|name| format!("{:<width$}", cut(name))).collect();
    say!("{:>16}  {header}", "samples");
    for (views, count) in &report.patterns {
        let marks: String =
            views.iter().map(|&v| format!("{:<width$}", if v { "■" } else { "·" })).collect();
        say!("{count:>8} {:>6.1}%  {marks}", 100.0 * *count as f64 / n);
    }
    let rate = |rate: &f64| format!("{:<width$}", format!("{:.1}%", 100.0 * rate));
    let rates: String = report.missing_rates().iter().map(rate).collect();
    say!("{:>16}  {rates}", "missing");
    Ok(())
}

fn print_findings(joined: &Joined, report: &MaskReport) -> anyhow::Result<()> {
    for warning in &joined.warnings {
        say!("{warning}");
    }
    for (u, v) in report.disjoint_views() {
        let related = if report.are_related(u, v) {
            "only other views relate them"
        } else {
            "nor do other views relate them"
        };
        say!("views {} and {} share no sample: {related}", joined.names[u], joined.names[v]);
    }
    if report.n_complete() == 0 {
        say!(
            "no sample has every view: methods that need complete samples do not apply, CDIMC-net does"
        );
    }
    if let Some(line) = without_cluster(&joined.unobserved) {
        say!("{line}");
    }
    Ok(())
}
