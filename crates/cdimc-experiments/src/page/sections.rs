//! What the page says of the paper's numbers and figures, section by section.

use super::document::{Block, Cell, Document, Figure, Table};
use super::verdict::Verdict;
use super::{DATASETS, Results, figures, runs};
use crate::experiment;
use crate::figure::{self, Series};
use crate::published::Entry;
use crate::table::{self, Row, or_dash, rank};
use anyhow::Result;
use std::collections::BTreeMap;

/// The whole page.
pub(super) fn document(results: &Results) -> Result<Document> {
    let mut blocks = summary(results);
    for (experiment, name, remark) in DATASETS {
        blocks.extend(table_2(results, experiment, name, remark)?);
    }
    blocks.extend(figures::sections(results)?);
    blocks.extend(patterns(results));
    blocks.extend(runs::sections(results)?);
    Ok(Document { title: "The experiments of CDIMC-net, run again".into(), blocks })
}

/// The table the README quotes, as Markdown.
pub(super) fn main_table(results: &Results) -> String {
    main(results, &["acc"]).markdown()
}

/// CDIMC-net's row as the authors' code has it, and as it is by default.
const NETWORK: &str = "cdimc-net";
const CHOSEN: &str = "cdimc-net, chosen by shared information";

/// The mixture of t distributions, CDIMC-net as published and ours, at every rate, in these scores.
fn main(results: &Results, scores: &[&str]) -> Table {
    let mut names = vec!["data, rate".to_owned()];
    for score in scores.iter().map(|score| score.to_uppercase()) {
        let columns = [
            format!("t-mixture's {score}"),
            format!("the paper's CDIMC-net's {score}"),
            format!("CDIMC-net's {score}, authors' code"),
            "verdict".to_owned(),
            format!("CDIMC-net's {score}, chosen by shared information"),
            "verdict".to_owned(),
        ];
        names.extend(columns);
    }
    let mut table = Table::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for (experiment, name, _) in DATASETS {
        let (tables, all) = (results.tables(experiment), planned(results, experiment));
        for (pattern, entry) in published(results, experiment, NETWORK) {
            let row = |label| labeled(&tables, &pattern, label);
            let mut line = vec![Cell::from(format!("{name}, {}", rate_of(&pattern)))];
            for &score in scores {
                let paper = if score == "acc" { entry.acc } else { entry.nmi };
                let mixture = row("t-mixture").and_then(|row| row.percent(score));
                line.extend([or_dash(mixture).into(), paper.to_string().into()]);
                for label in [NETWORK, CHOSEN] {
                    let found = row(label).and_then(|row| row.percent(score));
                    let part = match found {
                        Some(found) if found.n < all => format!(" ({} of {all} masks)", found.n),
                        _ => String::new(),
                    };
                    let verdict = Verdict::of(NETWORK, found, paper, all).to_string();
                    line.extend([Cell::from(format!("{}{part}", or_dash(found))), verdict.into()]);
                }
            }
            table.rows.push(line);
        }
    }
    table
}

/// How many runs a row has at every rate.
fn planned(results: &Results, experiment: &str) -> usize {
    let found = results.experiments.iter().find(|(known, _)| known.name == experiment);
    found.map_or(0, |(experiment, _)| experiment.folds.len().max(1) * experiment.repetitions)
}

fn summary(results: &Results) -> Vec<Block> {
    let mut blocks = vec![Block::Paragraph(
        "Every number of the paper's Table 2 beside ours, and its Figures 2 to 4, made by `cargo xtask report` from the records in \
         `docs/results/records`. A number is **reproduced** if our mean differs from the paper's by at most two of the deviations that the \
         paper prints, and otherwise **above** or **below**; **not comparable** are those that the paper took from another paper, **unfinished** those of which we ran some of the masks. Scores x 100, mean ± \
         standard deviation (n - 1) over the masks, without one where a single mask was run; NMI by the arithmetic mean of the entropies (the paper does not say which it takes); the last \
         result of a run and never its best one; no setting was chosen by labels but where `docs/methods/compared.md` says so."
            .into(),
    )];
    for (experiment, name, _) in DATASETS {
        blocks.push(Block::Paragraph(format!("**{name}**: {}.", counted(results, experiment))));
    }
    blocks.push(Block::Section("The best of ours and CDIMC-net".into()));
    blocks.push(Block::Table(main(results, &["acc", "nmi"])));
    blocks
}

/// How many of the published numbers of a data set are reproduced, above, and so on.
fn counted(results: &Results, experiment: &str) -> String {
    let tables = results.tables(experiment);
    let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
    let planned = planned(results, experiment);
    let mut all = 0;
    for (dataset, pattern, method, entry) in results.published.entries() {
        if dataset == dataset_of(experiment) {
            let row = labeled(&tables, &pattern, method);
            for (score, paper) in [("acc", entry.acc), ("nmi", entry.nmi)] {
                let ours = row.and_then(|row| row.percent(score));
                *counts.entry(Verdict::of(method, ours, paper, planned)).or_default() += 1;
                all += 1;
            }
        }
    }
    let parts: Vec<String> = Verdict::ALL
        .iter()
        .filter_map(|verdict| Some(format!("{} {verdict}", counts.get(verdict)?)))
        .collect();
    format!("of {all} published numbers {}", parts.join(", "))
}

/// One data set of Table 2: every method at every rate, and both scores against the rate.
fn table_2(results: &Results, experiment: &str, name: &str, remark: &str) -> Result<Vec<Block>> {
    let mut table = Table::new(&[
        "method, rate",
        "runs",
        "ACC",
        "paper's",
        "difference",
        "",
        "NMI",
        "paper's",
        "difference",
        "",
        "ARI",
        "purity",
    ]);
    let tables = results.tables(experiment);
    let mut lines: BTreeMap<(usize, &str), Vec<Vec<Cell>>> = BTreeMap::new();
    let published = results.published.entries();
    for of_pattern in &tables {
        // Methods that do not apply are named below, with their reasons.
        for row in of_pattern.rows.iter().filter(|row| row.n_scored() > 0) {
            let entry = published.iter().find(|(dataset, pattern, method, _)| {
                (*dataset, pattern.as_str(), *method)
                    == (of_pattern.dataset, of_pattern.pattern, row.method())
            });
            let entry = entry.map(|entry| entry.3);
            let line = line((experiment, planned(results, experiment)), of_pattern, row, entry);
            lines.entry((rank(row.method()), &row.label)).or_default().push(line);
        }
    }
    for (_, pattern, method, entry) in
        published.iter().filter(|(dataset, ..)| *dataset == dataset_of(experiment))
    {
        let scored = labeled(&tables, pattern, method).is_some_and(|row| row.n_scored() > 0);
        if !scored {
            lines
                .entry((rank(method), *method))
                .or_default()
                .push(line_without_runs(method, pattern, *entry));
        }
    }
    table.rows.extend(lines.into_values().flatten());
    let mut blocks = vec![
        Block::Section(format!("Table 2: {name}")),
        Block::Paragraph(format!("Masks: {remark}. {}", hidden(&tables)).trim_end().to_owned()),
    ];
    blocks.extend(settings_of(results, experiment).map(Block::Paragraph));
    blocks.push(Block::Table(table));
    for (score, word) in [("acc", "ACC"), ("nmi", "NMI")] {
        let series = against_rate(&tables, score);
        if !series.is_empty() {
            let kind = tables.first().and_then(|table| table.pattern.split_once(':'));
            let x_name = match kind {
                Some(("paired", _)) => "share of samples that have both views",
                _ => "share of the samples that each view lacks",
            };
            blocks.push(Block::Figure(Figure {
                name: format!("{experiment}-{score}"),
                svg: figure::against_rate(&format!("{word} on {name}"), x_name, &series)?,
                caption: format!(
                    "{word} x 100 on {name}; bars are standard deviations over the masks."
                ),
            }));
        }
    }
    Ok(blocks)
}

/// The settings that the experiment gives its methods, and how they were chosen.
fn settings_of(results: &Results, experiment: &str) -> Option<String> {
    let (experiment, _) = results.experiments.iter().find(|(known, _)| known.name == experiment)?;
    let words = |variant: &experiment::Variant| {
        let chosen = variant.chosen.as_ref()?;
        Some(format!("`{}` has {} ({chosen})", variant.label(), variant.settings))
    };
    let settings: Vec<String> = experiment.methods.iter().filter_map(words).collect();
    (!settings.is_empty()).then(|| format!("Not by its defaults: {}.", settings.join("; ")))
}

/// One line of Table 2.
fn line(
    (experiment, all): (&str, usize),
    table: &table::Table<'_>,
    row: &Row<'_>,
    entry: Option<Entry>,
) -> Vec<Cell> {
    let scored = row.n_scored();
    let runs = if scored == all { scored.to_string() } else { format!("{scored} of {all}") };
    // Its view is the one that the truth picks.
    let mark = if row.method() == "bsv" { " (knows the truth)" } else { "" };
    let name = format!("{} {}{mark}", row.label, rate_of(table.pattern));
    let mut line: Vec<Cell> = vec![name.into(), runs.into()];
    for (score, paper) in [("acc", entry.map(|e| e.acc)), ("nmi", entry.map(|e| e.nmi))] {
        let ours = row.percent(score);
        let difference =
            ours.zip(paper).map(|(ours, paper)| format!("{:+.2}", ours.mean - paper.mean));
        let verdict = paper.map(|paper| Verdict::of(row.method(), ours, paper, all).to_string());
        // One command runs the whole line again.
        line.push(match score {
            "acc" => Cell::by(or_dash(ours), command(experiment, table, row)),
            _ => or_dash(ours).into(),
        });
        line.extend([
            or_dash(paper).into(),
            or_dash(difference).into(),
            Cell::from(verdict.unwrap_or_default()),
        ]);
    }
    line.extend(["ari", "purity"].map(|score| Cell::from(or_dash(row.percent(score)))));
    line
}

/// One line of Table 2 that only the paper has.
fn line_without_runs(method: &str, pattern: &str, entry: Entry) -> Vec<Cell> {
    let mut line = vec![Cell::from(format!("{method} {}", rate_of(pattern))), "0".into()];
    for paper in [entry.acc, entry.nmi] {
        let verdict = Verdict::NotRun.to_string();
        line.extend(["–".into(), paper.to_string().into(), "–".into(), Cell::from(verdict)]);
    }
    line.extend(["–", "–"].map(Cell::from));
    line
}

/// What runs a row again.
pub(super) fn command(experiment: &str, table: &table::Table<'_>, row: &Row<'_>) -> String {
    let label =
        if row.label.contains(' ') { format!("'{}'", row.label) } else { row.label.clone() };
    // Masks that are not drawn come with the data, all of them; of those drawn some may be left to run.
    let drawn = row.records.iter().filter(|record| record.cell.fold.is_none());
    let repetitions = drawn.map(|record| record.cell.repetition + 1).max().unwrap_or(0);
    let all = experiment::load(experiment).map_or(0, |experiment| experiment.repetitions);
    let repetitions = if (1..all).contains(&repetitions) {
        format!(" --repetitions {repetitions}")
    } else {
        String::new()
    };
    format!(
        "cargo xtask reproduce {experiment} --dataset {} --method {label} --pattern {}{repetitions} --force",
        table.dataset, table.pattern
    )
}

/// Every row's scores over the rates; those of ours stand out.
fn against_rate<'a>(tables: &[table::Table<'a>], score: &str) -> Vec<Series<'a>> {
    let mut series: Vec<Series<'a>> = Vec::new();
    for table in tables {
        let Ok(rate) = rate_of(table.pattern).parse::<f64>() else { continue };
        for row in &table.rows {
            let Some((summary, record)) = row.percent(score).zip(row.records.first()) else {
                continue;
            };
            let (name, point) = (record.cell.label.as_str(), (rate, summary));
            match series.iter_mut().find(|series| series.name == name) {
                Some(series) => series.points.push(point),
                None => {
                    let strong = matches!(name, NETWORK | CHOSEN | "t-mixture");
                    series.push(Series { name, points: vec![point], strong });
                }
            }
        }
    }
    for series in &mut series {
        series.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    series
}

fn patterns(results: &Results) -> Vec<Block> {
    let tables = results.tables("patterns");
    let mut blocks = vec![
        Block::Section("Missing patterns of other papers and of studies".into()),
        Block::Paragraph(
            format!(
                "Handwritten with two random views a sample, and with cohorts that share neighboring views, in a chain or a ring. {}",
                hidden(&tables)
            )
            .trim_end()
            .to_owned(),
        ),
    ];
    let mut lines = Table::new(&["method, pattern", "runs", "ACC", "NMI", "ARI", "purity"]);
    for table in &tables {
        for row in &table.rows {
            let mut line = vec![
                Cell::from(format!("{}, {}", row.label, table.pattern)),
                row.n_scored().to_string().into(),
            ];
            line.push(Cell::by(or_dash(row.percent("acc")), command("patterns", table, row)));
            line.extend(["nmi", "ari", "purity"].map(|score| or_dash(row.percent(score)).into()));
            lines.rows.push(line);
        }
    }
    blocks.push(if tables.is_empty() {
        Block::Paragraph("Not run.".into())
    } else {
        Block::Table(lines)
    });
    blocks
}

/// What an experiment's data set is called in records.
fn dataset_of(experiment: &str) -> &str {
    if experiment == "mnist" { "mnist4000" } else { experiment }
}

/// The patterns and numbers that the paper prints for a method.
fn published(results: &Results, experiment: &str, method: &str) -> Vec<(String, Entry)> {
    let entries = results.published.entries().into_iter();
    let of = entries.filter(|entry| entry.0 == dataset_of(experiment) && entry.2 == method);
    of.map(|(_, pattern, _, entry)| (pattern, entry)).collect()
}

/// The row of this name.
fn labeled<'t, 'a>(
    tables: &'t [table::Table<'a>],
    pattern: &str,
    label: &str,
) -> Option<&'t Row<'a>> {
    let table = tables.iter().find(|table| table.pattern == pattern)?;
    table.rows.iter().find(|row| row.label == label)
}

/// The rate in a pattern's text, or else the text.
fn rate_of(pattern: &str) -> &str {
    pattern.split_once(':').map_or(pattern, |(_, rate)| rate)
}

/// What share of each view the patterns hide, from the masks of the runs.
fn hidden(tables: &[table::Table<'_>]) -> String {
    let mut parts = Vec::new();
    for table in tables {
        let masks = table.rows.iter().flat_map(|row| &row.records);
        let rates = masks.flat_map(|record| &record.outcome.missing_rates).map(|rate| 100.0 * rate);
        let (low, high) = rates.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), rate| {
            (low.min(rate), high.max(rate))
        });
        if low > high {
            continue;
        }
        parts.push(if high - low < 0.05 {
            format!("`{}` hides {low:.1} %", table.pattern)
        } else {
            format!("`{}` hides {low:.1} to {high:.1} %", table.pattern)
        });
    }
    if parts.is_empty() { String::new() } else { format!("Of each view, {}.", parts.join(", ")) }
}
