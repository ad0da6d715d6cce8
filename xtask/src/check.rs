//! `cargo xtask check`: format, clippy and unit tests of the crates that differ from `main`.

use crate::cargo;
use anyhow::Result;
use cdimc::note;
use cdimc_experiments::git;
use std::collections::BTreeSet;
use std::process::ExitCode;
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
    let started = Instant::now();
    let base = git(&["merge-base", &arguments.base, "HEAD"])?;
    let changed = git(&["diff", "--name-only", base.trim()])?
        + &git(&["ls-files", "--others", "--exclude-standard"])?;
    let crates = crates(&changed);
    let packages: Vec<&str> = crates.iter().flat_map(|name| ["-p", name.as_str()]).collect();
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
        let mut cargo = cargo();
        if step[0] != "fmt" {
            cargo.args(PROFILE.iter().flat_map(|setting| ["--config", setting]));
        }
        if !cargo.args(step).status()?.success() {
            return Ok(ExitCode::FAILURE);
        }
    }
    note!("checked in {:.0} s; `.ci/run` is the whole gate", started.elapsed().as_secs_f64());
    Ok(ExitCode::SUCCESS)
}

fn crates(files: &str) -> BTreeSet<String> {
    let of_file = |file: &str| {
        let parts: Vec<&str> = file.split('/').collect();
        let (folder, name) = match parts[..] {
            ["crates", name, _, ..] => (format!("crates/{name}"), name),
            ["tests", _, ..] => ("tests".to_owned(), "cdimc-tests"),
            ["xtask", _, ..] => ("xtask".to_owned(), "xtask"),
            _ => return None,
        };
        // Removed crates have changed files too.
        let manifest = cdimc_experiments::root().join(folder).join("Cargo.toml");
        manifest.is_file().then(|| name.to_owned())
    };
    files.lines().filter_map(of_file).collect()
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
