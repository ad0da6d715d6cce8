//! Output of the workspace's programs: results go to the standard output, everything else to the standard error.
//!
//! A reader may stop early, as `head` does. A closed standard output ends the program without a failure; a closed
//! standard error changes nothing.

use crate::escape_control::escape_control;
use std::ffi::OsString;
use std::fmt::Arguments;
use std::io::{self, Write};

/// Maximum length of a name in a message, in characters.
const LONGEST: usize = 80;
const CUT: usize = LONGEST + 1;

/// The standard output is closed.
#[derive(Debug, thiserror::Error)]
#[error("standard output: cannot write")]
pub struct OutputError(#[from] io::Error);

/// Writes a line of results, in functions that return a result: `say!("{n} samples")`.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => {
        $crate::terminal::say(format_args!($($text)*))?
    };
}

/// Writes a line about progress, which may get lost: `note!("{n} seeds tried")`.
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
    // Results, such as lines of JSON, are never shortened.
    let line: String = line.to_string().chars().map(escape_control).collect();
    Ok(writeln!(io::stdout(), "{line}")?)
}

/// Writes a line to the standard error, if it is open.
pub fn note(line: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{}", printable(&line.to_string()));
}

/// Parses the command line, program first. Returns the exit code if help or an error message was shown.
///
/// # Errors
/// If help was requested, or the command line is invalid.
pub fn arguments<A: clap::Parser>(words: impl IntoIterator<Item = OsString>) -> Result<A, u8> {
    A::try_parse_from(words).map_err(|error| {
        if !error.use_stderr() {
            let printed = error.print().and_then(|()| io::stdout().flush());
            return match printed {
                Ok(()) => 0,
                Err(error) => failure(&OutputError(error).into()),
            };
        }
        // The paragraphs before the usage contain the error, and a similar name if there is one.
        let text = error.to_string();
        let error = text.split("\n\nUsage:").next().unwrap_or_default();
        let error = error.split("\n\nFor more information").next().unwrap_or_default();
        note!("{}", one_line(error));
        2
    })
}

/// Reports in one line why the program ends; returns the exit code.
pub fn failure(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<OutputError>() {
        Some(OutputError(cause)) if cause.kind() == io::ErrorKind::BrokenPipe => 0,
        _ => {
            note!("error: {}", one_line(&format!("{error:#}")));
            2
        }
    }
}

/// Returns text for a terminal. Names from files are untrusted: control characters except line ends and tabs are
/// spelled out, and marks of text direction; long names are shortened.
pub(crate) fn printable(text: &str) -> String {
    text.split('`').enumerate().map(|(i, part)| cut(part, i % 2 == 1)).collect::<Vec<_>>().join("`")
}

/// Shortens a part of a message that is a name, or a long run without spaces and slashes.
fn cut(part: &str, is_name: bool) -> String {
    let (mut shown, mut length) = (String::new(), 0);
    for c in part.chars() {
        length = if !is_name && (c.is_whitespace() || c == '/') { 0 } else { length + 1 };
        match length {
            ..=LONGEST => shown.push_str(&escape_control(c)),
            CUT => shown.push('…'),
            _ => {}
        }
    }
    shown
}

/// A writer for log lines, which may contain names.
#[derive(Debug, Default)]
pub struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = printable(&String::from_utf8_lossy(bytes));
        io::stderr().write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_not_obeyed() {
        assert_eq!(printable("a\x1b[31mb\u{9b}c\r\n\td"), "a\\u{1b}[31mb\\u{9b}c\\u{d}\n\td");
        assert_eq!(printable("\u{202e}evil"), "\\u{202e}evil");
        assert_eq!(one_line("a\n\n b"), "a b");
    }

    #[test]
    fn long_names_are_cut_and_paths_are_not() {
        let name = "n ".repeat(60);
        let shown = printable(&format!("column `{name}`: `b`"));
        assert_eq!(shown, format!("column `{}…`: `b`", "n ".repeat(40)));
        assert_eq!(printable(&"x".repeat(90)), "x".repeat(80) + "…");
        let path = "folder/".repeat(30);
        assert_eq!(printable(&path), path);
    }
}
