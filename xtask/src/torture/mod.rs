//! `cargo xtask torture`: crash tests with kills, failed calls, concurrent runs and full disks.
//!
//! After every fault a result must be whole or absent. The next start must resume or report that it restarts, and end
//! with the bits of an undisturbed run. No other file may be added or lost. `strace` counts the calls of an undisturbed
//! run and injects faults at each of them.

mod child;

use crate::cargo;
use anyhow::{Context, Result, ensure};
use cdimc::{note, say};
use cdimc_data::Seed;
use cdimc_experiments::output;
use child::{ChildProcess, INTERRUPTED, State};
use rand::Rng;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Pairs of processes with one output, for each command.
const CONCURRENT_RUNS: usize = 5;
/// Number of nearly full disks for each command: the first has 4 kB left, each next one twice as much.
const FULL_DISKS: usize = 8;
/// Number of kills per round; the last two of a round come at the last rename.
const KILLS_PER_ROUND: usize = 8;
/// System calls that change files, by kind. With a question mark, `strace` ignores calls that a machine lacks.
const KINDS: [(&str, &str); 3] = [
    ("a write", "write writev pwrite64 ftruncate"),
    ("an fsync", "fsync fdatasync"),
    (
        "a change of names",
        "rename renameat renameat2 mkdir mkdirat unlink unlinkat rmdir link linkat",
    ),
];
/// Exit code of a job that was asked to end.
const TERMINATED: i32 = 128 + 15;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Kills and terminations at random moments and at the last rename, divided among all commands.
    #[arg(long, value_name = "N", default_value_t = 100)]
    kills: usize,
    /// Inject only these faults.
    #[arg(long)]
    kills_only: bool,
    /// Seed of the random moments.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// Runs the command. The exit code is 1 if any check failed.
///
/// # Errors
/// If a command fails undisturbed, or the tests' own files cannot be written.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    output(cargo().args(["build", "--quiet", "--package", "cdimc", "--bin", "cdimc"]))?;
    let desk = tempfile::tempdir()?;
    let disk = Disk::new(desk.path())?;
    if disk.is_none() {
        note!("full disk: left out, no tmpfs can be mounted here");
    }
    let children = ChildProcess::all(desk.path())?;
    let (mut dealt, mut held) = (0, 0);
    say!("{:26} {:34} {:>6} {:>6} {:>9}", "command", "what", "dealt", "held", "most lost");
    for (nth, child) in children.iter().enumerate() {
        let trial = Trial::new(child, desk.path())?;
        let n = children.len();
        let kills = arguments.kills / n + usize::from(nth < arguments.kills % n);
        let mut rng = Seed::new(arguments.seed).nth(nth as u64).rng();
        let faults = trial.faults(kills, arguments.kills_only, disk.as_ref(), &mut rng);
        for (what, faults) in faults {
            let (passed, lost) = trial.inject(&faults)?;
            dealt += faults.len();
            held += passed;
            say!("{:26} {what:34} {:>6} {passed:>6} {lost:7.1} s", child.name, faults.len());
        }
    }
    say!("{:20} {held} of {dealt}", "all held");
    Ok(if held == dealt { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A command with its undisturbed result.
struct Trial<'a> {
    child: &'a ChildProcess,
    desk: &'a Path,
    undisturbed: State,
    /// Seconds.
    takes: f64,
    /// All calls of an undisturbed run that change files; none without `strace`.
    calls: Vec<Call>,
}

impl<'a> Trial<'a> {
    /// Runs the command undisturbed: result, time and calls.
    fn new(child: &'a ChildProcess, desk: &'a Path) -> Result<Self> {
        let place = tempfile::tempdir_in(desk)?;
        child.prepare(place.path())?;
        let started = Instant::now();
        output(&mut child.command(&[], place.path()))?;
        let (takes, undisturbed) = (started.elapsed().as_secs_f64(), child.state(place.path())?);
        let place = tempfile::tempdir_in(desk)?;
        child.prepare(place.path())?;
        let calls = calls_of(child, place.path())?;
        if calls.is_none() {
            note!("faults at single calls: left out, strace does not work here");
        }
        Ok(Self { child, desk, undisturbed, takes, calls: calls.unwrap_or_default() })
    }

    /// All faults of the command, by what they are called.
    fn faults<'d>(
        &self,
        kills: usize,
        kills_only: bool,
        disk: Option<&'d Disk>,
        rng: &mut impl Rng,
    ) -> Vec<(String, Vec<Fault<'d>>)> {
        let mut moment = || Duration::from_secs_f64(rng.gen_range(0.0..self.takes));
        let last_rename = self.calls.iter().rfind(|call| call.name.starts_with("rename"));
        let kill = |i: usize| {
            let signal = if i.is_multiple_of(2) { "KILL" } else { "TERM" };
            match last_rename {
                Some(&call) if i % KILLS_PER_ROUND >= KILLS_PER_ROUND - 2 => {
                    Fault::At { call, what: format!("signal=SIG{signal}") }
                }
                _ => Fault::After { signal, wait: moment() },
            }
        };
        let mut all = vec![("kills and terminations".to_owned(), (0..kills).map(kill).collect())];
        if kills_only {
            return all;
        }
        for (kind, names) in KINDS.iter().filter(|_| self.child.is_short()) {
            let of_kind = |call: &&Call| names.split(' ').any(|name| name == call.name);
            for (words, what) in [("SIGKILL at", "signal=SIGKILL"), ("refused", "error=ENOSPC")] {
                let calls = self.calls.iter().filter(of_kind);
                let at = calls.map(|&call| Fault::At { call, what: what.to_owned() });
                all.push((format!("{words} {kind}"), at.collect()));
            }
        }
        let concurrent = (0..CONCURRENT_RUNS).map(|_| Fault::Concurrent(moment())).collect();
        all.push(("two processes at once".to_owned(), concurrent));
        let full = |disk| (0..FULL_DISKS).map(move |i| Fault::Full { disk, kilobytes: 4 << i });
        all.push(("full disk".to_owned(), disk.into_iter().flat_map(full).collect()));
        all
    }

    /// Injects each fault in a place of its own; returns the number of passed checks, and the largest number of seconds
    /// by which a killed and the next run together exceed an undisturbed one.
    fn inject(&self, faults: &[Fault<'_>]) -> Result<(usize, f64)> {
        let inputs = self.child.inputs()?;
        let (mut held, mut lost) = (0, 0.0_f64);
        for fault in faults {
            let place = tempfile::tempdir_in(fault.folder().unwrap_or(self.desk))?;
            self.child.prepare(place.path())?;
            let started = Instant::now();
            match self.inject_one(fault, place.path()) {
                Ok(()) => held += 1,
                Err(error) => note!("{}, {fault:?}: {error:#}", self.child.name),
            }
            // Traced commands take longer.
            if matches!(fault, Fault::After { .. }) {
                lost = lost.max(started.elapsed().as_secs_f64() - self.takes);
            }
        }
        ensure!(self.child.inputs()? == inputs, "{}: the inputs have changed", self.child.name);
        Ok((held, lost))
    }

    /// Injects one fault, starts the command again and checks both.
    fn inject_one(&self, fault: &Fault<'_>, place: &Path) -> Result<()> {
        let before = self.child.state(place)?;
        let end = fault.inject(self.child, place)?;
        judge(&self.undisturbed, [&before, &self.child.state(place)?], end)?;
        self.child.again(place)?;
        let states = [&before, &self.child.state(place)?];
        judge(&self.undisturbed, states, End::Succeeded).context("the next run")
    }
}

/// Checks the state after a run against the state before it and the result of an undisturbed run.
fn judge(undisturbed: &State, [before, after]: [&State; 2], end: End) -> Result<()> {
    let killed = end == End::Killed;
    // A result stays until another is whole.
    let had_result = before.keys().any(|name| name != INTERRUPTED);
    let is_part = after.iter().all(|(name, bits)| {
        let is_interrupted = killed && !had_result && name == INTERRUPTED;
        undisturbed.get(name) == Some(bits) || is_interrupted
    });
    ensure!(
        end != End::Succeeded || after == undisturbed,
        "it exits with 0 and has another result"
    );
    // Only a kill may remove an earlier result.
    let is_left = killed || !after.is_empty();
    let holds = after == before || (is_part && is_left);
    ensure!(holds, "what it left is neither the earlier result nor of the undisturbed one");
    Ok(())
}

/// The `nth` call of this name in the main thread, which writes all files.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Call {
    pub name: &'static str,
    pub nth: usize,
}

/// A fault of a run.
#[derive(Debug)]
enum Fault<'a> {
    /// What `strace` does at a call: a signal, or an error as of a full or broken disk.
    At { call: Call, what: String },
    /// A signal after a time.
    After { signal: &'static str, wait: Duration },
    /// A second start of the same command, after a time, with the same output.
    Concurrent(Duration),
    /// A disk with this much space.
    Full { disk: &'a Disk, kilobytes: u64 },
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    /// With exit code 0.
    Succeeded,
    /// With another exit code.
    Failed,
    /// By a signal.
    Killed,
}

impl Fault<'_> {
    /// The folder that the fault needs, if any.
    fn folder(&self) -> Option<&Path> {
        match self {
            Self::Full { disk, .. } => Some(disk.0.path()),
            _ => None,
        }
    }

    /// Runs the child in `place` with this fault.
    fn inject(&self, child: &ChildProcess, place: &Path) -> Result<End> {
        let mut command = child.command(&[], place);
        silent(&mut command);
        let status = match self {
            Self::At { call: Call { name, nth }, what } => {
                let (trace, inject) =
                    (format!("trace={name}"), format!("inject={name}:{what}:when={nth}"));
                let strace = ["strace", "-o", "/dev/null", "-e", &trace, "-e", &inject];
                silent(&mut child.command(&strace, place)).status().context("strace")?
            }
            Self::After { signal, wait } => {
                let mut run = command.spawn()?;
                std::thread::sleep(*wait);
                // It may have ended already, but keeps its process id until it is waited for.
                let mut kill = Command::new("kill");
                kill.args([format!("-{signal}"), run.id().to_string()]);
                let _ = silent(&mut kill).status();
                run.wait()?
            }
            Self::Concurrent(wait) => {
                let mut first = command.spawn()?;
                std::thread::sleep(*wait);
                let second = silent(&mut child.command(&[], place)).status()?;
                let first = first.wait()?;
                // One may refuse while the other works; together they must succeed.
                if first.success() { first } else { second }
            }
            Self::Full { disk, kilobytes } => {
                let ballast = disk.fill(*kilobytes)?;
                let status = command.status()?;
                std::fs::remove_file(ballast)?;
                status
            }
        };
        Ok(match status.code() {
            Some(0) => End::Succeeded,
            None | Some(TERMINATED) => End::Killed,
            Some(_) => End::Failed,
        })
    }
}

fn silent(command: &mut Command) -> &mut Command {
    command.stdout(Stdio::null()).stderr(Stdio::null())
}

/// The calls of a run of the child that change files; `None` if there is no working `strace`.
fn calls_of(child: &ChildProcess, place: &Path) -> Result<Option<Vec<Call>>> {
    let log = tempfile::NamedTempFile::new()?;
    let file = log.path().display().to_string();
    let only: Vec<String> = names().map(|name| format!("?{name}")).collect();
    let only = format!("trace={}", only.join(","));
    if output(Command::new("strace").args(["-o", &file, "true"])).is_err() {
        return Ok(None);
    }
    output(&mut child.command(&["strace", "-o", &file, "-e", &only], place))?;
    Ok(Some(calls_in(&std::fs::read_to_string(log.path())?)))
}

fn calls_in(log: &str) -> Vec<Call> {
    let called = |line: &str| names().find(|name| line.starts_with(&format!("{name}(")));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let call = |name| {
        let nth = counts.entry(name).or_default();
        *nth += 1;
        Call { name, nth: *nth }
    };
    log.lines().filter_map(called).map(call).collect()
}

fn names() -> impl Iterator<Item = &'static str> {
    KINDS.iter().flat_map(|(_, calls)| calls.split(' '))
}

/// A disk of 64 MB in memory.
#[derive(Debug)]
struct Disk(TempDir);

impl Disk {
    /// Mounts it below `folder`; `None` if that is not permitted.
    fn new(folder: &Path) -> Result<Option<Self>> {
        let place = tempfile::tempdir_in(folder)?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64m", "none"]).arg(place.path());
        Ok(output(&mut mount).is_ok().then(|| Self(place)))
    }

    /// Fills it with a file except for `kilobytes`.
    fn fill(&self, kilobytes: u64) -> Result<PathBuf> {
        let path = self.0.path().join("ballast");
        let mut file = File::create(&path)?;
        // It ends in an error, where the disk is full.
        let _ = std::io::copy(&mut std::io::repeat(0), &mut file);
        let length = file.metadata()?.len();
        file.set_len(length.saturating_sub(kilobytes << 10))?;
        Ok(path)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // A disk that remains is in the list of mounts.
        let _ = silent(Command::new("umount").arg(self.0.path())).status();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(parts: &[(&str, &str)]) -> State {
        parts.iter().map(|&(name, bits)| (name.to_owned(), bits.to_owned())).collect()
    }

    #[test]
    fn allowed_and_forbidden_states_are_distinguished() {
        let whole = state(&[("a", "1"), ("b", "2")]);
        let (none, part, wrong) =
            (state(&[]), state(&[("a", "1")]), state(&[("a", "1"), ("b", "3")]));
        let (earlier, restarted) = (state(&[("a", "0")]), state(&[(INTERRUPTED, "4")]));
        for (before, after, end, holds) in [
            (&none, &none, End::Killed, true),
            (&none, &part, End::Killed, true),
            (&none, &whole, End::Killed, true),
            (&earlier, &none, End::Killed, true),
            (&earlier, &part, End::Killed, true),
            (&earlier, &whole, End::Killed, true),
            (&earlier, &earlier, End::Failed, true),
            // A run that fails without a kill keeps the earlier result.
            (&earlier, &none, End::Failed, false),
            (&none, &wrong, End::Killed, false),
            (&none, &earlier, End::Killed, false),
            // Only a killed run may leave an interrupted run.
            (&none, &restarted, End::Killed, true),
            (&none, &restarted, End::Failed, false),
            (&earlier, &restarted, End::Killed, false),
            // A run that exits with 0 must be whole.
            (&none, &whole, End::Succeeded, true),
            (&none, &part, End::Succeeded, false),
        ] {
            let judged = judge(&whole, [before, after], end);
            assert_eq!(judged.is_ok(), holds, "{before:?} {after:?} {end:?}");
        }
    }

    #[test]
    fn calls_are_counted_by_their_names() {
        let log = "mkdir(\"a\", 0777) = 0\nwrite(3, \"x\", 1) = 1\n--- SIGCHLD {} ---\nwrite(3, \"rename(\", 7) = 7\n\
                   renameat2(1, 2) = 0\n+++ exited with 0 +++\n";
        let expected = [("mkdir", 1), ("write", 1), ("write", 2), ("renameat2", 1)];
        assert_eq!(calls_in(log), expected.map(|(name, nth)| Call { name, nth }));
    }
}
