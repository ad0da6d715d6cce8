//! `cargo xtask tidy`: house rules as checks.

mod circles;
mod manifests;
mod thresholds;
mod words;

use anyhow::Result;
use cdimc::{note, say};
use cdimc_experiments::git;
use std::process::ExitCode;

/// No source file is longer.
const LONGEST_FILE: usize = 600;

/// Runs all checks and prints what breaks a rule.
pub(crate) fn run() -> Result<ExitCode> {
    let root = cdimc_experiments::root();
    let mut broken = Vec::new();
    manifests::check(root, &mut broken)?;
    thresholds::check(root, &mut broken)?;
    let files = git(&["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
    let files: Vec<&str> = files.split('\0').filter(|path| !path.is_empty()).collect();
    for file in &files {
        // What git tracks may be deleted, and what is not text has no lines.
        let Ok(text) = std::fs::read_to_string(root.join(file)) else { continue };
        texts(file, &text, &mut broken);
    }
    for needed in
        ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE", "docs/architecture.md"]
    {
        if !root.join(needed).exists() {
            broken.push(format!("{needed}: is missing"));
        }
    }
    for line in &broken {
        note!("{line}");
    }
    say!("tidy: {} files, {} broken rules", files.len(), broken.len());
    Ok(if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Removes comments from Rust.
fn rust_code(text: &str) -> String {
    let code = |line: &str| {
        if line.trim_start().starts_with("//") {
            String::new()
        } else {
            line.split(" // ").next().unwrap_or_default().to_owned()
        }
    };
    text.lines().map(code).collect::<Vec<_>>().join("\n")
}

/// Extensions of the files that are checked for banned phrases.
const PROSE: [&str; 6] = ["R", "Rd", "md", "py", "rs", "toml"];

fn texts(name: &str, text: &str, broken: &mut Vec<String>) {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_rust = extension == "rs";
    if is_rust {
        let lines = text.lines().count();
        if lines > LONGEST_FILE {
            broken.push(format!("{name}: {lines} lines, at most {LONGEST_FILE}"));
        }
        if !(text.starts_with("//!") || text.starts_with("/*!") || text.starts_with("#!")) {
            broken.push(format!("{name}: must begin with what the file is for (//!)"));
        }
    }
    // `src/a.rs` lies one folder below its crate, which is how often it may go up.
    let depth = name.strip_prefix("crates/").map(|rest| rest.matches('/').count() - 1);
    for (i, line) in text.lines().enumerate() {
        let mut flag = |what: &str| broken.push(format!("{name}:{}: {what}", i + 1));
        if is_rust || ["md", "toml"].contains(&extension) {
            if MACHINE_FOLDERS.iter().any(|folder| line.contains(folder)) {
                flag("names a folder of one machine");
            }
            for (word, american) in words::british(line) {
                if !QUOTED_BRITISH.contains(&(name, word.as_str())) {
                    flag(&format!("{word} begins with {american} here"));
                }
            }
            if line.trim_end() != line && extension != "md" {
                flag("ends in blanks");
            }
        }
        if PROSE.contains(&extension) {
            words::banned(line).for_each(|phrase| flag(&format!("`{phrase}`: not plain English")));
        }
        if is_rust && UNFINISHED.iter().any(|mark| line.contains(mark)) {
            flag("marks unfinished work");
        }
        let code = line.split("//").next().unwrap_or_default();
        let is_above = |depth| code.contains(INCLUDE) && code.matches("../").count() > depth;
        if is_rust && depth.is_some_and(is_above) {
            flag("includes a file from outside its crate");
        }
    }
}

/// British words that files quote, by file: names of an oracle.
const QUOTED_BRITISH: &[(&str, &str)] = &[
    ("tests/tests/golden.rs", concat!("cen", "tres")),
    ("tests/tests/golden.rs", concat!("neigh", "bours")),
];

// The marks are put together here, so that this file does not break its own rules.
const MACHINE_FOLDERS: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/tm", "p/")];
const UNFINISHED: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("unimplemented", "!("),
    concat!("#[ig", "nore"),
];
const INCLUDE: &str = concat!("inc", "lude_");

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(file: &str, text: &str) -> Vec<String> {
        let mut broken = Vec::new();
        texts(file, text, &mut broken);
        broken
    }

    #[test]
    fn each_rule_is_seen() {
        assert!(broken("crates/a/src/lib.rs", "//! Doc.\nfn f() {}\n").is_empty());
        assert!(broken("crates/a/src/lib.rs", "fn f() {}\n")[0].contains("what the file is for"));
        let include =
            |file: &str| format!("//! Doc.\nconst A: &str = {INCLUDE}str!(\"{file}\");\n");
        assert!(broken("crates/a/src/b.rs", &include("../c.txt")).is_empty());
        assert_eq!(broken("crates/a/src/b.rs", &include("../../c.txt")).len(), 1);
        let unfinished = format!("//! Doc.\n// {} later\n", UNFINISHED[0]);
        assert!(broken("xtask/src/a.rs", &unfinished)[0].contains("xtask/src/a.rs:2"));
        let path = format!("see {}x", MACHINE_FOLDERS[0]);
        assert_eq!(broken("README.md", &path).len(), 1);
        let long = "//! Doc.\n".to_owned() + &"// x\n".repeat(LONGEST_FILE);
        assert!(broken("tests/tests/a.rs", &long)[0].contains("601 lines"));
    }
}
