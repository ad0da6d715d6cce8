//! Training of CDIMC-net step by step, so that the caller controls time, progress and stopping.

use super::assignment::Assignment;
use super::contest::{Contest, Reached};
use super::prepared::Prepared;
use super::run::{Common, Run, Stage, Trained};
use crate::{CdimcModel, CdimcNet, OneOrMore};
use cdimc_core::{
    ClusterError, Clustering, Curve, Observer, SharedInformation, Step,
    confidence::relative_margins,
};
use cdimc_data::{MultiView, Seed};

/// A CDIMC-net in training: consecutive runs, each a pre-training and a fine-tuning.
pub struct Training {
    pub(crate) settings: CdimcNet,
    pub(crate) n_clusters: usize,
    pub(crate) seed: Seed,
    pub(crate) prepared: Prepared,
    pub(crate) contest: Contest,
    /// Current run; `None` after the last.
    pub(crate) run: Option<Run>,
    /// Result so far, and the number of its run.
    pub(crate) best: Option<(usize, Trained)>,
}

impl Training {
    /// Prepares the data and the first run.
    pub(crate) fn new(
        settings: CdimcNet,
        data: &MultiView,
        (n_clusters, seed): (usize, Seed),
        observer: &dyn Observer,
    ) -> Result<Self, ClusterError> {
        let prepared = Prepared::new(&settings, data, n_clusters, seed, observer)?;
        let contest = Contest::new(&settings, prepared.shared_information.is_some());
        let (run, best) = (None, None);
        let mut training = Self { settings, n_clusters, seed, prepared, contest, run, best };
        training.begin_next_run()?;
        Ok(training)
    }

    fn begin_next_run(&mut self) -> Result<(), ClusterError> {
        self.run = match self.contest.next() {
            Some((alpha, restart)) => Some(Run::new(self.common(), alpha, restart)?),
            None => None,
        };
        Ok(())
    }

    pub(crate) fn common(&self) -> Common<'_> {
        let Self { settings, prepared, n_clusters, seed, .. } = self;
        Common { settings, prepared, n_clusters: *n_clusters, seed: *seed }
    }

    /// Returns the settings of the training.
    pub fn settings(&self) -> &CdimcNet {
        &self.settings
    }

    /// Returns the stage of the next step.
    pub fn stage(&self) -> Stage {
        self.run.as_ref().map_or(Stage::Done, |run| run.stage(&self.settings))
    }

    /// Takes one step: an epoch of pre-training, the first centers, or a round of fine-tuning. Returns `None` after the
    /// last.
    ///
    /// # Errors
    /// If the engine fails, or a loss is NaN or infinite in every run.
    pub fn step(&mut self) -> Result<Option<Step>, ClusterError> {
        let Some(mut run) = self.run.take() else { return Ok(None) };
        let stepped = run.step(self.common());
        let has_ended = run.stage(&self.settings) == Stage::Done;
        let step = match stepped {
            Ok(step) => {
                if has_ended {
                    self.end(run)?;
                    self.begin_next_run()?;
                } else {
                    self.run = Some(run);
                }
                step
            }
            Err(error @ ClusterError::Diverged { .. }) => {
                self.drop_diverged(&run, error)?;
                self.begin_next_run()?;
                let stage = run.stage(&self.settings).name();
                Some(Step { stage, done: 0, of: 1, loss: None })
            }
            Err(error) => return Err(error),
        };
        Ok(step.map(|step| self.in_all_runs(step)))
    }

    /// Returns the step counted over all runs.
    fn in_all_runs(&self, step: Step) -> Step {
        let (ended, runs) = (self.contest.ended.len(), self.contest.n_runs());
        // A step that ended a run belongs to the previous run.
        let before = if self.run.as_ref().is_some_and(Run::has_begun) {
            ended
        } else {
            ended.saturating_sub(1)
        };
        let done = before.saturating_mul(step.of) + step.done;
        Step { done, of: runs.saturating_mul(step.of), ..step }
    }

    /// Keeps the result of `run` if it is better than the result so far.
    ///
    /// If T differs by chance only, the smaller weight of the graph wins; it is in the paper's range.
    fn end(&mut self, run: Run) -> Result<(), ClusterError> {
        let number = self.contest.ended.len();
        let trained = run.trained()?;
        let shared = self.common().shared();
        let is_better = match (&self.best, &shared) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some((_, best)), Some(shared)) => {
                let is_more = |a: &Trained, b: &Trained| shared.is_more(&a.labels, &b.labels);
                is_more(&trained, best)
                    || !is_more(best, &trained)
                        && (best.alpha, trained.shared_information)
                            > (trained.alpha, best.shared_information)
            }
        };
        let Trained { alpha, shared_information, .. } = trained;
        tracing::info!(run = number, alpha, ?shared_information, is_better);
        self.contest.ended.push(Reached { alpha, shared_information });
        if is_better {
            self.best = Some((number, trained));
        }
        Ok(())
    }

    /// Continues without a run that diverged, unless it was the last and no run has ended.
    fn drop_diverged(&mut self, run: &Run, error: ClusterError) -> Result<(), ClusterError> {
        let alpha = run.alpha;
        tracing::warn!(alpha, restart = run.restart, %error, "a run diverged and is left out");
        self.contest.ended.push(Reached { alpha, shared_information: None });
        if self.best.is_none() && self.contest.next().is_none() { Err(error) } else { Ok(()) }
    }

    /// Takes the remaining steps, reporting each to `observer`; then as [`Training::finish`].
    ///
    /// # Errors
    /// Same as [`Training::step`]; [`ClusterError::Interrupted`] with a checkpoint if `observer` stops it.
    pub fn run(
        mut self,
        observer: &dyn Observer,
    ) -> Result<(CdimcModel, Clustering), ClusterError> {
        while let Some(step) = self.step()? {
            if observer.on_step(&step).is_break() {
                return Err(ClusterError::Interrupted { checkpoint: Some(self.checkpoint()?) });
            }
            observer.checkpoint(|| self.checkpoint())?;
        }
        self.finish()
    }

    /// Takes the remaining steps and returns the model of the best run and its clusters, in the caller's order of
    /// samples.
    ///
    /// # Errors
    /// Same as [`Training::step`].
    pub fn finish(mut self) -> Result<(CdimcModel, Clustering), ClusterError> {
        while self.step()?.is_some() {}
        let Some((number, trained)) = self.best else {
            return Err(ClusterError::Model("the training has not ended".into()));
        };
        let input = self.prepared.in_callers_order();
        let Trained { alpha, weights, pretrained, centers, curves, .. } = trained;
        let named =
            |(name, values): (&str, &Vec<f64>)| Curve { name: name.into(), values: values.clone() };
        let mut recorded: Vec<Curve> = curves.iter().map(named).collect();
        if self.contest.ended.len() > 1 {
            recorded.extend(self.contest.curves(number));
        }
        let settings = CdimcNet { alpha: OneOrMore::One(alpha), ..self.settings };
        let settings = serde_json::to_value(settings).unwrap_or_default();
        let views = self.prepared.views;
        let model = CdimcModel { settings, views, weights, pretrained, centers };
        let (z, Assignment { labels, losses, margins }) = model.clusters(&input)?;
        let clustering = Clustering {
            confidence: Some(relative_margins(&losses, &margins)),
            losses: Some(losses),
            embedding: Some(z.mapv(f64::from)),
            curves: recorded,
            ..Clustering::from_labels(labels)
        };
        Ok((model, clustering))
    }
}
