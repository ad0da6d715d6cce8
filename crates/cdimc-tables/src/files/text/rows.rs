//! What stands below the header, row by row.

use super::{Columns, Role, line};
use crate::error::Problem;
use crate::files::{Budget, ReadOptions, is_missing};

/// What the rows below the header hold.
pub(super) struct Rows<'a> {
    columns: &'a Columns,
    n_features: usize,
    options: &'a ReadOptions,
    /// Whether commas are decimal: where they do not stand between the cells, semicolons do.
    commas_are_decimal: bool,
    /// A number with a decimal comma, and one with a point, of the first rows that have one.
    comma: Option<String>,
    point: Option<String>,
    pub(super) count: usize,
    pub(super) ids: Vec<String>,
    pub(super) labels: Vec<String>,
    pub(super) values: Vec<f64>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(columns: &'a Columns, options: &'a ReadOptions, delimiter: u8) -> Self {
        Self {
            columns,
            n_features: columns.features().len(),
            options,
            commas_are_decimal: delimiter == b';',
            comma: None,
            point: None,
            count: 0,
            ids: Vec::new(),
            labels: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Adds one row.
    pub(super) fn take(
        &mut self,
        record: &csv::StringRecord,
        budget: &Budget,
    ) -> Result<(), Problem> {
        let Columns { names, roles, .. } = self.columns;
        // A blank last line is no row, and spreadsheets end in rows of nothing; without ids such a row is a sample's.
        let may_be_empty = record.len() == 1 || roles.contains(&Role::Id);
        if names.len() > 1 && may_be_empty && record.iter().all(str::is_empty) {
            return Ok(());
        }
        self.count += 1;
        if record.len() != names.len() {
            return Err(Problem::Ragged {
                row: self.count,
                line: line(record),
                expected: names.len(),
                found: record.len(),
            });
        }
        budget.values(&[self.n_features]).map_err(Problem::Message)?;
        for (column, text) in record.iter().enumerate() {
            let role = roles[column];
            if matches!(role, Role::Id | Role::Label) {
                let n_bytes = size_of::<String>() + text.len();
                budget.bytes(n_bytes as u64).map_err(Problem::Message)?;
            }
            match role {
                Role::Id => self.ids.push(text.to_owned()),
                Role::Label => self.labels.push(text.to_owned()),
                Role::Feature => {
                    let value = self.number(text).ok_or_else(|| self.refused(column, record))?;
                    self.values.push(value);
                }
                Role::LeftOut => {}
            }
        }
        match (&self.comma, &self.point) {
            (Some(comma), Some(point)) => {
                Err(Problem::TwoDecimals { comma: comma.clone(), point: point.clone() })
            }
            _ => Ok(()),
        }
    }

    /// The number that a cell holds, NaN where it is missing.
    fn number(&mut self, text: &str) -> Option<f64> {
        if is_missing(text, self.options) {
            return Some(f64::NAN);
        }
        match text {
            "TRUE" | "True" | "true" => return Some(1.0),
            "FALSE" | "False" | "false" => return Some(0.0),
            _ => {}
        }
        if self.commas_are_decimal && text.contains(',') {
            let value = text.replacen(',', ".", 1).parse().ok()?;
            self.comma.get_or_insert_with(|| text.to_owned());
            return Some(value);
        }
        let value = text.parse().ok()?;
        if self.commas_are_decimal && text.contains('.') {
            self.point.get_or_insert_with(|| text.to_owned());
        }
        Some(value)
    }

    /// Why a row's cell cannot be used, with the other columns of text there.
    fn refused(&mut self, column: usize, record: &csv::StringRecord) -> Problem {
        let shown = |text: &str| text.chars().take(40).collect::<String>();
        let (row, text) = (self.count, shown(&record[column]));
        let with_point = text.replacen(',', ".", 1);
        if text.contains(',') && with_point.parse::<f64>().is_ok() {
            let column = self.columns.names[column].clone();
            return Problem::DecimalComma { row, column, text, with_point };
        }
        let Columns { names, roles, .. } = self.columns;
        let columns = (column..record.len())
            .filter(|&j| roles[j] == Role::Feature && self.number(&record[j]).is_none())
            .map(|j| names[j].clone())
            .collect();
        Problem::NotANumber { row, columns, text }
    }
}
