//! Training of CDIMC-net step by step, so that the caller controls time, progress and stopping.

use super::contest::{Contest, Reached};
use super::prepared::Prepared;
use super::run::{Run, Trained};
use crate::{CdimcModel, CdimcNet, OneOrMore};
use cdimc_core::{ClusterError, Clustering, Observer, SharedInformation, Step};
use cdimc_data::{MultiView, Seed};
use ndarray::Axis;

/// A CDIMC-net in training: consecutive runs, each a pre-training and a fine-tuning.
pub struct Training {
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
        sought: (usize, Seed),
        observer: &dyn Observer,
    ) -> Result<Self, ClusterError> {
        let prepared = Prepared::new(settings, data, sought, observer)?;
        let contest = Contest::new(&prepared.settings, prepared.information.is_some());
        let mut training = Self { prepared, contest, run: None, best: None };
        training.begin_next_run()?;
        Ok(training)
    }

    fn begin_next_run(&mut self) -> Result<(), ClusterError> {
        let run = self.contest.next().map(|next| Run::new(&self.prepared, next));
        self.run = run.transpose()?;
        Ok(())
    }

    /// Returns the settings of the training.
    pub fn settings(&self) -> &CdimcNet {
        &self.prepared.settings
    }

    /// Returns whether the last step was taken.
    pub fn has_ended(&self) -> bool {
        self.run.is_none()
    }

    /// Takes one step: an epoch of pre-training, the first centers, or a round of fine-tuning. Returns `None` after the
    /// last.
    ///
    /// # Errors
    /// If the engine fails, or a loss is NaN or infinite in every run.
    pub fn step(&mut self) -> Result<Option<Step>, ClusterError> {
        let Some(mut run) = self.run.take() else { return Ok(None) };
        let runs_before = self.contest.ended.len();
        let step = match run.step(&self.prepared) {
            Ok(step) => {
                if run.has_ended(&self.prepared.settings) {
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
                Some(Step { stage: run.state.name(), done: 0, of: 1, loss: None })
            }
            Err(error) => return Err(error),
        };
        // Counted over all runs.
        Ok(step.map(|step| Step {
            done: runs_before.saturating_mul(step.of) + step.done,
            of: self.contest.n_runs().saturating_mul(step.of),
            ..step
        }))
    }

    /// Keeps the result of `run` if it is better than the result so far.
    ///
    /// If √(TM) differs by chance only, the smaller weight of the graph wins; it is in the paper's range.
    fn end(&mut self, run: Run) -> Result<(), ClusterError> {
        let number = self.contest.ended.len();
        let alpha = run.alpha;
        let shared_information = run.best.as_ref().map(|best| best.shared_information);
        let trained = run.trained()?;
        let is_better = match (&self.best, &self.prepared.information) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some((number, best)), Some(information)) => {
                let before = self.contest.ended[*number];
                let is_more = |a: &Trained, b: &Trained| information.is_more(&a.labels, &b.labels);
                is_more(&trained, best)
                    || !is_more(best, &trained)
                        && (before.alpha, shared_information) > (alpha, before.shared_information)
            }
        };
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

    /// Takes the remaining steps, reporting each to `observer`; returns the model of the best run and its clusters, in
    /// the caller's order of samples.
    ///
    /// # Errors
    /// Same as [`Training::step`]; [`ClusterError::Interrupted`] with a checkpoint if `observer` stops it;
    /// [`ClusterError::Unusable`] if the result is not finite or has one cluster only.
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
        let Some((number, trained)) = self.best else {
            return Err(ClusterError::Model("the training has not ended".into()));
        };
        let Trained { weights, pretrained, centers, mut curves, .. } = trained;
        let alpha = self.contest.ended[number].alpha;
        if self.contest.ended.len() > 1 {
            curves.extend(self.contest.curves(number));
        }
        let Prepared { settings, views, input, order, .. } = self.prepared;
        let settings = CdimcNet { alpha: OneOrMore::One(alpha), ..settings };
        let settings = serde_json::to_value(settings).unwrap_or_default();
        let model = CdimcModel { settings, views, weights, pretrained, centers };
        // Latents have the same bits in any order of the samples.
        let mut places: Vec<usize> = (0..order.len()).collect();
        places.sort_unstable_by_key(|&place| order[place]);
        let z = model.weights.embed(&input)?.select(Axis(0), &places);
        let clustering = Clustering { curves, ..model.clustering(z.view()) };
        clustering.check(CdimcNet::NAME)?;
        Ok((model, clustering))
    }
}
