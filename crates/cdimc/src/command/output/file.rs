//! One file of output.

use super::lock::Workplace;
use anyhow::{Context, bail};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Part of a workplace that becomes the file.
const NEW: &str = "new";

/// A file under construction.
pub(crate) struct OutputFile {
    /// Path as the user typed it.
    shown: String,
    target: PathBuf,
    /// Where the file is before it is renamed to its target; `None` for a pipe or a device, which is written directly.
    workplace: Option<Workplace>,
}

impl OutputFile {
    /// Begins the file `path`, which must not be one of `inputs`, and must not exist unless `overwrite`.
    pub(crate) fn begin(path: &Path, overwrite: bool, inputs: &[PathBuf]) -> anyhow::Result<Self> {
        let shown = path.display().to_string();
        if path.is_dir() {
            bail!("{shown}: is a directory, the output is a file");
        }
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if target.exists() && !target.is_file() {
            return Ok(Self { shown, target, workplace: None });
        }
        if inputs.iter().any(|input| input.canonicalize().is_ok_and(|input| input == target)) {
            bail!("{shown}: is an input of this command; choose another file");
        }
        if target.file_name().is_none() {
            bail!("{shown}: names no file");
        }
        let held = Workplace::hold(&target, &[NEW]);
        let Some(workplace) = held.with_context(|| format!("{shown}: cannot write"))? else {
            bail!("{shown}: another run is writing it");
        };
        // From here on the value owns the workplace.
        let output = Self { shown, target, workplace: Some(workplace) };
        if output.target.exists() && !overwrite {
            bail!("{}: exists; choose another file or give --force", output.shown);
        }
        Ok(output)
    }

    /// Moves the finished file to its target.
    pub(crate) fn finish(self, bytes: &[u8]) -> anyhow::Result<()> {
        self.finish_pieces(std::iter::once(Ok(bytes)))
    }

    /// Writes the file piece by piece, and moves it to its target once it is complete.
    pub(crate) fn finish_pieces<B: AsRef<[u8]>>(
        self,
        pieces: impl Iterator<Item = anyhow::Result<B>>,
    ) -> anyhow::Result<()> {
        let cannot = || format!("{}: cannot write", self.shown);
        let write = |file: std::io::Result<File>| -> anyhow::Result<File> {
            let mut file = file.with_context(cannot)?;
            for piece in pieces {
                file.write_all(piece?.as_ref()).with_context(cannot)?;
            }
            Ok(file)
        };
        let Some(workplace) = &self.workplace else {
            return write(std::fs::OpenOptions::new().write(true).open(&self.target)).map(drop);
        };
        // Replaces what an earlier, killed run left.
        let new = workplace.path.join(NEW);
        let file = write(workplace.begin(NEW).and_then(|()| File::create(&new)))?;
        // A full disk may become visible only here.
        file.sync_all().and_then(|()| std::fs::rename(new, &self.target)).with_context(cannot)
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(workplace) = &self.workplace {
            // `drop` cannot report errors.
            let _ = workplace.remove(&[NEW]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_writes_a_file_at_a_time_and_an_abandoned_one_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let refused = || format!("{:#}", OutputFile::begin(&path, false, &[]).err().unwrap());
        let first = OutputFile::begin(&path, false, &[]).unwrap();
        let error = refused();
        assert!(error.ends_with("a.csv: another run is writing it"), "{error}");
        drop(first);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        // What a killed run left is written over.
        let workplace = folder.path().join(".cdimc-a.csv");
        std::fs::create_dir(&workplace).unwrap();
        std::fs::write(workplace.join("lock"), "").unwrap();
        std::fs::write(workplace.join("new"), "long leftovers").unwrap();
        let error = refused();
        assert!(error.ends_with("holds new, which cdimc did not write: move it away"), "{error}");
        assert_eq!(std::fs::read(workplace.join("new")).unwrap(), b"long leftovers");
        // The lock lists the file, so cdimc may remove it.
        std::fs::write(workplace.join("lock"), "\nnew\n").unwrap();
        OutputFile::begin(&path, false, &[]).unwrap().finish(b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
    }
}
