//! Files of the fuzz corpora, for tests.
#![allow(dead_code)] // Every test uses a part.

use std::path::{Path, PathBuf};

/// Returns the folder of one target.
pub(crate) fn folder(target: &str) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = from.ancestors().find(|root| root.join("fuzz/corpus").is_dir());
    root.expect("a checkout with its corpora").join("fuzz/corpus").join(target)
}

/// Returns the files of one target, sorted by name.
pub(crate) fn files(target: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder(target)).expect("a corpus");
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    assert!(!files.is_empty(), "{target} has no files");
    files
}

/// Returns whether a fuzzer found the file; such files are refused.
pub(crate) fn is_finding(path: &Path) -> bool {
    path.to_string_lossy().contains("finding-")
}
