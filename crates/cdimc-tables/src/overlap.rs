//! Whether the ids of tables name the same samples, and what to say where they hardly do.

use crate::Table;
use std::collections::{HashMap, HashSet};

/// A table gets a warning if less than this share of its ids occurs in others.
const FEW: f64 = 0.1;
/// How many ids are shown of each side.
const SHOWN: usize = 2;
/// A beginning of fewer characters names nobody.
const SHORTEST: usize = 4;
/// No barcode is longer; ids that are sequences are not tried at every length.
const LONGEST: usize = 64;

/// A line for each table whose ids hardly occur in the other tables, though they may be meant to.
pub(crate) fn warnings(tables: &[Table]) -> Vec<String> {
    let sides = (0..tables.len()).filter_map(|t| Sides::of(tables, t));
    let mut lines: Vec<String> = sides.filter_map(|sides| sides.warning()).collect();
    // Of two tables each would be told what the other is told.
    if tables.len() == 2 {
        lines.truncate(1);
    }
    lines
}

/// Ids of both sides and what may be wrong, for tables that share no id at all.
pub(crate) fn nothing_shared(tables: &[Table]) -> String {
    let examples: Vec<String> = tables
        .iter()
        .map(|table| format!("{} has {}", table.path.display(), examples(ids(table))))
        .collect();
    let hint = (0..tables.len()).find_map(|t| Sides::of(tables, t)?.hint());
    format!("{}{}", examples.join(", "), hint.map_or(String::new(), |hint| format!("; {hint}")))
}

/// The ids of one table and those of all others.
struct Sides<'a> {
    table: &'a Table,
    others: Vec<&'a Table>,
    known: HashSet<&'a str>,
}

impl<'a> Sides<'a> {
    /// Nothing where a table has no ids or there is no other.
    fn of(tables: &'a [Table], t: usize) -> Option<Self> {
        let others: Vec<&Table> =
            tables.iter().enumerate().filter(|&(o, _)| o != t).map(|(_, table)| table).collect();
        let all_named = tables.iter().all(|table| table.ids.is_some());
        let known = others.iter().flat_map(|table| ids(table)).collect();
        (all_named && !others.is_empty()).then_some(Self { table: &tables[t], others, known })
    }

    /// The ids that no other table has.
    fn alone(&self) -> impl Iterator<Item = &'a str> {
        ids(self.table).filter(move |id| !self.known.contains(id))
    }

    /// Whether hardly any id occurs in another table.
    fn shares_few(&self) -> bool {
        let n = ids(self.table).count();
        ((n - self.alone().count()) as f64) < FEW * n as f64
    }

    fn warning(&self) -> Option<String> {
        let hint = self.hint();
        if !self.shares_few() && hint.is_none() {
            return None;
        }
        let own: HashSet<&str> = ids(self.table).collect();
        let elsewhere =
            self.others.iter().flat_map(|table| ids(table)).filter(|id| !own.contains(id));
        let elsewhere = match examples(elsewhere) {
            none if none.is_empty() => String::new(),
            some => format!(", the others have {some}"),
        };
        Some(format!(
            "{}: {} of {} ids are in no other file: it has {}{elsewhere}{}",
            self.table.path.display(),
            self.alone().count(),
            ids(self.table).count(),
            examples(self.alone()),
            hint.map_or(String::new(), |hint| format!("; {hint}"))
        ))
    }

    /// What would make more ids agree.
    fn hint(&self) -> Option<String> {
        // Columns may be counted as the rows are, which says nothing where the rows agree.
        let turned = if self.shares_few() { self.samples_in_columns() } else { None };
        turned.or_else(|| self.written_alike()).or_else(|| self.same_beginnings())
    }

    /// That the columns of one table are named as the rows of another.
    fn samples_in_columns(&self) -> Option<String> {
        let mut pairs =
            self.others.iter().flat_map(|&other| [(self.table, other), (other, self.table)]);
        let (columns, rows) = pairs.find(|(columns, rows)| {
            let features: HashSet<&str> = columns.features.iter().map(String::as_str).collect();
            let n_columns = ids(rows).filter(|id| features.contains(id)).count();
            n_columns > 1 && 2 * n_columns >= ids(rows).count()
        })?;
        Some(format!(
            "the columns of {} are named as the rows of {}: samples must be rows, so one of them needs --transposed FILE",
            columns.path.display(),
            rows.path.display()
        ))
    }

    /// How long a beginning of the ids names samples that others have as well.
    fn same_beginnings(&self) -> Option<String> {
        if !self.shares_few() {
            return None;
        }
        let own: Vec<&str> = ids(self.table).collect();
        let others: Vec<Vec<&str>> = self.others.iter().map(|table| ids(table).collect()).collect();
        let (length, shared) = shared_beginning(&own, &others)?;
        Some(proposal(length, shared, own.len()))
    }

    /// How many ids differ from those of others in their writing alone.
    fn written_alike(&self) -> Option<String> {
        let mut known: HashMap<String, &str> = HashMap::new();
        for &id in &self.known {
            let first = known.entry(bare(id)).or_insert(id);
            *first = id.min(*first);
        }
        let mut alike = self.alone().filter_map(|id| Some((id, *known.get(&bare(id))?)));
        let (own, other) = alike.next()?;
        let n_alike = 1 + alike.count();
        (n_alike as f64 >= FEW * ids(self.table).count() as f64).then(|| {
            format!("{n_alike} more would agree if written alike, as `{own}` and `{other}`")
        })
    }
}

/// How many characters at the beginning of ids make names that `own` and the others share, though the ids differ, and
/// how many of `own` they are: the most, with as few characters as do, preferably up to a separator.
///
/// Nothing where two ids of one table would become one name, or fewer than half of `own` are shared.
pub fn shared_beginning(own: &[&str], others: &[Vec<&str>]) -> Option<(usize, usize)> {
    let all = || others.iter().flatten().chain(own);
    let ends = |length: usize| {
        all().all(|id| id.chars().nth(length).is_none_or(|next| !next.is_alphanumeric()))
    };
    let names = |ids: &[&str], length: usize| -> Option<HashSet<String>> {
        let names: HashSet<String> = ids.iter().map(|id| beginning(id, length)).collect();
        (names.len() == ids.len()).then_some(names)
    };
    let longest = own.iter().map(|id| id.chars().count()).max()?;
    let candidate = |length: usize| {
        let own = names(own, length)?;
        let others = others.iter().map(|ids| names(ids, length)).collect::<Option<Vec<_>>>()?;
        let shared = own.iter().filter(|id| others.iter().any(|ids| ids.contains(*id))).count();
        Some((shared, ends(length), length))
    };
    let best = (SHORTEST..longest.min(LONGEST)).filter_map(candidate).rev();
    let (shared, _, length) = best.max_by_key(|&(shared, ends, _)| (shared, ends))?;
    (2 * shared >= own.len()).then_some((length, shared))
}

/// What is said of beginnings that are shared.
pub fn proposal(length: usize, shared: usize, of: usize) -> String {
    format!(
        "the first {length} characters are shared by {shared} of {of}: --id-pattern '^(.{{{length}}})'"
    )
}

/// The first characters of an id.
fn beginning(id: &str, length: usize) -> String {
    id.chars().take(length).collect()
}

fn ids(table: &Table) -> impl Iterator<Item = &str> {
    table.ids.iter().flatten().map(String::as_str)
}

/// The first of some ids.
fn examples<'a>(ids: impl Iterator<Item = &'a str>) -> String {
    ids.take(SHOWN).map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
}

/// An id without what programs change of it: case, separators, zeros before and after, and the number of
/// the lane behind a cell's barcode.
fn bare(id: &str) -> String {
    let id = id.trim().to_lowercase();
    let id = id.strip_suffix(".0").unwrap_or(&id);
    let id = match id.rsplit_once('-') {
        Some((barcode, lane)) if barcode.len() >= 8 && lane.parse::<u8>().is_ok() => barcode,
        _ => id,
    };
    id.trim_start_matches('0').chars().filter(|c| c.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    fn table(name: &str, ids: &[&str]) -> Table {
        Table {
            name: name.into(),
            path: format!("{name}.csv").into(),
            ids: Some(ids.iter().map(|&id| id.into()).collect()),
            labels: None,
            features: vec!["f".into(), "g".into()],
            left_out: Vec::new(),
            values: Array2::zeros((ids.len(), 2)).into(),
        }
    }

    #[test]
    fn ids_written_in_another_way_are_shown_with_their_number() {
        let [a, b, c] = [
            table("a", &["s1", "s2", "s3"]),
            table("b", &["s2", "s3"]),
            table("c", &["S1", "S2", "x"]),
        ];
        let lines = warnings(&[a, b, c]);
        assert_eq!(
            lines,
            [
                "a.csv: 1 of 3 ids are in no other file: it has `s1`, the others have `S1`, `S2`; 1 more would agree if written alike, as `s1` and `S1`",
                "c.csv: 3 of 3 ids are in no other file: it has `S1`, `S2`, the others have `s1`, `s2`; 2 more would agree if written alike, as `S1` and `s1`"
            ]
        );
        for (one, other) in
            [("0", "0.0"), ("AAACCCAAG-1", "AAACCCAAG"), ("P_01", "p01"), ("007", "7")]
        {
            let lines = warnings(&[table("a", &[one]), table("b", &[other])]);
            assert!(lines[0].contains(&format!("as `{one}` and `{other}`")), "{lines:?}");
        }
    }

    #[test]
    fn barcodes_that_begin_alike_are_told_to_be_cut() {
        let barcodes = |tail: &str, from: usize, n: usize| -> Vec<String> {
            (from..from + n).map(|i| format!("TCGA-OR-A5{i:02}-01A-{tail}")).collect()
        };
        let named = |name: &str, ids: &[String]| {
            table(name, &ids.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let (rna, protein) =
            (named("rna", &barcodes("11R-07", 0, 20)), named("protein", &barcodes("21-20", 3, 19)));
        let hint = "the first 12 characters are shared by 17 of 20: --id-pattern '^(.{12})'";
        let message = nothing_shared(&[rna.clone(), protein.clone()]);
        assert!(message.ends_with(hint), "{message}");
        assert!(warnings(&[rna.clone(), protein])[0].ends_with(hint));
        // Two rows of one patient cannot both be that patient.
        let twice = named("twice", &[barcodes("31-20", 0, 9), barcodes("21-20", 0, 9)].concat());
        assert!(!nothing_shared(&[rna, twice]).contains("--id-pattern"));
        assert!(
            !nothing_shared(&[table("a", &["xy1", "xy2"]), table("b", &["xz1", "xz2"])])
                .contains("first")
        );
    }

    #[test]
    fn ids_that_are_sequences_are_not_cut_at_every_length() {
        let sequences = |end: &str| -> Vec<String> {
            (0..200).map(|i| format!("{i:0100}{}", end.repeat(2900))).collect()
        };
        let (own, other) = (sequences("A"), sequences("C"));
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let other: Vec<&str> = other.iter().map(String::as_str).collect();
        assert_eq!(shared_beginning(&own, &[other]), None);
    }

    #[test]
    fn tables_that_share_a_fair_part_are_left_in_peace() {
        assert!(warnings(&[table("a", &["x", "y"]), table("b", &["y", "z"])]).is_empty());
        assert!(warnings(&[table("a", &["x"])]).is_empty());
    }

    #[test]
    fn columns_counted_as_the_rows_are_say_nothing_where_rows_agree() {
        let counted = |name: &str| {
            let features = vec!["0".into(), "1".into()];
            Table { features, ..table(name, &["0", "1"]) }
        };
        assert!(warnings(&[counted("a"), counted("b")]).is_empty());
    }

    #[test]
    fn two_tables_of_genes_are_told_to_be_turned_by_the_one_of_samples() {
        let genes = |name: &str| {
            let features = vec!["p1".into(), "p2".into()];
            Table { features, ..table(name, &["brca1", "tp53"]) }
        };
        let lines = warnings(&[genes("rna"), genes("protein"), table("clinic", &["p1", "p2"])]);
        let [line] = <[String; 1]>::try_from(lines).unwrap();
        assert!(
            line.contains("the columns of rna.csv are named as the rows of clinic.csv"),
            "{line}"
        );
    }

    #[test]
    fn samples_in_columns_are_told_from_other_samples() {
        let mut genes = table("genes", &["brca1", "tp53", "egfr"]);
        genes.features = vec!["p1".into(), "p2".into()];
        let message = nothing_shared(&[genes, table("b", &["p1", "p2"])]);
        assert!(
            message.contains("the columns of genes.csv are named as the rows of b.csv"),
            "{message}"
        );
    }
}
