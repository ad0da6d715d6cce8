//! A folder in which output grows, held by one run at a time.

use super::parent_of;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

const LOCK: &str = "lock";

/// The folder `.cdimc-NAME` beside a target.
pub(super) struct Workplace {
    pub(super) path: PathBuf,
    /// Open as long as the folder is ours.
    _lock: File,
}

impl Workplace {
    /// The workplace of `target`, made if it is not there; `None` if another run holds it.
    ///
    /// # Errors
    /// If it is a link, or holds anything but `parts`: whatever else is there, the user put there.
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
                // Another run ended just now and took the workplace with it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
                Ok(lock) => return Ok(lock.map(|lock| Self { path, _lock: lock })),
            }
        }
        Ok(None)
    }
}

/// Checks that a workplace holds nothing but its parts, which a lock came before.
fn check_parts(path: &Path, parts: &[&str]) -> io::Result<()> {
    let names = std::fs::read_dir(path)?.map(|entry| Ok(entry?.file_name()));
    let names: Vec<std::ffi::OsString> = names.collect::<io::Result<_>>()?;
    let has_lock = names.iter().any(|name| name == LOCK);
    let is_ours = |name: &std::ffi::OsString| {
        has_lock && (name == LOCK || parts.iter().any(|part| name == part))
    };
    match names.iter().find(|name| !is_ours(name)) {
        None => Ok(()),
        Some(name) => Err(io::Error::other(format!(
            "{} holds {}, which cdimc did not write: move it away",
            path.display(),
            name.display()
        ))),
    }
}

/// The file at `path`, made if it is not there; `None` if another run holds it.
///
/// The lock is the system's: it ends with the file or the process, however that ends.
fn hold(path: &Path) -> io::Result<Option<File>> {
    for _ in 0..100 {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            // Some network file systems have no locks.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Whoever held it before may have put it elsewhere between the two calls.
        if is_at(&file, path)? {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// Whether `path` is this very file, and no link to it.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let ours = file.metadata()?;
    Ok(std::fs::symlink_metadata(path)
        .is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())))
}

/// Other systems do not let go of a file that is open.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_file_is_not_given_twice_and_is_free_again_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = hold(&path).unwrap();
        assert!(first.is_some());
        assert!(hold(&path).unwrap().is_none());
        drop(first);
        assert!(hold(&path).unwrap().is_some());
    }
}
