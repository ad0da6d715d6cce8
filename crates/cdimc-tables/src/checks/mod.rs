//! Finds forgotten ids, codes for "not measured", lost thousands, row numbers, days, dates for names, and rows that are not samples.

mod cell_styles;
mod codes;
mod copies;
mod forgotten_id;
mod no_samples;
mod text_kind;

#[cfg(feature = "files")]
pub(crate) use cell_styles::CellStyles;
pub use cell_styles::text_among_numbers;
pub use codes::usual_code;
pub(crate) use copies::warnings as common_columns;
pub(crate) use forgotten_id::forgotten_id;
pub(crate) use no_samples::warnings as rows_that_are_no_samples;

use crate::Table;
use crate::error::listed;
use crate::option_names::line_of_names;
use crate::spelling::is_made_date;

/// Tables with fewer rows give no evidence.
const MIN_ROWS: usize = 10;

/// Returns one line per finding.
pub(crate) fn warnings(tables: &[Table]) -> Vec<String> {
    let of_table = |t: usize| {
        let table = &tables[t];
        let others = [
            cell_styles::lost_thousands(table),
            row_numbers(table),
            days(table),
            dates_for_names(table),
        ];
        codes::warnings(tables, t).into_iter().chain(others.into_iter().flatten())
    };
    (0..tables.len()).flat_map(of_table).chain(rows_that_are_no_samples(tables)).collect()
}

/// Finds columns that count the rows from 0 or 1. A column with a typical name counts even if rows were removed: it
/// only has to rise.
fn row_numbers(table: &Table) -> Option<String> {
    let n_rows = table.values.nrows();
    if n_rows < MIN_ROWS {
        return None;
    }
    let counts = |j: &usize| {
        let first = table.values[[0, *j]];
        let is_named = is_row_number(&table.features[*j]);
        let is_begin = if is_named { first.fract() == 0.0 } else { first == 0.0 || first == 1.0 };
        is_begin
            && (1..n_rows).all(|i| {
                let step = table.values[[i, *j]] - table.values[[i - 1, *j]];
                step == 1.0 || (is_named && step > 0.0 && step.fract() == 0.0)
            })
    };
    let found: Vec<&str> =
        (0..table.features.len()).filter(counts).map(|j| table.features[j].as_str()).collect();
    (!found.is_empty()).then(|| {
        format!(
            "{}: the order of the rows is clustered on: {} numbers them; leave it out with --drop '{}'",
            table.path.display(),
            listed(&found),
            found.join(",")
        )
    })
}

/// Finds columns of days that are written as numbers: 20210131.
fn days(table: &Table) -> Option<String> {
    let is_day = |x: f64| {
        let number = x as u32;
        let (year, month, day) = (number / 10_000, number / 100 % 100, number % 100);
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let last = match month {
            2 => 28 + u32::from(is_leap),
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => 0,
        };
        f64::from(number) == x && (1900..=2100).contains(&year) && (1..=last).contains(&day)
    };
    let rows: Vec<usize> = (0..table.values.nrows()).collect();
    let first_day = |_, mut values: Vec<f64>| {
        values.retain(|x| !x.is_nan());
        (values.len() >= MIN_ROWS && values.iter().all(|&x| is_day(x))).then(|| values[0])
    };
    let days = table.values.map_columns(&rows, first_day);
    let first = days.iter().flatten().next()?;
    let names = table.features.iter().zip(&days).filter(|(_, day)| day.is_some());
    let names: Vec<&String> = names.map(|(name, _)| name).collect();
    Some(format!(
        "{}: days are clustered on as numbers, such as {first} in {}: leave them out with --drop '{}', or write durations in days",
        table.path.display(),
        listed(&names),
        line_of_names(&names)
    ))
}

/// Finds feature names that a spreadsheet made dates of: `2-Sep` from SEPT2.
fn dates_for_names(table: &Table) -> Option<String> {
    let is_date = |name: &&String| is_made_date(&name.to_lowercase());
    let dates: Vec<&String> = table.features.iter().filter(is_date).collect();
    // If most names are dates, they are intended.
    (!dates.is_empty() && 2 * dates.len() < table.features.len()).then(|| {
        format!(
            "{}: features are named by dates, which spreadsheets make of names such as SEPT2 and MARCH1: {}",
            table.path.display(),
            listed(dates)
        )
    })
}

/// Returns whether programs give row numbers this name: `X.1` in R, `index` and `level_0` in pandas.
fn is_row_number(name: &str) -> bool {
    let name = name.trim_end_matches(|c: char| c == '.' || c == '_' || c.is_ascii_digit());
    matches!(
        name.to_lowercase().as_str(),
        "x" | "index" | "level" | "row" | "rowname" | "rownames" | "row.names"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    /// Returns a table of 30 rows with these columns.
    pub(super) fn table(
        name: &str,
        ids: Option<Vec<String>>,
        columns: &[(&str, &dyn Fn(usize) -> f64)],
    ) -> Table {
        let n = ids.as_ref().map_or(30, Vec::len);
        let values = Array2::from_shape_fn((n, columns.len()), |(i, j)| columns[j].1(i));
        let features = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        Table { features, ..Table::with_ids(name, ids, values) }
    }

    #[test]
    fn row_numbers_are_reported_and_times_are_not() {
        let noise = |i: usize| (i * 7 % 11) as f64 / 3.0;
        let line = |name: &str, of: &dyn Fn(usize) -> f64| {
            warnings(&[table("a", None, &[(name, of), ("b", &noise)])]).pop().unwrap_or_default()
        };
        let expected = "a.csv: the order of the rows is clustered on: `n` numbers them; leave it out with --drop 'n'";
        assert_eq!(line("n", &|i| i as f64), expected);
        assert_eq!(line("n", &|i| (i + 1) as f64), expected);
        assert!(line("index", &|i| (3 * i + 4) as f64).contains("`index` numbers them"));
        assert_eq!(line("hours", &|i| (3 * i) as f64), "");
        assert_eq!(line("index", &|i| (i * 7 % 30) as f64), "");
    }
    #[test]
    fn days_written_as_numbers_are_reported_and_counts_are_not() {
        let line = |of: &dyn Fn(usize) -> f64| days(&table("a", None, &[("visit", of)]));
        let visit = |i: usize| (20_000_229 + i % 3 * 40_000) as f64;
        assert_eq!(
            line(&visit).unwrap(),
            "a.csv: days are clustered on as numbers, such as 20000229 in `visit`: leave them out with --drop 'visit', or \
             write durations in days"
        );
        assert!(line(&|i| if i == 3 { f64::NAN } else { visit(i) }).is_some());
        for other in
            [20_010_229.0, 20_000_230.0, 20_001_301.0, 20_000_100.0, 18_991_231.0, 20_000_229.5]
        {
            assert_eq!(line(&|i| if i == 3 { other } else { visit(i) }), None, "{other}");
        }
        assert_eq!(line(&|i| if i < 25 { f64::NAN } else { visit(i) }), None, "few");
    }

    #[test]
    fn gene_names_that_became_dates_are_reported() {
        let line = |names: &[&str]| {
            let features = names.iter().map(|&name| name.into()).collect();
            dates_for_names(&Table { features, ..table("a", None, &[]) })
        };
        for date in ["2-Sep", "MAR-01", "2024-09-02"] {
            let warning = line(&["TP53", date, "EGFR"]).unwrap();
            assert!(warning.ends_with(&format!("SEPT2 and MARCH1: `{date}`")), "{warning}");
        }
        assert_eq!(line(&["SEPT2", "HLA-A", "12-LOX", "Sep-99x", "MAR-x2"]), None);
        assert_eq!(line(&["1-Jan", "2-Jan", "x"]), None);
    }
}
