//! A run from its files to its folder, in one sitting or several.

use super::command_line;
use super::watch::{Seconds, Watch};
use crate::command::Interrupted;
use crate::command::input::Input;
use crate::command::output::{OutputFolder, RUN_FILE};
use crate::command::run_record::{RunRecord, Status, file_records};
use anyhow::{Context, bail};
use cdimc::core::{ClusterError, Clusterer, Fitted, Observer, Step};
use cdimc::data::Seed;
use cdimc::machine::{announcement, check_cost};
use cdimc::tables::Joined;
use cdimc::warnings::{Warning, seeds_disagree};
use cdimc::{Configured, note};
use std::path::Path;

const CHECKPOINT: &str = "checkpoint.safetensors";
/// The stage that holds the whole time.
pub(super) const TOTAL: &str = "total";

/// A run that took no longer is repeated with this many other seeds, to see whether they agree.
const QUICK: std::time::Duration = std::time::Duration::from_secs(4);
const OTHER_SEEDS: u64 = 2;

/// A run with everything decided but the number of clusters.
pub(super) struct Run {
    /// What will stand in its folder.
    pub(super) record: RunRecord,
    pub(super) joined: Joined,
    pub(super) clusterer: Box<dyn Clusterer>,
    pub(super) output: OutputFolder,
    /// What an interrupted fit left.
    checkpoint: Option<Vec<u8>>,
    started: std::time::Instant,
}

impl Run {
    pub(super) fn begin(
        input: Input,
        configured: Configured,
        output: OutputFolder,
        watch: &Watch,
    ) -> anyhow::Result<Self> {
        let started = std::time::Instant::now();
        let joined = input.read()?;
        let files = file_records(&input)?;
        let record = RunRecord {
            command: command_line(),
            version: env!("CARGO_PKG_VERSION").into(),
            status: Status::Interrupted,
            input,
            files,
            method: configured.clusterer.name().to_owned(),
            settings: configured.settings,
            n_clusters: None,
            k_range: None,
            seed: 0,
            threads: 0,
            trials: Vec::new(),
            cluster_number: None,
            n_samples: joined.data.n_samples(),
            unobserved: joined.unobserved.clone(),
            warnings: Vec::new(),
            facts: serde_json::Value::Null,
            seconds: Seconds::default(),
        };
        watch.lap("read");
        let clusterer = configured.clusterer;
        Ok(Self { record, joined, clusterer, output, checkpoint: None, started })
    }

    /// The run that was interrupted in `folder`.
    pub(super) fn resume(folder: &Path, threads: usize, watch: &Watch) -> anyhow::Result<Self> {
        let started = std::time::Instant::now();
        let shown = folder.display();
        let output = OutputFolder::begin(folder, true, &[])?;
        let mut record = RunRecord::load(&folder.join(RUN_FILE))?;
        if record.status == Status::Finished {
            bail!("{shown}: this run has finished");
        }
        if let Some(gone) = record.files.iter().find(|file| file.sha256.is_none()) {
            bail!(
                "{}: was no regular file and cannot be read again: begin the run anew",
                gone.path
            );
        }
        let path = folder.join(CHECKPOINT);
        let checkpoint = match std::fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            bytes => Some(bytes.with_context(|| format!("{}: cannot read", path.display()))?),
        };
        let (then, now) = (&record.files, file_records(&record.input)?);
        let gone_or_changed = then.iter().find(|file| !now.contains(file));
        let changed = gone_or_changed.or_else(|| now.iter().find(|file| !then.contains(file)));
        if let Some(changed) = changed {
            bail!("{}: has changed since the run was interrupted", changed.path);
        }
        let joined = record.input.read()?;
        let configured = cdimc::configured(&record.method, record.settings.clone())
            .with_context(|| format!("{shown}: the settings of the run"))?;
        record.threads = threads;
        watch.lap("read");
        let clusterer = configured.clusterer;
        Ok(Self { record, joined, clusterer, output, checkpoint, started })
    }

    /// Chooses the number of clusters if it was not given, groups the samples and writes what came of it;
    /// or puts aside what there is when it is interrupted.
    pub(super) fn go_on(mut self, quiet: bool, watch: &Watch) -> anyhow::Result<()> {
        let found = self.fit(quiet, watch);
        // What is left after a checkpoint says nothing of how long the whole takes.
        if let Ok(fitted) = &found
            && self.checkpoint.is_none()
            && self.started.elapsed() < QUICK
        {
            let disagreement = self.other_seeds(&fitted.clustering.labels, watch);
            self.record.warnings.extend(disagreement);
        }
        for (stage, seconds) in watch.take_seconds().pairs() {
            self.record.seconds.add(stage, seconds);
        }
        self.record.seconds.add(TOTAL, self.started.elapsed().as_secs_f64());
        let error = match found {
            Ok(fitted) => return self.write(fitted),
            Err(error) => error,
        };
        match error.downcast() {
            Ok(ClusterError::Interrupted { checkpoint }) => self.put_aside(checkpoint.as_deref()),
            Ok(error) => Err(error).with_context(|| self.record.input.samples(&self.joined)),
            Err(error) => Err(error),
        }
    }

    fn fit(&mut self, quiet: bool, watch: &Watch) -> anyhow::Result<Fitted> {
        let n_clusters = match (self.record.n_clusters, self.record.k_range) {
            (Some(n_clusters), _) => n_clusters,
            (None, Some(range)) => self.choose_number(range, quiet, watch)?,
            (None, None) => bail!("--clusters or --k-range is needed"),
        };
        self.record.n_clusters = Some(n_clusters);
        let (method, data) = (self.clusterer.as_ref(), &self.joined.data);
        check_cost(method, data, n_clusters)?;
        if !quiet && let Some(text) = announcement(method, data, n_clusters) {
            note!("{text}");
        }
        let step = |step: &Step| watch.step(step);
        let observer = Observer::new(&step);
        let seed = Seed::new(self.record.seed);
        let fitted = match &self.checkpoint {
            Some(checkpoint) => method.resume(checkpoint, data, &observer),
            None => method.fit(data, n_clusters, seed, &observer),
        };
        watch.lap("finish");
        Ok(fitted?)
    }

    /// Whether other seeds give the same clusters, where a fit is so quick that two more are no burden.
    fn other_seeds(&mut self, labels: &[usize], watch: &Watch) -> Option<Warning> {
        let n_clusters = self.record.n_clusters?;
        let seed = Seed::new(self.record.seed).stream("other seeds");
        let silent = |_: &Step| watch.goes_on();
        let mut found = vec![labels.to_vec()];
        for nth in 0..OTHER_SEEDS {
            let observer = Observer::new(&silent);
            let data = &self.joined.data;
            // Whoever does not want to wait for this interrupts it: the result is there already.
            let fitted = self.clusterer.fit(data, n_clusters, seed.nth(nth), &observer).ok()?;
            found.push(fitted.clustering.labels);
        }
        watch.lap("other seeds");
        seeds_disagree(&found)
    }

    /// Leaves in the folder what `--resume` needs.
    fn put_aside(self, checkpoint: Option<&[u8]>) -> anyhow::Result<()> {
        // A trial of `--k-range` leaves one too, which is none of the run's own fit.
        match checkpoint.filter(|_| self.record.n_clusters.is_some()) {
            Some(checkpoint) => self.output.write(CHECKPOINT, checkpoint)?,
            None if self.record.n_clusters.is_some() => {
                note!(
                    "{} keeps no checkpoints: --resume will start its fit afresh",
                    self.record.method
                );
            }
            None => {
                let (done, range) = (self.record.trials.len(), self.record.k_range);
                let of = range.map_or(0, |range| range.to + 1 - range.from);
                note!("{done} of {of} numbers of clusters are tried; --resume will try the others");
            }
        }
        let folder = self.output.shown().to_owned();
        self.output.finish(&self.record)?;
        Err(Interrupted(folder).into())
    }
}
