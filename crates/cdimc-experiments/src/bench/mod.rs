//! `cargo xtask bench`: seconds, arithmetic and memory of CDIMC-net's parts and of the mixture, ours and the peers' in turn.
//!
//! Every measurement is a process of its own. With `--python` the same case goes to a plain PyTorch and
//! scikit-learn program (`crates/cdimc-experiments/peers/peer.py`), from the same data and initial weights, and the losses of
//! both are compared.

mod case;
mod ours;
mod parts;
mod sparse;

use crate::{measuring, source, workspace};
use anyhow::{Context, Result, anyhow, ensure};
use case::{Case, Folder, Task};
use cdimc::{note, say};
use cdimc_data::{
    Dataset, MissingPattern, Seed, SyntheticMap, SyntheticView, SyntheticViews, write_whole,
};
use serde::{Deserialize, Serialize};
use sparse::Sizes;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::thread::ScopedJoinHandle;

pub(crate) use ours::serve;

/// Data sets for the growth of time and memory with the samples; their views are as wide as MNIST.
const ONE_VIEW: &str = "synthetic 784";
const TWO_VIEWS: &str = "synthetic 2 x 784";

/// What the benchmark measures and with whom it compares.
#[derive(Clone, clap::Args)]
pub struct Arguments {
    /// A Python with torch and scikit-learn, to measure the peers in turn with ours.
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
    /// A program in which the mixture is written plainly, `fit(views, mask, k, seed, starts, refined)`, as its peer.
    #[arg(long, value_name = "FILE", requires = "python")]
    oracle: Option<PathBuf>,
    /// Sample counts for the growth of time and memory.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [2000, 8000, 70_000])]
    samples: Vec<usize>,
    /// Tasks to measure [default: all].
    #[arg(long, value_name = "TASK", value_enum)]
    task: Vec<Task>,
    /// Alternations of ours and the peers'; the fastest of each counts.
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,
    /// Threads of each.
    #[arg(long, value_name = "T", default_value_t = 1)]
    threads: usize,
    /// Share of the whole run's epochs to do, in (0, 1].
    #[arg(long, value_name = "F", default_value_t = 1.0)]
    share: f64,
    /// Where the table goes [default: standard output alone].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// What one process measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Measurement {
    /// One value a repetition of the task.
    pub seconds: Vec<f64>,
    /// Losses, or inertia, one a repetition, where the task has them.
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
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    ensure!(arguments.rounds > 0, "rounds = 0: must be at least 1");
    ensure!(arguments.threads > 0, "threads = 0: must be at least 1");
    ensure!(
        arguments.share > 0.0 && arguments.share <= 1.0,
        "share = {}: must lie in (0, 1]",
        arguments.share
    );
    let wanted = |task: Task| arguments.task.is_empty() || arguments.task.contains(&task);
    let mut lines = Vec::new();
    let mut together = None;
    let (name, dataset) = handwritten()?;
    for rate in [0.0, 0.3, 0.7] {
        let folder = Folder::write(&dataset, rate)?;
        for task in [
            Task::Pretrain,
            Task::Finetune,
            Task::Run,
            Task::Neighbors,
            Task::Kmeans,
            Task::Predict,
            Task::Mixture,
            Task::MixtureAuto,
        ] {
            // Only the epochs depend on the missing rate in a way of their own.
            let every_rate = matches!(task, Task::Pretrain | Task::Finetune);
            if wanted(task) && (every_rate || rate == 0.3) {
                let mut case = folder.case(task, arguments.threads, arguments.share);
                case.oracle.clone_from(&arguments.oracle);
                lines.push(compare(&name, rate, &folder, &case, arguments)?);
            }
        }
        if wanted(Task::Pair) && rate == 0.3 {
            let case = folder.case(Task::Pair, arguments.threads, arguments.share);
            together = Some(two_at_once(&case)?);
        }
    }
    for &n_samples in &arguments.samples {
        lines.extend(growth(n_samples, arguments)?);
    }
    if wanted(Task::Large) {
        let folder = Folder::write(&wide(100, 2)?, 0.3)?;
        let mut case = folder.case(Task::Large, arguments.threads, 1.0);
        (case.n_samples, case.epochs, case.rounds, case.epochs_per_round) = (70_000, 5, 1, 5);
        let arguments = Arguments { python: None, ..arguments.clone() };
        lines.push(compare(large()?.name(), 0.3, &folder, &case, &arguments)?);
    }
    if wanted(Task::Sparse) {
        let sizes = Sizes { n_samples: 20_000, n_columns: 20_000, draws: 610, width: 30 };
        lines.push(sparse_tables(Task::Sparse, sizes, arguments)?);
    }
    if arguments.task.contains(&Task::Atlas) {
        let sizes = Sizes { n_samples: 100_000, n_columns: 20_000, draws: 1020, width: 100 };
        lines.push(sparse_tables(Task::Atlas, sizes, arguments)?);
    }
    if arguments.task.contains(&Task::Parts) {
        let sizes = if arguments.samples.is_empty() { &[1_000_000] } else { &*arguments.samples };
        for &n_samples in sizes {
            lines.push(in_parts(n_samples, arguments)?);
        }
    }
    let text = table(&lines, together, arguments);
    if let Some(out) = &arguments.out {
        write_whole(out, text.as_bytes())?;
    }
    say!("{text}");
    Ok(ExitCode::SUCCESS)
}

/// The tasks that grow with the samples, on views as wide as MNIST's.
fn growth(n_samples: usize, arguments: &Arguments) -> Result<Vec<Line>> {
    let wanted = |task: &Task| arguments.task.is_empty() || arguments.task.contains(task);
    let mut lines = Vec::new();
    if [Task::Pretrain, Task::Finetune].iter().any(wanted) {
        let folder = Folder::write(&wide(n_samples, 2)?, 0.3)?;
        for task in [Task::Pretrain, Task::Finetune].into_iter().filter(wanted) {
            let mut case = folder.case(task, arguments.threads, arguments.share);
            // Growth is measured for an epoch. A ring replaces the neighbor graph, as its search is a separate task.
            case.ring = true;
            case.times = 2;
            lines.push(compare(TWO_VIEWS, 0.3, &folder, &case, arguments)?);
        }
    }
    if wanted(&Task::Neighbors) {
        let folder = Folder::write(&wide(n_samples, 1)?, 0.0)?;
        let case = folder.case(Task::Neighbors, arguments.threads, arguments.share);
        lines.push(compare(ONE_VIEW, 0.0, &folder, &case, arguments)?);
    }
    Ok(lines)
}

/// The mixture from sparse and dense tables on disk to labels.
fn sparse_tables(task: Task, sizes: Sizes, arguments: &Arguments) -> Result<Line> {
    let folder = Folder::write(&wide(100, 2)?, 0.0)?;
    let mut case = folder.case(task, arguments.threads, 1.0);
    sparse::write(&case.folder, sizes)?;
    (case.n_samples, case.n_clusters) = (sizes.n_samples, sparse::CLUSTERS);
    case.widths = vec![sizes.n_columns, sizes.width];
    compare("synthetic, sparse", 0.0, &folder, &case, arguments)
}

/// The mixture from parts that memory does not hold together to labels.
fn in_parts(n_samples: usize, arguments: &Arguments) -> Result<Line> {
    let folder = Folder::write(&wide(100, 2)?, 0.0)?;
    let mut case = folder.case(Task::Parts, arguments.threads, 1.0);
    case.n_samples = n_samples;
    case.widths = vec![parts::WIDTH; 2];
    let arguments = Arguments { python: None, ..arguments.clone() };
    compare("synthetic, in parts", 0.1, &folder, &case, &arguments)
}

/// Seconds of one run alone, and of two at once until both are done.
fn two_at_once(case: &Case) -> Result<(f64, f64)> {
    note!("{}", case.task);
    let alone = measure(&mut own_process(case)?, case)?.fastest();
    let one = || -> Result<f64> { Ok(measure(&mut own_process(case)?, case)?.fastest()) };
    let both = std::thread::scope(|scope| {
        [scope.spawn(one), scope.spawn(one)].map(ScopedJoinHandle::join)
    });
    let mut slower = 0.0_f64;
    for run in both {
        slower = slower.max(run.map_err(|_| anyhow!("a measurement panicked"))??);
    }
    Ok((alone, slower))
}

/// One line of the table.
struct Line {
    dataset: String,
    task: Task,
    n_samples: usize,
    rate: f64,
    ours: Measurement,
    peer: Option<Measurement>,
    /// Floating-point operations of one repetition that observed values need, where they are counted.
    operations: Option<f64>,
    /// Operations per second of a large matrix product, measured in the same minute.
    peak: f64,
}

/// Measures ours and the peer's in turn.
fn compare(
    dataset: &str,
    rate: f64,
    folder: &Folder,
    case: &Case,
    arguments: &Arguments,
) -> Result<Line> {
    note!("{dataset}, {} samples, {rate} missing: {}", case.n_samples, case.task);
    // A task that takes minutes is not repeated.
    let rounds = if [Task::Run, Task::Atlas, Task::Parts].contains(&case.task) {
        1
    } else {
        arguments.rounds
    };
    let has_peer = case.task != Task::Mixture || case.oracle.is_some();
    let (mut ours, mut peer, mut peak) = (Vec::new(), Vec::new(), 0.0_f64);
    for _ in 0..rounds {
        let product = measure(&mut own_process(case)?, &Case { task: Task::Peak, ..case.clone() })?;
        peak = peak.max(ours::PEAK_OPERATIONS / product.fastest());
        ours.push(measure(&mut own_process(case)?, case)?);
        if let (Some(python), true) = (&arguments.python, has_peer) {
            let mut command = Command::new(python);
            command.arg(workspace::root().join("crates/cdimc-experiments/peers/peer.py"));
            peer.push(measure(&mut command, case)?);
        }
    }
    let fastest =
        |of: Vec<Measurement>| of.into_iter().min_by(|a, b| a.fastest().total_cmp(&b.fastest()));
    Ok(Line {
        dataset: dataset.to_owned(),
        task: case.task,
        n_samples: case.n_samples,
        rate,
        ours: fastest(ours).context("nothing measured")?,
        peer: fastest(peer),
        operations: folder.operations(case),
        peak,
    })
}

fn own_process(case: &Case) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("bench-case").env("RAYON_NUM_THREADS", case.threads.to_string());
    Ok(command)
}

/// Gives the case to a process and takes its measurement.
fn measure(command: &mut Command, case: &Case) -> Result<Measurement> {
    measuring::ask(command, case, &case.task.to_string())
}

/// Handwritten where it is at hand, or synthetic views of its widths.
fn handwritten() -> Result<(String, Dataset)> {
    if source::is_present("handwritten") {
        return Ok(("handwritten".into(), source::load("handwritten")?));
    }
    let widths = [240, 76, 216, 47, 64];
    let views = widths.map(|width| SyntheticView { width, map: SyntheticMap::Linear }).to_vec();
    let recipe =
        SyntheticViews { n_samples: 2000, n_clusters: 10, views, ..SyntheticViews::default() };
    Ok(("synthetic of handwritten's widths".into(), recipe.generate(Seed::new(0))?))
}

/// MNIST's 70,000 images and their edges where at hand, or synthetic views of that size.
fn large() -> Result<Dataset> {
    if source::is_present("mnist70k") { source::load("mnist70k") } else { wide(70_000, 2) }
}

/// Views as wide as MNIST's.
fn wide(n_samples: usize, n_views: usize) -> Result<Dataset> {
    let views = vec![SyntheticView { width: 784, map: SyntheticMap::Linear }; n_views];
    let recipe = SyntheticViews { n_samples, n_clusters: 10, views, ..SyntheticViews::default() };
    Ok(recipe.generate(Seed::new(0))?)
}

/// The mask of a rate, the same for every task.
fn mask(dataset: &Dataset, rate: f64) -> Result<cdimc_data::ViewMask> {
    let pattern = MissingPattern::PerView(rate);
    Ok(pattern.mask(dataset.n_samples(), dataset.n_views(), Seed::new(0))?)
}

/// The table as Markdown.
fn table(lines: &[Line], together: Option<(f64, f64)>, arguments: &Arguments) -> String {
    let mut text = format!(
        "# Benchmarks\n\n`cargo xtask bench{}`, {} thread(s) each, the fastest of {} alternating processes (one for a whole \
         run). An epoch of pre-training or fine-tuning; k-means with 20 starts on all views side by side; exact \
         neighbors of every view. CPU seconds are those of the whole process. Operations are those that observed values need; peak is a 1024 x 1024 single-precision \
         matrix product of the same minutes. Peers: PyTorch for the network, scikit-learn for neighbors, k-means and the mixture as \
         a whole (`crates/cdimc-experiments/peers/peer.py`), the program of `--oracle` for the mixture of one kind; agreement is the largest relative difference of losses, or that of inertia (below 0 \
         ours is better).\n\n",
        if arguments.python.is_some() { " --python PATH" } else { "" },
        arguments.threads,
        arguments.rounds,
    );
    text += "| data | task | samples | missing | seconds | CPU | GFLOP/s | of peak | MiB | peer's seconds | peer's CPU | peer's MiB | ratio | agreement |\n";
    text += "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    for line in lines {
        let seconds = line.ours.fastest();
        let speed = line.operations.map(|operations| operations / seconds);
        let or_dash = |value: Option<String>| value.unwrap_or_else(|| "–".into());
        let mib = |m: &Measurement| {
            m.peak_memory_bytes.map(|bytes| format!("{:.0}", bytes as f64 / 1_048_576.0))
        };
        let cpu = |m: &Measurement| m.cpu_seconds.map(|seconds| format!("{seconds:.1}"));
        let peer = line.peer.as_ref();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {seconds:.4} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            line.dataset,
            line.task,
            line.n_samples,
            line.rate,
            or_dash(cpu(&line.ours)),
            or_dash(speed.map(|speed| format!("{:.1}", speed / 1e9))),
            or_dash(speed.map(|speed| format!("{:.0} %", 100.0 * speed / line.peak))),
            or_dash(mib(&line.ours)),
            or_dash(peer.map(|peer| format!("{:.4}", peer.fastest()))),
            or_dash(peer.and_then(cpu)),
            or_dash(peer.and_then(mib)),
            or_dash(peer.map(|peer| format!("{:.2}", peer.fastest() / seconds))),
            or_dash(peer.and_then(|peer| agreement(line.task, &line.ours.values, &peer.values))),
        );
    }
    text += "\n";
    for task in [Task::Pretrain, Task::Finetune, Task::Neighbors] {
        let grows = |line: &&Line| [ONE_VIEW, TWO_VIEWS].contains(&line.dataset.as_str());
        let of_task: Vec<&Line> =
            lines.iter().filter(|line| line.task == task).filter(grows).collect();
        let (Some(few), Some(many)) = (
            of_task.iter().min_by_key(|line| line.n_samples),
            of_task.iter().max_by_key(|line| line.n_samples),
        ) else {
            continue;
        };
        let exponent = |few_cost: f64, many_cost: f64| {
            (many_cost / few_cost).ln() / (many.n_samples as f64 / few.n_samples as f64).ln()
        };
        if let (true, Some(few_bytes), Some(many_bytes)) = (
            few.n_samples < many.n_samples,
            few.ours.peak_memory_bytes,
            many.ours.peak_memory_bytes,
        ) {
            let _ = writeln!(
                text,
                "- {task} from {} to {} samples: time grows with exponent {:.2}, memory with {:.2}.",
                few.n_samples,
                many.n_samples,
                exponent(few.ours.fastest(), many.ours.fastest()),
                exponent(few_bytes as f64, many_bytes as f64),
            );
        }
    }
    if let Some((alone, both)) = together {
        let _ = writeln!(
            text,
            "- Two whole runs at once, one thread each: {both:.2} s, one alone {alone:.2} s; {:.2} times as many \
             are finished.",
            2.0 * alone / both,
        );
    }
    text
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
            rate: 0.3,
            ours: Measurement {
                seconds: vec![seconds],
                values: Vec::new(),
                peak_memory_bytes: Some(1 << 20),
                cpu_seconds: None,
            },
            peer: None,
            operations: None,
            peak: 1.0,
        };
        let lines = [
            line("synthetic of handwritten's widths", 2000, 100.0),
            line(TWO_VIEWS, 2000, 1.0),
            line(TWO_VIEWS, 8000, 4.0),
        ];
        let text = table(&lines, None, &crate::arguments_of(&[]));
        let growth = "from 2000 to 8000 samples: time grows with exponent 1.00, memory with 0.00.";
        assert!(text.contains(growth), "{text}");
    }
}
