//! The documents as a reader meets them: their commands run, and their links lead somewhere.
//!
//! Blocks marked `sh` run in the order of their page, on a copy of `examples/`; blocks marked `bash` (installing, long
//! experiments) do not.
#![allow(clippy::unwrap_used)] // clippy knows only functions marked as tests

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Pages whose blocks run, each in a folder of its own; those after the second find the `result` of that one there.
const PAGES: [&str; 7] = [
    "README.md",
    "docs/start.md",
    "docs/guides/clinical.md",
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

/// Copies the files of a folder.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// What a shell says of `script` in `folder`, where `cdimc` is the command of this build: standard output and error.
fn run(page: &str, script: &str, folder: &Path) -> (String, String) {
    let command = Path::new(env!("CARGO_BIN_EXE_cdimc")).parent().unwrap().display();
    let output = Command::new("sh")
        .args(["-euc", script])
        .env("PATH", format!("{command}:{}", std::env::var("PATH").unwrap()))
        .current_dir(folder)
        .output()
        .unwrap();
    let [said, told] = [output.stdout, output.stderr].map(|s| String::from_utf8(s).unwrap());
    assert!(output.status.success(), "{page}:\n{script}\n{told}");
    (said, told)
}

/// The accuracy that `cdimc evaluate` prints.
fn accuracy(said: &str) -> f64 {
    let line = said.lines().find(|line| line.starts_with("ACC")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn commands_of_the_documents_run_as_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let folder_of = |page: &str| folder.path().join(page.replace('/', "-"));
    for (i, page) in PAGES.into_iter().enumerate() {
        let script = blocks(&std::fs::read_to_string(root().join(page)).unwrap(), "sh");
        assert!(script.contains("cdimc "), "{page}: has no command");
        let here = folder_of(page);
        std::fs::create_dir(&here).unwrap();
        copy(&root().join("examples"), &here.join("examples"));
        if i > 1 {
            copy(&folder_of(PAGES[1]).join("result"), &here.join("result"));
        }
        let (said, told) = run(page, &script, &here);
        if i == 1 {
            // "It proposes three here with four [..] as the runner-up, and warns that half of the splits choose four",
            // "More than nine in ten are in the right cluster".
            assert!(told.contains("k = 3: ") && told.contains("runner-up: 4"), "{told}");
            assert!(told.contains("choose 3 clusters; 50 % choose 4"), "{told}");
            assert!(accuracy(&said) > 0.9, "{said}");
            // "k-means after filling in column means (`--method concat`) finds seven in ten".
            let with_concat = |line: &str| {
                let of_result = line.contains("-o result") && !line.contains("-o result-k");
                let is_scored = line.starts_with("cdimc evaluate");
                (of_result || is_scored).then(|| {
                    line.replace("-o result", "--method concat -o plain")
                        .replace("result/", "plain/")
                })
            };
            let script: Vec<String> = script.lines().filter_map(with_concat).collect();
            let (said, told) = run(page, &script.join("\n"), &here);
            assert!((0.65..0.75).contains(&accuracy(&said)), "{said}");
            assert!(told.contains("clusters follow the missing pattern"), "{told}");
        }
    }
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
