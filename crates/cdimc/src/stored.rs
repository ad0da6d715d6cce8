//! An observer for tests of resumed runs.

use cdimc_core::{Observer, Step};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Mutex;

/// Stores everything in memory, and stops at a step.
#[derive(Default)]
pub(crate) struct Stored {
    pub(crate) stop_at: (&'static str, usize),
    pub(crate) values: Mutex<BTreeMap<String, Vec<u8>>>,
    pub(crate) seen: Mutex<Vec<(&'static str, usize)>>,
}

impl Observer for Stored {
    fn on_step(&self, step: &Step) -> ControlFlow<()> {
        self.seen.lock().unwrap().push((step.stage, step.done));
        let stops = (step.stage, step.done) == self.stop_at;
        if stops { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn store(&self, name: &str, bytes: Vec<u8>) {
        self.values.lock().unwrap().insert(name.to_owned(), bytes);
    }

    fn stored(&self, name: &str) -> Option<Vec<u8>> {
        self.values.lock().unwrap().get(name).cloned()
    }
}
