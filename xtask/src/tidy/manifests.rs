//! Checks the dependencies of crates: allowed ones only, and each is used.

use super::rust_code;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Crates that every crate may use, as in the table of docs/architecture.md.
const FLOORS: &[(&str, &str)] = &[
    ("cdimc-metrics", ""),
    ("cdimc-statistics", ""),
    ("cdimc-data", ""),
    ("cdimc-core", "data"),
    ("cdimc-tables", "data"),
    ("cdimc-graph", "core"),
    ("cdimc-mixture", "data core"),
    ("cdimc-nn", "data core graph"),
    ("cdimc-cluster", "data core graph nn"),
    ("cdimc-baselines", "data core graph nn"),
    ("cdimc", "metrics statistics data core graph nn cluster mixture baselines tables"),
    ("cdimc-python", "cdimc"),
    ("cdimc-experiments", "metrics data core graph nn cluster baselines tables cdimc"),
    ("xtask", "data cdimc experiments"),
];

/// Packages that only some crates may use.
const OWNED: &[(&str, &[&str])] = &[
    ("kiddo", &["cdimc-graph"]),
    ("linfa", &["cdimc", "cdimc-core"]),
    ("linfa-clustering", &["cdimc-core"]),
    ("candle-core", &["cdimc-nn", "cdimc-baselines"]),
    ("candle-nn", &["cdimc-nn", "cdimc-baselines"]),
    ("clap", &["cdimc", "cdimc-experiments", "xtask"]),
    ("anyhow", &["cdimc", "cdimc-experiments", "xtask"]),
    ("indicatif", &["cdimc", "cdimc-experiments"]),
    ("pyo3", &["cdimc-python"]),
    ("numpy", &["cdimc-python"]),
];

/// Dependencies that no source names, with the reason.
const UNNAMED: &[(&str, &str, &str)] = &[
    ("cdimc", "approx", SHARED),
    ("cdimc", "getrandom", SHARED),
    ("cdimc", "num-complex", SHARED),
    ("cdimc", "num-integer", SHARED),
    ("cdimc-nn", "gemm", "with a feature that turns AVX-512 on inside candle's products"),
];
const SHARED: &str = "with the tests' features, so that all programs share what they compile";

/// Checks the dependencies among own crates against the floors, owned packages against their owners, and every
/// dependency against the sources.
pub(super) fn check(root: &Path, broken: &mut Vec<String>) -> Result<()> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root)
        .output()
        .context("cargo metadata")?;
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    let floors: BTreeMap<&str, &str> = FLOORS.iter().copied().collect();
    for package in metadata["packages"].as_array().context("cargo metadata: no packages")? {
        let name = package["name"].as_str().unwrap_or_default();
        if package["license"].as_str() != Some("MIT OR Apache-2.0") {
            broken.push(format!("{name}: license must be MIT OR Apache-2.0"));
        }
        if package["description"].as_str().is_none_or(str::is_empty) {
            broken.push(format!("{name}: has no description"));
        }
        let folder = Path::new(package["manifest_path"].as_str().unwrap_or_default())
            .parent()
            .context("cargo metadata: a manifest without a folder")?;
        let code = |parts: &[&str]| -> String {
            parts
                .iter()
                .flat_map(|part| sources(&folder.join(part)))
                .map(|(_, text)| text)
                .collect()
        };
        let (library, all) =
            (code(&["src", "build.rs"]), code(&["src", "tests", "benches", "examples"]));
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let used = dependency["name"].as_str().unwrap_or_default();
            let is_dev = dependency["kind"].as_str() == Some("dev");
            let within = if is_dev { &all } else { &library };
            let known = dependency["rename"].as_str().unwrap_or(used).replace('-', "_");
            if !names(within, &known)
                && !UNNAMED.iter().any(|(by, what, _)| (*by, *what) == (name, used))
            {
                broken.push(format!("{name} depends on {used} but does not use it"));
            }
            // Tests may use any crate.
            if is_dev {
                continue;
            }
            let own = used.strip_prefix("cdimc").map(|rest| rest.strip_prefix('-').unwrap_or(used));
            let is_below =
                |own| floors.get(name).is_none_or(|below| below.split(' ').any(|b| b == own));
            if !own.is_none_or(is_below) {
                broken.push(format!("{name} uses {used}: dependencies point down the floors only"));
            }
            if let Some((_, owners)) = OWNED.iter().find(|(package, _)| *package == used)
                && !owners.contains(&name)
            {
                broken.push(format!("{name} uses {used}: only {} may", owners.join(" and ")));
            }
        }
    }
    Ok(())
}

/// Returns the Rust files at or below `path`, as (path, code without comments).
pub(super) fn sources(path: &Path) -> Vec<(PathBuf, String)> {
    if path.extension().is_some_and(|extension| extension == "rs") {
        let text = std::fs::read_to_string(path).map(|text| rust_code(&text));
        return text.map(|text| (path.to_owned(), text)).into_iter().collect();
    }
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths.iter().flat_map(|path| sources(path)).collect()
}

/// Returns whether the code contains this name as a whole word.
fn names(code: &str, name: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    code.match_indices(name).any(|(at, _)| {
        !is_part(code[..at].chars().next_back()) && !is_part(code[at + name.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_is_named_by_a_whole_word() {
        assert!(
            names("use serde::Serialize;", "serde")
                && names("#[derive(thiserror::Error)]", "thiserror")
        );
        assert!(!names("use serde_json::Value;", "serde") && !names("my_csv()", "csv"));
    }

    #[test]
    fn every_exception_has_a_reason() {
        assert!(UNNAMED.iter().all(|(_, _, why)| why.len() > 10));
    }
}
