//! The workspace on disk, other programs, and what this process costs.

use anyhow::{Context, Result, bail, ensure};
use cdimc_tables::datasets::sha256;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// The folder of the workspace: where the program was built.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("."))
}

/// Where experiments leave their records and tables by default.
pub(crate) fn results() -> PathBuf {
    root().join("results")
}

/// The records that come with the workspace, one file an experiment.
pub(crate) fn reference_records() -> PathBuf {
    root().join("docs/results/records")
}

/// Runs git in the root of the workspace.
///
/// # Errors
/// If git fails.
pub fn git(arguments: &[&str]) -> Result<String> {
    output(Command::new("git").current_dir(root()).args(arguments))
}

/// The commit the workspace stands at, with a `+` where files differ from it.
pub(crate) fn revision() -> Option<String> {
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).ok()?.trim().to_owned();
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).ok()?;
    Some(if changed.is_empty() { commit } else { commit + "+" })
}

/// SHA-256 of the running program's bytes; the current git commit may differ from the program's.
pub(crate) fn program() -> std::io::Result<String> {
    sha256(File::open(std::env::current_exe()?)?)
}

/// Runs a program on a question, passes every answer on, and returns how the program ended, with the reason it gave.
/// Its input stays open until then: a program of ours ends when this process is gone.
pub(crate) fn ask<A: DeserializeOwned>(
    command: &mut Command,
    question: &impl Serialize,
    mut receive: impl FnMut(A),
) -> Result<(ExitStatus, String)> {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().with_context(|| format!("{command:?}"))?;
    let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(mut input), Some(output), Some(mut errors)) = streams else { bail!("no pipes") };
    // A full error pipe would stop the program, so it is emptied on the side.
    let errors = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = errors.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    // A program that died early shows in its end, not in a broken pipe here.
    let _ = writeln!(input, "{}", serde_json::to_string(question)?);
    for line in BufReader::new(output).lines() {
        if let Ok(answer) = serde_json::from_str(&line?) {
            receive(answer);
        }
    }
    drop(input);
    let status = child.wait()?;
    Ok((status, last_words(&errors.join().unwrap_or_default())))
}

/// The question on standard input. From now on this process ends when that input is closed.
pub(crate) fn question<Q: DeserializeOwned>() -> Result<Q> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        std::process::exit(1);
    });
    serde_json::from_str(&line).context("the case on standard input")
}

/// Runs a program that must succeed, and returns what it prints.
///
/// # Errors
/// If it cannot be started or fails; the message has its last words.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let words = last_words(&String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{command:?}: {}: {words}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the reason why a process ended: the location and message of a panic, or else the last line.
fn last_words(errors: &str) -> String {
    let lines: Vec<&str> = errors.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let panicked = lines.iter().position(|line| line.contains("panicked at "));
    match (panicked, lines.last()) {
        // The message follows on a line of its own; notes about backtraces come after it.
        (Some(place), _) => lines[place..].iter().take(2).copied().collect::<Vec<_>>().join(" "),
        (None, Some(last)) => (*last).to_owned(),
        (None, None) => "no message".to_owned(),
    }
}

/// The largest resident set of this process so far, where the system reports it.
pub(crate) fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Seconds that all threads of this process have computed so far, where the system reports it.
pub(crate) fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the name, in hundredths: the user's and the system's.
    let fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let hundredths = fields.take(2).map(|field| field.parse::<f64>().ok());
    Some(hundredths.sum::<Option<f64>>()? / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    #[test]
    fn the_program_of_a_checkpoint_is_its_bytes() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(program().unwrap(), format!("{:x}", Sha256::digest(bytes)));
    }

    #[test]
    fn a_panic_is_reported_by_its_message_and_other_ends_by_the_last_line() {
        let panic = "\nthread 'main' panicked at src/a.rs:1:2:\nindex out of bounds\nnote: run with `RUST_BACKTRACE=1`\n";
        assert_eq!(
            last_words(panic),
            "thread 'main' panicked at src/a.rs:1:2: index out of bounds"
        );
        assert_eq!(last_words("warning\nerror: no such file\n\n"), "error: no such file");
        assert_eq!(last_words(""), "no message");
    }
}
