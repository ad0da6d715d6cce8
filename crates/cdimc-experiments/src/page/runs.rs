//! What the page says of the runs themselves: their cost, which of them there are, and where they ran.

use super::{DATASETS, Results, shown};
use crate::cell::{Record, Status};
use crate::datasets;
use crate::table::{costs, or_dash, places, reasons, standing};
use crate::text::{Grid, blocks, folded};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};

/// Seconds and memory of every row on every data set, whatever the rate.
pub(super) fn costs_of_rows(results: &Results) -> Result<Grid> {
    let mut grid = Grid::new("method, data | runs | seconds | MiB | threads");
    for (experiment, name) in DATASETS {
        let part = results.part(experiment)?;
        let mut runs: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
        for row in part.tables.iter().flat_map(|table| &table.rows) {
            runs.entry(shown(&row.label)).or_default().extend(row.scored());
        }
        for (row, runs) in runs.iter().filter(|(_, runs)| !runs.is_empty()) {
            let [seconds, memory] = costs(runs.iter().copied());
            let threads: BTreeSet<usize> = runs.iter().map(|r| r.circumstances.threads).collect();
            let threads: Vec<String> = threads.iter().map(ToString::to_string).collect();
            grid.rows.push(vec![
                format!("{row}, {name}"),
                runs.len().to_string(),
                or_dash(seconds),
                or_dash(memory.map(|summary| format!("{:.0}", summary.mean))),
                threads.join(", "),
            ]);
        }
    }
    Ok(grid)
}

pub(super) fn coverage(results: &Results) -> Result<String> {
    let mut grid = Grid::new(
        "experiment, data | cells | scored | not applicable | nothing usable | failed | not run | core hours",
    );
    // A run that two experiments share is recorded in both.
    let mut seconds_of_all: BTreeMap<&str, f64> = BTreeMap::new();
    for (experiment, records) in &results.experiments {
        let standing = standing(records);
        for dataset in &experiment.datasets {
            let of_data: Vec<_> =
                standing.iter().filter(|record| record.cell.dataset == *dataset).collect();
            let with = |status| of_data.iter().filter(|r| r.outcome.status == status).count();
            let cells = experiment.n_cells(dataset, &datasets::catalog()?)?;
            let mut seconds = 0.0;
            for record in &of_data {
                let of_run = record.outcome.seconds.total * record.circumstances.threads as f64;
                seconds += of_run;
                seconds_of_all.insert(&record.key, of_run);
            }
            let mut line = vec![format!("{}, {dataset}", experiment.name), cells.to_string()];
            let statuses = [Status::Scored, Status::Skipped, Status::Unusable, Status::Failed];
            line.extend(statuses.map(|status| with(status).to_string()));
            line.push(cells.saturating_sub(of_data.len()).to_string());
            line.push(format!("{:.2}", seconds / 3600.0));
            grid.rows.push(line);
        }
    }
    let hours = seconds_of_all.values().sum::<f64>() / 3600.0;
    let together = format!("Together {hours:.1} core hours.");
    let all: Vec<&Record> = all(results).collect();
    let why = |status: Status, word: &str| {
        let words = |((label, dataset), (reason, _))| format!("`{label}` on {dataset}: {reason}");
        let reasons: Vec<String> = reasons(&all, status).into_iter().map(words).collect();
        if reasons.is_empty() {
            return String::new();
        }
        format!("{word}: {}.", reasons.join("; "))
    };
    let skipped = why(Status::Skipped, "Not applicable");
    let unusable = why(Status::Unusable, "Nothing usable");
    Ok(blocks([grid.markdown().trim_end().to_owned(), together, skipped, unusable]))
}

/// The records of all experiments that count.
fn all(results: &Results) -> impl Iterator<Item = &Record> {
    results.experiments.iter().flat_map(|(_, records)| standing(records))
}

pub(super) fn environment(results: &Results) -> String {
    let mut grid = Grid::new("where and with what | cells");
    let places = places(all(results)).into_iter();
    grid.rows = places.map(|(place, n)| vec![place, n.to_string()]).collect();
    folded("Processors and revisions", &grid)
}
