//! `cdimc cluster`: clusters, how sure they are, a model and a page, from a user's own files.

mod clinical;
mod result;
mod run;
mod run_record;
mod terminal_host;

use super::input::Input;
use super::output::{OutputFolder, escape_formulas};
use crate::clinical::SurvivalColumns;
use crate::cluster_number::NumberRange;
use crate::mixture::TMixture;
use crate::{DEFAULT_METHOD, MethodError};
use anyhow::{Context, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use clinical::ClinicalInput;
use run::Run;
use run_record::RunRecord;
use std::path::PathBuf;
use std::time::Duration;
use terminal_host::Terminal;

/// Find clusters; write labels, model and report
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Example:\n  cdimc cluster --view rna.csv --view protein.npy --id patient -k 4 -o result"
)]
pub(crate) struct Cluster {
    #[command(flatten)]
    input: Option<Input>,
    /// Number of clusters
    #[arg(
        short = 'k',
        long,
        value_name = "N",
        conflicts_with = "k_range",
        help_heading = "Clusters"
    )]
    clusters: Option<usize>,
    /// Numbers of clusters to try, TO included; from 1 to test for clusters
    #[arg(long, value_name = "FROM..TO", help_heading = "Clusters")]
    k_range: Option<NumberRange>,
    /// Seeds per number of --k-range
    #[arg(
        long,
        value_name = "N",
        requires = "k_range",
        conflicts_with = "clusters",
        hide_short_help = true,
        help_heading = "Clusters"
    )]
    k_seeds: Option<usize>,
    /// Method; only t-mixture and cdimc-net write a model
    #[arg(
        long,
        long_help = format!("Method: {}; only t-mixture and cdimc-net write a model", crate::method_names().join(", ")),
        default_value = DEFAULT_METHOD,
        value_parser = PossibleValuesParser::new(crate::method_names()),
        hide_possible_values = true,
        help_heading = "Clusters"
    )]
    method: String,
    /// Settings of the method, a TOML file
    #[arg(long, value_name = "FILE", help_heading = "Clusters")]
    config: Option<PathBuf>,
    /// Promised share of samples whose `set` has the cluster that the model would give with all views [0.9]
    #[arg(long, value_name = "SHARE", help_heading = "Clusters")]
    coverage: Option<f64>,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 0, help_heading = "Clusters")]
    seed: u64,
    /// Stability of clusters in N subsamples [50; 0 for none]
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "50",
        help_heading = "Clusters"
    )]
    stability: Option<usize>,
    /// Table to compare the clusters with
    #[arg(long, value_name = "FILE", help_heading = "Clinical table")]
    clinical: Option<PathBuf>,
    /// Its columns of time and event (1, true, yes or dead)
    #[arg(long, value_name = "TIME,EVENT", requires = "clinical", help_heading = "Clinical table")]
    survival: Option<SurvivalColumns>,
    /// Folder for the results
    #[arg(
        short,
        long,
        value_name = "DIR",
        required_unless_present = "resume",
        help_heading = "Result"
    )]
    output: Option<PathBuf>,
    /// Replace an earlier run in DIR
    #[arg(long, help_heading = "Result")]
    force: bool,
    /// Write the report's pictures as figure-NAME.svg, too
    #[arg(long, help_heading = "Result")]
    figures: bool,
    /// Threads; all cores by default
    #[arg(long, value_name = "N", help_heading = "Running")]
    threads: Option<usize>,
    /// Device of a network
    #[arg(long, value_parser = ["cpu", "cuda"], hide_short_help = true, help_heading = "Running")]
    device: Option<String>,
    /// Seconds between checkpoints
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60,
        hide_short_help = true,
        help_heading = "Running"
    )]
    checkpoint_every: u64,
    /// Continue an interrupted run as it began
    #[arg(
        long,
        value_name = "DIR",
        help_heading = "Running",
        conflicts_with_all = [
            "Input", "clinical", "survival", "clusters", "k_range", "k_seeds", "stability", "method", "seed", "config",
            "coverage", "device", "figures", "output", "force"
        ]
    )]
    resume: Option<PathBuf>,
}

impl Cluster {
    pub(crate) fn run(self, quiet: bool) -> anyhow::Result<()> {
        let threads = set_threads(self.threads)?;
        let mut files = self.input.iter().flat_map(Input::files).chain(self.clinical.clone());
        let terminal = Terminal::new(quiet, files.any(|file| !file.is_file()))?;
        let run = match &self.resume {
            Some(folder) => Run::resume(folder, threads, &terminal)?,
            None => self.clone().begin(threads, &terminal)?,
        };
        terminal.waits_no_more();
        run.analyze(&terminal, Duration::from_secs(self.checkpoint_every))
    }

    fn begin(self, threads: usize, terminal: &Terminal) -> anyhow::Result<Run> {
        if self.clusters.is_none() && self.k_range.is_none() {
            bail!(
                "-k N or --k-range FROM..TO is needed; if you do not know the number, begin with --k-range 1..12"
            );
        }
        // A wrong name or setting is found before any file is read.
        let settings = self.settings()?;
        let configured = match (crate::configured(&self.method, settings), &self.config) {
            (Err(error), Some(path)) if !matches!(error, MethodError::Unknown { .. }) => {
                return Err(error).with_context(|| path.display().to_string());
            }
            (configured, _) => configured?,
        };
        let (Some(mut input), Some(target)) = (self.input, &self.output) else {
            bail!("--view and --output are needed");
        };
        if let Some(seeds @ ..2) = self.k_seeds {
            bail!("--k-seeds = {seeds}: stability needs at least 2");
        }
        let beside = self.config.iter().chain(&self.clinical).cloned().collect();
        if self.stability.is_some_and(|n| n > 0) && self.method != TMixture::NAME {
            bail!("--stability: only {} has it, not {}", TMixture::NAME, self.method);
        }
        let inputs = [input.files(), beside].concat();
        let output = OutputFolder::begin(target, self.force, &inputs)?;
        let survival = self.survival;
        let clinical = self.clinical.map(|file| {
            let id = input.take_id(&file);
            ClinicalInput { file, id, survival }
        });
        let record = RunRecord {
            command: command_line(),
            version: env!("CARGO_PKG_VERSION").into(),
            input,
            clinical,
            method: self.method,
            settings: configured.settings.clone(),
            n_clusters: self.clusters,
            k_range: self.k_range.map(|range| NumberRange { seeds: self.k_seeds, ..range }),
            n_subsamples: self.stability,
            figures: self.figures,
            escape_formulas: escape_formulas(false),
            seed: self.seed,
            threads,
            ..RunRecord::default()
        };
        Run::open(record, configured, output, terminal)?.begin(terminal)
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
                if let Some(key) = not_finite(&table) {
                    bail!("{shown}: {key}: must be finite");
                }
                serde_json::to_value(table)?
            }
        };
        if let Some(coverage) = self.coverage {
            if self.method != TMixture::NAME {
                bail!("--coverage: only {} has sets, not {}", TMixture::NAME, self.method);
            }
            settings["coverage"] = coverage.into();
        }
        if let Some(device) = self.device.as_deref() {
            let defaults = crate::configured(&self.method, serde_json::Value::Null)?.settings;
            if defaults.get("device").is_none() {
                bail!("--device {device}: {} does not use a device", self.method);
            }
            settings["device"] = device.into();
        }
        Ok(settings)
    }
}

/// Returns the first setting that is `nan` or `inf`. JSON would make it null, which means the default.
fn not_finite(table: &toml::Table) -> Option<String> {
    table.iter().find_map(|(key, value)| match value {
        toml::Value::Float(x) if !x.is_finite() => Some(key.clone()),
        toml::Value::Table(inner) => Some(format!("{key}.{}", not_finite(inner)?)),
        _ => None,
    })
}

/// Uses this many threads everywhere; all cores by default.
pub(crate) fn set_threads(threads: Option<usize>) -> anyhow::Result<usize> {
    if threads == Some(0) {
        bail!("--threads = 0: at least one is needed");
    }
    let threads = threads.map_or(0, crate::machine::threads);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    Ok(rayon::current_num_threads())
}

/// Returns the command line as it was typed, quoted for a shell.
pub(crate) fn command_line() -> String {
    let quote = |word: &std::ffi::OsString| {
        let word = word.to_string_lossy().into_owned();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,#+@%".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    let words =
        super::STARTED.get().into_iter().flat_map(|started| started.arguments.iter().map(quote));
    std::iter::once("cdimc".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}
