//! Finds many rows that are equal: an assay that was not done, written as 0, half of the detection limit or the mean.

use super::MIN_ROWS;
use crate::Table;
use crate::error::listed;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Number of rows that decide whether a column is measured.
const N_LOOKED_AT: usize = 400;
/// Smallest number of different values of a measured column, as a share of its rows.
const MIN_DIFFERENT: f64 = 0.25;
/// Fewer measured columns may be equal by chance.
const MIN_COLUMNS: usize = 3;
/// Smallest number and share of rows in a finding.
const MIN_EQUAL: usize = 5;
const MIN_EQUAL_SHARE: f64 = 0.03;
/// Largest share of other rows with the same value in a column: more is a common result, such as 0 in counts of words.
const MAX_OTHERS: f64 = 0.1;

/// Returns a warning if many rows are equal in all columns of real numbers, with values that are rare in other rows.
pub(super) fn warning(table: &Table) -> Option<String> {
    let values = &table.values;
    let rows: Vec<usize> = (0..values.nrows()).filter(|&i| !values.is_missing(i)).collect();
    let step = rows.len().div_ceil(N_LOOKED_AT).max(1);
    let looked_at: Vec<usize> = rows.iter().step_by(step).copied().collect();
    let is_measured = |_, mut values: Vec<f64>| {
        values.retain(|x| !x.is_nan());
        let n = values.len();
        let has_decimals = values.iter().any(|x| x.fract() != 0.0);
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        n >= MIN_ROWS && has_decimals && values.len() as f64 >= MIN_DIFFERENT * n as f64
    };
    let is_measured = values.map_columns(&looked_at, is_measured);
    let n_measured = is_measured.iter().filter(|&&is| is).count();
    if n_measured < MIN_COLUMNS {
        return None;
    }
    let (mut equal, mut buffer) = (HashMap::<u64, Vec<usize>>::new(), Vec::new());
    for &i in &rows {
        let row = values.row(i, &mut buffer).iter().zip(&is_measured);
        let mut measured = row.filter(|(_, is)| **is).map(|(x, _)| x + 0.0);
        let mut hasher = DefaultHasher::new();
        let is_whole = measured.all(|x| {
            x.to_bits().hash(&mut hasher);
            !x.is_nan()
        });
        if is_whole {
            equal.entry(hasher.finish()).or_default().push(i);
        }
    }
    let least = MIN_EQUAL.max((MIN_EQUAL_SHARE * rows.len() as f64).ceil() as usize);
    let found = equal.into_values().max_by_key(|rows| (rows.len(), std::cmp::Reverse(rows[0])))?;
    let n_others = (rows.len() - found.len()) as f64;
    let first = values.row(found[0], &mut buffer).to_vec();
    let is_rare = |j: usize, column: Vec<f64>| {
        let n_alike = column.iter().filter(|&&x| x == first[j]).count();
        !is_measured[j] || n_alike as f64 <= found.len() as f64 + MAX_OTHERS * n_others
    };
    let is_found = found.len() >= least && values.map_columns(&rows, is_rare).iter().all(|&is| is);
    is_found.then(|| {
        let names = table.ids.as_ref();
        let name = |&i: &usize| names.map_or_else(|| (i + 1).to_string(), |ids| ids[i].clone());
        format!(
            "{}: the clusters may repeat a gap: {} of {} rows are equal in all {n_measured} measured columns ({}); if 0, a \
             limit or a mean stands for what was not measured, empty these rows",
            table.path.display(),
            found.len(),
            rows.len(),
            listed(found.iter().map(name))
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::table;
    use super::*;

    /// Returns the warning about 30 rows with three columns.
    fn line(of_cell: &dyn Fn(usize, usize) -> f64) -> Option<String> {
        let of_column = |j: usize| move |i: usize| of_cell(i, j);
        let [a, b, c] = [0, 1, 2].map(of_column);
        let age = |i: usize| (i % 7) as f64;
        warning(&table("p", None, &[("a", &a), ("b", &b), ("age", &age), ("c", &c)]))
    }

    #[test]
    fn rows_written_as_zero_are_reported_and_rare_twins_are_not() {
        let value = |i: usize, j: usize| ((i * 7 + j * 3) % 31) as f64 / 7.0;
        assert_eq!(
            line(&|i, j| if i % 6 == 1 { 0.0 } else { value(i, j) }).unwrap(),
            "p.csv: the clusters may repeat a gap: 5 of 30 rows are equal in all 3 measured columns (`2`, `8`, `14`, `20`, \
             `26`); if 0, a limit or a mean stands for what was not measured, empty these rows"
        );
        assert!(line(&|i, j| if i < 9 { 0.35 } else { value(i, j) }).is_some());
        assert_eq!(line(&|i, j| if i < 4 { 0.0 } else { value(i, j) }), None, "few");
        assert_eq!(
            line(&|i, j| if i < 9 && j > 0 { 0.0 } else { value(i, j) }),
            None,
            "one differs"
        );
        assert_eq!(line(&|i, j| value(i % 5, j)), None, "each five times");
        let often_zero = |i: usize, j: usize| if i % 3 == j { 0.0 } else { value(i, j) };
        assert_eq!(
            line(&|i, j| if i < 9 { 0.0 } else { often_zero(i, j) }),
            None,
            "a common value"
        );
        assert_eq!(line(&|i, j| if i < 9 { 0.0 } else { (i * j) as f64 }), None, "counts");
        assert_eq!(line(&|i, j| if i < 9 { f64::NAN } else { value(i, j) }), None, "missing");
    }
}
