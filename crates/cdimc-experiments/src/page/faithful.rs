//! The top of the page: whether the paper's numbers come out again, counted from the records, and the main table.

use super::verdict::Verdict;
use super::{DATASETS, Results, TUNED_ON, data_set, rate_of, shown};
use crate::methods::AUTHORS;
use crate::table::{Summary, or_dash};
use crate::text::{Grid, Page};
use anyhow::{Context, Result};
use cdimc_cluster::CdimcNet;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The legend of the main table, here and in the README.
const LEGEND: &str = "ACC x 100, mean ± standard deviation (SD) over the runs; in brackets the difference from the paper in points. \
    ✓ reproduced, ▲ above the paper, ▼ below it.";

/// The authors' program, run by us.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AuthorsProgram {
    runs: Vec<ProgramRun>,
}

/// One run of it.
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

/// The box, the rule of the verdicts, the main table, and the runs of the authors' program.
pub(super) fn write(results: &Results, page: &mut Page) -> Result<()> {
    let AuthorsProgram { runs } = toml::from_str(include_str!("../../authors_program.toml"))?;
    let is_ours = |method: &str| method == CdimcNet::NAME;
    let authors = counted(results, |method| is_ours(method).then_some(AUTHORS))?;
    let ours = counted(results, |method| is_ours(method).then_some(CdimcNet::NAME))?;
    let compared = counted(results, |method| (!is_ours(method)).then_some(method))?;
    let program = match Summary::of(runs.iter().map(|run| run.acc)) {
        None => "not run.".to_owned(),
        Some(Summary { n, lowest, highest, .. }) => {
            format!("{n} runs, ACC {lowest:.1} to {highest:.1}; the table is below.")
        }
    };
    page.boxed(
        "Is this a faithful reproduction?",
        &[
            "**Code**: our own implementation in Rust, not the authors' programs.".to_owned(),
            format!("**CDIMC-net with the authors' settings**: {authors}."),
            format!("**CDIMC-net with our choices**: {ours}."),
            format!("**The compared methods**: {compared}."),
            format!("**The authors' own program for CDIMC-net**: {program}"),
            "**What we could not get**: the paper's masks of BDGP and MNIST, and its 4000 digits of MNIST.".to_owned(),
        ],
    );
    page.paragraph(&format!("A number is {}", Verdict::RULE));
    page.section("CDIMC-net in the paper, and ours");
    page.table(&main(results)?);
    page.paragraph(LEGEND);
    page.paragraph(TUNED_ON);
    if !runs.is_empty() {
        page.section("The authors' program beside ours");
        page.table(&program_table(results, &runs)?);
        page.paragraph("ACC x 100. Ours is of the same mask where the mask was noted, and otherwise the mean over all masks.");
    }
    Ok(())
}

/// The table the README quotes, with what has to be known to read it, as Markdown.
pub(super) fn main_table(results: &Results) -> Result<String> {
    Ok(format!("{}\n{LEGEND} {TUNED_ON}\n", main(results)?.markdown()))
}

/// How many numbers of Table 2 are reproduced, above and so on, for the methods to which `row` gives a row of ours.
fn counted<'m>(results: &'m Results, row: impl Fn(&'m str) -> Option<&'m str>) -> Result<String> {
    let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
    for (experiment, ..) in DATASETS {
        let part = results.part(experiment)?;
        for entry in &part.published {
            let Some(label) = row(&entry.method) else { continue };
            for (score, paper) in [("acc", entry.acc), ("nmi", entry.nmi)] {
                let ours = part.row(&entry.pattern, label).and_then(|row| row.percent(score));
                let verdict = Verdict::of(&entry.method, ours, paper, part.planned(label));
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
fn main(results: &Results) -> Result<Grid> {
    let (authors, ours) = (shown(AUTHORS), shown(CdimcNet::NAME));
    let mut grid =
        Grid::new(&format!("data, rate | paper's CDIMC-net | {authors} | {ours} | our t-mixture"));
    for (experiment, name, _) in DATASETS {
        let part = results.part(experiment)?;
        for entry in part.published(CdimcNet::NAME) {
            let acc = |label| part.row(&entry.pattern, label).and_then(|row| row.percent("acc"));
            let mut line =
                vec![format!("{name}, {}", rate_of(&entry.pattern)), entry.acc.to_string()];
            for label in [AUTHORS, CdimcNet::NAME] {
                let (found, all) = (acc(label), part.planned(label));
                let verdict = Verdict::of(CdimcNet::NAME, found, entry.acc, all);
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
fn program_table(results: &Results, runs: &[ProgramRun]) -> Result<Grid> {
    let (authors, ours) = (shown(AUTHORS), shown(CdimcNet::NAME));
    let mut grid = Grid::new(&format!(
        "data, rate, mask | settings | authors' program | {authors} | {ours} | paper's mean"
    ));
    for run in runs {
        let (experiment, name, _) = data_set(&run.dataset).context("a data set of the paper")?;
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
