//! Checks the dependencies of crates: allowed ones only, and each is used.

use super::{circles, rust_code};
use crate::cargo;
use anyhow::{Context, Result};
use cdimc_experiments::output;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What `floors.toml` says of crates and packages, by their names.
#[derive(serde::Deserialize)]
struct Rules {
    floors: BTreeMap<String, Vec<String>>,
    owned: BTreeMap<String, Vec<String>>,
    unnamed: BTreeMap<String, String>,
}

/// Checks the dependencies among own crates against the floors, owned packages against their owners, every dependency
/// against the sources, and the modules of every crate for circles.
pub(super) fn check(root: &Path, broken: &mut Vec<String>) -> Result<()> {
    let rules: Rules = toml::from_str(include_str!("floors.toml"))?;
    let options = ["metadata", "--format-version", "1", "--no-deps", "--offline"];
    let metadata: Value = serde_json::from_str(&output(cargo().args(options))?)?;
    let packages = metadata["packages"].as_array().context("cargo metadata: no packages")?;
    let text = |value: &'_ Value| value.as_str().unwrap_or_default().to_owned();
    for package in packages {
        let name = text(&package["name"]);
        if package["license"] != "MIT OR Apache-2.0" {
            broken.push(format!("{name}: license must be MIT OR Apache-2.0"));
        }
        if text(&package["description"]).is_empty() {
            broken.push(format!("{name}: has no description"));
        }
        let manifest = PathBuf::from(text(&package["manifest_path"]));
        let folder = manifest.parent().unwrap_or(root);
        let library = sources(&folder.join("src"));
        for ring in circles::circles(&library) {
            broken.push(format!("{name}: {} use each other in a circle", ring.join(", ")));
        }
        let below = |parts: &[&str]| -> String {
            let files = parts.iter().flat_map(|part| sources(&folder.join(part)));
            files.map(|(_, text)| text).collect()
        };
        let library =
            library.into_iter().map(|(_, text)| text).collect::<String>() + &below(&["build.rs"]);
        let tests = below(&["tests", "benches", "examples"]);
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let (used, is_dev) = (text(&dependency["name"]), dependency["kind"] == "dev");
            let known = dependency["rename"].as_str().unwrap_or(&used).replace('-', "_");
            let is_named = names(&library, &known) || (is_dev && names(&tests, &known));
            if !is_named && !rules.unnamed.contains_key(&format!("{name} {used}")) {
                broken.push(format!("{name} depends on {used} but does not use it"));
            }
            // Tests may use any crate.
            if is_dev {
                continue;
            }
            let own =
                used.strip_prefix("cdimc").map(|rest| rest.strip_prefix('-').unwrap_or(&used));
            let floor = rules.floors.get(&name);
            if own.is_some_and(|own| floor.is_some_and(|below| below.iter().all(|b| b != own))) {
                broken.push(format!("{name} uses {used}: dependencies point down the floors only"));
            }
            if let Some(owners) = rules.owned.get(&used).filter(|owners| !owners.contains(&name)) {
                broken.push(format!("{name} uses {used}: only {} may", owners.join(" and ")));
            }
        }
    }
    Ok(())
}

/// Returns the Rust files at or below `folder`, as (path from there, code without comments).
pub(super) fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let (mut left, mut found) = (vec![folder.to_owned()], Vec::new());
    while let Some(path) = left.pop() {
        if let Ok(entries) = std::fs::read_dir(&path) {
            left.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            found.push((path.strip_prefix(folder).unwrap_or(&path).to_owned(), rust_code(&text)));
        }
    }
    found.sort();
    found
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
}
