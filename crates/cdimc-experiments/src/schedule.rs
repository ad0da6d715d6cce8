//! Scripts by which a cluster's own scheduler runs an experiment: an array job of Slurm, or a file of rules for
//! Snakemake, which brings executors for many clusters and clouds.
//!
//! A task is a part of the cells (`--shard`), so that one that is killed and queued again goes on where it was.

use crate::cell::Cell;
use crate::record::{Record, Status};
use crate::selection::Shard;
use anyhow::{Context, Result, ensure};
use cdimc_data::write_whole;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Whose scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Scheduler {
    Slurm,
    Snakemake,
}

/// An experiment to be run in parts.
pub(crate) struct Job<'a> {
    pub experiment: &'a str,
    /// The arguments of `reproduce` that choose the cells, the experiment's name first.
    pub request: Vec<String>,
    /// The folder of all results.
    pub out: &'a Path,
    pub parts: usize,
    /// Threads of one cell; a part runs one cell at a time.
    pub threads: usize,
    /// Seconds between two checkpoints of a cell.
    pub checkpoint_every: u64,
    pub needs: Needs,
}

/// What one task asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Needs {
    pub mebibytes: u64,
    pub minutes: u64,
    /// Cells of which no record tells both.
    pub guessed: usize,
}

/// A cell of which nothing is known is taken to last this long, in seconds, ...
const UNKNOWN_SECONDS: f64 = 900.0;
/// ... and to hold this many bytes.
const UNKNOWN_BYTES: u64 = 1 << 30;

impl Needs {
    /// Of the heaviest part: half as much memory again as the largest of its cells had in the past, and twice the
    /// time of all of them; a cell without a record is as one of its method on its data set, whatever the mask.
    /// What failed or was skipped does not tell how long a run takes, and what had more `threads` took less time.
    pub(crate) fn of(cells: &[Cell], parts: usize, threads: usize, known: &[Record]) -> Self {
        let mut costs: BTreeMap<(&str, &str), (f64, Option<u64>)> = BTreeMap::new();
        for record in known {
            let (cell, outcome) = (&record.cell, &record.outcome);
            if !matches!(outcome.status, Status::Scored | Status::Unusable) {
                continue;
            }
            let cost = costs.entry((&cell.method, &cell.dataset)).or_default();
            let fewer = record.circumstances.threads.max(threads) as f64 / threads as f64;
            cost.0 = cost.0.max(outcome.seconds.total * fewer);
            cost.1 = cost.1.max(outcome.peak_memory_bytes);
        }
        let mut needs = Self { mebibytes: 0, minutes: 0, guessed: 0 };
        for part in 1..=parts {
            let members = Shard { part, of: parts }.members(cells.to_vec(), Cell::key);
            let (mut seconds, mut bytes) = (0.0, 0);
            for cell in &members {
                let cost = costs.get(&(cell.method.as_str(), cell.dataset.as_str()));
                let holds = cost.and_then(|&(_, holds)| holds);
                needs.guessed += usize::from(holds.is_none());
                seconds += cost.map_or(UNKNOWN_SECONDS, |&(lasts, _)| lasts);
                bytes = bytes.max(holds.unwrap_or(UNKNOWN_BYTES));
            }
            // The program itself and the start of its processes come on top.
            needs.minutes = needs.minutes.max((2.0 * seconds / 60.0).ceil() as u64 + 5);
            needs.mebibytes = needs.mebibytes.max(bytes.div_ceil(1 << 20) * 3 / 2 + 256);
        }
        needs
    }
}

/// Writes the scripts into the experiment's folder; the command that submits them.
pub(crate) fn emit(scheduler: Scheduler, job: &Job<'_>) -> Result<String> {
    let folder = job.out.join(job.experiment);
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let folder = folder.canonicalize()?;
    let program = std::env::current_exe()?;
    let file = |name: &str, text: String| -> Result<PathBuf> {
        let path = folder.join(name);
        write_whole(&path, text.as_bytes())?;
        Ok(path)
    };
    Ok(match scheduler {
        Scheduler::Slurm => {
            let array = file("array.sbatch", array(job, &program, &folder)?)?;
            let collect = file("collect.sbatch", collect(job, &program, &folder)?)?;
            let submit = submit(&array, &collect);
            format!("sh {}", quoted(&file("submit.sh", submit)?.display().to_string()))
        }
        Scheduler::Snakemake => {
            // Where a file is named, nothing takes their meaning from them.
            ensure!(
                !folder.to_string_lossy().contains(['{', '}', '<', '>']),
                "out = {}: must be without {{, }}, < and >, which hold names in a Snakefile",
                folder.display()
            );
            let path = file("Snakefile", snakefile(job, &program, &folder)?)?;
            let path = quoted(&path.display().to_string());
            format!("snakemake --snakefile {path} --cores all")
        }
    })
}

/// What the head of every script says.
fn head(job: &Job<'_>) -> String {
    let guess = match job.needs.guessed {
        0 => "memory and time are those of past records, with room".to_owned(),
        n => format!("{n} cells have no record to tell memory and time by: check these"),
    };
    format!("# {} in {} parts; {guess}.\n", job.request.join(" "), job.parts)
}

fn array(job: &Job<'_>, program: &Path, folder: &Path) -> Result<String> {
    let Job { experiment, parts, threads, needs, .. } = job;
    let mut text = format!("#!/bin/sh\n{}", head(job));
    for option in [
        format!("job-name={}", quoted_in_an_option(experiment)),
        format!("array=1-{parts}"),
        format!("cpus-per-task={threads}"),
        format!("mem={}M", needs.mebibytes),
        format!("time={}", needs.minutes),
        "requeue".to_owned(),
        "open-mode=append".to_owned(),
        format!("output={}", log_in(folder, "part-%a.log")),
    ] {
        writeln!(text, "#SBATCH --{option}")?;
    }
    writeln!(
        text,
        "exec {}",
        command(job, program, &format!("\"$SLURM_ARRAY_TASK_ID/{parts}\""), quoted)?
    )?;
    Ok(text)
}

fn collect(job: &Job<'_>, program: &Path, folder: &Path) -> Result<String> {
    Ok(format!(
        "#!/bin/sh\n{}#SBATCH --job-name={}\n#SBATCH --mem=1024M\n#SBATCH --time=10\n#SBATCH --output={}\n\
         exec {} \"$@\"\n",
        head(job),
        quoted_in_an_option(&format!("{}-collect", job.experiment)),
        log_in(folder, "collect.log"),
        merge(job, program, quoted)?
    ))
}

fn submit(array: &Path, collect: &Path) -> String {
    format!(
        "#!/bin/sh\n# Submits the parts, and what collects their records once all have ended; arguments go to `merge`.\n\
         set -e\narray=$(sbatch --parsable {})\nsbatch --parsable --dependency=afterany:\"$array\" {} \"$@\"\n",
        quoted(&array.display().to_string()),
        quoted(&collect.display().to_string()),
    )
}

fn snakefile(job: &Job<'_>, program: &Path, folder: &Path) -> Result<String> {
    let Job { parts, threads, needs, .. } = job;
    let done = folder.join("done");
    // A text of Python is written as one of JSON.
    let shard = format!("{{wildcards.part}}/{parts}");
    let part = serde_json::to_string(&command(job, program, &shard, quoted_in_a_rule)?)?;
    let merge = serde_json::to_string(&merge(job, program, quoted_in_a_rule)?)?;
    let (one, all) = (done.join(format!("{{part}}-of-{parts}")), done.join("collected"));
    let (one, all) = (serde_json::to_string(&one)?, serde_json::to_string(&all)?);
    Ok(format!(
        "{}INTO = config.get(\"into\", \"\")\n\n\
         rule collect:\n    input: expand({one}, part=range(1, {}))\n    output: touch({all})\n    \
         params: into=\"--into '%s'\" % INTO if INTO else \"\"\n    resources: mem_mb=1024, runtime=10\n    \
         shell: {merge} \" {{params.into}}\"\n\n\
         rule part:\n    output: touch({one})\n    threads: {threads}\n    \
         resources: mem_mb={}, runtime={}\n    retries: 1\n    shell: {part}\n",
        head(job),
        parts + 1,
        needs.mebibytes,
        needs.minutes,
    ))
}

/// How a script writes a word.
type Quoting = fn(&str) -> String;

/// The command of one part; `shard` goes in as it is.
fn command(job: &Job<'_>, program: &Path, shard: &str, quoted: Quoting) -> Result<String> {
    let request: Vec<String> = job.request.iter().map(|word| quoted(word)).collect();
    let out = job.out.canonicalize()?;
    Ok(format!(
        "{} reproduce {} --shard {shard} --jobs 1 --threads {} --checkpoint-every {} --out {}",
        quoted(&program.display().to_string()),
        request.join(" "),
        job.threads,
        job.checkpoint_every,
        quoted(&out.display().to_string())
    ))
}

fn merge(job: &Job<'_>, program: &Path, quoted: Quoting) -> Result<String> {
    let (program, out) = (program.display().to_string(), job.out.canonicalize()?);
    let out = quoted(&out.display().to_string());
    Ok(format!("{} merge {} --out {out}", quoted(&program), quoted(&job.request[0])))
}

/// A word that a shell takes as it is.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// A value of an option of Slurm.
fn quoted_in_an_option(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The path of a log as an option of Slurm; `%` stands for something in its name alone.
fn log_in(folder: &Path, name: &str) -> String {
    let folder = folder.display().to_string().replace('%', "%%");
    quoted_in_an_option(&format!("{folder}/{name}"))
}

/// A word in a command of Snakemake, where single braces hold names of its own.
fn quoted_in_a_rule(word: &str) -> String {
    quoted(word).replace('{', "{{").replace('}', "}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Outcome;
    use crate::record::tests::record;

    fn job(out: &Path) -> Job<'_> {
        let needs = Needs { mebibytes: 300, minutes: 7, guessed: 0 };
        let request = ["smoke", "--set", "a b=it's"].map(str::to_owned).to_vec();
        Job { experiment: "smoke", request, out, parts: 4, threads: 2, checkpoint_every: 60, needs }
    }

    #[test]
    fn a_task_asks_for_what_past_records_had() {
        let mut records: Vec<Record> = (0..8).map(|seed| record(seed, 0.5)).collect();
        for record in &mut records {
            record.outcome.seconds.total = 60.0;
            record.outcome.peak_memory_bytes = Some(200 << 20);
        }
        let cells: Vec<Cell> = records.iter().map(|record| record.cell.clone()).collect();
        let needs = Needs::of(&cells, 4, 1, &records[..1]);
        assert_eq!(needs, Needs { mebibytes: 556, minutes: 9, guessed: 0 });
        assert_eq!(Needs::of(&cells, 4, 1, &[]).guessed, 8);
    }

    #[test]
    fn what_failed_tells_neither_time_nor_memory() {
        let mut known = [record(1, 0.5)];
        let cells = [known[0].cell.clone()];
        let unknown = Needs::of(&cells, 1, 1, &[]);
        known[0].outcome = Outcome::without_scores(Status::Failed, "killed");
        assert_eq!(Needs::of(&cells, 1, 1, &known), unknown);
        // What found nothing usable tells its time alone.
        known[0].outcome = Outcome::without_scores(Status::Unusable, "one cluster");
        known[0].outcome.seconds.total = 60.0;
        assert_eq!(Needs::of(&cells, 1, 1, &known), Needs { minutes: 7, ..unknown });
    }

    #[test]
    fn a_task_of_fewer_threads_asks_for_more_time() {
        let mut known = [record(1, 0.5)];
        known[0].outcome.seconds.total = 60.0;
        known[0].circumstances.threads = 16;
        let cells = [known[0].cell.clone()];
        let minutes = |threads| Needs::of(&cells, 1, threads, &known).minutes;
        assert_eq!([32, 16, 8, 1].map(minutes), [7, 7, 9, 37]);
    }

    #[test]
    fn scripts_stand_in_a_folder_of_any_name() {
        let out = tempfile::tempdir().unwrap();
        let out = out.path().canonicalize().unwrap().join("a \"b\" 5%");
        let job = Job { experiment: "my own", ..job(&out) };
        let folder = out.join("my own");
        let said = emit(Scheduler::Slurm, &job).unwrap();
        assert_eq!(said, format!("sh '{}'", folder.join("submit.sh").display()));
        let written = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        for (name, title, log) in [
            ("array.sbatch", "my own", "part-%a.log"),
            ("collect.sbatch", "my own-collect", "collect.log"),
        ] {
            let text = written(name);
            assert!(text.contains(&format!("#SBATCH --job-name=\"{title}\"\n")), "{text}");
            let log = format!("/a \\\"b\\\" 5%%/my own/{log}\"\n");
            assert!(text.contains(&log) && text.contains("#SBATCH --output=\"/"), "{text}");
        }
        let said = emit(Scheduler::Snakemake, &job).unwrap();
        let path = folder.join("Snakefile");
        assert_eq!(said, format!("snakemake --snakefile '{}' --cores all", path.display()));
        let out = out.with_file_name("{x}");
        let error = emit(Scheduler::Snakemake, &Job { out: &out, ..job }).unwrap_err().to_string();
        assert!(error.contains("must be without {, }, < and >"), "{error}");
    }

    #[test]
    fn braces_of_a_request_are_doubled_for_snakemake_alone() {
        let out = tempfile::tempdir().unwrap();
        let request = ["smoke", "--pattern", "per-view:{rate}"].map(str::to_owned).to_vec();
        let job = Job { request, ..job(out.path()) };
        let written = |scheduler, name: &str| {
            emit(scheduler, &job).unwrap();
            std::fs::read_to_string(out.path().join("smoke").join(name)).unwrap()
        };
        let array = written(Scheduler::Slurm, "array.sbatch");
        assert!(array.contains("--pattern 'per-view:{rate}' --shard"), "{array}");
        let rules = written(Scheduler::Snakemake, "Snakefile");
        let pattern = "--pattern 'per-view:{{rate}}' --shard {wildcards.part}/4";
        assert!(rules.contains(pattern), "{rules}");
    }

    #[test]
    fn scripts_say_what_a_part_needs_and_how_it_is_run() {
        let out = tempfile::tempdir().unwrap();
        let said = emit(Scheduler::Slurm, &job(out.path())).unwrap();
        let folder = out.path().canonicalize().unwrap().join("smoke");
        assert_eq!(said, format!("sh {}", folder.join("submit.sh").display()));
        let array = std::fs::read_to_string(folder.join("array.sbatch")).unwrap();
        for line in ["array=1-4", "cpus-per-task=2", "mem=300M", "time=7", "requeue"] {
            assert!(array.contains(&format!("#SBATCH --{line}\n")), "{array}");
        }
        assert!(array.contains(
            "reproduce smoke --set 'a b=it'\\''s' --shard \"$SLURM_ARRAY_TASK_ID/4\" --jobs 1"
        ));
        let submit = std::fs::read_to_string(folder.join("submit.sh")).unwrap();
        assert!(submit.contains("--dependency=afterany:\"$array\""));

        emit(Scheduler::Snakemake, &job(out.path())).unwrap();
        let rules = std::fs::read_to_string(folder.join("Snakefile")).unwrap();
        assert!(
            rules.contains("--shard {wildcards.part}/4 --jobs 1 --threads 2 --checkpoint-every 60"),
            "{rules}"
        );
        assert!(
            rules.contains("resources: mem_mb=300, runtime=7") && rules.contains("range(1, 5)")
        );
    }
}
