//! Running other programs, for what they print or for answers as lines of JSON, and what this process costs.

use anyhow::{Context, Result, bail, ensure};
use serde::{Serialize, de::DeserializeOwned};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, ExitStatus, Stdio};

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
