//! The records of finished cells on disk: one line of JSON a cell, added as cells end and never changed. `cargo xtask
//! merge` adds what an experiment's runs and shards have recorded to the workspace's own records.
//!
//! A line begins with the SHA-256 of the rest of it. A torn last line, as a kill leaves it, is as if it had
//! never been written; any other line that does not fit its digest is an error: it was changed.

use crate::cell::{Cell, FORMAT, Record, Status};
use crate::methods::agree;
use crate::{experiment, workspace};
use anyhow::{Context, Result, ensure};
use cdimc::say;
use cdimc_data::write_whole;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What a line begins with, before its digest.
const HEAD: &str = "{\"sha256\":\"";
/// Between a line's digest and the rest.
const NECK: &str = "\",";
/// Hexadecimal digits of a digest.
const DIGITS: usize = 64;

/// The files of records in a folder, in the order of their names; none if there is no folder.
pub(crate) fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let is_of_records = |path: &PathBuf| path.extension().is_some_and(|end| end == "jsonl");
    let mut paths: Vec<PathBuf> = paths.into_iter().filter(is_of_records).collect();
    paths.sort();
    Ok(paths)
}

/// A cell's scores by their names, each a fraction.
pub type Scores = BTreeMap<String, f64>;

/// The scores of a folder of results, of every record with its key; `None` for a cell that ended without scores.
///
/// # Errors
/// If a file cannot be read, or a line of it is no record.
pub fn scores_in(folder: &Path) -> Result<Vec<(String, Option<Scores>)>> {
    let records = read_all(&files_in(folder)?)?;
    Ok(records.into_iter().map(|record| (record.key, record.outcome.scores)).collect())
}

/// The records of a file, in its order; none if there is no file.
pub(crate) fn read(path: &Path) -> Result<Vec<Record>> {
    let bytes = match std::fs::read(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        bytes => bytes.with_context(|| path.display().to_string())?,
    };
    let mut records = Vec::new();
    for (i, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let at = || format!("{}, line {}", path.display(), i + 1);
        match line.strip_suffix(b"\n") {
            Some(line) => records.push(parse(line).with_context(at)?),
            // The last line without an end is either whole or torn.
            None => records.extend(parse(line).ok()),
        }
    }
    Ok(records)
}

pub(crate) fn read_all(paths: &[PathBuf]) -> Result<Vec<Record>> {
    Ok(paths.iter().map(|path| read(path)).collect::<Result<Vec<_>>>()?.concat())
}

/// Adds a record at the end of a file, whole and on the disk when this returns.
pub(crate) fn append(path: &Path, record: &Record) -> Result<()> {
    let write = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        // Several processes may add to one file.
        file.lock()?;
        mend_end(&mut file)?;
        file.write_all(line(record)?.as_bytes())?;
        file.sync_data()
    };
    write().with_context(|| path.display().to_string())
}

/// Replaces a file by these records.
pub(crate) fn write(path: &Path, records: &[Record]) -> Result<()> {
    let lines: Vec<String> = records.iter().map(line).collect::<std::io::Result<_>>()?;
    Ok(write_whole(path, lines.concat().as_bytes())?)
}

/// Returns the newest record of every cell, in the order of their first records. A record of the same run under later
/// names counts as newer, and a failure never replaces a result.
pub(crate) fn newest(records: Vec<Record>) -> Vec<Record> {
    let rank = |r: &Record| (r.outcome.status != Status::Failed, r.circumstances.finished);
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut kept: Vec<Record> = Vec::new();
    for record in records {
        let place = *places.entry(record.key.clone()).or_insert(kept.len());
        match kept.get_mut(place) {
            None => kept.push(record),
            Some(known) if rank(&record) >= rank(known) => *known = record,
            Some(_) => {}
        }
    }
    kept
}

/// Finished cells by their keys.
pub(crate) struct Finished(HashMap<String, Record>);

impl Finished {
    pub(crate) fn new(records: Vec<Record>) -> Self {
        Self(newest(records).into_iter().map(|record| (record.key.clone(), record)).collect())
    }

    /// The record of a cell, under the names that the cell has now. A new setting of the method does not
    /// require another run; a changed default does.
    pub(crate) fn of(&self, cell: &Cell) -> Option<Record> {
        let record = self.0.get(&cell.key())?;
        if !agree(&record.cell.settings, &cell.settings) {
            return None;
        }
        let Cell { experiment, label, point, overrides, .. } = cell.clone();
        let cell = Cell { experiment, label, point, overrides, ..record.cell.clone() };
        Some(Record { cell, ..record.clone() })
    }

    /// Returns whether the record exists under the same names of experiment and row.
    pub(crate) fn has(&self, record: &Record) -> bool {
        self.0.get(&record.key).is_some_and(|found| found.cell == record.cell)
    }
}

/// A record as a line, its end included.
pub(crate) fn line(record: &Record) -> std::io::Result<String> {
    let text = serde_json::to_string(record)?;
    let rest = &text[1..];
    Ok(format!("{HEAD}{}{NECK}{rest}\n", digest(rest)))
}

/// The record of a line without its end.
pub(crate) fn parse(line: &[u8]) -> Result<Record> {
    let line = std::str::from_utf8(line).context("no text")?;
    let after = line.strip_prefix(HEAD).context("no record")?;
    let (found, rest) = after.split_at_checked(DIGITS).context("no record")?;
    let rest = rest.strip_prefix(NECK).context("no record")?;
    ensure!(
        digest(rest) == found,
        "the record differs from its SHA-256: it was changed after it was written"
    );
    let value: Value = serde_json::from_str(&format!("{{{rest}")).context("no record")?;
    let format = &value["format"];
    ensure!(*format == FORMAT, "record format = {format}: must be {FORMAT}");
    let record: Record = serde_json::from_value(value).context("no record")?;
    ensure!(record.key == record.cell.key(), "the key is not that of the cell");
    Ok(record)
}

/// Reads the record of a line, with the current format and the key of its cell.
pub(crate) fn resealed(line: &[u8]) -> Option<Record> {
    let mut record: Record = serde_json::from_slice(line).ok()?;
    record.format = FORMAT;
    record.key = record.cell.key();
    Some(record)
}

fn digest(rest: &str) -> String {
    format!("{:x}", Sha256::digest(rest))
}

/// Ends the last line of a file, or takes it away where it is torn.
fn mend_end(file: &mut File) -> std::io::Result<()> {
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(-1)).is_ok() {
        file.read_exact(&mut last)?;
    }
    if last == *b"\n" {
        return Ok(());
    }
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    let start = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    match parse(&bytes[start..]) {
        Ok(_) => file.write_all(b"\n"),
        Err(_) => file.set_len(start as u64),
    }
}

#[derive(clap::Args)]
pub struct Arguments {
    /// Name of an experiment, a TOML file, or `all`.
    experiment: String,
    /// Folder of all results [default: results].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The file that is added to [default: docs/results/records/EXPERIMENT.jsonl].
    #[arg(long, value_name = "FILE")]
    into: Option<PathBuf>,
}

/// Runs `cargo xtask merge`.
pub(crate) fn merge(arguments: &Arguments) -> Result<ExitCode> {
    let experiments = experiment::named(&arguments.experiment)?;
    ensure!(
        arguments.into.is_none() || experiments.len() == 1,
        "--into names the file of one experiment, here are {}",
        experiments.len()
    );
    let out = arguments.out.clone().unwrap_or_else(workspace::results);
    let mut found = Vec::new();
    for experiment in experiments {
        let files = files_in(&out.join(&experiment.name))?;
        if !files.is_empty() {
            found.push((experiment.name, files));
        }
    }
    ensure!(!found.is_empty(), "{}: has no records of {}", out.display(), arguments.experiment);
    for (name, files) in found {
        let own = workspace::reference_records().join(format!("{name}.jsonl"));
        let into = arguments.into.clone().unwrap_or(own);
        let known = read(&into)?;
        let (merged, new) = merged(known, read_all(&files)?);
        if let Some(folder) = into.parent() {
            std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        write(&into, &merged)?;
        let (files, all, path) = (files.len(), merged.len(), into.display());
        say!("{name}: {all} records in {path}, {new} of them new, from {files} files");
    }
    Ok(ExitCode::SUCCESS)
}

/// The known records in their order, with what replaces them, and after them the new ones in the order of their
/// cells, whichever shard ran them; and how many those are. Failures are not kept.
fn merged(known: Vec<Record>, found: Vec<Record>) -> (Vec<Record>, usize) {
    let known = newest(known);
    let n_known = known.len();
    let mut all = newest(known.into_iter().chain(found).collect());
    let mut new = all.split_off(n_known);
    new.retain(|record| record.outcome.status != Status::Failed);
    new.sort_by_cached_key(|record| {
        let c = &record.cell;
        let row = (c.dataset.clone(), c.pattern.clone(), c.label.clone(), c.overrides.clone());
        (row, c.fold, c.repetition, c.seed)
    });
    let n_new = new.len();
    all.extend(new);
    (all, n_new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::tests::record;

    fn written(records: &[Record]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.jsonl");
        records.iter().for_each(|record| append(&path, record).unwrap());
        (folder, path)
    }

    fn seeds(records: &[Record]) -> Vec<u64> {
        records.iter().map(|record| record.cell.seed).collect()
    }

    #[test]
    fn records_come_back_as_they_were_written() {
        // Every digit counts.
        let (_folder, path) = written(&[record(1, 28_010.492_390_121_205), record(2, 0.8)]);
        let text = std::fs::read_to_string(&path).unwrap();
        let read = read(&path).unwrap();
        assert_eq!((seeds(&read), text.lines().count()), (vec![1, 2], 2));
        assert_eq!(read[0].outcome.score("acc"), Some(28_010.492_390_121_205));
        let again: String = read.iter().map(|record| line(record).unwrap()).collect();
        assert_eq!(again, text);
    }

    #[test]
    fn edited_digits_are_refused() {
        let (_folder, path) = written(&[record(1, 0.8125), record(2, 0.8)]);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("0.8125"));
        std::fs::write(&path, text.replace("0.8125", "0.9125")).unwrap();
        let error = format!("{:#}", read(&path).unwrap_err());
        assert!(error.contains("line 1: the record differs from its SHA-256"), "{error}");
    }

    #[test]
    fn a_torn_last_line_was_never_written_and_the_next_takes_its_place() {
        let (_folder, path) = written(&[record(1, 0.9), record(2, 0.8)]);
        let text = std::fs::read(&path).unwrap();
        let first = text.iter().position(|&byte| byte == b'\n').unwrap() + 1;
        for torn in first..text.len() {
            std::fs::write(&path, &text[..torn]).unwrap();
            let left = seeds(&read(&path).unwrap());
            // Without its end alone a line is still whole.
            assert_eq!(left, if torn + 1 == text.len() { vec![1, 2] } else { vec![1] });
            append(&path, &record(3, 0.7)).unwrap();
            assert_eq!(seeds(&read(&path).unwrap()), [left, vec![3]].concat());
        }
    }

    #[test]
    fn the_latest_result_of_a_cell_counts_and_a_failure_only_without_one() {
        let at = |finished, acc| {
            let mut record = record(1, acc);
            record.circumstances.finished = finished;
            record
        };
        let mut failed = at(9, 0.0);
        failed.outcome.status = Status::Failed;
        let kept = newest(vec![at(1, 0.1), failed.clone(), at(3, 0.3), at(2, 0.2)]);
        assert_eq!(kept.len(), 1);
        assert_eq!(kept[0].circumstances.finished, 3);
        assert_eq!(newest(vec![failed]).len(), 1);
    }

    #[test]
    fn a_cell_of_another_experiment_is_found_and_takes_its_new_names() {
        let finished = Finished::new(vec![record(1, 0.9)]);
        let mut cell = record(1, 0.9).cell;
        (cell.experiment, cell.label) = ("other".into(), "row".into());
        let found = finished.of(&cell).unwrap();
        assert_eq!((found.cell.experiment.as_str(), found.cell.label.as_str()), ("other", "row"));
        // A default that has another value now gives another result; a new setting does not.
        cell.settings = serde_json::json!({"restarts": 20, "components": 3});
        assert!(finished.of(&cell).is_some());
        cell.settings = serde_json::json!({"restarts": 10});
        assert!(finished.of(&cell).is_none());
    }

    #[test]
    fn new_records_follow_the_known_ones_in_one_order_and_failures_are_left_out() {
        let [one, two, three] = [1, 2, 3].map(|seed| record(seed, 0.1));
        let with = |status: Status| {
            let mut record = two.clone();
            record.outcome.status = status;
            record
        };
        let all = [one.clone(), two.clone(), three.clone()];
        let shards = [[one.clone(), three.clone()], [two.clone(), two.clone()]];
        for (known, found, expected, n_new) in [
            (&[][..], &shards.concat()[..], &[1, 2, 3][..], 3),
            (&[], &[&shards[1][..], &shards[0]].concat(), &[1, 2, 3], 3),
            // What is there already stays where it is, and counts once.
            (&shards[1], &shards[0], &[2, 1, 3], 2),
            (&all, &all, &[1, 2, 3], 0),
            (&[], &[with(Status::Failed)], &[], 0),
            (&[], &[with(Status::Unusable)], &[2], 1),
            (&[one.clone(), one.clone()], &[with(Status::Failed), three.clone()], &[1, 3], 1),
        ] {
            let (all, n_added) = merged(known.to_vec(), found.to_vec());
            let seeds: Vec<u64> = all.iter().map(|record| record.cell.seed).collect();
            assert_eq!((&seeds[..], n_added), (expected, n_new));
        }
    }

    #[test]
    fn a_folder_without_records_is_no_merge() {
        let out = tempfile::tempdir().unwrap();
        let into = out.path().join("into.jsonl");
        for (experiment, into) in [("smoke", Some(into.clone())), ("all", None)] {
            let experiment = experiment.to_owned();
            let arguments = Arguments { experiment, out: Some(out.path().join("no")), into };
            let error = merge(&arguments).unwrap_err().to_string();
            assert!(error.ends_with(&format!("no: has no records of {}", arguments.experiment)));
        }
        assert!(!into.exists());
    }
}
