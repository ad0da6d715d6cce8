//! A run from its files to its folder, at once or resumed.

use super::run_record::{RunRecord, Status};
use super::terminal_host::{CHECKPOINT_FILE, Terminal, TerminalHost, save};
use crate::Configured;
use crate::analysis::{Analysis, Number};
use crate::clinical::Clinical;
use crate::command::Interrupted;
use crate::command::output::{OutputFolder, RUN_FILE, escape_formulas};
use crate::command::parts::InputParts;
use crate::core::{ClusterError, Step};
use crate::data::Seed;
use crate::parts::PartIndex;
use crate::tables::Joined;
use anyhow::{Context, bail};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Stage for the time of the whole run.
pub(super) const TOTAL: &str = "total";

/// A run with all input read.
pub(super) struct Run {
    /// Content of `run.json`.
    pub(super) record: RunRecord,
    /// The samples, or the subsample for the search.
    pub(super) joined: Joined,
    /// All samples, if they are in parts.
    pub(super) parts: Option<(InputParts, PartIndex)>,
    pub(super) clinical: Option<Clinical>,
    configured: Configured,
    pub(super) output: OutputFolder,
    started: Instant,
}

impl Run {
    /// Records what is in the files of a new run.
    pub(super) fn begin(mut self, terminal: &Terminal) -> anyhow::Result<Self> {
        let (record, joined) = (&mut self.record, &self.joined);
        let unused = record.input.unused();
        unused.iter().for_each(|line| tracing::warn!("{line}"));
        record.data_warnings = joined.remarks().cloned().chain(unused).collect();
        record.unobserved.clone_from(&joined.unobserved);
        record.n_samples = match &self.parts {
            Some((_, index)) => index.n_samples.iter().sum(),
            None => joined.data.n_samples(),
        };
        record.files = record.read_files()?;
        terminal.lap("read");
        Ok(self)
    }

    /// Returns the interrupted run of `folder`.
    pub(super) fn resume(
        folder: &Path,
        threads: usize,
        terminal: &Terminal,
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
                "{}: was not a regular file and cannot be read again: start the run again",
                gone.path
            );
        }
        let path = begun.join(CHECKPOINT_FILE);
        record.checkpoint = match std::fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            bytes => Some(bytes.with_context(|| format!("{}: cannot read", path.display()))?),
        };
        let (then, now) = (&record.files, record.read_files()?);
        let gone_or_changed = then.iter().find(|file| !now.contains(file));
        let changed = gone_or_changed.or_else(|| now.iter().find(|file| !then.contains(file)));
        if let Some(changed) = changed {
            bail!("{}: has changed since the run was interrupted", changed.path);
        }
        let configured = crate::configured(&record.method, record.settings.clone())
            .with_context(|| format!("{shown}: the settings of the run"))?;
        record.threads = threads;
        record.escape_formulas = escape_formulas(record.escape_formulas);
        let run = Self { started, ..Self::open(record, configured, output, terminal)? };
        terminal.lap("read");
        terminal.message(&run.record.left());
        Ok(run)
    }

    /// Reads the samples (or the subsample for the search, and all parts) and the clinical table that `record` names.
    pub(super) fn open(
        record: RunRecord,
        configured: Configured,
        output: OutputFolder,
        terminal: &Terminal,
    ) -> anyhow::Result<Self> {
        let started = Instant::now();
        let (input, step) = (&record.input, |step: &Step| terminal.step(step));
        let (joined, parts) = match InputParts::of(input)? {
            Some(parts) => {
                let found = parts.search(input, &configured, Seed::new(record.seed), &step);
                let (index, searched) = found.map_err(|error| match error.downcast_ref() {
                    Some(ClusterError::Interrupted { .. }) => {
                        Interrupted { folder: None, waits: false, signal: terminal.signal() }.into()
                    }
                    _ => error,
                })?;
                searched.remarks().for_each(|line| tracing::warn!("{line}"));
                (searched, Some((parts, index)))
            }
            None => (input.read()?, None),
        };
        let clinical = record.clinical.as_ref().map(|clinical| clinical.read(input, &joined));
        let clinical = clinical.transpose()?;
        Ok(Self { record, joined, parts, clinical, configured, output, started })
    }

    /// Chooses the number of clusters if it was not given, clusters the samples and writes the result. An interrupted run is
    /// saved instead.
    ///
    /// Progress is also saved after each time `every`.
    pub(super) fn analyze(mut self, terminal: &Terminal, every: Duration) -> anyhow::Result<()> {
        let number = match (self.record.n_clusters, self.record.k_range) {
            (_, Some(range)) => Number::Within(range),
            (Some(n_clusters), None) => Number::Known(n_clusters),
            (None, None) => bail!(
                "-k N or --k-range FROM..TO is needed; if you do not know the number, begin with --k-range 1..12"
            ),
        };
        let seed = Seed::new(self.record.seed);
        let mut analysis = Analysis::new(&self.configured, &self.joined, number, seed);
        analysis.compares = true;
        analysis.tests_markers = true;
        analysis.n_subsamples = self.record.n_subsamples;
        terminal.expect(analysis.stages());
        let host = TerminalHost {
            terminal,
            output: &self.output,
            every,
            record: Mutex::new(std::mem::take(&mut self.record)),
            last_saved: Mutex::new(Instant::now()),
        };
        let found = analysis.run(&host).and_then(|outcome| match &self.parts {
            Some((parts, index)) => parts.fit(index, outcome, (&self.joined, seed), &host),
            None => Ok(outcome),
        });
        self.record = host.record.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (stage, seconds) in terminal.take_seconds().pairs() {
            self.record.seconds.add(stage, seconds);
        }
        self.record.seconds.add(TOTAL, self.started.elapsed().as_secs_f64());
        match found {
            Ok(outcome) => {
                // A result needs neither the checkpoint nor the parts.
                self.record.checkpoint = None;
                self.record.parts.clear();
                self.write(&outcome, terminal)
            }
            Err(ClusterError::Interrupted { .. }) => {
                save(&self.output, &mut self.record)?;
                terminal.message(&self.record.left());
                let (folder, signal) = (Some(self.output.shown.clone()), terminal.signal());
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
