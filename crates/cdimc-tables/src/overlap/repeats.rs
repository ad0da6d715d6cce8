//! Advice about several rows of one sample.

use super::{common_prefix, escaped};
use crate::Table;
use std::collections::{BTreeMap, BTreeSet};

/// Separators of the parts of an id.
pub(super) const SEPARATORS: [char; 4] = ['_', '-', '.', ' '];
/// Smallest number of samples with repeats that are evidence.
const MIN_REPEATED: usize = 5;
/// Largest number of different ends of the ids of repeats.
const MAX_ENDS: usize = 4;
/// Largest number of samples whose rows are compared.
const MAX_COMPARED: usize = 200;
/// Smallest share of samples whose repeats have values nearer to each other than to the next sample.
const MIN_ALIKE_SHARE: f64 = 0.9;

/// Returns a warning if rows of a table seem to be repeats of one sample. Their ids differ in the part after the last
/// separator, which has few values, and their values are alike. Most ids must be of repeats, or each repeated sample must
/// have an id without that part.
pub(super) fn counted_twice(table: &Table) -> Option<String> {
    let ids = table.ids.as_deref()?;
    let mut rows_of: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (row, id) in ids.iter().enumerate() {
        let end = id.trim_end_matches(SEPARATORS).rfind(SEPARATORS);
        // A number with a point is not a name and a part.
        let end = end.filter(|&end| end > 0 && id.parse::<f64>().is_err());
        rows_of.entry(&id[..end.unwrap_or(id.len())]).or_default().push(row);
    }
    let n_samples = rows_of.len();
    rows_of.retain(|_, rows| rows.len() > 1);
    let ends =
        rows_of.iter().flat_map(|(name, rows)| rows.iter().map(|&row| &ids[row][name.len()..]));
    let ends: BTreeSet<&str> = ends.filter(|end| !end.is_empty()).collect();
    let n_repeated: usize = rows_of.values().map(Vec::len).sum();
    let has_name = |(name, rows): (&&str, &Vec<usize>)| rows.iter().any(|&row| ids[row] == **name);
    let is_of_most = 2 * n_repeated > ids.len() || rows_of.iter().all(has_name);
    if rows_of.len() < MIN_REPEATED || ends.len() > MAX_ENDS || !is_of_most {
        return None;
    }
    let of_samples: Vec<&Vec<usize>> = rows_of.values().take(MAX_COMPARED).collect();
    let next = of_samples.iter().cycle().skip(1);
    let n_alike = of_samples.iter().zip(next).filter(|(own, next)| are_alike(table, own, next[0]));
    if (n_alike.count() as f64) < MIN_ALIKE_SHARE * of_samples.len() as f64 {
        return None;
    }
    let [first, second] = [0, 1].map(|place| &ids[of_samples[0][place]]);
    let ends: Vec<String> = ends.into_iter().map(escaped).collect();
    Some(format!(
        "{}: samples seem to count several times, as `{first}` and `{second}`, whose values are alike; for {n_samples} samples of {} \
         ids: --id-pattern '^(.+?)(?:{})?$'; `{first}` and `{second}` are then one sample{}",
        table.path.display(),
        ids.len(),
        ends.join("|"),
        advice_on_repeats(first, second, ids)
    ))
}

/// Returns whether the first two rows `own` are nearer to each other than to the row `other` in most columns.
fn are_alike(table: &Table, own: &[usize], other: usize) -> bool {
    let row = |row: usize| table.values.row(row, &mut Vec::new()).to_vec();
    let [a, b, c] = [own[0], own[1], other].map(row);
    let distances = a.iter().zip(&b).zip(&c).map(|((a, b), c)| ((a - b).abs(), (a - c).abs()));
    let (mut n_near, mut n_far) = (0, 0);
    distances.for_each(|(within, between)| {
        n_near += usize::from(within < between);
        n_far += usize::from(within > between);
    });
    n_near > n_far
}

/// Returns advice about two ids of one sample. Repeats are counted or lettered (`-1` and `-2`, `A` and `B`), and
/// `--replicates` applies. Other differences are kinds of samples (`01A` and `11A`, `T` and `N`) that must not be
/// averaged.
pub fn advice_on_repeats(first: &str, second: &str, ids: &[impl AsRef<str>]) -> String {
    let repeats = "choose with --replicates first or mean";
    let separates = |c: char| !c.is_alphanumeric();
    let part = |id: &str, place: usize| id.split(separates).nth(place).map(str::to_owned);
    let differ = |place: &usize| part(first, *place) != part(second, *place);
    let n_parts = first.split(separates).count().min(second.split(separates).count());
    let place = (0..n_parts).find(differ);
    let parts = place.and_then(|at| Some((at, part(first, at)?, part(second, at)?)));
    let Some((place, a, b)) = parts else { return format!(": {repeats}") };
    if counter(&a).is_some_and(|(stem, _)| counter(&b).is_some_and(|(other, _)| stem == other)) {
        return format!(", and differ in `{a}` and `{b}`: {repeats}");
    }
    // Letters after a number may be a part of their own, as in `P1T` and `P1N`.
    let stem = common_prefix(&a, &b);
    let continues = |id: &str| id[stem.len()..].starts_with(char::is_alphabetic);
    let is_inner = stem.ends_with(|c: char| c.is_ascii_digit()) && continues(&a) && continues(&b);
    let stem = if is_inner { stem.len() } else { 0 };
    let (a, b) = (&a[stem..], &b[stem..]);
    let has = |id: &str, of: &str| {
        part(id, place).is_some_and(|part| if is_inner { part.ends_with(of) } else { part == of })
    };
    let count = |of: &str| ids.iter().filter(|id| has(id.as_ref(), of)).count();
    let (of_rarer, kept) = if count(a) < count(b) { (first, b) } else { (second, a) };
    // Include the separators around the part, or anchor it at an end.
    let begin: usize = of_rarer.split_inclusive(separates).take(place).map(str::len).sum();
    let before = of_rarer[..begin].chars().next_back().map_or("^".into(), String::from);
    let before = if is_inner { "[0-9]".to_owned() } else { before };
    let rarer = &of_rarer.split_inclusive(separates).nth(place).unwrap_or_default()[stem..];
    let end = if rarer.ends_with(separates) { "" } else { "$" };
    let pattern = format!("{before}{}{end}", escaped(rarer));
    format!(
        ", and differ in `{a}` and `{b}`: if these are kinds of samples, such as tumor and normal, keep `{kept}` with \
         --drop-samples '{pattern}', or keep both as samples of their own with an --id-pattern that includes them"
    )
}

/// Splits off the digit or letter up to `E` that counts repeats, if there is one.
fn counter(part: &str) -> Option<(&str, char)> {
    let last = part.chars().next_back()?;
    let stem = &part[..part.len() - last.len_utf8()];
    let counts = match last {
        '0'..='9' => !stem.ends_with(|c: char| c.is_ascii_digit()) || stem.ends_with('0'),
        'A'..='E' | 'a'..='e' => stem.is_empty() || stem.ends_with(|c: char| c.is_ascii_digit()),
        _ => false,
    };
    counts.then_some((stem, last))
}

#[cfg(test)]
mod tests {
    use super::counted_twice;
    use crate::Table;
    use ndarray::Array2;

    /// Returns the warning for two rows of each of 20 samples with these ends of ids, whose values differ by `noise`.
    fn line(ends: [&str; 2], noise: f64) -> Option<String> {
        let ids = (0..40).map(|i| format!("P{:02}{}", i / 2, ends[i % 2])).collect();
        let value = |(i, j): (usize, usize)| {
            ((i / 2 * 7 + j * 5) % 23) as f64 + noise * ((i * 5 + j * 3) % 11) as f64
        };
        counted_twice(&Table::with_ids("a", Some(ids), Array2::from_shape_fn((40, 8), value)))
    }

    #[test]
    fn repeats_with_ids_of_their_own_get_a_pattern() {
        let expected = "a.csv: samples seem to count several times, as `P00_a` and `P00_b`, whose values are alike; for 20 samples \
                        of 40 ids: --id-pattern '^(.+?)(?:_a|_b)?$'; `P00_a` and `P00_b` are then one sample, and differ in `a` and \
                        `b`: choose with --replicates first or mean";
        assert_eq!(line(["_a", "_b"], 0.01).unwrap(), expected);
        assert!(line(["", " Wdh."], 0.01).unwrap().contains("'^(.+?)(?: Wdh\\.)?$'"));
        assert_eq!(line(["_a", "_b"], 1000.0), None, "values of others are as near");
        assert!(line([".1", ".2"], 0.01).is_some());
    }

    #[test]
    fn sites_and_decimals_are_no_samples() {
        let of = |name: &dyn Fn(usize) -> String| {
            let ids = (0..40).map(name).collect();
            let values = Array2::from_shape_fn((40, 4), |(i, j)| (i / 4 + j) as f64);
            counted_twice(&Table::with_ids("a", Some(ids), values))
        };
        assert_eq!(of(&|i| format!("site{}_{i}", i / 4)), None);
        assert_eq!(of(&|i| format!("{}.{}", i / 4, i % 4)), None);
        assert_eq!(of(&|i| format!("P{i}")), None);
    }
}
