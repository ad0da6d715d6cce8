//! The documents as a reader meets them: their commands run, and their links lead somewhere.
//!
//! Blocks marked `sh` run in the order of their page, on a copy of `examples/`; blocks marked `bash` (installing, long
//! experiments) do not.
#![allow(clippy::unwrap_used)] // clippy knows only functions marked as tests

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Pages whose blocks run, each in a folder of its own.
const PAGES: [&str; 6] = [
    "README.md",
    "docs/start.md",
    "docs/guides/missing-data.md",
    "docs/guides/number-of-clusters.md",
    "docs/guides/new-samples.md",
    "docs/guides/filling-in.md",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The lines of all blocks of `text` that are marked with `language`.
fn blocks(text: &str, language: &str) -> String {
    let (mut script, mut inside) = (String::new(), false);
    for line in text.lines() {
        if let Some(mark) = line.strip_prefix("```") {
            inside = mark == language;
        } else if inside {
            script += line;
            script.push('\n');
        }
    }
    script
}

#[test]
fn commands_of_the_documents_run_as_they_are_written() {
    let path = std::env::var("PATH").unwrap();
    let command = Path::new(env!("CARGO_BIN_EXE_cdimc")).parent().unwrap().display();
    for page in PAGES {
        let script = blocks(&std::fs::read_to_string(root().join(page)).unwrap(), "sh");
        assert!(script.contains("cdimc "), "{page}: has no command");
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("examples")).unwrap();
        for entry in std::fs::read_dir(root().join("examples")).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), folder.path().join("examples").join(entry.file_name()))
                .unwrap();
        }
        let output = Command::new("sh")
            .args(["-euc", &script])
            .env("PATH", format!("{command}:{path}"))
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{page}:\n{script}\n{said}");
        assert!(page != "docs/start.md" || !said.contains(" WARN "), "{page}:\n{said}");
    }
}

#[test]
fn the_first_page_finds_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let found = |method: &str| {
        let out = folder.path().join(method);
        let run = |arguments: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_cdimc"));
            let output = command.args(arguments).current_dir(root()).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        let out = out.to_str().unwrap();
        let tables = ["rna", "methylation", "protein"].map(|name| format!("examples/{name}.csv"));
        let mut cluster = vec!["cluster", "--id", "patient", "-k", "4", "--method", method];
        cluster.extend(["-o", out]);
        tables.iter().for_each(|table| cluster.extend(["--view", table]));
        run(&cluster);
        let labels = format!("{out}/labels.csv");
        let scores = run(&["evaluate", "--labels", &labels, "--truth", "examples/subtypes.csv"]);
        let line = scores.lines().find(|line| line.starts_with("ACC")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap()
    };
    // "More than nine in ten are in the right cluster. k-means after filling in column means finds seven in ten".
    assert!(found("t-mixture") > 0.9);
    assert!((0.65..0.75).contains(&found("concat")));
}

/// The documents that a reader opens, relative to the root.
fn documents() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        ["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(PathBuf::from).into();
    for folder in ["docs", "docs/guides", "docs/methods", "docs/results"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name();
            if Path::new(&name).extension().is_some_and(|e| e == "md") {
                found.push(Path::new(folder).join(name));
            }
        }
    }
    found
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let anchor = |heading: &str| {
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        heading.trim().to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
    };
    let heading = |line: &str| line.starts_with('#').then(|| anchor(line.trim_start_matches('#')));
    text.lines().filter_map(heading).collect()
}

/// The targets of the links and pictures of a page.
fn links(text: &str) -> Vec<&str> {
    let after = |(at, _)| &text[at + 2..];
    text.match_indices("](").map(after).filter_map(|rest| rest.split([')', ' ']).next()).collect()
}

#[test]
fn links_of_the_documents_lead_somewhere() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = std::fs::read_to_string(root().join(&document)).unwrap();
        for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let folder = root().join(&document).parent().unwrap().to_owned();
            let target = if file.is_empty() { root().join(&document) } else { folder.join(file) };
            let is_there = target.exists()
                && (anchor.is_empty()
                    || anchors(&std::fs::read_to_string(&target).unwrap()).contains(anchor));
            if !is_there {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_page_of_the_book_is_in_its_summary() {
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let listed: BTreeSet<PathBuf> =
        links(&summary).into_iter().map(|link| Path::new("docs").join(link)).collect();
    let is_page = |path: &PathBuf| path.starts_with("docs") && !path.ends_with("SUMMARY.md");
    let pages: BTreeSet<PathBuf> = documents().into_iter().filter(is_page).collect();
    assert_eq!(listed, pages);
}
