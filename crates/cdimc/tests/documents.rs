//! Tests of the documents: their commands run, and their links lead somewhere.
//!
//! Blocks marked `sh` run in the order of their page, on a copy of `examples/`. Blocks marked `bash` (installing, long
//! experiments, files that a reader has) do not.
#![allow(clippy::unwrap_used)] // clippy recognizes only functions marked as tests
#![allow(clippy::print_stderr)] // a test that needs R reports that there is none

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Pages whose blocks run, each in its own folder. The first page writes `result`, which the others use.
const PAGES: [&str; 8] = [
    "README.md",
    "docs/guides/clinical.md",
    "docs/guides/files.md",
    "docs/guides/filling-in.md",
    "docs/guides/missing-data.md",
    "docs/guides/new-samples.md",
    "docs/guides/number-of-clusters.md",
    "docs/guides/one-sample.md",
];

/// The tutorial on real patients; R writes its tables.
const TUTORIAL: &str = "docs/tutorial/patients.md";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns the commands of a page.
fn script(page: &str) -> String {
    let (mut script, mut inside) = (String::new(), false);
    for line in std::fs::read_to_string(root().join(page)).unwrap().lines() {
        if let Some(mark) = line.strip_prefix("```") {
            inside = mark == "sh";
        } else if inside {
            script += line;
            script.push('\n');
        }
    }
    assert!(script.contains("cdimc "), "{page}: has no command");
    script
}

/// Copies the files of a folder.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Runs the commands of a page in a shell in `folder`, which gets the examples, with the `cdimc` of this build; returns
/// standard output and error.
fn run(page: &str, folder: &Path) -> (String, String) {
    copy(&root().join("examples"), &folder.join("examples"));
    let script = script(page);
    let command = Path::new(env!("CARGO_BIN_EXE_cdimc")).parent().unwrap().display();
    let output = Command::new("sh")
        .args(["-euc", &script])
        .env("PATH", format!("{command}:{}", std::env::var("PATH").unwrap()))
        .current_dir(folder)
        .output()
        .unwrap();
    let [said, stderr] = [output.stdout, output.stderr].map(|s| String::from_utf8(s).unwrap());
    assert!(output.status.success(), "{page}:\n{script}\n{stderr}");
    (said, stderr)
}

/// Returns the accuracies that `cdimc evaluate` prints, in order.
fn accuracies(output: &str) -> Vec<f64> {
    let lines = output.lines().filter(|line| line.starts_with("ACC"));
    lines.map(|line| line.split_whitespace().nth(1).unwrap().parse().unwrap()).collect()
}

#[test]
fn commands_of_the_documents_run_as_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let folder_of = |page: &str| folder.path().join(page.replace('/', "-"));
    for (i, page) in PAGES.into_iter().enumerate() {
        let here = folder_of(page);
        std::fs::create_dir(&here).unwrap();
        if i > 0 {
            copy(&folder_of(PAGES[0]).join("result"), &here.join("result"));
        }
        let (output, messages) = run(page, &here);
        match page {
            // "95 % of the patients are in the right subtype".
            "README.md" => {
                let accuracy = accuracies(&output)[0];
                assert!((0.945..0.955).contains(&accuracy), "{output}");
            }
            // "Seven of ten patients are in the right cluster. A warning reports that the clusters follow the missing
            // pattern", "`t-mixture` [..] has 95 % right".
            "docs/guides/missing-data.md" => {
                let [filled, unfilled] = accuracies(&output)[..] else { panic!("{output}") };
                assert!((0.65..0.75).contains(&filled) && unfilled > 0.945, "{output}");
                assert!(messages.contains("they follow the missing pattern"), "{messages}");
            }
            // "The command above proposes 3, with 2 as the runner-up", and the table of votes.
            "docs/guides/number-of-clusters.md" => {
                let record = std::fs::read_to_string(here.join("result-k/run.json")).unwrap();
                let record: serde_json::Value = serde_json::from_str(&record).unwrap();
                let number = &record["cluster-number"];
                assert!(number["chosen"] == 3 && number["runner-up"] == 2, "{number}");
                let votes = serde_json::json!([
                    { "n-clusters": 3, "share": 0.6 },
                    { "n-clusters": 2, "share": 0.2 },
                    { "n-clusters": 4, "share": 0.2 },
                ]);
                assert_eq!(number["votes"], votes);
            }
            _ => {}
        }
    }
}

#[test]
fn commands_of_the_tutorial_run_where_r_is() {
    let library = "stopifnot(requireNamespace('MultiAssayExperiment'))";
    let r = Command::new("Rscript").args(["-e", library]).output();
    if !r.is_ok_and(|r| r.status.success()) {
        eprintln!("{TUTORIAL}: not run, R or MultiAssayExperiment is missing");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (output, _) = run(TUTORIAL, folder.path());
    // "77 of the 80 patients with microRNA get the cluster that all assays gave them."
    let [accuracy] = accuracies(&output)[..] else { panic!("{output}") };
    assert!((0.962..0.963).contains(&accuracy), "{output}");
}

/// Returns the documents for readers, relative to the root.
fn documents() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        ["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(PathBuf::from).into();
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).unwrap() {
            let path = folder.join(entry.unwrap().file_name());
            if root().join(&path).is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                found.push(path);
            }
        }
    }
    found
}

/// Returns the anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let anchor = |heading: &str| {
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        heading.trim().to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
    };
    let heading = |line: &str| line.starts_with('#').then(|| anchor(line.trim_start_matches('#')));
    text.lines().filter_map(heading).collect()
}

/// Returns the targets of the links and pictures of a page.
fn links(text: &str) -> Vec<&str> {
    let after = |(at, _)| &text[at + 2..];
    text.match_indices("](").map(after).filter_map(|rest| rest.split([')', ' ']).next()).collect()
}

#[test]
fn links_of_the_documents_lead_somewhere() {
    let mut broken = Vec::new();
    for document in documents() {
        let here = root().join(&document);
        let text = std::fs::read_to_string(&here).unwrap();
        for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { here.clone() } else { here.with_file_name(file) };
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
    // Notes have no entry; pages link to them.
    let is_page = |path: &PathBuf| {
        path.starts_with("docs") && !path.starts_with("docs/notes") && !path.ends_with("SUMMARY.md")
    };
    let pages: BTreeSet<PathBuf> = documents().into_iter().filter(is_page).collect();
    assert_eq!(listed, pages);
}
