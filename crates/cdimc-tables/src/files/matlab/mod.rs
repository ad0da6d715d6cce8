//! Reads MATLAB files of version 5 and 7.3: matrices and cells of matrices, ids and labels as vectors or cells of text.

use crate::Table;
use crate::error::{Flaw, Problem, not_read};
use crate::files::format::{Decode, Reader, Request};
use crate::files::{Decoded, as_texts, views};
use cdimc_data::Matrix;
pub(crate) use file::MatFile;
pub(crate) use version73::is_matlab;

mod file;
mod parse;
#[cfg(test)]
pub(crate) mod tests;
mod version73;

/// Largest nesting of cells; deeper files are circular or malicious.
pub(super) const MAX_DEPTH: usize = 16;
/// From this number on, an `f64` does not hold every whole number.
pub(super) const FIRST_INEXACT: f64 = (1_u64 << 53) as f64;

/// Value of a variable or a cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MatValue {
    /// Real numbers or logicals of any class.
    Numeric {
        /// Extent of every dimension, two at least.
        shape: Vec<usize>,
        /// The values in MATLAB's order: the first dimension runs fastest.
        values: Vec<f64>,
        /// The same as whole numbers, if they have 64 bits and an `f64` rounds one of them.
        exact: Option<Vec<i128>>,
    },
    /// A sparse matrix.
    Sparse(Matrix),
    /// A cell array, flattened with the first dimension running fastest.
    Cells(Vec<MatValue>),
    /// A character array.
    Text(String),
    /// A matrix of an unsupported kind, described.
    UnreadMatrix(&'static str),
    /// Another unsupported class, described.
    Unsupported(&'static str),
}

/// Version 5; version 7.3 is HDF5.
pub(crate) const MAT: Reader = Reader {
    name: "MATLAB file",
    known_as: "MATLAB",
    endings: &["mat"],
    sniff: |head| head.begins(&[b"MATLAB 5.0 MAT-file"]) || head.ends(&["mat"]),
    holds_one_table: false,
    decode: Decode::Bytes(|bytes, request| {
        read(&MatFile::parse(&bytes, request.budget.clone())?, request)
    }),
};

/// Reads every matrix of the file, or the selected variable. Each cell of a cell array is a view, and an only matrix is
/// named after the file.
pub(super) fn read(file: &MatFile, request: Request<'_>) -> Result<Decoded, Problem> {
    let Request { source, options, .. } = request;
    let names: Vec<&str> = file.names().collect();
    let vector = |name: &str| -> Result<Option<Vec<String>>, Problem> {
        if names.contains(&name) { words(file, name).map(Some) } else { Ok(None) }
    };
    let vectors = options.vectors(&names, vector)?;
    let mut lengths = Vec::new();
    let mut tables = views(request, &names, vectors, |name| {
        let cells = match file.matrices(name) {
            Ok(cells) => cells,
            // Skipping an unread matrix would lose a view; text and structs are not views.
            Err(error) => {
                let is_unread = |value: &MatValue| matches!(value, MatValue::UnreadMatrix(_));
                let has_unread = file.cells(name).is_ok_and(|cells| cells.iter().any(is_unread));
                let is_view = source.member.is_some() || has_unread;
                return if is_view { Err(damaged(error)) } else { Ok(Vec::new()) };
            }
        };
        let several = cells.len() > 1;
        // A row or column of numbers is not a view.
        let is_view =
            |values: &Matrix| values.nrows() > 1 && (values.ncols() > 1 || source.member.is_some());
        let named = |index: usize| if several { format!("{name}{index}") } else { name.to_owned() };
        let (kept, others): (Vec<_>, Vec<_>) =
            cells.into_iter().enumerate().partition(|(_, values)| is_view(values));
        lengths.extend(others.iter().map(|(_, x)| (name.to_owned(), x.nrows() * x.ncols())));
        Ok(kept.into_iter().map(|(index, values)| (named(index), values)).collect())
    })?;
    let warning = if options.transposed { None } else { samples_in_columns(&tables, &lengths) };
    if let ([table], None) = (tables.as_mut_slice(), &source.member) {
        table.name = source.stem();
    }
    Ok(Decoded { tables, warnings: warning.into_iter().collect() })
}

/// Returns a warning if a vector, such as the classes, has as many entries as every matrix has columns, and no matrix
/// has that many rows.
fn samples_in_columns(tables: &[Table], lengths: &[(String, usize)]) -> Option<String> {
    let counts_columns = |&&(_, n): &&(String, usize)| {
        tables.iter().all(|table| table.values.ncols() == n && table.values.nrows() != n)
    };
    let (name, n) = lengths.iter().filter(|(_, n)| *n > 1).find(counts_columns)?;
    Some(format!(
        "`{name}` has {n} entries, as the matrices have columns: if those are the samples, add --transposed FILE"
    ))
}

/// Returns a vector of numbers or a cell array of text as words.
fn words(file: &MatFile, name: &str) -> Result<Vec<String>, Problem> {
    match file.variable(name).map_err(damaged)? {
        MatValue::Cells(cells) => cells
            .iter()
            .map(|cell| match cell {
                MatValue::Text(text) => Ok(text.clone()),
                _ => Err(not_read(name, "cell without text").into()),
            })
            .collect(),
        MatValue::Text(text) => Ok(vec![text.clone()]),
        MatValue::Numeric { exact: Some(whole), .. } => Ok(as_texts(whole)),
        _ => Ok(file.view(name, None).map_err(damaged)?.iter().map(ToString::to_string).collect()),
    }
}

/// Returns the error of a file that may be HDF5 too.
pub(crate) fn damaged(Flaw(reason): Flaw) -> Problem {
    Problem::Damaged { format: "MATLAB file", reason }
}
