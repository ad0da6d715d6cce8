//! `cargo xtask torture`: kills, refused calls, rivals and full disks, and what is left of the results after each.
//!
//! After every blow a result is whole or absent, the next start goes on or says that it begins again, what it ends
//! with has the bits of an undisturbed run, and nothing else is left or gone. `strace` counts the calls of an
//! undisturbed run and deals the blows at each of them.

mod blow;
mod state;
mod victim;

use anyhow::{Context, Result, bail};
use blow::{Blow, Calls, Disk};
use cdimc::{note, say};
use cdimc_data::Seed;
use rand::Rng;
use state::{INTERRUPTED, State};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;
use victim::{Again, Victim};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Kills and terminations at random moments and at the last change of names, shared by all commands.
    #[arg(long, value_name = "N", default_value_t = 100)]
    kills: usize,
    /// No blows but these.
    #[arg(long)]
    kills_only: bool,
    /// Seed of the random moments.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// Pairs of processes on one output, for each command.
const RIVALS: usize = 5;
/// Disks that are full but for 4 kB, and each time twice as much, for each command.
const DISKS: usize = 8;

/// Of so many kills the last two come at the last change of names.
const ROUND: usize = 8;

/// One line of a table.
#[derive(Default)]
struct Row {
    command: &'static str,
    what: String,
    dealt: usize,
    held: usize,
    /// Of those dealt: the next start found the result, went on, or said that it begins again.
    whole: usize,
    resumed: usize,
    begun: usize,
    /// The most seconds by which the disturbed run and the next took longer together than an undisturbed one.
    lost: f64,
}

/// A command with what it gives undisturbed.
struct Ring<'a> {
    victim: &'a Victim,
    undisturbed: State,
    /// Seconds.
    takes: f64,
    calls: Option<Calls>,
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
    let mut rows = Vec::new();
    for (nth, victim) in victims.iter().enumerate() {
        note!("{}", victim.name);
        let mut ring = Ring::new(victim, desk.path())?;
        let mut rng = Seed::new(arguments.seed).nth(nth as u64).rng();
        let share =
            arguments.kills / victims.len() + usize::from(nth < arguments.kills % victims.len());
        let takes = ring.takes;
        let mut moment = || std::time::Duration::from_secs_f64(rng.gen_range(0.0..takes));
        let blows = (0..share).map(|i| ring.kill(i, moment())).collect();
        ring.deal("kills and terminations", desk.path(), blows)?;
        if !arguments.kills_only {
            ring.calls(desk.path())?;
            let rivals = (0..RIVALS).map(|_| Blow::Rival(moment())).collect();
            ring.deal("two processes at once", desk.path(), rivals)?;
            ring.full_disks(desk.path())?;
        }
        rows.append(&mut ring.rows);
    }
    say!(
        "{:26} {:34} {:>6} {:>6} {:>6} {:>9} {:>11} {:>9}",
        "command",
        "what",
        "dealt",
        "held",
        "ended",
        "continued",
        "began again",
        "most lost"
    );
    for Row { command, what, dealt, held, whole, resumed, begun, lost } in &rows {
        say!(
            "{command:26} {what:34} {dealt:>6} {held:>6} {whole:>6} {resumed:>9} {begun:>11} {lost:7.1} s"
        );
    }
    let (dealt, held) = rows.iter().fold((0, 0), |(d, h), row: &Row| (d + row.dealt, h + row.held));
    say!("{:20} {held} of {dealt}", "all held");
    Ok(if held == dealt { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl<'a> Ring<'a> {
    /// What the command gives, how long it takes and which calls it makes.
    fn new(victim: &'a Victim, desk: &Path) -> Result<Self> {
        let place = tempfile::tempdir_in(desk)?;
        victim.prepare(place.path())?;
        let started = Instant::now();
        succeed(&mut victim.command(place.path()))?;
        let (takes, undisturbed) = (started.elapsed().as_secs_f64(), victim.state(place.path())?);
        let place = tempfile::tempdir_in(desk)?;
        victim.prepare(place.path())?;
        let calls = Calls::of(&mut victim.command(place.path()))?;
        if calls.is_none() {
            note!("blows at single calls: left out, strace does not work here");
        }
        Ok(Self { victim, undisturbed, takes, calls, rows: Vec::new() })
    }

    /// The kill number `i`: SIGKILL and SIGTERM in turn, at a random moment or at the last change of names.
    fn kill(&self, i: usize, wait: std::time::Duration) -> Blow<'static> {
        let signal = if i.is_multiple_of(2) { "KILL" } else { "TERM" };
        match self.calls.as_ref().and_then(Calls::last_rename) {
            Some((call, nth)) if i % ROUND >= ROUND - 2 => Blow::At { signal, call, nth },
            _ => Blow::After { signal, wait },
        }
    }

    /// A kill and a refusal at every call that changes files.
    fn calls(&mut self, folder: &Path) -> Result<()> {
        let Some(calls) = self.calls.as_ref().filter(|_| self.victim.is_short()) else {
            return Ok(());
        };
        for (kind, each) in calls.by_kind() {
            let kill = |&(call, nth)| Blow::At { signal: "KILL", call, nth };
            let refuse = |&(call, nth)| Blow::Refuse { call, nth };
            self.deal(&format!("SIGKILL at {kind}"), folder, each.iter().map(kill).collect())?;
            self.deal(&format!("refused {kind}"), folder, each.iter().map(refuse).collect())?;
        }
        Ok(())
    }

    fn full_disks(&mut self, folder: &Path) -> Result<()> {
        let Some(disk) = Disk::new(folder)? else {
            note!("full disk: left out, no tmpfs can be mounted here");
            return Ok(());
        };
        let free = |nth| Blow::Full { disk: &disk, kilobytes: 4_u64 << nth };
        self.deal("full disk", disk.folder(), (0..DISKS).map(free).collect())
    }

    /// Deals blows in places of their own below `folder`, and counts those that hold.
    fn deal(&mut self, what: &str, folder: &Path, blows: Vec<Blow<'_>>) -> Result<()> {
        let mut row = Row { command: self.victim.name, what: what.to_owned(), ..Row::default() };
        let inputs = self.victim.inputs()?;
        for blow in blows {
            let place = tempfile::tempdir_in(folder)?;
            self.victim.prepare(place.path())?;
            row.dealt += 1;
            match self.one(&blow, place.path(), &mut row) {
                Ok(()) => row.held += 1,
                Err(error) => note!("{}, {blow:?}: {error:#}", self.victim.name),
            }
        }
        if self.victim.inputs()? != inputs {
            bail!("{}: the inputs have changed", self.victim.name);
        }
        note!("{:20} {:34} {:>6} {:>6}", row.command, row.what, row.dealt, row.held);
        self.rows.push(row);
        Ok(())
    }

    /// One blow and the next start after it.
    fn one(&self, blow: &Blow<'_>, place: &Path, row: &mut Row) -> Result<()> {
        let before = self.victim.state(place)?;
        let started = Instant::now();
        let dealt = blow.deal(self.victim, place)?;
        let first = started.elapsed();
        let after = self.victim.state(place)?;
        self.judge(&before, &after, dealt.succeeded, dealt.killed)?;
        let started = Instant::now();
        let again = self.victim.again(place)?;
        let both = (first + started.elapsed()).as_secs_f64();
        if dealt.succeeded || again == Again::Whole {
            row.whole += 1;
        } else {
            *(if again == Again::Begun { &mut row.begun } else { &mut row.resumed }) += 1;
            // Whoever is traced takes longer.
            if matches!(blow, Blow::After { .. }) {
                row.lost = row.lost.max(both - self.takes);
            }
        }
        self.judge_end(&self.victim.state(place)?)
    }

    /// Whether what is there after a blow may be there.
    fn judge(&self, before: &State, after: &State, succeeded: bool, killed: bool) -> Result<()> {
        // A result stays until another is whole.
        let had_result = before.keys().any(|name| name != INTERRUPTED);
        let is_part = after.iter().all(|(name, bits)| {
            let goes_on = killed && !had_result && name == INTERRUPTED;
            self.undisturbed.get(name) == Some(bits) || goes_on
        });
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
        let ring = Ring { victim: &victim, undisturbed, takes: 0.0, calls: None, rows: Vec::new() };
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
        // Only one that was ended may be there to go on.
        let begun = state(&[(INTERRUPTED, "4")]);
        assert!(holds(&none, &begun, false, true) && !holds(&none, &begun, false, false));
        assert!(!holds(&earlier, &begun, false, true));
        // A run that says it is done must be.
        assert!(holds(&none, &whole, true, false) && !holds(&none, &part, true, false));
        assert!(ring.judge_end(&whole).is_ok() && ring.judge_end(&part).is_err());
    }
}
