//! The paper's Table 2: whether its numbers come out again, counted from the records, the main table at the top of the
//! page, and the sections with every number.

use super::{DATASETS, Part, Results, data_set, rate_of, shown};
use crate::figure::{self, Series};
use crate::methods::{AUTHORS, BSV, agree, changed, configured};
use crate::table::{Entry, Row, Summary, Table, or_dash, rank};
use crate::text::{Figures, Grid, blocks, folded};
use anyhow::{Context, Result};
use cdimc::report::drawing::{INK, PALETTE};
use cdimc_cluster::CdimcNet;
use plotters::style::RGBColor;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// Smallest and largest difference in points that two standard deviations stand for: a paper's small SD makes no
/// difference of 3 points a failure, and a large one no difference of more than 5 a success.
const TOLERANCE: [f64; 2] = [3.0, 5.0];

/// The curves of the figures that stand out, in the same colors in all figures. The others are gray.
const COLORED: [(&str, RGBColor); 3] =
    [(AUTHORS, PALETTE[3]), (CdimcNet::NAME, PALETTE[0]), ("t-mixture", PALETTE[2])];

/// How our number compares with the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// The means differ by at most the tolerance.
    Reproduced,
    Above,
    Below,
    NotComparable,
    /// Ours is a mean over some of the masks.
    Unfinished,
    NotRun,
}

impl Verdict {
    /// Of our mean against the paper's number for a method that has `all` runs.
    pub(super) fn of(ours: Option<Summary>, paper: Summary, all: usize) -> Self {
        let Some(ours) = ours else { return Self::NotRun };
        if ours.n < all {
            return Self::Unfinished;
        }
        // The paper took numbers without a deviation from another paper.
        let Some(deviation) = paper.deviation else { return Self::NotComparable };
        let difference = ours.mean - paper.mean;
        let [least, most] = TOLERANCE;
        // Both are printed with two decimals.
        if difference.abs() <= (2.0 * deviation).clamp(least, most) + 0.005 {
            Self::Reproduced
        } else if difference > 0.0 {
            Self::Above
        } else {
            Self::Below
        }
    }

    /// The verdict in words, and as a sign beside a number; no sign without a comparison.
    fn shown(self) -> (&'static str, &'static str) {
        match self {
            Self::Reproduced => ("reproduced", "✓"),
            Self::Above => ("above", "▲"),
            Self::Below => ("below", "▼"),
            Self::NotComparable => ("not comparable", ""),
            Self::Unfinished => ("unfinished", ""),
            Self::NotRun => ("not run", ""),
        }
    }

    pub(super) fn sign(self) -> &'static str {
        self.shown().1
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shown().0)
    }
}

/// A data set: ACC against the rate, settings, and every method at every rate.
pub(super) fn part(part: &Part<'_>, figures: &mut Figures) -> Result<String> {
    let experiment = &part.experiment.name;
    let (_, name) = data_set(experiment).context("a data set of the paper")?;
    let mut parts = Vec::new();
    if let Some(first) = part.tables.first() {
        let x_name = if first.pattern.starts_with("paired:") {
            "share of samples that have both views"
        } else {
            "share of the samples that each view lacks"
        };
        let svg = figure::against_rate(&format!("ACC on {name}"), x_name, &series(part));
        let caption = format!(
            "ACC x 100 on {name}. Bars are SDs over the runs. Gray lines are the compared methods, as we ran them."
        );
        parts.push(figures.add(&format!("{experiment}-acc"), &svg, &caption));
    }
    parts.push(settings(part)?.join(" "));
    parts.push(folded(&format!("All methods on {name}, every number"), &numbers(part)));
    Ok(blocks(parts))
}

/// Every method at every rate, ours and the paper's.
fn numbers(part: &Part<'_>) -> Grid {
    let mut lines: BTreeMap<(usize, &str), Vec<Vec<String>>> = BTreeMap::new();
    for table in &part.tables {
        // Methods that do not apply are named below, with their reasons.
        for row in table.rows.iter().filter(|row| row.scored().next().is_some()) {
            let mut printed = part.published(row.method());
            let entry = printed.find(|entry| entry.pattern == table.pattern);
            let line = line(part, (table.pattern, &row.label), Some((table, row)), entry);
            lines.entry((rank(row.method()), &row.label)).or_default().push(line);
        }
    }
    for entry in &part.published {
        let (both, own) = ([AUTHORS, CdimcNet::NAME], [entry.method.as_str()]);
        for label in if own == [CdimcNet::NAME] { &both[..] } else { &own } {
            let row = part.row(&entry.pattern, label);
            if row.is_none_or(|row| row.scored().next().is_none()) {
                let line = line(part, (&entry.pattern, label), None, Some(entry));
                lines.entry((rank(&entry.method), label)).or_default().push(line);
            }
        }
    }
    let mut grid = Grid::new(
        "method, rate | runs | ACC | paper's | difference | NMI | paper's | difference | ARI | purity",
    );
    grid.rows = lines.into_values().flatten().collect();
    grid
}

/// One line of the table, with our runs or the paper's numbers or both.
fn line(
    part: &Part<'_>,
    (pattern, label): (&str, &str),
    ours: Option<(&Table<'_>, &Row<'_>)>,
    entry: Option<&Entry>,
) -> Vec<String> {
    let all = part.planned(label);
    // Its view is the one that the truth picks.
    let is_bsv = ours.is_some_and(|(_, row)| row.method() == BSV);
    let mark = if is_bsv { " (knows the truth)" } else { "" };
    let name = format!("{} {}{mark}", shown(label), rate_of(pattern));
    let mut line = vec![name, ours.map_or("0".into(), |(_, row)| row.runs(all))];
    for (score, paper) in [("acc", entry.map(|e| e.acc)), ("nmi", entry.map(|e| e.nmi))] {
        let found = ours.and_then(|(_, row)| row.percent(score));
        let difference = paper.map(|paper| match found {
            Some(found) => {
                let sign = Verdict::of(Some(found), paper, all).sign();
                format!("{:+.2} {sign}", found.mean - paper.mean)
            }
            None => Verdict::NotRun.to_string(),
        });
        // One command runs the whole line again.
        line.push(match ours.filter(|_| score == "acc") {
            Some((table, row)) => part.repeatable(table, row, score),
            None => or_dash(found),
        });
        line.extend([or_dash(paper), or_dash(difference)]);
    }
    let others = ours.map(|(_, row)| row.scores(["ari", "purity"]));
    line.extend(others.unwrap_or_else(|| ["–", "–"].map(str::to_owned)));
    line
}

/// The settings that the experiment gives its methods, and how they were chosen.
fn settings(part: &Part<'_>) -> Result<Vec<String>> {
    let mut sentences = Vec::new();
    let mut rows = part.tables.iter().flat_map(|table| &table.rows);
    if let Some(row) = rows.find(|row| row.label == CdimcNet::NAME) {
        let cell = &row.records[0].cell;
        let changed = changed(&cell.settings, &configured(AUTHORS, Value::Null)?);
        let mut words =
            format!("Our choices for CDIMC-net, in place of the authors': `{changed}`.");
        let today = configured(CdimcNet::NAME, Value::Null)?;
        if !agree(&cell.settings, &today) {
            words += " These were its defaults when it was run; today's differ.";
        }
        sentences.push(words);
    }
    for variant in &part.experiment.methods {
        if let Some(chosen) = &variant.chosen {
            let (label, settings) = (variant.label(), &variant.settings);
            sentences.push(format!(
                "Settings of `{label}` other than its defaults: `{settings}` ({chosen})."
            ));
        }
    }
    Ok(sentences)
}

/// The paper's ACC of CDIMC-net and every row's over the rates.
fn series(part: &Part<'_>) -> Vec<Series> {
    let rate = |pattern: &str| rate_of(pattern).parse::<f64>().ok();
    let printed = part.published(CdimcNet::NAME);
    let points = printed.filter_map(|entry| Some((rate(&entry.pattern)?, entry.acc))).collect();
    let paper = Series { label: "CDIMC-net in the paper".to_owned(), color: Some(INK), points };
    let mut rows: BTreeMap<&str, Series> = BTreeMap::new();
    for table in &part.tables {
        for row in &table.rows {
            let Some((rate, acc)) = rate(table.pattern).zip(row.percent("acc")) else { continue };
            let series = rows.entry(&row.label).or_insert_with(|| {
                let color = COLORED.iter().find(|(label, _)| *label == row.label);
                let (label, color) = (shown(&row.label).to_owned(), color.map(|(_, color)| *color));
                Series { label, color, points: Vec::new() }
            });
            series.points.push((rate, acc));
        }
    }
    for (label, series) in &mut rows {
        let all = part.planned(label);
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

/// One run of the authors' program by us.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProgramRun {
    dataset: String,
    pattern: String,
    /// Which of the authors' masks, where it was noted.
    mask: Option<usize>,
    settings: String,
    /// Percent.
    acc: f64,
}

fn program_runs() -> Result<Vec<ProgramRun>> {
    let mut file: BTreeMap<String, Vec<ProgramRun>> =
        toml::from_str(include_str!("../../authors_program.toml"))?;
    file.remove("runs").context("authors_program.toml: no runs")
}

/// The number of runs of the authors' program, and the range of their ACC.
pub(super) fn program_range() -> Result<String> {
    let accs = Summary::of(program_runs()?.iter().map(|run| run.acc));
    let Summary { n, lowest, highest, .. } = accs.context("no runs of the authors' program")?;
    Ok(format!("{n} runs, ACC {lowest:.1} to {highest:.1}"))
}

/// How many numbers of Table 2 are reproduced, above and so on, by a row of CDIMC-net or by the compared methods.
pub(super) fn counted(results: &Results, of: &str) -> Result<String> {
    let row = |method: &str| match (method == CdimcNet::NAME, of == "compared") {
        (true, false) => Some(of.to_owned()),
        (false, true) => Some(method.to_owned()),
        _ => None,
    };
    let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
    for (experiment, _) in DATASETS {
        let part = results.part(experiment)?;
        for entry in &part.published {
            let Some(label) = row(&entry.method) else { continue };
            for (score, paper) in [("acc", entry.acc), ("nmi", entry.nmi)] {
                let ours = part.score(&entry.pattern, &label, score);
                let verdict = Verdict::of(ours, paper, part.planned(&label));
                *counts.entry(verdict).or_default() += 1;
            }
        }
    }
    let all: usize = counts.values().sum();
    let reproduced = counts.remove(&Verdict::Reproduced).unwrap_or(0);
    let others: String = counts.iter().map(|(verdict, n)| format!(", {n} {verdict}")).collect();
    Ok(format!("{reproduced} of {all} numbers reproduced{others}"))
}

/// CDIMC-net as published and ours, and the mixture of t distributions, at every rate.
pub(super) fn main(results: &Results) -> Result<Grid> {
    let (authors, ours) = (shown(AUTHORS), shown(CdimcNet::NAME));
    let mut grid =
        Grid::new(&format!("data, rate | paper's CDIMC-net | {authors} | {ours} | our t-mixture"));
    for (experiment, name) in DATASETS {
        let part = results.part(experiment)?;
        for entry in part.published(CdimcNet::NAME) {
            let acc = |label| part.score(&entry.pattern, label, "acc");
            let mut line =
                vec![format!("{name}, {}", rate_of(&entry.pattern)), entry.acc.to_string()];
            for label in [AUTHORS, CdimcNet::NAME] {
                let (found, all) = (acc(label), part.planned(label));
                let verdict = Verdict::of(found, entry.acc, all);
                let remark = found.map_or_else(String::new, |found| match verdict {
                    Verdict::Unfinished => format!(" ({} of {all} runs)", found.n),
                    _ => format!(" ({:+.1} {})", found.mean - entry.acc.mean, verdict.sign()),
                });
                line.push(or_dash(found) + &remark);
            }
            line.push(or_dash(acc("t-mixture")));
            grid.rows.push(line);
        }
    }
    Ok(grid)
}

/// Every run of the authors' program beside ours and the paper.
pub(super) fn program(results: &Results) -> Result<Grid> {
    let (authors, ours) = (shown(AUTHORS), shown(CdimcNet::NAME));
    let mut grid = Grid::new(&format!(
        "data, rate, mask | settings | authors' program | {authors} | {ours} | paper's mean"
    ));
    for run in program_runs()? {
        let (experiment, name) = data_set(&run.dataset).context("a data set of the paper")?;
        let part = results.part(experiment)?;
        let acc = |label| {
            let records = part.row(&run.pattern, label)?.records.iter();
            let of_mask = records.filter(|r| run.mask.is_none() || r.cell.fold == run.mask);
            let scores = of_mask.filter_map(|record| record.outcome.score("acc"));
            Summary::of(scores.map(|score| 100.0 * score))
        };
        let paper = results.published.entry(&run.dataset, &run.pattern, CdimcNet::NAME);
        let mask = run.mask.map_or_else(String::new, |mask| format!(", mask {mask}"));
        grid.rows.push(vec![
            format!("{name}, {}{mask}", rate_of(&run.pattern)),
            run.settings.clone(),
            format!("{:.1}", run.acc),
            or_dash(acc(AUTHORS)),
            or_dash(acc(CdimcNet::NAME)),
            or_dash(paper.map(|paper| paper.acc)),
        ]);
    }
    Ok(grid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_deviations_of_the_paper_decide_from_3_to_5_points() {
        let paper = Summary::printed(&[90.0, 2.0]);
        let verdict = |mean| Verdict::of(Summary::of([mean]), paper, 1);
        assert_eq!([93.9, 86.1].map(verdict), [Verdict::Reproduced; 2]);
        assert_eq!([94.1, 85.9].map(verdict), [Verdict::Above, Verdict::Below]);
        for (deviation, least, most) in [(0.1, 2.9, 3.1), (10.0, 4.9, 5.1)] {
            let paper = Summary::printed(&[90.0, deviation]);
            let off = |points| Verdict::of(Summary::of([90.0 - points]), paper, 1);
            assert_eq!([least, most].map(off), [Verdict::Reproduced, Verdict::Below]);
        }
        assert_eq!(Verdict::of(None, paper, 1), Verdict::NotRun);
        let ours = Summary::of([90.0]);
        assert_eq!(Verdict::of(ours, paper, 2), Verdict::Unfinished);
        let copied = Summary::printed(&[90.0]);
        assert_eq!(Verdict::of(ours, copied, 1), Verdict::NotComparable);
    }
}
