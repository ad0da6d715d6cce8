//! Whether the ids of tables name the same samples, and what to say where they hardly do.

use crate::Table;
use std::collections::HashSet;

/// A table gets a warning if less than this share of its ids occurs in others.
const FEW: f64 = 0.1;
/// How many ids are shown of each side.
const SHOWN: usize = 2;

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

    fn warning(&self) -> Option<String> {
        let n = ids(self.table).count();
        let n_shared = ids(self.table).filter(|id| self.known.contains(id)).count();
        let hint = self.hint();
        if n_shared as f64 >= FEW * n as f64 && hint.is_none() {
            return None;
        }
        let alone = || ids(self.table).filter(|id| !self.known.contains(id));
        let own: HashSet<&str> = ids(self.table).collect();
        let elsewhere =
            self.others.iter().flat_map(|table| ids(table)).filter(|id| !own.contains(id));
        let elsewhere = match examples(elsewhere) {
            none if none.is_empty() => String::new(),
            some => format!(", the others have {some}"),
        };
        Some(format!(
            "{}: {} of {n} ids are in no other file: it has {}{elsewhere}{}",
            self.table.path.display(),
            n - n_shared,
            examples(alone()),
            hint.map_or(String::new(), |hint| format!("; {hint}"))
        ))
    }

    /// What would make more ids agree.
    fn hint(&self) -> Option<String> {
        let n = ids(self.table).count();
        let features: HashSet<&str> = self.table.features.iter().map(String::as_str).collect();
        for other in &self.others {
            let n_columns = ids(other).filter(|id| features.contains(id)).count();
            if n_columns > 1 && 2 * n_columns >= ids(other).count() {
                return Some(format!(
                    "the columns of {} are named as the rows of {}: samples must be rows, so one of \
                     them needs --transposed FILE",
                    self.table.path.display(),
                    other.path.display()
                ));
            }
        }
        let known: HashSet<String> = self.known.iter().map(|id| bare(id)).collect();
        let is_known = |id: &&str| self.known.contains(id);
        let n_bare =
            ids(self.table).filter(|id| !is_known(id) && known.contains(&bare(id))).count();
        let (own, other) = ids(self.table).filter(|id| !is_known(id)).find_map(|id| {
            let other = self.known.iter().filter(|other| bare(other) == bare(id)).min()?;
            Some((id, *other))
        })?;
        (n_bare as f64 >= FEW * n as f64).then(|| {
            format!("{n_bare} more would agree if written alike, as `{own}` and `{other}`")
        })
    }
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
            values: Array2::zeros((ids.len(), 2)),
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
    fn tables_that_share_a_fair_part_are_left_in_peace() {
        assert!(warnings(&[table("a", &["x", "y"]), table("b", &["y", "z"])]).is_empty());
        assert!(warnings(&[table("a", &["x"])]).is_empty());
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
