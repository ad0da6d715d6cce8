//! Report of one experiment, from its records alone: tables with the paper's numbers, and figures.

use crate::cell::{Cell, Record, Status};
use crate::experiment::{Experiment, Figure};
use crate::figure;
use crate::methods::BSV;
use crate::table::{
    Published, Row, Summary, Table, costs, or_dash, places, reasons, standing, tables,
};
use crate::text::Grid;
use anyhow::Result;
use cdimc_data::write_whole;
use std::collections::BTreeMap;
use std::path::Path;

/// Writes `report.md` and the figures into the experiment's folder.
pub(crate) fn write(experiment: &Experiment, records: &[Record], folder: &Path) -> Result<()> {
    let published = Published::table()?;
    let mut text = format!("# {}\n\n{}\n", experiment.title, experiment.description);
    for table in tables(records) {
        let (dataset, pattern) = (table.dataset, table.pattern);
        let grid = grid(&table, &published).markdown();
        text += &format!("\n## {dataset}, {pattern}\n\n{grid}");
        for &figure in &experiment.figures {
            if let Some(svg) = draw(figure, &table) {
                let kind = format!("{figure:?}").to_lowercase();
                let name = format!("{kind}_{dataset}_{}.svg", pattern.replace(':', "-"));
                write_whole(&folder.join(&name), figure::alone(&svg).as_bytes())?;
                text += &format!("\n![{kind} of {dataset}, {pattern}]({name})\n");
            }
        }
    }
    text += &remarks(records, &published);
    text += &settings(experiment, records);
    text += "\n## Runs\n\n";
    for (place, runs) in places(standing(records).into_iter()) {
        text += &format!("- {runs} runs: {place}\n");
    }
    write_whole(&folder.join("table.csv"), csv(&tables(records)).as_bytes())?;
    Ok(write_whole(&folder.join("report.md"), text.as_bytes())?)
}

/// All tables in one CSV, scores and their standard deviations x 100.
fn csv(tables: &[Table<'_>]) -> String {
    const SCORES: [&str; 5] = ["acc", "nmi", "ari", "purity", "f"];
    let mut text = "dataset,pattern,method,runs,scored,seconds".to_owned();
    SCORES.iter().for_each(|score| text += &format!(",{score},{score}_sd"));
    let quoted = |word: &str| format!("\"{}\"", word.replace('"', "\"\""));
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.2}"));
    for table in tables {
        for row in &table.rows {
            let names = [table.dataset, table.pattern, row.label.as_str()].map(quoted).join(",");
            let [seconds, _] = costs(row.scored());
            let seconds = number(seconds.map(|seconds| seconds.mean));
            text += &format!("\n{names},{},{},{seconds}", row.records.len(), row.scored().count());
            for score in SCORES.map(|score| row.percent(score)) {
                text += &format!(",{}", number(score.map(|score| score.mean)));
                text += &format!(",{}", number(score.and_then(|score| score.deviation)));
            }
        }
    }
    text + "\n"
}

/// The tables and remarks for a terminal.
pub(crate) fn terminal(experiment: &Experiment, records: &[Record]) -> Result<String> {
    let published = Published::table()?;
    let mut text = format!("\n{}\n", experiment.title);
    for table in tables(records) {
        let grid = grid(&table, &published).aligned();
        text += &format!("\n{}, {}\n{grid}", table.dataset, table.pattern);
    }
    Ok(text + &remarks(records, &published))
}

/// The figure of a table; nothing where the records have nothing to draw.
pub(crate) fn draw(figure: Figure, table: &Table<'_>) -> Option<String> {
    let title = format!("{}, {}", table.dataset, table.pattern);
    let rows = &table.rows;
    match figure {
        Figure::Bars => {
            let bar = |row: &Row| Some((row.label.clone(), row.percent("acc")?));
            let bars: Vec<(String, Summary)> = rows.iter().filter_map(bar).collect();
            (!bars.is_empty()).then(|| figure::bars(&title, &bars))
        }
        Figure::Grid => heat_map(&title, table),
        Figure::Dots => {
            let dots = |row: &Row| (row.label.clone(), row.percents("acc"));
            Some(figure::dots(&title, &rows.iter().map(dots).collect::<Vec<_>>()))
        }
        Figure::Curves => {
            let runs = finetuning_losses(table);
            let x_name = "clustering loss over the rounds of fine-tuning";
            (!runs.is_empty()).then(|| figure::curves(&title, x_name, &runs))
        }
    }
}

/// The clustering loss over the rounds of fine-tuning, run by run.
pub(crate) fn finetuning_losses<'a>(table: &Table<'a>) -> Vec<&'a [f64]> {
    let records = table.rows.iter().flat_map(|row| row.records.iter().copied());
    let curve = |record: &'a Record| record.outcome.curve("finetune-loss");
    records.filter_map(curve).filter(|values| values.len() > 1).collect()
}

/// Mean ACC over the two coordinates of a table's rows, `None` if the rows have other coordinates.
fn heat_map(title: &str, table: &Table<'_>) -> Option<String> {
    let axes = table.rows.iter().map(Row::point).find(|point| point.len() == 2)?;
    let (down, across) = (axes.keys().next()?.as_str(), axes.keys().nth(1)?.as_str());
    let point = |row: &Row<'_>| {
        let at = |name: &str| row.point().get(name)?.as_f64();
        Some((at(across)?, at(down)?, row.percent("acc").map(|acc| acc.mean)))
    };
    let points: Vec<_> = table.rows.iter().filter_map(point).collect();
    Some(figure::heat_map(title, [across, down], &points))
}

/// Head and rows of a table as text cells, with the paper's numbers if it has some.
fn grid(table: &Table<'_>, published: &Published) -> Grid {
    let paper = |row: &Row| {
        published.entry(table.dataset, table.pattern, row.method()).filter(|_| row.is_plain())
    };
    let beside = table.rows.iter().any(|row| paper(row).is_some());
    let papers = if beside { "paper's ACC | paper's NMI | " } else { "" };
    let mut grid =
        Grid::new(&format!("method | runs | ACC | NMI | ARI | purity | {papers}seconds | MiB"));
    for row in &table.rows {
        let mut line = vec![row.label.clone(), row.runs(row.records.len())];
        line.extend(row.scores(["acc", "nmi", "ari", "purity"]));
        if beside {
            line.extend([or_dash(paper(row).map(|e| e.acc)), or_dash(paper(row).map(|e| e.nmi))]);
        }
        let [seconds, memory] = costs(row.scored());
        line.push(or_dash(seconds.map(|seconds| format!("{:.2}", seconds.mean))));
        line.push(or_dash(memory.map(|memory| format!("{:.0}", memory.mean))));
        grid.rows.push(line);
    }
    grid
}

/// How to read the tables, and what they lack.
fn remarks(records: &[Record], published: &Published) -> String {
    let mut text = String::from(
        "\nScores x 100, mean ± standard deviation (n - 1) over masks and repetitions. NMI is normalized by the \
         arithmetic mean of the entropies.\nSeconds are the method's alone; MiB is the largest resident set of its \
         process, data included.\n",
    );
    let kept = standing(records);
    let is_published = |Cell { dataset, pattern, method, .. }: &Cell| {
        published.entry(dataset, pattern, method).is_some()
    };
    if kept.iter().any(|record| is_published(&record.cell)) {
        let source = &published.source;
        text +=
            &format!("The paper's numbers: {source}; the normalizer of its NMI is not stated.\n");
    }
    if kept.iter().any(|record| record.cell.method == BSV) {
        text += "bsv is no method one could use: the truth picks its view in every run.\n";
    }
    for (status, word) in [
        (Status::Skipped, "Not applicable"),
        (Status::Unusable, "Nothing usable"),
        (Status::Failed, "Failed"),
    ] {
        for ((label, dataset), (reason, runs)) in reasons(&kept, status) {
            text += &format!("{word}: {label} on {dataset} ({runs} of its runs): {reason}\n");
        }
    }
    text
}

/// Which settings every row used and how they were chosen.
fn settings(experiment: &Experiment, records: &[Record]) -> String {
    let mut text = String::from("\n## Settings\n\n");
    let settings_of = |record: &Record| {
        let cell = &record.cell;
        let row = format!("{} on {}", cell.label, cell.dataset);
        (row, cell.settings.to_string())
    };
    let rows: BTreeMap<String, String> = standing(records).into_iter().map(settings_of).collect();
    for (row, settings) in rows {
        text += &format!("- {row}: `{settings}`\n");
    }
    for variant in &experiment.methods {
        if let Some(chosen) = &variant.chosen {
            let label = variant.label();
            text += &format!("- How the settings of {label} were chosen: {chosen}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::tests::record;

    #[test]
    fn the_csv_has_a_line_per_row_and_leaves_cells_without_a_number_empty() {
        let mut records = [record(1, 0.9), record(2, 0.7), record(3, 0.5)];
        records[2].cell.label = "one run, \"weight\" 0.1".into();
        let text = csv(&tables(&records));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "dataset,pattern,method,runs,scored,seconds,acc,acc_sd,nmi,nmi_sd,ari,ari_sd,purity,purity_sd,f,f_sd",
                r#""synthetic","per-view:0.3","concat",2,2,1.50,80.00,14.14,40.00,7.07,,,,,,"#,
                r#""synthetic","per-view:0.3","one run, ""weight"" 0.1",1,1,1.50,50.00,,25.00,,,,,,,"#,
            ]
        );
    }

    #[test]
    fn the_paper_is_named_beside_its_data_only() {
        let published = Published::table().unwrap();
        let named =
            |records: &[Record]| remarks(records, &published).contains("The paper's numbers");
        let mut records = [record(1, 0.9)];
        assert!(!named(&records));
        records[0].cell.dataset = "handwritten".into();
        assert!(named(&records));
    }
}
