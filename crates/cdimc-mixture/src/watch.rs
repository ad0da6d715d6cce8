//! Reports the progress of a fit, and whether it is to stop.

use cdimc_core::ClusterError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Receives a stage, the steps done, all its steps and the loss; an error stops the fit.
pub(crate) type Progress<'a> =
    dyn Fn(&'static str, usize, usize, Option<f64>) -> Result<(), ClusterError> + Sync + 'a;

/// One stage of a fit.
pub(crate) struct Watch<'a> {
    progress: &'a Progress<'a>,
    stage: &'static str,
    done: AtomicUsize,
    of: usize,
    /// Samples of the log-likelihoods that are reported.
    n_samples: usize,
    /// Whether to stop; threads report one at a time, and none after that.
    stopped: Mutex<bool>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(
        progress: &'a Progress<'a>,
        stage: &'static str,
        of: usize,
        n_samples: usize,
    ) -> Self {
        let (done, stopped) = (AtomicUsize::new(0), Mutex::new(false));
        Self { progress, stage, done, of, n_samples, stopped }
    }

    /// One step more is done.
    pub(crate) fn step(&self) -> Result<(), ClusterError> {
        self.done.fetch_add(1, Ordering::Relaxed);
        self.check(f64::NEG_INFINITY)
    }

    /// Between steps, so that a request to stop is heard soon; the loss is the negative mean
    /// log-likelihood of a sample.
    pub(crate) fn check(&self, log_likelihood: f64) -> Result<(), ClusterError> {
        let loss = -log_likelihood / self.n_samples.max(1) as f64;
        let loss = loss.is_finite().then_some(loss);
        let mut stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        if *stopped {
            return Err(ClusterError::Interrupted { checkpoint: None });
        }
        let told = (self.progress)(self.stage, self.done.load(Ordering::Relaxed), self.of, loss);
        *stopped = told.is_err();
        told
    }
}
