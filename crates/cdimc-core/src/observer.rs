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
pub struct Observer<'a>(Option<Report<'a>>);

impl<'a> Observer<'a> {
    /// An observer that calls `report` with every step; [`ControlFlow::Break`] stops the method.
    pub fn new(report: &'a (dyn Fn(&Step) -> ControlFlow<()> + Sync)) -> Self {
        Self(Some(report))
    }

    /// An observer that lets every method run to its end.
    pub const fn silent() -> Self {
        Self(None)
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
        match self.0.map_or(ControlFlow::Continue(()), |report| report(step)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ClusterError::Interrupted { checkpoint: None }),
        }
    }
}
