//! Progress reports of a fit, and requests to stop.

use cdimc_core::{ClusterError, Observer};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// One stage of a fit.
pub(crate) struct Watch<'a> {
    observer: &'a dyn Observer,
    stage: &'static str,
    done: AtomicUsize,
    of: usize,
    /// Samples in the reported log-likelihoods.
    n_samples: usize,
    /// Whether to stop; threads report one at a time, and not after a stop.
    stopped: Mutex<bool>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(
        observer: &'a dyn Observer,
        stage: &'static str,
        of: usize,
        n_samples: usize,
    ) -> Self {
        let (done, stopped) = (AtomicUsize::new(0), Mutex::new(false));
        Self { observer, stage, done, of, n_samples, stopped }
    }

    /// Counts one finished step.
    pub(crate) fn step(&self) -> Result<(), ClusterError> {
        self.done.fetch_add(1, Ordering::Relaxed);
        self.check(f64::NEG_INFINITY)
    }

    /// Reports between steps, so that a request to stop takes effect soon; the loss is the negative mean
    /// log-likelihood per sample.
    pub(crate) fn check(&self, log_likelihood: f64) -> Result<(), ClusterError> {
        let loss = -log_likelihood / self.n_samples.max(1) as f64;
        let loss = loss.is_finite().then_some(loss);
        let mut stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        if *stopped {
            return Err(ClusterError::Interrupted { checkpoint: None });
        }
        let done = self.done.load(Ordering::Relaxed);
        let result = self.observer.step(self.stage, done, self.of, loss);
        *stopped = result.is_err();
        result
    }
}
