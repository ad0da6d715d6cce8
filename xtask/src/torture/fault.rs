//! Faults injected into a running command.

use super::child::ChildProcess;
use anyhow::{Context, Result};
use cdimc_experiments::output;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// System calls that change files, by kind. With a question mark, `strace` ignores calls that a machine lacks.
pub(super) const KINDS: [(&str, &str); 3] = [
    ("a write", "write writev pwrite64 ftruncate"),
    ("an fsync", "fsync fdatasync"),
    (
        "a change of names",
        "rename renameat renameat2 mkdir mkdirat unlink unlinkat rmdir link linkat",
    ),
];

/// The `nth` call of this name in the main thread, which writes all files.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Call {
    pub name: &'static str,
    pub nth: usize,
}

/// A fault of a run.
#[derive(Debug)]
pub(super) enum Fault<'a> {
    /// What `strace` does at a call: a signal, or an error as of a full or broken disk.
    At { call: Call, what: String },
    /// A signal after a time.
    After { signal: &'static str, wait: Duration },
    /// A second start of the same command, after a time, with the same output.
    Concurrent(Duration),
    /// A disk with this much space.
    Full { disk: &'a Disk, kilobytes: u64 },
}

/// Exit code of a job that was asked to end.
const TERMINATED: i32 = 128 + 15;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum End {
    /// With exit code 0.
    Succeeded,
    /// With another exit code.
    Failed,
    /// By a signal.
    Killed,
}

impl Fault<'_> {
    /// The folder that the fault needs, if any.
    pub(super) fn folder(&self) -> Option<&Path> {
        match self {
            Self::Full { disk, .. } => Some(disk.0.path()),
            _ => None,
        }
    }

    /// Runs the child in `place` with this fault.
    pub(super) fn inject(&self, child: &ChildProcess, place: &Path) -> Result<End> {
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
pub(super) fn calls_of(child: &ChildProcess, place: &Path) -> Result<Option<Vec<Call>>> {
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
pub(super) struct Disk(TempDir);

impl Disk {
    /// Mounts it below `folder`; `None` if that is not permitted.
    pub(super) fn new(folder: &Path) -> Result<Option<Self>> {
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

    #[test]
    fn calls_are_counted_by_their_names() {
        let log = "mkdir(\"a\", 0777) = 0\nwrite(3, \"x\", 1) = 1\n--- SIGCHLD {} ---\nwrite(3, \"rename(\", 7) = 7\n\
                   renameat2(1, 2) = 0\n+++ exited with 0 +++\n";
        let expected = [("mkdir", 1), ("write", 1), ("write", 2), ("renameat2", 1)];
        assert_eq!(calls_in(log), expected.map(|(name, nth)| Call { name, nth }));
    }
}
