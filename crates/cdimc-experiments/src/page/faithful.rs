//! The top of the page: whether the paper's numbers come out again, counted from the records, and the main table.

use super::table_2::Verdict;
use super::{DATASETS, Results, data_set, rate_of, shown};
use crate::methods::AUTHORS;
use crate::table::{Summary, or_dash};
use crate::text::Grid;
use anyhow::{Context, Result};
use cdimc_cluster::CdimcNet;
use serde::Deserialize;
use std::collections::BTreeMap;

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
