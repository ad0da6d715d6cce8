//! A folder of output.

use super::earlier_run::{EarlierRun, sealed_record};
use super::lock::{Workplace, remove_part};
use super::{RUN_FILE, check_name, parent_of};
use anyhow::{Context, bail};
use serde::Serialize;
use std::fs::{DirEntry, File};
use std::io::{self, Write};
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Parts of a workplace: the folder under construction, a complete one that may replace the target, the next and the
/// last complete one, and the earlier run while it is replaced.
const NEW: &str = "new";
const WHOLE: &str = "whole";
const NEXT: &str = "next";
const LAST: &str = "last";
const EARLIER: &str = "earlier";
const PARTS: [&str; 5] = [NEW, WHOLE, NEXT, LAST, EARLIER];

/// A folder under construction, locked against other runs.
///
/// It is built in a workplace next to its target. The workplace also keeps the earlier run until it is replaced. The
/// next run finds there what a killed run left, and moves a result to the target; an unfinished run too, unless a
/// result is at the target.
pub(crate) struct OutputFolder {
    /// Path as the user typed it.
    pub(crate) shown: String,
    target: PathBuf,
    workplace: Workplace,
    /// Whether an earlier run may be replaced.
    overwrite: bool,
    /// Inputs, which must not be in the folder.
    inputs: Vec<PathBuf>,
    /// Whether this run has saved progress.
    has_kept: AtomicBool,
}

impl OutputFolder {
    /// Begins the folder `given`. It must not exist, or be empty, or contain only an earlier run that may be replaced.
    /// None of `inputs` may be in it.
    pub(crate) fn begin(given: &Path, overwrite: bool, inputs: &[PathBuf]) -> anyhow::Result<Self> {
        let shown = given.display().to_string();
        let target = resolve(given)?;
        let held = Workplace::hold(&target, &PARTS);
        let Some(workplace) = held.with_context(|| format!("{shown}: cannot write here"))? else {
            bail!("{shown}: another run is writing there");
        };
        // From here on the value owns the workplace.
        let (inputs, has_kept) = (inputs.to_vec(), AtomicBool::new(false));
        let output = Self { shown, target, workplace, overwrite, inputs, has_kept };
        output.repair().with_context(|| format!("{}: cannot repair", output.shown))?;
        output.check(overwrite)?;
        std::fs::create_dir(output.part(NEW))
            .with_context(|| format!("{}: cannot write here", output.shown))?;
        Ok(output)
    }

    /// Returns the folder of the unfinished run: the target, or the workplace if a result is at the target.
    pub(crate) fn unfinished(&self) -> PathBuf {
        if self.part(WHOLE).exists() { self.part(WHOLE) } else { self.target.clone() }
    }

    /// Writes one file of the folder.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        self.write_pieces(name, iter::once(Ok(bytes)))
    }

    /// Writes one file of the folder piece by piece.
    pub(crate) fn write_pieces<B: AsRef<[u8]>>(
        &self,
        name: &str,
        pieces: impl Iterator<Item = anyhow::Result<B>>,
    ) -> anyhow::Result<()> {
        self.write_in(NEW, name, pieces)
    }

    /// Saves the record and one file of an unfinished run and replaces earlier ones, so that the next run can resume.
    pub(crate) fn keep(
        &self,
        record: &impl Serialize,
        file: Option<(&str, &[u8])>,
    ) -> anyhow::Result<()> {
        let make =
            || remove_part(&self.part(NEXT)).and_then(|()| std::fs::create_dir(self.part(NEXT)));
        make().with_context(|| format!("{}: cannot write here", self.shown))?;
        if let Some((name, bytes)) = file {
            self.write_in(NEXT, name, iter::once(Ok(bytes)))?;
        }
        self.seal(NEXT, record)?;
        self.has_kept.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Removes the saved progress of this run, which cannot be resumed.
    pub(crate) fn forget(&self) {
        if self.has_kept.load(Ordering::Relaxed) {
            // The next run handles what remains.
            let _ = remove_part(&self.part(WHOLE));
        }
    }

    /// Writes the record of the run and puts the finished folder in its place.
    pub(crate) fn finish(self, record: &impl Serialize) -> anyhow::Result<()> {
        self.seal(NEW, record)?;
        self.place().map(|_| ())
    }

    /// Moves a complete output to the target and returns whether it did. [Kept](Self::keep) output waits while a result
    /// is at the target.
    pub(crate) fn place(self) -> anyhow::Result<bool> {
        // Other programs may have written there during the run.
        if let Err(refusal) = self.check(self.overwrite) {
            let beside = self.stage_next_to().with_context(|| refusal.to_string())?;
            return Err(refusal.context(format!("the result is in {}", beside.display())));
        }
        if self.waits() {
            return Ok(false);
        }
        self.replace()
            .with_context(|| format!("{}: cannot put the result in its place", self.shown))?;
        Ok(true)
    }

    /// Returns whether the complete output is an unfinished run while a result is at the target.
    fn waits(&self) -> bool {
        let is_unfinished = |folder: &Path| EarlierRun::of(folder).map(|run| run.is_interrupted);
        is_unfinished(&self.part(WHOLE)) == Some(true) && is_unfinished(&self.target) == Some(false)
    }

    fn part(&self, name: &str) -> PathBuf {
        self.workplace.path.join(name)
    }

    fn write_in<B: AsRef<[u8]>>(
        &self,
        part: &str,
        name: &str,
        pieces: impl Iterator<Item = anyhow::Result<B>>,
    ) -> anyhow::Result<()> {
        check_name(name)?;
        let cannot = || format!("{}: cannot write {name}", self.shown);
        self.workplace.begin(name).with_context(cannot)?;
        let mut file = File::create_new(self.part(part).join(name)).with_context(cannot)?;
        for piece in pieces {
            file.write_all(piece?.as_ref()).with_context(cannot)?;
        }
        // A full disk may become visible only here.
        file.sync_all().with_context(cannot)
    }

    /// Writes the record, which makes a part complete.
    fn seal(&self, part: &str, record: &impl Serialize) -> anyhow::Result<()> {
        let sealed = sealed_record(&self.part(part), record)
            .with_context(|| format!("{}: cannot read", self.shown))?;
        self.write_in(part, RUN_FILE, iter::once(Ok(sealed)))?;
        // At every moment the old or the new record exists, and the new one only when it is complete.
        let (whole, last) = (self.part(WHOLE), self.part(LAST));
        let put = || -> io::Result<()> {
            sync_folder(&self.part(part))?;
            remove_part(&last)?;
            if whole.exists() {
                std::fs::rename(&whole, &last)?;
            }
            std::fs::rename(self.part(part), &whole)?;
            remove_part(&last)
        };
        put().with_context(|| format!("{}: cannot write here", self.shown))
    }

    /// Replaces the target by the complete output.
    fn replace(&self) -> io::Result<()> {
        // Remains of an earlier run are deleted only when the new result is ready.
        if self.target.exists() {
            std::fs::rename(&self.target, self.part(EARLIER))?;
        }
        if let Err(error) = std::fs::rename(self.part(WHOLE), &self.target) {
            let _ = std::fs::rename(self.part(EARLIER), &self.target);
            return Err(error);
        }
        sync_folder(parent_of(&self.target))
    }

    /// Moves a complete output to the next free name and returns its path.
    fn stage_next_to(&self) -> io::Result<PathBuf> {
        let name = self.target.file_name().unwrap_or_default().to_string_lossy();
        let (mut beside, mut n) = (self.target.clone(), 1);
        while beside.exists() {
            n += 1;
            beside.set_file_name(format!("{name}-{n}"));
        }
        std::fs::rename(self.part(WHOLE), &beside)?;
        Ok(beside)
    }

    /// Completes the work of a killed run: moves its finished or saved output to the target.
    fn repair(&self) -> anyhow::Result<()> {
        // Neither the new result nor the earlier run is at the target.
        let is_displaced = self.part(WHOLE).exists() && self.part(EARLIER).exists();
        if is_displaced && self.target.exists() {
            bail!(
                "{} holds a result and the run before it, but something else has taken their place: \
                 move it away",
                self.workplace.path.display()
            );
        }
        if !self.part(WHOLE).exists() && self.part(LAST).exists() {
            std::fs::rename(self.part(LAST), self.part(WHOLE))?;
        }
        if self.part(WHOLE).exists() {
            if let Err(refusal) = self.check(true) {
                let beside = self.stage_next_to()?;
                return Err(refusal.context(format!("the killed run is in {}", beside.display())));
            }
            if !self.waits() {
                self.replace()?;
            }
        } else if self.part(EARLIER).exists() && !self.target.exists() {
            std::fs::rename(self.part(EARLIER), &self.target)?;
        }
        [NEW, NEXT, LAST, EARLIER].iter().try_for_each(|left| remove_part(&self.part(left)))?;
        Ok(())
    }

    /// Checks that results may be written here: files of the user are never overwritten.
    fn check(&self, overwrite: bool) -> anyhow::Result<()> {
        let (shown, target) = (&self.shown, &self.target);
        if !target.exists() {
            return Ok(());
        }
        if !target.is_dir() {
            bail!("{shown}: is a file, the output is a folder");
        }
        let entries: io::Result<Vec<DirEntry>> =
            std::fs::read_dir(target).and_then(Iterator::collect);
        let entries = entries.with_context(|| format!("{shown}: cannot read this folder"))?;
        if entries.is_empty() {
            return Ok(());
        }
        let Some(run) = EarlierRun::of(target) else {
            bail!("{shown}: the folder holds files that are not cdimc's; choose another");
        };
        if !overwrite {
            let held = match (run.is_interrupted, self.waits()) {
                (true, _) => "an interrupted run",
                (_, true) => "an earlier run, and an interrupted one is to take its place",
                _ => bail!("{shown}: holds an earlier run; choose another folder or give --force"),
            };
            bail!(
                "{shown}: holds {held}: go on with `cdimc cluster --resume {shown}`, choose another folder or give \
                 --force"
            );
        }
        let inside = |input: &&PathBuf| input.canonicalize().is_ok_and(|i| i.starts_with(target));
        if let Some(input) = self.inputs.iter().find(inside) {
            bail!("{shown}: holds {}, an input of this command; choose another", input.display());
        }
        if let Some(entry) = entries.iter().find(|entry| !run.wrote(entry)) {
            bail!(
                "{shown}: holds {}, which the earlier run did not write or which has changed; move it away or \
                 choose another folder",
                entry.file_name().display()
            );
        }
        Ok(())
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        // `drop` cannot report errors; the next run handles what remains.
        if self.part(WHOLE).exists() {
            let _ = remove_part(&self.part(NEW));
        } else {
            let _ = self.workplace.remove(&PARTS);
        }
    }
}

/// Returns the folder itself, with links resolved; creates its parent if needed.
fn resolve(given: &Path) -> anyhow::Result<PathBuf> {
    let shown = given.display();
    if given.to_str().is_none() {
        bail!("{shown}: the path must be UTF-8, because the record of the run is");
    }
    let Ok(target) = given.canonicalize() else {
        if given.is_symlink() {
            bail!("{shown}: is a link to nothing");
        }
        let (parent, Some(name)) = (parent_of(given), given.file_name()) else {
            bail!("{shown}: names no folder");
        };
        let failed = || format!("{}: cannot make this folder", parent.display());
        std::fs::create_dir_all(parent).with_context(failed)?;
        return Ok(parent.canonicalize().with_context(failed)?.join(name));
    };
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    if here.is_ok_and(|here| here.starts_with(&target)) {
        bail!("{shown}: is the working folder or contains it; give a folder inside it");
    }
    if is_mount_point(&target) {
        bail!("{shown}: a file system begins there; give a folder inside it");
    }
    Ok(target)
}

/// A folder that cannot be renamed.
#[cfg(unix)]
fn is_mount_point(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &Path| path.metadata().map(|metadata| metadata.dev()).ok();
    device(folder) != device(parent_of(folder))
}

#[cfg(not(unix))]
fn is_mount_point(_: &Path) -> bool {
    false
}

/// Flushes the names in a folder to disk, on systems where a folder is a file.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests;
