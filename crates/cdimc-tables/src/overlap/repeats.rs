//! Advice about several rows of one sample.

use super::{common_prefix, escaped};

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
    let Some((place, a, b)) = place.and_then(|at| Some((at, part(first, at)?, part(second, at)?)))
    else {
        return format!(": {repeats}");
    };
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
