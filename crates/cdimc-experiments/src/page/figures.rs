//! Figures 2 to 4 of the paper from our records, each with what it says of the paper's claim.

use super::document::{Block, Table, repeatable};
use super::sections::{command, shown};
use super::{DATASETS, Results};
use crate::experiment;
use crate::methods::AUTHORS;
use crate::report;
use crate::table::{self, Row, or_dash};
use anyhow::Result;
use cdimc_cluster::CdimcNet;

/// Where the paper looks for the weight of the graph term and for the learning rate (section 4.4).
const SUGGESTED: std::ops::RangeInclusive<f64> = 1e-5..=1e-3;

/// The three figures, each under its title.
pub(super) fn sections(results: &Results) -> Result<Vec<Block>> {
    let mut blocks = bars_or_grid(
        results,
        "Figure 2: weight of the graph term and learning rate",
        "sensitivity",
        experiment::Figure::Grid,
        "The paper finds small values better; it does not say which of its two learning rates it varies: here it is that of pre-training. BDGP has every second point of the grid, and so not the rate of 0.01 with which Table 2 is run.",
        small_against_large,
    )?;
    blocks.extend(bars_or_grid(
        results,
        "Figure 2 with our choices",
        "sensitivity-ours",
        experiment::Figure::Grid,
        "One run at each point: a fit with our choices would choose among several runs. The rate of pre-training is its first value; it falls to 0.",
        small_against_large,
    )?);
    blocks.extend(bars_or_grid(
        results,
        "Figure 3: what each part of CDIMC-net adds",
        "ablation",
        experiment::Figure::Bars,
        "The paper finds the full model above the three degenerate ones. Mean ACC and standard deviation over the masks.",
        full_against_degenerate,
    )?);
    blocks.extend(bars_or_grid(
        results,
        "Figure 3 with our choices",
        "ablation-ours",
        experiment::Figure::Bars,
        "Without its graph, the model is the best of four runs instead of five: there is one weight to try.",
        full_against_degenerate,
    )?);
    blocks.extend(curves(results)?);
    Ok(blocks)
}

/// A figure with one value a row: the drawing, what it says, and the values.
fn bars_or_grid(
    results: &Results,
    title: &str,
    experiment: &str,
    kind: experiment::Figure,
    words: &str,
    finding: fn(&table::Table<'_>) -> Option<String>,
) -> Result<Vec<Block>> {
    let mut blocks = vec![Block::Section(title.into()), Block::Paragraph(words.into())];
    let mut values = Table::new(&["data", "row", "runs", "ACC", "NMI"]);
    let tables = results.tables(experiment);
    for of_data in &tables {
        if let Some(svg) = report::draw(kind, of_data)? {
            let name = format!("{experiment}-{}", of_data.dataset);
            let caption = format!("ACC x 100 on {}, {}.", of_data.dataset, of_data.pattern);
            blocks.push(Block::Figure(name, svg, caption));
        }
        blocks.extend(finding(of_data).map(Block::Paragraph));
        for row in &of_data.rows {
            let command = command(experiment, of_data, row);
            let by = |score| repeatable(&or_dash(row.percent(score)), &command);
            values.rows.push(vec![
                of_data.dataset.into(),
                row.label.clone(),
                row.n_scored().to_string(),
                by("acc"),
                by("nmi"),
            ]);
        }
    }
    blocks.push(if tables.is_empty() {
        Block::Paragraph("Not run.".into())
    } else {
        Block::Folded("Every number".into(), values)
    });
    Ok(blocks)
}

/// Mean ACC of the points where both coordinates are as small as the paper suggests, and of the others. Points that gave
/// nothing usable count once not at all and once as one cluster for all samples; a verdict stands if both agree.
fn small_against_large(table: &table::Table<'_>) -> Option<String> {
    let is_small = |row: &&Row<'_>| {
        let mut values = row.point().into_iter().flatten().filter_map(|(_, value)| value.as_f64());
        values.all(|value| SUGGESTED.contains(&value))
    };
    let (inside, outside): (Vec<&Row<'_>>, Vec<&Row<'_>>) =
        table.rows.iter().filter(|row| row.point().is_some()).partition(is_small);
    let mean = |rows: &[&Row<'_>], unusable: Option<f64>| {
        let acc = |row: &&Row<'_>| row.percent("acc").map(|acc| acc.mean).or(unusable);
        table::Summary::of(&rows.iter().filter_map(acc).collect::<Vec<_>>())
    };
    let (small, large) = (mean(&inside, None)?, mean(&outside, None)?);
    let one_cluster = 100.0 / inside.first()?.records.first()?.cell.n_clusters as f64;
    let all = [mean(&inside, Some(one_cluster))?, mean(&outside, Some(one_cluster))?];
    let verdict = match (small.mean > large.mean, all[0].mean > all[1].mean) {
        (true, true) => "as in the paper",
        (false, false) => "unlike the paper",
        _ => "undecided",
    };
    let unusable = match inside.len() + outside.len() - small.n - large.n {
        0 => String::new(),
        n => format!(
            "; with the {n} that gave nothing usable as one cluster for all, {:.1} and {:.1}",
            all[0].mean, all[1].mean
        ),
    };
    Some(format!(
        "On {}, {verdict}: where both are at most 0.001 ACC is {small} over {} points, elsewhere {large} over {}{unusable}.",
        table.dataset, small.n, large.n
    ))
}

/// Which of the degenerate models fall below the full one, and which of them by more than the runs spread.
fn full_against_degenerate(table: &table::Table<'_>) -> Option<String> {
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
        ("**Not below it, unlike the paper**", others),
    ];
    for (words, names) in groups.iter().filter(|(_, names)| !names.is_empty()) {
        text += &format!(" {words}: {}.", names.join(", "));
    }
    groups.iter().any(|(_, names)| !names.is_empty()).then_some(text)
}

/// The clustering loss over the rounds of fine-tuning.
fn curves(results: &Results) -> Result<Vec<Block>> {
    let mut blocks = vec![
        Block::Section("Figure 4: the loss of fine-tuning".into()),
        Block::Paragraph(
            "The clustering loss over the rounds at 10 % missing, one line a run; the paper finds it falling, fastest in the first rounds.".into(),
        ),
    ];
    for (experiment, name, _) in &DATASETS[..2] {
        for mut table in results.tables(experiment) {
            if table.pattern != "per-view:0.1" {
                continue;
            }
            let rows = std::mem::take(&mut table.rows);
            for row in rows {
                let file = match row.label.as_str() {
                    AUTHORS => format!("{experiment}-loss"),
                    CdimcNet::NAME => format!("{experiment}-loss-ours"),
                    _ => continue,
                };
                let whose = shown(&row.label).to_owned();
                table.rows = vec![row];
                if let Some(svg) = report::draw(experiment::Figure::Curves, &table)? {
                    let caption = format!("Clustering loss of {whose}, on {name}, 10 % missing.");
                    blocks.push(Block::Figure(file, svg, caption));
                    blocks.extend(fall(&whose, name, &table).map(Block::Paragraph));
                }
            }
        }
    }
    Ok(blocks)
}

/// In how many runs the loss falls, and how much of the fall the first tenth of the rounds brings.
fn fall(whose: &str, name: &str, table: &table::Table<'_>) -> Option<String> {
    let runs = report::finetuning_losses(table);
    let part = |values: &Vec<f64>| {
        let (first, last) = (values.first()?, values.last()?);
        (last < first).then(|| 100.0 * (first - values[values.len() / 10]) / (first - last))
    };
    let parts: Vec<f64> = runs.iter().filter_map(part).collect();
    let early = table::Summary::of(&parts)?;
    Some(format!(
        "With {whose}, on {name}, it ends lower than it began in {} of {} runs; the first tenth of the rounds brings {early} % of the fall.",
        parts.len(),
        runs.len()
    ))
}
