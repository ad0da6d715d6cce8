//! A run from its files to its folder, in one sitting or several.

use super::clinical::ClinicalInput;
use super::command_line;
use super::in_parts::InParts;
use super::run_record::{RunRecord, Status, file_records};
use super::watch::{Seconds, Watch};
use crate::analysis::{Analysis, Host, Interim, Number};
use crate::clinical::Clinical;
use crate::command::Interrupted;
use crate::command::input::Input;
use crate::command::output::{OutputFolder, RUN_FILE, escape_formulas};
use crate::core::{ClusterError, Observer, Step};
use crate::data::Seed;
use crate::tables::Joined;
use crate::{Configured, note};
use anyhow::{Context, bail};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const CHECKPOINT: &str = "checkpoint.safetensors";
/// The stage that holds the whole time.
pub(super) const TOTAL: &str = "total";

/// A run with everything decided but the number of clusters.
pub(super) struct Run {
    /// What will stand in its folder.
    pub(super) record: RunRecord,
    /// The samples, or those of them that are searched.
    pub(super) joined: Joined,
    /// All of them, where they are more than memory holds.
    pub(super) parts: Option<InParts>,
    /// What else is known of the samples.
    pub(super) clinical: Option<Clinical>,
    configured: Configured,
    pub(super) output: OutputFolder,
    started: Instant,
}

impl Run {
    pub(super) fn begin(
        input: Input,
        (clinical, configured): (Option<ClinicalInput>, Configured),
        output: OutputFolder,
        seed: u64,
        watch: &Watch,
    ) -> anyhow::Result<Self> {
        let started = Instant::now();
        let (joined, parts) = read(&input, &configured, seed, watch)?;
        let known = clinical.as_ref().map(|clinical| clinical.read(&input, &joined.ids));
        let known = known.transpose()?;
        let unused = input.unused();
        unused.iter().for_each(|line| tracing::warn!("{line}"));
        let data_warnings = joined.warnings.iter().cloned().chain(unused).collect();
        let files = file_records(&input, clinical.as_ref())?;
        let record = RunRecord {
            command: command_line(),
            version: env!("CARGO_PKG_VERSION").into(),
            status: Status::Interrupted,
            input,
            clinical,
            files,
            method: configured.clusterer.name().to_owned(),
            settings: configured.settings.clone(),
            n_clusters: None,
            k_range: None,
            n_subsamples: None,
            figures: false,
            escape_formulas: escape_formulas(false),
            stability: None,
            seed,
            threads: 0,
            interim: Interim::default(),
            n_samples: parts.as_ref().map_or(joined.data.n_samples(), InParts::n_samples),
            unobserved: joined.unobserved.clone(),
            data_warnings,
            warnings: Vec::new(),
            facts: serde_json::Value::Null,
            comparison: serde_json::Map::new(),
            seconds: Seconds::default(),
        };
        watch.lap("read");
        Ok(Self { record, joined, parts, clinical: known, configured, output, started })
    }

    /// The run that was interrupted in `folder`.
    pub(super) fn resume(
        folder: &Path,
        threads: usize,
        quiet: bool,
        watch: &Watch,
    ) -> anyhow::Result<Self> {
        let started = Instant::now();
        let shown = folder.display();
        let output = OutputFolder::begin(folder, true, &[])?;
        let begun = output.unfinished();
        let mut record = RunRecord::load(&begun.join(RUN_FILE))?;
        if record.status == Status::Finished {
            bail!("{shown}: this run has finished");
        }
        if let Some(gone) = record.files.iter().find(|file| file.sha256.is_none()) {
            bail!(
                "{}: was no regular file and cannot be read again: begin the run anew",
                gone.path
            );
        }
        let path = begun.join(CHECKPOINT);
        record.interim.checkpoint = match std::fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            bytes => Some(bytes.with_context(|| format!("{}: cannot read", path.display()))?),
        };
        let (then, now) = (&record.files, file_records(&record.input, record.clinical.as_ref())?);
        let gone_or_changed = then.iter().find(|file| !now.contains(file));
        let changed = gone_or_changed.or_else(|| now.iter().find(|file| !then.contains(file)));
        if let Some(changed) = changed {
            bail!("{}: has changed since the run was interrupted", changed.path);
        }
        let configured = crate::configured(&record.method, record.settings.clone())
            .with_context(|| format!("{shown}: the settings of the run"))?;
        let (joined, parts) = read(&record.input, &configured, record.seed, watch)?;
        let clinical = record.clinical.as_ref();
        let clinical = clinical.map(|clinical| clinical.read(&record.input, &joined.ids));
        let clinical = clinical.transpose()?;
        record.threads = threads;
        record.escape_formulas = escape_formulas(record.escape_formulas);
        watch.lap("read");
        if !quiet {
            note!("{}", record.left(&record.interim));
        }
        Ok(Self { record, joined, parts, clinical, configured, output, started })
    }

    /// Chooses the number of clusters if it was not given, groups the samples and writes what came of it;
    /// or keeps what there is when it is interrupted.
    ///
    /// While it works, what is done is kept `every` so often.
    pub(super) fn analyze(
        mut self,
        quiet: bool,
        watch: &Watch,
        every: Duration,
    ) -> anyhow::Result<()> {
        let number = match (self.record.n_clusters, self.record.k_range) {
            (_, Some(range)) => Number::Within(range),
            (Some(n_clusters), None) => Number::Known(n_clusters),
            (None, None) => bail!("-k N or --k-range FROM..TO is needed"),
        };
        let mut interim = std::mem::take(&mut self.record.interim);
        let seed = Seed::new(self.record.seed);
        let mut analysis = Analysis::new(&self.configured, &self.joined, number, seed);
        analysis.compares = true;
        analysis.tests_markers = true;
        analysis.n_subsamples = self.record.n_subsamples;
        let (record, output) = (&self.record, &self.output);
        let last_kept = Mutex::new(Instant::now());
        let sitting = Sitting { quiet, watch, record, output, every, last_kept };
        let found = analysis.run(&mut interim, &sitting).and_then(|outcome| match &self.parts {
            Some(parts) => parts.fit(outcome, &self.joined, &sitting),
            None => Ok(outcome),
        });
        for (stage, seconds) in watch.take_seconds().pairs() {
            self.record.seconds.add(stage, seconds);
        }
        self.record.seconds.add(TOTAL, self.started.elapsed().as_secs_f64());
        match found {
            Ok(outcome) => {
                self.record.interim.trials = interim.trials;
                self.write(&outcome, quiet)
            }
            Err(ClusterError::Interrupted { .. }) => {
                keep(&self.output, &self.record, &interim)?;
                if !quiet {
                    note!("{}", self.record.left(&interim));
                }
                let (folder, signal) = (self.output.shown().to_owned(), watch.signal());
                let waits = !self.output.place()?;
                Err(Interrupted { folder, waits, signal }.into())
            }
            Err(error) => {
                self.output.forget();
                Err(error).with_context(|| self.record.input.samples(&self.joined))
            }
        }
    }
}

/// The samples, or those that are searched beside all parts.
fn read(
    input: &Input,
    configured: &Configured,
    seed: u64,
    watch: &Watch,
) -> anyhow::Result<(Joined, Option<InParts>)> {
    let step = |step: &Step| watch.step(step);
    let observer = Observer::new(&step);
    match InParts::read(input, configured, Seed::new(seed), &observer)? {
        Some((parts, searched)) => {
            searched.warnings.iter().for_each(|line| tracing::warn!("{line}"));
            Ok((searched, Some(parts)))
        }
        None => Ok((input.read()?, None)),
    }
}

/// Keeps what `--resume` needs.
fn keep(output: &OutputFolder, record: &RunRecord, interim: &Interim) -> anyhow::Result<()> {
    let mut record = record.clone();
    record.interim.clone_from(interim);
    record.n_clusters =
        record.n_clusters.or(interim.cluster_number.as_ref().map(|number| number.chosen));
    output.keep(&record, interim.checkpoint.as_deref().map(|bytes| (CHECKPOINT, bytes)))
}

/// One sitting of a run, as the analysis sees it.
struct Sitting<'a> {
    quiet: bool,
    watch: &'a Watch,
    record: &'a RunRecord,
    output: &'a OutputFolder,
    every: Duration,
    last_kept: Mutex<Instant>,
}

impl Host for Sitting<'_> {
    fn step(&self, step: &Step) -> ControlFlow<()> {
        self.watch.step(step)
    }

    fn inner_step(&self, _: &Step) -> ControlFlow<()> {
        self.watch.control()
    }

    fn end_of(&self, stage: &'static str) {
        self.watch.lap(stage);
    }

    fn is_due(&self) -> bool {
        self.last_kept.lock().unwrap_or_else(PoisonError::into_inner).elapsed() >= self.every
    }

    fn keep(&self, interim: &Interim) {
        if let Err(error) = keep(self.output, self.record, interim) {
            tracing::warn!("no checkpoint: {error:#}");
        }
        *self.last_kept.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn announce(&self, line: &str) {
        if !self.quiet {
            note!("{line}");
        }
    }
}
