//! The workspace on disk: where it lies, at which revision it stands, and how files are written there.

use anyhow::{Context, Result};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the workspace: where the program was built.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Where experiments leave their records and tables unless told otherwise.
pub(crate) fn results() -> PathBuf {
    root().join("results")
}

/// The records that come with the workspace, one file an experiment.
pub(crate) fn reference_records() -> PathBuf {
    root().join("docs/results/records")
}

/// The commit the workspace stands at, with a `+` where files differ from it.
pub(crate) fn revision() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").current_dir(root()).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Some(if changed { commit + "+" } else { commit })
}

/// Writes a file through a temporary one beside it, so that no reader ever sees half of it.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let write = || -> std::io::Result<()> {
        let mut file = temporary(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|e| e.error)?;
        Ok(())
    };
    write().with_context(|| path.display().to_string())
}

/// A temporary file that others may read as far as the umask lets them.
#[cfg(unix)]
fn temporary(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;
    let readable = std::fs::Permissions::from_mode(0o666);
    tempfile::Builder::new().permissions(readable).tempfile_in(folder)
}

#[cfg(not(unix))]
fn temporary(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    tempfile::NamedTempFile::new_in(folder)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_has_the_mode_of_any_other() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode();
        let (whole, plain) = (folder.path().join("a"), folder.path().join("b"));
        write_whole(&whole, b"x").unwrap();
        std::fs::write(&plain, b"x").unwrap();
        assert_eq!(mode(&whole), mode(&plain));
    }
}
