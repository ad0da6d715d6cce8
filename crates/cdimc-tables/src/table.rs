//! A view as a table, and the rules of every table.

use crate::error::{Problem, TableError};
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
    /// Returns a table without a file and names of rows and columns.
    #[cfg(any(test, feature = "files"))]
    pub(crate) fn of(name: &str, values: impl Into<Matrix>) -> Self {
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

    /// Checks the rules of every table: the name is not a path, there are rows and columns, values are finite or NaN,
    /// ids and columns are unique.
    ///
    /// # Errors
    /// If the table breaks a rule; the message begins with the path.
    pub fn check(&self) -> Result<(), TableError> {
        check_name(&self.name)
            .map_err(|rule| Problem::Name { name: self.name.clone(), rule })
            .and_then(|()| check(self))
            .map_err(|problem| TableError::new(&self.path, problem))
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
        Self { path, ids, features, ..Self::of(name, values) }
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

/// Checks the rules of every table except the one for its name.
pub(crate) fn check(table: &Table) -> Result<(), Problem> {
    check_cells(table)?;
    check_ids_once(table)?;
    check_features_once(table, "features")
}

/// Checks that there are rows and columns, that values are finite or missing, and that there are as many names as rows.
pub(crate) fn check_cells(table: &Table) -> Result<(), Problem> {
    let (n_rows, n_features) = table.values.dim();
    if n_rows == 0 {
        return Err(Problem::NoRows);
    }
    if n_features == 0 {
        return Err(Problem::NoFeatures);
    }
    if let Some((row, column, value)) = table.values.find(|_, x| x.is_infinite()) {
        let column = table.features[column].clone();
        return Err(Problem::Infinite { row: row + 1, column, value });
    }
    let miscounted =
        |names: &Option<Vec<String>>| names.as_ref().map(Vec::len).filter(|&count| count != n_rows);
    if let Some(count) = miscounted(&table.ids).or_else(|| miscounted(&table.labels)) {
        let what = if miscounted(&table.ids).is_some() { "id" } else { "label" };
        let in_columns = count == n_features && count > 1;
        return Err(Problem::Count { what, count, rows: n_rows, in_columns });
    }
    for (row, id) in table.ids.iter().flatten().enumerate() {
        if id.is_empty() {
            return Err(Problem::EmptyId { row: row + 1 });
        }
        // Zero bytes come from words of fixed width, line breaks from a quote that is never closed.
        if id.contains(char::is_control) {
            let message = format!("row {}: id {id:?} has a control character in it", row + 1);
            return Err(Problem::Message(message));
        }
    }
    match table.features.iter().find(|name| name.contains('\0')) {
        Some(name) => Err(Problem::Message(format!("column {name:?} has a zero byte in its name"))),
        None => Ok(()),
    }
}

/// Checks that no id occurs twice.
pub(crate) fn check_ids_once(table: &Table) -> Result<(), Problem> {
    let mut first = HashMap::with_capacity(table.values.nrows());
    for (row, id) in table.ids.iter().flatten().enumerate() {
        if let Some(earlier) = first.insert(id.as_str(), row) {
            return Err(Problem::DuplicateId { id: id.clone(), first: earlier + 1, row: row + 1 });
        }
    }
    Ok(())
}

/// Returns the positions of each feature name, in order of first appearance.
pub(crate) fn features_by_name(features: &[String]) -> Vec<(&str, Vec<usize>)> {
    let mut place = HashMap::with_capacity(features.len());
    let mut names: Vec<(&str, Vec<usize>)> = Vec::new();
    for (j, name) in features.iter().enumerate() {
        let at = *place.entry(name.as_str()).or_insert(names.len());
        match names.get_mut(at) {
            Some((_, places)) => places.push(j),
            None => names.push((name, vec![j])),
        }
    }
    names
}

/// Checks that no feature occurs twice; messages call the features `lines` of the file.
pub(crate) fn check_features_once(table: &Table, lines: &'static str) -> Result<(), Problem> {
    let mut dates = "";
    let repeated: Vec<String> = features_by_name(&table.features)
        .into_iter()
        .filter(|(_, places)| places.len() > 1)
        .inspect(|(name, _)| {
            if is_made_date(&name.to_lowercase()) {
                dates = "; spreadsheets make such dates of MARCH1 and MARC1";
            }
        })
        .map(|(name, places)| {
            let places: Vec<String> = places.iter().map(|place| (place + 1).to_string()).collect();
            format!("`{name}` names {lines} {}", places.join(", "))
        })
        .collect();
    if repeated.is_empty() {
        return Ok(());
    }
    let more = match repeated.len().saturating_sub(MAX_SHOWN_NAMES) {
        0 => String::new(),
        more => format!(", and {more} more names"),
    };
    let shown = repeated[..repeated.len().min(MAX_SHOWN_NAMES)].join(", ");
    Err(Problem::Message(format!(
        "{shown}{more}: a feature has a name of its own; --replicates first or mean makes one of each{dates}"
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
