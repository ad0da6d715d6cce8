//! Commands under test, and how each is restarted.

use super::state::{self, State, digest};
use anyhow::{Context, Result, ensure};
use cdimc_data::{Seed, SyntheticViews};
use cdimc_experiments::output;
use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `cdimc cluster`.
    Fresh,
    /// The same with an earlier run to replace.
    Forced,
    /// `cdimc cluster --resume`.
    Resumed,
    /// Another command of `cdimc`, which has no checkpoints.
    Other,
    /// `xtask reproduce`.
    Reproduced,
}

/// Name, kind and options of all commands. Where they write checkpoints, they do as often as possible.
#[rustfmt::skip]
const COMMANDS: [(&str, Kind, &str); 15] = [
    ("cluster", Kind::Fresh, "--seed 1 --checkpoint-every 0 -k 4"),
    ("cluster --force", Kind::Forced, "--seed 1 -k 4"),
    ("cluster --resume", Kind::Resumed, ""),
    ("cluster --force cdimc-net", Kind::Forced, "--seed 1 --checkpoint-every 0 -k 4 --method cdimc-net --config short.toml"),
    ("cluster cdimc-net", Kind::Fresh, "--seed 1 --checkpoint-every 0 -k 4 --method cdimc-net --config short.toml"),
    ("cluster restarts", Kind::Fresh, "--seed 1 --checkpoint-every 0 -k 4 --method cdimc-net --config restarts.toml"),
    ("cluster mkkm-ik-mkc", Kind::Fresh, "--seed 1 --checkpoint-every 0 -k 4 --method mkkm-ik-mkc"),
    ("cluster --k-range", Kind::Fresh, "--seed 1 --checkpoint-every 0 --k-range 1..4"),
    ("cluster --stability", Kind::Fresh, "--seed 1 --checkpoint-every 0 -k 4 --stability=10"),
    ("predict", Kind::Other, "--model model/model.safetensors"),
    ("impute", Kind::Other, "--model model/model.safetensors"),
    ("mask", Kind::Other, "--pattern per-view:0.2"),
    ("compare", Kind::Other, "--method concat --method opimc -k 4 --threads 1"),
    ("reproduce", Kind::Reproduced, "--method concat --method bsv"),
    ("reproduce cdimc-net", Kind::Reproduced, "--method cdimc-net --jobs 1 --checkpoint-every 0"),
];

/// A file of the user beside the output.
const USER_FILE: (&str, &str) = ("thesis.tex", "what cdimc did not write");
const VIEWS: [&str; 3] = ["rna.csv", "protein.csv", "image.csv"];
/// Settings of training runs, with and without restarts.
const SHORT: &str = "[pretrain]\nepochs = 40\n[finetune]\nrounds = 80\n[advanced]\nwide = 48\n";

/// A command on small data.
pub(super) struct ChildProcess {
    pub(super) name: &'static str,
    kind: Kind,
    options: &'static str,
    /// The folder of its inputs, in which it runs.
    desk: PathBuf,
}

impl ChildProcess {
    /// Returns all commands, with their inputs in `desk`.
    pub(super) fn all(desk: &Path) -> Result<Vec<Self>> {
        write_views(desk)?;
        std::fs::write(desk.join("short.toml"), format!("restarts = 1\n{SHORT}"))?;
        std::fs::write(desk.join("restarts.toml"), format!("restarts = 2\n{SHORT}"))?;
        let child = |(name, kind, options)| Self { name, kind, options, desk: desk.to_owned() };
        let all: Vec<Self> = COMMANDS.map(child).into();
        output(&mut all[0].cluster("--seed 3 -k 4", &desk.join("model")))?;
        output(&mut all[1].cluster("--seed 2 -k 4", &all[1].initial_output()))?;
        all[2].create_interrupted(all[4].options)?;
        Ok(all)
    }

    /// Returns whether faults are injected at each call. Commands with checkpoints make hundreds of equal calls.
    pub(super) fn is_short(&self) -> bool {
        !self.options.contains("--checkpoint-every") || self.name == "cluster"
    }

    /// Creates the state in `place` before the command starts.
    pub(super) fn prepare(&self, place: &Path) -> Result<()> {
        std::fs::write(place.join(USER_FILE.0), USER_FILE.1)?;
        match self.kind {
            Kind::Forced | Kind::Resumed => copy_folder(&self.initial_output(), &out(place)),
            _ => Ok(()),
        }
    }

    /// Returns the command with its output in `place`.
    pub(super) fn command(&self, place: &Path) -> Command {
        let out = out(place);
        match self.kind {
            Kind::Fresh => self.cluster(self.options, &out),
            Kind::Forced => self.cluster(&format!("{} --force", self.options), &out),
            Kind::Resumed => self.resume(&out),
            Kind::Other => self.on_views(&format!("{} -q", self.name), self.options, &out),
            Kind::Reproduced => {
                let mut command = Command::new(std::env::current_exe().unwrap_or_default());
                command.args(["reproduce", "smoke"]).args(self.options.split(' '));
                // The data of this experiment are generated from their seed.
                command.arg("--out").arg(out).env_remove("CDIMC_DATASETS");
                command
            }
        }
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
        let mut command = self.command(place);
        match self.kind {
            Kind::Reproduced => return output(&mut command).map(drop),
            Kind::Other => {}
            Kind::Fresh | Kind::Forced | Kind::Resumed => {
                let Err(error) = output(&mut self.resume(&out(place))) else { return Ok(()) };
                let errors = format!("{error:#}");
                let is_whole = errors.contains("this run has finished");
                if is_whole && self.kind != Kind::Forced {
                    return Ok(());
                }
                // The earlier of two runs may be in place, and it has finished.
                ensure!(is_whole || errors.contains("begin it again"), "--resume: {errors}");
            }
        }
        if self.kind != Kind::Forced {
            command.arg("--force");
        }
        output(&mut command).map(drop)
    }

    /// Returns the state of the result.
    ///
    /// # Errors
    /// If a part of it is incomplete.
    pub(super) fn state(&self, place: &Path) -> Result<State> {
        match self.kind {
            Kind::Reproduced => state::experiment(&out(place).join("smoke")),
            _ => state::result(&out(place)),
        }
    }

    /// Returns the state of the inputs, which no command changes.
    pub(super) fn inputs(&self) -> Result<State> {
        VIEWS.iter().map(|view| Ok(((*view).to_owned(), digest(&self.desk.join(view))?))).collect()
    }

    /// Returns the folder with the output that exists before the command starts.
    fn initial_output(&self) -> PathBuf {
        self.desk.join(format!("{:?}", self.kind))
    }

    /// Interrupts a run in the middle of its training.
    fn create_interrupted(&self, options: &str) -> Result<()> {
        let mut command = self.cluster(options, &self.initial_output());
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

    fn cluster(&self, options: &str, out: &Path) -> Command {
        self.on_views("cluster --threads 1", options, out)
    }

    fn resume(&self, out: &Path) -> Command {
        let mut command = self.cdimc("cluster -q --threads 1 --resume");
        command.arg(out);
        command
    }

    fn on_views(&self, name: &str, options: &str, out: &Path) -> Command {
        let mut command = self.cdimc(name);
        command.args(["--id", "id"]).args(VIEWS.iter().flat_map(|view| ["--view", view]));
        command.args(options.split(' ')).arg("--output").arg(out);
        command
    }

    /// The command beside this program, in the folder of the inputs.
    fn cdimc(&self, words: &str) -> Command {
        let program = std::env::current_exe().unwrap_or_default().with_file_name("cdimc");
        let mut command = Command::new(program);
        command.current_dir(&self.desk).args(words.split(' '));
        command
    }
}

/// Writes the views of all commands as CSV files.
fn write_views(desk: &Path) -> Result<()> {
    let dataset = SyntheticViews { n_samples: 80, ..SyntheticViews::default() };
    let dataset = dataset.generate(Seed::new(5))?;
    for (values, name) in dataset.views().iter().zip(VIEWS) {
        let header: Vec<String> = (0..values.ncols()).map(|j| format!("x{j}")).collect();
        let mut text = format!("id,{}\n", header.join(","));
        for (i, row) in values.outer_iter().enumerate() {
            let row: Vec<String> = row.iter().map(ToString::to_string).collect();
            writeln!(text, "s{i},{}", row.join(","))?;
        }
        std::fs::write(desk.join(name), text)?;
    }
    Ok(())
}

fn out(place: &Path) -> PathBuf {
    place.join("out")
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        std::fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}
