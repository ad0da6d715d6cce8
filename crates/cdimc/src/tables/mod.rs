//! A user's own files: one table a view, in the formats assays come in.
//!
//! A view is named on the command line as `[NAME=]PATH[#MEMBER]`; MEMBER picks one array of a file
//! that holds several. Without it, every matrix of the file is a view.

mod columnar;
mod error;
mod hdf5;
mod join;
mod matlab;
mod numpy;
mod text;

pub use error::TableError;
pub use join::{FilledColumn, JoinError, Joined, join, join_new};

use error::Problem;
use ndarray::Array2;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What a file means beyond its format.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The column (or array) that names each sample. Without it, a column without a name or the
    /// row names that a format brings along are taken, if there are any.
    pub id: Option<String>,
    /// A column that holds a known class: kept aside, never clustered on.
    pub label: Option<String>,
    /// Values that stand for "not measured", besides empty cells, `NA`, `NaN` and `null`.
    pub missing_values: Vec<String>,
}

/// One view as its file gives it.
#[derive(Debug, Clone)]
pub struct Table {
    /// The view's name: given, or the file's or member's name.
    pub name: String,
    /// The file it came from.
    pub path: PathBuf,
    /// The name of each row, where the file has one.
    pub ids: Option<Vec<String>>,
    /// The known class of each row, where asked for and present.
    pub labels: Option<Vec<String>>,
    /// The name of each column; their numbers where the file has no names.
    pub features: Vec<String>,
    /// `(n_rows, n_features)`, NaN where a cell is missing.
    pub values: Array2<f64>,
}

/// Where a view is to be read from: `[NAME=]PATH[#MEMBER]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewSource {
    /// The name the user gave it.
    pub name: Option<String>,
    /// The file.
    pub path: PathBuf,
    /// One array of a file that holds several.
    pub member: Option<String>,
}

impl FromStr for ViewSource {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // A path that exists is taken as it is, so that names with `=` or `#` in them stay usable.
        if Path::new(text).exists() {
            return Ok(Self { name: None, path: text.into(), member: None });
        }
        let (name, rest) = match text.split_once('=') {
            Some((name, rest)) if !name.is_empty() && !name.contains(['/', '\\']) => {
                (Some(name.to_owned()), rest)
            }
            _ => (None, text),
        };
        let (path, member) = match rest.rsplit_once('#') {
            Some((path, member)) if !member.is_empty() && !Path::new(rest).exists() => {
                (path, Some(member.to_owned()))
            }
            _ => (rest, None),
        };
        Ok(Self { name, path: path.into(), member })
    }
}

impl fmt::Display for ViewSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "{name}=")?;
        }
        write!(f, "{}", self.path.display())?;
        self.member.as_ref().map_or(Ok(()), |member| write!(f, "#{member}"))
    }
}

/// Reads the views of one source: one table, or several where the file holds several.
///
/// # Errors
/// If the file cannot be read, is damaged, or holds something else than numbers; the message names
/// the file and the row or column.
pub fn read_views(source: &ViewSource, options: &ReadOptions) -> Result<Vec<Table>, TableError> {
    let read = || -> Result<Vec<Table>, Problem> {
        let format = format_of(&source.path)?;
        if let (
            Some(name),
            Format::Text | Format::Npy | Format::Parquet | Format::Arrow | Format::ArrowStream,
        ) = (&source.member, &format)
        {
            return Err(Problem::OneTable { name: name.clone() });
        }
        let mut tables = match format {
            Format::Text => vec![text::read(source, options)?],
            Format::Npy => vec![numpy::read_npy(source, options)?],
            Format::Npz => numpy::read_npz(source, options)?,
            Format::Mat5 => matlab::read(source, options)?,
            Format::Hdf5 => hdf5::read(source, options)?,
            Format::Parquet => vec![columnar::read_parquet(source, options)?],
            Format::Arrow => vec![columnar::read_arrow(source, options)?],
            Format::ArrowStream => vec![columnar::read_arrow_stream(source, options)?],
        };
        for table in &mut tables {
            check(table)?;
        }
        if let (Some(name), [table]) = (&source.name, tables.as_mut_slice()) {
            table.name.clone_from(name);
        }
        Ok(tables)
    };
    read().map_err(|problem| TableError::new(&source.path, problem))
}

enum Format {
    Text,
    Npy,
    Npz,
    Mat5,
    Hdf5,
    Parquet,
    Arrow,
    ArrowStream,
}

/// HDF5 may stand behind a block of another program's text, of 512 bytes or a power of two more: MATLAB
/// 7.3 and MuData write one.
fn is_hdf5(head: &[u8]) -> bool {
    let starts_at = |at: usize| head.get(at..).is_some_and(|h| h.starts_with(b"\x89HDF\r\n\x1a\n"));
    [0, 512, 1024, 2048].into_iter().any(starts_at)
}

/// The format by the file's first bytes, which no renaming changes.
fn format_of(path: &Path) -> Result<Format, Problem> {
    if path.is_dir() {
        return Err(Problem::Directory);
    }
    let mut head = Vec::new();
    std::fs::File::open(path)?.take(4096).read_to_end(&mut head)?;
    if head.is_empty() {
        return Err(Problem::EmptyFile);
    }
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
    let extension = extension.as_deref();
    let mat_text = head.starts_with(b"MATLAB 5.0 MAT-file") || extension == Some("mat");
    Ok(if head.starts_with(b"\x93NUMPY") {
        Format::Npy
    } else if head.starts_with(b"PAR1") {
        Format::Parquet
    } else if head.starts_with(b"ARROW1") {
        Format::Arrow
    } else if head.starts_with(b"\xff\xff\xff\xff") {
        Format::ArrowStream
    } else if is_hdf5(&head) {
        Format::Hdf5
    } else if mat_text {
        Format::Mat5
    } else if head.starts_with(b"PK\x03\x04") {
        Format::Npz
    } else {
        // A damaged file of a binary format would otherwise be reported as odd text.
        match extension {
            Some("npy") => return Err(Problem::NotA("NumPy array")),
            Some("npz") => return Err(Problem::NotA("NumPy archive")),
            Some("parquet" | "pq") => return Err(Problem::NotA("Parquet file")),
            Some("arrow" | "arrows" | "feather" | "ipc") => {
                return Err(Problem::NotA("Arrow IPC file"));
            }
            Some("h5" | "h5ad" | "h5mu" | "hdf5") => return Err(Problem::NotA("HDF5 file")),
            _ => Format::Text,
        }
    })
}

/// What every table must obey, whatever its format.
fn check(table: &mut Table) -> Result<(), Problem> {
    let (n_rows, n_features) = table.values.dim();
    if n_rows == 0 {
        return Err(Problem::NoRows);
    }
    if n_features == 0 {
        return Err(Problem::NoFeatures);
    }
    if let Some(((row, column), &value)) =
        table.values.indexed_iter().find(|(_, x)| x.is_infinite())
    {
        let column = table.features[column].clone();
        return Err(Problem::Infinite { row: row + 1, column, value });
    }
    if let Some(ids) = &table.ids {
        if ids.len() != n_rows {
            return Err(Problem::IdCount { ids: ids.len(), rows: n_rows });
        }
        let mut first = std::collections::HashMap::with_capacity(n_rows);
        for (row, id) in ids.iter().enumerate() {
            if id.is_empty() {
                return Err(Problem::EmptyId { row: row + 1 });
            }
            if let Some(earlier) = first.insert(id.as_str(), row) {
                return Err(Problem::DuplicateId {
                    id: id.clone(),
                    first: earlier + 1,
                    row: row + 1,
                });
            }
        }
    }
    let mut seen = std::collections::HashSet::with_capacity(n_features);
    match table.features.iter().find(|name| !seen.insert(name.as_str())) {
        Some(name) => Err(Problem::DuplicateColumn { name: name.clone() }),
        None => Ok(()),
    }
}

/// The file's name without folder and endings: `rna` of `data/rna.csv.gz`.
fn stem(path: &Path) -> String {
    let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
}

/// Whether `value` is one of the user's or everyone's words for "not measured".
fn is_missing(text: &str, options: &ReadOptions) -> bool {
    matches!(
        text,
        "" | "NA" | "N/A" | "na" | "NaN" | "nan" | "NAN" | "null" | "NULL" | "None" | "?"
    ) || options.missing_values.iter().any(|missing| missing == text)
}

/// Makes NaN of the numbers that stand for "not measured" in formats that hold no text.
fn hide_missing_numbers(values: &mut Array2<f64>, options: &ReadOptions) {
    let missing: Vec<f64> = options.missing_values.iter().filter_map(|m| m.parse().ok()).collect();
    if !missing.is_empty() {
        values.mapv_inplace(|x| if missing.contains(&x) { f64::NAN } else { x });
    }
}

/// Names for the columns of a format that has none: `0`, `1`, ...
fn numbered(n_features: usize) -> Vec<String> {
    (0..n_features).map(|j| j.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_source_has_a_name_a_path_and_a_member() {
        let parse = |text: &str| text.parse::<ViewSource>().unwrap();
        assert_eq!(
            parse("rna=data/omics.npz#expr"),
            ViewSource {
                name: Some("rna".into()),
                path: "data/omics.npz".into(),
                member: Some("expr".into())
            }
        );
        assert_eq!(parse("./a=b.csv").path, PathBuf::from("./a=b.csv"));
        assert_eq!(parse("rna=data/omics.npz#expr").to_string(), "rna=data/omics.npz#expr");
    }

    #[test]
    fn the_stem_drops_every_known_ending() {
        assert_eq!(stem(Path::new("x/rna.csv.gz")), "rna");
        assert_eq!(stem(Path::new("protein.v2.npy")), "protein.v2");
    }
}
