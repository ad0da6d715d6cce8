//! Proposes a pattern that makes the ids of tables agree.

use super::repeats::SEPARATORS;
use super::{IdOverlap, Side, advice_on_repeats, common_prefix, common_suffix, escaped};
use std::collections::{HashMap, HashSet};

/// Shorter prefixes identify no sample.
const MIN_PREFIX_LENGTH: usize = 4;
/// Barcodes are not longer; the limit bounds the time for ids that are sequences.
const MAX_PREFIX_LENGTH: usize = 64;
/// Largest number of parts of a name that has separators itself.
const MAX_PARTS: usize = 3;

impl<'a> Side<'a> {
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

impl<'a> IdOverlap<'a> {
    /// Returns the pattern that makes most ids agree with other tables, and the number of ids that agree. Of equally
    /// good patterns it prefers the part before the first separator, then the shortest prefix.
    pub(super) fn pattern_advice(&self) -> Option<(usize, String)> {
        let parts = |n: usize| SEPARATORS.iter().filter_map(move |&c| self.parts_advice(c, n));
        let longest = self.own.ids.iter().map(|id| id.chars().count()).max()?;
        let lengths = MIN_PREFIX_LENGTH..=longest.min(MAX_PREFIX_LENGTH);
        let lengths = lengths.filter_map(|n| self.prefix_advice(n));
        let affixes = [true, false].into_iter().filter_map(|whole| self.affix_advice(whole));
        let all = parts(1).chain(lengths).chain((2..=MAX_PARTS).flat_map(parts)).chain(affixes);
        all.reduce(|best, next| if next.0 > best.0 { next } else { best })
    }

    /// Returns the number of names that the own ids share with others if each id is cut, the number of all own names, and
    /// the first two ids of one table that get the same name; returns `None` if fewer than half are shared.
    fn if_cut(
        &self,
        cut: impl Fn(&'a str) -> &'a str,
    ) -> Option<(usize, usize, Option<[&'a str; 2]>)> {
        let mut repeated = None;
        let mut names = |side: &Side<'a>| -> HashMap<&str, &str> {
            let mut first_of = HashMap::with_capacity(side.ids.len());
            for &id in &side.ids {
                let first = *first_of.entry(cut(id)).or_insert(id);
                if first != id {
                    repeated.get_or_insert([first, id]);
                }
            }
            first_of
        };
        let own = names(&self.own);
        let others: Vec<_> = self.others.iter().map(&mut names).collect();
        // A name of several ids, such as a study, is a sample only if it is an id in another table.
        let is_shared = |name: &&str| {
            let is_id = || own[name] == *name || self.known.contains(name);
            others.iter().any(|other| other.contains_key(name)) && (repeated.is_none() || is_id())
        };
        let (n_shared, n) = (own.keys().filter(|name| is_shared(name)).count(), own.len());
        (2 * n_shared >= n).then_some((n_shared, n, repeated))
    }

    /// Returns the pattern of the first `n` parts between separators.
    fn parts_advice(&self, separator: char, n: usize) -> Option<(usize, String)> {
        let begin = |id: &'a str| {
            let (at, _) = id.match_indices(separator).nth(n - 1)?;
            Some(&id[..at]).filter(|begin| begin.split(separator).all(|part| !part.is_empty()))
        };
        let (n_shared, of, repeated) = self.if_cut(|id| begin(id).unwrap_or(id))?;
        let repeats = match repeated {
            None => String::new(),
            Some(_) if n > 1 || !self.shares_few() => return None,
            Some([first, id]) => {
                let advice = advice_on_repeats(first, id, &self.own.ids);
                format!("; `{first}` and `{id}` are then one sample{advice}")
            }
        };
        let what = match n {
            1 => format!("the part before the first `{separator}` is"),
            _ => format!("the first {n} parts between `{separator}` are"),
        };
        let pattern = vec![format!("[^{separator}]+"); n].join(&escaped(&separator.to_string()));
        let shared = format!("{what} shared by {n_shared} of {of}");
        Some((n_shared, format!("{shared}: --id-pattern '^({pattern})'{repeats}")))
    }

    /// Returns the pattern of the first `length` characters. It must cut all longer ids alike and before a separator, a
    /// number or a word: `P1_rna` and `P11_rna` have no such length.
    fn prefix_advice(&self, length: usize) -> Option<(usize, String)> {
        let kind = |c: char| (c.is_alphabetic(), c.is_numeric());
        let around = |id: &&str| {
            let mut kinds = id.chars().skip(length - 1).map(kind);
            Some([kinds.next()?, kinds.next()?])
        };
        let ids = self.sides().flat_map(|side| &side.ids);
        let ends: HashSet<_> = ids.filter_map(around).collect();
        let is_end = |[last, next]: &[(bool, bool); 2]| last != next && *last != (false, false);
        let is_clean = ends.iter().all(is_end)
            && ends.iter().map(|[_, next]| next).collect::<HashSet<_>>().len() < 2;
        let cut = |id: &'a str| id.char_indices().nth(length).map_or(id, |(at, _)| &id[..at]);
        let (n_shared, of, repeated) = self.if_cut(cut)?;
        (is_clean && repeated.is_none()).then(|| {
            let shared = format!("the first {length} characters are shared by {n_shared} of {of}");
            (n_shared, format!("{shared}: --id-pattern '^(.{{{length}}})'"))
        })
    }

    /// Returns the pattern that leaves out the prefixes and suffixes that only some tables have.
    fn affix_advice(&self, whole_parts: bool) -> Option<(usize, String)> {
        let (mut prefixes, mut suffixes): (Vec<&str>, Vec<&str>) =
            self.sides().map(|side| side.affixes(whole_parts)).unzip();
        // A part that all tables have belongs to the names.
        let end = prefixes.iter().fold(prefixes[0], |end, prefix| common_suffix(end, prefix)).len();
        let begin =
            suffixes.iter().fold(suffixes[0], |begin, suffix| common_prefix(begin, suffix)).len();
        prefixes.iter_mut().for_each(|prefix| *prefix = &prefix[..prefix.len() - end]);
        suffixes.iter_mut().for_each(|suffix| *suffix = &suffix[begin..]);
        for affixes in [&mut prefixes, &mut suffixes] {
            affixes.retain(|affix| !affix.is_empty());
            // `A01` and `B01` are two samples; `A01` and `01` may be one.
            if !whole_parts && affixes.len() > 1 {
                return None;
            }
        }
        let cut = |id: &'a str| {
            let id = prefixes.iter().find_map(|prefix| id.strip_prefix(prefix)).unwrap_or(id);
            suffixes.iter().find_map(|suffix| id.strip_suffix(suffix)).unwrap_or(id)
        };
        let (n_shared, of, repeated) = self.if_cut(cut)?;
        let any_of = |affixes: &[&str]| {
            let any: Vec<String> = affixes.iter().map(|affix| escaped(affix)).collect();
            if any.is_empty() { String::new() } else { format!("(?:{})?", any.join("|")) }
        };
        let pattern = format!("^{}(.*?){}$", any_of(&prefixes), any_of(&suffixes));
        let what = "without the common beginnings and ends of the ids of a file";
        repeated.is_none().then(|| {
            (n_shared, format!("{what}, {n_shared} of {of} are shared: --id-pattern '{pattern}'"))
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{Replicates, SampleNames, id_advice};

    /// Checks the advice for ids `own` and `other` of 168 patients, and that 168 samples follow from its pattern.
    #[track_caller]
    fn proposes(own: &dyn Fn(usize) -> String, other: &dyn Fn(usize) -> String, expected: &str) {
        let ids = |name: &dyn Fn(usize) -> String| (1..=168).map(name).collect::<Vec<_>>();
        let [own, other] = [own, other].map(ids);
        for (own, other) in [(&own, &other), (&other, &own)] {
            let advice = id_advice(own, other).unwrap_or_default();
            assert!(advice.contains(expected), "{advice}");
            let pattern = advice.split('\'').nth(1).unwrap();
            let names = SampleNames::by_pattern(pattern, Replicates::Refuse).unwrap();
            let samples = own.iter().chain(other).map(|id| names.of(id));
            assert_eq!(samples.collect::<std::collections::HashSet<_>>().len(), 168);
        }
    }

    #[test]
    fn the_pattern_that_makes_most_ids_agree_is_proposed_without_cutting_numbers() {
        for c in ['_', '-', '.', ' '] {
            let of = |end: &'static str| move |i: usize| format!("P{i}{c}{end}{}", i % 7);
            let expected = format!("is shared by 168 of 168: --id-pattern '^([^{c}]+)'");
            proposes(&of("rna"), &of("prot"), &expected);
            proposes(&|i| format!("P{i}"), &of("rna"), &expected);
            let of = |end: &'static str| move |i: usize| format!("site{c}{i}{c}{end}{}", i % 7);
            proposes(&of("rna"), &of("prot"), "the first 2 parts between");
        }
        proposes(&|i| format!("P{i}_rna"), &|i| format!("P{i}_prot"), "'^([^_]+)'");
        proposes(&|i| format!("P{i:03}T1"), &|i| format!("P{i:03}N{i}"), "'^(.{4})'");
        let cut = |end: &str| (100..160).map(|i| format!("P{i}{end}{}", i % 7)).collect::<Vec<_>>();
        assert_eq!(id_advice(&cut("17"), &cut("28")), None, "the number goes on");
    }

    #[test]
    fn aliquots_of_some_samples_get_the_pattern_that_joins_them() {
        let ids = |end: &dyn Fn(usize) -> usize| {
            (0..90).map(|i| format!("P{i:03}-{}", end(i))).collect::<Vec<_>>()
        };
        let other = ids(&|i| 1 + usize::from(i % 5 < 2));
        let advice = id_advice(&ids(&|_| 1), &other).unwrap();
        assert!(advice.contains("shared by 90 of 90: --id-pattern '^([^-]+)'"), "{advice}");
        assert_eq!(id_advice(&ids(&|_| 1), &ids(&|i| 1 + usize::from(i < 5))), None, "few");
        let visits = [ids(&|_| 1), ids(&|_| 2)].concat();
        assert_eq!(id_advice(&visits, &visits[..100]), None, "two rows of one person");
    }

    #[test]
    fn visits_are_no_other_spelling_and_get_advice_on_repeats() {
        let ids = |name: &dyn Fn(usize) -> String| (0..60).map(name).collect::<Vec<_>>();
        let visits = |c: &str| ids(&|i| format!("P{:03}{c}{}", 1 + i / 2, 1 + i % 2));
        let patients = ids(&|i| format!("P{:03}", 1 + i));
        for c in ["_", "-", "."] {
            for (own, other) in [(&visits(c), &patients), (&patients, &visits(c))] {
                let advice = id_advice(own, other).unwrap();
                let expected = format!(
                    ": --id-pattern '^([^{c}]+)'; `P001{c}1` and `P001{c}2` are then one sample, and differ in `1` and \
                     `2`: choose with --replicates first or mean"
                );
                assert!(advice.ends_with(&expected), "{advice}");
            }
        }
        // A study is no sample.
        let of_study = |end: &str| ids(&|i| format!("study_{i}{end}{}", i * 7 % 60));
        assert_eq!(id_advice(&of_study("x"), &of_study("y")), None);
    }
}
