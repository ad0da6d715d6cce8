//! Checkpoints of running cells: an interruption loses only the work since the last checkpoint.
//!
//! The method writes the checkpoints; a method without checkpoints starts afresh. A cell is resumed only by the program
//! that started it, byte for byte, so that one program produces its record.

use crate::record::Seconds;
use cdimc_core::archive;
use cdimc_data::write_whole;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The folder of checkpoints in the folder of an experiment.
const FOLDER: &str = "checkpoints";
/// The name of the note in a checkpoint of a cell: the program that wrote it, and what the cell cost.
const NOTE: &str = "cell";

/// Where cells keep their checkpoints, by their keys, and how often.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Checkpoints {
    folder: PathBuf,
    pub every: Duration,
    /// The digest of the program that may resume them.
    program: String,
}

/// What a cell cost up to its checkpoint.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Spent {
    pub seconds: Seconds,
    pub peak_memory_bytes: Option<u64>,
}

impl Checkpoints {
    /// In the folder of an experiment, by the program of this digest.
    pub(crate) fn below(experiment: &Path, every: Duration, program: &str) -> Self {
        Self { folder: experiment.join(FOLDER), every, program: program.to_owned() }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.safetensors"))
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.path(key).is_file()
    }

    /// Reads the method's checkpoint and its costs so far; `None` if there is none that this program may resume.
    pub(crate) fn read(&self, key: &str) -> Option<(Vec<u8>, Spent)> {
        let bytes = fs::read(self.path(key)).ok()?;
        let note = archive::note(&bytes, NOTE).ok()??;
        let (program, spent): (String, Spent) = serde_json::from_str(&note).ok()?;
        (program == self.program).then_some((bytes, spent))
    }

    /// Puts a checkpoint of the method in place of that before it.
    pub(crate) fn write(&self, key: &str, state: &[u8], spent: Spent) -> anyhow::Result<()> {
        let note = serde_json::to_string(&(&self.program, spent))?;
        let bytes = archive::with_note(state, NOTE, note)?;
        fs::create_dir_all(&self.folder)?;
        Ok(write_whole(&self.path(key), &bytes)?)
    }

    /// Removes the file with what killed processes left of it, and the folder after the last of them.
    pub(crate) fn remove(&self, key: &str) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(key) {
                // What stays costs room and nothing else.
                let _ = fs::remove_file(entry.path());
            }
        }
        let _ = fs::remove_dir(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::Archive;

    #[test]
    fn a_checkpoint_is_read_by_the_program_that_wrote_it_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let by = |program| Checkpoints::below(folder.path(), Duration::ZERO, program);
        let (ours, key) = (by("a"), "key");
        assert!(!ours.has(key) && ours.read(key).is_none());
        let bytes = Archive::new("some", &1).unwrap().to_bytes().unwrap();
        ours.write(key, &bytes, Spent { peak_memory_bytes: Some(7), ..Spent::default() }).unwrap();
        let (bytes, found) = ours.read(key).unwrap();
        assert_eq!(found.peak_memory_bytes, Some(7));
        assert_eq!(Archive::from_bytes("some", &bytes).unwrap().description::<u8>().unwrap(), 1);
        assert!(by("b").read(key).is_none());
        let path = ours.path(key);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert!(ours.read(key).is_none());
        fs::write(path.with_extension("safetensors.7.partial"), "half").unwrap();
        ours.remove(key);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
