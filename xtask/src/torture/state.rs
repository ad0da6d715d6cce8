//! States of results: completeness and bits.

use anyhow::{Context, Result, ensure};
use cdimc::tables::datasets::sha256;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// Parts of a result, each with a digest of its bits; empty without a result.
pub(super) type State = BTreeMap<String, String>;

/// Key of an interrupted run that can be resumed.
pub(super) const INTERRUPTED: &str = "interrupted run";

/// Files with times; all others have the same bits in every run.
const TIMED_FILES: [&str; 3] = ["run.json", "report.html", "comparison.csv"];
/// Files of every run of `cdimc cluster`.
const REQUIRED_FILES: [&str; 4] = ["labels.csv", "markers.csv", "report.html", "run.json"];
/// Returns the state of the output of a `cdimc` command, a file or a folder.
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
    let needed = REQUIRED_FILES.into_iter().filter(|_| is_cluster);
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
    for name in names.iter().filter(|name| !TIMED_FILES.contains(&name.as_str())) {
        bits += &format!("{name} {} ", digest(&out.join(name))?);
    }
    Ok(State::from([("run".to_owned(), bits)]))
}

/// Returns the state of a folder of `xtask reproduce`: scores by cell, and the report.
pub(super) fn experiment(folder: &Path) -> Result<State> {
    let mut state = State::new();
    for (key, scores) in cdimc_experiments::scores_in(folder)? {
        let scores = serde_json::to_string(&scores)?;
        let known = state.insert(key, scores.clone());
        ensure!(known.is_none_or(|known| known == scores), "a cell has two scores");
    }
    if let Ok(report) = std::fs::read_to_string(folder.join("report.md")) {
        ensure!(report.contains("\n## Runs\n"), "report.md is cut off");
        state.insert("report.md".into(), "whole".into());
    }
    Ok(state)
}

pub(super) fn digest(path: &Path) -> Result<String> {
    File::open(path).and_then(sha256).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_file_or_with_half_of_one_is_no_result() {
        let desk = tempfile::tempdir().unwrap();
        let out = desk.path().join("out");
        assert!(result(&out).unwrap().is_empty());
        std::fs::create_dir(&out).unwrap();
        let put = |name: &str, text: &str| std::fs::write(out.join(name), text).unwrap();
        REQUIRED_FILES.iter().for_each(|name| put(name, "x"));
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
