//! Work on threads outside R; R polls its steps and can stop it.

use crate::value::or_null;
use crate::{answer, text};
use cdimc::core::{Observer, Step};
use extendr_api::prelude::*;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Converts a result to an R value, on R's thread.
pub(crate) type IntoR = Box<dyn FnOnce() -> Robj + Send>;

enum Event {
    Step(Step),
    Done(std::result::Result<IntoR, String>),
}

/// Running work. When R drops it, it stops at its next step.
pub(crate) struct Job {
    events: Receiver<Event>,
    stop: Arc<AtomicBool>,
}

impl Job {
    /// Starts `work` on its own threads.
    ///
    /// # Errors
    /// If no threads are available.
    pub(crate) fn start(
        n_threads: i32,
        work: impl FnOnce(&dyn Observer) -> std::result::Result<IntoR, String> + Send + 'static,
    ) -> std::result::Result<Robj, String> {
        let n_threads = cdimc::machine::threads(n_threads.max(0) as usize);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(n_threads)
            .thread_name(|i| format!("cdimc-{i}"))
            .build()
            .map_err(text)?;
        let stop = Arc::new(AtomicBool::new(false));
        let (send, events) = channel();
        let stopped = Arc::clone(&stop);
        let body = move || {
            let observe = |step: &Step| {
                send.send(Event::Step(*step)).ok();
                if stopped.load(Ordering::Relaxed) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            };
            let run = || pool.install(|| work(&observe));
            let panicked = |_| Err("the computation panicked".to_owned());
            let result = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(panicked);
            // After an interrupt there is no receiver.
            send.send(Event::Done(result)).ok();
        };
        std::thread::Builder::new().name("cdimc".into()).spawn(body).map_err(text)?;
        Ok(ExternalPtr::new(Self { events, stop }).into())
    }

    /// Waits at most `timeout` for the end. Returns NULL if nothing is new, the last step as a list of `stage`, `done`, `of`
    /// and `loss`, or the result of the work.
    fn poll(&self, timeout: Duration) -> List {
        let (mut last, began) = (None, Instant::now());
        let mut wait = self.events.recv_timeout(timeout);
        loop {
            match wait {
                Ok(Event::Done(result)) => return answer(result.map(|into_r| into_r())),
                // Steps can come faster than R reads them; it returns after `timeout` in any case.
                Ok(Event::Step(step)) if began.elapsed() < timeout => last = Some(step),
                Err(RecvTimeoutError::Disconnected) => {
                    return answer(Err("the computation ended without a result".into()));
                }
                rest => {
                    let last = if let Ok(Event::Step(step)) = rest { Some(step) } else { last };
                    let step = last.map(|Step { stage, done, of, loss }| {
                        let (done, of) = (done as f64, of as f64);
                        list!(stage = stage, done = done, of = of, loss = loss)
                    });
                    return list!(value = NULL, error = NULL, step = or_null(step));
                }
            }
            wait = self.events.recv_timeout(Duration::ZERO);
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

#[extendr]
fn job_poll(job: ExternalPtr<Job>, milliseconds: i32) -> List {
    job.poll(Duration::from_millis(milliseconds.max(0) as u64))
}

#[extendr]
fn job_stop(job: ExternalPtr<Job>) {
    job.stop.store(true, Ordering::Relaxed);
}

extendr_module! {
    mod job;
    fn job_poll;
    fn job_stop;
}
