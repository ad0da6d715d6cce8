//! `cargo xtask bench`: seconds and memory of CDIMC-net's parts and the mixture, beside other programs.
//!
//! Every measurement is a process of its own. With `--python` the same case goes to plain programs of PyTorch and
//! scikit-learn (`peers/peer.py`), from the same data and initial weights, and the losses of both are compared.

mod case;
mod drawn;
mod ours;

use crate::table::{mebibytes, or_dash};
use crate::text::Grid;
use crate::{datasets, workspace};
use anyhow::{Context, Result, ensure};
use case::{Case, Task};
use cdimc::{note, say};
use cdimc_data::{Dataset, Seed, SyntheticMap, SyntheticView, SyntheticViews};
use drawn::Sizes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

pub(crate) use ours::serve;

/// The columns of the table.
const HEAD: &str = "data | task | samples | missing | seconds | CPU | MiB | peer's seconds | CPU | MiB | ratio | agreement";

/// Data sets for the growth of time and memory with the samples; their views are as wide as MNIST.
const ONE_VIEW: &str = "synthetic 784";
const TWO_VIEWS: &str = "synthetic 2 x 784";

/// What the benchmark measures and with whom it compares.
#[derive(Clone, clap::Args)]
pub struct Arguments {
    /// A Python with torch and scikit-learn, to measure other programs in turn with ours.
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
    /// Sample counts for the growth of time and memory.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [2000, 8000, 70_000])]
    samples: Vec<usize>,
    /// Tasks to measure [default: all that run without a request].
    #[arg(long, value_name = "TASK", value_enum)]
    task: Vec<Task>,
    /// Alternations of ours and the peers'; the fastest of each counts.
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,
    /// Threads of each.
    #[arg(long, value_name = "T", default_value_t = 1)]
    threads: usize,
}

/// What one process measured.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Measurement {
    /// One value per repetition of the task.
    pub seconds: Vec<f64>,
    /// Losses, or inertia, one per repetition, where the task has them.
    pub values: Vec<f64>,
    pub peak_memory_bytes: Option<u64>,
    /// Of the whole process, all threads together.
    pub cpu_seconds: Option<f64>,
}

impl Measurement {
    /// The fastest repetition; the first one of several warms up and does not count.
    fn fastest(&self) -> f64 {
        let skip = usize::from(self.seconds.len() > 1);
        self.seconds.iter().skip(skip).copied().fold(f64::INFINITY, f64::min)
    }

    /// Seconds, CPU seconds and MiB.
    fn cells(&self) -> [String; 3] {
        let seconds = format!("{:.4}", self.fastest());
        let cpu = self.cpu_seconds.map(|seconds| format!("{seconds:.1}"));
        let mib = self.peak_memory_bytes.map(|bytes| format!("{:.0}", mebibytes(bytes)));
        [seconds, or_dash(cpu), or_dash(mib)]
    }
}

struct Line {
    dataset: String,
    task: Task,
    n_samples: usize,
    missing: f64,
    ours: Measurement,
    peer: Option<Measurement>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    for (name, n) in [("rounds", arguments.rounds), ("threads", arguments.threads)] {
        ensure!(n > 0, "{name} = 0: must be at least 1");
    }
    say!(
        "# Benchmarks\n\n{} thread(s) each, the fastest of {} alternating processes (one for a task of minutes). CPU seconds \
         are for the whole process. A ratio above 1 means that we are faster. Agreement is the largest relative \
         difference of losses, or of inertia (below 0 ours is better).\n\n{}",
        arguments.threads,
        arguments.rounds,
        Grid::new(HEAD).markdown().trim_end()
    );
    let mut bench = Bench { arguments, lines: Vec::new() };
    let epochs = [Task::Pretrain, Task::Finetune];
    let others = [Task::Run, Task::Neighbors, Task::Kmeans, Task::Predict, Task::Mixture];
    let (name, load) = handwritten();
    // Only the epochs depend on the missing rate in a way of their own.
    for missing in [0.0, 0.3, 0.7] {
        bench.measure_all(name, missing, &epochs, None, |case| case.write(&load()?, missing))?;
    }
    bench.measure_all(name, 0.3, &others, None, |case| case.write(&load()?, 0.3))?;
    for &n in &arguments.samples {
        bench.measure_all(TWO_VIEWS, 0.3, &epochs, Some(2), |case| {
            case.write(&synthetic(n, &[784; 2])?, 0.3)
        })?;
        bench.measure_all(ONE_VIEW, 0.0, &[Task::Neighbors], Some(2), |case| {
            case.write(&synthetic(n, &[784])?, 0.0)
        })?;
        bench.measure_all("synthetic, in parts", 0.1, &[Task::Parts], None, |case| {
            (case.n_samples, case.widths) = (n, vec![drawn::WIDTH; 2]);
            Ok(())
        })?;
    }
    let sparse = Sizes { n_samples: 20_000, n_columns: 20_000, draws: 610, width: 30 };
    let atlas = Sizes { n_samples: 100_000, draws: 1020, width: 100, ..sparse };
    for (task, sizes) in [(Task::Sparse, sparse), (Task::Atlas, atlas)] {
        bench.measure_all("synthetic, sparse", 0.0, &[task], None, |case| {
            (case.n_samples, case.n_clusters) = (sizes.n_samples, drawn::CLUSTERS);
            case.widths = vec![sizes.n_columns, sizes.width];
            drawn::write(&case.folder, sizes)
        })?;
    }
    for task in [Task::Pretrain, Task::Finetune, Task::Neighbors] {
        if let Some(words) = growth(&bench.lines, task) {
            say!("\n{words}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

struct Bench<'a> {
    arguments: &'a Arguments,
    lines: Vec<Line>,
}

impl Bench<'_> {
    /// Measures the requested tasks on the data that `write` puts into a folder; each is done `times` times, or as often
    /// as usual.
    fn measure_all(
        &mut self,
        name: &str,
        missing: f64,
        tasks: &[Task],
        times: Option<usize>,
        write: impl Fn(&mut Case) -> Result<()>,
    ) -> Result<()> {
        let asked = &self.arguments.task;
        let is_on_request = |task| matches!(task, Task::Atlas | Task::Parts);
        let wants = |task| asked.contains(&task) || (asked.is_empty() && !is_on_request(task));
        let tasks: Vec<Task> = tasks.iter().copied().filter(|&task| wants(task)).collect();
        let Some(&first) = tasks.first() else { return Ok(()) };
        let folder = tempfile::tempdir()?;
        let mut case = Case::new(first, folder.path(), self.arguments.threads);
        write(&mut case)?;
        for task in tasks {
            (case.task, case.times) = (task, times.unwrap_or(task.times()));
            self.measure(name, missing, &case)?;
        }
        Ok(())
    }

    /// Measures ours and the peer's in turn, and adds a line.
    fn measure(&mut self, dataset: &str, missing: f64, case: &Case) -> Result<()> {
        let task = name(case.task);
        note!("{dataset}, {} samples, {missing} missing: {task}", case.n_samples);
        // A task that takes minutes is not repeated.
        let is_long = [Task::Run, Task::Atlas, Task::Parts].contains(&case.task);
        let peer = workspace::root().join("crates/cdimc-experiments/peers/peer.py");
        let python = self.arguments.python.as_ref().filter(|_| case.task != Task::Parts);
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..if is_long { 1 } else { self.arguments.rounds } {
            ours.push(answer(Command::new(std::env::current_exe()?).arg("bench-case"), case)?);
            if let Some(python) = python {
                theirs.push(answer(Command::new(python).arg(&peer), case)?);
            }
        }
        let fastest = |of: Vec<Measurement>| {
            of.into_iter().min_by(|a, b| a.fastest().total_cmp(&b.fastest()))
        };
        let (ours, peer) = (fastest(ours).context("nothing measured")?, fastest(theirs));
        let (dataset, n_samples) = (dataset.to_owned(), case.n_samples);
        let line = Line { dataset, task: case.task, n_samples, missing, ours, peer };
        say!("| {} |", line.cells().join(" | "));
        self.lines.push(line);
        Ok(())
    }
}

impl Line {
    fn cells(&self) -> Vec<String> {
        let (ours, peer) = (&self.ours, self.peer.as_ref());
        let ratio = peer.map(|peer| format!("{:.2}", peer.fastest() / ours.fastest()));
        let agreement = peer.and_then(|peer| agreement(self.task, &ours.values, &peer.values));
        let [dataset, task] = [self.dataset.clone(), name(self.task)];
        let mut cells = vec![dataset, task, self.n_samples.to_string(), self.missing.to_string()];
        cells.extend(ours.cells());
        cells.extend(peer.map_or_else(|| ["–"; 3].map(str::to_owned), Measurement::cells));
        cells.extend([or_dash(ratio), or_dash(agreement)]);
        cells
    }
}

fn answer(command: &mut Command, case: &Case) -> Result<Measurement> {
    let mut measured = None;
    let command = command.env("RAYON_NUM_THREADS", case.threads.to_string());
    let (status, words) = workspace::ask(command, case, |answer| measured = Some(answer))?;
    let measured = measured.filter(|_| status.success());
    measured.with_context(|| format!("{command:?}: {status}: {words}"))
}

/// Handwritten where it is at hand, or synthetic views of its widths.
fn handwritten() -> (&'static str, fn() -> Result<Dataset>) {
    if datasets::is_present("handwritten") {
        return ("handwritten", || datasets::load("handwritten"));
    }
    ("synthetic of handwritten's widths", || synthetic(2000, &[240, 76, 216, 47, 64]))
}

fn synthetic(n_samples: usize, widths: &[usize]) -> Result<Dataset> {
    let view = |&width: &usize| SyntheticView { width, map: SyntheticMap::Linear };
    let views = widths.iter().map(view).collect();
    let recipe = SyntheticViews { n_samples, n_clusters: 10, views, ..SyntheticViews::default() };
    Ok(recipe.generate(Seed::new(0))?)
}

/// With which power of the samples a task grows, from the fewest to the most samples.
fn growth(lines: &[Line], task: Task) -> Option<String> {
    let grows =
        |line: &&Line| line.task == task && [ONE_VIEW, TWO_VIEWS].contains(&line.dataset.as_str());
    let few = lines.iter().filter(grows).min_by_key(|line| line.n_samples)?;
    let many = lines.iter().filter(grows).max_by_key(|line| line.n_samples)?;
    let ratio = (many.n_samples as f64 / few.n_samples as f64).ln();
    let exponent =
        |cost: fn(&Measurement) -> f64| (cost(&many.ours) / cost(&few.ours)).ln() / ratio;
    let bytes = |of: &Measurement| of.peak_memory_bytes.unwrap_or(0) as f64;
    (ratio > 0.0).then(|| {
        format!(
            "- {} from {} to {} samples: time grows with exponent {:.2}, memory with {:.2}.",
            name(task),
            few.n_samples,
            many.n_samples,
            exponent(Measurement::fastest),
            exponent(bytes),
        )
    })
}

fn name(task: Task) -> String {
    let value = clap::ValueEnum::to_possible_value(&task);
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// How far our losses, or inertia, are from the peer's.
fn agreement(task: Task, ours: &[f64], peer: &[f64]) -> Option<String> {
    let relative = ours.iter().zip(peer).map(|(ours, peer)| (ours - peer) / peer.abs());
    let difference = if task == Task::Kmeans {
        // The seeds of both have nothing in common but their number.
        (!ours.is_empty()).then(|| relative.sum::<f64>() / ours.len() as f64)
    } else {
        relative.max_by(|a, b| a.abs().total_cmp(&b.abs())).map(f64::abs)
    };
    difference.map(|difference| format!("{difference:.1e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_compares_sizes_of_one_data_set() {
        let line = |dataset: &str, n_samples: usize, seconds: f64| Line {
            dataset: dataset.into(),
            task: Task::Pretrain,
            n_samples,
            missing: 0.3,
            ours: Measurement {
                seconds: vec![seconds],
                peak_memory_bytes: Some(1 << 20),
                ..Measurement::default()
            },
            peer: None,
        };
        let lines = [
            line("synthetic of handwritten's widths", 2000, 100.0),
            line(TWO_VIEWS, 2000, 1.0),
            line(TWO_VIEWS, 8000, 4.0),
        ];
        let words = "- pretrain from 2000 to 8000 samples: time grows with exponent 1.00, memory with 0.00.";
        assert_eq!(growth(&lines, Task::Pretrain).as_deref(), Some(words));
    }
}
