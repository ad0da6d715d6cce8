//! The top of the page: whether the paper's numbers come out again, counted from the records, and the main table.

use super::document::{Block, Table};
use super::sections::{TUNED_ON, dataset_of, labeled, planned, published, rate_of, shown};
use super::verdict::Verdict;
use super::{DATASETS, Results};
use crate::methods::AUTHORS;
use crate::table::{self, Summary, or_dash};
use anyhow::Result;
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

/// The box, the rule of the verdicts, the runs of the authors' program, and the main table.
pub(super) fn blocks(results: &Results) -> Result<Vec<Block>> {
    let AuthorsProgram { runs } = toml::from_str(include_str!("../../authors_program.toml"))?;
    let authors = |method: &str| (method == CdimcNet::NAME).then_some(AUTHORS);
    let ours = |method: &str| (method == CdimcNet::NAME).then_some(CdimcNet::NAME);
    let accs = || runs.iter().map(|run| run.acc);
    let (least, most) = (accs().fold(100.0, f64::min), accs().fold(0.0, f64::max));
    let program = match runs.len() {
        0 => "not run.".to_owned(),
        n => format!("{n} runs, ACC {least:.1} to {most:.1}; the table is below."),
    };
    let lines = vec![
        "**Code**: our own implementation in Rust, not the authors' programs.".to_owned(),
        format!("**CDIMC-net with the authors' settings**: {}.", counted(results, authors)),
        format!("**CDIMC-net with our choices**: {}.", counted(results, ours)),
        format!(
            "**The compared methods**: {}.",
            counted(results, |method| if method == CdimcNet::NAME { None } else { Some(method) })
        ),
        format!("**The authors' own program for CDIMC-net**: {program}"),
        "**What we could not get**: the paper's masks of BDGP and MNIST, and its 4000 digits of MNIST.".to_owned(),
    ];
    let mut blocks = vec![
        Block::Boxed("Is this a faithful reproduction?".into(), lines),
        Block::Paragraph(format!("A number is {}", Verdict::RULE)),
        Block::Section("CDIMC-net in the paper, and ours".into()),
        Block::Table(main(results)),
        Block::Paragraph(LEGEND.into()),
        Block::Paragraph(TUNED_ON.into()),
    ];
    if !runs.is_empty() {
        blocks.push(Block::Section("The authors' program beside ours".into()));
        blocks.push(Block::Table(program_table(results, &runs)));
        blocks.push(Block::Paragraph(
            "ACC x 100. Ours is of the same mask where the mask was noted, and otherwise the mean over all masks.".into(),
        ));
    }
    Ok(blocks)
}

/// The table the README quotes, with what has to be known to read it, as Markdown.
pub(super) fn main_table(results: &Results) -> String {
    format!("{}\n{LEGEND} {TUNED_ON}\n", main(results).markdown())
}

/// How many numbers of Table 2 are reproduced, above and so on, for the methods to which `row` gives a row of ours.
fn counted<'m>(results: &'m Results, row: impl Fn(&'m str) -> Option<&'m str>) -> String {
    let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
    for (experiment, ..) in DATASETS {
        let tables = results.tables(experiment);
        for (dataset, pattern, method, entry) in results.published.entries() {
            let Some(label) = row(method).filter(|_| dataset == dataset_of(experiment)) else {
                continue;
            };
            for (score, paper) in [("acc", entry.acc), ("nmi", entry.nmi)] {
                let row = labeled(&tables, &pattern, label);
                let ours = row.and_then(|row| row.percent(score));
                *counts
                    .entry(Verdict::of(method, ours, paper, planned(results, experiment, label)))
                    .or_default() += 1;
            }
        }
    }
    let all: usize = counts.values().sum();
    let reproduced = counts.remove(&Verdict::Reproduced).unwrap_or(0);
    let others: String = counts.iter().map(|(verdict, n)| format!(", {n} {verdict}")).collect();
    format!("{reproduced} of {all} numbers reproduced{others}")
}

/// CDIMC-net as published and ours, and the mixture of t distributions, at every rate.
fn main(results: &Results) -> Table {
    let mut table = Table::new(&[
        "data, rate",
        "paper's CDIMC-net",
        shown(AUTHORS),
        shown(CdimcNet::NAME),
        "our t-mixture",
    ]);
    for (experiment, name, _) in DATASETS {
        let tables = results.tables(experiment);
        for (pattern, entry) in published(results, experiment, CdimcNet::NAME) {
            let acc = |label| labeled(&tables, &pattern, label).and_then(|row| row.percent("acc"));
            let mut line = vec![format!("{name}, {}", rate_of(&pattern)), entry.acc.to_string()];
            for label in [AUTHORS, CdimcNet::NAME] {
                let (found, all) = (acc(label), planned(results, experiment, label));
                let verdict = Verdict::of(CdimcNet::NAME, found, entry.acc, all);
                let ours = or_dash(found);
                line.push(match found {
                    Some(Summary { n, .. }) if verdict == Verdict::Unfinished => {
                        format!("{ours} ({n} of {all} runs)")
                    }
                    Some(Summary { mean, .. }) => {
                        let difference = mean - entry.acc.mean;
                        format!("{ours} ({difference:+.1} {})", verdict.sign())
                    }
                    None => ours,
                });
            }
            line.push(or_dash(acc("t-mixture")));
            table.rows.push(line);
        }
    }
    table
}

/// The data, rate and mask of a run of the authors' program.
fn where_run(run: &ProgramRun) -> String {
    let known = DATASETS.iter().find(|(experiment, ..)| dataset_of(experiment) == run.dataset);
    let name = known.map_or(run.dataset.as_str(), |(_, name, _)| name);
    let mask = run.mask.map_or_else(String::new, |mask| format!(", mask {mask}"));
    format!("{name}, {}{mask}", rate_of(&run.pattern))
}

/// Every run of the authors' program beside ours and the paper.
fn program_table(results: &Results, runs: &[ProgramRun]) -> Table {
    let mut table = Table::new(&[
        "data, rate, mask",
        "settings",
        "authors' program",
        shown(AUTHORS),
        shown(CdimcNet::NAME),
        "paper's mean",
    ]);
    for run in runs {
        let known = DATASETS.iter().find(|(experiment, ..)| dataset_of(experiment) == run.dataset);
        let tables = known.map_or_else(Vec::new, |(experiment, ..)| results.tables(experiment));
        let acc = |label| {
            let row = labeled(&tables, &run.pattern, label)?;
            let mut row = table::Row { label: row.label.clone(), records: row.records.clone() };
            row.records.retain(|record| run.mask.is_none() || record.cell.fold == run.mask);
            row.percent("acc")
        };
        let paper = results.published.entry(&run.dataset, &run.pattern, CdimcNet::NAME);
        table.rows.push(vec![
            where_run(run),
            run.settings.clone(),
            format!("{:.1}", run.acc),
            or_dash(acc(AUTHORS)),
            or_dash(acc(CdimcNet::NAME)),
            or_dash(paper.map(|paper| paper.acc)),
        ]);
    }
    table
}
