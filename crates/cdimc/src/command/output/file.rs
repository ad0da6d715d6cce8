//! One file of output.

use super::lock::hold;
use super::parent_of;
use anyhow::{Context, bail};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file under construction.
pub(crate) struct OutputFile {
    /// As the user spelled it.
    shown: String,
    to: Writing,
}

enum Writing {
    /// A pipe or a device takes what it gets.
    Through(PathBuf),
    /// A file is written beside its target and renamed to it; `partial` is none once that is done.
    Beside { file: File, partial: Option<PathBuf>, target: PathBuf },
}

impl OutputFile {
    /// Begins the file `path`, which must not be one of `inputs`, and not exist unless `overwrite`.
    pub(crate) fn begin(path: &Path, overwrite: bool, inputs: &[PathBuf]) -> anyhow::Result<Self> {
        let shown = path.display().to_string();
        if path.is_dir() {
            bail!("{shown}: is a directory, the output is a file");
        }
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if target.exists() && !target.is_file() {
            return Ok(Self { shown, to: Writing::Through(target) });
        }
        if inputs.iter().any(|input| input.canonicalize().is_ok_and(|input| input == target)) {
            bail!("{shown}: is an input of this command; choose another file");
        }
        let Some(name) = target.file_name() else {
            bail!("{shown}: names no file");
        };
        let mut partial = std::ffi::OsString::from(".cdimc-");
        partial.push(name);
        let partial = parent_of(&target).join(partial);
        let held = hold(&partial).with_context(|| format!("{shown}: cannot write"))?;
        let Some(file) = held else {
            bail!("{shown}: another run is writing it");
        };
        let partial = Some(partial);
        // From here on the partial file goes with the value.
        let output = Self { shown, to: Writing::Beside { file, partial, target: target.clone() } };
        if target.exists() && !overwrite {
            bail!("{}: exists; choose another file or give --force", output.shown);
        }
        Ok(output)
    }

    /// Puts the finished file in its place.
    pub(crate) fn finish(mut self, bytes: &[u8]) -> anyhow::Result<()> {
        let shown = self.shown.clone();
        let mut write = || -> std::io::Result<()> {
            match &mut self.to {
                Writing::Through(path) => {
                    std::fs::OpenOptions::new().write(true).open(path)?.write_all(bytes)
                }
                Writing::Beside { file, partial, target } => {
                    // What an earlier run left when it was killed.
                    file.set_len(0)?;
                    file.write_all(bytes)?;
                    // A full disk may show only here.
                    file.sync_all()?;
                    if let Some(path) = partial.as_ref() {
                        std::fs::rename(path, target)?;
                    }
                    *partial = None;
                    Ok(())
                }
            }
        };
        write().with_context(|| format!("{shown}: cannot write"))
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Writing::Beside { partial: Some(partial), .. } = &self.to {
            // There is nobody to tell.
            let _ = std::fs::remove_file(partial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_only_when_asked_for_and_an_input_never() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        OutputFile::begin(&path, false, &[]).unwrap().finish(b"first").unwrap();
        let error = OutputFile::begin(&path, false, &[]).err().unwrap().to_string();
        assert!(error.ends_with("a.csv: exists; choose another file or give --force"), "{error}");
        let around = folder.path().join(".").join("a.csv");
        let error = OutputFile::begin(&around, true, std::slice::from_ref(&path))
            .err()
            .unwrap()
            .to_string();
        assert!(error.ends_with("is an input of this command; choose another file"), "{error}");
        OutputFile::begin(&path, true, &[]).unwrap().finish(b"2").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"2");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn one_run_writes_a_file_at_a_time_and_an_abandoned_one_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let first = OutputFile::begin(&path, false, &[]).unwrap();
        let error = OutputFile::begin(&path, false, &[]).err().unwrap().to_string();
        assert!(error.ends_with("a.csv: another run is writing it"), "{error}");
        drop(first);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        // What a killed run left is written over.
        std::fs::write(folder.path().join(".cdimc-a.csv"), "long leftovers").unwrap();
        OutputFile::begin(&path, false, &[]).unwrap().finish(b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
    }
}
