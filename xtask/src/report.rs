//! Tables from records alone: ours beside the paper's.

use crate::experiment::Experiment;
use crate::published::Published;
use crate::record::{CellScores, Record, Status, write_whole};
use anyhow::Result;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// The rows of one table: the same data set and missing pattern.
pub(crate) struct Table<'a> {
    pub dataset: &'a str,
    pub pattern: &'a str,
    pub rows: Vec<Row<'a>>,
}

/// All runs of one method with the same settings.
pub(crate) struct Row<'a> {
    pub label: String,
    pub records: Vec<&'a Record>,
}

/// Writes `report.md`, `table.csv` and the figures into the experiment's folder.
///
/// # Errors
/// If a file cannot be written.
pub(crate) fn write(experiment: &Experiment, records: &[Record], folder: &Path) -> Result<()> {
    let published = Published::table()?;
    let mut text = format!("# {}\n\n{}\n", experiment.title, experiment.description);
    for table in tables(records) {
        let (dataset, pattern) = (table.dataset, table.pattern);
        let _ = write!(text, "\n## {dataset}, {pattern}\n\n");
        text += &aligned(&grid(&table, &published), true);
        for &figure in &experiment.figures {
            if let Some(svg) = figure.draw(&table) {
                let kind = format!("{figure:?}").to_lowercase();
                let name = format!("{kind}_{dataset}_{}.svg", pattern.replace(':', "-"));
                write_whole(&folder.join(&name), svg.as_bytes())?;
                let _ = write!(text, "\n![{kind} of {dataset}, {pattern}]({name})\n");
            }
        }
    }
    text += &remarks(records, &published);
    text += &settings(experiment, records);
    text += &circumstances(records);
    write_whole(&folder.join("report.md"), text.as_bytes())?;
    write_whole(&folder.join("table.csv"), csv(records).as_bytes())
}

/// The tables and remarks for a terminal.
pub(crate) fn terminal(experiment: &Experiment, records: &[Record]) -> Result<String> {
    let published = Published::table()?;
    let mut text = format!("\n{}\n", experiment.title);
    for table in tables(records) {
        let _ = write!(text, "\n{}, {}\n", table.dataset, table.pattern);
        text += &aligned(&grid(&table, &published), false);
    }
    Ok(text + &remarks(records, &published))
}

/// One line for each record.
fn csv(records: &[Record]) -> String {
    let mut text = String::from(
        "dataset,pattern,fold,label,method,overrides,repetition,seed,status,acc,nmi,nmi_geometric,nmi_max,\
         nmi_min,ari,purity,precision,recall,f,prepare,pretrain,cluster,finetune,total,peak_memory_bytes,\
         threads,revision,key\n",
    );
    for record in newest(records) {
        let (cell, outcome) = (&record.cell, &record.outcome);
        let mut fields = vec![
            cell.dataset.clone(),
            quoted(&cell.pattern),
            cell.fold.map_or_else(String::new, |fold| fold.to_string()),
            quoted(&cell.label),
            cell.method.clone(),
            quoted(&cell.overrides.join(" ")),
            cell.repetition.to_string(),
            cell.seed.to_string(),
            format!("{:?}", outcome.status).to_lowercase(),
        ];
        let scores = outcome.scores.as_ref().map(|s| {
            [
                s.acc,
                s.nmi,
                s.nmi_geometric,
                s.nmi_max,
                s.nmi_min,
                s.ari,
                s.purity,
                s.precision,
                s.recall,
                s.f,
            ]
        });
        fields.extend((0..10).map(|i| scores.map_or_else(String::new, |s| s[i].to_string())));
        let s = &outcome.seconds;
        fields.extend(
            [s.prepare, s.pretrain, s.cluster, s.finetune, s.total].map(|s| format!("{s:.4}")),
        );
        fields.push(outcome.peak_memory_bytes.map_or_else(String::new, |bytes| bytes.to_string()));
        fields.push(record.circumstances.threads.to_string());
        fields.push(record.circumstances.revision.clone());
        fields.push(record.key.clone());
        let _ = writeln!(text, "{}", fields.join(","));
    }
    text
}

/// The records that count: the newest of each cell of the experiment; one superseded by another
/// configuration of the same row does not.
fn newest(records: &[Record]) -> Vec<&Record> {
    let mut slots: BTreeMap<_, &Record> = BTreeMap::new();
    for record in records {
        let c = &record.cell;
        let slot = (&c.dataset, &c.pattern, c.fold, &c.label, &c.overrides, c.repetition, c.seed);
        let kept = slots.entry(slot).or_insert(record);
        if record.circumstances.finished > kept.circumstances.finished {
            *kept = record;
        }
    }
    slots.into_values().collect()
}

fn tables(records: &[Record]) -> Vec<Table<'_>> {
    let mut tables: Vec<Table> = Vec::new();
    for record in newest(records) {
        let cell = &record.cell;
        let at = tables.iter().position(|t| t.dataset == cell.dataset && t.pattern == cell.pattern);
        let at = at.unwrap_or_else(|| {
            tables.push(Table { dataset: &cell.dataset, pattern: &cell.pattern, rows: Vec::new() });
            tables.len() - 1
        });
        let label = if cell.overrides.is_empty() {
            cell.label.clone()
        } else {
            format!("{} ({})", cell.label, cell.overrides.join(" "))
        };
        let rows = &mut tables[at].rows;
        match rows.iter_mut().find(|row| row.label == label) {
            Some(row) => row.records.push(record),
            None => rows.push(Row { label, records: vec![record] }),
        }
    }
    for table in &mut tables {
        table.rows.sort_by_key(|row| rank(&row.records[0].cell.method));
    }
    tables
}

/// The paper's order of methods.
fn rank(method: &str) -> usize {
    const ORDER: [&str; 15] = [
        "bsv",
        "best-view",
        "concat",
        "pmvc",
        "img",
        "imc-grmf",
        "mic",
        "omvc",
        "daimc",
        "opimc",
        "mkkm-ik",
        "mkkm-ik-mkc",
        "pmvc-cgan",
        "other",
        "cdimc-net",
    ];
    ORDER.iter().position(|&known| known == method).unwrap_or(13)
}

/// Head and rows of a table as text cells.
fn grid(table: &Table, published: &Published) -> Vec<Vec<String>> {
    let paper = |row: &Row| {
        let cell = &row.records[0].cell;
        let plain = cell.label == cell.method && cell.overrides.is_empty();
        published.entry(&cell.dataset, &cell.pattern, &cell.method).filter(|_| plain)
    };
    let beside = table.rows.iter().any(|row| paper(row).is_some());
    let mut head = vec!["method", "runs", "ACC", "NMI", "ARI", "purity"];
    if beside {
        head.extend(["paper's ACC", "paper's NMI"]);
    }
    head.extend(["seconds", "MiB"]);
    let mut lines = vec![head.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    for row in &table.rows {
        let scored: Vec<&Record> =
            row.records.iter().copied().filter(|r| r.outcome.scores.is_some()).collect();
        let score = |of: fn(&CellScores) -> f64| {
            let values: Vec<f64> = scored
                .iter()
                .filter_map(|r| r.outcome.scores.as_ref())
                .map(|s| 100.0 * of(s))
                .collect();
            mean_and_deviation(&values)
        };
        let runs = if scored.len() == row.records.len() {
            scored.len().to_string()
        } else {
            format!("{} of {}", scored.len(), row.records.len())
        };
        let mut line = vec![row.label.clone(), runs];
        line.extend([score(|s| s.acc), score(|s| s.nmi), score(|s| s.ari), score(|s| s.purity)]);
        if beside {
            let entry = paper(row);
            line.push(entry.as_ref().map_or_else(|| "–".into(), |entry| entry.acc.clone()));
            line.push(entry.map_or_else(|| "–".into(), |entry| entry.nmi));
        }
        let mean = |of: &dyn Fn(&Record) -> Option<f64>, digits: usize| {
            let values: Vec<f64> = scored.iter().filter_map(|r| of(r)).collect();
            let sum: f64 = values.iter().sum();
            if values.is_empty() {
                "–".into()
            } else {
                format!("{:.digits$}", sum / values.len() as f64)
            }
        };
        line.push(mean(&|r| Some(r.outcome.seconds.total), 2));
        line.push(mean(&|r| r.outcome.peak_memory_bytes.map(|b| b as f64 / 1_048_576.0), 0));
        lines.push(line);
    }
    lines
}

/// `mean ± standard deviation` (n - 1), two decimals; one value stands alone.
fn mean_and_deviation(values: &[f64]) -> String {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    match values.len() {
        0 => "–".into(),
        1 => format!("{mean:.2}"),
        _ => {
            let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
            format!("{mean:.2} ± {:.2}", (squares / (n - 1.0)).sqrt())
        }
    }
}

/// Text cells in columns, the first flush left, the others flush right.
fn aligned(lines: &[Vec<String>], markdown: bool) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |c: usize| lines.iter().map(|line| line[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let (left, between, right) = if markdown { ("| ", " | ", " |") } else { ("  ", "  ", "") };
    let mut text = String::new();
    for (i, line) in lines.iter().enumerate() {
        let cells: Vec<String> = line
            .iter()
            .zip(&widths)
            .enumerate()
            .map(
                |(c, (cell, &width))| {
                    if c == 0 { format!("{cell:width$}") } else { format!("{cell:>width$}") }
                },
            )
            .collect();
        let _ = writeln!(text, "{left}{}{right}", cells.join(between));
        if i == 0 && markdown {
            let rules: Vec<String> = widths
                .iter()
                .enumerate()
                .map(|(c, &w)| if c == 0 { "-".repeat(w) } else { "-".repeat(w - 1) + ":" })
                .collect();
            let _ = writeln!(text, "| {} |", rules.join(" | "));
        }
    }
    text
}

/// How to read the tables, and what they lack.
fn remarks(records: &[Record], published: &Published) -> String {
    let mut text = format!(
        "\nScores x 100, mean ± standard deviation (n - 1) over masks and repetitions. NMI is normalised by the \
         arithmetic mean of the entropies.\nThe paper's numbers: {}; the normaliser of its NMI is not stated. Seconds \
         are the method's alone; MiB is the largest resident set of its process, data included.\n",
        published.source
    );
    let kept = newest(records);
    if kept.iter().any(|record| record.cell.method == "bsv") {
        text += "bsv is no method one could use: the truth picks its view in every run.\n";
    }
    for (status, word) in [(Status::Skipped, "Not applicable"), (Status::Failed, "Failed")] {
        let mut reasons: BTreeMap<(&str, &str), (&str, usize)> = BTreeMap::new();
        for record in kept.iter().filter(|record| record.outcome.status == status) {
            let reason = record.outcome.reason.as_deref().unwrap_or("no reason given");
            reasons.entry((&record.cell.dataset, &record.cell.label)).or_insert((reason, 0)).1 += 1;
        }
        for ((dataset, label), (reason, runs)) in reasons {
            let _ = writeln!(text, "{word}: {label} on {dataset} ({runs} of its runs): {reason}");
        }
    }
    text
}

/// Which settings every row used and how they were chosen.
fn settings(experiment: &Experiment, records: &[Record]) -> String {
    let mut text = String::from("\n## Settings\n\n");
    let mut rows: BTreeMap<String, String> = BTreeMap::new();
    for record in newest(records) {
        let cell = &record.cell;
        rows.insert(format!("{} on {}", cell.label, cell.dataset), cell.settings.to_string());
    }
    for (row, settings) in rows {
        let _ = writeln!(text, "- {row}: `{settings}`");
    }
    for variant in &experiment.methods {
        if let Some(chosen) = &variant.chosen {
            let _ = writeln!(text, "- How those of {} were chosen: {chosen}", variant.label());
        }
    }
    text
}

/// Where the records come from.
fn circumstances(records: &[Record]) -> String {
    let mut groups: BTreeMap<String, usize> = BTreeMap::new();
    for record in newest(records) {
        let c = &record.circumstances;
        let line = format!(
            "revision {}, {}, {} thread(s), {} cell(s) at a time",
            c.revision, c.cpu, c.threads, c.jobs
        );
        *groups.entry(line).or_default() += 1;
    }
    let mut text = String::from("\n## Runs\n\n");
    for (line, runs) in groups {
        let _ = writeln!(text, "- {runs} runs: {line}");
    }
    text
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviation_divides_by_one_less_than_the_runs() {
        assert_eq!(mean_and_deviation(&[90.0, 92.0, 94.0]), "92.00 ± 2.00");
        assert_eq!(mean_and_deviation(&[90.0]), "90.00");
        assert_eq!(mean_and_deviation(&[]), "–");
    }

    #[test]
    fn columns_are_aligned() {
        let lines = [
            vec!["method".to_owned(), "ACC".to_owned()],
            vec!["x".to_owned(), "1.00 ± 2".to_owned()],
        ];
        assert_eq!(
            aligned(&lines, true),
            "| method |      ACC |\n| ------ | -------: |\n| x      | 1.00 ± 2 |\n"
        );
    }
}
