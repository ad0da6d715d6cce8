//! A file that one run holds at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// The file at `path`, made if it is not there; none if another run holds it.
///
/// The lock is the system's: it ends with the file or the process, however that ends.
pub(super) fn hold(path: &Path) -> io::Result<Option<File>> {
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
