//! Finds forgotten ids, codes for "not measured", lost thousands, row numbers, days, dates for names and numbers, equal or
//! filled rows, columns of two views, and rows that are not samples.

mod cell_styles;
mod codes;
mod copies;
mod forgotten_id;
mod no_samples;
mod rows;
mod text_kind;

#[cfg(feature = "files")]
pub(crate) use cell_styles::CellStyles;
pub use cell_styles::text_among_numbers;
pub use codes::usual_code;
pub(crate) use copies::warnings as common_columns;
pub(crate) use forgotten_id::forgotten_id;
pub(crate) use no_samples::warnings as rows_that_are_no_samples;
pub(crate) use rows::mostly_filled;

use crate::Table;
use crate::error::listed;
use crate::option_names::line_of_names;
use crate::spelling::is_made_date;

/// Tables with fewer rows give no evidence.
const MIN_ROWS: usize = 10;
/// Days since 1900 from 1930 to 2049, as spreadsheets store dates with two digits of the year, or of this year.
const SERIALS: std::ops::RangeInclusive<f64> = 10_959.0..=54_788.0;
/// A spreadsheet makes dates of numbers below this one: 5.5, 1.47.
const MAX_DATED: f64 = 100.0;
/// Names of row numbers: `X.1` in R, `index` and `level_0` in pandas, `run` on instruments.
const ROW_NUMBERS: &str =
    "x index level row rowname rownames run runorder injection injectionorder";

/// Returns one line per finding.
pub(crate) fn warnings(tables: &[Table]) -> Vec<String> {
    let of_table = |t: usize| {
        let table = &tables[t];
        let others = [
            cell_styles::lost_thousands(table),
            row_numbers(table),
            days(table),
            dates_for_numbers(table),
            dates_for_names(table),
            rows::equal_rows(table),
        ];
        codes::warnings(tables, t).into_iter().chain(others.into_iter().flatten())
    };
    (0..tables.len()).flat_map(of_table).chain(rows_that_are_no_samples(tables)).collect()
}

/// Finds columns that count the rows from 0 or 1. A column with a typical name counts even if rows were removed: it
/// only has to rise.
fn row_numbers(table: &Table) -> Option<String> {
    let (names, _) = columns_that(table, |name, values| {
        let is_named = is_in(name, ROW_NUMBERS);
        let begins =
            if is_named { values[0].fract() == 0.0 } else { [0.0, 1.0].contains(&values[0]) };
        let counts = |step: f64| step == 1.0 || (is_named && step > 0.0 && step.fract() == 0.0);
        let is_found = begins && values.windows(2).all(|pair| counts(pair[1] - pair[0]));
        (is_found && values.len() == table.values.nrows()).then_some(())
    });
    (!names.is_empty()).then(|| {
        format!(
            "{}: the order of the rows is clustered on: {} numbers them; leave it out with --drop '{}'",
            table.path.display(),
            listed(&names),
            line_of_names(&names)
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
    let first_day =
        |_: &str, values: Vec<f64>| values.iter().all(|&x| is_day(x)).then(|| values[0]);
    let (names, days) = columns_that(table, first_day);
    let first = days.first()?;
    Some(format!(
        "{}: days are clustered on as numbers, such as {first} in {}: leave them out with --drop '{}', or write durations in days",
        table.path.display(),
        listed(&names),
        line_of_names(&names)
    ))
}

/// Finds days since 1900 among small numbers: a spreadsheet makes the date 45417 of 5.5, and 17168 of 1.47.
fn dates_for_numbers(table: &Table) -> Option<String> {
    let is_serial = |x: f64| SERIALS.contains(&x) && x.fract() == 0.0;
    let (names, serials) = columns_that(table, |_, values| {
        let (serials, others): (Vec<f64>, Vec<f64>) = values.iter().partition(|&&x| is_serial(x));
        let are_small = others.iter().all(|x| x.abs() < MAX_DATED);
        let have_decimals = others.iter().any(|x| x.fract() != 0.0);
        let is_found = are_small && have_decimals && serials.len() < others.len();
        (is_found && !serials.is_empty()).then_some(serials)
    });
    let serials = serials.concat();
    let (n, first) = (serials.len(), serials.first()?);
    Some(format!(
        "{}: dates are clustered on as numbers: {n} cells in {} are days since 1900, such as {first}, beside numbers below \
         {MAX_DATED}; a spreadsheet makes a date of a number such as 5.5: write these cells again from their source",
        table.path.display(),
        listed(names)
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

/// Returns the names of the columns in which `find` finds something, and what it finds. It gets the name of a column and
/// its measured values, if there are enough.
fn columns_that<T: Send>(
    table: &Table,
    find: impl Fn(&str, Vec<f64>) -> Option<T> + Sync,
) -> (Vec<&String>, Vec<T>) {
    let rows: Vec<usize> = (0..table.values.nrows()).collect();
    let found = table.values.map_columns(&rows, |j, mut values| {
        values.retain(|x| !x.is_nan());
        if values.len() < MIN_ROWS { None } else { find(&table.features[j], values) }
    });
    table.features.iter().zip(found).filter_map(|(name, found)| Some((name, found?))).unzip()
}

/// Returns whether the letters of a name are one of `words`.
fn is_in(name: &str, words: &str) -> bool {
    let letters: String = name.to_lowercase().chars().filter(|c| c.is_alphabetic()).collect();
    words.split_whitespace().any(|word| word == letters)
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
        let expected = "a.csv: days are clustered on as numbers, such as 20000229 in `visit`: leave them out with --drop 'visit', \
                        or write durations in days";
        assert_eq!(line(&visit).unwrap(), expected);
        assert!(line(&|i| if i == 3 { f64::NAN } else { visit(i) }).is_some());
        for other in
            [20_010_229.0, 20_000_230.0, 20_001_301.0, 20_000_100.0, 18_991_231.0, 20_000_229.5]
        {
            assert_eq!(line(&|i| if i == 3 { other } else { visit(i) }), None, "{other}");
        }
        assert_eq!(line(&|i| if i < 25 { f64::NAN } else { visit(i) }), None, "few");
    }

    #[test]
    fn numbers_that_became_dates_are_reported_and_large_numbers_are_not() {
        let value = |i: usize| (i * 7 % 31) as f64 / 3.0 + 0.1;
        let line = |odd: f64, of: &dyn Fn(usize) -> f64| {
            let cell = |i: usize| if i == 4 || i == 8 { odd } else { of(i) };
            dates_for_numbers(&table("a", None, &[("x", &cell), ("y", &value)]))
        };
        let expected = "a.csv: dates are clustered on as numbers: 2 cells in `x` are days since 1900, such as 45417, beside numbers \
                        below 100; a spreadsheet makes a date of a number such as 5.5: write these cells again from their source";
        assert_eq!(line(45_417.0, &value).unwrap(), expected);
        assert!(line(17_168.0, &value).is_some(), "1.47, January 1947");
        for other in [45_417.5, 5_417.0, 99_999.0] {
            assert_eq!(line(other, &value), None, "{other}");
        }
        assert_eq!(line(45_417.0, &|i| 40.0 * value(i)), None, "a wide range");
        assert_eq!(line(45_417.0, &|i| (i % 7) as f64), None, "counts");
        assert_eq!(line(45_417.0, &|i| (45_000 + i) as f64), None, "dates");
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
