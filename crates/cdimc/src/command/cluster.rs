//! `cdimc cluster`: clusters, how sure they are, a model and a page, from a user's own files.

use super::Interrupted;
use super::input::Input;
use super::output::{OutputFolder, check_target, csv_bytes};
use super::progress::Progress;
use super::run_record::{FileRecord, RunRecord, Status, file_records};
use anyhow::{Context, bail};
use cdimc::cluster::{CdimcModel, CdimcNet, Clustering, Training};
use cdimc::cluster_number::{ClusterNumber, choose, graph_eigenvalues};
use cdimc::confidence::{margins_of_means, relative_margins};
use cdimc::data::Seed;
use cdimc::report::Report;
use cdimc::tables::Joined;
use cdimc::{MethodError, NamedModel, NamedView, note, say};
use clap::{Args, ValueEnum};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
    #[arg(long, default_value = CdimcNet::NAME)]
    method: String,
    /// The seed of all randomness
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Settings of the method as TOML
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where CDIMC-net trains
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
    method: String,
    settings: serde_json::Value,
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
        let (method, seed) = (self.method.clone(), self.seed);
        let settings = configured.settings;
        let mut run =
            Run { input, files, joined, method, settings, seed, threads, target, started, seconds };
        let (n_clusters, number) = match (self.clusters, &self.k_range) {
            (Some(n_clusters), _) => (n_clusters, None),
            (None, Some(range)) => {
                let number = run.choose_number(range, self.k_seeds, quiet, &interrupted)?;
                (number.chosen, Some(number))
            }
            (None, None) => bail!("--clusters or --k-range is needed"),
        };
        let force = self.force;
        if run.method != CdimcNet::NAME {
            let clock = Instant::now();
            let clustering = configured
                .clusterer
                .cluster(&run.joined.data, n_clusters, Seed::new(seed))
                .with_context(|| run.input.samples(&run.joined))?;
            run.seconds.push(("cluster".into(), clock.elapsed().as_secs_f64()));
            return run.write(&clustering, None, n_clusters, number, force);
        }
        let net: CdimcNet = serde_json::from_value(run.settings.clone())?;
        let training = net
            .start(&run.joined.data, n_clusters, Seed::new(seed))
            .with_context(|| run.input.samples(&run.joined))?;
        run.train(training, n_clusters, number, force, quiet, &interrupted)
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
            if self.method != CdimcNet::NAME {
                bail!("--device {name}: only {} trains on a device", CdimcNet::NAME);
            }
            settings["device"] = name.into();
        }
        Ok(settings)
    }
}

impl Run {
    /// Trains until done or interrupted, and writes what came of it.
    fn train(
        mut self,
        mut training: Training,
        n_clusters: usize,
        number: Option<ClusterNumber>,
        force: bool,
        quiet: bool,
        interrupted: &AtomicBool,
    ) -> anyhow::Result<()> {
        let mut progress = Progress::new(quiet);
        let mut clock = Instant::now();
        let mut spent: Vec<(&str, f64)> = Vec::new();
        loop {
            if interrupted.load(Ordering::Relaxed) {
                progress.finish();
                let checkpoint = training.checkpoint()?;
                self.add_seconds(&spent);
                let output = OutputFolder::begin(&self.target, force)?;
                output.write(CHECKPOINT, &checkpoint)?;
                let record = self.record(Status::Interrupted, n_clusters, number);
                output.write(super::output::RUN_FILE, &record.to_json()?)?;
                output.finish()?;
                return Err(Interrupted(self.target.display().to_string()).into());
            }
            let Some(step) = training.step()? else { break };
            progress.step(&step);
            let (stage, seconds) = (step.stage.name(), clock.elapsed().as_secs_f64());
            match spent.last_mut() {
                Some((last, sum)) if *last == stage => *sum += seconds,
                _ => spent.push((stage, seconds)),
            }
            clock = Instant::now();
        }
        progress.finish();
        let (model, clustering) = training.finish()?;
        self.add_seconds(&spent);
        self.write(&clustering, Some(model), n_clusters, number, force)
    }

    fn add_seconds(&mut self, spent: &[(&str, f64)]) {
        self.seconds.extend(spent.iter().map(|(stage, seconds)| ((*stage).to_owned(), *seconds)));
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
        let method = cdimc::method(&self.method, self.trial_settings()?)?;
        let seed = Seed::new(self.seed).stream("number of clusters");
        let mut clusterings = BTreeMap::new();
        for n_clusters in range.clone() {
            let mut found = Vec::with_capacity(n_seeds);
            for s in 0..n_seeds as u64 {
                if interrupted.load(Ordering::Relaxed) {
                    bail!("interrupted while choosing the number of clusters; nothing was written");
                }
                let clustering = method.cluster(data, n_clusters, seed.nth(s));
                found.push(clustering.with_context(samples)?);
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

    /// The settings of the trials of --k-range: CDIMC-net trains a fifth as long.
    fn trial_settings(&self) -> anyhow::Result<serde_json::Value> {
        if self.method != CdimcNet::NAME {
            return Ok(self.settings.clone());
        }
        let mut net: CdimcNet = serde_json::from_value(self.settings.clone())?;
        net.pretrain.epochs = net.pretrain.epochs.div_ceil(5);
        net.finetune.rounds = net.finetune.rounds.div_ceil(5);
        Ok(serde_json::to_value(net)?)
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
            method: self.method.clone(),
            settings: self.settings.clone(),
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
        clustering: &Clustering,
        model: Option<CdimcModel>,
        n_clusters: usize,
        number: Option<ClusterNumber>,
        force: bool,
    ) -> anyhow::Result<()> {
        let confidence = confidence(clustering, model.as_ref(), &self.joined)?;
        self.seconds.push(("total".into(), self.started.elapsed().as_secs_f64()));
        let seconds: Vec<(&str, f64)> =
            self.seconds.iter().map(|(stage, s)| (stage.as_str(), *s)).collect();
        let html = Report {
            method: &self.method,
            command: &command_line(),
            joined: &self.joined,
            clustering,
            confidence: confidence.as_deref(),
            cluster_number: number.as_ref(),
            settings: &serde_json::to_string_pretty(&self.settings)?,
            seconds: &seconds,
        }
        .html();
        let output = OutputFolder::begin(&self.target, force)?;
        let losses = clustering.losses.as_deref();
        output.write(
            "labels.csv",
            &labels_csv(&self.joined, &clustering.labels, losses, confidence.as_deref())?,
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
    let training =
        Training::resume(&joined.data, &checkpoint).with_context(|| path.display().to_string())?;
    let run = Run {
        input: record.input,
        files,
        joined,
        method: record.method,
        settings: record.settings,
        seed: record.seed,
        threads,
        target: folder.to_owned(),
        started,
        seconds: record.seconds,
    };
    run.train(training, record.n_clusters, record.cluster_number, true, quiet, interrupted)
}

/// How sure each sample's cluster is, by the model's centers or the clusters' means.
fn confidence(
    clustering: &Clustering,
    model: Option<&CdimcModel>,
    joined: &Joined,
) -> anyhow::Result<Option<Vec<f64>>> {
    if let Some(model) = model {
        let prediction = model.predict(&joined.data)?;
        return Ok(Some(relative_margins(&prediction.losses, &prediction.margins)));
    }
    let of_means =
        |embedding: &ndarray::Array2<f64>| margins_of_means(embedding.view(), &clustering.labels);
    Ok(clustering.embedding.as_ref().map(of_means))
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
