//! Checks whether the ids of tables name the same samples, and advises what to do if few agree.

use crate::Table;
use crate::spelling::{escape_invisible, is_made_date, plain_spelling};
use std::collections::{HashMap, HashSet};

/// A table gets a warning if a smaller share of its ids occurs in other tables.
pub(crate) const MIN_SHARED_SHARE: f64 = 0.1;
/// Number of example ids per side in a message.
const SHOWN_IDS: usize = 2;
const SHOWN_PAIRS: usize = 8;
/// Shorter prefixes identify no sample.
const MIN_PREFIX_LENGTH: usize = 4;
/// Barcodes are not longer; the limit bounds the time for ids that are sequences.
const MAX_PREFIX_LENGTH: usize = 64;

/// A spelling of an id in which ids are compared.
type Form = fn(&str) -> String;

/// Returns a line for each table that shares few ids with the others, or whose ids differ from theirs in spelling only.
pub(crate) fn warnings(tables: &[Table]) -> Vec<String> {
    let overlaps = (0..tables.len()).filter_map(|t| IdOverlap::of(tables, t));
    let mut lines: Vec<(bool, String)> = overlaps.filter_map(|overlap| overlap.warning()).collect();
    // With two tables both lines report the same mismatch: keep the one with advice.
    if tables.len() == 2 {
        lines.sort_by_key(|(has_advice, _)| !has_advice);
        lines.truncate(1);
    }
    lines.into_iter().map(|(_, line)| line).collect()
}

/// Returns a line for each table whose ids would agree with the others if they were written like them.
pub(crate) fn spelled_otherwise(tables: &[Table]) -> Vec<String> {
    let overlaps = (0..tables.len()).filter_map(|t| IdOverlap::of(tables, t));
    let lines = overlaps.filter_map(|overlap| overlap.warning());
    lines.filter_map(|(has_advice, line)| has_advice.then_some(line)).collect()
}

/// Returns example ids of all tables and advice, for tables that share no id.
pub(crate) fn describe_disjoint_ids(tables: &[Table]) -> String {
    let examples: Vec<String> = tables
        .iter()
        .map(|table| format!("{} has {}", table.path.display(), examples(ids(table))))
        .collect();
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

    /// Returns the common prefix and suffix of all ids; with `whole_parts`, cut at separators.
    fn affixes(&self, whole_parts: bool) -> (&'a str, &'a str) {
        let Some(&first) = self.ids.first().filter(|_| self.ids.len() > 1) else { return ("", "") };
        let prefix = self.ids.iter().fold(first, |prefix, id| common_prefix(prefix, id));
        let suffix = self.ids.iter().fold(first, |suffix, id| common_suffix(suffix, id));
        if !whole_parts {
            return (prefix, suffix);
        }
        let is_separator = |c: char| !c.is_alphanumeric();
        let end = prefix.char_indices().rfind(|&(_, c)| is_separator(c));
        let prefix = &prefix[..end.map_or(0, |(at, c)| at + c.len_utf8())];
        (prefix, suffix.find(is_separator).map_or("", |at| &suffix[at..]))
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
        let others = || tables.iter().enumerate().filter(|&(o, _)| o != t);
        (all_named && tables.len() > 1).then(|| {
            Self::new(Side::of(&tables[t]), others().map(|(_, table)| Side::of(table)).collect())
        })
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
        let writing = || {
            let found = [self.spelling_advice(), self.date_advice()];
            Some(found.into_iter().flatten().collect::<Vec<_>>().join("; "))
        };
        turned
            .or_else(|| writing().filter(|found| !found.is_empty()))
            .or_else(|| if self.shares_few() { self.pattern_advice() } else { None })
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

    /// Returns a pattern that makes ids agree with other tables.
    fn pattern_advice(&self) -> Option<String> {
        self.prefix_advice()
            .or_else(|| self.cores_without_affixes(true))
            .or_else(|| self.cores_without_affixes(false))
    }

    /// Returns the prefix length that makes most ids agree with the others. Of equally good lengths it prefers one that
    /// ends at a separator, then the shortest.
    ///
    /// Returns `None` if two ids of one table would become equal, or fewer than half of its own ids are shared.
    fn prefix_advice(&self) -> Option<String> {
        let Self { own, others, .. } = self;
        let all = || others.iter().chain([own]).flat_map(|side| &side.ids);
        let ends = |length: usize| {
            all().all(|id| id.chars().nth(length).is_none_or(|next| !next.is_alphanumeric()))
        };
        let names = |side: &Side<'_>, length: usize| -> Option<HashSet<String>> {
            let names: HashSet<String> =
                side.ids.iter().map(|id| id.chars().take(length).collect()).collect();
            (names.len() == side.ids.len()).then_some(names)
        };
        let longest = own.ids.iter().map(|id| id.chars().count()).max()?;
        let candidate = |length: usize| {
            let own = names(own, length)?;
            let others: Option<Vec<_>> = others.iter().map(|side| names(side, length)).collect();
            let others = others?;
            let shared = own.iter().filter(|id| others.iter().any(|ids| ids.contains(*id))).count();
            Some((shared, ends(length), length))
        };
        // If the ids of one table are shorter, each may be a prefix of another table's id.
        let best = (MIN_PREFIX_LENGTH..=longest.min(MAX_PREFIX_LENGTH)).filter_map(candidate).rev();
        let (shared, _, length) = best.max_by_key(|&(shared, ends, _)| (shared, ends))?;
        let of = own.ids.len();
        (2 * shared >= of).then(|| {
            format!(
                "the first {length} characters are shared by {shared} of {of}: --id-pattern '^(.{{{length}}})'"
            )
        })
    }

    /// Returns the prefixes and suffixes that only some tables have.
    fn cores_without_affixes(&self, whole_parts: bool) -> Option<String> {
        let sides = || std::iter::once(&self.own).chain(&self.others);
        let (mut prefixes, mut suffixes): (Vec<&str>, Vec<&str>) =
            sides().map(|side| side.affixes(whole_parts)).unzip();
        // A part that all tables have belongs to the names.
        let end = prefixes.iter().fold(prefixes[0], |end, prefix| common_suffix(end, prefix)).len();
        let begin =
            suffixes.iter().fold(suffixes[0], |begin, suffix| common_prefix(begin, suffix)).len();
        prefixes.iter_mut().for_each(|prefix| *prefix = &prefix[..prefix.len() - end]);
        suffixes.iter_mut().for_each(|suffix| *suffix = &suffix[begin..]);
        let cores: Vec<HashSet<&str>> = sides()
            .zip(prefixes.iter().zip(&suffixes))
            .map(|(side, (prefix, suffix))| {
                let inner = |id: &&'a str| id.strip_prefix(*prefix)?.strip_suffix(*suffix);
                side.ids.iter().filter_map(inner).collect()
            })
            .collect();
        let shared = cores[0].iter().filter(|id| cores[1..].iter().any(|ids| ids.contains(*id)));
        let (shared, of) = (shared.count(), self.own.ids.len());
        let all_differ = sides().zip(&cores).all(|(side, cores)| side.ids.len() == cores.len());
        // `A01` and `B01` are two samples; `A01` and `01` may be one.
        let n_affixed = |affixes: &[&str]| affixes.iter().filter(|affix| !affix.is_empty()).count();
        let is_clear = whole_parts || (n_affixed(&prefixes) < 2 && n_affixed(&suffixes) < 2);
        if !all_differ || !is_clear || 2 * shared < of {
            return None;
        }
        let any_of = |affixes: &[&str]| {
            let there = affixes.iter().filter(|affix| !affix.is_empty());
            let there: Vec<String> = there.map(|affix| escaped(affix)).collect();
            if there.is_empty() { String::new() } else { format!("(?:{})?", there.join("|")) }
        };
        Some(format!(
            "without the common beginnings and ends of the ids of a file, {shared} of {of} are shared: --id-pattern '^{}(.*?){}$'",
            any_of(&prefixes),
            any_of(&suffixes)
        ))
    }

    /// Returns the ids that differ from others in spelling only. Two lanes may have the same barcode, so lanes are
    /// ignored only where that makes many ids agree.
    fn spelling_advice(&self) -> Option<String> {
        let least = MIN_SHARED_SHARE * self.own.ids.len() as f64;
        let forms: [(Form, f64); 3] = [(plain_spelling, 0.0), (without_copy, 0.0), (bare, least)];
        let pairs = forms.iter().find_map(|&(form, least)| {
            let pairs = self.same_form(form);
            (!pairs.is_empty() && pairs.len() as f64 >= least).then_some(pairs)
        })?;
        let shown = |(own, other): &(&str, &str)| {
            format!("`{}` and `{}`", escape_invisible(own), escape_invisible(other))
        };
        let first: Vec<String> = pairs.iter().take(SHOWN_PAIRS).map(shown).collect();
        let n_alike = pairs.len();
        Some(format!("{n_alike} more would agree if written alike, as {}", first.join(", ")))
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
        let is_date = |id: &&str| is_made_date(id);
        let all = || std::iter::once(&self.own).chain(&self.others);
        let of_side = |side: &Side<'a>| side.ids.iter().copied().filter(is_date).count();
        let mut with_dates = all().filter(|side| of_side(side) > 0);
        let (Some(side), None) = (with_dates.next(), with_dates.next()) else { return None };
        let elsewhere = all().filter(|other| !std::ptr::eq(*other, side));
        let elsewhere: HashSet<&str> =
            elsewhere.flat_map(|other| other.ids.iter().copied()).collect();
        let mut dates =
            side.ids.iter().copied().filter(|id| is_date(id) && !elsewhere.contains(id));
        let first = dates.next()?;
        Some(format!(
            "{} ids, such as `{first}`, look like days that a spreadsheet made of other ids: save the table again from its \
             source, with that column as text",
            1 + dates.count()
        ))
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

/// Returns the id without separators and without the lane number after a cell barcode.
fn bare(id: &str) -> String {
    let id = match id.rsplit_once('-') {
        Some((barcode, lane)) if barcode.len() >= 8 && lane.parse::<u8>().is_ok() => barcode,
        _ => id,
    };
    plain_spelling(id).replace('-', "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    fn table(name: &str, ids: &[&str]) -> Table {
        let values = Array2::zeros((ids.len(), 2));
        Table::with_ids(name, Some(ids.iter().map(|&id| id.into()).collect()), values)
    }

    #[test]
    fn ids_in_another_spelling_are_shown_with_their_number() {
        let [a, b, c] = [
            table("a", &["s1", "s2", "s3"]),
            table("b", &["s2", "s3"]),
            table("c", &["S1", "S2", "x"]),
        ];
        let lines = warnings(&[a, b, c]);
        assert_eq!(
            lines,
            [
                "a.csv: 1 more would agree if written alike, as `s1` and `S1`; as it is, they are other samples (1 of 3 ids are in no other file)",
                "c.csv: 3 of 3 ids cannot be joined with another file: it has `S1`, `S2`, the others have `s1`, `s2`; 2 more would agree if written alike, as `S1` and `s1`, `S2` and `s2`"
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
    fn barcodes_with_a_common_prefix_get_a_pattern() {
        let barcodes = |tail: &str, from: usize, n: usize| -> Vec<String> {
            (from..from + n).map(|i| format!("TCGA-OR-A5{i:02}-01A-{tail}")).collect()
        };
        let named = |name: &str, ids: &[String]| {
            table(name, &ids.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let (rna, protein) =
            (named("rna", &barcodes("11R-07", 0, 20)), named("protein", &barcodes("21-20", 3, 19)));
        let hint = "the first 12 characters are shared by 17 of 20: --id-pattern '^(.{12})'";
        let message = describe_disjoint_ids(&[rna.clone(), protein.clone()]);
        assert!(message.ends_with(hint), "{message}");
        assert!(warnings(&[rna.clone(), protein])[0].ends_with(hint));
        // Two rows of one patient cannot both be that patient.
        let twice = named("twice", &[barcodes("31-20", 0, 9), barcodes("21-20", 0, 9)].concat());
        assert!(!describe_disjoint_ids(&[rna, twice]).contains("--id-pattern"));
        assert!(
            !describe_disjoint_ids(&[table("a", &["xy1", "xy2"]), table("b", &["xz1", "xz2"])])
                .contains("first")
        );
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
        assert!(
            line.contains("the columns of rna.csv are named like the rows of clinic.csv"),
            "{line}"
        );
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
            assert!(
                advice.starts_with("1 more would agree") && advice.ends_with(&pair),
                "{advice}"
            );
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
        both(&short, &rna, "--id-pattern '^(?:lab_)?(.*?)(?:_rna\\.1)?$'");
        let (names, glued) = (ids(&|i| format!("A{i:03}b")), ids(&|i| format!("LabA{i:03}bRna")));
        both(&names, &glued, "--id-pattern '^(?:Lab)?(.*?)(?:Rna)?$'");
        let groups = [ids(&|i| format!("A{i:02}")), ids(&|i| format!("B{i:02}"))];
        assert_eq!(id_advice(&groups[0], &groups[1]), None);
        both(&ids(&|i| format!("{i}_prot")), &rna, "?$'");
    }
}
