//! Checks whether the ids of tables name the same samples, and advises what to do if few agree.

mod patterns;
mod repeats;

pub use repeats::advice_on_repeats;

use crate::Table;
use crate::spelling::{escape_invisible, is_made_date, plain_spelling};
use std::collections::{HashMap, HashSet};

/// A table gets a warning if a smaller share of its ids occurs in other tables.
pub(crate) const MIN_SHARED_SHARE: f64 = 0.1;
/// Number of example ids per side in a message.
const SHOWN_IDS: usize = 2;
const SHOWN_PAIRS: usize = 8;

/// A spelling of an id in which ids are compared.
type Form = fn(&str) -> String;

/// Returns a line for each table that shares few ids with the others, or whose ids differ from theirs in spelling only.
pub(crate) fn warnings(tables: &[Table]) -> Vec<String> {
    let lines = lines(tables).into_iter().map(|(_, line)| line);
    lines.chain(tables.iter().find_map(repeats::counted_twice)).collect()
}

/// Returns a line for each table whose ids would agree with the others if they were written like them.
pub(crate) fn spelled_otherwise(tables: &[Table]) -> Vec<String> {
    lines(tables).into_iter().filter_map(|(has_advice, line)| has_advice.then_some(line)).collect()
}

/// Returns the warnings, and whether each has advice.
fn lines(tables: &[Table]) -> Vec<(bool, String)> {
    let overlaps = (0..tables.len()).filter_map(|t| IdOverlap::of(tables, t));
    let mut lines: Vec<(bool, String)> = overlaps.filter_map(|overlap| overlap.warning()).collect();
    // With two tables both lines report the same mismatch: keep the one with advice.
    if tables.len() == 2 {
        lines.sort_by_key(|(has_advice, _)| !has_advice);
        lines.truncate(1);
    }
    lines
}

/// Returns example ids of all tables and advice, for tables that share no id.
pub(crate) fn describe_disjoint_ids(tables: &[Table]) -> String {
    let has = |table: &Table| format!("{} has {}", table.path.display(), examples(ids(table)));
    let examples: Vec<String> = tables.iter().map(has).collect();
    let hint = (0..tables.len()).find_map(|t| IdOverlap::of(tables, t)?.hint());
    format!("{}{}", examples.join(", "), hint.map_or(String::new(), |hint| format!("; {hint}")))
}

/// Returns advice that would make more of the ids `own` agree with `others`.
pub fn id_advice(own: &[String], others: &[String]) -> Option<String> {
    let side = |ids| Side { label: String::new(), ids, columns: &[] };
    let own = side(own.iter().map(String::as_str).collect());
    let other = side(others.iter().map(String::as_str).collect());
    IdOverlap::new(own, vec![other]).hint()
}

/// The ids of one table.
struct Side<'a> {
    label: String,
    ids: Vec<&'a str>,
    columns: &'a [String],
}

impl<'a> Side<'a> {
    fn of(table: &'a Table) -> Self {
        let label = table.path.display().to_string();
        Self { label, ids: ids(table).collect(), columns: &table.features }
    }

    /// Maps each form to its id, or to `None` if several ids have that form.
    fn by_form(&self, form: Form) -> HashMap<String, Option<&'a str>> {
        let mut of_form = HashMap::with_capacity(self.ids.len());
        for &id in &self.ids {
            of_form.entry(form(id)).and_modify(|one| *one = None).or_insert(Some(id));
        }
        of_form
    }
}

/// The ids of one table and of all others.
struct IdOverlap<'a> {
    own: Side<'a>,
    others: Vec<Side<'a>>,
    known: HashSet<&'a str>,
}

impl<'a> IdOverlap<'a> {
    /// Returns `None` if a table has no ids or there is only one table.
    fn of(tables: &'a [Table], t: usize) -> Option<Self> {
        let all_named = tables.iter().all(|table| table.ids.is_some());
        let mut sides: Vec<Side<'a>> = tables.iter().map(Side::of).collect();
        (all_named && tables.len() > 1).then(|| Self::new(sides.remove(t), sides))
    }

    fn new(own: Side<'a>, others: Vec<Side<'a>>) -> Self {
        let known = others.iter().flat_map(|other| other.ids.iter().copied()).collect();
        Self { own, others, known }
    }

    /// Returns the ids that no other table has.
    fn unshared(&self) -> impl Iterator<Item = &'a str> {
        self.own.ids.iter().copied().filter(|id| !self.known.contains(id))
    }

    /// Returns whether few ids occur in another table.
    fn shares_few(&self) -> bool {
        let n = self.own.ids.len();
        ((n - self.unshared().count()) as f64) < MIN_SHARED_SHARE * n as f64
    }

    /// Returns the warning, and whether it contains advice.
    fn warning(&self) -> Option<(bool, String)> {
        let hint = self.hint();
        if !self.shares_few() && hint.is_none() {
            return None;
        }
        let (n_unshared, n) = (self.unshared().count(), self.own.ids.len());
        if let (true, Some(hint)) = (2 * n_unshared <= n, &hint) {
            let label = &self.own.label;
            let line = format!(
                "{label}: {hint}; as it is, they are other samples ({n_unshared} of {n} ids are in no other file)"
            );
            return Some((true, line));
        }
        let own: HashSet<&str> = self.own.ids.iter().copied().collect();
        let others = self.others.iter().flat_map(|other| other.ids.iter().copied());
        let elsewhere = match examples(others.filter(|id| !own.contains(id))) {
            none if none.is_empty() => String::new(),
            some => format!(", the others have {some}"),
        };
        let has_advice = hint.is_some();
        let line = format!(
            "{}: {n_unshared} of {n} ids cannot be joined with another file: it has {}{elsewhere}{}",
            self.own.label,
            examples(self.unshared()),
            hint.map_or(String::new(), |hint| format!("; {hint}"))
        );
        Some((has_advice, line))
    }

    /// Returns advice that would make more ids agree.
    fn hint(&self) -> Option<String> {
        // Numbered columns look like numbered rows: a finding only if the rows do not agree.
        let turned = if self.shares_few() { self.samples_in_columns() } else { None };
        let (spelling, dates) = (self.spelling_advice(), self.date_advice());
        let n_alike = spelling.as_ref().map_or(0, |(n, _)| *n);
        let (n, n_unshared) = (self.own.ids.len(), self.unshared().count());
        let n_needed = if self.shares_few() {
            n_alike + 1
        } else {
            // A pattern has to join many of the ids, and most of those that are not shared.
            let few = (MIN_SHARED_SHARE * n as f64).ceil() as usize;
            n - n_unshared + few.max(n_unshared.div_ceil(2)).max(n_alike + 1)
        };
        let is_worth = dates.is_none() && n_needed <= n;
        let pattern = if is_worth { self.pattern_advice() } else { None };
        let pattern = pattern.filter(|(n_shared, _)| *n_shared >= n_needed);
        let pattern = pattern.map(|(_, advice)| advice);
        let written = || {
            let found = spelling.map(|(_, advice)| advice).into_iter().chain(dates);
            Some(found.collect::<Vec<_>>().join("; ")).filter(|found| !found.is_empty())
        };
        turned.or(pattern).or_else(written)
    }

    /// Checks whether the columns of one table are named like the rows of another.
    fn samples_in_columns(&self) -> Option<String> {
        let own = &self.own;
        let mut pairs = self.others.iter().flat_map(|other| [(own, other), (other, own)]);
        let (columns, rows) = pairs.find(|(columns, rows)| {
            let features: HashSet<&str> = columns.columns.iter().map(String::as_str).collect();
            let n_columns = rows.ids.iter().filter(|id| features.contains(*id)).count();
            n_columns > 1 && 2 * n_columns >= rows.ids.len()
        })?;
        Some(format!(
            "the columns of {} are named like the rows of {}: samples must be rows, so one of them needs --transposed FILE",
            columns.label, rows.label
        ))
    }

    /// Returns the number of ids that differ from others in spelling only, with advice.
    fn spelling_advice(&self) -> Option<(usize, String)> {
        let forms: [Form; 2] = [plain_spelling, without_copy];
        let found = forms.into_iter().map(|form| self.same_form(form));
        let pairs = found.into_iter().find(|pairs| !pairs.is_empty())?;
        let shown = |(own, other): &(&str, &str)| {
            format!("`{}` and `{}`", escape_invisible(own), escape_invisible(other))
        };
        let first: Vec<String> = pairs.iter().take(SHOWN_PAIRS).map(shown).collect();
        let n_alike = pairs.len();
        Some((
            n_alike,
            format!("{n_alike} more would agree if written alike, as {}", first.join(", ")),
        ))
    }

    /// Pairs each unshared id with the id of another table that has the same form.
    fn same_form(&self, form: Form) -> Vec<(&'a str, &'a str)> {
        if self.unshared().next().is_none() {
            return Vec::new();
        }
        let own = self.own.by_form(form);
        let mut known: HashMap<String, Option<&str>> = HashMap::new();
        for (form, id) in self.others.iter().flat_map(|other| other.by_form(form)) {
            let least = |one: &mut Option<&'a str>| *one = one.and_then(|one| Some(one.min(id?)));
            known.entry(form).and_modify(least).or_insert(id);
        }
        let pair = |id: &'a str| {
            let form = form(id);
            own[&form]?;
            Some((id, (*known.get(&form)?)?))
        };
        self.unshared().filter_map(pair).collect()
    }

    /// Finds ids that a program turned into dates, if only one table has dates as ids.
    fn date_advice(&self) -> Option<String> {
        let of_side = |side: &Side<'a>| -> Vec<&str> {
            side.ids.iter().copied().filter(|id| is_made_date(id)).collect()
        };
        let mut with_dates = self.sides().map(of_side).filter(|dates| !dates.is_empty());
        let (Some(dates), None) = (with_dates.next(), with_dates.next()) else { return None };
        Some(format!(
            "{} ids, such as `{}`, look like days that a spreadsheet made of other ids: save the table again from its \
             source, with that column as text",
            dates.len(),
            dates[0]
        ))
    }

    fn sides(&self) -> impl Iterator<Item = &Side<'a>> {
        std::iter::once(&self.own).chain(&self.others)
    }
}

/// Escapes a name for use in a regular expression.
pub(crate) fn escaped(affix: &str) -> String {
    let spelled =
        |c: char| if "\\.+*?()|[]{}^$".contains(c) { format!("\\{c}") } else { c.to_string() };
    affix.chars().map(spelled).collect()
}

fn ids(table: &Table) -> impl Iterator<Item = &str> {
    table.ids.iter().flatten().map(String::as_str)
}

/// Returns the first ids for a message.
fn examples<'a>(ids: impl Iterator<Item = &'a str>) -> String {
    ids.take(SHOWN_IDS).map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
}

pub(crate) fn common_prefix<'a>(one: &'a str, other: &str) -> &'a str {
    let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b);
    &one[..same.map(|(c, _)| c.len_utf8()).sum()]
}

fn common_suffix<'a>(one: &'a str, other: &str) -> &'a str {
    let same = one.chars().rev().zip(other.chars().rev()).take_while(|(a, b)| a == b);
    &one[one.len() - same.map(|(c, _)| c.len_utf8()).sum::<usize>()..]
}

/// Returns the plain spelling without the number that R appends to a repeated name.
fn without_copy(id: &str) -> String {
    plain_spelling(match id.rsplit_once('.') {
        Some((name, copy)) if !name.is_empty() && copy.parse::<u8>().is_ok() => name,
        _ => id,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    fn table(name: &str, ids: &[impl ToString]) -> Table {
        let values = Array2::zeros((ids.len(), 2));
        Table::with_ids(name, Some(ids.iter().map(ToString::to_string).collect()), values)
    }

    #[test]
    fn ids_in_another_spelling_are_shown_with_their_number() {
        let [a, b, c] = [
            table("a", &["s1", "s2", "s3"]),
            table("b", &["s2", "s3"]),
            table("c", &["S1", "S2", "x"]),
        ];
        let expected = [
            "a.csv: 1 more would agree if written alike, as `s1` and `S1`; as it is, they are other samples (1 of 3 ids are in no other file)",
            "c.csv: 3 of 3 ids cannot be joined with another file: it has `S1`, `S2`, the others have `s1`, `s2`; 2 more would agree if written alike, as `S1` and `s1`, `S2` and `s2`",
        ];
        assert_eq!(warnings(&[a, b, c]), expected);
        for (one, other) in [("0", "0.0"), ("P_01", "p01"), ("007", "7")] {
            let lines = warnings(&[table("a", &[one]), table("b", &[other])]);
            assert!(lines[0].contains(&format!("as `{one}` and `{other}`")), "{lines:?}");
        }
    }

    #[test]
    fn barcodes_with_a_common_prefix_get_a_pattern() {
        let barcodes = |tail: &str, from: usize, n: usize| -> Vec<String> {
            (from..from + n).map(|i| format!("TCGA-OR-A5{i:02}-01A-{tail}")).collect()
        };
        let rna = table("rna", &barcodes("11R-07", 0, 20));
        let protein = table("protein", &barcodes("21-20", 3, 19));
        let hint = "the first 12 characters are shared by 17 of 20: --id-pattern '^(.{12})'";
        let message = describe_disjoint_ids(&[rna.clone(), protein.clone()]);
        assert!(message.ends_with(hint), "{message}");
        assert!(warnings(&[rna.clone(), protein])[0].ends_with(hint));
        // Two rows of one patient cannot both be that patient.
        let twice = table("twice", &[barcodes("31-20", 0, 9), barcodes("21-20", 0, 9)].concat());
        assert!(!describe_disjoint_ids(&[rna, twice]).contains("--id-pattern"));
        let short = [table("a", &["xy1", "xy2"]), table("b", &["xz1", "xz2"])];
        assert!(!describe_disjoint_ids(&short).contains("first"));
    }

    #[test]
    fn ids_that_are_sequences_are_not_cut_at_every_length() {
        let sequences = |end: &str| -> Vec<String> {
            (0..200).map(|i| format!("{i:0100}{}", end.repeat(2900))).collect()
        };
        let (own, other) = (sequences("A"), sequences("C"));
        assert_eq!(id_advice(&own, &other), None);
    }

    #[test]
    fn tables_that_share_enough_ids_get_no_warning() {
        assert!(warnings(&[table("a", &["x", "y"]), table("b", &["y", "z"])]).is_empty());
        assert!(warnings(&[table("a", &["x"])]).is_empty());
        // Numbered columns look like numbered rows.
        let counted = |name: &str| {
            let features = vec!["0".into(), "1".into()];
            Table { features, ..table(name, &["0", "1"]) }
        };
        assert!(warnings(&[counted("a"), counted("b")]).is_empty());
    }

    #[test]
    fn samples_in_columns_are_reported_once() {
        let genes = |name: &str| {
            let features = vec!["p1".into(), "p2".into()];
            Table { features, ..table(name, &["brca1", "tp53"]) }
        };
        let lines = warnings(&[genes("rna"), genes("protein"), table("clinic", &["p1", "p2"])]);
        let [line] = <[String; 1]>::try_from(lines).unwrap();
        let expected = "the columns of rna.csv are named like the rows of clinic.csv";
        assert!(line.contains(expected), "{line}");
        let message = describe_disjoint_ids(&[genes("rna"), table("b", &["p1", "p2"])]);
        assert!(message.contains("the columns of rna.csv are named like the rows of b.csv"));
    }

    #[test]
    fn a_few_ids_in_another_spelling_are_reported_among_many_that_agree() {
        let ids = |change: &dyn Fn(usize) -> String| (0..60).map(change).collect::<Vec<_>>();
        let plain = |i: usize| format!("P{i:03}");
        let own = ids(&plain);
        for (place, other) in
            [(4, "P-004"), (7, "p007"), (9, "P009.0"), (8, "P\u{200b}008"), (3, "P003.1")]
        {
            let others = ids(&|i| if i == place { other.into() } else { plain(i) });
            let advice = id_advice(&own, &others).unwrap();
            let pair = format!("as `P{place:03}` and `{}`", escape_invisible(other));
            let is_right = advice.starts_with("1 more would agree") && advice.ends_with(&pair);
            assert!(is_right, "{advice}");
        }
        assert_eq!(id_advice(&own, &own[..50]), None, "a sample may be absent");
        // If one table has both spellings they are two samples, as are two lanes of a barcode that few share.
        let both = [&own[..], &["p004".into()]].concat();
        assert_eq!(id_advice(&both, &own), None);
        let lanes =
            |lane: usize| ids(&|i| if i == 5 { format!("AAACCCAAG-{lane}") } else { plain(i) });
        assert_eq!(id_advice(&lanes(1), &lanes(2)), None);
    }

    #[test]
    fn advice_does_not_depend_on_the_order_of_the_tables() {
        let ids = |name: &dyn Fn(usize) -> String| (1..30).map(name).collect::<Vec<_>>();
        let both = |one: &[String], other: &[String], expected: &str| {
            for (own, others) in [(one, other), (other, one)] {
                let advice = id_advice(own, others).unwrap_or_default();
                assert!(advice.contains(expected), "{advice}");
            }
        };
        let days = ids(&|i| if i < 20 { format!("{i:02}-Jan") } else { format!("13-{i}") });
        let names = ids(&|i| if i < 20 { format!("1-{i}") } else { format!("13-{i}") });
        both(&names, &days, "19 ids, such as `01-Jan`, look like days");
        let patients = ids(&|i| format!("TCGA-A0-1{i:03}"));
        let mixed = ids(&|i| format!("TCGA-A0-1{i:03}{}", if i < 3 { "" } else { "-01A-21" }));
        both(&patients, &mixed, "--id-pattern '^(.{12})'");
        let (short, rna) = (ids(&|i| format!("{i}")), ids(&|i| format!("lab_{i}_rna.1")));
        let barcodes = ids(&|i| format!("{i:010b}").replace('0', "A").replace('1', "C"));
        let lanes: Vec<String> = barcodes.iter().map(|barcode| format!("{barcode}-1")).collect();
        both(&barcodes, &lanes, "--id-pattern '^([^-]+)'");
        both(&short, &rna, "--id-pattern '^(?:lab_)?(.*?)(?:_rna\\.1)?$'");
        let (names, glued) = (ids(&|i| format!("A{i:03}b")), ids(&|i| format!("LabA{i:03}bRna")));
        both(&names, &glued, "--id-pattern '^(?:Lab)?(.*?)(?:Rna)?$'");
        let groups = [ids(&|i| format!("A{i:02}")), ids(&|i| format!("B{i:02}"))];
        assert_eq!(id_advice(&groups[0], &groups[1]), None);
        both(&ids(&|i| format!("{i}_prot")), &rna, "?$'");
    }
}
