//! Checks that every numeric constant of the mixture's code is a row of `docs/notes/thresholds.md` with its value.

use super::manifests;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::Path;

/// Maps file and name to a value.
type Constants = BTreeMap<(String, String), String>;

const TABLE: &str = "docs/notes/thresholds.md";

pub(super) fn check(root: &Path, broken: &mut Vec<String>) -> Result<()> {
    let source = root.join("crates/cdimc-mixture/src");
    let mut code = Constants::new();
    let root_module = std::fs::read_to_string(source.join("lib.rs")).context("lib.rs")?;
    for (path, text) in manifests::sources(&source) {
        let file = path.to_string_lossy().into_owned();
        let module = file.trim_end_matches(".rs");
        if !root_module.contains(&format!("#[cfg(test)]\nmod {module};")) {
            code.extend(constants(&file, &text));
        }
    }
    let table = std::fs::read_to_string(root.join(TABLE)).context(TABLE)?;
    broken.extend(differences(&code, &rows(&table)));
    Ok(())
}

fn differences(code: &Constants, table: &Constants) -> Vec<String> {
    let missing = code.iter().filter_map(|(at @ (file, name), value)| match table.get(at) {
        None => Some(format!("{TABLE}: lacks `{name}` = {value} of {file}")),
        Some(stated) if stated != value => {
            Some(format!("{TABLE}: `{name}` of {file} is {stated}, in the code {value}"))
        }
        Some(_) => None,
    });
    let stale = table.keys().filter(|at| !code.contains_key(at));
    missing.chain(stale.map(|(file, name)| format!("{TABLE}: {file} has no `{name}`"))).collect()
}

/// Returns the numeric constants of a file before its tests.
fn constants(file: &str, text: &str) -> Constants {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = Constants::new();
    for (at, _) in code.match_indices("const ") {
        let line = code[..at].rsplit('\n').next().unwrap_or_default().trim();
        if !(line.is_empty() || line.starts_with("pub")) {
            continue;
        }
        // The type of an array contains a semicolon too.
        let Some((head, value)) = code[at + "const ".len()..].split_once('=') else { continue };
        let Some((name, _)) = head.split_once(':').filter(|_| !head.contains('{')) else {
            continue;
        };
        let value = value.split(';').next().unwrap_or_default();
        let is_text = value.trim_start().starts_with('"');
        if !is_text && value.contains(|c: char| c.is_ascii_digit()) {
            found.insert((file.to_owned(), name.trim().to_owned()), plain(value));
        }
    }
    found
}

/// Returns the rows `name | value | file | ...` of the table.
fn rows(table: &str) -> Constants {
    let row = |line: &str| {
        let cells: Vec<&str> = line.strip_prefix('|')?.split('|').map(str::trim).collect();
        let [name, value, file, ..] = cells[..] else { return None };
        let name = name.strip_prefix('`')?.strip_suffix('`')?;
        let file = file.trim_matches('`');
        Some(((file.to_owned(), name.to_owned()), plain(value.trim_matches('`'))))
    };
    table.lines().filter_map(row).collect()
}

/// Normalizes a value: single blanks, no separators of digits.
fn plain(value: &str) -> String {
    value.replace('_', "").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_stale_and_different_rows_are_reported() {
        let code = "\
const NAME: &str = \"t5\";
pub(crate) const FOLDS: usize = 1_000;
const PAIRS: [(f64, f64); 2] =
    [(4.0, 0.05),
     (256.0, 1.0)];
impl A {
    pub const ALL: [Self; 2] = [Self::A, Self::B];
    const fn three() -> usize { 3 }
}
const RULE: Rule = Rule { rounds: 6, share: 0.1 };
#[cfg(test)]
mod tests {
    const OF_A_TEST: usize = 3;
}
";
        let code = constants("a.rs", code);
        let names: Vec<&str> = code.keys().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["FOLDS", "PAIRS", "RULE"]);
        let table = "\
| name | value | file | why |
| --- | --- | --- | --- |
| `FOLDS` | 1000 | `a.rs` | |
| `PAIRS` | [(4.0, 0.05), (256.0, 1.0)] | `a.rs` | |
| `RULE` | Rule { rounds: 6, share: 0.1 } | `a.rs` | |
";
        assert!(differences(&code, &rows(table)).is_empty());
        let one = |from: &str, to: &str| {
            let found = differences(&code, &rows(&table.replace(from, to)));
            assert_eq!(found.len(), 1, "{found:?}");
            found[0].clone()
        };
        assert!(one("1000", "999").ends_with("`FOLDS` of a.rs is 999, in the code 1000"));
        assert!(
            one("| `FOLDS` | 1000 | `a.rs` | |\n", "").ends_with("lacks `FOLDS` = 1000 of a.rs")
        );
        let more = "| --- | --- | --- | --- |\n| `OLD` | 3 | `a.rs` | |";
        assert!(one("| --- | --- | --- | --- |", more).ends_with("a.rs has no `OLD`"));
    }
}
