//! The commands that are disturbed, and what counts of their results.

use super::succeed;
use anyhow::{Context, Result, ensure};
use cdimc_data::{Seed, SyntheticViews};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The parts of a result that are there, each with what stands for its bits; empty where there is none.
pub(super) type State = BTreeMap<String, String>;

/// A command on small data.
pub(super) struct Victim {
    pub(super) name: &'static str,
    kind: Kind,
    /// The folder of its inputs.
    desk: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `cdimc cluster`.
    Fresh,
    /// The same in place of an earlier run.
    Forced,
    /// `cdimc cluster --resume`.
    Resumed,
    /// `xtask reproduce`.
    Reproduced,
}

/// The files of a finished run that have the same bits in every run; the others hold times.
const SAME: [&str; 5] =
    ["labels.csv", "probabilities.csv", "embedding.csv", "markers.csv", "model.safetensors"];
/// Those that every run has.
const NEEDED: [&str; 5] =
    ["labels.csv", "markers.csv", "model.safetensors", "report.html", "run.json"];
/// The columns of `table.csv` before those of seconds and memory.
const SCORES: usize = 19;

impl Victim {
    /// All of them, with their inputs in `desk`.
    pub(super) fn all(desk: &Path) -> Result<Vec<Self>> {
        let dataset = SyntheticViews { n_samples: 80, ..SyntheticViews::default() };
        let dataset = dataset.generate(Seed::new(5))?;
        for (values, name) in dataset.views().iter().zip(["rna", "protein", "image"]) {
            let header: Vec<String> = (0..values.ncols()).map(|j| format!("{name}{j}")).collect();
            let mut text = format!("id,{}\n", header.join(","));
            for (i, row) in values.outer_iter().enumerate() {
                let row: Vec<String> = row.iter().map(ToString::to_string).collect();
                writeln!(text, "s{i},{}", row.join(","))?;
            }
            std::fs::write(desk.join(format!("{name}.csv")), text)?;
        }
        let short =
            "[pretrain]\nepochs = 60\n[finetune]\nrounds = 120\n[architecture]\nwide = 48\n";
        std::fs::write(desk.join("short.toml"), short)?;
        let victim = |name, kind| Self { name, kind, desk: desk.to_owned() };
        let all = vec![
            victim("cluster", Kind::Fresh),
            victim("cluster --force", Kind::Forced),
            victim("cluster --resume", Kind::Resumed),
            victim("reproduce", Kind::Reproduced),
        ];
        all[1].begin_earlier()?;
        all[2].begin_interrupted()?;
        Ok(all)
    }

    #[cfg(test)]
    pub(super) fn nobody() -> Self {
        Self { name: "nobody", kind: Kind::Fresh, desk: PathBuf::new() }
    }

    /// Lays out in `place` what is there before the command begins.
    pub(super) fn prepare(&self, place: &Path) -> Result<()> {
        match self.kind {
            Kind::Forced | Kind::Resumed => copy_folder(&self.begun(), &place.join("out")),
            Kind::Fresh | Kind::Reproduced => Ok(()),
        }
    }

    /// The command with its output in `place`.
    pub(super) fn command(&self, place: &Path) -> Command {
        let out = place.join("out");
        match self.kind {
            Kind::Fresh => self.cluster(&["--seed", "1", "-q"], &out),
            Kind::Forced => self.cluster(&["--seed", "1", "-q", "--force"], &out),
            Kind::Resumed => {
                let mut command = Command::new(program());
                command.args(["cluster", "-q", "--threads", "1", "--resume"]).arg(out);
                command
            }
            Kind::Reproduced => {
                let mut command = Command::new(std::env::current_exe().unwrap_or_default());
                command.args(["reproduce", "smoke", "--method", "concat", "--method", "bsv"]);
                // The data of this experiment are made from their seed.
                command.arg("--out").arg(out).env_remove("CDIMC_DATASETS");
                command
            }
        }
    }

    /// The next start on the same output, which has to work.
    pub(super) fn again(&self, place: &Path) -> Result<()> {
        let mut command = match self.kind {
            Kind::Fresh => self.cluster(&["--seed", "1", "-q", "--force"], &place.join("out")),
            _ => self.command(place),
        };
        match succeed(&mut command) {
            // What was resumed may have come to its end.
            Err(error) if self.kind == Kind::Resumed => {
                ensure!(format!("{error:#}").contains("this run has finished"), error);
            }
            done => done?,
        }
        let is_ours = |name: &str| name.starts_with(".cdimc-");
        for entry in std::fs::read_dir(place)? {
            let name = entry?.file_name();
            ensure!(!is_ours(&name.to_string_lossy()), "{} is left", name.display());
        }
        Ok(())
    }

    /// What is there of a result.
    ///
    /// # Errors
    /// If a part of it is not whole.
    pub(super) fn state(&self, place: &Path) -> Result<State> {
        let out = place.join("out");
        match self.kind {
            Kind::Reproduced => experiment(&out.join("smoke")),
            _ => run_of(&out),
        }
    }

    /// Where what is there before the command begins is kept.
    fn begun(&self) -> PathBuf {
        self.desk.join(format!("{:?}", self.kind))
    }

    fn begin_earlier(&self) -> Result<()> {
        succeed(&mut self.cluster(&["--seed", "2", "-q"], &self.begun()))
    }

    /// Ends a run by an interrupt in the middle of its training.
    fn begin_interrupted(&self) -> Result<()> {
        let config = self.desk.join("short.toml").display().to_string();
        let method = ["--seed", "1", "--method", "cdimc-net", "--config", &config];
        let mut run = self
            .cluster(&method, &self.begun())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let progress = BufReader::new(run.stderr.take().context("no standard error")?);
        let mut lines = progress.lines();
        let trains = lines.by_ref().map_while(Result::ok).any(|line| line.starts_with("finetune"));
        ensure!(trains, "cluster: ends before it trains");
        succeed(Command::new("kill").args(["-INT", &run.id().to_string()]))?;
        let rest: Vec<String> = lines.map_while(Result::ok).collect();
        let status = run.wait()?;
        ensure!(status.code() == Some(130), "cluster: {status} after an interrupt: {rest:?}");
        Ok(())
    }

    fn cluster(&self, options: &[&str], out: &Path) -> Command {
        let mut command = Command::new(program());
        command.args(["cluster", "-k", "4", "--id", "id", "--threads", "1"]);
        for view in ["rna", "protein", "image"] {
            command.arg("--view").arg(self.desk.join(format!("{view}.csv")));
        }
        command.args(options).arg("--output").arg(out);
        command
    }
}

/// The command beside this program.
fn program() -> PathBuf {
    std::env::current_exe().unwrap_or_default().with_file_name("cdimc")
}

/// The state of a folder of `cdimc cluster`.
fn run_of(out: &Path) -> Result<State> {
    if !out.exists() {
        return Ok(State::new());
    }
    let record = std::fs::read(out.join("run.json")).context("run.json")?;
    let record: serde_json::Value = serde_json::from_slice(&record).context("run.json")?;
    let digest = |name: &str| -> Result<String> {
        let bytes = std::fs::read(out.join(name)).with_context(|| name.to_owned())?;
        Ok(format!("{:x}", Sha256::digest(bytes)))
    };
    if record["status"] == "interrupted" {
        let bits = digest("checkpoint.safetensors")?;
        return Ok(State::from([("interrupted run".to_owned(), bits)]));
    }
    for name in NEEDED {
        ensure!(out.join(name).is_file(), "{name} is missing");
    }
    let page = std::fs::read_to_string(out.join("report.html"))?;
    ensure!(page.trim_end().ends_with("</html>"), "report.html is cut off");
    let mut bits = String::new();
    for name in SAME.into_iter().filter(|name| out.join(name).is_file()) {
        bits += &format!("{name} {} ", digest(name)?);
    }
    Ok(State::from([("run".to_owned(), bits)]))
}

/// The state of a folder of `xtask reproduce`: scores by cell, the table, the report.
fn experiment(folder: &Path) -> Result<State> {
    let mut state = State::new();
    for (key, scores) in cdimc_experiments::scores_in(folder)? {
        let scores = serde_json::to_string(&scores)?;
        let known = state.insert(key, scores.clone());
        ensure!(known.is_none_or(|known| known == scores), "a cell has two scores");
    }
    if let Ok(table) = std::fs::read_to_string(folder.join("table.csv")) {
        ensure!(table.ends_with('\n'), "table.csv is cut off");
        let line = |line: &str| line.split(',').take(SCORES).collect::<Vec<_>>().join(",");
        state.insert("table.csv".into(), table.lines().map(line).collect::<Vec<_>>().join("\n"));
    }
    if let Ok(report) = std::fs::read_to_string(folder.join("report.md")) {
        ensure!(report.contains("\n## Runs\n"), "report.md is cut off");
        state.insert("report.md".into(), "whole".into());
    }
    Ok(state)
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        std::fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_lacks_a_file_or_holds_half_of_one_is_no_result() {
        let desk = tempfile::tempdir().unwrap();
        let out = desk.path().join("out");
        assert!(run_of(&out).unwrap().is_empty());
        std::fs::create_dir(&out).unwrap();
        let put = |name: &str, text: &str| std::fs::write(out.join(name), text).unwrap();
        NEEDED.iter().for_each(|name| put(name, "x"));
        put("report.html", "<html></html>\n");
        put("run.json", "{\"status\": \"finished\"}");
        let whole = run_of(&out).unwrap();
        put("labels.csv", "y");
        assert_ne!(run_of(&out).unwrap(), whole);
        put("report.html", "<html>");
        assert!(format!("{:#}", run_of(&out).unwrap_err()).contains("report.html is cut off"));
        put("report.html", "<html></html>\n");
        std::fs::remove_file(out.join("markers.csv")).unwrap();
        assert!(format!("{:#}", run_of(&out).unwrap_err()).contains("markers.csv is missing"));
        put("run.json", "{\"status");
        assert!(run_of(&out).is_err());
    }
}
