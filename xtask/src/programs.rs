//! Running other programs in the workspace.

use anyhow::{Context, Result, ensure};
use std::process::Command;

/// Runs a program that must succeed, and returns what it prints.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let last = errors.lines().last().unwrap_or("no message");
    ensure!(output.status.success(), "{command:?}: {}: {last}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The cargo that runs this program, in the root of the workspace.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(cdimc_experiments::root());
    cargo
}

/// Runs git in the root of the workspace.
pub(crate) fn git(arguments: &[&str]) -> Result<String> {
    output(Command::new("git").current_dir(cdimc_experiments::root()).args(arguments))
}
