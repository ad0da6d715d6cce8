//! Commands under test, how each is restarted, and the states of their results: completeness and bits.

use anyhow::{Context, Result, ensure};
use cdimc::tables::datasets::sha256;
use cdimc_data::{Seed, SyntheticViews};
use cdimc_experiments::output;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names and words of all commands. Where they write checkpoints, they do as often as possible. `RUN` and `DATA` stand
/// for the words below, `OUT` for the output.
#[rustfmt::skip]
const COMMANDS: [(&str, &str); 15] = [
    ("cluster", "RUN --checkpoint-every 0 -k 4"),
    ("cluster --force", "RUN -k 4 --force"),
    ("cluster --resume", RESUME),
    ("cluster --force cdimc-net", "RUN --checkpoint-every 0 -k 4 --method cdimc-net --config short.toml --force"),
    ("cluster cdimc-net", TRAINING),
    ("cluster restarts", "RUN --checkpoint-every 0 -k 4 --method cdimc-net --config restarts.toml"),
    ("cluster mkkm-ik-mkc", "RUN --checkpoint-every 0 -k 4 --method mkkm-ik-mkc"),
    ("cluster --k-range", "RUN --checkpoint-every 0 --k-range 1..4"),
    ("cluster --stability", "RUN --checkpoint-every 0 -k 4 --stability=10"),
    ("predict", "predict -q DATA --model model/model.safetensors"),
    ("impute", "impute -q DATA --model model/model.safetensors"),
    ("mask", "mask -q DATA --pattern per-view:0.2"),
    ("compare", "compare -q DATA --method concat --method opimc -k 4 --threads 1"),
    ("reproduce", "reproduce smoke --out OUT --method concat --method bsv"),
    ("reproduce cdimc-net", "reproduce smoke --out OUT --method cdimc-net --jobs 1 --checkpoint-every 0"),
];
const RUN: &str = "cluster --threads 1 --seed 1 DATA";
const VIEWS: [&str; 3] = ["rna.csv", "protein.csv", "image.csv"];
const DATA: &str = "--id id --view rna.csv --view protein.csv --view image.csv --output OUT";
const RESUME: &str = "cluster -q --threads 1 --resume OUT";
const TRAINING: &str = "RUN --checkpoint-every 0 -k 4 --method cdimc-net --config short.toml";

/// A file of the user beside the output.
const USER_FILE: (&str, &str) = ("thesis.tex", "what cdimc did not write");
/// Settings of training runs, with and without restarts.
const SHORT: &str = "[pretrain]\nepochs = 40\n[finetune]\nrounds = 80\n[advanced]\nwide = 48\n";

/// Key of an interrupted run that can be resumed.
pub(super) const INTERRUPTED: &str = "interrupted run";
/// Files with times; all others have the same bits in every run.
const TIMED_FILES: [&str; 3] = ["run.json", "report.html", "comparison.csv"];
/// Files of every run of `cdimc cluster`.
const REQUIRED_FILES: [&str; 4] = ["labels.csv", "markers.csv", "report.html", "run.json"];

/// A command on small data.
pub(super) struct ChildProcess {
    pub(super) name: &'static str,
    words: &'static str,
    /// The folder of its inputs, in which it runs.
    desk: PathBuf,
}

impl ChildProcess {
    /// Returns all commands, with their inputs in `desk`.
    pub(super) fn all(desk: &Path) -> Result<Vec<Self>> {
        write_views(desk)?;
        for (name, restarts) in [("short.toml", 1), ("restarts.toml", 2)] {
            std::fs::write(desk.join(name), format!("restarts = {restarts}\n{SHORT}"))?;
        }
        let run = |words: &str, out: &str| command(&[], desk, words, &desk.join(out));
        output(&mut run("cluster --threads 1 --seed 3 DATA -k 4", "model"))?;
        output(&mut run("cluster --threads 1 --seed 2 DATA -k 4", "finished"))?;
        interrupt(&mut run(TRAINING, "interrupted"))?;
        let child = |(name, words)| Self { name, words, desk: desk.to_owned() };
        Ok(COMMANDS.map(child).into())
    }

    /// Returns whether faults are injected at each call. Commands with checkpoints make hundreds of equal calls.
    pub(super) fn is_short(&self) -> bool {
        !self.words.contains("--checkpoint-every") || self.name == "cluster"
    }

    /// Creates the state in `place` before the command starts.
    pub(super) fn prepare(&self, place: &Path) -> Result<()> {
        std::fs::write(place.join(USER_FILE.0), USER_FILE.1)?;
        let earlier = match self.words {
            RESUME => "interrupted",
            words if words.contains("--force") => "finished",
            _ => return Ok(()),
        };
        let paths = [self.desk.join(earlier), out(place)];
        output(Command::new("cp").arg("-r").args(paths)).map(drop)
    }

    /// Returns the command with its output in `place`, under the program `tracer` with its options if there is one.
    pub(super) fn command(&self, tracer: &[&str], place: &Path) -> Command {
        command(tracer, &self.desk, self.words, &out(place))
    }

    /// Starts the command again on the same output; it must resume, or report a restart and restart.
    pub(super) fn again(&self, place: &Path) -> Result<()> {
        self.next_start(place)?;
        for entry in std::fs::read_dir(place)? {
            let name = entry?.file_name();
            let is_ours = name.to_string_lossy().starts_with(".cdimc-");
            ensure!(!is_ours, "{} is left", name.display());
        }
        let checkpoints = out(place).join("smoke/checkpoints");
        ensure!(!checkpoints.exists(), "{} is left", checkpoints.display());
        let mine = std::fs::read_to_string(place.join(USER_FILE.0)).unwrap_or_default();
        ensure!(mine == USER_FILE.1, "{}: the user's file has changed", USER_FILE.0);
        Ok(())
    }

    fn next_start(&self, place: &Path) -> Result<()> {
        let mut again = self.command(&[], place);
        let replaces = self.words.contains("--force");
        if self.name.starts_with("cluster") {
            let mut resume = command(&[], &self.desk, RESUME, &out(place));
            let Err(error) = output(&mut resume) else { return Ok(()) };
            let errors = format!("{error:#}");
            let is_whole = errors.contains("this run has finished");
            if is_whole && !replaces {
                return Ok(());
            }
            // The earlier of two runs may be in place, and it has finished.
            ensure!(is_whole || errors.contains("begin it again"), "--resume: {errors}");
        }
        if !replaces && !self.is_experiment() {
            again.arg("--force");
        }
        output(&mut again).map(drop)
    }

    /// Returns the state of the result.
    ///
    /// # Errors
    /// If a part of it is incomplete.
    pub(super) fn state(&self, place: &Path) -> Result<State> {
        let out = out(place);
        if self.is_experiment() { experiment(&out.join("smoke")) } else { result(&out) }
    }

    /// Returns the state of the inputs, which no command changes.
    pub(super) fn inputs(&self) -> Result<State> {
        VIEWS.iter().map(|view| Ok(((*view).to_owned(), digest(&self.desk.join(view))?))).collect()
    }

    fn is_experiment(&self) -> bool {
        self.name.starts_with("reproduce")
    }
}

/// Returns the command of these words: `reproduce` of this program, or else of the `cdimc` beside it.
fn command(tracer: &[&str], desk: &Path, words: &str, out: &Path) -> Command {
    let words = words.replace("RUN", RUN).replace("DATA", DATA);
    let mut program = std::env::current_exe().unwrap_or_default();
    if !words.starts_with("reproduce") {
        program.set_file_name("cdimc");
    }
    let word = |word| if word == "OUT" { out.as_os_str() } else { OsStr::new(word) };
    let tracer = tracer.iter().map(OsStr::new);
    let mut all = tracer.chain([program.as_os_str()]).chain(words.split(' ').map(word));
    let mut command = Command::new(all.next().unwrap_or_default());
    // The data of the experiment are generated from their seed.
    command.args(all).current_dir(desk).env_remove("CDIMC_DATASETS");
    command
}

/// Interrupts a run in the middle of its training.
fn interrupt(command: &mut Command) -> Result<()> {
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let progress = BufReader::new(run.stderr.take().context("no standard error")?);
    let mut lines = progress.lines();
    let trains = lines.by_ref().map_while(Result::ok).any(|line| line.starts_with("finetune"));
    ensure!(trains, "cluster: ends before it trains");
    output(Command::new("kill").args(["-INT", &run.id().to_string()]))?;
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    let status = run.wait()?;
    ensure!(status.code() == Some(130), "cluster: {status} after an interrupt: {rest:?}");
    Ok(())
}

/// Writes the views of all commands as CSV files.
fn write_views(desk: &Path) -> Result<()> {
    let dataset = SyntheticViews { n_samples: 80, ..SyntheticViews::default() };
    let dataset = dataset.generate(Seed::new(5))?;
    for (values, name) in dataset.views().iter().zip(VIEWS) {
        let mut text = "id".to_owned();
        (0..values.ncols()).try_for_each(|j| write!(text, ",x{j}"))?;
        for (i, row) in values.outer_iter().enumerate() {
            write!(text, "\ns{i}")?;
            row.iter().try_for_each(|x| write!(text, ",{x}"))?;
        }
        std::fs::write(desk.join(name), text + "\n")?;
    }
    Ok(())
}

fn out(place: &Path) -> PathBuf {
    place.join("out")
}

/// Parts of a result, each with a digest of its bits; empty without a result.
pub(super) type State = BTreeMap<String, String>;

/// Returns the state of the output of a `cdimc` command, a file or a folder.
fn result(out: &Path) -> Result<State> {
    if out.is_file() {
        return Ok(State::from([("file".to_owned(), digest(out)?)]));
    }
    if !out.exists() {
        return Ok(State::new());
    }
    let record = std::fs::read(out.join("run.json")).context("run.json")?;
    let record: serde_json::Value = serde_json::from_slice(&record).context("run.json")?;
    if record["status"] == "interrupted" {
        let checkpoint = out.join("checkpoint.safetensors");
        let bits = if checkpoint.exists() { digest(&checkpoint)? } else { String::new() };
        return Ok(State::from([(INTERRUPTED.to_owned(), bits)]));
    }
    let written = record["written"].as_object().context("run.json: lists no files")?;
    let is_cluster = record["status"] == "finished";
    let needed = REQUIRED_FILES.into_iter().filter(|_| is_cluster);
    for name in needed.chain(written.keys().map(String::as_str)) {
        ensure!(out.join(name).is_file(), "{name} is missing");
    }
    if out.join("report.html").exists() {
        let page = std::fs::read_to_string(out.join("report.html"))?;
        ensure!(page.trim_end().ends_with("</html>"), "report.html is cut off");
    }
    let mut bits = String::new();
    let mut names: Vec<_> = std::fs::read_dir(out)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_>>()?;
    names.sort();
    for name in names.iter().filter(|name| !TIMED_FILES.contains(&name.as_str())) {
        bits += &format!("{name} {} ", digest(&out.join(name))?);
    }
    Ok(State::from([("run".to_owned(), bits)]))
}

/// Returns the state of a folder of `xtask reproduce`: scores by cell, and the report.
fn experiment(folder: &Path) -> Result<State> {
    let mut state = State::new();
    for (key, scores) in cdimc_experiments::scores_in(folder)? {
        let scores = serde_json::to_string(&scores)?;
        let known = state.insert(key, scores.clone());
        ensure!(known.is_none_or(|known| known == scores), "a cell has two scores");
    }
    if let Ok(report) = std::fs::read_to_string(folder.join("report.md")) {
        ensure!(report.contains("\n## Runs\n"), "report.md is cut off");
        state.insert("report.md".into(), "whole".into());
    }
    Ok(state)
}

fn digest(path: &Path) -> Result<String> {
    File::open(path).and_then(sha256).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_file_or_with_half_of_one_is_no_result() {
        let desk = tempfile::tempdir().unwrap();
        let out = desk.path().join("out");
        assert!(result(&out).unwrap().is_empty());
        std::fs::create_dir(&out).unwrap();
        let put = |name: &str, text: &str| std::fs::write(out.join(name), text).unwrap();
        REQUIRED_FILES.iter().for_each(|name| put(name, "x"));
        put("extra.csv", "x");
        put("report.html", "<html></html>\n");
        put("run.json", "{\"status\": \"finished\", \"written\": {\"extra.csv\": \"\"}}");
        let whole = result(&out).unwrap();
        put("labels.csv", "y");
        assert_ne!(result(&out).unwrap(), whole);
        put("report.html", "<html>");
        assert!(format!("{:#}", result(&out).unwrap_err()).contains("report.html is cut off"));
        put("report.html", "<html></html>\n");
        for missing in ["markers.csv", "extra.csv"] {
            std::fs::remove_file(out.join(missing)).unwrap();
            let error = format!("{:#}", result(&out).unwrap_err());
            assert!(error.contains(&format!("{missing} is missing")), "{error}");
            put(missing, "x");
        }
        put("run.json", "{\"status");
        assert!(result(&out).is_err());
    }
}
