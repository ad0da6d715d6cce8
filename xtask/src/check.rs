//! `cargo xtask check`: format, clippy and unit tests of the crates that differ from `main`.

use anyhow::{Context, Result, ensure};
use cdimc::note;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Commit or branch to compare with.
    #[arg(long, value_name = "COMMIT", default_value = "main")]
    base: String,
}

/// Own crates compile quickly and incrementally; other packages keep the settings of other builds.
const PROFILE: [&str; 3] = [
    "profile.dev.opt-level=1",
    "profile.dev.incremental=true",
    "profile.dev.package.\"*\".opt-level=3",
];

/// Runs the command. The exit code is 1 if a step fails.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let root = cdimc_experiments::root();
    let started = Instant::now();
    let base = git(root, &["merge-base", &arguments.base, "HEAD"])?;
    let changed = git(root, &["diff", "--name-only", base.trim()])?
        + &git(root, &["ls-files", "--others", "--exclude-standard"])?;
    let crates = crates(&changed);
    let packages: Vec<String> =
        crates.iter().flat_map(|name| ["-p".to_owned(), name.clone()]).collect();
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    let mut steps = vec![vec!["fmt", "--all", "--check"]];
    if crates.is_empty() {
        note!("no crate differs from {}", arguments.base);
    } else {
        let lints = ["--all-targets", "--", "-D", "warnings"];
        steps.push([&["clippy", "--quiet"], &packages[..], &lints].concat());
        steps.push([&["test", "--quiet", "--lib", "--bins"], &packages[..]].concat());
    }
    for step in steps {
        note!("cargo {}", step.join(" "));
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        if step[0] != "fmt" {
            cargo.args(PROFILE.iter().flat_map(|setting| ["--config", setting]));
        }
        if !cargo.args(step).current_dir(root).status()?.success() {
            return Ok(ExitCode::FAILURE);
        }
    }
    note!("checked in {:.0} s; `.ci/run` is the whole gate", started.elapsed().as_secs_f64());
    Ok(ExitCode::SUCCESS)
}

fn git(root: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").current_dir(root).args(arguments).output().context("git")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git {}: {}", arguments.join(" "), errors.trim());
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns the crates of these files.
fn crates(files: &str) -> BTreeSet<String> {
    let of_file = |file: &str| {
        let parts: Vec<&str> = file.split('/').collect();
        match parts[..] {
            ["crates", name, _, ..] => Some((parts[..2].join("/"), name.to_owned())),
            ["tests", _, ..] => Some(("tests".to_owned(), "cdimc-tests".to_owned())),
            ["xtask", _, ..] => Some(("xtask".to_owned(), "xtask".to_owned())),
            _ => None,
        }
    };
    // Removed crates have changed files too.
    let manifest = |folder: &str| cdimc_experiments::root().join(folder).join("Cargo.toml");
    files
        .lines()
        .filter_map(of_file)
        .filter(|(folder, _)| manifest(folder).is_file())
        .map(|(_, name)| name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_the_crate_of_its_folder() {
        let files = "crates/cdimc/src/lib.rs\ncrates/cdimc/Cargo.toml\ntests/tests/main.rs\nxtask/src/main.rs\n\
                     docs/README.md\ncrates/cdimc-gone/src/lib.rs\n";
        let found: Vec<String> = crates(files).into_iter().collect();
        assert_eq!(found, ["cdimc", "cdimc-tests", "xtask"]);
    }
}
