//! Tests that every file of the fuzz corpora, whole or truncated, is read or refused.

#[path = "../../../fuzz/bodies/corpus.rs"]
mod corpus;
#[path = "../../../fuzz/bodies/tables.rs"]
mod tables;

use cdimc_tables::formats;
use corpus::{files, is_finding};
use std::path::Path;

#[test]
fn every_seed_of_the_corpora_is_read_and_every_finding_refused() {
    let is_built =
        |format: &&str| cfg!(feature = "columnar") || !["parquet", "feather"].contains(format);
    for format in formats().map(|(_, endings)| endings[0]).filter(is_built) {
        for path in files(format) {
            let bytes = std::fs::read(&path).expect("a file");
            let accepts = |bytes: &[u8]| tables::table(&path.to_string_lossy(), bytes);
            assert_eq!(accepts(&bytes), !is_finding(&path), "{}", path.display());
            for end in (0..bytes.len()).step_by(1 + bytes.len() / 50) {
                // A truncated text may still be a table.
                let accepted = accepts(&bytes[..end]);
                let is_text = std::str::from_utf8(&bytes).is_ok();
                assert!(!accepted || is_text, "{} of {end} bytes", path.display());
            }
        }
    }
}

#[test]
fn the_reference_has_every_format() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/reference/files.md")).expect("a page");
    for (known_as, _) in formats() {
        for name in known_as.split(['(', ')', ',']).map(str::trim).filter(|name| !name.is_empty()) {
            assert!(page.contains(name), "{name}");
        }
    }
}

#[test]
fn images_and_manifests_of_the_corpora_are_read_or_refused() {
    for path in files("idx") {
        let bytes = std::fs::read(&path).expect("a file");
        assert_eq!(tables::images(&bytes), !is_finding(&path), "{}", path.display());
        for end in 0..bytes.len() {
            assert!(!tables::images(&bytes[..end]), "{} of {end}", path.display());
        }
    }
    for path in files("manifest") {
        let bytes = std::fs::read(&path).expect("a file");
        assert!(tables::manifest(&bytes), "{}", path.display());
        for end in 0..bytes.len() {
            tables::manifest(&bytes[..end]);
        }
    }
}
