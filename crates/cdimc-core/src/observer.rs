//! Progress reports of a running method, how to stop it, and what it stores to be resumed.

use crate::ClusterError;
use serde::{Serialize, de::DeserializeOwned};
use std::ops::ControlFlow;

/// Name under which a method stores its checkpoint.
pub const CHECKPOINT: &str = "checkpoint";

/// One step of a method: an epoch, a round, an iteration or a chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Stage of the method, such as `pretrain`.
    pub stage: &'static str,
    /// Number of finished steps of this stage.
    pub done: usize,
    /// Largest number of steps of this stage.
    pub of: usize,
    /// Loss that the method minimizes, if there is one.
    pub loss: Option<f64>,
}

/// The program around a running method: it receives every step, can stop the method, and can store what a later run
/// resumes from.
///
/// A function of a step is an observer that stores nothing; [`Silent`] is one that never stops a method.
///
/// ```
/// use cdimc_core::{ClusterError, Observer, Step};
/// use std::ops::ControlFlow;
///
/// let stop = |step: &Step| if step.done < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
/// let observer: &dyn Observer = &stop;
/// assert!(observer.step("factors", 1, 9, Some(0.5)).is_ok());
/// let stopped = observer.step("factors", 2, 9, None).unwrap_err();
/// assert!(matches!(stopped, ClusterError::Interrupted { checkpoint: None }));
/// ```
#[allow(unused_variables)] // By default an observer stores and shows nothing.
pub trait Observer: Sync {
    /// Called after each step; [`ControlFlow::Break`] stops the method.
    fn on_step(&self, step: &Step) -> ControlFlow<()>;

    /// Called after each step of a computation that is one step of another.
    fn on_inner_step(&self, step: &Step) -> ControlFlow<()> {
        self.on_step(step)
    }

    /// Called at the end of a stage without steps.
    fn stage_finished(&self, stage: &'static str) {}

    /// Shows a message to the user.
    fn message(&self, text: &str) {}

    /// Returns whether the next checkpoint is due; a checkpoint may be large.
    fn is_due(&self) -> bool {
        false
    }

    /// Stores a result by name, in place of an earlier one.
    fn store(&self, name: &str, bytes: Vec<u8>) {}

    /// Returns the stored result of this name.
    fn stored(&self, name: &str) -> Option<Vec<u8>> {
        None
    }
}

impl<F: Fn(&Step) -> ControlFlow<()> + Sync> Observer for F {
    fn on_step(&self, step: &Step) -> ControlFlow<()> {
        self(step)
    }
}

/// An observer that never stops a method.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Observer for Silent {
    fn on_step(&self, _: &Step) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl dyn Observer + '_ {
    /// Reports that `done` of at most `of` steps of a stage are finished, with the current loss.
    ///
    /// # Errors
    /// [`ClusterError::Interrupted`] if the method must stop.
    pub fn step(
        &self,
        stage: &'static str,
        done: usize,
        of: usize,
        loss: Option<f64>,
    ) -> Result<(), ClusterError> {
        match self.on_step(&Step { stage, done, of, loss }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ClusterError::Interrupted { checkpoint: None }),
        }
    }

    /// Stores the result of `checkpoint` if a checkpoint is due.
    ///
    /// # Errors
    /// Same as `checkpoint`.
    pub fn checkpoint(
        &self,
        checkpoint: impl FnOnce() -> Result<Vec<u8>, ClusterError>,
    ) -> Result<(), ClusterError> {
        if self.is_due() {
            self.store(CHECKPOINT, checkpoint()?);
        }
        Ok(())
    }

    /// Returns the `nth` of the independent parts of a computation: the stored one, or the result of `make`.
    ///
    /// A stored part is used only if it `fits`.
    ///
    /// # Errors
    /// Same as `make`.
    pub fn part<T: Serialize + DeserializeOwned>(
        &self,
        (of, nth): (&'static str, usize),
        fits: impl FnOnce(&T) -> bool,
        make: impl FnOnce() -> Result<T, ClusterError>,
    ) -> Result<T, ClusterError> {
        let name = format!("{of} {nth}");
        if let Some(part) = self.load(&name).filter(fits) {
            return Ok(part);
        }
        let part = make()?;
        self.save(&name, &part);
        Ok(part)
    }

    /// Returns the value that `save` stored by this name, if it can be read.
    pub fn load<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_slice(&self.stored(name)?).ok()
    }

    /// Stores a value as JSON; one that JSON cannot hold is computed again after a restart.
    pub fn save<T: Serialize>(&self, name: &str, value: &T) {
        if let Ok(bytes) = serde_json::to_vec(value) {
            self.store(name, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    struct Kept(Mutex<BTreeMap<String, Vec<u8>>>);

    impl Observer for Kept {
        fn on_step(&self, _: &Step) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }

        fn store(&self, name: &str, bytes: Vec<u8>) {
            self.0.lock().unwrap().insert(name.to_owned(), bytes);
        }

        fn stored(&self, name: &str) -> Option<Vec<u8>> {
            self.0.lock().unwrap().get(name).cloned()
        }
    }

    #[test]
    fn a_stored_part_is_reused_unless_it_does_not_fit() {
        let kept = Kept(Mutex::new(BTreeMap::new()));
        let part = |observer: &dyn Observer, nth, value: usize, most| {
            observer.part(("square", nth), |&x: &usize| x <= most, || Ok(value)).unwrap()
        };
        assert_eq!([part(&kept, 3, 9, 9), part(&kept, 3, 0, 9)], [9, 9]);
        assert_eq!(part(&kept, 4, 16, 9), 16, "another part");
        assert_eq!(part(&kept, 3, 7, 8), 7, "9 does not fit");
        kept.store("square 3", "[9".into());
        assert_eq!(part(&kept, 3, 5, 9), 5, "it cannot be read");
        assert_eq!(part(&Silent, 3, 1, 9), 1, "nothing is kept");
    }
}
