//! Figures 2 to 4 of the paper from our records, each with what it says of the paper's claim.

use super::{DATASETS, NOT_RUN, Part, Results, shown};
use crate::experiment::Figure;
use crate::methods::AUTHORS;
use crate::report;
use crate::table::{Row, Summary, Table};
use crate::text::{Figures, Grid, blocks, folded};
use anyhow::{Context, Result};
use cdimc_cluster::CdimcNet;
use serde_json::Value;

/// Where the paper looks for the weight of the graph term and for the learning rate (section 4.4).
const SUGGESTED: std::ops::RangeInclusive<f64> = 1e-5..=1e-3;

/// Returns a section with one value per row: drawings, a comparison with the paper's claim, and the values.
pub(super) fn part(part: &Part<'_>, figures: &mut Figures) -> Result<String> {
    let mut parts = Vec::new();
    let mut values = Grid::new("data | row | runs | ACC | NMI");
    let kind = part.experiment.figures.first().copied().context("an experiment with figures")?;
    for table in &part.tables {
        if let Some(svg) = report::draw(kind, table) {
            let name = format!("{}-{}", part.experiment.name, table.dataset);
            let caption = format!("ACC x 100 on {}, {}.", table.dataset, table.pattern);
            parts.push(figures.add(&name, &svg, &caption));
        }
        parts.extend(match kind {
            Figure::Grid => small_against_large(table),
            _ => full_against_degenerate(table),
        });
        for row in &table.rows {
            values.rows.push(vec![
                table.dataset.into(),
                row.label.clone(),
                row.scored().count().to_string(),
                part.repeatable(table, row, "acc"),
                part.repeatable(table, row, "nmi"),
            ]);
        }
    }
    let is_run = !part.tables.is_empty();
    parts.push(if is_run { folded("Every number", &values) } else { NOT_RUN.to_owned() });
    Ok(blocks(parts))
}

/// Mean ACC of the points where both coordinates are as small as the paper suggests, and of the others. Points that gave
/// nothing usable count once not at all and once as one cluster for all samples; a verdict stands if both agree.
fn small_against_large(table: &Table<'_>) -> Option<String> {
    let is_small = |row: &&Row<'_>| {
        let mut values = row.point().values().filter_map(Value::as_f64);
        values.all(|value| SUGGESTED.contains(&value))
    };
    let (inside, outside): (Vec<&Row<'_>>, Vec<&Row<'_>>) = table.rows.iter().partition(is_small);
    let mean = |rows: &[&Row<'_>], unusable: Option<f64>| {
        let acc = |row: &&Row<'_>| row.percent("acc").map(|acc| acc.mean).or(unusable);
        Summary::of(rows.iter().filter_map(acc))
    };
    let (small, large) = (mean(&inside, None)?, mean(&outside, None)?);
    let one_cluster = 100.0 / inside.first()?.records[0].cell.n_clusters as f64;
    let all = [mean(&inside, Some(one_cluster))?, mean(&outside, Some(one_cluster))?];
    let verdict = match (small.mean > large.mean, all[0].mean > all[1].mean) {
        (true, true) => "as in the paper",
        (false, false) => "unlike the paper",
        _ => "undecided",
    };
    let unusable = match inside.len() + outside.len() - small.n - large.n {
        0 => String::new(),
        n => format!(
            " Points without a usable result: {n}. If they count as one cluster, the means are {:.1} and {:.1}.",
            all[0].mean, all[1].mean
        ),
    };
    Some(format!(
        "On {}, {verdict}: where weight and rate are at most 0.001, ACC is {small} over {} points, elsewhere {large} over {}.{unusable}",
        table.dataset, small.n, large.n
    ))
}

/// Which of the degenerate models fall below the full one, and which of them by more than the runs spread.
fn full_against_degenerate(table: &Table<'_>) -> Option<String> {
    let full = table.rows.iter().find(|row| row.is_plain())?.percent("acc")?;
    let (mut below, mut within, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for row in table.rows.iter().filter(|row| !row.is_plain()) {
        if let Some(degenerate) = row.percent("acc") {
            let spread =
                [full, degenerate].iter().filter_map(|acc| acc.deviation).fold(0.0, f64::max);
            let group = match full.mean - degenerate.mean {
                fall if fall > spread => &mut below,
                fall if fall > 0.0 => &mut within,
                _ => &mut others,
            };
            group.push(format!("{} ({degenerate})", row.label));
        }
    }
    let masks = if full.n == 1 { "one mask".to_owned() } else { format!("{} masks", full.n) };
    let mut text = format!("On {}, {masks}: the full model has {full}.", table.dataset);
    let groups = [
        ("Below it", below),
        ("Below it by less than the runs spread", within),
        ("**Not below it**", others),
    ];
    for (words, names) in groups.iter().filter(|(_, names)| !names.is_empty()) {
        text += &format!(" {words}: {}.", names.join(", "));
    }
    groups.iter().any(|(_, names)| !names.is_empty()).then_some(text)
}

/// The clustering loss over the rounds of fine-tuning.
pub(super) fn losses(results: &Results, figures: &mut Figures) -> Result<String> {
    let mut parts = Vec::new();
    for (experiment, name) in &DATASETS[..2] {
        for table in results.part(experiment)?.tables {
            for row in table.rows.into_iter().filter(|_| table.pattern == "per-view:0.1") {
                let file = match row.label.as_str() {
                    AUTHORS => format!("{experiment}-loss"),
                    CdimcNet::NAME => format!("{experiment}-loss-ours"),
                    _ => continue,
                };
                let whose = shown(&row.label).to_owned();
                let alone = Table { rows: vec![row], ..table };
                if let Some(svg) = report::draw(Figure::Curves, &alone) {
                    let caption = format!("Clustering loss of {whose}, on {name}, 10 % missing.");
                    parts.push(figures.add(&file, &svg, &caption));
                    let falls = fall(&alone);
                    parts.extend(falls.map(|falls| format!("With {whose}, on {name}, {falls}")));
                }
            }
        }
    }
    Ok(blocks(parts))
}

/// In how many runs the loss falls, and how much of the fall the first tenth of the rounds brings. A run may end after
/// six rounds, so the tenth is rounded up.
fn fall(table: &Table<'_>) -> Option<String> {
    let runs = report::finetuning_losses(table);
    let part = |values: &&[f64]| {
        let (first, last) = (values.first()?, values.last()?);
        (last < first).then(|| 100.0 * (first - values[values.len().div_ceil(10)]) / (first - last))
    };
    let early = Summary::of(runs.iter().filter_map(part))?;
    Some(format!(
        "it ends lower than it began in {} of {} runs; the first tenth of the rounds (rounded up) brings {early} % of the fall.",
        early.n,
        runs.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::tests::record;
    use crate::table::tables;

    #[test]
    fn small_values_may_be_better_as_in_the_paper() {
        let records = [(1e-5, 0.9), (0.1, 0.8)].map(|(value, acc): (f64, f64)| {
            let mut record = record(0, acc);
            record.cell.label = value.to_string();
            record.cell.point = [("alpha".to_owned(), value.into())].into();
            record
        });
        let words = "On synthetic, as in the paper: where weight and rate are at most 0.001, ACC is 90.00 over 1 points, elsewhere 80.00 over 1.";
        assert_eq!(small_against_large(&tables(&records)[0]).as_deref(), Some(words));
    }
}
