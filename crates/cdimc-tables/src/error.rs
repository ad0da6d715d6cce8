//! Errors of reading a user's file or a data set; messages name the file and the row or column.

// Without the feature `files` most of these are unused.
#![cfg_attr(not(feature = "files"), allow(dead_code, unreachable_pub))]

use cdimc_data::DataError;
use std::path::Path;

/// Reason why files, tables or data sets cannot be used; the message names them.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct TableError {
    message: String,
    lacks_rows: bool,
}

impl TableError {
    /// Returns the error that the file at `path` cannot be used for this reason.
    pub(crate) fn new(path: &Path, problem: impl Into<Problem>) -> Self {
        let problem = problem.into();
        let message = escaped(&format!("{}: {problem}", path.display()));
        Self { message, lacks_rows: matches!(problem, Problem::NoRows | Problem::AllDropped) }
    }

    /// Returns whether the table only lacks rows, or all of them are left out.
    pub fn lacks_rows(&self) -> bool {
        self.lacks_rows
    }
}

impl From<String> for TableError {
    fn from(message: String) -> Self {
        Self { message, lacks_rows: false }
    }
}

impl From<DataError> for TableError {
    fn from(error: DataError) -> Self {
        error.to_string().into()
    }
}

/// Reason why a file cannot be used. Rows count from 1, without the header.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error("{}", io_reason(.0))]
    Io(#[from] std::io::Error),
    /// A message without a kind, or from the decoding process.
    #[error("{0}")]
    Message(String),
    #[error("the file is empty")]
    EmptyFile,
    #[error("gives more than {limit} bytes and is not a regular file: allow more with --max-bytes")]
    Endless { limit: u64 },
    #[error("unreadable {format}: {reason}")]
    Damaged { format: &'static str, reason: String },
    #[error(
        "the header has {found} names, the first row {expected} cells: a name is missing, and `{name}` may be above the \
         wrong column"
    )]
    ShortHeader { name: String, found: usize, expected: usize },
    #[error("no rows below the header")]
    NoRows,
    #[error("--drop-samples matches every id")]
    AllDropped,
    #[error("no column of numbers")]
    NoFeatures,
    #[error("a quote that opens in line {line} or below is never closed")]
    OpenQuote { line: u64 },
    #[error("no column `{name}`; there are: {there}")]
    NoColumn { name: String, there: String },
    #[error("two columns are named `{name}`")]
    DuplicateColumn { name: String },
    #[error("no member `{name}`: a file of this format holds one table")]
    OneTable { name: String },
    #[error("holds no matrix of numbers; there are: {there}")]
    NoMatrix { there: String },
}

/// Returns with an error, or the error of a message, unless a condition holds.
macro_rules! ensure {
    ($holds:expr, else $error:expr) => {
        if !$holds {
            return Err($error);
        }
    };
    ($holds:expr, $($message:tt)+) => {
        if !$holds {
            return Err(format!($($message)+).into());
        }
    };
}
pub(crate) use ensure;

/// One line that states what is wrong with the content of a file.
#[cfg(feature = "files")]
#[derive(Debug)]
pub(crate) struct Flaw(pub(crate) String);

#[cfg(feature = "files")]
impl<E: std::fmt::Display> From<E> for Flaw {
    fn from(error: E) -> Self {
        Self(error.to_string().lines().next().unwrap_or_default().to_owned())
    }
}

#[cfg(feature = "files")]
impl From<Flaw> for Problem {
    fn from(Flaw(reason): Flaw) -> Self {
        Self::Damaged { format: "file", reason }
    }
}

impl Problem {
    pub(crate) fn no_column(name: &str, there: &[impl AsRef<str>]) -> Self {
        Self::NoColumn { name: name.to_owned(), there: listed(there) }
    }

    pub(crate) fn no_member(name: &str, there: &[impl AsRef<str>]) -> Self {
        Self::Message(format!("no member `{name}`; there are: {}", listed(there)))
    }
}

impl From<String> for Problem {
    fn from(message: String) -> Self {
        Self::Message(message)
    }
}

/// Returns the reason why an array of this number of dimensions is no view.
pub(crate) fn not_a_matrix(name: &str, n: usize) -> String {
    format!("`{name}` has {n} dimensions: a view is a matrix of samples and features")
}

/// Returns the reason why values of this type cannot be used.
pub(crate) fn not_read(name: &str, kind: &str) -> String {
    format!("`{name}` holds values of type {kind}, which are not read as numbers or names")
}

/// Returns the system's message without its error number.
fn io_reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file".into(),
        std::io::ErrorKind::PermissionDenied => "permission denied".into(),
        _ => error.to_string(),
    }
}

/// Replaces control characters by escapes, so that names in a file cannot control a terminal.
fn escaped(text: &str) -> String {
    let spelled =
        |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(spelled).collect()
}

/// Returns the first names of a list for a one-line message.
pub(crate) fn listed(names: impl IntoIterator<Item: AsRef<str>>) -> String {
    listed_up_to(8, names)
}

/// Returns the first `n_shown` names of a list for a one-line message, and the number of the others.
pub fn listed_up_to(n_shown: usize, names: impl IntoIterator<Item: AsRef<str>>) -> String {
    let mut names = names.into_iter();
    let shown = names.by_ref().take(n_shown).map(|name| format!("`{}`", name.as_ref()));
    let shown: Vec<String> = shown.collect();
    match names.count() {
        0 if shown.is_empty() => "none".into(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
