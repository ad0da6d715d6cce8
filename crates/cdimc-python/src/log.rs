//! Forwards log events of the library to Python's `logging`.
//!
//! Events occur on threads without the interpreter, so they wait in a queue until a call is back on Python's thread.

use pyo3::prelude::*;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Name of Python's logger.
const LOGGER: &str = "cdimc";

static WAITING: Mutex<Vec<(usize, String)>> = Mutex::new(Vec::new());

/// Number of the lowest level of Python's logger.
static LOWEST: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Starts sending the library's events to Python, from the level of its logger.
pub(crate) fn begin(py: Python<'_>) -> PyResult<()> {
    // Only once per process, and not in the command, which has its own subscriber.
    tracing::subscriber::set_global_default(Queue).ok();
    let level = logger(py)?.call_method0("getEffectiveLevel")?.extract()?;
    LOWEST.store(level, Ordering::Relaxed);
    Ok(())
}

/// Sends the queued events to Python's logger.
pub(crate) fn deliver(py: Python<'_>) -> PyResult<()> {
    let waiting = WAITING.lock().map(|mut queue| std::mem::take(&mut *queue)).unwrap_or_default();
    if waiting.is_empty() {
        return Ok(());
    }
    let logger = logger(py)?;
    for (level, message) in waiting {
        logger.call_method1("log", (level, "%s", message))?;
    }
    Ok(())
}

fn logger(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import("logging")?.call_method1("getLogger", (LOGGER,))
}

fn number(level: Level) -> usize {
    match level {
        Level::ERROR => 40,
        Level::WARN => 30,
        Level::INFO => 20,
        Level::DEBUG => 10,
        Level::TRACE => 5,
    }
}

struct Queue;

impl Subscriber for Queue {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("cdimc")
            && number(*metadata.level()) >= LOWEST.load(Ordering::Relaxed)
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        if let Ok(mut queue) = WAITING.lock() {
            queue.push((number(*event.metadata().level()), text.0));
        }
    }

    // Spans are not used.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
    fn register_callsite(&self, _: &'static Metadata<'static>) -> tracing::subscriber::Interest {
        // The level of Python's logger can change between two calls.
        tracing::subscriber::Interest::sometimes()
    }
}

/// Message, then fields as `name=value`.
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let gap = if self.0.is_empty() { "" } else { " " };
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.0, "{gap}{value:?}"),
            name => write!(self.0, "{gap}{name}={value:?}"),
        };
    }
}
