//! Errors of reading a user's file or a data set; messages name the file and the row or column.

// Without the feature `files` most of these are unused.
#![cfg_attr(not(feature = "files"), allow(dead_code, unreachable_pub))]

use crate::option_names::line_of_names;
use cdimc_data::DataError;
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// A file that cannot be used, with the reason.
#[derive(Debug, thiserror::Error)]
#[error("{}", escaped(&format!("{}: {problem}", path.display())))]
pub struct TableError {
    path: PathBuf,
    problem: Problem,
}

impl TableError {
    pub(crate) fn new(path: &Path, problem: Problem) -> Self {
        Self { path: path.to_owned(), problem }
    }

    /// Returns whether the table only lacks rows.
    pub fn lacks_rows(&self) -> bool {
        matches!(self.problem, Problem::NoRows)
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
    #[error(
        "is a directory: a file is needed, a folder with `matrix.mtx`, `barcodes.tsv` and `features.tsv`, or the parts of the samples as 'DIR/*.parquet'"
    )]
    Directory,
    #[error("the file is empty")]
    EmptyFile,
    #[error("not a {0}: the file does not begin as one")]
    NotA(&'static str),
    #[error("gives more than {limit} bytes and is not a regular file: allow more with --max-bytes")]
    Endless { limit: u64 },
    #[error("`{name}` cannot be the name of a view: {rule}; name it with NAME=FILE#MEMBER")]
    Name { name: String, rule: &'static str },
    #[error(
        "holds several views ({there}), which cannot all be named `{name}`: leave the name out, or pick one with \
         {name}=FILE#MEMBER"
    )]
    OneName { name: String, there: String },
    #[error("unreadable {format}: {reason}")]
    Damaged { format: &'static str, reason: String },
    #[error("no header: the first row holds numbers only; the first row must name the columns")]
    NoHeader,
    #[error(
        "the header has {found} names, the first row {expected} cells: a name is missing, and `{name}` may be above the \
         wrong column"
    )]
    ShortHeader { name: String, found: usize, expected: usize },
    #[error("no rows below the header")]
    NoRows,
    #[error("no column of numbers")]
    NoFeatures,
    #[error(
        "has none of the columns {columns}: --columns has to name a column of numbers of every view"
    )]
    NoneNamed { columns: String },
    #[error("a quote that opens in line {line} or below is never closed")]
    OpenQuote { line: u64 },
    #[error(
        "a blank line is above row {row}: in a table of one column a missing value has to be written, as NA"
    )]
    BlankLine { row: usize },
    #[error(
        "row {row} (line {line}) has {found} cells, the header has {expected}{}",
        if found < expected { format!(": it begins with `{begin}`; if that is a note, delete the line") } else { String::new() }
    )]
    Ragged { row: usize, line: u64, expected: usize, found: usize, begin: String },
    #[error(
        "`{comma}` has a comma and `{point}` a point: one of them groups thousands; write all numbers with a point \
         before the decimals and no other mark"
    )]
    TwoDecimals { comma: String, point: String },
    #[error("row {row}, column `{column}` = {value}: values must be finite")]
    Infinite { row: usize, column: String, value: f64 },
    #[error("no column `{name}`; there are: {there}")]
    NoColumn { name: String, there: String },
    #[error("two columns are named `{name}`")]
    DuplicateColumn { name: String },
    #[error("row {row} has no id")]
    EmptyId { row: usize },
    #[error("id `{id}` is in row {first} and again in row {row}: ids must be unique")]
    DuplicateId { id: String, first: usize, row: usize },
    #[error(
        "{count} {what}s for {rows} rows: one {what} is needed for each row{}",
        if *in_columns { "; there are as many columns: if those are the samples, add --transposed FILE" } else { "" }
    )]
    Count { what: &'static str, count: usize, rows: usize, in_columns: bool },
    #[error("no member `{name}`; there are: {there}")]
    NoMember { name: String, there: String },
    #[error("no member `{name}`: a file of this format holds one table")]
    OneTable { name: String },
    #[error("holds no matrix of numbers; there are: {there}")]
    NoMatrix { there: String },
    #[error("`{name}` has {dimensions} dimensions: a view is a matrix of samples and features")]
    NotAMatrix { name: String, dimensions: usize },
    #[error(
        "column `{column}` is of type {kind}: only numbers can be clustered on; leave it out with --drop '{}', or \
         name it with --id or --label",
        line_of_names(&[column])
    )]
    #[cfg_attr(not(feature = "columnar"), allow(dead_code))]
    ColumnType { column: String, kind: String },
    #[error("`{name}` holds values of type {kind}, which are not read as numbers or names")]
    ElementType { name: String, kind: String },
}

/// Returns with the error of this message unless a condition holds.
#[cfg(feature = "files")]
macro_rules! ensure {
    ($holds:expr, $($message:tt)+) => {
        if !$holds {
            return Err(format!($($message)+).into());
        }
    };
}
#[cfg(feature = "files")]
pub(crate) use ensure;

/// One line that states what is wrong with the content of a file.
#[cfg(feature = "files")]
#[derive(Debug)]
pub(crate) struct Flaw(pub(crate) String);

#[cfg(feature = "files")]
impl<E: Display> From<E> for Flaw {
    fn from(error: E) -> Self {
        Self(one_line(&error))
    }
}

#[cfg(feature = "files")]
impl From<Flaw> for Problem {
    fn from(Flaw(reason): Flaw) -> Self {
        Self::Damaged { format: "file", reason }
    }
}

impl From<String> for Problem {
    fn from(message: String) -> Self {
        Self::Message(message)
    }
}

/// Reason why a data set cannot be used; every message names the file or the data set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// Views, labels or masks do not fit together.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Any other reason.
    #[error("{0}")]
    Message(String),
}

impl From<String> for DatasetError {
    fn from(message: String) -> Self {
        Self::Message(message)
    }
}

impl DatasetError {
    /// Returns the error that the file at `path` cannot be used for this reason.
    pub(crate) fn file(path: &Path, reason: &dyn Display) -> Self {
        Self::Message(format!("{}: {reason}", path.display()))
    }
}

/// Returns the first line of another crate's error.
pub(crate) fn one_line(error: &dyn Display) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
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

pub(crate) fn listed_up_to(n_shown: usize, names: impl IntoIterator<Item: AsRef<str>>) -> String {
    let mut names = names.into_iter();
    let shown = names.by_ref().take(n_shown).map(|name| format!("`{}`", name.as_ref()));
    let shown: Vec<String> = shown.collect();
    match names.count() {
        0 if shown.is_empty() => "none".into(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
