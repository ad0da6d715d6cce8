//! Reads tables of text, such as clinical tables.

use super::{Header, Records, TEXT, check_length, unpacked, with_title_advice};
use crate::TableError;
use crate::error::{Problem, ensure};
use crate::files::Budget;
use crate::files::format::Opened;
use std::collections::HashSet;
use std::io::BufRead;
use std::path::Path;

/// A table of text; all columns have the same length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// Names of the columns.
    pub names: Vec<String>,
    /// Cells of each column. In files with semicolons, decimal commas are replaced by points.
    pub columns: Vec<Vec<String>>,
    /// Whether the header lacks a name, so that the first column has none.
    pub is_one_name_short: bool,
}

impl Words {
    /// Returns the index of a column.
    ///
    /// # Errors
    /// If there is none, or the header is one name short and may name another column; the message begins with `path`.
    pub fn place(&self, name: &str, path: &Path) -> Result<usize, TableError> {
        if self.is_one_name_short && self.names.iter().any(|column| column == name) {
            let expected = self.names.len();
            let problem = Problem::ShortHeader { name: name.into(), found: expected - 1, expected };
            return Err(TableError::new(path, problem));
        }
        let place = self.names.iter().position(|column| column == name);
        place.ok_or_else(|| TableError::new(path, Problem::no_column(name, &self.names)))
    }
}

/// Reads a table separated by commas, semicolons, tabs or single spaces, below `skip_lines` lines.
///
/// # Errors
/// If the file cannot be read, is not text, or its rows have different lengths; the message names the file.
pub fn read_words(
    path: &Path,
    skip_lines: usize,
    max_bytes: Option<u64>,
) -> Result<Words, TableError> {
    read(path, skip_lines, max_bytes).map_err(|problem| TableError::new(path, problem))
}

fn read(path: &Path, skip_lines: usize, max_bytes: Option<u64>) -> Result<Words, Problem> {
    let opened = Opened::new(path)?;
    let reader = opened.reader()?;
    let is_text = reader.name == TEXT.name;
    ensure!(is_text, "is a {}: only text can be read here, such as CSV", reader.name);
    let (text, budget) = unpacked(opened, max_bytes)?;
    let mut records = Records::new(text, skip_lines)?;
    if let Some(warning) = records.above.warning.take() {
        tracing::warn!("{}: {warning}", path.display());
    }
    let title = records.above.title.take();
    let has_names = |words: &Words| words.names.iter().skip(1).any(|name| !name.is_empty());
    match table(records, &budget) {
        Ok(words) if title.is_none() || has_names(&words) => Ok(words),
        Ok(_) => Err("only the first column has a name".to_owned().into()),
        Err(problem) => Err(problem),
    }
    .map_err(|problem| with_title_advice(problem, title))
}

fn table<R: BufRead>(mut records: Records<R>, budget: &Budget) -> Result<Words, Problem> {
    let mut record = csv::StringRecord::new();
    let is_id = |_, name: &str| name.eq_ignore_ascii_case("id");
    let header = Header::read(&mut records, &mut record, is_id)?.ok_or(Problem::NoRows)?;
    let Header { names, is_one_name_short, has_row: mut is_row } = header;
    let (mut columns, mut row) = (vec![Vec::new(); names.len()], 0);
    while is_row {
        row += 1;
        // Spreadsheets end in empty rows.
        if names.len() < 2 || !record.iter().all(str::is_empty) {
            check_length(row, records.line(&record), names.len(), &record)?;
            for (column, text) in columns.iter_mut().zip(&record) {
                budget.bytes((size_of::<String>() + text.len()) as u64)?;
                column.push(text.to_owned());
            }
        }
        is_row = records.read(&mut record)?;
    }
    if records.above.delimiter == b';' {
        columns.iter_mut().for_each(|column| read_decimal_commas(column));
    }
    let has_rows = columns.first().is_some_and(|column| !column.is_empty());
    ensure!(has_rows, else Problem::NoRows);
    let mut seen = HashSet::new();
    if let Some(name) = names.iter().find(|name| !name.is_empty() && !seen.insert(name.as_str())) {
        return Err(Problem::DuplicateColumn { name: name.clone() });
    }
    Ok(Words { names, columns, is_one_name_short })
}

/// Replaces decimal commas by points, unless other numbers of the column have points: then one of them groups
/// thousands.
fn read_decimal_commas(column: &mut [String]) {
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    if column.iter().any(|text| text.contains('.') && is_number(text)) {
        return;
    }
    for text in column {
        let with_point = text.replacen(',', ".", 1);
        if is_number(&with_point) {
            *text = with_point;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::refused;

    fn words(text: &str) -> Result<Words, TableError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clinic.csv");
        std::fs::write(&path, text).unwrap();
        read_words(&path, 0, None)
    }

    #[test]
    fn cells_stay_as_they_are_and_empty_rows_are_skipped() {
        for (text, names, last) in [
            ("age stage\np1 58 \"stage ii\"\np2 44 NA\n", "/age/stage", ["stage ii", "NA"]),
            ("id;age\np1;3,5\np2;a,b\n", "id/age", ["3.5", "a,b"]),
            // Which of comma and point groups thousands?
            ("id;age\np1;3,5\np2;1.200\n", "id/age", ["3,5", "1.200"]),
            ("id;age\r\np1;3\r\n;\r\np2;\r\n;\r\n ; \r\n", "id/age", ["3", ""]),
            ("id,class\np,\"u\r\nv\"\nq,\"v\"", "id/class", ["u\r\nv", "v"]),
            ("id,,\np,1,2\nq,3,4\n", "id//", ["2", "4"]),
        ] {
            let found = words(text).unwrap();
            assert_eq!(found.names.join("/"), names);
            assert_eq!(found.columns.last().unwrap(), &last, "{text}");
            assert!(found.columns.iter().all(|column| column.len() == 2), "{text}");
        }
    }

    #[test]
    fn errors_are_one_line() {
        for (text, expected) in [
            ("id,age\np1\n", "row 1 (line 2) has 1 cells, the header has 2"),
            ("id,age\n", "no rows below the header"),
            ("id,age\n,\n,\n", "no rows"),
            ("\n", "no rows"),
            ("id,age,age\np,1,2\n", "two columns are named `age`$"),
            ("PAR1\0\0", "is a Parquet file: only text can be read here"),
            (
                "Clinical data;;\n;;\nid;age;sex\np1;3;f\np2;4;m\n",
                "--skip-lines 2 leaves them out (only the first column has a name)",
            ),
        ] {
            refused(words(text), expected);
        }
        let there = words("id,age\np1,3\n").unwrap();
        let message = there.place("sex", Path::new("c.csv")).unwrap_err().to_string();
        assert_eq!(message, "c.csv: no column `sex`; there are: `id`, `age`");
    }
}
