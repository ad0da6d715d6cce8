//! `cargo xtask merge`: adds what an experiment's runs and shards have recorded to the workspace's own records.

use crate::cell::{Record, Status};
use crate::{experiment, records, workspace};
use anyhow::{Context, Result, ensure};
use cdimc::say;
use std::path::PathBuf;
use std::process::ExitCode;

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

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let experiments = experiment::named(&arguments.experiment)?;
    ensure!(
        arguments.into.is_none() || experiments.len() == 1,
        "--into names the file of one experiment, here are {}",
        experiments.len()
    );
    let out = arguments.out.clone().unwrap_or_else(workspace::results);
    let mut found = Vec::new();
    for experiment in experiments {
        let files = records::files_in(&out.join(&experiment.name))?;
        if !files.is_empty() {
            found.push((experiment.name, files));
        }
    }
    ensure!(!found.is_empty(), "{}: has no records of {}", out.display(), arguments.experiment);
    for (name, files) in found {
        let own = workspace::reference_records().join(format!("{name}.jsonl"));
        let into = arguments.into.clone().unwrap_or(own);
        let known = records::read(&into)?;
        let (merged, new) = merged(known, records::read_all(&files)?);
        if let Some(folder) = into.parent() {
            std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        records::write(&into, &merged)?;
        let (files, all, path) = (files.len(), merged.len(), into.display());
        say!("{name}: {all} records in {path}, {new} of them new, from {files} files");
    }
    Ok(ExitCode::SUCCESS)
}

/// The known records in their order, with what replaces them, and after them the new ones in the order of their
/// cells, whichever shard ran them; and how many those are. Failures are not kept.
fn merged(known: Vec<Record>, found: Vec<Record>) -> (Vec<Record>, usize) {
    let known = records::newest(known);
    let n_known = known.len();
    let mut all = records::newest(known.into_iter().chain(found).collect());
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
            let error = run(&arguments).unwrap_err().to_string();
            assert!(error.ends_with(&format!("no: has no records of {}", arguments.experiment)));
        }
        assert!(!into.exists());
    }
}
