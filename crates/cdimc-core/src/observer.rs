//! How a running method reports its steps, and how it is stopped.

use crate::ClusterError;
use serde::{Serialize, de::DeserializeOwned};
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

    /// The part of this name that was done before, as JSON.
    fn part(&self, name: &str) -> Option<String> {
        let _ = name;
        None
    }

    /// Takes a part that is done, as JSON.
    fn keep_part(&self, name: String, part: String) {
        let _ = (name, part);
    }
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

    /// The `nth` of independent parts of a computation: what `make` gives, or gave before the computation was ended.
    ///
    /// What was kept and `fits` not is made anew.
    ///
    /// # Errors
    /// As `make`.
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
        // What cannot be kept is made again.
        if let Ok(text) = serde_json::to_string(&part) {
            kept.keep_part(name, text);
        }
        Ok(part)
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
    fn a_part_is_made_once_unless_what_was_kept_does_not_fit() {
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
