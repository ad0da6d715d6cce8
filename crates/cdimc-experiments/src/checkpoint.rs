//! Checkpoints of a running cell: an interruption loses only the work since the last checkpoint.
//!
//! The method writes the checkpoints; a method without checkpoints starts afresh. A cell is resumed only by the program
//! that started it, byte for byte, so that one program produces its record.

use crate::record::Seconds;
use cdimc_core::{CHECKPOINT, ClusterError, Observer, Step, archive};
use cdimc_data::write_whole;
use serde::{Deserialize, Serialize};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The folder of checkpoints in the folder of an experiment.
const FOLDER: &str = "checkpoints";
/// The name of the note that a checkpoint of a cell has.
const NOTE: &str = "cell";

/// Where cells keep their checkpoints, and how often.
#[derive(Debug, Clone)]
pub(crate) struct Keeping {
    folder: PathBuf,
    every: Duration,
    program: String,
}

impl Keeping {
    /// In the folder of an experiment, by the program of this digest.
    pub(crate) fn below(experiment: &Path, every: Duration, program: &str) -> Self {
        Self { folder: experiment.join(FOLDER), every, program: program.to_owned() }
    }

    /// Of the cell with this key.
    pub(crate) fn of(&self, key: &str) -> Checkpoint {
        Checkpoint {
            path: self.folder.join(format!("{key}.safetensors")),
            every: self.every,
            program: self.program.clone(),
        }
    }
}

/// The last checkpoint of one cell, as a file that may not be there.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    path: PathBuf,
    every: Duration,
    program: String,
}

/// What a cell cost up to its checkpoint.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Spent {
    pub seconds: Seconds,
    pub peak_memory_bytes: Option<u64>,
}

/// Content of a checkpoint besides the state of the method.
#[derive(Serialize, Deserialize)]
struct Note {
    program: String,
    spent: Spent,
}

impl Checkpoint {
    pub(crate) fn is_there(&self) -> bool {
        self.path.is_file()
    }

    /// Reads the method's checkpoint and its costs so far; `None` if there is none that this program may resume.
    pub(crate) fn read(&self) -> Option<(Vec<u8>, Spent)> {
        let bytes = fs::read(&self.path).ok()?;
        let note: Note = serde_json::from_str(&archive::note(&bytes, NOTE).ok()??).ok()?;
        (note.program == self.program).then_some((bytes, note.spent))
    }

    /// Puts a checkpoint of the method in place of that before it.
    fn write(&self, checkpoint: &[u8], spent: Spent) -> Result<(), ClusterError> {
        let failed = |e: &dyn std::fmt::Display| ClusterError::Model(format!("checkpoint: {e}"));
        let note = Note { program: self.program.clone(), spent };
        let note = serde_json::to_string(&note).map_err(|e| failed(&e))?;
        let bytes = archive::with_note(checkpoint, NOTE, note)?;
        fs::create_dir_all(self.path.parent().unwrap_or(Path::new("."))).map_err(|e| failed(&e))?;
        write_whole(&self.path, &bytes).map_err(|e| failed(&e))
    }

    /// Removes the file with what killed processes left of it, and the folder after the last of them.
    pub(crate) fn remove(&self) {
        let (Some(folder), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return;
        };
        let name = name.to_string_lossy();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&*name) {
                // What stays costs room and nothing else.
                let _ = fs::remove_file(entry.path());
            }
        }
        let _ = fs::remove_dir(folder);
    }
}

/// Reports the steps of a running cell and keeps its checkpoints.
pub(crate) struct Keeper<'a> {
    checkpoint: &'a Checkpoint,
    report: &'a (dyn Fn(&Step) + Sync),
    spent: &'a (dyn Fn() -> Spent + Sync),
    last: Mutex<Instant>,
}

impl<'a> Keeper<'a> {
    /// Begins now; `report` receives every step, `spent` returns the cost of the cell so far.
    pub(crate) fn new(
        checkpoint: &'a Checkpoint,
        report: &'a (dyn Fn(&Step) + Sync),
        spent: &'a (dyn Fn() -> Spent + Sync),
    ) -> Self {
        Self { checkpoint, report, spent, last: Mutex::new(Instant::now()) }
    }
}

impl Observer for Keeper<'_> {
    fn on_step(&self, step: &Step) -> ControlFlow<()> {
        (self.report)(step);
        ControlFlow::Continue(())
    }

    fn is_due(&self) -> bool {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.elapsed() >= self.checkpoint.every
    }

    fn store(&self, name: &str, bytes: Vec<u8>) {
        if name != CHECKPOINT {
            return;
        }
        // Without it the cell loses more to a kill, and nothing else.
        let _ = self.checkpoint.write(&bytes, (self.spent)());
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::Archive;

    #[test]
    fn a_checkpoint_is_read_by_the_program_that_wrote_it_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let keeping = |program| Keeping::below(folder.path(), Duration::ZERO, program);
        let (ours, key) = (keeping("a").of("key"), "key");
        let spent = || Spent { seconds: Seconds::default(), peak_memory_bytes: Some(7) };
        assert!(!ours.is_there() && ours.read().is_none());
        let bytes = Archive::new("some", &1).unwrap().to_bytes().unwrap();
        Keeper::new(&ours, &|_| (), &spent).store(CHECKPOINT, bytes);
        let (bytes, found) = ours.read().unwrap();
        assert_eq!(found.peak_memory_bytes, Some(7));
        assert_eq!(Archive::from_bytes("some", &bytes).unwrap().description::<u8>().unwrap(), 1);
        assert!(keeping("b").of(key).read().is_none());
        let whole = fs::read(&ours.path).unwrap();
        fs::write(&ours.path, &whole[..whole.len() - 1]).unwrap();
        assert!(ours.read().is_none());
        fs::write(ours.path.with_extension("safetensors.7.partial"), "half").unwrap();
        ours.remove();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
