//! Progress reports of a running method, and how to stop it.

use crate::ClusterError;
use serde::{Serialize, de::DeserializeOwned};
use std::ops::ControlFlow;

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

type Report<'a> = &'a (dyn Fn(&Step) -> ControlFlow<()> + Sync);

/// Stores checkpoints of a running method, so that little work is lost if it ends early.
pub trait Checkpoints: Sync {
    /// Returns whether the next checkpoint is due; a checkpoint may be large.
    fn is_due(&self) -> bool;

    /// Stores a checkpoint, which replaces earlier ones.
    fn keep(&self, checkpoint: Vec<u8>);

    /// Returns the stored part of this name, as JSON.
    fn part(&self, name: &str) -> Option<String> {
        let _ = name;
        None
    }

    /// Stores a finished part, as JSON.
    fn keep_part(&self, name: String, part: String) {
        let _ = (name, part);
    }
}

/// Receives every step of a method and can stop it.
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
    /// Returns an observer that calls `report` after every step; [`ControlFlow::Break`] stops the method.
    pub fn new(report: &'a (dyn Fn(&Step) -> ControlFlow<()> + Sync)) -> Self {
        Self { report: Some(report), checkpoints: None }
    }

    /// Returns an observer that never stops a method.
    pub const fn silent() -> Self {
        Self { report: None, checkpoints: None }
    }

    /// Returns the observer with a store for checkpoints.
    #[must_use]
    pub fn keeping(self, checkpoints: &'a dyn Checkpoints) -> Self {
        Self { checkpoints: Some(checkpoints), ..self }
    }

    /// Returns whether the next checkpoint is due.
    pub fn is_due(&self) -> bool {
        self.checkpoints.is_some_and(Checkpoints::is_due)
    }

    /// Stores the result of `checkpoint` if a checkpoint is due.
    ///
    /// # Errors
    /// Same as `checkpoint`.
    pub fn checkpoint(
        &self,
        checkpoint: impl FnOnce() -> Result<Vec<u8>, ClusterError>,
    ) -> Result<(), ClusterError> {
        if let Some(kept) = self.checkpoints.filter(|kept| kept.is_due()) {
            kept.keep(checkpoint()?);
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
        let Some(kept) = self.checkpoints else { return make() };
        let name = format!("{of} {nth}");
        let known = kept.part(&name).and_then(|part| serde_json::from_str(&part).ok());
        if let Some(part) = known.filter(fits) {
            return Ok(part);
        }
        let part = make()?;
        // A part that cannot be stored is computed again after a restart.
        if let Ok(text) = serde_json::to_string(&part) {
            kept.keep_part(name, text);
        }
        Ok(part)
    }

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
        self.report(&Step { stage, done, of, loss })
    }

    /// Like [`Observer::step`], for a [`Step`].
    ///
    /// # Errors
    /// Same as [`Observer::step`].
    pub fn report(&self, step: &Step) -> Result<(), ClusterError> {
        match self.report.map_or(ControlFlow::Continue(()), |report| report(step)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ClusterError::Interrupted { checkpoint: None }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    struct Kept(Mutex<BTreeMap<String, String>>);

    impl Checkpoints for Kept {
        fn is_due(&self) -> bool {
            true
        }

        fn keep(&self, _: Vec<u8>) {}

        fn part(&self, name: &str) -> Option<String> {
            self.0.lock().unwrap().get(name).cloned()
        }

        fn keep_part(&self, name: String, part: String) {
            self.0.lock().unwrap().insert(name, part);
        }
    }

    #[test]
    fn a_stored_part_is_reused_unless_it_does_not_fit() {
        let kept = Kept(Mutex::new(BTreeMap::new()));
        let observer = Observer::silent().keeping(&kept);
        let part = |observer: &Observer<'_>, nth, value: usize, most| {
            observer.part(("square", nth), |&x: &usize| x <= most, || Ok(value)).unwrap()
        };
        assert_eq!([part(&observer, 3, 9, 9), part(&observer, 3, 0, 9)], [9, 9]);
        assert_eq!(part(&observer, 4, 16, 9), 16, "another part");
        assert_eq!(part(&observer, 3, 7, 8), 7, "9 does not fit");
        kept.0.lock().unwrap().insert("square 3".into(), "[9".into());
        assert_eq!(part(&observer, 3, 5, 9), 5, "it cannot be read");
        assert_eq!(part(&Observer::silent(), 3, 1, 9), 1, "nothing is kept");
    }
}
