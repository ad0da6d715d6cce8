//! Commands under test, and how each is restarted.

use super::state::{self, State, digest};
use super::succeed;
use anyhow::{Context, Result, ensure};
use cdimc_data::{Seed, SyntheticViews};
use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A command on small data.
pub(super) struct ChildProcess {
    pub(super) name: &'static str,
    kind: Kind,
    /// Further options.
    options: Vec<String>,
    /// The folder of its inputs.
    desk: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `cdimc cluster`.
    Fresh,
    /// The same with an earlier run to replace.
    Forced,
    /// `cdimc cluster --resume`.
    Resumed,
    /// Another command of `cdimc`, which has no checkpoints.
    Other(&'static str),
    /// `xtask reproduce`.
    Reproduced,
}

/// How a command ended after a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// It had ended already.
    Whole,
    /// It resumed.
    Resumed,
    /// It restarted.
    Restarted,
}

/// A file of the user beside the output.
const USER_FILE: (&str, &str) = ("thesis.tex", "what cdimc did not write");
const VIEWS: [&str; 3] = ["rna", "protein", "image"];
/// Settings of training runs, with and without restarts.
const SHORT: &str = "[pretrain]\nepochs = 40\n[finetune]\nrounds = 80\n[advanced]\nwide = 48\n";

impl ChildProcess {
    /// Returns all commands, with their inputs in `desk`; checkpoints are written as often as possible.
    pub(super) fn all(desk: &Path) -> Result<Vec<Self>> {
        write_views(desk)?;
        let (short, restarts) = (desk.join("short.toml"), desk.join("restarts.toml"));
        std::fs::write(&short, format!("restarts = 1\n{SHORT}"))?;
        std::fs::write(&restarts, format!("restarts = 2\n{SHORT}"))?;
        let model = desk.join("model");
        let (short, restarts) = (short.display().to_string(), restarts.display().to_string());
        let model_file = model.join("model.safetensors").display().to_string();
        let kept = ["--checkpoint-every", "0"];
        let child = |name, kind, options: &[&str]| Self {
            name,
            kind,
            options: options.iter().map(|&option| option.to_owned()).collect(),
            desk: desk.to_owned(),
        };
        let fresh = |name, options: &[&str]| {
            child(name, Kind::Fresh, &[&["--seed", "1"][..], &kept, options].concat())
        };
        let of_model = ["--model", &model_file];
        let cdimc_net = ["-k", "4", "--method", "cdimc-net", "--config", &short];
        let methods = ["--method", "concat", "--method", "bsv"];
        let compared =
            [&methods[..2], &["--method", "opimc", "-k", "4", "--threads", "1"]].concat();
        let all = vec![
            fresh("cluster", &["-k", "4"]),
            child("cluster --force", Kind::Forced, &["--seed", "1", "-k", "4"]),
            child("cluster --resume", Kind::Resumed, &[]),
            child(
                "cluster --force cdimc-net",
                Kind::Forced,
                &[&["--seed", "1"][..], &kept, &cdimc_net].concat(),
            ),
            fresh("cluster cdimc-net", &cdimc_net),
            fresh("cluster restarts", &["-k", "4", "--method", "cdimc-net", "--config", &restarts]),
            fresh("cluster mkkm-ik-mkc", &["-k", "4", "--method", "mkkm-ik-mkc"]),
            fresh("cluster --k-range", &["--k-range", "1..4"]),
            fresh("cluster --stability", &["-k", "4", "--stability=10"]),
            child("predict", Kind::Other("predict"), &of_model),
            child("impute", Kind::Other("impute"), &of_model),
            child("mask", Kind::Other("mask"), &["--pattern", "per-view:0.2"]),
            child("compare", Kind::Other("compare"), &compared),
            child("reproduce", Kind::Reproduced, &methods),
            child(
                "reproduce cdimc-net",
                Kind::Reproduced,
                &[&["--method", "cdimc-net", "--jobs", "1"][..], &kept].concat(),
            ),
        ];
        succeed(&mut all[0].cluster(&["--seed", "3", "-k", "4"], &model))?;
        succeed(&mut all[1].cluster(&["--seed", "2", "-k", "4"], &all[1].initial_output()))?;
        all[2].create_interrupted(&[&["--seed", "1"][..], &cdimc_net].concat())?;
        Ok(all)
    }

    #[cfg(test)]
    pub(super) fn for_tests() -> Self {
        Self { name: "test", kind: Kind::Fresh, options: Vec::new(), desk: PathBuf::new() }
    }

    /// Returns whether faults are injected at each call. Commands with checkpoints make hundreds of equal calls.
    pub(super) fn is_short(&self) -> bool {
        !self.options.iter().any(|option| option == "--checkpoint-every") || self.name == "cluster"
    }

    /// Creates the state in `place` before the command starts.
    pub(super) fn prepare(&self, place: &Path) -> Result<()> {
        std::fs::write(place.join(USER_FILE.0), USER_FILE.1)?;
        match self.kind {
            Kind::Forced | Kind::Resumed => copy_folder(&self.initial_output(), &place.join("out")),
            _ => Ok(()),
        }
    }

    /// Returns the command with its output in `place`.
    pub(super) fn command(&self, place: &Path) -> Command {
        let out = out(place);
        let options: Vec<&str> = self.options.iter().map(String::as_str).collect();
        match self.kind {
            Kind::Fresh => self.cluster(&options, &out),
            Kind::Forced => self.cluster(&[&options[..], &["--force"]].concat(), &out),
            Kind::Resumed => resume(&out),
            Kind::Other(name) => {
                let mut command = Command::new(program());
                self.views(command.args([name, "-q"]));
                command.args(options).arg("--output").arg(out);
                command
            }
            Kind::Reproduced => {
                let mut command = Command::new(std::env::current_exe().unwrap_or_default());
                command.args(["reproduce", "smoke"]).args(options);
                // The data of this experiment are generated from their seed.
                command.arg("--out").arg(out).env_remove("CDIMC_DATASETS");
                command
            }
        }
    }

    /// Starts the command again on the same output; it must resume, or report a restart and restart.
    pub(super) fn again(&self, place: &Path) -> Result<Again> {
        let again = self.next_start(place)?;
        let is_ours = |name: &str| name.starts_with(".cdimc-");
        for entry in std::fs::read_dir(place)? {
            let name = entry?.file_name();
            ensure!(!is_ours(&name.to_string_lossy()), "{} is left", name.display());
        }
        if self.kind == Kind::Reproduced {
            let left = out(place).join("smoke/checkpoints");
            ensure!(!left.exists(), "{} is left", left.display());
        }
        let mine = std::fs::read_to_string(place.join(USER_FILE.0)).unwrap_or_default();
        ensure!(mine == USER_FILE.1, "{}: the user's file has changed", USER_FILE.0);
        Ok(again)
    }

    fn next_start(&self, place: &Path) -> Result<Again> {
        match self.kind {
            Kind::Reproduced => {
                succeed(&mut self.command(place))?;
                return Ok(Again::Resumed);
            }
            Kind::Other(_) => {}
            Kind::Fresh | Kind::Forced | Kind::Resumed => {
                let errors = match succeed(&mut resume(&out(place))) {
                    Ok(()) => return Ok(Again::Resumed),
                    Err(error) => format!("{error:#}"),
                };
                let is_whole = errors.contains("this run has finished");
                if is_whole && self.kind != Kind::Forced {
                    return Ok(Again::Whole);
                }
                // The earlier of two runs may be in place, and it has finished.
                ensure!(is_whole || errors.contains("begin it again"), "--resume: {errors}");
            }
        }
        let mut command = self.command(place);
        if self.kind != Kind::Forced {
            command.arg("--force");
        }
        succeed(&mut command)?;
        Ok(Again::Restarted)
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
        let digest = |view| {
            let path = self.view(view);
            Ok((path.display().to_string(), digest(&path)?))
        };
        VIEWS.into_iter().map(digest).collect()
    }

    /// Returns the folder with the output that exists before the command starts.
    fn initial_output(&self) -> PathBuf {
        self.desk.join(format!("{:?}", self.kind))
    }

    /// Interrupts a run in the middle of its training.
    fn create_interrupted(&self, options: &[&str]) -> Result<()> {
        let mut command = self.cluster(options, &self.initial_output());
        let mut run = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
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
        self.views(command.args(["cluster", "--threads", "1"]));
        command.args(options).arg("--output").arg(out);
        command
    }

    fn views(&self, command: &mut Command) {
        command.args(["--id", "id"]);
        for view in VIEWS {
            command.arg("--view").arg(self.view(view));
        }
    }

    fn view(&self, name: &str) -> PathBuf {
        self.desk.join(format!("{name}.csv"))
    }
}

/// Writes the views of all commands as CSV files.
fn write_views(desk: &Path) -> Result<()> {
    let dataset = SyntheticViews { n_samples: 80, ..SyntheticViews::default() };
    let dataset = dataset.generate(Seed::new(5))?;
    for (values, name) in dataset.views().iter().zip(VIEWS) {
        let header: Vec<String> = (0..values.ncols()).map(|j| format!("{name}{j}")).collect();
        let mut text = format!("id,{}\n", header.join(","));
        for (i, row) in values.outer_iter().enumerate() {
            let row: Vec<String> = row.iter().map(ToString::to_string).collect();
            writeln!(text, "s{i},{}", row.join(","))?;
        }
        std::fs::write(desk.join(format!("{name}.csv")), text)?;
    }
    Ok(())
}

fn out(place: &Path) -> PathBuf {
    place.join("out")
}

fn resume(out: &Path) -> Command {
    let mut command = Command::new(program());
    command.args(["cluster", "-q", "--threads", "1", "--resume"]).arg(out);
    command
}

/// Returns the path of the command beside this program.
fn program() -> PathBuf {
    std::env::current_exe().unwrap_or_default().with_file_name("cdimc")
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        std::fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}
