//! `cargo xtask report`: one page of the paper's experiments, from the records of the workspace alone.
//!
//! The same records give the same bytes; a test compares the committed page and the README's quotation with them.

mod figures;
mod runs;
mod seeds;
mod table_2;

use crate::cell::Record;
use crate::experiment::{self, Experiment};
use crate::methods::AUTHORS;
use crate::table::{Entry, Published, Row, Summary, Table, or_dash, tables};
use crate::text::{Figures, Grid};
use crate::{records, workspace};
use anyhow::{Context, Result, bail};
use cdimc::say;
use cdimc_cluster::CdimcNet;
use cdimc_data::write_whole;
use std::path::Path;
use std::process::ExitCode;

/// The page, with names in double braces for what the records give.
const TEMPLATE: &str = include_str!("../../page.md");

/// What begins and ends the quotation in the README.
const MARKS: [&str; 2] =
    ["<!-- the main table of docs/results -->\n", "<!-- end of the main table -->\n"];

/// The data sets of the paper's Table 2 by their experiments.
const DATASETS: [(&str, &str); 3] =
    [("handwritten", "Handwritten"), ("bdgp", "BDGP"), ("mnist", "MNIST-4000 (a stand-in)")];

/// Writes the page into `docs/results`, and the quotation into the README.
pub(crate) fn run() -> Result<ExitCode> {
    let results = Results::read(&workspace::reference_records())?;
    let out = workspace::root().join("docs/results");
    for (path, bytes) in files(&results)? {
        write_whole(&out.join(path), bytes.as_bytes())?;
    }
    let path = workspace::root().join("README.md");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    write_whole(&path, quoted(&text, &main_table(&results)?)?.as_bytes())?;
    say!("{}", out.join("README.md").display());
    Ok(ExitCode::SUCCESS)
}

/// The files of the page by their paths: the template with the results, and its figures.
fn files(results: &Results) -> Result<Vec<(String, String)>> {
    let (mut text, mut figures, mut rest) = (String::new(), Figures::default(), TEMPLATE);
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").context("page.md: `{{` without `}}`")?;
        let part = part(results, name, &mut figures).with_context(|| format!("page.md, {name}"))?;
        text = text + before + part.trim_end();
        rest = after;
    }
    text += rest;
    // Nothing where there are no results.
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut text = lines.join("\n") + "\n";
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    Ok([vec![("README.md".to_owned(), text)], figures.0].concat())
}

/// A part of the page by its name in the template.
fn part(results: &Results, name: &str, figures: &mut Figures) -> Result<String> {
    let (name, of) = name.split_once(' ').unwrap_or((name, ""));
    match name {
        "counted" => table_2::counted(results, of),
        "program-range" => table_2::program_range(),
        "main" => Ok(table_2::main(results)?.markdown()),
        "program" => Ok(table_2::program(results)?.markdown()),
        "hidden" => Ok(hidden(&results.part(of)?.tables)),
        "table-2" => table_2::part(&results.part(of)?, figures),
        "figure" => figures::part(&results.part(of)?, figures),
        "losses" => figures::losses(results, figures),
        "seeds" => Ok(seeds::part(&results.part(name)?, figures)),
        "patterns" => Ok(patterns(&results.part(name)?)),
        "costs" => Ok(runs::costs_of_rows(results)?.markdown()),
        "coverage" => runs::coverage(results),
        "environment" => Ok(runs::environment(results)),
        _ => bail!("there is no such part"),
    }
}

/// The section that the README quotes: the main table, and what has to be known to read it.
fn main_table(results: &Results) -> Result<String> {
    let files = files(results)?;
    let (_, section) = files[0].1.split_once("paper, and ours\n\n").context("no main table")?;
    let blocks: Vec<&str> = section.split("\n\n").take(3).collect();
    let [table, legend, tuned] = blocks[..] else { bail!("a table and two paragraphs") };
    Ok(format!("{table}\n\n{legend} {tuned}\n"))
}

/// Every method under every pattern of other papers.
fn patterns(part: &Part<'_>) -> String {
    let mut grid = Grid::new("method, pattern | runs | ACC | NMI | ARI | purity");
    for table in &part.tables {
        for row in &table.rows {
            let mut line = vec![
                format!("{}, {}", shown(&row.label), table.pattern),
                row.scored().count().to_string(),
                part.repeatable(table, row, "acc"),
            ];
            line.extend(row.scores(["nmi", "ari", "purity"]));
            grid.rows.push(line);
        }
    }
    if part.tables.is_empty() { NOT_RUN.to_owned() } else { grid.markdown() }
}

/// In place of what has no records.
const NOT_RUN: &str = "Not run.";

/// The README with this table between the marks.
fn quoted(readme: &str, table: &str) -> Result<String> {
    let missing = || format!("README.md: must have the lines {}and {}", MARKS[0], MARKS[1]);
    let (before, rest) = readme.split_once(MARKS[0]).with_context(missing)?;
    let (_, after) = rest.split_once(MARKS[1]).with_context(missing)?;
    Ok(format!("{before}{}\n{table}\n{}{after}", MARKS[0], MARKS[1]))
}

/// Everything the page is made from.
struct Results {
    published: Published,
    /// The paper's experiments with what is recorded of each.
    experiments: Vec<(Experiment, Vec<Record>)>,
}

impl Results {
    fn read(folder: &Path) -> Result<Self> {
        let mut experiments = Vec::new();
        for experiment in experiment::named("all")? {
            let path = folder.join(format!("{}.jsonl", experiment.name));
            let mut found = records::newest(records::read(&path)?);
            // What was tried with settings from the command line is no part of the experiment.
            found.retain(|record| record.cell.overrides.is_empty() && record.cell.seed == 0);
            experiments.push((experiment, found));
        }
        Ok(Self { published: Published::table()?, experiments })
    }

    /// The part of the page about one experiment.
    fn part(&self, name: &str) -> Result<Part<'_>> {
        let found = self.experiments.iter().find(|(known, _)| known.name == name);
        let (experiment, records) = found.with_context(|| format!("experiment {name}"))?;
        let of_paper = |entry: &&Entry| experiment.datasets.contains(&entry.dataset);
        let published = self.published.entries.iter().filter(of_paper).collect();
        Ok(Part { experiment, tables: tables(records), published })
    }
}

/// An experiment with the tables of its records, and what the paper prints for its data sets.
struct Part<'a> {
    experiment: &'a Experiment,
    tables: Vec<Table<'a>>,
    published: Vec<&'a Entry>,
}

impl<'a> Part<'a> {
    fn row(&self, pattern: &str, label: &str) -> Option<&Row<'a>> {
        let table = self.tables.iter().find(|table| table.pattern == pattern)?;
        table.rows.iter().find(|row| row.label == label)
    }

    /// A score of this row times 100.
    fn score(&self, pattern: &str, label: &str, score: &str) -> Option<Summary> {
        self.row(pattern, label)?.percent(score)
    }

    /// What the paper prints for a method.
    fn published(&self, method: &str) -> impl Iterator<Item = &'a Entry> {
        self.published.iter().copied().filter(move |entry| entry.method == method)
    }

    /// How many runs the row of this name has at every rate.
    fn planned(&self, label: &str) -> usize {
        let Experiment { folds, repetitions, methods, .. } = self.experiment;
        let own = methods.iter().find(|variant| variant.label() == label);
        folds.len().max(1) * own.and_then(|own| own.repetitions).unwrap_or(*repetitions)
    }

    /// A score of a row that shows the command by which it can be repeated.
    fn repeatable(&self, table: &Table<'_>, row: &Row<'_>, score: &str) -> String {
        let is_one_word = !row.label.contains(' ');
        let label = if is_one_word { row.label.clone() } else { format!("'{}'", row.label) };
        let (name, Table { dataset, pattern, .. }) = (&self.experiment.name, table);
        let score = or_dash(row.percent(score));
        format!(
            "[{score}](records \"cargo xtask reproduce {name} --dataset {dataset} --method {label} --pattern {pattern} --force\")"
        )
    }
}

/// The entry of a data set, by its name in records.
fn data_set(name: &str) -> Option<(&'static str, &'static str)> {
    DATASETS.into_iter().find(|(experiment, ..)| name.starts_with(experiment))
}

/// The name under which the page shows a row.
fn shown(label: &str) -> &str {
    match label {
        AUTHORS => "our CDIMC-net, authors' settings",
        CdimcNet::NAME => "our CDIMC-net, our choices",
        other => other,
    }
}

/// The rate in a pattern's text, or else the text.
fn rate_of(pattern: &str) -> &str {
    pattern.split_once(':').map_or(pattern, |(_, rate)| rate)
}

/// What share of each view the patterns hide, from the masks of the runs.
fn hidden(tables: &[Table<'_>]) -> String {
    let of_table = |table: &Table<'_>| {
        let masks = table.rows.iter().flat_map(|row| &row.records);
        let rates = masks.flat_map(|record| &record.outcome.missing_rates);
        let Summary { lowest, highest, .. } = Summary::of(rates.map(|rate| 100.0 * rate))?;
        let to = if highest - lowest < 0.05 { String::new() } else { format!(" to {highest:.1}") };
        Some(format!("`{}` hides {lowest:.1}{to} %", table.pattern))
    };
    let parts: Vec<String> = tables.iter().filter_map(of_table).collect();
    if parts.is_empty() { String::new() } else { format!("Of each view, {}.", parts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::Cell;
    use crate::cell::tests::record;

    #[test]
    fn a_mean_over_some_masks_is_no_verdict_anywhere() {
        let folder = tempfile::tempdir().unwrap();
        let record_of = |pattern: &str, label: &str, mask: usize| {
            let mut record = record(0, 0.94);
            record.cell = Cell {
                dataset: "handwritten".into(),
                pattern: pattern.into(),
                fold: Some(mask),
                method: label.into(),
                label: label.into(),
                ..record.cell
            };
            record.key = record.cell.key();
            record
        };
        let rows = [
            ("per-view:0.1", AUTHORS),
            ("per-view:0.3", AUTHORS),
            ("per-view:0.1", CdimcNet::NAME),
        ];
        let records = rows.map(|(pattern, label)| [0, 1].map(|m| record_of(pattern, label, m)));
        let path = folder.path().join("handwritten.jsonl");
        records::write(&path, &records.concat()).unwrap();
        let markdown = &files(&Results::read(folder.path()).unwrap()).unwrap()[0].1;
        for sign in ["✓ |", "✓) |", "▲ |", "▲) |", "▼ |", "▼) |"] {
            assert!(!markdown.contains(sign), "{sign}\n{markdown}");
        }
        for words in [
            "> - **CDIMC-net with the authors' settings**: 0 of 24 numbers reproduced, 4 unfinished, 20 not run.",
            "| daimc 0.3 | 0 | – | 86.73 ± 0.79 | not run |",
        ] {
            assert!(markdown.contains(words), "{words}\n{markdown}");
        }
    }

    #[test]
    fn the_committed_page_and_the_quotation_are_those_of_the_records() {
        let results = Results::read(&workspace::reference_records()).unwrap();
        let folder = workspace::root().join("docs/results");
        for (path, text) in files(&results).unwrap() {
            let committed = std::fs::read_to_string(folder.join(&path)).unwrap_or_default();
            assert!(committed == text, "{path}: run `cargo xtask report`");
        }
        let readme = std::fs::read_to_string(workspace::root().join("README.md")).unwrap();
        let table = main_table(&results).unwrap();
        assert!(quoted(&readme, &table).unwrap() == readme, "README.md: run `cargo xtask report`");
    }

    #[test]
    fn a_quotation_stands_between_its_marks() {
        let readme = format!("a\n{}old\n{}b\n", MARKS[0], MARKS[1]);
        let new = quoted(&readme, "new\n").unwrap();
        assert_eq!(new, format!("a\n{}\nnew\n\n{}b\n", MARKS[0], MARKS[1]));
        assert_eq!(quoted(&new, "new\n").unwrap(), new);
        assert!(quoted("a", "new").is_err());
    }
}
