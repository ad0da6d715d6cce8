//! Output that is written whole or not at all: built beside its place, then renamed into it.

use anyhow::{Context, bail};
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempDir};

/// A folder of ours holds this file.
pub(crate) const RUN_FILE: &str = "run.json";

/// A folder under construction.
pub(crate) struct OutputFolder {
    target: PathBuf,
    building: TempDir,
}

impl OutputFolder {
    /// Begins the folder `target`, which must not exist, be empty, or hold an earlier run.
    pub(crate) fn begin(target: &Path, overwrite: bool) -> anyhow::Result<Self> {
        check_target(target, overwrite)?;
        let parent = parent_of(target);
        std::fs::create_dir_all(parent)
            .with_context(|| format!("{}: cannot make this folder", parent.display()))?;
        let building = tempfile::Builder::new()
            .prefix(".cdimc-")
            .tempdir_in(parent)
            .with_context(|| format!("{}: cannot write here", parent.display()))?;
        Ok(Self { target: target.to_owned(), building })
    }

    /// Writes one file of the folder.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let path = self.building.path().join(name);
        write_and_sync(&path, bytes)
            .with_context(|| format!("{}: cannot write {name}", self.target.display()))
    }

    /// Puts the finished folder in its place.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let failed = || format!("{}: cannot put the result in its place", self.target.display());
        // What an earlier run left goes only when the new result is ready to take its place.
        let earlier = if self.target.exists() {
            let aside =
                tempfile::Builder::new().prefix(".cdimc-").tempdir_in(parent_of(&self.target))?;
            std::fs::rename(&self.target, aside.path().join("earlier")).with_context(failed)?;
            Some(aside)
        } else {
            None
        };
        let built = self.building.keep();
        if let Err(error) = std::fs::rename(&built, &self.target) {
            if let Some(aside) = &earlier {
                std::fs::rename(aside.path().join("earlier"), &self.target).ok();
            }
            std::fs::remove_dir_all(&built).ok();
            return Err(error).with_context(failed);
        }
        Ok(())
    }
}

/// Whether results may go to `target`: nothing of the user's is ever overwritten.
pub(crate) fn check_target(target: &Path, overwrite: bool) -> anyhow::Result<()> {
    let shown = target.display();
    if !target.exists() {
        return Ok(());
    }
    if !target.is_dir() {
        bail!("{shown}: is a file, the output is a folder");
    }
    let mut entries = std::fs::read_dir(target)
        .with_context(|| format!("{shown}: cannot read this folder"))?
        .filter_map(Result::ok)
        .map(|entry| entry.file_name());
    if entries.next().is_none() {
        return Ok(());
    }
    if !target.join(RUN_FILE).is_file() {
        bail!("{shown}: the folder holds files that are not cdimc's; choose another");
    }
    if !overwrite {
        bail!("{shown}: holds an earlier run; choose another folder or give --force");
    }
    Ok(())
}

/// Writes one file in place of `path`, whole or not at all.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let failed = || format!("{}: cannot write", path.display());
    if path.is_dir() {
        bail!("{}: is a directory, the output is a file", path.display());
    }
    let mut file = NamedTempFile::new_in(parent_of(path)).with_context(failed)?;
    file.write_all(bytes).with_context(failed)?;
    file.as_file().sync_all().with_context(failed)?;
    file.persist(path).with_context(failed)?;
    Ok(())
}

/// A table of text as CSV.
pub(crate) fn csv_bytes<R, C>(header: &[&str], rows: R) -> anyhow::Result<Vec<u8>>
where
    R: IntoIterator<Item = C>,
    C: IntoIterator<Item = String>,
{
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header)?;
    for row in rows {
        writer.write_record(row)?;
    }
    Ok(writer.into_inner()?)
}

fn write_and_sync(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = std::fs::File::create(path)?;
    file.write_all(bytes)?;
    // A full disk may show only here.
    file.sync_all()
}

fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
