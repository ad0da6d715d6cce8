//! Work on threads outside the interpreter, with progress for Python and stopped by Ctrl-C.

use crate::log;
use cdimc::advice::Language;
use cdimc::core::{Observer, Step};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Time between two checks for signals of the interpreter.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Longest wait for stopped work; after that it ends by itself at its next step.
const STOP_TIMEOUT: Duration = Duration::from_millis(700);

enum Event<T> {
    Step(&'static str, usize, usize, Option<f64>),
    Done(Result<T, String>, usize),
}

/// Error of work on other threads.
pub(crate) type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Options of a call: a Python object with these attributes.
#[derive(FromPyObject)]
pub(crate) struct Call<'py> {
    n_threads: usize,
    /// Whether single missing cells are an error instead of being filled in.
    pub(crate) strict: bool,
    /// Called with stage, steps done, number of steps and loss, if not None.
    progress: Option<Bound<'py, PyAny>>,
}

impl Call<'_> {
    /// Runs `work` and returns its value and the number of reported steps. It runs without the interpreter's lock, on threads
    /// of this call only, so that a later `fork` loses no threads.
    ///
    /// # Errors
    /// Exceptions of a signal handler or of `progress`, which stop the work; `RuntimeError` if no threads are available.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&dyn Observer) -> T + Send + 'static,
    ) -> PyResult<(T, usize)> {
        log::begin(py)?;
        let stop = Arc::new(AtomicBool::new(false));
        let (send, mut events) = channel();
        let (stopped, reports, n_threads) =
            (Arc::clone(&stop), self.progress.is_some(), self.n_threads);
        let body = move || {
            let n_steps = AtomicUsize::new(0);
            let observe = |step: &Step| {
                n_steps.fetch_add(1, Ordering::Relaxed);
                if reports {
                    // After an interrupt there is no receiver.
                    send.send(Event::Step(step.stage, step.done, step.of, step.loss)).ok();
                }
                if stopped.load(Ordering::Relaxed) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            };
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(cdimc::machine::threads(n_threads))
                .thread_name(|i| format!("cdimc-{i}"))
                .build();
            let value = match pool {
                Err(error) => Err(error.to_string()),
                Ok(pool) => {
                    let run = || pool.install(|| work(&observe));
                    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| panic_message(&*panic))
                }
            };
            send.send(Event::Done(value, n_steps.load(Ordering::Relaxed))).ok();
        };
        std::thread::Builder::new()
            .name("cdimc".into())
            .spawn(body)
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        loop {
            let event;
            // The receiver belongs to one thread at a time.
            (event, events) = py.detach(move || (events.recv_timeout(POLL_INTERVAL), events));
            let result = match event {
                Ok(Event::Done(value, n_steps)) => {
                    log::deliver(py)?;
                    return Ok((value.map_err(PyRuntimeError::new_err)?, n_steps));
                }
                Ok(Event::Step(stage, done, of, loss)) => {
                    let progress = self.progress.as_ref();
                    progress.map_or(Ok(()), |p| p.call1((stage, done, of, loss)).map(drop))
                }
                Err(RecvTimeoutError::Timeout) => log::deliver(py),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err("the computation ended without a result"));
                }
            };
            if let Err(raised) = result.and_then(|()| py.check_signals()) {
                stop.store(true, Ordering::Relaxed);
                py.detach(move || end(events));
                return Err(raised);
            }
        }
    }
}

/// Returns a message of the library in the words of Python.
pub(crate) fn advice(message: &str) -> String {
    Language::Python.advice(message)
}

/// Converts an error of the library to a `ValueError`.
pub(crate) fn value_error(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(advice(&error.to_string()))
}

/// Waits for stopped work.
fn end<T>(events: Receiver<Event<T>>) {
    let stopped = Instant::now();
    while let Some(left) = STOP_TIMEOUT.checked_sub(stopped.elapsed()) {
        match events.recv_timeout(left) {
            Ok(Event::Step(..)) => {}
            Ok(Event::Done(..)) | Err(_) => return,
        }
    }
}

/// Returns the message of a panic.
fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the computation panicked: {}", text.unwrap_or("without a word"))
}
