//! How the workspace's programs speak: results on the standard output, all else on the standard error.
//!
//! A reader may stop early, as `head` does. On the standard output that ends the program, without a
//! failure; on the standard error it changes nothing.

use crate::escape_control::escape_control;
use std::ffi::OsString;
use std::fmt::Arguments;
use std::io::{self, Write};

/// Characters of a name that a message shows.
const LONGEST: usize = 80;
const CUT: usize = LONGEST + 1;

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
    // This is the result, lines of JSON among it, of which nothing may be cut.
    let line: String = line.to_string().chars().map(escape_control).collect();
    Ok(writeln!(io::stdout(), "{line}")?)
}

/// Writes a line to the standard error, if it is open.
pub fn note(line: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{}", printable(&line.to_string()));
}

/// The command line, program first; or the exit code, after help or an error message was shown.
///
/// # Errors
/// If the help was asked for, or the command line makes no sense.
pub fn arguments<A: clap::Parser>(words: impl IntoIterator<Item = OsString>) -> Result<A, u8> {
    A::try_parse_from(words).map_err(|error| {
        if !error.use_stderr() {
            let printed = error.print().and_then(|()| io::stdout().flush());
            return match printed {
                Ok(()) => 0,
                Err(error) => failure(&OutputError(error).into()),
            };
        }
        // The paragraphs before the usage: the error, and a similar name if there is one.
        let text = error.to_string();
        let error = text.split("\n\nUsage:").next().unwrap_or_default();
        let error = error.split("\n\nFor more information").next().unwrap_or_default();
        note!("{}", one_line(error));
        2
    })
}

/// Says in one line why the program ends, and gives the exit code.
pub fn failure(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<OutputError>() {
        Some(OutputError(cause)) if cause.kind() == io::ErrorKind::BrokenPipe => 0,
        _ => {
            note!("error: {}", one_line(&format!("{error:#}")));
            2
        }
    }
}

/// Text whose names, which come from files, neither steer a terminal nor fill it: control characters except line
/// ends and tabs are spelled out, as are marks of direction, and long names are cut.
pub(crate) fn printable(text: &str) -> String {
    text.split('`').enumerate().map(|(i, part)| cut(part, i % 2 == 1)).collect::<Vec<_>>().join("`")
}

/// Cuts a part of a message that is a name, or a run without spaces and slashes in it.
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

/// A writer for log lines, which hold names too.
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
