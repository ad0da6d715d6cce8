//! Faults injected into a running command.

use super::child::ChildProcess;
use super::succeed;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// System calls that change files, by kind. With a question mark, `strace` ignores calls that a machine lacks.
const KINDS: [(&str, &str); 3] = [
    ("a write", "write writev pwrite64 ftruncate"),
    ("an fsync", "fsync fdatasync"),
    (
        "a change of names",
        "rename renameat renameat2 mkdir mkdirat unlink unlinkat rmdir link linkat",
    ),
];

/// A fault of a run.
#[derive(Debug)]
pub(super) enum Fault<'a> {
    /// A signal, KILL or TERM, when the main thread enters its `nth` call of this name.
    At { signal: &'static str, call: &'static str, nth: usize },
    /// That call fails, as on a full or broken disk.
    Refuse { call: &'static str, nth: usize },
    /// A signal after a time.
    After { signal: &'static str, wait: Duration },
    /// A second start of the same command, after a time, with the same output.
    Concurrent(Duration),
    /// A disk with this much space.
    Full { disk: &'a Disk, kilobytes: u64 },
}

/// Exit code of a job that was asked to end.
const TERMINATED: i32 = 128 + 15;

/// Outcome of a run.
pub(super) struct Outcome {
    /// Whether its exit code is 0.
    pub succeeded: bool,
    /// Whether a signal ended it.
    pub killed: bool,
}

impl Fault<'_> {
    /// Runs the child in `place` with this fault.
    pub(super) fn inject(&self, child: &ChildProcess, place: &Path) -> Result<Outcome> {
        let output = match self {
            Self::At { signal, call, nth } => {
                injected(&child.command(place), call, &format!("signal=SIG{signal}:when={nth}"))?
            }
            Self::Refuse { call, nth } => {
                injected(&child.command(place), call, &format!("error=ENOSPC:when={nth}"))?
            }
            Self::After { signal, wait } => {
                let run = silent(&mut child.command(place)).spawn()?;
                std::thread::sleep(*wait);
                // It may have ended already, but keeps its process id until it is waited for.
                let mut kill = Command::new("kill");
                kill.args([format!("-{signal}"), run.id().to_string()]);
                let _ = silent(&mut kill).status();
                run.wait_with_output()?
            }
            Self::Concurrent(wait) => {
                let mut first = silent(&mut child.command(place)).spawn()?;
                std::thread::sleep(*wait);
                let second = child.command(place).output()?;
                let first = first.wait()?;
                // One may refuse while the other works; together they must succeed.
                if first.success() {
                    return Ok(Outcome { succeeded: true, killed: false });
                }
                second
            }
            Self::Full { disk, kilobytes } => {
                let ballast = disk.fill(*kilobytes)?;
                let output = child.command(place).output()?;
                std::fs::remove_file(ballast)?;
                output
            }
        };
        let status = output.status;
        let killed = status.signal().is_some() || status.code() == Some(TERMINATED);
        Ok(Outcome { succeeded: status.success(), killed })
    }
}

fn silent(command: &mut Command) -> &mut Command {
    command.stdout(Stdio::null()).stderr(Stdio::null())
}

/// Runs the command under `strace`, which injects `what` at a call. Only the main thread is traced: it writes all
/// files.
fn injected(command: &Command, call: &str, what: &str) -> Result<Output> {
    let inject = format!("inject={call}:{what}");
    let options = ["-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject];
    traced(command, &options).output().context("strace")
}

fn traced(command: &Command, options: &[&str]) -> Command {
    let mut strace = Command::new("strace");
    strace.args(options).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => strace.env(name, value),
            None => strace.env_remove(name),
        };
    }
    strace
}

/// Number of calls of each kind in an undisturbed run.
pub(super) struct Calls {
    counts: BTreeMap<&'static str, usize>,
    /// Last call that renames a file or folder.
    last_rename: Option<(&'static str, usize)>,
}

impl Calls {
    /// Counts the calls in a run of `command`; `None` if there is no working `strace`.
    pub(super) fn of(command: &mut Command) -> Result<Option<Self>> {
        let log = tempfile::NamedTempFile::new()?;
        let file = log.path().display().to_string();
        let optional: Vec<String> = names().map(|name| format!("?{name}")).collect();
        let only = format!("trace={}", optional.join(","));
        if !traced(&Command::new("true"), &["-o", &file]).output().is_ok_and(|o| o.status.success())
        {
            return Ok(None);
        }
        succeed(&mut traced(command, &["-o", &file, "-e", &only]))?;
        Ok(Some(Self::in_log(&std::fs::read_to_string(log.path())?)))
    }

    fn in_log(log: &str) -> Self {
        let called = |line: &str| names().find(|name| line.starts_with(&format!("{name}(")));
        let (mut counts, mut last_rename) = (BTreeMap::new(), None);
        for name in log.lines().filter_map(called) {
            let count: &mut usize = counts.entry(name).or_default();
            *count += 1;
            if name.starts_with("rename") {
                last_rename = Some((name, *count));
            }
        }
        Self { counts, last_rename }
    }

    pub(super) fn last_rename(&self) -> Option<(&'static str, usize)> {
        self.last_rename
    }

    /// Returns every call, as its name and number.
    pub(super) fn by_kind(&self) -> Vec<(&'static str, Vec<(&'static str, usize)>)> {
        let each = |call: &'static str| {
            let n = self.counts.get(call).copied().unwrap_or(0);
            (1..=n).map(move |nth| (call, nth))
        };
        KINDS
            .iter()
            .map(|(kind, calls)| (*kind, calls.split(' ').flat_map(each).collect()))
            .collect()
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    KINDS.iter().flat_map(|(_, calls)| calls.split(' '))
}

/// A disk of 64 MB in memory.
#[derive(Debug)]
pub(super) struct Disk(TempDir);

impl Disk {
    /// Mounts it below `folder`; `None` if that is not permitted.
    pub(super) fn new(folder: &Path) -> Result<Option<Self>> {
        let place = tempfile::tempdir_in(folder)?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64m", "none"]).arg(place.path());
        let mounted = silent(&mut mount).status().is_ok_and(|status| status.success());
        Ok(mounted.then(|| Self(place)))
    }

    pub(super) fn folder(&self) -> &Path {
        self.0.path()
    }

    /// Fills it with a file except for `kilobytes`.
    fn fill(&self, kilobytes: u64) -> Result<PathBuf> {
        let path = self.0.path().join("ballast");
        let mut file = File::create(&path)?;
        let block = [0; 4096];
        let mut length: u64 = 0;
        while file.write_all(&block).is_ok() {
            length += block.len() as u64;
        }
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

    #[test]
    fn calls_are_counted_by_their_names() {
        let log = "mkdir(\"a\", 0777) = 0\nwrite(3, \"x\", 1) = 1\n--- SIGCHLD {} ---\nwrite(3, \"rename(\", 7) = 7\n\
                   renameat2(1, 2) = 0\n+++ exited with 0 +++\n";
        let calls = Calls::in_log(log);
        assert_eq!(calls.last_rename(), Some(("renameat2", 1)));
        let kinds = calls.by_kind();
        assert_eq!(kinds[0].1, [("write", 1), ("write", 2)]);
        assert!(kinds[1].1.is_empty());
        assert_eq!(kinds[2].1, [("renameat2", 1), ("mkdir", 1)]);
    }
}
