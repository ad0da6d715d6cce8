//! What the page says of the runs themselves: their cost, which of them there are, and where they ran.

use super::document::{Block, Cell, Table};
use super::sections::shown;
use super::{DATASETS, Results};
use crate::methods;
use crate::record::Status;
use crate::source;
use crate::table::{Summary, or_dash, standing};
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
                format!("{row}, {name}").into(),
                seconds.len().to_string().into(),
                or_dash(Summary::of(seconds)).into(),
                or_dash(Summary::of(mebibytes).map(|summary| format!("{:.0}", summary.mean)))
                    .into(),
                threads.join(", ").into(),
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
            let mut line = vec![Cell::from(format!("{}, {dataset}", experiment.name))];
            line.extend(counts.map(|count| Cell::from(count.to_string())));
            line.push(format!("{hours:.2}").into());
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
    for (status, word) in
        [(Status::Skipped, "Not applicable"), (Status::Unusable, "Nothing usable")]
    {
        // The reason of a row's first run: those of the others differ in the sample or the epoch they name.
        let mut reasons: BTreeMap<_, &str> = BTreeMap::new();
        for record in results.experiments.iter().flat_map(|(_, records)| standing(records)) {
            if record.outcome.status == status {
                let reason = record.outcome.reason.as_deref().unwrap_or("no reason given");
                let row = (methods::row(&record.cell), &record.cell.dataset);
                reasons.entry(row).or_insert(reason);
            }
        }
        if !reasons.is_empty() {
            let words = |((label, dataset), reason)| format!("`{label}` on {dataset}: {reason}");
            let reasons: Vec<String> = reasons.into_iter().map(words).collect();
            blocks.push(Block::Paragraph(format!("{word}: {}.", reasons.join("; "))));
        }
    }
    Ok(blocks)
}

fn environment(results: &Results) -> Vec<Block> {
    let mut runs: BTreeMap<String, usize> = BTreeMap::new();
    for record in results.experiments.iter().flat_map(|(_, records)| standing(records)) {
        let c = &record.circumstances;
        let environment = format!(
            "{}, {}, revision {}, {} thread(s), {} at a time",
            c.cpu, c.system, c.revision, c.threads, c.jobs
        );
        *runs.entry(environment).or_default() += 1;
    }
    let mut table = Table::new(&["where and with what", "cells"]);
    table.rows = runs
        .into_iter()
        .map(|(environment, n)| vec![environment.into(), n.to_string().into()])
        .collect();
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
