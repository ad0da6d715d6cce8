//! What packages of others may be: under licenses that a program can be passed on with, from the one registry, and
//! in one version each but for those known.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Licenses that ask for no more than to be named.
const LICENSES: [&str; 13] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Packages that are there in several versions, which other packages ask for. Take out what is mended; what is
/// added costs everybody's compiler.
const SEVERAL: [&str; 21] = [
    "base64",
    "bit-set",
    "bit-vec",
    "cpufeatures",
    "equator",
    "equator-macro",
    "getrandom",
    "hashbrown",
    "itertools",
    "num-bigint",
    "r-efi",
    "rand",
    "rand_chacha",
    "rand_core",
    "rand_distr",
    "syn",
    "thiserror",
    "thiserror-impl",
    "zip",
    "zstd",
    "zstd-safe",
];

/// Checks every package of the lock file, for whatever system it is.
pub(super) fn check(root: &Path, broken: &mut Vec<String>) -> Result<()> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(root)
        .output()
        .context("cargo metadata")?;
    ensure!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default()
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    let packages = metadata["packages"].as_array().context("cargo metadata: no packages")?;
    judge(packages, broken);
    Ok(())
}

fn judge(packages: &[Value], broken: &mut Vec<String>) {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages {
        let text = |key: &str| package[key].as_str().unwrap_or_default();
        let (name, license, source) = (text("name"), text("license"), text("source"));
        versions.entry(name).or_default().insert(text("version"));
        if !allowed(license) {
            broken.push(format!("{name}: license `{license}` is none of those allowed"));
        }
        // Our own have no source.
        let is_of_registry =
            source.starts_with("registry+") && source.ends_with("/crates.io-index");
        if !source.is_empty() && !is_of_registry {
            broken.push(format!("{name}: comes from {source}, not from the registry"));
        }
    }
    for (name, versions) in versions {
        // Those of other systems nobody compiles here.
        let is_known = SEVERAL.contains(&name) || name.starts_with("windows");
        if versions.len() > 1 && !is_known {
            let versions: Vec<&str> = versions.into_iter().collect();
            broken.push(format!("{name}: is there in versions {}", versions.join(" and ")));
        }
    }
}

/// Whether an expression of licenses can be met by allowed ones. Old packages write OR as a slash.
fn allowed(expression: &str) -> bool {
    let is_allowed = |asked: &spdx::LicenseReq| LICENSES.contains(&asked.to_string().as_str());
    spdx::Expression::parse_mode(expression, spdx::ParseMode::LAX)
        .is_ok_and(|expression| expression.evaluate(is_allowed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn licenses_are_read_as_expressions() {
        for met in [
            "MIT",
            "MIT/Apache-2.0",
            "MIT OR GPL-3.0-only",
            "(MIT OR GPL-3.0-only) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0-only",
        ] {
            assert!(allowed(met), "{met}");
        }
        for unmet in [
            "",
            "GPL-3.0-only",
            "MIT AND GPL-3.0-only",
            "(MIT",
            "MIT ISC",
            "GPL-2.0-only WITH Classpath-exception-2.0",
            "MIT AND (ISC AND MPL-2.0)",
        ] {
            assert!(!allowed(unmet), "{unmet}");
        }
    }

    #[test]
    fn what_is_new_is_told() {
        let package = |name: &str, version: &str, license: &str, source: Value| json!({ "name": name, "version": version, "license": license, "source": source });
        let registry = || json!("registry+some/crates.io-index");
        let sound = [
            package("cdimc", "0.1.0", "MIT OR Apache-2.0", Value::Null),
            package("rand", "0.8.0", "MIT", registry()),
            package("rand", "0.9.0", "MIT", registry()),
        ];
        let mut broken = Vec::new();
        judge(&sound, &mut broken);
        assert_eq!(broken, Vec::<String>::new());
        let odd = [
            package("a", "1.0.0", "GPL-3.0-only", registry()),
            package("b", "1.0.0", "MIT", json!("git+some/place")),
            package("c", "1.0.0", "MIT", registry()),
            package("c", "2.0.0", "MIT", registry()),
        ];
        judge(&odd, &mut broken);
        assert_eq!(broken.len(), 3, "{broken:?}");
        assert!(broken[2].starts_with("c: is there in versions 1.0.0 and 2.0.0"));
    }
}
