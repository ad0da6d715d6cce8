//! A folder in which output is built, locked by one run at a time.

use super::earlier_run::EarlierRun;
use super::{RUN_FILE, parent_of};
use std::fs::{DirEntry, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

const LOCK: &str = "lock";

/// The folder `.cdimc-NAME` next to a target.
pub(super) struct Workplace {
    pub(super) path: PathBuf,
    /// Open while this run owns the folder. It lists the names of files started in the folder, one per line.
    lock: File,
}

impl Workplace {
    /// Returns the workplace of `target`, created if needed; `None` if another run has it.
    ///
    /// # Errors
    /// If it is a link, or contains anything except `parts` and files of runs in them; other files belong to the user.
    pub(super) fn hold(target: &Path, parts: &[&str]) -> io::Result<Option<Self>> {
        let mut name = std::ffi::OsString::from(".cdimc-");
        name.push(target.file_name().unwrap_or_default());
        let path = parent_of(target).join(name);
        for _ in 0..100 {
            match std::fs::create_dir(&path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            if path.is_symlink() {
                return Err(io::Error::other(format!("{} is a link", path.display())));
            }
            match check_parts(&path, parts).and_then(|()| hold(&path.join(LOCK))) {
                // Another run ended just now and removed the workplace.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
                Ok(None) => return Ok(None),
                Ok(Some(lock)) => {
                    let workplace = Self { path, lock };
                    parts.iter().try_for_each(|part| workplace.check_part(part))?;
                    return Ok(Some(workplace));
                }
            }
        }
        Ok(None)
    }

    /// Records the name of a file before it exists, so that the next run recognizes the file if this run is killed.
    pub(super) fn begin(&self, name: &str) -> io::Result<()> {
        if self.has_begun(name)? {
            return Ok(());
        }
        // Starts a new line, because a full disk may have cut the last one.
        (&self.lock).write_all(format!("\n{name}\n").as_bytes())
    }

    /// Removes the workplace: its `parts` first, since without the lock they are not recognized.
    pub(super) fn remove(&self, parts: &[&str]) -> io::Result<()> {
        parts.iter().try_for_each(|part| remove_part(&self.path.join(part)))?;
        std::fs::remove_dir_all(&self.path)
    }

    fn has_begun(&self, name: &str) -> io::Result<bool> {
        let (mut lock, mut names) = (&self.lock, String::new());
        lock.rewind()?;
        lock.read_to_string(&mut names)?;
        Ok(names.lines().any(|line| line == name))
    }

    /// Checks that a part, if it exists, contains only what runs wrote: the unchanged files of its record, or without a
    /// record the files that were begun.
    fn check_part(&self, part: &str) -> io::Result<()> {
        let path = self.path.join(part);
        let kind = match std::fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            metadata => metadata?.file_type(),
        };
        if !kind.is_dir() {
            let is_ours = kind.is_file() && self.has_begun(part)?;
            return if is_ours { Ok(()) } else { Err(not_ours(&path)) };
        }
        let run = EarlierRun::of(&path);
        for entry in std::fs::read_dir(&path)? {
            let entry = entry?;
            let is_ours = match (&run, entry.file_name().to_str()) {
                (Some(run), _) => run.wrote(&entry),
                (None, Some(name)) => entry.file_type()?.is_file() && self.has_begun(name)?,
                (None, None) => false,
            };
            if !is_ours {
                return Err(not_ours(&entry.path()));
            }
        }
        Ok(())
    }
}

/// Removes a part, if it exists: its record last, by which the next run recognizes what a killed removal left.
pub(super) fn remove_part(part: &Path) -> io::Result<()> {
    let kind = match std::fs::symlink_metadata(part) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata?.file_type(),
    };
    if !kind.is_dir() {
        return std::fs::remove_file(part);
    }
    let entries: Vec<DirEntry> = std::fs::read_dir(part)?.collect::<io::Result<_>>()?;
    for entry in entries.iter().filter(|entry| entry.file_name() != RUN_FILE) {
        std::fs::remove_file(entry.path())?;
    }
    std::fs::remove_dir_all(part)
}

/// Checks that a workplace contains only a lock and, beside it, parts.
fn check_parts(path: &Path, parts: &[&str]) -> io::Result<()> {
    let names = std::fs::read_dir(path)?.map(|entry| Ok(entry?.file_name()));
    let names: Vec<std::ffi::OsString> = names.collect::<io::Result<_>>()?;
    let has_lock = names.iter().any(|name| name == LOCK);
    let is_ours = |name: &std::ffi::OsString| {
        has_lock && (name == LOCK || parts.iter().any(|part| name == part))
    };
    match names.iter().find(|name| !is_ours(name)) {
        None => Ok(()),
        Some(name) => Err(not_ours(&path.join(name))),
    }
}

fn not_ours(path: &Path) -> io::Error {
    let name = path.file_name().unwrap_or_default().display();
    let folder = parent_of(path).display();
    io::Error::other(format!("{folder} holds {name}, which cdimc did not write: move it away"))
}

/// Opens and locks the file at `path`, created if needed; `None` if another run has the lock. It is not found if the
/// previous owner removed it at that moment.
///
/// The operating system holds the lock until the file is closed or the process ends, for any reason.
fn hold(path: &Path) -> io::Result<Option<File>> {
    let file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        // Some network file systems have no locks.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
        Err(TryLockError::Error(error)) => return Err(error),
    }
    // The previous owner may have removed it between the two calls.
    if is_at(&file, path)? { Ok(Some(file)) } else { Err(io::ErrorKind::NotFound.into()) }
}

/// Returns whether `path` is this very file, and no link to it.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let ours = file.metadata()?;
    Ok(std::fs::symlink_metadata(path)
        .is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())))
}

/// Other systems cannot replace a file that is open.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_of_a_part_and_the_lock_of_a_workplace_are_removed_last() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        let workplace = Workplace::hold(&target, &["new"]).unwrap().unwrap();
        let part = workplace.path.join("new");
        // A folder inside a part stops its removal.
        for name in ["a", "z"] {
            std::fs::create_dir_all(part.join(name)).unwrap();
            std::fs::write(part.join(RUN_FILE), "").unwrap();
            assert!(workplace.remove(&["new"]).is_err());
            assert!(part.join(RUN_FILE).exists() && workplace.path.join(LOCK).exists());
            std::fs::remove_dir(part.join(name)).unwrap();
        }
        workplace.remove(&["new"]).unwrap();
        assert!(!workplace.path.exists());
    }
}
