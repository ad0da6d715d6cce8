//! The corpora of the fuzz targets: every file is read or refused, and so is every file cut short.

use cdimc_data::{IdxFile, Manifest};
use cdimc_tables::{ReadOptions, ViewSource, read_bytes};
use std::path::{Path, PathBuf};

/// The files of one target.
fn files(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&folder).expect("a corpus");
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
}

/// Reads the file as the fuzz target does, and says whether it was accepted.
fn accepts(path: &Path, bytes: &[u8]) -> bool {
    let source = ViewSource { name: None, path: path.to_owned(), member: None };
    let options = ReadOptions { max_bytes: Some(64 << 20), ..ReadOptions::default() };
    let Ok(tables) = read_bytes(bytes.to_vec(), &source, &options) else { return false };
    for table in &tables {
        assert_eq!(table.features.len(), table.values.ncols());
        assert!(table.ids.as_ref().is_none_or(|ids| ids.len() == table.values.nrows()));
    }
    true
}

#[test]
fn every_seed_is_read_and_every_finding_answered() {
    let targets = ["text", "npy", "npz", "mat", "hdf5"];
    let columnar: &[&str] = if cfg!(feature = "columnar") { &["parquet", "arrow"] } else { &[] };
    for target in targets.iter().chain(columnar) {
        for path in files(target) {
            let bytes = std::fs::read(&path).expect("a file");
            let is_finding = path.to_string_lossy().contains("finding-");
            assert_eq!(accepts(&path, &bytes), !is_finding, "{}", path.display());
            for end in (0..bytes.len()).step_by(1 + bytes.len() / 50) {
                // What is left of a text may still be a table.
                let accepted = accepts(&path, &bytes[..end]);
                assert!(!accepted || *target == "text", "{} of {end} bytes", path.display());
            }
        }
    }
}

#[test]
fn images_and_manifests_are_read_or_refused() {
    for path in files("idx") {
        let bytes = std::fs::read(&path).expect("a file");
        assert!(IdxFile::parse(&path, &bytes).is_ok(), "{}", path.display());
        for end in 0..bytes.len() {
            assert!(IdxFile::parse(&path, &bytes[..end]).is_err(), "{} of {end}", path.display());
        }
    }
    for path in files("manifest") {
        let text = std::fs::read_to_string(&path).expect("a text");
        assert!(Manifest::parse(&path, &text).is_ok(), "{}", path.display());
        for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
            let _ = Manifest::parse(&path, &text[..end]);
        }
    }
}
