//! One view as a table, and the rules of every table.

use crate::error::{Problem, TableError};
use cdimc_data::Matrix;
use std::collections::HashMap;
use std::path::PathBuf;

/// Names of several features that a message shows.
const SHOWN_REPEATS: usize = 20;

/// One view as its file gives it.
#[derive(Debug, Clone)]
pub struct Table {
    /// The view's name: given, or the file's or member's name.
    pub name: String,
    /// The file it came from.
    pub path: PathBuf,
    /// The name of each row, where the file has one.
    pub ids: Option<Vec<String>>,
    /// The known class of each row, where asked for and present; empty where unknown.
    pub labels: Option<Vec<String>>,
    /// The name of each column; their numbers where the file has no names.
    pub features: Vec<String>,
    /// The names of `ReadOptions::drop` that the file has.
    pub left_out: Vec<String>,
    /// `(n_rows, n_features)`, dense or sparse, NaN where a cell is missing.
    pub values: Matrix,
}

impl Table {
    /// A table without names of rows and columns.
    #[cfg(any(test, feature = "files"))]
    pub(crate) fn of(name: &str, path: &std::path::Path, values: impl Into<Matrix>) -> Self {
        Self {
            name: name.to_owned(),
            path: path.to_owned(),
            ids: None,
            labels: None,
            features: Vec::new(),
            left_out: Vec::new(),
            values: values.into(),
        }
    }

    /// Checks the rules of every table, wherever it comes from: its name is no path, it has rows and
    /// columns, its values are finite or NaN, no id or column occurs twice.
    ///
    /// # Errors
    /// If it does not; the message begins with the path.
    pub fn check(&self) -> Result<(), TableError> {
        check_name(&self.name)
            .map_err(|rule| Problem::Name { name: self.name.clone(), rule })
            .and_then(|()| check(self))
            .map_err(|problem| TableError::new(&self.path, problem))
    }
}

#[cfg(test)]
impl Table {
    /// A table of the file `NAME.csv` with columns `f0`, `f1`, ...
    pub(crate) fn with_ids(
        name: &str,
        ids: Option<Vec<String>>,
        values: impl Into<Matrix>,
    ) -> Self {
        let values = values.into();
        let features = (0..values.ncols()).map(|j| format!("f{j}")).collect();
        Self { ids, features, ..Self::of(name, format!("{name}.csv").as_ref(), values) }
    }
}

/// Whether a view may have this name: outputs are named after views, and no name is to be a path.
///
/// # Errors
/// What the rule is, if not.
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

/// What every table must obey, whatever its format.
pub(crate) fn check(table: &Table) -> Result<(), Problem> {
    check_cells(table)?;
    check_ids_once(table)?;
    check_features_once(table, "features")
}

/// That there are rows and columns of finite or missing numbers, and a name for each that has one.
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
        // A zero byte ends words of fixed width, and a line break stands where a quote was never closed.
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

/// That no id occurs twice.
pub(crate) fn check_ids_once(table: &Table) -> Result<(), Problem> {
    let mut first = HashMap::with_capacity(table.values.nrows());
    for (row, id) in table.ids.iter().flatten().enumerate() {
        if let Some(earlier) = first.insert(id.as_str(), row) {
            return Err(Problem::DuplicateId { id: id.clone(), first: earlier + 1, row: row + 1 });
        }
    }
    Ok(())
}

/// The places of features of one name, in the order of the first of them.
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

/// That no feature occurs twice; the features are the `lines` of the file.
pub(crate) fn check_features_once(table: &Table, lines: &'static str) -> Result<(), Problem> {
    let repeated: Vec<String> = features_by_name(&table.features)
        .into_iter()
        .filter(|(_, places)| places.len() > 1)
        .map(|(name, places)| {
            let places: Vec<String> = places.iter().map(|place| (place + 1).to_string()).collect();
            format!("`{name}` names {lines} {}", places.join(", "))
        })
        .collect();
    if repeated.is_empty() {
        return Ok(());
    }
    let more = match repeated.len().saturating_sub(SHOWN_REPEATS) {
        0 => String::new(),
        more => format!(", and {more} names more"),
    };
    let shown = repeated[..repeated.len().min(SHOWN_REPEATS)].join(", ");
    Err(Problem::Message(format!(
        "{shown}{more}: a feature has a name of its own; --replicates first or mean makes one of each"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_a_view_is_a_path() {
        for name in ["", ".", "..", "../x", "/x", "a/b", "a\\b", "C:x", "a\nb", "\u{1b}[31m"] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        for name in ["rna", "..x", "protein (2)", "Ähre", "chr:1"] {
            assert_eq!(check_name(name), Ok(()));
        }
    }
}
