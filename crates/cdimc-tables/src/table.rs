//! A view as a table, and the rules of every table.

use crate::error::{Problem, TableError, ensure};
use crate::spelling::is_made_date;
use cdimc_data::Matrix;
use std::collections::HashMap;
use std::path::PathBuf;

/// Largest number of repeated names in a message.
const MAX_SHOWN_NAMES: usize = 20;

/// A view as read from its file.
#[derive(Debug, Clone)]
pub struct Table {
    /// Name of the view: given by the user, or the name of the file or member.
    pub name: String,
    /// File that holds the table.
    pub path: PathBuf,
    /// Name of each row, if the file has names.
    pub ids: Option<Vec<String>>,
    /// Known class of each row, if requested and present; empty where unknown.
    pub labels: Option<Vec<String>>,
    /// Name of each column, or its number if the file has no names.
    pub features: Vec<String>,
    /// Columns of `ReadOptions::drop` that the file has.
    pub left_out: Vec<String>,
    /// `(n_rows, n_features)`, dense or sparse, NaN where a cell is missing.
    pub values: Matrix,
}

impl Table {
    /// Returns a table without a file and without names of rows and columns.
    pub fn new(name: &str, values: impl Into<Matrix>) -> Self {
        Self {
            name: name.to_owned(),
            path: PathBuf::new(),
            ids: None,
            labels: None,
            features: Vec::new(),
            left_out: Vec::new(),
            values: values.into(),
        }
    }

    /// Returns a table from memory; columns without names are numbered. Its name stands for the file in errors.
    ///
    /// # Errors
    /// If the name is a path, there is no row or no column, a value is infinite, or ids or columns repeat.
    pub fn from_memory(
        name: &str,
        ids: Option<Vec<String>>,
        features: Option<Vec<String>>,
        values: impl Into<Matrix>,
    ) -> Result<Self, TableError> {
        let values = values.into();
        let numbered = || (0..values.ncols()).map(|j| j.to_string()).collect();
        let features = features.unwrap_or_else(numbered);
        let table = Self { path: name.into(), ids, features, ..Self::new(name, values) };
        table.check().map(|()| table)
    }

    /// Checks the rules of every table: the name is not a path, there are rows and columns, values are finite or NaN,
    /// ids and columns are unique. The message of an error begins with the path.
    pub(crate) fn check(&self) -> Result<(), TableError> {
        check_view_name(&self.name)
            .and_then(|()| check_cells(self))
            .and_then(|()| {
                check_ids_once(self.ids.as_deref().unwrap_or_default(), |row| row as u64 + 1)
            })
            .and_then(|()| check_features_once(self, "features"))
            .map_err(|problem| TableError::new(&self.path, problem))
    }

    /// Leaves out the other rows.
    pub fn select_rows(&mut self, rows: &[usize]) {
        let selected = |names: &Vec<String>| rows.iter().map(|&row| names[row].clone()).collect();
        self.ids = self.ids.as_ref().map(selected);
        self.labels = self.labels.as_ref().map(selected);
        self.values = self.values.select_rows(rows);
    }

    /// Leaves out the other columns.
    pub(crate) fn select_columns(&mut self, columns: &[usize]) {
        self.values = self.values.select_columns(columns);
        self.features = columns.iter().map(|&j| self.features[j].clone()).collect();
    }
}

#[cfg(test)]
impl Table {
    /// Returns a table of the file `NAME.csv` with columns `f0`, `f1`, ...
    pub(crate) fn with_ids(
        name: &str,
        ids: Option<Vec<String>>,
        values: impl Into<Matrix>,
    ) -> Self {
        let values = values.into();
        let features = (0..values.ncols()).map(|j| format!("f{j}")).collect();
        let path = format!("{name}.csv").into();
        Self { path, ids, features, ..Self::new(name, values) }
    }
}

/// Checks that a view may have this name. Output files are named after views, so a name must not be a path.
///
/// # Errors
/// With the rule that the name breaks.
pub fn check_name(name: &str) -> Result<(), &'static str> {
    let drive =
        name.chars().nth(1) == Some(':') && name.starts_with(|c: char| c.is_ascii_alphabetic());
    if name.is_empty() || name.len() > 200 {
        Err("it must have 1 to 200 bytes")
    } else if name.contains(['/', '\\']) || name == "." || name == ".." || drive {
        Err("it must not be a path")
    } else if name.chars().any(char::is_control) {
        Err("it must not hold control characters")
    } else {
        Ok(())
    }
}

pub(crate) fn check_view_name(name: &str) -> Result<(), Problem> {
    check_name(name).map_err(|rule| {
        format!("`{name}` cannot be the name of a view: {rule}; name it with NAME=FILE#MEMBER")
            .into()
    })
}

/// Checks that there are rows and columns, that values are finite or missing, and that there are as many names as rows.
pub(crate) fn check_cells(table: &Table) -> Result<(), Problem> {
    let (n_rows, n_features) = table.values.dim();
    ensure!(n_rows > 0, else Problem::NoRows);
    ensure!(n_features > 0, else Problem::NoFeatures);
    if let Some((row, column, value)) = table.values.find(|_, x| x.is_infinite()) {
        let (row, column) = (row + 1, &table.features[column]);
        return Err(format!("row {row}, column `{column}` = {value}: values must be finite").into());
    }
    for (what, names) in [("id", &table.ids), ("label", &table.labels)] {
        let n = names.as_ref().map_or(n_rows, Vec::len);
        let advice = if n == n_features && n > 1 {
            "; there are as many columns: if those are the samples, add --transposed FILE"
        } else {
            ""
        };
        ensure!(
            n == n_rows,
            "{n} {what}s for {n_rows} rows: one {what} is needed for each row{advice}"
        );
    }
    for (row, id) in (1..).zip(table.ids.iter().flatten()) {
        ensure!(!id.is_empty(), else no_id(row));
        // Zero bytes come from words of fixed width, line breaks from a quote that is never closed.
        let is_plain = !id.contains(char::is_control);
        ensure!(is_plain, "row {row}: id {id:?} has a control character in it");
    }
    for name in &table.features {
        ensure!(!name.contains('\0'), "column {name:?} has a zero byte in its name");
    }
    Ok(())
}

/// Returns the error that a row has no id.
pub(crate) fn no_id(row: u64) -> Problem {
    format!("row {row} has no id: write one, or delete the row").into()
}

/// Checks that ids differ; `number` returns the number of a row in messages.
pub(crate) fn check_ids_once(ids: &[String], number: impl Fn(usize) -> u64) -> Result<(), Problem> {
    let mut rows = HashMap::with_capacity(ids.len());
    for (row, id) in ids.iter().enumerate() {
        if let Some(first) = rows.insert(id.as_str(), row) {
            let [first, row] = [first, row].map(&number);
            return Err(format!(
                "id `{id}` is in row {first} and again in row {row}: ids must be unique; leave one out, or \
                 choose with --replicates first or mean"
            )
            .into());
        }
    }
    Ok(())
}

/// Returns the positions of each name, in order of first appearance.
pub(crate) fn places_by_name(names: &[String]) -> Vec<(&str, Vec<usize>)> {
    let mut place = HashMap::with_capacity(names.len());
    let mut places: Vec<(&str, Vec<usize>)> = Vec::new();
    for (j, name) in names.iter().enumerate() {
        let at = *place.entry(name.as_str()).or_insert(places.len());
        match places.get_mut(at) {
            Some((_, of_name)) => of_name.push(j),
            None => places.push((name, vec![j])),
        }
    }
    places
}

/// Checks that no feature occurs twice; messages call the features `lines` of the file.
pub(crate) fn check_features_once(table: &Table, lines: &'static str) -> Result<(), Problem> {
    let mut repeated = places_by_name(&table.features);
    repeated.retain(|(_, places)| places.len() > 1);
    if repeated.is_empty() {
        return Ok(());
    }
    let is_date = |(name, _): &(&str, Vec<usize>)| is_made_date(&name.to_lowercase());
    let has_dates = repeated.iter().any(is_date);
    let dates = if has_dates { "; spreadsheets make such dates of MARCH1 and MARC1" } else { "" };
    let shown = |(name, places): &(&str, Vec<usize>)| {
        let places: Vec<String> = places.iter().map(|place| (place + 1).to_string()).collect();
        format!("`{name}` names {lines} {}", places.join(", "))
    };
    let shown: Vec<String> = repeated.iter().take(MAX_SHOWN_NAMES).map(shown).collect();
    let more = match repeated.len() - shown.len() {
        0 => String::new(),
        more => format!(", and {more} more names"),
    };
    Err(Problem::Message(format!(
        "{}{more}: a feature has a name of its own; --replicates first or mean makes one of each{dates}",
        shown.join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_view_is_not_a_path() {
        for name in ["", ".", "..", "../x", "/x", "a/b", "a\\b", "C:x", "a\nb", "\u{1b}[31m"] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        for name in ["rna", "..x", "protein (2)", "Ähre", "chr:1"] {
            assert_eq!(check_name(name), Ok(()));
        }
    }
}
