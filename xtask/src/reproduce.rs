//! `cargo xtask reproduce`: runs what is left of an experiment and prints its table.

use crate::cell::{Cell, Progress};
use crate::progress::Display;
use crate::record::{Circumstances, Outcome, Record, Status};
use crate::{experiment, plan, report, source, worker};
use anyhow::{Context, Result, bail, ensure};
use cdimc::{note, say};
use std::collections::VecDeque;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Mutex, mpsc};
use std::time::{SystemTime, UNIX_EPOCH};

/// Options that repeat may be given several times; each replaces the experiment's own list.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Name of an experiment, or a TOML file.
    #[arg(default_value = "quickstart")]
    experiment: String,
    /// Data set to run on.
    #[arg(long, value_name = "D")]
    pub dataset: Vec<String>,
    /// Method to run.
    #[arg(long, value_name = "M")]
    pub method: Vec<String>,
    /// Missing rate, a fraction.
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub rate: Vec<f64>,
    /// Which of the masks the data set's authors give.
    #[arg(long, value_name = "F")]
    pub fold: Vec<usize>,
    /// Runs of every method on every mask (drawn masks differ between them).
    #[arg(long, value_name = "N")]
    pub repetitions: Option<usize>,
    /// Root of all randomness.
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// Threads of one cell [default: 1, or all cores with --jobs 1].
    #[arg(long, value_name = "T")]
    threads: Option<usize>,
    /// Cells that run at the same time [default: as many as the cores hold].
    #[arg(long, value_name = "J")]
    jobs: Option<usize>,
    /// Device of the methods that have a choice: cpu or cuda.
    #[arg(long, value_name = "DEVICE", value_parser = ["cpu", "cuda"])]
    pub device: Option<String>,
    /// Setting of the methods that have such a key, e.g. pretrain.epochs=100.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Folder of all results [default: results].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Run finished cells again.
    #[arg(long)]
    force: bool,
    /// Say what would run, and stop.
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object for each finished cell and nothing else.
    #[arg(long)]
    json: bool,
}

/// Runs the command. The exit code is 1 if a cell failed.
///
/// # Errors
/// If the request is wrong, or the results cannot be written.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let experiment = experiment::load(&arguments.experiment)?;
    let (jobs, threads) = share_cores(arguments.jobs, arguments.threads, cores())?;
    if arguments.device.as_deref() == Some("cuda") && !cfg!(feature = "cuda") {
        bail!(
            "device cuda: this build has none; run `cargo run --release -p xtask --features cuda -- reproduce ..`"
        );
    }
    let cells = plan::cells(&experiment, arguments)?;
    let out = arguments.out.clone().unwrap_or_else(|| workspace_root().join("results"));
    let folder = out.join(&experiment.name);

    let mut records: Vec<Option<Record>> =
        cells.iter().map(|cell| recorded(&folder, cell, arguments)).collect();
    let left: VecDeque<usize> = (0..cells.len()).filter(|&i| records[i].is_none()).collect();
    if arguments.dry_run {
        for (cell, record) in cells.iter().zip(&records) {
            let state = if record.is_some() { "recorded" } else { "to run" };
            if arguments.json {
                note!("{state:8} {}", name(cell));
            } else {
                say!("{state:8} {}", name(cell));
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    note!(
        "{}: {} cells, {} of them recorded; {jobs} at a time with {threads} thread{} each",
        experiment.name,
        cells.len(),
        cells.len() - left.len(),
        if threads == 1 { "" } else { "s" },
    );
    if arguments.json {
        for record in records.iter().flatten() {
            print_json(record)?;
        }
    }
    run_cells(&cells, left, &mut records, jobs, threads, &folder, arguments.json)?;

    let finished: Vec<Record> = records.into_iter().flatten().collect();
    let failed = finished.iter().filter(|record| record.outcome.status == Status::Failed).count();
    report::write(&experiment, &Record::read_all(&folder)?, &folder)?;
    if !arguments.json {
        say!("{}", report::terminal(&experiment, &finished)?);
        say!("Report: {}", folder.join("report.md").display());
        if experiment.name == "quickstart" {
            say!("{}", what_else().trim_end());
        }
    }
    Ok(if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What a worker tells the main thread.
enum Event {
    Started,
    Progress(Progress),
    Finished(Result<Outcome>),
}

/// Runs the cells `left`, `jobs` at a time, and writes a record for each as it ends.
fn run_cells(
    cells: &[Cell],
    left: VecDeque<usize>,
    records: &mut [Option<Record>],
    jobs: usize,
    threads: usize,
    folder: &Path,
    json: bool,
) -> Result<()> {
    let mut display = Display::new(left.len(), jobs, std::io::stderr().is_terminal());
    let circumstances = circumstances(threads, jobs);
    let queue = Mutex::new(left);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for lane in 0..jobs {
            let (sender, queue) = (sender.clone(), &queue);
            scope.spawn(move || {
                // A send fails only when the main thread has given up; then so does the lane.
                while let Some(i) = queue.lock().ok().and_then(|mut queue| queue.pop_front()) {
                    if sender.send((lane, i, Event::Started)).is_err() {
                        return;
                    }
                    let outcome = worker::run(&cells[i], threads, &mut |progress| {
                        let _ = sender.send((lane, i, Event::Progress(progress)));
                    });
                    if sender.send((lane, i, Event::Finished(outcome))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut finish = |lane, i: usize, outcome, display: &mut Display| -> Result<()> {
            let mut circumstances = circumstances.clone();
            circumstances.finished = now();
            let (key, cell) = (cells[i].key(), cells[i].clone());
            let record = Record { key, cell, outcome, circumstances };
            record.write(folder)?;
            display.finished(lane, &record);
            if json {
                print_json(&record)?;
            }
            records[i] = Some(record);
            Ok(())
        };
        let mut result = Ok(());
        for (lane, i, event) in receiver {
            match event {
                Event::Started => display.started(lane, &cells[i]),
                Event::Progress(progress) => display.progress(lane, &cells[i], &progress),
                Event::Finished(outcome) => {
                    let finished = outcome.and_then(|o| finish(lane, i, o, &mut display));
                    if finished.is_err()
                        && let Ok(mut queue) = queue.lock()
                    {
                        // No further cell begins; those that run still get their records.
                        queue.clear();
                    }
                    result = result.and(finished);
                }
            }
        }
        display.end();
        result
    })
}

/// The record of a cell that need not run again; a failure is tried again.
fn recorded(folder: &Path, cell: &Cell, arguments: &Arguments) -> Option<Record> {
    let record = Record::find(folder, cell).filter(|_| !arguments.force)?;
    (record.outcome.status != Status::Failed).then_some(record)
}

/// One line of the `--json` output.
fn print_json(record: &Record) -> Result<()> {
    let (cell, outcome) = (&record.cell, &record.outcome);
    let score = |of: fn(&crate::record::CellScores) -> f64| outcome.scores.as_ref().map(of);
    let line = serde_json::json!({
        "dataset": cell.dataset, "pattern": cell.pattern, "method": cell.method, "fold": cell.fold,
        "repetition": cell.repetition, "seed": cell.seed, "status": outcome.status, "reason": outcome.reason,
        "acc": score(|s| s.acc), "nmi": score(|s| s.nmi), "ari": score(|s| s.ari), "purity": score(|s| s.purity),
        "seconds": outcome.seconds, "peak_memory_bytes": outcome.peak_memory_bytes,
    });
    say!("{line}");
    Ok(())
}

/// Jobs and threads such that together they never use more than all cores.
fn share_cores(
    jobs: Option<usize>,
    threads: Option<usize>,
    cores: usize,
) -> Result<(usize, usize)> {
    ensure!(jobs != Some(0), "jobs = 0: must be at least 1");
    ensure!(threads != Some(0), "threads = 0: must be at least 1");
    let threads = match (jobs, threads) {
        (_, Some(threads)) => threads.min(cores),
        (Some(1), None) => cores,
        _ => 1,
    };
    let most = (cores / threads).max(1);
    Ok((jobs.unwrap_or(most).min(most), threads))
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The folder of the workspace: where the program was built.
pub(crate) fn workspace_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

fn circumstances(threads: usize, jobs: usize) -> Circumstances {
    let line = |text: std::io::Result<String>| text.unwrap_or_default().trim().to_owned();
    let cpu = line(std::fs::read_to_string("/proc/cpuinfo"));
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    Circumstances {
        threads,
        jobs,
        revision: revision().unwrap_or_else(|| "unknown".into()),
        host: line(std::fs::read_to_string("/proc/sys/kernel/hostname")),
        cpu: cpu.trim_start_matches([' ', '\t', ':']).to_owned(),
        finished: 0,
    }
}

/// The commit the workspace stands at, with a `+` where files differ from it.
fn revision() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").current_dir(workspace_root()).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Some(if changed { commit + "+" } else { commit })
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A cell in words.
pub(crate) fn name(cell: &Cell) -> String {
    let fold = cell.fold.map_or_else(String::new, |fold| format!(" fold {fold}"));
    format!("{} {}{fold} {} repetition {}", cell.dataset, cell.pattern, cell.label, cell.repetition)
}

/// Which other experiments the data at hand allow.
fn what_else() -> String {
    use std::fmt::Write;
    let mut text = String::from("\nFurther experiments:\n");
    for name in experiment::names().into_iter().filter(|&name| name != "quickstart") {
        let Ok(experiment) = experiment::load(name) else { continue };
        let absent: Vec<_> = experiment
            .datasets
            .iter()
            .filter(|dataset| !source::is_present(dataset))
            .cloned()
            .collect();
        let state = if absent.is_empty() {
            "ready".to_owned()
        } else {
            format!("needs `cargo xtask datasets fetch {}`", absent.join(" "))
        };
        let _ = writeln!(text, "  cargo xtask reproduce {name:16} {} ({state})", experiment.title);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_and_threads_never_use_more_than_all_cores() {
        for cores in 1..9 {
            for jobs in [None, Some(1), Some(2), Some(7), Some(100)] {
                for threads in [None, Some(1), Some(3), Some(100)] {
                    let (jobs, threads) = share_cores(jobs, threads, cores).unwrap();
                    assert!(jobs >= 1 && threads >= 1 && jobs * threads <= cores);
                }
            }
        }
        assert_eq!(share_cores(None, None, 8).unwrap(), (8, 1));
        assert_eq!(share_cores(Some(1), None, 8).unwrap(), (1, 8));
        assert_eq!(share_cores(None, Some(2), 8).unwrap(), (4, 2));
        assert!(share_cores(Some(0), None, 8).is_err());
    }
}
