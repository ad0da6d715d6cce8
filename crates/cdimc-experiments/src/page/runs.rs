//! What the page says of the runs themselves: their cost, which of them there are, and where they ran.

use super::document::{Block, Table};
use super::sections::shown;
use super::{DATASETS, Results};
use crate::record::{Record, Status};
use crate::source;
use crate::table::{Summary, counted, or_dash, reasons, standing};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};

/// All of it.
pub(super) fn sections(results: &Results) -> Result<Vec<Block>> {
    let mut blocks = costs(results);
    blocks.extend(coverage(results)?);
    blocks.extend(environment(results));
    Ok(blocks)
}

/// Seconds and memory of every row on every data set, whatever the rate.
fn costs(results: &Results) -> Vec<Block> {
    let mut table = Table::new(&["method, data", "runs", "seconds", "MiB", "threads"]);
    for (experiment, name, _) in DATASETS {
        let mut runs: BTreeMap<&str, [Vec<f64>; 2]> = BTreeMap::new();
        let mut threads: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        let tables = results.tables(experiment);
        let rows = tables.iter().flat_map(|table| &table.rows);
        for (row, record) in
            rows.flat_map(|row| row.records.iter().map(move |record| (row, record)))
        {
            if record.outcome.status == Status::Scored {
                let [seconds, bytes] = runs.entry(shown(&row.label)).or_default();
                seconds.push(record.outcome.seconds.total);
                bytes.extend(
                    record.outcome.peak_memory_bytes.map(|bytes| bytes as f64 / 1_048_576.0),
                );
                threads.entry(shown(&row.label)).or_default().insert(record.circumstances.threads);
            }
        }
        for (row, [seconds, mebibytes]) in &runs {
            let threads: Vec<String> = threads[row].iter().map(ToString::to_string).collect();
            table.rows.push(vec![
                format!("{row}, {name}"),
                seconds.len().to_string(),
                or_dash(Summary::of(seconds)),
                or_dash(Summary::of(mebibytes).map(|summary| format!("{:.0}", summary.mean))),
                threads.join(", "),
            ]);
        }
    }
    vec![
        Block::Section("Seconds and memory".into()),
        Block::Paragraph(
            "Over all rates. Seconds are the method's alone and those of a machine that did other work at the same time: `docs/speed.md` has \
             measured ones. MiB is the largest resident set of a run's process, data included."
                .into(),
        ),
        Block::Table(table),
    ]
}

/// What of every experiment is there.
fn coverage(results: &Results) -> Result<Vec<Block>> {
    let mut table = Table::new(&[
        "experiment, data",
        "cells",
        "scored",
        "not applicable",
        "nothing usable",
        "failed",
        "not run",
        "core hours",
    ]);
    // A run that two experiments share is recorded in both.
    let mut seconds_of_all: BTreeMap<&str, f64> = BTreeMap::new();
    for (experiment, records) in &results.experiments {
        let standing = standing(records);
        for dataset in &experiment.datasets {
            let of_data: Vec<_> =
                standing.iter().filter(|record| record.cell.dataset == *dataset).collect();
            let with = |status| of_data.iter().filter(|r| r.outcome.status == status).count();
            let cells = experiment.n_cells(dataset, &source::catalog()?)?;
            let mut seconds = 0.0;
            for record in &of_data {
                let of_run = record.outcome.seconds.total * record.circumstances.threads as f64;
                seconds += of_run;
                seconds_of_all.insert(&record.key, of_run);
            }
            let hours = seconds / 3600.0;
            let counts = [
                cells,
                with(Status::Scored),
                with(Status::Skipped),
                with(Status::Unusable),
                with(Status::Failed),
                cells.saturating_sub(of_data.len()),
            ];
            let mut line = vec![format!("{}, {dataset}", experiment.name)];
            line.extend(counts.map(|count| count.to_string()));
            line.push(format!("{hours:.2}"));
            table.rows.push(line);
        }
    }
    let mut blocks = vec![
        Block::Section("Coverage".into()),
        Block::Table(table),
        Block::Paragraph(format!(
            "Together {:.1} core hours.",
            seconds_of_all.values().sum::<f64>() / 3600.0
        )),
    ];
    let all: Vec<&Record> = all(results).collect();
    for (status, word) in
        [(Status::Skipped, "Not applicable"), (Status::Unusable, "Nothing usable")]
    {
        let reasons = reasons(&all, status);
        if !reasons.is_empty() {
            let words =
                |((label, dataset), (reason, _))| format!("`{label}` on {dataset}: {reason}");
            let reasons: Vec<String> = reasons.into_iter().map(words).collect();
            blocks.push(Block::Paragraph(format!("{word}: {}.", reasons.join("; "))));
        }
    }
    Ok(blocks)
}

/// The records of all experiments that count.
fn all(results: &Results) -> impl Iterator<Item = &Record> {
    results.experiments.iter().flat_map(|(_, records)| standing(records))
}

fn environment(results: &Results) -> Vec<Block> {
    let runs = counted(all(results).map(|record| {
        let c = &record.circumstances;
        format!(
            "{}, {}, revision {}, {} thread(s), {} at a time",
            c.cpu, c.system, c.revision, c.threads, c.jobs
        )
    }));
    let mut table = Table::new(&["where and with what", "cells"]);
    table.rows = runs.into_iter().map(|(place, n)| vec![place, n.to_string()]).collect();
    vec![
        Block::Section("Environment".into()),
        Block::Folded("Processors and revisions".into(), table),
        Block::Paragraph(
            "`cargo xtask reproduce NAME` shows the records that come with the repository and runs only what has no record. \
             `cargo xtask reproduce NAME --force` computes everything again, and the command behind a number computes that number again. \
             The same seed gives the same labels on any number of threads. Another processor may round differently, which the long \
             training of networks magnifies."
                .into(),
        ),
    ]
}
