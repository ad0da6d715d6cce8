//! `cargo xtask torture`: crash tests with kills, failed calls, concurrent runs and full disks.
//!
//! After every fault a result must be whole or absent. The next start must resume or report that it restarts, and end
//! with the bits of an undisturbed run. No other file may be added or lost. `strace` counts the calls of an undisturbed
//! run and injects faults at each of them.

mod child;
mod fault;
mod state;

use anyhow::{Context, Result, bail};
use cdimc::{note, say};
use cdimc_data::Seed;
use child::{Again, ChildProcess};
use fault::{Calls, Disk, Fault};
use rand::Rng;
use state::{INTERRUPTED, State};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

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

/// Pairs of processes with one output, for each command.
const CONCURRENT_RUNS: usize = 5;
/// Number of nearly full disks for each command: the first has 4 kB left, each next one twice as much.
const FULL_DISKS: usize = 8;

/// Number of kills per round; the last two of a round come at the last rename.
const KILLS_PER_ROUND: usize = 8;

/// One line of a table.
#[derive(Default)]
struct Row {
    command: &'static str,
    what: String,
    dealt: usize,
    held: usize,
    /// Faults after which the next start found the result, resumed, or restarted.
    whole: usize,
    resumed: usize,
    restarted: usize,
    /// Largest number of seconds by which the disturbed and the next run together exceed an undisturbed one.
    lost: f64,
}

/// A command with its undisturbed result.
struct Trial<'a> {
    child: &'a ChildProcess,
    undisturbed: State,
    /// Seconds.
    takes: f64,
    calls: Option<Calls>,
    rows: Vec<Row>,
}

/// Runs the command. The exit code is 1 if any check failed.
///
/// # Errors
/// If a command fails undisturbed, or the tests' own files cannot be written.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    build()?;
    let desk = tempfile::tempdir()?;
    let children = ChildProcess::all(desk.path())?;
    let mut rows = Vec::new();
    for (nth, child) in children.iter().enumerate() {
        note!("{}", child.name);
        let mut trial = Trial::new(child, desk.path())?;
        let mut rng = Seed::new(arguments.seed).nth(nth as u64).rng();
        let share =
            arguments.kills / children.len() + usize::from(nth < arguments.kills % children.len());
        let takes = trial.takes;
        let mut moment = || std::time::Duration::from_secs_f64(rng.gen_range(0.0..takes));
        let faults = (0..share).map(|i| trial.kill(i, moment())).collect();
        trial.inject("kills and terminations", desk.path(), faults)?;
        if !arguments.kills_only {
            trial.calls(desk.path())?;
            let concurrent = (0..CONCURRENT_RUNS).map(|_| Fault::Concurrent(moment())).collect();
            trial.inject("two processes at once", desk.path(), concurrent)?;
            trial.full_disks(desk.path())?;
        }
        rows.append(&mut trial.rows);
    }
    say!(
        "{:26} {:34} {:>6} {:>6} {:>6} {:>9} {:>11} {:>9}",
        "command",
        "what",
        "dealt",
        "held",
        "ended",
        "continued",
        "restarted",
        "most lost"
    );
    for Row { command, what, dealt, held, whole, resumed, restarted, lost } in &rows {
        say!(
            "{command:26} {what:34} {dealt:>6} {held:>6} {whole:>6} {resumed:>9} {restarted:>11} {lost:7.1} s"
        );
    }
    let (dealt, held) = rows.iter().fold((0, 0), |(d, h), row: &Row| (d + row.dealt, h + row.held));
    say!("{:20} {held} of {dealt}", "all held");
    Ok(if held == dealt { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl<'a> Trial<'a> {
    /// Runs the command undisturbed: result, time and calls.
    fn new(child: &'a ChildProcess, desk: &Path) -> Result<Self> {
        let place = tempfile::tempdir_in(desk)?;
        child.prepare(place.path())?;
        let started = Instant::now();
        succeed(&mut child.command(place.path()))?;
        let (takes, undisturbed) = (started.elapsed().as_secs_f64(), child.state(place.path())?);
        let place = tempfile::tempdir_in(desk)?;
        child.prepare(place.path())?;
        let calls = Calls::of(&mut child.command(place.path()))?;
        if calls.is_none() {
            note!("faults at single calls: left out, strace does not work here");
        }
        Ok(Self { child, undisturbed, takes, calls, rows: Vec::new() })
    }

    /// Returns kill number `i`: alternately SIGKILL and SIGTERM, at a random moment or at the last rename.
    fn kill(&self, i: usize, wait: std::time::Duration) -> Fault<'static> {
        let signal = if i.is_multiple_of(2) { "KILL" } else { "TERM" };
        match self.calls.as_ref().and_then(Calls::last_rename) {
            Some((call, nth)) if i % KILLS_PER_ROUND >= KILLS_PER_ROUND - 2 => {
                Fault::At { signal, call, nth }
            }
            _ => Fault::After { signal, wait },
        }
    }

    /// Kills the command and fails a call at every call that changes files.
    fn calls(&mut self, folder: &Path) -> Result<()> {
        let Some(calls) = self.calls.as_ref().filter(|_| self.child.is_short()) else {
            return Ok(());
        };
        for (kind, each) in calls.by_kind() {
            let kill = |&(call, nth)| Fault::At { signal: "KILL", call, nth };
            let refuse = |&(call, nth)| Fault::Refuse { call, nth };
            self.inject(&format!("SIGKILL at {kind}"), folder, each.iter().map(kill).collect())?;
            self.inject(&format!("refused {kind}"), folder, each.iter().map(refuse).collect())?;
        }
        Ok(())
    }

    fn full_disks(&mut self, folder: &Path) -> Result<()> {
        let Some(disk) = Disk::new(folder)? else {
            note!("full disk: left out, no tmpfs can be mounted here");
            return Ok(());
        };
        let free = |nth| Fault::Full { disk: &disk, kilobytes: 4_u64 << nth };
        self.inject("full disk", disk.folder(), (0..FULL_DISKS).map(free).collect())
    }

    /// Injects each fault in its own place below `folder`, and counts passed checks.
    fn inject(&mut self, what: &str, folder: &Path, faults: Vec<Fault<'_>>) -> Result<()> {
        let mut row = Row { command: self.child.name, what: what.to_owned(), ..Row::default() };
        let inputs = self.child.inputs()?;
        for fault in faults {
            let place = tempfile::tempdir_in(folder)?;
            self.child.prepare(place.path())?;
            row.dealt += 1;
            match self.inject_one(&fault, place.path(), &mut row) {
                Ok(()) => row.held += 1,
                Err(error) => note!("{}, {fault:?}: {error:#}", self.child.name),
            }
        }
        if self.child.inputs()? != inputs {
            bail!("{}: the inputs have changed", self.child.name);
        }
        note!("{:20} {:34} {:>6} {:>6}", row.command, row.what, row.dealt, row.held);
        self.rows.push(row);
        Ok(())
    }

    /// Injects one fault, starts the command again and checks both.
    fn inject_one(&self, fault: &Fault<'_>, place: &Path, row: &mut Row) -> Result<()> {
        let before = self.child.state(place)?;
        let started = Instant::now();
        let dealt = fault.inject(self.child, place)?;
        let first = started.elapsed();
        let after = self.child.state(place)?;
        self.judge(&before, &after, dealt.succeeded, dealt.killed)?;
        let started = Instant::now();
        let again = self.child.again(place)?;
        let both = (first + started.elapsed()).as_secs_f64();
        if dealt.succeeded || again == Again::Whole {
            row.whole += 1;
        } else {
            *(if again == Again::Restarted { &mut row.restarted } else { &mut row.resumed }) += 1;
            // Traced commands take longer.
            if matches!(fault, Fault::After { .. }) {
                row.lost = row.lost.max(both - self.takes);
            }
        }
        self.judge_end(&self.child.state(place)?)
    }

    /// Checks the state after a fault.
    fn judge(&self, before: &State, after: &State, succeeded: bool, killed: bool) -> Result<()> {
        // A result stays until another is whole.
        let had_result = before.keys().any(|name| name != INTERRUPTED);
        let is_part = after.iter().all(|(name, bits)| {
            let is_interrupted = killed && !had_result && name == INTERRUPTED;
            self.undisturbed.get(name) == Some(bits) || is_interrupted
        });
        if succeeded && *after != self.undisturbed {
            bail!("it exits with 0 and has another result");
        }
        // Only a kill may remove an earlier result.
        let is_left = killed || !after.is_empty();
        if after == before || (is_part && is_left) {
            return Ok(());
        }
        bail!("what it left is neither the earlier result nor of the undisturbed one")
    }

    fn judge_end(&self, end: &State) -> Result<()> {
        if *end == self.undisturbed {
            return Ok(());
        }
        bail!("the next run ends with another result")
    }
}

/// Builds the programs.
fn build() -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--package", "cdimc", "--bin", "cdimc"]);
    succeed(build.current_dir(cdimc_experiments::root()))
}

/// Runs a program that must succeed.
fn succeed(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    bail!("{command:?}: {}: {}", output.status, errors.lines().last().unwrap_or("no message"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(parts: &[(&str, &str)]) -> State {
        parts.iter().map(|&(name, bits)| (name.to_owned(), bits.to_owned())).collect()
    }

    #[test]
    fn allowed_and_forbidden_states_are_distinguished() {
        let child = ChildProcess::for_tests();
        let undisturbed = state(&[("a", "1"), ("b", "2")]);
        let trial = Trial { child: &child, undisturbed, takes: 0.0, calls: None, rows: Vec::new() };
        let (none, part) = (state(&[]), state(&[("a", "1")]));
        let (whole, wrong) = (trial.undisturbed.clone(), state(&[("a", "1"), ("b", "3")]));
        let earlier = state(&[("a", "0")]);
        let holds = |before: &State, after: &State, succeeded, killed| {
            trial.judge(before, after, succeeded, killed).is_ok()
        };
        for after in [&none, &part, &whole] {
            assert!(holds(&none, after, false, true) && holds(&earlier, after, false, true));
        }
        assert!(holds(&earlier, &earlier, false, false));
        // A run that fails without a kill keeps the earlier result.
        assert!(!holds(&earlier, &none, false, false));
        assert!(!holds(&none, &wrong, false, true) && !holds(&none, &earlier, false, true));
        // Only a killed run may leave an interrupted run.
        let restarted = state(&[(INTERRUPTED, "4")]);
        assert!(holds(&none, &restarted, false, true) && !holds(&none, &restarted, false, false));
        assert!(!holds(&earlier, &restarted, false, true));
        // A run that exits with 0 must be whole.
        assert!(holds(&none, &whole, true, false) && !holds(&none, &part, true, false));
        assert!(trial.judge_end(&whole).is_ok() && trial.judge_end(&part).is_err());
    }
}
