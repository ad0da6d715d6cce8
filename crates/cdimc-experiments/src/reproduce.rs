//! `cargo xtask reproduce`: runs the unfinished cells of an experiment and prints its table.

use crate::cell::{Cell, Record, Status};
use crate::execution::Checkpoints;
use crate::experiment::{self, Experiment};
use crate::plan::{self, Selection, Shard};
use crate::records::{self, Finished};
use crate::runner::Runner;
use crate::{datasets, report, workspace};
use anyhow::{Context, Result};
use cdimc::{note, say};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

#[cfg_attr(test, derive(Default))]
#[derive(clap::Args)]
pub struct Arguments {
    /// Name of an experiment, a TOML file, or `all` for every experiment of the paper.
    #[arg(default_value = "quickstart")]
    experiment: String,
    #[command(flatten)]
    selection: Selection,
    /// Threads of one cell [default: 1, or all cores with --jobs 1].
    #[arg(long, value_name = "T")]
    threads: Option<usize>,
    /// Cells that run at the same time [default: as many as the cores hold].
    #[arg(long, value_name = "J")]
    jobs: Option<usize>,
    /// Folder of all results [default: results].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Run cells whose records come with the repository; called again, it goes on with the rest.
    #[arg(long)]
    force: bool,
    /// Seconds between two checkpoints of a cell, from which it goes on when it is killed, if its method has them.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    checkpoint_every: u64,
    /// Say what would run, and stop.
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command. The exit code is 1 if a cell failed.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let runner = Runner::new(arguments.jobs, arguments.threads, cores)?;
    // A data set that is missing shows before the first cell runs, and not hours later.
    let mut planned = Vec::new();
    for experiment in experiment::named(&arguments.experiment)? {
        let cells = plan::cells(&experiment, &arguments.selection)?;
        planned.push((experiment, cells));
    }
    let mut failed = false;
    for (experiment, cells) in &planned {
        failed |= run_experiment(experiment, cells, runner, arguments)?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Runs the unfinished cells of one experiment; returns whether a cell failed.
fn run_experiment(
    experiment: &Experiment,
    cells: &[Cell],
    runner: Runner,
    arguments: &Arguments,
) -> Result<bool> {
    let out = arguments.out.clone().unwrap_or_else(workspace::results);
    let folder = out.join(&experiment.name);
    let file = folder.join(match arguments.selection.shard {
        Some(Shard { part, of }) => format!("records-{part}-of-{of}.jsonl"),
        None => "records.jsonl".to_owned(),
    });
    let finished = Finished::new(known(&out, &experiment.name, &file)?);
    let shipped = if arguments.force { shipped()? } else { HashSet::new() };
    let of = |cell: &Cell| usable(&finished, cell, &shipped);
    if arguments.dry_run {
        for cell in cells {
            let state = if of(cell).is_some() { "recorded" } else { "to run" };
            say!("{state:8} {}, {}", cell.title(), cell.seeds());
        }
        return Ok(false);
    }
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let left: Vec<Cell> = cells.iter().filter(|cell| of(cell).is_none()).cloned().collect();
    let mut done: Vec<Record> = cells.iter().filter_map(of).collect();
    let every = Duration::from_secs(arguments.checkpoint_every);
    let checkpoints = Checkpoints::below(&folder, every, &workspace::program()?);
    let begun = left.iter().filter(|cell| checkpoints.has(&cell.key())).count();
    let Runner { jobs, threads } = runner;
    if arguments.force && !done.is_empty() {
        let (n, folder) = (done.len(), folder.display());
        note!(
            "{n} of these cells were computed before, in {folder}; another `--out` computes them again"
        );
    }
    note!(
        "{}: {} cells, {} of them recorded, {begun} with a checkpoint; {jobs} at a time with {threads} thread{} each",
        experiment.name,
        cells.len(),
        done.len(),
        if threads == 1 { "" } else { "s" },
    );
    for record in &done {
        if !finished.has(record) {
            records::append(&file, record)?;
        }
        // Of a run that was killed between its record and this.
        checkpoints.remove(&record.key);
    }
    runner.run(left, &checkpoints, &mut |record| {
        records::append(&file, &record)?;
        // The next run resumes a cell whose process alone was killed.
        if record.outcome.status != Status::Failed {
            checkpoints.remove(&record.key);
        }
        done.push(record);
        Ok(())
    })?;
    let failed = done.iter().any(|record| record.outcome.status == Status::Failed);
    if arguments.selection.shard.is_none() {
        let mut all = records::read(&reference(&experiment.name))?;
        all.extend(records::read_all(&records::files_in(&folder)?)?);
        // Last under the names that the rows have now.
        all.extend(done.iter().cloned());
        report::write(experiment, &records::newest(all), &folder)?;
    }
    say!("{}", report::terminal(experiment, &done)?);
    if arguments.selection.shard.is_none() {
        say!("Report: {}", folder.join("report.md").display());
    }
    if experiment.name == "quickstart" {
        say!("{}", what_else()?.trim_end());
    }
    // Last, so that it is not missed behind a long table.
    let shipped = self::shipped()?;
    let n = done.iter().filter(|record| shipped.contains(&run_of(record))).count();
    if n > 0 {
        note!(
            "{n} of these results come with the repository and are only shown; `--force` computes them here"
        );
    }
    Ok(failed)
}

/// The record of a cell that need not run: a failure is tried again, and the runs `again` are repeated.
fn usable(finished: &Finished, cell: &Cell, again: &HashSet<Run>) -> Option<Record> {
    let is_usable = |record: &Record| {
        record.outcome.status != Status::Failed && !again.contains(&run_of(record))
    };
    finished.of(cell).filter(is_usable)
}

/// Identifies a run: the key of its cell, and when it finished.
type Run = (String, u64);

fn run_of(record: &Record) -> Run {
    (record.key.clone(), record.circumstances.finished)
}

/// The runs whose records come with the repository.
fn shipped() -> Result<HashSet<Run>> {
    let mut runs = HashSet::new();
    for experiment in experiment::names() {
        runs.extend(records::read(&reference(experiment))?.iter().map(run_of));
    }
    Ok(runs)
}

/// The records that come with the workspace for an experiment.
fn reference(experiment: &str) -> PathBuf {
    workspace::reference_records().join(format!("{experiment}.jsonl"))
}

/// Reads all available records, so that a cell of another experiment is not repeated. Records of this experiment
/// follow the others, and records in `file`, which gets the current names of rows, come last.
fn known(out: &Path, experiment: &str, file: &Path) -> Result<Vec<Record>> {
    let mut paths = Vec::new();
    for other in experiment::names().into_iter().filter(|&other| other != experiment) {
        paths.extend(records::files_in(&out.join(other))?);
    }
    paths.extend(records::files_in(&workspace::reference_records())?);
    let own = reference(experiment);
    paths.sort_by_key(|path| *path == own);
    paths.extend(records::files_in(&out.join(experiment))?);
    paths.sort_by_key(|path| path == file);
    records::read_all(&paths)
}

/// Which other experiments the data at hand allow.
fn what_else() -> Result<String> {
    let mut text = String::from("\nFurther experiments:\n");
    for name in experiment::names().into_iter().filter(|&name| name != "quickstart") {
        let Experiment { title, mut datasets, .. } = experiment::load(name)?;
        datasets.retain(|dataset| !datasets::is_present(dataset));
        let state = match datasets[..] {
            [] => "ready".to_owned(),
            _ => format!("needs `cargo xtask datasets fetch {}`", datasets.join(" ")),
        };
        text += &format!("  cargo xtask reproduce {name:16} {title} ({state})\n");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::tests::record;

    /// Two rows of one method, the second under this label.
    fn experiment(label: &str) -> Experiment {
        let text = format!(
            "title = 'x'\ndescription = 'x'\ndatasets = ['synthetic']\npatterns = ['chain']\n\
             repetitions = 1\n[[methods]]\nname = 'concat'\n[[methods]]\nname = 'concat'\n\
             label = '{label}'\nsettings = {{ restarts = 1 }}\nchosen = 'x'\n"
        );
        experiment::parse("tiny", &text).unwrap()
    }

    #[test]
    fn a_shipped_result_is_computed_again_and_one_from_here_is_kept() {
        let mut of_here = records::read(&reference("ablation")).unwrap().swap_remove(0);
        let cell = of_here.cell.clone();
        let shipped = shipped().unwrap();
        let all = |record: &Record| Finished::new(vec![record.clone()]);
        assert!(usable(&all(&of_here), &cell, &HashSet::new()).is_some());
        assert!(usable(&all(&of_here), &cell, &shipped).is_none());
        of_here.circumstances.finished += 1;
        assert!(usable(&all(&of_here), &cell, &shipped).is_some());
    }

    #[test]
    fn a_renamed_row_is_written_again_and_the_later_name_counts() {
        let out = tempfile::tempdir().unwrap();
        let file = out.path().join("tiny/records.jsonl");
        std::fs::create_dir_all(out.path().join("tiny")).unwrap();
        let arguments = Arguments { out: Some(out.path().to_owned()), ..Arguments::default() };
        // As a run from the command line has left them, and as a row of another name.
        let mut cells = plan::cells(&experiment("old"), &arguments.selection).unwrap();
        cells[1].label = "concat".into();
        cells[1].overrides = vec!["restarts=1".into()];
        for cell in cells {
            let Record { outcome, circumstances, .. } = record(0, 0.5);
            records::append(&file, &Record::new(cell, outcome, circumstances)).unwrap();
        }
        let runner = Runner::new(Some(1), Some(1), 1).unwrap();
        let mut lines = 2;
        for label in ["old", "new"] {
            let experiment = experiment(label);
            let cells = plan::cells(&experiment, &arguments.selection).unwrap();
            lines += 1;
            for _ in 0..2 {
                assert!(!run_experiment(&experiment, &cells, runner, &arguments).unwrap());
                let written = records::read(&file).unwrap();
                assert_eq!(written.len(), lines);
                let counting = &records::newest(written)[1].cell;
                assert_eq!((counting.label.as_str(), counting.overrides.len()), (label, 0));
            }
            let report = std::fs::read_to_string(file.with_file_name("report.md")).unwrap();
            let rows: Vec<&str> = report.lines().filter(|line| line.starts_with("| ")).collect();
            assert_eq!(rows.len(), 2 + 2, "{report}");
            assert!(rows[3].starts_with(&format!("| {label} | 1 |")), "{report}");
        }
    }
}
