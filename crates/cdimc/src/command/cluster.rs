//! `cdimc cluster`: clusters, how sure they are, a model and a page, from a user's own files.

use super::Interrupted;
use super::input::Input;
use super::output::{OutputFolder, check_target, csv_bytes};
use super::progress::Progress;
use super::run_record::{FileRecord, RunRecord, Status, file_records};
use anyhow::{Context, bail};
use cdimc::cluster::{ClusterError, Clusterer, Fitted, Observer, Step};
use cdimc::cluster_number::{ClusterNumber, choose, graph_eigenvalues};
use cdimc::data::Seed;
use cdimc::report::Report;
use cdimc::tables::Joined;
use cdimc::{Configured, DEFAULT_METHOD, MethodError, NamedModel, NamedView, note, say};
use clap::{Args, ValueEnum};
use std::collections::BTreeMap;
use std::ops::{ControlFlow, RangeInclusive};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

const CHECKPOINT: &str = "checkpoint.safetensors";

/// Group the samples, and write labels, embedding, model and report
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  cdimc cluster --view rna.csv --view protein.npy --id patient -k 4 -o result"
)]
pub(crate) struct Cluster {
    #[command(flatten)]
    input: Option<Input>,
    /// Number of clusters
    #[arg(short = 'k', long, value_name = "N", required_unless_present_any = ["k_range", "resume"], conflicts_with = "k_range")]
    clusters: Option<usize>,
    /// Numbers of clusters to try, as 2..12; the choice and its reason are reported
    #[arg(long, value_name = "FROM..TO", value_parser = parse_range)]
    k_range: Option<RangeInclusive<usize>>,
    /// Seeds of each number of clusters that --k-range tries
    #[arg(long, value_name = "N", default_value_t = 3)]
    k_seeds: usize,
    /// The method: cdimc-net or one it is compared with
    #[arg(long, default_value = DEFAULT_METHOD)]
    method: String,
    /// The seed of all randomness
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Settings of the method as TOML
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where a network trains, if the method has one
    #[arg(long)]
    device: Option<DeviceName>,
    /// Threads; all cores by default
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// The folder for the results
    #[arg(short, long, value_name = "DIR", required_unless_present = "resume")]
    output: Option<PathBuf>,
    /// Replace an earlier run in DIR
    #[arg(long)]
    force: bool,
    /// Go on with an interrupted run
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "clusters", "k_range", "config", "views"])]
    resume: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DeviceName {
    Cpu,
    Cuda,
}

/// A run with everything decided but the number of clusters.
struct Run {
    input: Input,
    files: Vec<FileRecord>,
    joined: Joined,
    configured: Configured,
    seed: u64,
    threads: usize,
    target: PathBuf,
    started: Instant,
    seconds: Vec<(String, f64)>,
}

impl Cluster {
    pub(crate) fn run(self, quiet: bool) -> anyhow::Result<()> {
        let threads = set_threads(self.threads)?;
        let interrupted = catch_interrupts()?;
        if let Some(folder) = &self.resume {
            return resume(folder, threads, quiet, &interrupted);
        }
        let (Some(input), Some(target)) = (self.input.clone(), self.output.clone()) else {
            bail!("--view and --output are needed");
        };
        check_target(&target, self.force)?;
        let settings = self.settings()?;
        // A wrong name or setting is found before any file is read.
        let configured = match (cdimc::configured(&self.method, settings), &self.config) {
            (Err(error), Some(path)) if !matches!(error, MethodError::Unknown { .. }) => {
                return Err(error).with_context(|| path.display().to_string());
            }
            (configured, _) => configured?,
        };
        let started = Instant::now();
        let joined = input.read()?;
        let files = file_records(&input)?;
        let seconds = vec![("read".to_owned(), started.elapsed().as_secs_f64())];
        let seed = self.seed;
        let mut run =
            Run { input, files, joined, configured, seed, threads, target, started, seconds };
        let (n_clusters, number) = match (self.clusters, &self.k_range) {
            (Some(n_clusters), _) => (n_clusters, None),
            (None, Some(range)) => {
                let number = run.choose_number(range, self.k_seeds, quiet, &interrupted)?;
                (number.chosen, Some(number))
            }
            (None, None) => bail!("--clusters or --k-range is needed"),
        };
        let fit = |run: &Run, observer: &Observer<'_>| {
            let method = &run.configured.clusterer;
            method.fit(&run.joined.data, n_clusters, Seed::new(seed), observer)
        };
        run.finish(fit, n_clusters, number, self.force, quiet, &interrupted)
    }

    /// The settings of --config with --device in them.
    fn settings(&self) -> anyhow::Result<serde_json::Value> {
        let mut settings = match &self.config {
            None => serde_json::json!({}),
            Some(path) => {
                let shown = path.display();
                let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
                    std::io::ErrorKind::NotFound => anyhow::anyhow!("{shown}: no such file"),
                    _ => anyhow::anyhow!("{shown}: {error}"),
                })?;
                let table: toml::Table = toml::from_str(&text).map_err(|error| {
                    let at = error.span().map_or(0, |span| span.start);
                    let line = 1 + text[..at].matches('\n').count();
                    anyhow::anyhow!("{shown}, line {line}: {}", error.message())
                })?;
                serde_json::to_value(table)?
            }
        };
        if let Some(device) = self.device {
            let name = match device {
                DeviceName::Cpu => "cpu",
                DeviceName::Cuda => "cuda",
            };
            let defaults = cdimc::configured(&self.method, serde_json::Value::Null)?.settings;
            if defaults.get("device").is_none() {
                bail!("--device {name}: {} trains on no device", self.method);
            }
            settings["device"] = name.into();
        }
        Ok(settings)
    }
}

impl Run {
    /// Runs `fit` until done or interrupted, and writes what came of it.
    fn finish(
        mut self,
        fit: impl FnOnce(&Self, &Observer<'_>) -> Result<Fitted, ClusterError>,
        n_clusters: usize,
        number: Option<ClusterNumber>,
        force: bool,
        quiet: bool,
        interrupted: &AtomicBool,
    ) -> anyhow::Result<()> {
        let watch = Watch::new(quiet);
        let found = fit(&self, &Observer::new(&|step| watch.step(step, interrupted)));
        self.seconds.extend(watch.finish());
        match found {
            Ok(fitted) => self.write(fitted, n_clusters, number, force),
            Err(ClusterError::Interrupted { checkpoint: Some(checkpoint) }) => {
                let output = OutputFolder::begin(&self.target, force)?;
                output.write(CHECKPOINT, &checkpoint)?;
                let record = self.record(Status::Interrupted, n_clusters, number);
                output.write(super::output::RUN_FILE, &record.to_json()?)?;
                output.finish()?;
                Err(Interrupted::Resumable(self.target.display().to_string()).into())
            }
            Err(ClusterError::Interrupted { checkpoint: None }) => {
                Err(Interrupted::NothingWritten.into())
            }
            Err(error) => Err(error).with_context(|| self.input.samples(&self.joined)),
        }
    }

    /// Tries every number of clusters with several seeds and chooses one.
    fn choose_number(
        &mut self,
        range: &RangeInclusive<usize>,
        n_seeds: usize,
        quiet: bool,
        interrupted: &AtomicBool,
    ) -> anyhow::Result<ClusterNumber> {
        let clock = Instant::now();
        let data = &self.joined.data;
        let samples = || self.input.samples(&self.joined);
        if *range.end() >= data.n_samples() {
            let (from, to) = (range.start(), range.end());
            bail!("{}: --k-range {from}..{to}: must end below the number of samples", samples());
        }
        if n_seeds < 2 {
            bail!("--k-seeds = {n_seeds}: stability needs at least 2");
        }
        let shortened = self.configured.clusterer.shortened();
        let method: &dyn Clusterer =
            shortened.as_deref().unwrap_or(self.configured.clusterer.as_ref());
        let stop = |_: &Step| unless(interrupted);
        let observer = Observer::new(&stop);
        let seed = Seed::new(self.seed).stream("number of clusters");
        let mut clusterings = BTreeMap::new();
        for n_clusters in range.clone() {
            let mut found = Vec::with_capacity(n_seeds);
            for s in 0..n_seeds as u64 {
                match method.fit(data, n_clusters, seed.nth(s), &observer) {
                    Ok(fitted) => found.push(fitted.clustering),
                    Err(ClusterError::Interrupted { .. }) => {
                        return Err(Interrupted::NothingWritten.into());
                    }
                    Err(error) => return Err(error).with_context(samples),
                }
            }
            if !quiet {
                note!("k = {n_clusters}: {n_seeds} seeds tried");
            }
            clusterings.insert(n_clusters, found);
        }
        let eigenvalues = graph_eigenvalues(data, 10, range.end() + 1, seed)?;
        let number = choose(&clusterings, &eigenvalues, seed);
        if !quiet {
            note!("{}", number.reason);
        }
        self.seconds.push(("choose-k".into(), clock.elapsed().as_secs_f64()));
        Ok(number)
    }

    fn record(
        &self,
        status: Status,
        n_clusters: usize,
        cluster_number: Option<ClusterNumber>,
    ) -> RunRecord {
        RunRecord {
            command: command_line(),
            version: env!("CARGO_PKG_VERSION").into(),
            status,
            input: self.input.clone(),
            files: self.files.clone(),
            method: self.configured.clusterer.name().to_owned(),
            settings: self.configured.settings.clone(),
            n_clusters,
            seed: self.seed,
            threads: self.threads,
            cluster_number,
            n_samples: self.joined.data.n_samples(),
            unobserved: self.joined.unobserved.clone(),
            seconds: self.seconds.clone(),
        }
    }

    /// Writes the finished run into its folder.
    fn write(
        mut self,
        fitted: Fitted,
        n_clusters: usize,
        number: Option<ClusterNumber>,
        force: bool,
    ) -> anyhow::Result<()> {
        let Fitted { clustering, model } = fitted;
        self.seconds.push(("total".into(), self.started.elapsed().as_secs_f64()));
        let seconds: Vec<(&str, f64)> =
            self.seconds.iter().map(|(stage, s)| (stage.as_str(), *s)).collect();
        let html = Report {
            method: self.configured.clusterer.name(),
            command: &command_line(),
            joined: &self.joined,
            clustering: &clustering,
            confidence: clustering.confidence.as_deref(),
            cluster_number: number.as_ref(),
            settings: &serde_json::to_string_pretty(&self.configured.settings)?,
            seconds: &seconds,
        }
        .html();
        let output = OutputFolder::begin(&self.target, force)?;
        let (losses, confidence) = (clustering.losses.as_deref(), clustering.confidence.as_deref());
        output.write(
            "labels.csv",
            &labels_csv(&self.joined, &clustering.labels, losses, confidence)?,
        )?;
        if let Some(embedding) = &clustering.embedding {
            let header: Vec<String> = std::iter::once("id".into())
                .chain((0..embedding.ncols()).map(|j| format!("h{j}")))
                .collect();
            let header: Vec<&str> = header.iter().map(String::as_str).collect();
            let rows = self.joined.ids.iter().zip(embedding.rows()).map(|(id, row)| {
                let row: Vec<String> = row.iter().map(ToString::to_string).collect();
                std::iter::once(id.clone()).chain(row)
            });
            output.write("embedding.csv", &csv_bytes(&header, rows)?)?;
        }
        if let Some(model) = model {
            let views = self.joined.names.iter().zip(&self.joined.features);
            let view = |(name, features): (&String, &Vec<String>)| NamedView {
                name: name.clone(),
                features: features.clone(),
            };
            let model = NamedModel { model, views: views.map(view).collect() };
            output.write("model.safetensors", &model.to_bytes()?)?;
        }
        output.write("report.html", html.as_bytes())?;
        let record = self.record(Status::Finished, n_clusters, number);
        output.write(super::output::RUN_FILE, &record.to_json()?)?;
        output.finish()?;
        say!("{}", self.target.join("report.html").display());
        Ok(())
    }
}

/// Goes on from the checkpoint of an interrupted run.
fn resume(
    folder: &Path,
    threads: usize,
    quiet: bool,
    interrupted: &AtomicBool,
) -> anyhow::Result<()> {
    let started = Instant::now();
    let record = RunRecord::load(&folder.join(super::output::RUN_FILE))?;
    if record.status == Status::Finished {
        bail!("{}: this run has finished", folder.display());
    }
    let path = folder.join(CHECKPOINT);
    let checkpoint =
        std::fs::read(&path).with_context(|| format!("{}: cannot read", path.display()))?;
    let files = file_records(&record.input)?;
    if let Some((changed, _)) = files.iter().zip(&record.files).find(|(now, then)| now != then) {
        bail!("{}: has changed since the run was interrupted", changed.path);
    }
    let joined = record.input.read()?;
    let configured = cdimc::configured(&record.method, record.settings)?;
    let run = Run {
        input: record.input,
        files,
        joined,
        configured,
        seed: record.seed,
        threads,
        target: folder.to_owned(),
        started,
        seconds: record.seconds,
    };
    let go_on = |run: &Run, observer: &Observer<'_>| {
        run.configured.clusterer.resume(&checkpoint, &run.joined.data, observer)
    };
    run.finish(go_on, record.n_clusters, record.cluster_number, true, quiet, interrupted)
}

/// Goes on unless interrupted.
fn unless(interrupted: &AtomicBool) -> ControlFlow<()> {
    if interrupted.load(Ordering::Relaxed) {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}

/// Shows the steps of a method, times its stages and stops it on Ctrl-C.
struct Watch(Mutex<Watched>);

struct Watched {
    progress: Progress,
    clock: Instant,
    seconds: Vec<(String, f64)>,
}

impl Watch {
    fn new(quiet: bool) -> Self {
        let (progress, clock) = (Progress::new(quiet), Instant::now());
        Self(Mutex::new(Watched { progress, clock, seconds: Vec::new() }))
    }

    /// What lies between two steps belongs to the stage of the second.
    fn step(&self, step: &Step, interrupted: &AtomicBool) -> ControlFlow<()> {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watched.progress.step(step);
        let spent = std::mem::replace(&mut watched.clock, Instant::now()).elapsed().as_secs_f64();
        match watched.seconds.last_mut() {
            Some((last, sum)) if last == step.stage => *sum += spent,
            _ => watched.seconds.push((step.stage.to_owned(), spent)),
        }
        unless(interrupted)
    }

    /// The seconds of every stage; what came after the last step belongs to it.
    fn finish(self) -> Vec<(String, f64)> {
        let mut watched = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        watched.progress.finish();
        if let Some((_, seconds)) = watched.seconds.last_mut() {
            *seconds += watched.clock.elapsed().as_secs_f64();
        }
        watched.seconds
    }
}

/// The table of labels; a sample that was in no view has no cluster.
pub(crate) fn labels_csv(
    joined: &Joined,
    labels: &[usize],
    losses: Option<&[f64]>,
    confidence: Option<&[f64]>,
) -> anyhow::Result<Vec<u8>> {
    let number =
        |values: Option<&[f64]>, i: usize| values.map_or_else(String::new, |v| v[i].to_string());
    let observed = joined.ids.iter().enumerate().map(|(i, id)| {
        let n_views = joined.data.mask().n_views_of(i).to_string();
        vec![id.clone(), labels[i].to_string(), number(confidence, i), number(losses, i), n_views]
    });
    let unobserved = joined
        .unobserved
        .iter()
        .map(|id| vec![id.clone(), String::new(), String::new(), String::new(), "0".to_owned()]);
    csv_bytes(&["id", "cluster", "confidence", "loss", "views"], observed.chain(unobserved))
}

/// Ctrl-C asks for a checkpoint; a second one ends the program at once.
fn catch_interrupts() -> anyhow::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })?;
    Ok(interrupted)
}

/// Uses so many threads everywhere; all cores if not said.
pub(crate) fn set_threads(threads: Option<usize>) -> anyhow::Result<usize> {
    if threads == Some(0) {
        bail!("--threads = 0: at least one is needed");
    }
    rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build_global()?;
    Ok(rayon::current_num_threads())
}

/// The command line as it was typed, quoted where a shell needs it.
pub(crate) fn command_line() -> String {
    let quote = |word: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,#+@%".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    let words = std::env::args().skip(1).map(quote);
    std::iter::once("cdimc".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

fn parse_range(text: &str) -> Result<RangeInclusive<usize>, String> {
    let rule = || format!("{text}: must be FROM..TO with 2 <= FROM <= TO");
    let (from, to) = text.split_once("..").ok_or_else(rule)?;
    let number = |text: &str| text.trim_start_matches('=').parse::<usize>().map_err(|_| rule());
    let (from, to) = (number(from)?, number(to)?);
    if from < 2 || to < from { Err(rule()) } else { Ok(from..=to) }
}
