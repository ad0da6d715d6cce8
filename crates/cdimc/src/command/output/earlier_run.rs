//! Reads the record of an earlier run in an output folder, which lists the files of that run.

use super::RUN_FILE;
use crate::tables::datasets::sha256;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{DirEntry, File};
use std::io;
use std::path::Path;

/// Beginning of a record, before the SHA-256 of the rest.
const DIGEST: &str = "{\n  \"digest\": \"";

/// Record of a run with names and SHA-256 of its other files; a later run may replace exactly these.
#[derive(Serialize)]
struct Listed<'a, R> {
    #[serde(flatten)]
    record: &'a R,
    written: BTreeMap<String, String>,
}

/// Returns the record as text with its digest; the other files of the run are in `folder`.
///
/// # Errors
/// If they cannot be read.
pub(super) fn sealed_record(folder: &Path, record: &impl Serialize) -> anyhow::Result<String> {
    let digest = |entry: io::Result<DirEntry>| -> io::Result<(String, String)> {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        Ok((name, sha256(File::open(entry.path())?)?))
    };
    let written = std::fs::read_dir(folder)?.map(digest).collect::<io::Result<_>>()?;
    let text = serde_json::to_string_pretty(&Listed { record, written })?;
    let rest = format!("{}\n", text.strip_prefix("{\n").unwrap_or(&text));
    Ok(format!("{DIGEST}{}\",\n{rest}", sha256(rest.as_bytes())?))
}

/// The run that wrote a folder.
pub(super) struct EarlierRun {
    pub(super) is_interrupted: bool,
    /// SHA-256 of each of its files except the record.
    written: BTreeMap<String, String>,
}

impl EarlierRun {
    /// Returns the run in `folder`; `None` without a record with a correct digest.
    pub(super) fn of(folder: &Path) -> Option<Self> {
        let path = folder.join(RUN_FILE);
        // Opening a pipe may block forever.
        let text = path.is_file().then(|| std::fs::read_to_string(path))?.ok()?;
        let (digest, rest) = text.strip_prefix(DIGEST)?.split_once("\",\n")?;
        if sha256(rest.as_bytes()).ok()? != digest {
            return None;
        }
        let record: serde_json::Value = serde_json::from_str(&text).ok()?;
        let written = serde_json::from_value(record.get("written")?.clone()).ok()?;
        Some(Self { is_interrupted: record["status"] == "interrupted", written })
    }

    /// Returns whether this is a file of the run and unchanged.
    pub(super) fn wrote(&self, entry: &DirEntry) -> bool {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        let same = |digest: &String| {
            File::open(entry.path()).and_then(sha256).is_ok_and(|found| found == *digest)
        };
        is_file && (name == RUN_FILE || self.written.get(&name).is_some_and(same))
    }
}
