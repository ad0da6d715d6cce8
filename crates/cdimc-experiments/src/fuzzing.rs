//! What the fuzz targets and the tests of their corpora do with files that `cargo xtask` reads.

#[cfg(test)]
#[path = "../../../fuzz/bodies/corpus.rs"]
mod corpus;

use crate::{experiment, experiment::Variant, records};

/// Reads the bytes as an experiment, to the rows of its table; whether they are accepted.
pub fn experiment(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(experiment) = experiment::parse("some", text) else { return false };
    let _rows: Vec<Variant> = experiment.methods.iter().flat_map(Variant::expand).collect();
    true
}

/// Reads the bytes as a line of records, as it stands and under digests that fit it; whether it is accepted then.
///
/// # Panics
/// If a record that was read is not read again from its own line.
pub fn record(bytes: &[u8]) -> bool {
    let _ = records::parse(bytes);
    let Some(record) = records::resealed(bytes) else { return false };
    let line = records::line(&record).expect("a record is text");
    let again = records::parse(line.trim_end().as_bytes()).expect("its own line is read");
    assert_eq!(records::line(&again).expect("a record is text"), line);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use corpus::{files, is_finding};

    type Target = fn(&[u8]) -> bool;

    #[test]
    fn every_file_of_the_corpora_is_read_and_every_finding_refused() {
        for (target, accepts) in [("experiment", experiment as Target), ("record", record)] {
            for path in files(target) {
                let bytes = std::fs::read(&path).unwrap();
                assert_eq!(accepts(&bytes), !is_finding(&path), "{}", path.display());
                for end in 0..bytes.len() {
                    accepts(&bytes[..end]);
                }
            }
        }
    }
}
