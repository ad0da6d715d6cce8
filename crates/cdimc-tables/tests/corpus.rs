//! The corpora of the fuzz targets: every file is read or refused, and so is every file cut short.

#[path = "../../../fuzz/bodies/corpus.rs"]
mod corpus;
#[path = "../../../fuzz/bodies/tables.rs"]
mod tables;

use corpus::{files, is_finding};

#[test]
fn every_seed_of_the_corpora_is_read_and_every_finding_answered() {
    let targets = ["text", "mtx", "npy", "npz", "mat", "hdf5", "xlsx"];
    let columnar: &[&str] = if cfg!(feature = "columnar") { &["parquet", "arrow"] } else { &[] };
    for target in targets.iter().chain(columnar) {
        for path in files(target) {
            let bytes = std::fs::read(&path).expect("a file");
            let accepts = |bytes: &[u8]| tables::table(&path.to_string_lossy(), bytes);
            assert_eq!(accepts(&bytes), !is_finding(&path), "{}", path.display());
            for end in (0..bytes.len()).step_by(1 + bytes.len() / 50) {
                // What is left of a text may still be a table.
                let accepted = accepts(&bytes[..end]);
                let is_text = ["text", "mtx"].contains(target);
                assert!(!accepted || is_text, "{} of {end} bytes", path.display());
            }
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
