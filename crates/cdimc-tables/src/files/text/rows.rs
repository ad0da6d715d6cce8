//! Reads the rows below the header.

use super::{Columns, Role, check_length, number_in};
use crate::checks::CellStyles;
use crate::error::Problem;
use crate::files::{Budget, ReadOptions, Replicates, is_missing, is_unnamed, warning_of_unnamed};
use crate::option_names::line_of_names;
use crate::table::{check_ids_once, no_id};
use std::collections::{BTreeMap, HashSet};

/// The content of the rows below the header.
pub(super) struct Rows<'a> {
    columns: &'a Columns,
    n_features: usize,
    options: &'a ReadOptions,
    /// Whether commas are decimal, as in files with semicolons.
    commas_are_decimal: bool,
    /// The first number with a decimal comma, and the first with a point.
    comma: Option<String>,
    point: Option<String>,
    /// Statistics of how the cells are written.
    styles: CellStyles,
    /// Whether rows are typed text, which counts them from the header, and not of a spreadsheet, which numbers its lines.
    typed: bool,
    /// Number of each row in messages, if rows have ids.
    numbers: Vec<u64>,
    /// Advice if the first row holds text.
    second_header: String,
    /// Content of the columns without a name.
    unnamed: BTreeMap<usize, Unnamed>,
    pub(super) count: usize,
    pub(super) ids: Vec<String>,
    pub(super) labels: Vec<String>,
    pub(super) values: Vec<f64>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(
        columns: &'a Columns,
        options: &'a ReadOptions,
        delimiter: u8,
        typed: bool,
    ) -> Self {
        Self {
            columns,
            n_features: columns.features().len(),
            options,
            commas_are_decimal: delimiter == b';',
            comma: None,
            point: None,
            styles: CellStyles::new(&columns.names),
            typed,
            numbers: Vec::new(),
            second_header: String::new(),
            unnamed: BTreeMap::new(),
            count: 0,
            ids: Vec::new(),
            labels: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Adds one row, which begins in `line`.
    pub(super) fn take(
        &mut self,
        record: &csv::StringRecord,
        line: u64,
        budget: &Budget,
    ) -> Result<(), Problem> {
        let Columns { names, roles } = self.columns;
        // Blank last lines and empty rows of spreadsheets are skipped; without ids an empty row is a sample.
        let may_be_empty = record.len() == 1 || roles.contains(&Role::Id);
        if names.len() > 1 && may_be_empty && record.iter().all(str::is_empty) {
            return Ok(());
        }
        self.count += 1;
        let is_first = self.count == 1;
        let number = if self.typed { self.count as u64 } else { line };
        check_length(self.count, line, names.len(), record)?;
        budget.values(&[self.n_features])?;
        if is_first {
            self.second_header = if names_columns(names, record) {
                format!(
                    "it seems to name the columns below a line that groups them: add --skip-lines {}",
                    line - 1
                )
            } else {
                format!("a second header, or a row of units? delete line {line}")
            };
        }
        for ((column, text), &role) in record.iter().enumerate().zip(roles) {
            if matches!(role, Role::Id | Role::Label) {
                let n_bytes = size_of::<(String, u64)>() + text.len();
                budget.bytes(n_bytes as u64)?;
            }
            match role {
                Role::Id => {
                    self.numbers.push(number);
                    self.ids.push(text.to_owned());
                }
                Role::Label => self.labels.push(text.to_owned()),
                Role::Feature => {
                    let value = self.number(column, text).unwrap_or_else(|| {
                        self.styles.text(column, number, is_first, text);
                        f64::NAN
                    });
                    self.styles.first_row_is_measured |= is_first && !value.is_nan();
                    self.values.push(value);
                }
                Role::Unnamed if !is_missing(text, self.options) => {
                    self.unnamed.entry(column).or_default().take(text);
                }
                Role::Unnamed | Role::LeftOut => {}
            }
        }
        match (&self.comma, &self.point) {
            (Some(comma), Some(point)) => Err(Problem::Message(format!(
                "`{comma}` has a comma and `{point}` a point: one of them groups thousands; write all numbers with a point \
                 before the decimals and no other mark"
            ))),
            _ => Ok(()),
        }
    }

    /// Returns an error about texts in columns of numbers, for all columns at once, about points of typed numbers that
    /// seem to group thousands, or about absent or repeated ids.
    pub(super) fn check(&self) -> Result<(), Problem> {
        if let Some(problem) = self.styles.problem(&self.second_header, self.typed) {
            return Err(Problem::Message(problem));
        }
        // In a transposed table they name features.
        if self.options.transposed {
            return Ok(());
        }
        let without = self.ids.iter().position(|id| is_missing(id, self.options));
        if let Some(row) = without {
            return Err(no_id(self.numbers[row]));
        }
        if self.options.replicates == Replicates::Refuse {
            check_ids_once(&self.ids, |row| self.numbers[row])?;
        }
        Ok(())
    }

    /// Returns warnings about the columns without a name, which are left out, or an error if one has decimals.
    pub(super) fn check_unnamed(&self) -> Result<Vec<String>, Problem> {
        let measured = self.unnamed.iter().filter_map(|(at, of)| Some((at, of.decimal.as_ref()?)));
        if let [(first, value), others @ ..] = &measured.collect::<Vec<_>>()[..] {
            let others = match others.len() {
                0 => String::new(),
                n => format!(" ({n} others, too)"),
            };
            return Err(Problem::Message(format!(
                "column {} has no name, but holds numbers such as `{value}`{others}: name it in the header, as a merged cell \
                 names only its first column, or leave it out with --drop '{}'",
                *first + 1,
                line_of_names(&[&self.columns.names[**first]])
            )));
        }
        let counts = |(_, of): &(&usize, &Unnamed)| of.other.is_none();
        let counting: Vec<usize> = self.unnamed.iter().filter(counts).map(|(at, _)| *at).collect();
        let others = self.unnamed.iter().filter_map(|(at, of)| {
            let held = "has no name and is left out, but holds values such as";
            Some(format!("column {} {held} `{}`", at + 1, of.other.as_ref()?))
        });
        Ok(warning_of_unnamed(&counting).into_iter().chain(others).collect())
    }

    /// Returns the number in a cell, NaN if it is missing, `None` if it is a text.
    fn number(&mut self, column: usize, text: &str) -> Option<f64> {
        if is_missing(text, self.options) {
            return Some(f64::NAN);
        }
        let value = match text {
            "TRUE" | "True" | "true" => return Some(1.0),
            "FALSE" | "False" | "false" => return Some(0.0),
            _ if self.commas_are_decimal && text.contains(',') => {
                let value = text.replacen(',', ".", 1).parse().ok()?;
                self.comma.get_or_insert_with(|| text.to_owned());
                value
            }
            // Typographic minus sign.
            _ if text.contains('\u{2212}') => text.replace('\u{2212}', "-").parse().ok()?,
            _ => text.parse().ok()?,
        };
        if self.commas_are_decimal && text.contains('.') {
            self.point.get_or_insert_with(|| text.to_owned());
        }
        self.styles.number(column, text, value);
        Some(value)
    }
}

/// Content of a column without a name.
#[derive(Debug, Default)]
struct Unnamed {
    /// Different whole numbers, which may number the rows.
    numbers: HashSet<u64>,
    /// The first number with decimals.
    decimal: Option<String>,
    /// The first other value, or number that repeats.
    other: Option<String>,
}

impl Unnamed {
    fn take(&mut self, text: &str) {
        match number_in(text).filter(|x| x.is_finite()) {
            Some(x) if x.fract() != 0.0 => _ = self.decimal.get_or_insert_with(|| text.to_owned()),
            Some(x) if x >= 0.0 && self.other.is_none() && self.numbers.insert(x as u64) => {}
            _ => _ = self.other.get_or_insert_with(|| text.to_owned()),
        }
    }
}

/// Returns whether the row below the header names columns: its words differ, while the header repeats a name or has none
/// above a word. Merged cells group columns so.
fn names_columns(header: &[String], row: &csv::StringRecord) -> bool {
    let mut seen = HashSet::new();
    let words = || header.iter().zip(row).skip(1).filter(|(_, cell)| !cell.is_empty());
    words().all(|(_, cell)| seen.insert(cell))
        && words().any(|(name, _)| is_unnamed(name) || !seen.insert(name))
}
