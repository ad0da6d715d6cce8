//! MATLAB files of version 5 and 7.3: matrices and cells of matrices, ids and labels as vectors or cells of text.

use crate::Table;
use crate::error::DatasetError;
use crate::error::{Problem, listed};
use crate::files::{Found, ReadOptions, ViewSource, stem};
pub use file::MatFile;
use file::MatValue;

mod file;
mod parse;
#[cfg(test)]
mod tests;
mod version73;

/// Reads every matrix of the file, or the variable asked for; a cell array is one view a cell. A matrix
/// that is the only one is named after the file.
pub(super) fn read(
    file: &MatFile,
    source: &ViewSource,
    options: &ReadOptions,
) -> Result<Found, Problem> {
    let names: Vec<&str> = file.names().collect();
    let there = || listed(names.iter().copied());
    let vector = |name: &str| -> Result<Option<Vec<String>>, Problem> {
        if names.contains(&name) { words(file, name).map(Some) } else { Ok(None) }
    };
    let ids = match &options.id {
        Some(id) => Some(
            vector(id)?.ok_or_else(|| Problem::NoMember { name: id.clone(), there: there() })?,
        ),
        None => vector("ids")?,
    };
    let labels = options.label.as_deref().map(vector).transpose()?.flatten();
    if let Some(member) = source.member.as_ref().filter(|member| !names.contains(&member.as_str()))
    {
        return Err(Problem::NoMember { name: member.clone(), there: there() });
    }
    let is_vector = |name: &str| {
        name == options.id.as_deref().unwrap_or("ids") || options.label.as_deref() == Some(name)
    };
    let mut tables = Vec::new();
    let mut lengths = Vec::new();
    for &name in names.iter().filter(|name| !is_vector(name)) {
        if source.member.as_ref().is_some_and(|member| member != name) {
            continue;
        }
        let cells = match file.values(name) {
            Ok(cells) => cells,
            // Passed over, a view would be lost; text and structs say something about the samples.
            Err(error) if source.member.is_some() || has_unread(file, name) => {
                return Err(damaged(&error));
            }
            Err(_) => continue,
        };
        let several = cells.len() > 1;
        for (index, values) in cells.into_iter().enumerate() {
            // A row or column of numbers is no view but something about the samples.
            if values.nrows() > 1 && (values.ncols() > 1 || source.member.is_some()) {
                let name = if several { format!("{name}{index}") } else { name.to_owned() };
                let (ids, labels) = (ids.clone(), labels.clone());
                tables.push(Table {
                    name,
                    path: source.path.clone(),
                    ids,
                    labels,
                    features: Vec::new(),
                    left_out: Vec::new(),
                    values,
                });
            } else {
                lengths.push((name, values.nrows() * values.ncols()));
            }
        }
    }
    if tables.is_empty() {
        return Err(Problem::NoMatrix { there: there() });
    }
    let warning = if options.transposed { None } else { samples_in_columns(&tables, &lengths) };
    if let ([table], None) = (tables.as_mut_slice(), &source.member) {
        table.name = stem(&source.path);
    }
    Ok(Found { tables, warnings: warning.into_iter().collect() })
}

/// What is said where a vector, most often the classes, counts the columns of every matrix and the rows of none.
fn samples_in_columns(tables: &[Table], lengths: &[(&str, usize)]) -> Option<String> {
    let counts_columns = |&&(_, n): &&(&str, usize)| {
        tables.iter().all(|table| table.values.ncols() == n && table.values.nrows() != n)
    };
    let (name, n) = lengths.iter().filter(|(_, n)| *n > 1).find(counts_columns)?;
    Some(format!(
        "`{name}` has {n} entries, as the matrices have columns: if those are the samples, add --transposed FILE"
    ))
}

/// Whether the variable is, or has as a cell, a matrix of a kind that is not read.
fn has_unread(file: &MatFile, name: &str) -> bool {
    let unread = |value: &MatValue| matches!(value, MatValue::UnreadMatrix(_));
    match file.variable(name) {
        Ok(MatValue::Cells(cells)) => cells.iter().any(unread),
        Ok(value) => unread(value),
        Err(_) => false,
    }
}

/// A vector of numbers or a cell array of text as words.
fn words(file: &MatFile, name: &str) -> Result<Vec<String>, Problem> {
    match file.variable(name).map_err(|error| damaged(&error))? {
        MatValue::Cells(cells) => cells
            .iter()
            .map(|cell| match cell {
                MatValue::Text(text) => Ok(text.clone()),
                _ => Err(Problem::ElementType {
                    name: name.to_owned(),
                    kind: "cell without text".into(),
                }),
            })
            .collect(),
        MatValue::Text(text) => Ok(vec![text.clone()]),
        MatValue::Numeric { exact: Some(whole), .. } => {
            Ok(whole.iter().map(ToString::to_string).collect())
        }
        _ => {
            let matrix = file.matrix(name).map_err(|error| damaged(&error))?;
            Ok(matrix.iter().map(ToString::to_string).collect())
        }
    }
}

/// The reader names the file itself; it is not named twice.
pub(crate) fn damaged(error: &DatasetError) -> Problem {
    let text = error.to_string();
    let reason = text.split_once(".mat: ").map_or(text.as_str(), |(_, reason)| reason).to_owned();
    Problem::Damaged { format: "MATLAB file", reason }
}
