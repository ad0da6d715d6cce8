//! Atomic writing of files.

use crate::DataError;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// Writes a partial file next to `path` and renames it, so that no reader finds an incomplete file.
///
/// # Errors
/// If the file cannot be written; an existing file at `path` is then unchanged.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), DataError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    let partial = path.with_file_name(name);
    let write = || {
        let mut file = File::create(&partial)?;
        file.write_all(bytes)?;
        // Some file systems report a full disk only here.
        file.sync_all()?;
        fs::rename(&partial, path)
    };
    write().map_err(|e| {
        // The first error is the one to report.
        let _ = fs::remove_file(&partial);
        DataError::Other(format!("{}: cannot write: {e}", path.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join("taken");
        fs::create_dir(&taken).unwrap();
        let error = write_whole(&taken, b"x").unwrap_err().to_string();
        assert!(error.contains("taken: cannot write: "), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let path = folder.path().join("file");
        write_whole(&path, b"first").unwrap();
        write_whole(&path, b"whole").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_has_the_mode_of_any_other() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        let (whole, plain) = (folder.path().join("a"), folder.path().join("b"));
        write_whole(&whole, b"x").unwrap();
        fs::write(&plain, b"x").unwrap();
        assert_eq!(mode(&whole), mode(&plain));
    }
}
