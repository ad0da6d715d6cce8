//! What the fuzz targets and the tests of their corpora do with files that `cargo xtask` reads.

use crate::{experiment, records};

/// Reads the bytes as an experiment, to the rows of its table; whether they are accepted.
pub fn experiment(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(experiment) = experiment::parse("some", text) else { return false };
    let n_rows: usize = experiment.methods.iter().map(|variant| variant.expand().len()).sum();
    n_rows >= experiment.methods.len()
}

/// Reads the bytes as a line of records, as it stands and under digests that fit it; whether it is accepted then.
///
/// # Panics
/// If a record that was read is not read again from its own line.
pub fn record(bytes: &[u8]) -> bool {
    let _ = records::parse(bytes);
    let Some(record) = records::sealed_anew(bytes) else { return false };
    let line = records::line(&record).expect("a record is text");
    let again = records::parse(line.trim_end().as_bytes()).expect("its own line is read");
    assert_eq!(records::line(&again).expect("a record is text"), line);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    type Target = fn(&[u8]) -> bool;

    /// The files in a folder of the repository.
    fn files(folder: &str) -> Vec<PathBuf> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
        let entries = std::fs::read_dir(&folder).unwrap();
        let files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        assert!(!files.is_empty(), "{} is empty", folder.display());
        files
    }

    #[test]
    fn every_file_of_the_corpora_is_read_and_every_finding_refused() {
        for (target, accepts) in [("experiment", experiment as Target), ("record", record)] {
            for path in files(&format!("fuzz/corpus/{target}")) {
                let bytes = std::fs::read(&path).unwrap();
                let is_finding = path.to_string_lossy().contains("finding-");
                assert_eq!(accepts(&bytes), !is_finding, "{}", path.display());
                for end in 0..bytes.len() {
                    accepts(&bytes[..end]);
                }
            }
        }
    }
}
