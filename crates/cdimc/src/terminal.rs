//! How the workspace's programs speak: results on the standard output, all else on the standard error.
//!
//! A reader may stop early, as `head` does. On the standard output that ends the program, without a
//! failure; on the standard error it changes nothing.

use std::fmt::Arguments;
use std::io::{self, Write};
use std::process::ExitCode;

/// The standard output is closed.
#[derive(Debug, thiserror::Error)]
#[error("standard output: cannot write")]
pub struct OutputError(#[from] io::Error);

/// A line of results, for functions that return a result: `say!("{n} samples")`.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => {
        $crate::terminal::say(format_args!($($text)*))?
    };
}

/// A line about what is going on, which may get lost: `note!("{n} seeds tried")`.
#[macro_export]
macro_rules! note {
    ($($text:tt)*) => {
        $crate::terminal::note(format_args!($($text)*))
    };
}

/// Writes a line to the standard output.
///
/// # Errors
/// If it is closed or full.
pub fn say(line: Arguments<'_>) -> Result<(), OutputError> {
    Ok(writeln!(io::stdout(), "{}", printable(&line.to_string()))?)
}

/// Writes a line to the standard error, if it is open.
pub fn note(line: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{}", printable(&line.to_string()));
}

/// The command line; or the exit code, after help or an error message was shown.
///
/// # Errors
/// If the help was asked for, or the command line makes no sense.
pub fn arguments<A: clap::Parser>() -> Result<A, ExitCode> {
    A::try_parse().map_err(|error| {
        if !error.use_stderr() {
            let printed = error.print().and_then(|()| io::stdout().flush());
            return match printed {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => failure(&OutputError(error).into()),
            };
        }
        // The first paragraph says what is wrong; the usage is a `--help` away.
        let text = error.to_string();
        note!("{}", one_line(text.split("\n\n").next().unwrap_or_default()));
        ExitCode::from(2)
    })
}

/// Says in one line why the program ends, and gives the exit code.
pub fn failure(error: &anyhow::Error) -> ExitCode {
    match error.downcast_ref::<OutputError>() {
        Some(OutputError(cause)) if cause.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        _ => {
            note!("error: {}", one_line(&format!("{error:#}")));
            ExitCode::from(2)
        }
    }
}

/// Text without control characters except line ends and tabs: names come from files, and a terminal obeys
/// some of them.
fn printable(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\t' => c.to_string(),
        c if c.is_control() => c.escape_default().to_string(),
        c => c.to_string(),
    };
    text.chars().map(shown).collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_not_obeyed() {
        assert_eq!(printable("a\x1b[31mb\u{9b}c\r\n\td"), "a\\u{1b}[31mb\\u{9b}c\\r\n\td");
        assert_eq!(one_line("a\n\n b"), "a b");
    }
}
