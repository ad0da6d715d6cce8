//! The workspace on disk: its path and revision, and the running program.

use crate::process::output;
use anyhow::Result;
use cdimc_tables::datasets::sha256;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the workspace: where the program was built.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("."))
}

/// Where experiments leave their records and tables by default.
pub(crate) fn results() -> PathBuf {
    root().join("results")
}

/// The records that come with the workspace, one file an experiment.
pub(crate) fn reference_records() -> PathBuf {
    root().join("docs/results/records")
}

/// Runs git in the root of the workspace.
///
/// # Errors
/// If git fails.
pub fn git(arguments: &[&str]) -> Result<String> {
    output(Command::new("git").current_dir(root()).args(arguments))
}

/// The commit the workspace stands at, with a `+` where files differ from it.
pub(crate) fn revision() -> Option<String> {
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).ok()?.trim().to_owned();
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).ok()?;
    Some(if changed.is_empty() { commit } else { commit + "+" })
}

/// SHA-256 of the running program's bytes; the current git commit may differ from the program's.
pub(crate) fn program() -> std::io::Result<String> {
    sha256(File::open(std::env::current_exe()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    #[test]
    fn the_program_of_a_checkpoint_is_its_bytes() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(program().unwrap(), format!("{:x}", Sha256::digest(bytes)));
    }
}
