//! How a running method reports its steps, and how it is stopped.

use crate::ClusterError;
use std::ops::ControlFlow;

/// One step of a method: an epoch, a round, an iteration, a chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The part of the method it belongs to, such as `pretrain`.
    pub stage: &'static str,
    /// Steps of that part that are done.
    pub done: usize,
    /// Steps of that part at most.
    pub of: usize,
    /// What the method minimizes, where it knows.
    pub loss: Option<f64>,
}

type Report<'a> = &'a (dyn Fn(&Step) -> ControlFlow<()> + Sync);

/// Keeps checkpoints while a method runs, so that whatever ends it costs little.
pub trait Checkpoints: Sync {
    /// Whether it is time for one; a checkpoint may be large.
    fn is_due(&self) -> bool;

    /// Takes one, which replaces those before it.
    fn keep(&self, checkpoint: Vec<u8>);
}

/// Receives every step of a method, and may stop it.
///
/// ```
/// use cdimc_core::{ClusterError, Observer, Step};
/// use std::ops::ControlFlow;
///
/// let stop = |step: &Step| if step.done < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
/// let observer = Observer::new(&stop);
/// assert!(observer.step("factors", 1, 9, Some(0.5)).is_ok());
/// let stopped = observer.step("factors", 2, 9, None).unwrap_err();
/// assert!(matches!(stopped, ClusterError::Interrupted { checkpoint: None }));
/// ```
#[derive(Clone, Copy)]
pub struct Observer<'a> {
    report: Option<Report<'a>>,
    checkpoints: Option<&'a dyn Checkpoints>,
}

impl<'a> Observer<'a> {
    /// An observer that calls `report` with every step; [`ControlFlow::Break`] stops the method.
    pub fn new(report: &'a (dyn Fn(&Step) -> ControlFlow<()> + Sync)) -> Self {
        Self { report: Some(report), checkpoints: None }
    }

    /// An observer that lets every method run to its end.
    pub const fn silent() -> Self {
        Self { report: None, checkpoints: None }
    }

    /// The same, which keeps checkpoints of methods that make them.
    #[must_use]
    pub fn keeping(self, checkpoints: &'a dyn Checkpoints) -> Self {
        Self { checkpoints: Some(checkpoints), ..self }
    }

    /// Whether it is time for a checkpoint.
    pub fn is_due(&self) -> bool {
        self.checkpoints.is_some_and(Checkpoints::is_due)
    }

    /// Hands over what `checkpoint` makes, if it is time for one.
    ///
    /// # Errors
    /// As `checkpoint`.
    pub fn checkpoint(
        &self,
        checkpoint: impl FnOnce() -> Result<Vec<u8>, ClusterError>,
    ) -> Result<(), ClusterError> {
        if let Some(kept) = self.checkpoints.filter(|kept| kept.is_due()) {
            kept.keep(checkpoint()?);
        }
        Ok(())
    }

    /// Reports that `done` steps of at most `of` of a stage are done, with the loss after them.
    ///
    /// # Errors
    /// [`ClusterError::Interrupted`] if the method is to stop.
    pub fn step(
        &self,
        stage: &'static str,
        done: usize,
        of: usize,
        loss: Option<f64>,
    ) -> Result<(), ClusterError> {
        self.report(&Step { stage, done, of, loss })
    }

    /// As [`Observer::step`], of a step already described.
    ///
    /// # Errors
    /// As [`Observer::step`].
    pub fn report(&self, step: &Step) -> Result<(), ClusterError> {
        match self.report.map_or(ControlFlow::Continue(()), |report| report(step)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ClusterError::Interrupted { checkpoint: None }),
        }
    }
}
