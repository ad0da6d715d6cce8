//! What counts of a result: that it is whole, and its bits.

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;

/// The parts of a result that are there, each with what stands for its bits; empty where there is none.
pub(super) type State = BTreeMap<String, String>;

/// The part that stands for a run that was interrupted, and goes on.
pub(super) const INTERRUPTED: &str = "interrupted run";

/// The files that hold times; all others of a result have the same bits in every run.
const TIMES: [&str; 3] = ["run.json", "report.html", "comparison.csv"];
/// Those that every run of `cdimc cluster` has.
const NEEDED: [&str; 4] = ["labels.csv", "markers.csv", "report.html", "run.json"];
/// The columns of `table.csv` before those of seconds and memory.
const SCORES: usize = 19;

/// The state of what a command of `cdimc` wrote, a file or a folder.
pub(super) fn result(out: &Path) -> Result<State> {
    if out.is_file() {
        return Ok(State::from([("file".to_owned(), digest(out)?)]));
    }
    if !out.exists() {
        return Ok(State::new());
    }
    let record = std::fs::read(out.join("run.json")).context("run.json")?;
    let record: serde_json::Value = serde_json::from_slice(&record).context("run.json")?;
    if record["status"] == "interrupted" {
        let checkpoint = out.join("checkpoint.safetensors");
        let bits = if checkpoint.exists() { digest(&checkpoint)? } else { String::new() };
        return Ok(State::from([(INTERRUPTED.to_owned(), bits)]));
    }
    let written = record["written"].as_object().context("run.json: lists no files")?;
    let is_cluster = record["status"] == "finished";
    let needed = NEEDED.into_iter().filter(|_| is_cluster);
    for name in needed.chain(written.keys().map(String::as_str)) {
        ensure!(out.join(name).is_file(), "{name} is missing");
    }
    if out.join("report.html").exists() {
        let page = std::fs::read_to_string(out.join("report.html"))?;
        ensure!(page.trim_end().ends_with("</html>"), "report.html is cut off");
    }
    let mut bits = String::new();
    let mut names: Vec<_> = std::fs::read_dir(out)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_>>()?;
    names.sort();
    for name in names.iter().filter(|name| !TIMES.contains(&name.as_str())) {
        bits += &format!("{name} {} ", digest(&out.join(name))?);
    }
    Ok(State::from([("run".to_owned(), bits)]))
}

/// The state of a folder of `xtask reproduce`: scores by cell, the table, the report.
pub(super) fn experiment(folder: &Path) -> Result<State> {
    let mut state = State::new();
    for (key, scores) in cdimc_experiments::scores_in(folder)? {
        let scores = serde_json::to_string(&scores)?;
        let known = state.insert(key, scores.clone());
        ensure!(known.is_none_or(|known| known == scores), "a cell has two scores");
    }
    if let Ok(table) = std::fs::read_to_string(folder.join("table.csv")) {
        ensure!(table.ends_with('\n'), "table.csv is cut off");
        let line = |line: &str| line.split(',').take(SCORES).collect::<Vec<_>>().join(",");
        state.insert("table.csv".into(), table.lines().map(line).collect::<Vec<_>>().join("\n"));
    }
    if let Ok(report) = std::fs::read_to_string(folder.join("report.md")) {
        ensure!(report.contains("\n## Runs\n"), "report.md is cut off");
        state.insert("report.md".into(), "whole".into());
    }
    Ok(state)
}

/// The SHA-256 of a file.
pub(super) fn digest(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    Ok(format!("{:x}", Sha256::digest(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_lacks_a_file_or_holds_half_of_one_is_no_result() {
        let desk = tempfile::tempdir().unwrap();
        let out = desk.path().join("out");
        assert!(result(&out).unwrap().is_empty());
        std::fs::create_dir(&out).unwrap();
        let put = |name: &str, text: &str| std::fs::write(out.join(name), text).unwrap();
        NEEDED.iter().for_each(|name| put(name, "x"));
        put("extra.csv", "x");
        put("report.html", "<html></html>\n");
        put("run.json", "{\"status\": \"finished\", \"written\": {\"extra.csv\": \"\"}}");
        let whole = result(&out).unwrap();
        put("labels.csv", "y");
        assert_ne!(result(&out).unwrap(), whole);
        put("report.html", "<html>");
        assert!(format!("{:#}", result(&out).unwrap_err()).contains("report.html is cut off"));
        put("report.html", "<html></html>\n");
        for missing in ["markers.csv", "extra.csv"] {
            std::fs::remove_file(out.join(missing)).unwrap();
            let error = format!("{:#}", result(&out).unwrap_err());
            assert!(error.contains(&format!("{missing} is missing")), "{error}");
            put(missing, "x");
        }
        put("run.json", "{\"status");
        assert!(result(&out).is_err());
    }
}
