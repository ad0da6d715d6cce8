//! The sections of the page on the paper's Table 2 and on other missing patterns.

use super::Results;
use super::document::{Block, Table, repeatable};
use super::verdict::Verdict;
use crate::experiment;
use crate::figure::{self, Series};
use crate::methods::{AUTHORS, configured, recorded};
use crate::published::Entry;
use crate::settings::agree;
use crate::table::{self, Row, Summary, or_dash, rank};
use anyhow::Result;
use cdimc::report::drawing::{INK, PALETTE};
use cdimc_cluster::CdimcNet;
use plotters::style::RGBColor;
use serde_json::Value;
use std::collections::BTreeMap;

/// Has to stand under every table that shows `t-mixture` on these data sets.
pub(super) const TUNED_ON: &str = "The constants of `t-mixture` were chosen while looking at scores on Handwritten and BDGP \
    (`docs/methods/mixture.md`).";

/// The curves of the figures that stand out, in the same colors in all figures. The others are gray.
const COLORED: [(&str, RGBColor); 3] =
    [(AUTHORS, PALETTE[3]), (CdimcNet::NAME, PALETTE[0]), ("t-mixture", PALETTE[2])];

/// The name under which the page shows a row.
pub(super) fn shown(label: &str) -> &str {
    match label {
        AUTHORS => "our CDIMC-net, authors' settings",
        CdimcNet::NAME => "our CDIMC-net, our choices",
        other => other,
    }
}

/// How many runs the row of this name has at every rate.
pub(super) fn planned(results: &Results, experiment: &str, label: &str) -> usize {
    let found = results.experiments.iter().find(|(known, _)| known.name == experiment);
    found.map_or(0, |(experiment, _)| {
        let own = experiment.methods.iter().find(|variant| variant.label() == label);
        let repetitions = own.map_or(experiment.repetitions, |own| experiment.repetitions_of(own));
        experiment.folds.len().max(1) * repetitions
    })
}

/// What holds for every table of scores.
pub(super) fn reading() -> Vec<Block> {
    vec![
        Block::Section("How to read the numbers".into()),
        Block::Paragraph(
            "`cargo xtask report` makes this page from the records in `docs/results/records`. Scores are x 100, mean ± SD (n - 1) over the \
             runs (masks times seeds), without SD for a single run. NMI is divided by the arithmetic mean of the entropies; the paper does not state its \
             divisor. Every run counts with its last result, never with its best one."
                .into(),
        ),
        Block::Paragraph(format!(
            "**What was chosen with labels in view.** {TUNED_ON} Our choices for CDIMC-net read no labels, but their rules were developed \
             while looking at scores on these data sets (`docs/methods/cdimc-net.md`). For the compared methods see \
             `docs/methods/compared.md`. `bsv` takes the view that fits the true labels best, as in the paper."
        )),
    ]
}

/// One data set of Table 2: ACC against the rate, and every method at every rate.
pub(super) fn table_2(
    results: &Results,
    experiment: &str,
    name: &str,
    remark: &str,
) -> Result<Vec<Block>> {
    let mut table = Table::new(&[
        "method, rate",
        "runs",
        "ACC",
        "paper's",
        "difference",
        "NMI",
        "paper's",
        "difference",
        "ARI",
        "purity",
    ]);
    let tables = results.tables(experiment);
    let mut lines: BTreeMap<(usize, &str), Vec<Vec<String>>> = BTreeMap::new();
    let published = results.published.entries();
    for of_pattern in &tables {
        // Methods that do not apply are named below, with their reasons.
        for row in of_pattern.rows.iter().filter(|row| row.n_scored() > 0) {
            let entry = published.iter().find(|(dataset, pattern, method, _)| {
                (*dataset, pattern.as_str(), *method)
                    == (of_pattern.dataset, of_pattern.pattern, row.method())
            });
            let entry = entry.map(|entry| entry.3);
            let all = planned(results, experiment, &row.label);
            let line = line((experiment, all), of_pattern, row, entry);
            lines.entry((rank(row.method()), &row.label)).or_default().push(line);
        }
    }
    for (_, pattern, method, entry) in
        published.iter().filter(|(dataset, ..)| *dataset == dataset_of(experiment))
    {
        let both = [AUTHORS, CdimcNet::NAME];
        let labels = if *method == CdimcNet::NAME { &both[..] } else { &[*method][..] };
        for &label in labels {
            let row = labeled(&tables, pattern, label);
            if row.is_none_or(|row| row.n_scored() == 0) {
                let line = line_without_runs(shown(label), pattern, *entry);
                lines.entry((rank(method), label)).or_default().push(line);
            }
        }
    }
    table.rows.extend(lines.into_values().flatten());
    let mut blocks = vec![
        Block::Section(format!("Table 2: {name}")),
        Block::Paragraph(format!("Masks: {remark}. {}", hidden(&tables)).trim_end().to_owned()),
    ];
    let series = against_rate(results, experiment, &tables);
    if !tables.is_empty() {
        let kind = tables.first().and_then(|table| table.pattern.split_once(':'));
        let x_name = match kind {
            Some(("paired", _)) => "share of samples that have both views",
            _ => "share of the samples that each view lacks",
        };
        blocks.push(Block::Figure(
            format!("{experiment}-acc"),
            figure::against_rate(&format!("ACC on {name}"), x_name, &series)?,
            format!(
                "ACC x 100 on {name}. Bars are SDs over the runs. Gray lines are the compared methods, as we ran them."
            ),
        ));
    }
    blocks.extend(settings_of(results, experiment, &tables)?.map(Block::Paragraph));
    blocks.push(Block::Folded(format!("All methods on {name}, every number"), table));
    if experiment != "mnist" {
        blocks.push(Block::Paragraph(TUNED_ON.into()));
    }
    Ok(blocks)
}

/// The settings that the experiment gives its methods, and how they were chosen.
fn settings_of(
    results: &Results,
    experiment: &str,
    tables: &[table::Table<'_>],
) -> Result<Option<String>> {
    let mut sentences = Vec::new();
    let mut rows = tables.iter().flat_map(|table| &table.rows);
    if let Some(row) = rows.find(|row| row.label == CdimcNet::NAME) {
        let cell = &row.records[0].cell;
        let changed = CdimcNet::todays_names(cell.changed.clone());
        let mut words =
            format!("Our choices for CDIMC-net, in place of the authors': `{changed}`.");
        let today = configured(CdimcNet::NAME, Value::Null)?;
        if !agree(&cell.settings, &recorded(CdimcNet::NAME, today)) {
            words += " These were its defaults when it was run; today's differ.";
        }
        sentences.push(words);
    }
    let found = results.experiments.iter().find(|(known, _)| known.name == experiment);
    for variant in found.iter().flat_map(|(experiment, _)| &experiment.methods) {
        if let Some(chosen) = &variant.chosen {
            let (label, settings) = (variant.label(), &variant.settings);
            sentences.push(format!(
                "Settings of `{label}` other than its defaults: `{settings}` ({chosen})."
            ));
        }
    }
    Ok((!sentences.is_empty()).then(|| sentences.join(" ")))
}

/// One line of Table 2.
fn line(
    (experiment, all): (&str, usize),
    table: &table::Table<'_>,
    row: &Row<'_>,
    entry: Option<Entry>,
) -> Vec<String> {
    let scored = row.n_scored();
    let runs = if scored == all { scored.to_string() } else { format!("{scored} of {all}") };
    // Its view is the one that the truth picks.
    let mark = if row.method() == "bsv" { " (knows the truth)" } else { "" };
    let name = format!("{} {}{mark}", shown(&row.label), rate_of(table.pattern));
    let mut line = vec![name, runs];
    for (score, paper) in [("acc", entry.map(|e| e.acc)), ("nmi", entry.map(|e| e.nmi))] {
        let ours = row.percent(score);
        let difference = ours.zip(paper).map(|(ours, paper)| {
            let sign = Verdict::of(row.method(), Some(ours), paper, all).sign();
            format!("{:+.2} {sign}", ours.mean - paper.mean)
        });
        // One command runs the whole line again.
        line.push(match score {
            "acc" => repeatable(&or_dash(ours), &command(experiment, table, row)),
            _ => or_dash(ours),
        });
        line.extend([or_dash(paper), or_dash(difference)]);
    }
    line.extend(["ari", "purity"].map(|score| or_dash(row.percent(score))));
    line
}

/// One line of Table 2 that only the paper has.
fn line_without_runs(name: &str, pattern: &str, entry: Entry) -> Vec<String> {
    let mut line = vec![format!("{name} {}", rate_of(pattern)), "0".into()];
    for paper in [entry.acc, entry.nmi] {
        line.extend(["–".into(), paper.to_string(), Verdict::NotRun.to_string()]);
    }
    line.extend(["–", "–"].map(str::to_owned));
    line
}

/// What runs a row again.
pub(super) fn command(experiment: &str, table: &table::Table<'_>, row: &Row<'_>) -> String {
    let label =
        if row.label.contains(' ') { format!("'{}'", row.label) } else { row.label.clone() };
    // Masks that are not drawn come with the data, all of them; of those drawn some may be left to run.
    let drawn = row.records.iter().filter(|record| record.cell.fold.is_none());
    let repetitions = drawn.map(|record| record.cell.repetition + 1).max().unwrap_or(0);
    let all = experiment::load(experiment).map_or(0, |experiment| {
        let own = experiment.methods.iter().find(|variant| variant.label() == row.label);
        own.map_or(experiment.repetitions, |own| experiment.repetitions_of(own))
    });
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

/// The paper's ACC of CDIMC-net and every row's over the rates.
fn against_rate(results: &Results, experiment: &str, tables: &[table::Table<'_>]) -> Vec<Series> {
    let rate = |pattern: &str| rate_of(pattern).parse::<f64>().ok();
    let mut paper = Series::new("CDIMC-net in the paper", Some(INK));
    for (pattern, Entry { acc, .. }) in published(results, experiment, CdimcNet::NAME) {
        let number = Summary { mean: acc.mean, deviation: acc.deviation, n: 1 };
        paper.points.extend(rate(&pattern).map(|rate| (rate, number)));
    }
    let mut rows: BTreeMap<&str, Series> = BTreeMap::new();
    for table in tables {
        for row in &table.rows {
            let Some((rate, acc)) = rate(table.pattern).zip(row.percent("acc")) else { continue };
            let series = rows.entry(&row.label).or_insert_with(|| {
                let color = COLORED.iter().find(|(label, _)| *label == row.label);
                Series::new(shown(&row.label), color.map(|(_, color)| *color))
            });
            series.points.push((rate, acc));
        }
    }
    for (label, series) in &mut rows {
        let all = planned(results, experiment, label);
        if let Some(least) = series.points.iter().map(|(_, acc)| acc.n).min().filter(|n| *n < all) {
            series.label += &format!(" ({least} of {all} runs)");
        }
    }
    let mut series: Vec<Series> = rows.into_values().chain([paper]).collect();
    // Those that stand out are drawn over the others.
    series.sort_by_key(|series| series.color.is_some());
    for series in &mut series {
        series.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    series
}

pub(super) fn patterns(results: &Results) -> Vec<Block> {
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
                format!("{}, {}", shown(&row.label), table.pattern),
                row.n_scored().to_string(),
                repeatable(&or_dash(row.percent("acc")), &command("patterns", table, row)),
            ];
            line.extend(["nmi", "ari", "purity"].map(|score| or_dash(row.percent(score))));
            lines.rows.push(line);
        }
    }
    if tables.is_empty() {
        blocks.push(Block::Paragraph("Not run.".into()));
    } else {
        blocks.extend([Block::Table(lines), Block::Paragraph(TUNED_ON.into())]);
    }
    blocks
}

/// What an experiment's data set is called in records.
pub(super) fn dataset_of(experiment: &str) -> &str {
    if experiment == "mnist" { "mnist4000" } else { experiment }
}

/// The patterns and numbers that the paper prints for a method.
pub(super) fn published(results: &Results, experiment: &str, method: &str) -> Vec<(String, Entry)> {
    let entries = results.published.entries().into_iter();
    let of = entries.filter(|entry| entry.0 == dataset_of(experiment) && entry.2 == method);
    of.map(|(_, pattern, _, entry)| (pattern, entry)).collect()
}

/// The row of this name.
pub(super) fn labeled<'t, 'a>(
    tables: &'t [table::Table<'a>],
    pattern: &str,
    label: &str,
) -> Option<&'t Row<'a>> {
    let table = tables.iter().find(|table| table.pattern == pattern)?;
    table.rows.iter().find(|row| row.label == label)
}

/// The rate in a pattern's text, or else the text.
pub(super) fn rate_of(pattern: &str) -> &str {
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
