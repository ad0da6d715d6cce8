//! Finds columns of several tables that look like ids where rows would be joined by their number.

use super::MIN_ROWS;
use crate::Table;
use crate::overlap::MIN_SHARED_SHARE;
use crate::spelling::counts_up;
use std::collections::{HashMap, HashSet};

/// Smallest expected number of equal pairs among random values. Without any such pair, chance is unlikely (below e^-7).
const MIN_EXPECTED_COLLISIONS: f64 = 7.0;

/// Returns the error or warning about the first column that looks like the ids of two tables, preferring one that
/// differs: rows with the same number have different values, so that they are different samples. Returns whether it
/// differs, too, and `None` if the tables have ids that are more than row numbers.
///
/// Both tables must have distinct whole numbers in the column, and share some. Measured whole numbers can be distinct
/// too. But then they are spread so widely that chance repeats none (the birthday problem), and two tables share no
/// more of them than chance gives. A column that is equal in every row counts only if its values rise or are as dense
/// as ids.
pub(crate) fn forgotten_id(tables: &[Table]) -> Option<(bool, String)> {
    let is_nameless = |table: &Table| table.ids.as_ref().is_none_or(|ids| counts_up(ids));
    if !tables.iter().all(is_nameless) {
        return None;
    }
    let mut found: Option<(bool, String)> = None;
    let mut earlier: HashMap<&str, (&Table, Vec<f64>)> = HashMap::new();
    for table in tables.iter().filter(|table| table.values.nrows() >= MIN_ROWS) {
        for (j, name) in table.features.iter().enumerate() {
            // A column named by its position has that name by chance.
            if *name == j.to_string() {
                continue;
            }
            let Some(values) = distinct_whole(table, j) else { continue };
            let Some((first, of_first)) = earlier.get(name.as_str()) else {
                earlier.insert(name, (table, values));
                continue;
            };
            let differs = *of_first != values;
            let rises = values.windows(2).all(|pair| pair[0] < pair[1]);
            let counts = values.windows(2).all(|pair| pair[1] - pair[0] == 1.0) && values[0] <= 1.0;
            let is_id = if differs {
                are_ids(of_first, &values)
            } else {
                (rises || collisions(&values) >= MIN_EXPECTED_COLLISIONS / 2.0) && !counts
            };
            if is_id && found.as_ref().is_none_or(|(earlier, _)| differs && !earlier) {
                let files = [first, table].map(|table| table.path.display().to_string());
                found = Some((differs, message(name, &files, differs)));
            }
        }
    }
    found
}

/// Returns the values of a column if they are distinct whole numbers of at least 0.
fn distinct_whole(table: &Table, j: usize) -> Option<Vec<f64>> {
    let mut seen = HashSet::new();
    let values = (0..table.values.nrows()).map(|i| table.values[[i, j]]);
    let mut is_new = |x: &f64| *x >= 0.0 && x.fract() == 0.0 && seen.insert(x.to_bits());
    values.map(|x| is_new(&x).then_some(x)).collect()
}

/// Returns whether distinct whole numbers of two tables are too dense, or too often equal, to be measurements.
fn are_ids(a: &[f64], b: &[f64]) -> bool {
    let (n_a, n_b) = (a.len() as f64, b.len() as f64);
    let of_a: HashSet<u64> = a.iter().map(|x| x.to_bits()).collect();
    let shared = b.iter().filter(|x| of_a.contains(&x.to_bits())).count() as f64;
    let by_chance = n_a * n_b / range(a.iter().chain(b));
    shared >= MIN_SHARED_SHARE * n_a.min(n_b)
        && (collisions(a) + collisions(b) >= MIN_EXPECTED_COLLISIONS
            || shared > 3.0 + 4.0 * by_chance)
}

/// Returns the expected number of equal pairs among as many random whole numbers in the same range.
fn collisions(values: &[f64]) -> f64 {
    (values.len() as f64).powi(2) / (2.0 * range(values.iter()))
}

/// Returns the number of whole numbers from the smallest value to the largest.
fn range<'a>(values: impl Iterator<Item = &'a f64>) -> f64 {
    let ends = (f64::INFINITY, f64::NEG_INFINITY);
    let (low, high) = values.fold(ends, |(low, high), &x| (low.min(x), high.max(x)));
    high - low + 1.0
}

fn message(column: &str, [first, second]: &[String; 2], differs: bool) -> String {
    let advice = format!(
        "name it with --id '{column}', or leave it out with --drop '{column}' if it is a measurement"
    );
    if differs {
        format!(
            "rows of {first} and {second} would be joined by their number, but column `{column}` looks like an id and \
             differs in the same rows: {advice}"
        )
    } else {
        format!(
            "column `{column}` of {first} and {second} is clustered on, but looks like an id: {advice}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::table;
    use super::*;

    fn found(one: &dyn Fn(usize) -> f64, other: &dyn Fn(usize) -> f64) -> Option<(bool, String)> {
        let noise = |i: usize| (i * 7 % 11) as f64 / 3.0;
        forgotten_id(&[
            table("a", None, &[("number", one), ("x", &noise)]),
            table("b", None, &[("y", &noise), ("number", other)]),
        ])
    }

    #[test]
    fn numbers_that_are_dense_or_shared_more_than_by_chance_are_ids() {
        let (differs, line) = found(&|i| (1009 + i) as f64, &|i| (1001 + i) as f64).unwrap();
        assert!(differs && line.contains("`number` looks like an id"), "{line}");
        assert!(line.contains("--id 'number'"), "{line}");
        // A pandas index of row numbers does not name samples.
        let index = |name: fn(usize) -> String| {
            let patient = |first: usize| move |i: usize| (first + i) as f64;
            let of = |at: &str, first| {
                table(at, Some((0..30).map(name).collect()), &[("p", &patient(first))])
            };
            forgotten_id(&[of("a", 1009), of("b", 1001)])
        };
        assert!(index(|i| i.to_string()).is_some_and(|(differs, _)| differs));
        assert_eq!(index(|i| format!("s{i}")), None);
        let sparse = |i: usize| (1_000_000 + i * i * 977 % 900_001) as f64;
        assert!(found(&sparse, &|i| sparse(i + 12)).is_some_and(|(differs, _)| differs));
        // In the same order rows are joined correctly, but the numbers would be clustered on.
        let (differs, line) =
            found(&|i| (1001 + 3 * i) as f64, &|i| (1001 + 3 * i) as f64).unwrap();
        assert!(!differs && line.contains("is clustered on"), "{line}");
        let shuffled = |i: usize| (1001 + i * 7 % 30) as f64;
        assert!(found(&shuffled, &shuffled).is_some_and(|(differs, _)| !differs));
    }

    #[test]
    fn distinct_measured_whole_numbers_are_no_ids() {
        let depth = |i: usize| (20_000 + (i * 7919) % 30_011) as f64;
        assert_eq!(found(&depth, &|i| depth(i + 500) + 3.0), None);
        assert_eq!(found(&depth, &depth), None, "measured once, and in both tables");
        assert_eq!(found(&|i| (i % 29) as f64, &|i| (i + 3) as f64), None, "one is not distinct");
        assert_eq!(found(&|i| i as f64 / 2.0, &|i| (i + 3) as f64 / 2.0), None);
        assert_eq!(found(&|i| i as f64, &|i| i as f64), None, "row numbers are reported elsewhere");
    }
}
