//! `cargo xtask torture`: kills, refused calls, rivals and full disks, and what is left of the results after each.
//!
//! After every blow a result is whole or absent, the next start works, and what it ends with has the bits of an
//! undisturbed run. `strace` counts the calls of an undisturbed run and deals the blows at each of them.

mod blow;
mod victim;

use anyhow::{Context, Result, bail};
use blow::{Blow, Calls, Disk};
use cdimc::{note, say};
use cdimc_data::Seed;
use rand::Rng;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;
use victim::{State, Victim};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Kills at random moments, shared by all commands.
    #[arg(long, value_name = "N", default_value_t = 100)]
    kills: u64,
    /// Seed of the random moments.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// Pairs of processes on one output, for each command.
const RIVALS: usize = 5;
/// Disks that are full but for 4 kB, and each time twice as much, for each command.
const DISKS: usize = 8;

/// One line of the table.
struct Row {
    command: &'static str,
    what: String,
    dealt: usize,
    held: usize,
}

/// A command with what it gives undisturbed.
struct Ring<'a> {
    victim: &'a Victim,
    undisturbed: State,
    rows: Vec<Row>,
}

/// Runs the command. The exit code is 1 if anything did not hold.
///
/// # Errors
/// If a command fails undisturbed, or the tests' own files cannot be written.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    build()?;
    let desk = tempfile::tempdir()?;
    let victims = Victim::all(desk.path())?;
    let seed = Seed::new(arguments.seed);
    let mut rows = Vec::new();
    for (nth, victim) in victims.iter().enumerate() {
        note!("{}", victim.name);
        let place = tempfile::tempdir_in(desk.path())?;
        victim.prepare(place.path())?;
        let started = Instant::now();
        succeed(&mut victim.command(place.path()))?;
        let (takes, undisturbed) = (started.elapsed(), victim.state(place.path())?);
        let mut ring = Ring { victim, undisturbed, rows: Vec::new() };
        ring.calls(desk.path())?;
        let mut rng = seed.nth(nth as u64).rng();
        let mut moment = || takes.mul_f64(rng.gen_range(0.0..1.0));
        let share = arguments.kills / victims.len() as u64;
        let kills: Vec<Blow> = (0..share).map(|_| Blow::KillAfter(moment())).collect();
        ring.deal("SIGKILL at a random moment", desk.path(), kills)?;
        let rivals = (0..RIVALS).map(|_| Blow::Rival(moment())).collect();
        ring.deal("two processes at once", desk.path(), rivals)?;
        match Disk::new(desk.path())? {
            Some(disk) => {
                let free = |nth| Blow::Full { disk: &disk, kilobytes: 4_u64 << nth };
                ring.deal("full disk", disk.folder(), (0..DISKS).map(free).collect())?;
            }
            None => note!("full disk: left out, no tmpfs can be mounted here"),
        }
        rows.append(&mut ring.rows);
    }
    say!("{:18} {:34} {:>6} {:>6}", "command", "what", "dealt", "held");
    for Row { command, what, dealt, held } in &rows {
        say!("{command:18} {what:34} {dealt:>6} {held:>6}");
    }
    let (dealt, held) = rows.iter().fold((0, 0), |(d, h), row| (d + row.dealt, h + row.held));
    say!("{:18} {:34} {dealt:>6} {held:>6}", "all", "");
    Ok(if held == dealt { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Ring<'_> {
    /// A kill and a refusal at every call that changes files.
    fn calls(&mut self, folder: &Path) -> Result<()> {
        let place = tempfile::tempdir_in(folder)?;
        self.victim.prepare(place.path())?;
        let Some(calls) = Calls::of(&mut self.victim.command(place.path()))? else {
            note!("blows at single calls: left out, strace does not work here");
            return Ok(());
        };
        for (kind, each) in calls.by_kind() {
            let kill = |&(call, nth)| Blow::Kill { call, nth };
            let refuse = |&(call, nth)| Blow::Refuse { call, nth };
            self.deal(&format!("SIGKILL at {kind}"), folder, each.iter().map(kill).collect())?;
            self.deal(&format!("refused {kind}"), folder, each.iter().map(refuse).collect())?;
        }
        Ok(())
    }

    /// Deals blows in places of their own below `folder`, and counts those that hold.
    fn deal(&mut self, what: &str, folder: &Path, blows: Vec<Blow<'_>>) -> Result<()> {
        let mut row = Row { command: self.victim.name, what: what.to_owned(), dealt: 0, held: 0 };
        for blow in blows {
            let place = tempfile::tempdir_in(folder)?;
            self.victim.prepare(place.path())?;
            let before = self.victim.state(place.path())?;
            let dealt = blow.deal(self.victim, place.path())?;
            let verdict = self
                .victim
                .state(place.path())
                .and_then(|after| self.judge(&before, &after, dealt.succeeded, dealt.killed))
                .and_then(|()| self.victim.again(place.path()))
                .and_then(|()| self.judge_end(&self.victim.state(place.path())?));
            row.dealt += 1;
            match verdict {
                Ok(()) => row.held += 1,
                Err(error) => note!("{}, {blow:?}: {error:#}", self.victim.name),
            }
        }
        note!("{:18} {:34} {:>6} {:>6}", row.command, row.what, row.dealt, row.held);
        self.rows.push(row);
        Ok(())
    }

    /// Whether what is there after a blow may be there.
    fn judge(&self, before: &State, after: &State, succeeded: bool, killed: bool) -> Result<()> {
        let is_part = after.iter().all(|(name, bits)| self.undisturbed.get(name) == Some(bits));
        if succeeded && *after != self.undisturbed {
            bail!("it says that it succeeded, and its result is another");
        }
        // Only a kill may leave the place empty where an earlier result was.
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

/// The programs as the sources are now.
fn build() -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--package", "cdimc", "--bin", "cdimc"]);
    succeed(build.current_dir(cdimc_experiments::root()))
}

/// Runs a program that has to succeed.
fn succeed(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    bail!("{command:?}: {}: {}", output.status, said.lines().last().unwrap_or("no message"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(parts: &[(&str, &str)]) -> State {
        parts.iter().map(|&(name, bits)| (name.to_owned(), bits.to_owned())).collect()
    }

    #[test]
    fn what_may_be_left_is_told_from_what_may_not() {
        let victim = Victim::nobody();
        let undisturbed = state(&[("a", "1"), ("b", "2")]);
        let ring = Ring { victim: &victim, undisturbed, rows: Vec::new() };
        let (none, part) = (state(&[]), state(&[("a", "1")]));
        let (whole, wrong) = (ring.undisturbed.clone(), state(&[("a", "1"), ("b", "3")]));
        let earlier = state(&[("a", "0")]);
        let holds = |before: &State, after: &State, succeeded, killed| {
            ring.judge(before, after, succeeded, killed).is_ok()
        };
        for after in [&none, &part, &whole] {
            assert!(holds(&none, after, false, true) && holds(&earlier, after, false, true));
        }
        assert!(holds(&earlier, &earlier, false, false));
        // A run that fails by itself keeps what was there.
        assert!(!holds(&earlier, &none, false, false));
        assert!(!holds(&none, &wrong, false, true) && !holds(&none, &earlier, false, true));
        // A run that says it is done must be.
        assert!(holds(&none, &whole, true, false) && !holds(&none, &part, true, false));
        assert!(ring.judge_end(&whole).is_ok() && ring.judge_end(&part).is_err());
    }
}
