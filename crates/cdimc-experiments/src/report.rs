//! Report of one experiment, from its records alone: tables with the paper's numbers, and figures.

use crate::experiment::{Experiment, Figure};
use crate::figure::{self, HeatMap};
use crate::methods;
use crate::published::Published;
use crate::record::{Record, Status};
use crate::table::{self, Row, Summary, Table, counted, or_dash, reasons, standing, tables};
use anyhow::Result;
use cdimc_data::write_whole;
use cdimc_metrics::Scores;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Writes `report.md`, `table.csv` and the figures into the experiment's folder.
pub(crate) fn write(experiment: &Experiment, records: &[Record], folder: &Path) -> Result<()> {
    let published = Published::table()?;
    let mut text = format!("# {}\n\n{}\n", experiment.title, experiment.description);
    for table in tables(records) {
        let (dataset, pattern) = (table.dataset, table.pattern);
        let _ = write!(text, "\n## {dataset}, {pattern}\n\n");
        let lines = grid(&table, &published);
        text += &table::markdown(&lines[0], &lines[1..]);
        for &figure in &experiment.figures {
            if let Some(svg) = draw(figure, &table)? {
                let kind = format!("{figure:?}").to_lowercase();
                let name = format!("{kind}_{dataset}_{}.svg", pattern.replace(':', "-"));
                write_whole(&folder.join(&name), figure::alone(&svg).as_bytes())?;
                let _ = write!(text, "\n![{kind} of {dataset}, {pattern}]({name})\n");
            }
        }
    }
    text += &remarks(records, &published);
    text += &settings(experiment, records);
    text += &circumstances(records);
    write_whole(&folder.join("report.md"), text.as_bytes())?;
    Ok(write_whole(&folder.join("table.csv"), &csv(records)?)?)
}

/// The tables and remarks for a terminal.
pub(crate) fn terminal(experiment: &Experiment, records: &[Record]) -> Result<String> {
    let published = Published::table()?;
    let mut text = format!("\n{}\n", experiment.title);
    for table in tables(records) {
        let _ = write!(text, "\n{}, {}\n", table.dataset, table.pattern);
        text += &aligned(&grid(&table, &published));
    }
    Ok(text + &remarks(records, &published))
}

/// The figure of a table; nothing where the records have nothing to draw.
pub(crate) fn draw(figure: Figure, table: &Table<'_>) -> Result<Option<String>> {
    let title = format!("{}, {}", table.dataset, table.pattern);
    Ok(match figure {
        Figure::Bars => {
            let bar = |row: &Row| Some((row.label.clone(), row.percent("acc")?));
            let rows: Vec<(String, Summary)> = table.rows.iter().filter_map(bar).collect();
            (!rows.is_empty()).then(|| figure::bars(&title, &rows)).transpose()?
        }
        Figure::Grid => heat_map(table).map(|map| figure::heat_map(&title, &map)).transpose()?,
        Figure::Dots => {
            let dots = |row: &Row| (row.label.clone(), row.percents("acc"));
            let rows: Vec<(String, Vec<f64>)> = table.rows.iter().map(dots).collect();
            Some(figure::dots(&title, &rows)?)
        }
        Figure::Curves => {
            let runs = finetuning_losses(table);
            let runs: Vec<&[f64]> = runs.iter().map(Vec::as_slice).collect();
            let x_name = "clustering loss over the rounds of fine-tuning";
            (!runs.is_empty()).then(|| figure::curves(&title, x_name, &runs)).transpose()?
        }
    })
}

/// The clustering loss over the rounds of fine-tuning, run by run.
pub(crate) fn finetuning_losses(table: &Table<'_>) -> Vec<Vec<f64>> {
    let curve = |record: &&Record| {
        let mut curves = record.outcome.curves.iter();
        curves.find(|curve| curve.name == "finetune-loss").map(|curve| curve.values.clone())
    };
    let records = table.rows.iter().flat_map(|row| row.records.iter());
    records.filter_map(curve).filter(|values| values.len() > 1).collect()
}

/// Mean ACC over the two coordinates of a table's rows, `None` if no run gave clusters.
fn heat_map<'a>(table: &Table<'a>) -> Option<HeatMap<'a>> {
    let names: Vec<&'a str> = table
        .rows
        .iter()
        .find_map(|row| row.point().filter(|p| p.len() == 2))?
        .keys()
        .map(String::as_str)
        .collect();
    let point = |row: &Row<'a>| {
        let point = row.point()?;
        let at = |name: &str| point.get(name).and_then(Value::as_f64);
        Some((at(names[1])?, at(names[0])?, row.percent("acc").map(|acc| acc.mean)))
    };
    let points = table.rows.iter().filter_map(point).collect();
    Some(HeatMap { across: names[1], down: names[0], points })
}

/// One line for each record.
fn csv(records: &[Record]) -> Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    let run = [
        "dataset",
        "pattern",
        "fold",
        "label",
        "method",
        "overrides",
        "repetition",
        "seed",
        "status",
    ];
    let costs = ["seconds", "stages", "peak_memory_bytes", "threads", "revision", "key"];
    csv.write_record(run.iter().chain(Scores::NAMES).chain(&costs))?;
    for record in standing(records) {
        let (cell, outcome) = (&record.cell, &record.outcome);
        let mut fields = vec![
            cell.dataset.clone(),
            cell.pattern.clone(),
            cell.fold.map_or_else(String::new, |fold| fold.to_string()),
            methods::row(cell).into_owned(),
            cell.method.clone(),
            cell.overrides.join(" "),
            cell.repetition.to_string(),
            cell.seed.to_string(),
            format!("{:?}", outcome.status).to_lowercase(),
        ];
        let text = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        fields.extend(Scores::NAMES.iter().map(|name| text(outcome.score(name))));
        fields.push(format!("{:.4}", outcome.seconds.total));
        let stage = |(name, seconds): (&String, &f64)| format!("{name}={seconds:.4}");
        fields.push(outcome.seconds.stages.iter().map(stage).collect::<Vec<_>>().join(" "));
        fields.push(outcome.peak_memory_bytes.map_or_else(String::new, |bytes| bytes.to_string()));
        fields.push(record.circumstances.threads.to_string());
        fields.push(record.circumstances.revision.clone());
        fields.push(record.key.clone());
        csv.write_record(fields)?;
    }
    csv.into_inner().map_err(|e| e.into_error().into())
}

/// Head and rows of a table as text cells.
fn grid(table: &Table<'_>, published: &Published) -> Vec<Vec<String>> {
    let paper = |row: &Row| {
        published.entry(table.dataset, table.pattern, row.method()).filter(|_| row.is_plain())
    };
    let beside = table.rows.iter().any(|row| paper(row).is_some());
    let mut head = vec!["method", "runs", "ACC", "NMI", "ARI", "purity"];
    if beside {
        head.extend(["paper's ACC", "paper's NMI"]);
    }
    head.extend(["seconds", "MiB"]);
    let mut lines = vec![head.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    for row in &table.rows {
        let (scored, all) = (row.n_scored(), row.records.len());
        let runs = if scored == all { scored.to_string() } else { format!("{scored} of {all}") };
        let mut line = vec![row.label.clone(), runs];
        line.extend(["acc", "nmi", "ari", "purity"].map(|score| or_dash(row.percent(score))));
        if beside {
            let entry = paper(row);
            line.push(or_dash(entry.as_ref().map(|entry| entry.acc.to_string())));
            line.push(or_dash(entry.as_ref().map(|entry| entry.nmi.to_string())));
        }
        line.push(or_dash(row.seconds().map(|seconds| format!("{seconds:.2}"))));
        line.push(or_dash(row.mebibytes().map(|mebibytes| format!("{mebibytes:.0}"))));
        lines.push(line);
    }
    lines
}

/// Text cells in columns for a terminal, the first flush left, the others flush right.
fn aligned(lines: &[Vec<String>]) -> String {
    let width = |c: usize| lines.iter().map(|line| line[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..lines.first().map_or(0, Vec::len)).map(width).collect();
    let mut text = String::new();
    for line in lines {
        for (c, (cell, &width)) in line.iter().zip(&widths).enumerate() {
            text += &if c == 0 { format!("  {cell:width$}") } else { format!("  {cell:>width$}") };
        }
        text.push('\n');
    }
    text
}

/// How to read the tables, and what they lack.
fn remarks(records: &[Record], published: &Published) -> String {
    let mut text = format!(
        "\nScores x 100, mean ± standard deviation (n - 1) over masks and repetitions. NMI is normalized by the \
         arithmetic mean of the entropies.\nThe paper's numbers: {}; the normalizer of its NMI is not stated. Seconds \
         are the method's alone; MiB is the largest resident set of its process, data included.\n",
        published.source
    );
    let kept = standing(records);
    if kept.iter().any(|record| record.cell.method == "bsv") {
        text += "bsv is no method one could use: the truth picks its view in every run.\n";
    }
    for (status, word) in [
        (Status::Skipped, "Not applicable"),
        (Status::Unusable, "Nothing usable"),
        (Status::Failed, "Failed"),
    ] {
        for ((label, dataset), (reason, runs)) in reasons(&kept, status) {
            let _ = writeln!(text, "{word}: {label} on {dataset} ({runs} of its runs): {reason}");
        }
    }
    text
}

/// Which settings every row used and how they were chosen.
fn settings(experiment: &Experiment, records: &[Record]) -> String {
    let mut text = String::from("\n## Settings\n\n");
    let mut rows: BTreeMap<String, String> = BTreeMap::new();
    for record in standing(records) {
        let cell = &record.cell;
        let row = format!("{} on {}", methods::row(cell), cell.dataset);
        rows.insert(row, cell.settings.to_string());
    }
    for (row, settings) in rows {
        let _ = writeln!(text, "- {row}: `{settings}`");
    }
    for variant in &experiment.methods {
        if let Some(chosen) = &variant.chosen {
            let _ = writeln!(text, "- How those of {} were chosen: {chosen}", variant.label());
        }
    }
    text
}

/// Where the records come from.
fn circumstances(records: &[Record]) -> String {
    let groups = counted(standing(records).into_iter().map(|record| {
        let c = &record.circumstances;
        format!(
            "revision {}, {}, {} thread(s), {} cell(s) at a time",
            c.revision, c.cpu, c.threads, c.jobs
        )
    }));
    let mut text = String::from("\n## Runs\n\n");
    for (line, runs) in groups {
        let _ = writeln!(text, "- {runs} runs: {line}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let lines = [
            vec!["method".to_owned(), "ACC".to_owned()],
            vec!["x".to_owned(), "1.00 ± 2".to_owned()],
        ];
        assert_eq!(aligned(&lines), "  method       ACC\n  x       1.00 ± 2\n");
    }
}
