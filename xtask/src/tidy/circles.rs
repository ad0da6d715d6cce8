//! Circles among the parts of a crate: what uses each other in a ring can be read, tested and moved only together.
//!
//! A part is a module right below the crate's root, with its folder where it has one. Tests may look sideways.

use super::rust_code;
use std::collections::{BTreeMap, BTreeSet};

/// The circles of one crate, given its files below `src` as (path without `.rs`, text): the parts of each.
pub(super) fn circles(files: &[(String, String)]) -> Vec<Vec<String>> {
    let part = |path: &str| path.split('/').next().unwrap_or_default().to_owned();
    let is_root = |path: &str| matches!(path, "lib" | "main");
    let parts: BTreeSet<String> =
        files.iter().filter(|(path, _)| !is_root(path)).map(|(path, _)| part(path)).collect();
    // What the root shows under a name of its own lies in one of the parts.
    let mut shown: BTreeMap<String, String> = BTreeMap::new();
    for (_, text) in files.iter().filter(|(path, _)| is_root(path)) {
        for path in named_paths(&without_tests(text)) {
            if let (Some(first), Some(last)) = (path.first(), path.last())
                && parts.contains(first)
                && path.len() > 1
            {
                shown.insert(last.clone(), first.clone());
            }
        }
    }
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in files.iter().filter(|(path, _)| !is_root(path)) {
        let user = part(path);
        for named in named_paths(&without_tests(text)) {
            let Some(first) = named.first() else { continue };
            let used = if parts.contains(first) { Some(first) } else { shown.get(first) };
            if let Some(used) = used.filter(|&used| *used != user) {
                uses.entry(user.clone()).or_default().insert(used.clone());
            }
        }
    }
    rings(&parts, &uses)
}

/// Groups of more than one part in which everything leads to everything.
fn rings(parts: &BTreeSet<String>, uses: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reach = |from: &String| {
        let (mut seen, mut left) = (BTreeSet::new(), vec![from]);
        while let Some(at) = left.pop() {
            for next in uses.get(at).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    left.push(next);
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&String, BTreeSet<String>> =
        parts.iter().map(|part| (part, reach(part))).collect();
    let mut rings: BTreeSet<Vec<String>> = BTreeSet::new();
    for (&part, there) in &reached {
        let ring: Vec<String> =
            there.iter().filter(|other| reached[*other].contains(part)).cloned().collect();
        if ring.len() > 1 {
            rings.insert(ring);
        }
    }
    rings.into_iter().collect()
}

/// A file up to its tests.
fn without_tests(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let code = code.split("#[cfg(test)]\npub(crate) mod tests").next().unwrap_or_default();
    rust_code(code)
}

/// The paths after every `crate::`, groups in braces taken apart.
fn named_paths(code: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let before = code[..at].chars().next_back();
        if before.is_none_or(|c| !(c.is_alphanumeric() || c == '_' || c == '$')) {
            take(&mut code[at + "crate::".len()..].chars().peekable(), &[], &mut paths);
        }
    }
    paths
}

/// Reads one path, `prefix` being what stands before it.
fn take(
    text: &mut std::iter::Peekable<std::str::Chars<'_>>,
    prefix: &[String],
    paths: &mut Vec<Vec<String>>,
) {
    let mut path = prefix.to_vec();
    loop {
        while text.next_if(|c| c.is_whitespace()).is_some() {}
        if text.next_if_eq(&'{').is_some() {
            while text.peek().is_some_and(|&c| c != '}') {
                take(text, &path, paths);
                while text.next_if(|&c| c == ',' || c.is_whitespace()).is_some() {}
                if text.peek().is_some_and(|&c| !(c.is_alphanumeric() || "_{}*".contains(c))) {
                    break;
                }
            }
            text.next();
            return;
        }
        let mut word = String::new();
        while let Some(c) = text.next_if(|&c| c.is_alphanumeric() || c == '_' || c == '*') {
            word.push(c);
        }
        if !word.is_empty() {
            path.push(word);
        }
        if text.next_if_eq(&':').is_none() {
            break;
        }
        text.next();
    }
    // `use x as y` names y besides, which no other file can see.
    while text
        .peek()
        .is_some_and(|&c| c != ',' && c != '}' && c != ';' && (c.is_alphanumeric() || c == ' '))
    {
        text.next();
    }
    paths.push(path);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(files: &[(&str, &str)]) -> Vec<(String, String)> {
        files.iter().map(|&(path, text)| (path.to_owned(), text.to_owned())).collect()
    }

    #[test]
    fn paths_are_taken_apart() {
        let code = "use crate::{a::{B, c::D}, e, f::G as H};\nlet x = crate::i::j(1);";
        let paths: Vec<String> = named_paths(code).iter().map(|path| path.join("::")).collect();
        assert_eq!(paths, ["a::B", "a::c::D", "e", "f::G", "i::j"]);
    }

    #[test]
    fn a_ring_is_found_and_what_lies_in_one_folder_or_in_tests_is_none() {
        let ring = files(&[
            ("lib", "pub use crate::b::Bird;\nmod a;\nmod b;\nmod c;"),
            ("a", "use crate::Bird;"),
            ("b", "use crate::c::C;"),
            ("c/mod", "// crate::d::D\nfn f() { crate::a::g() }"),
            ("d", "use crate::a::A;"),
        ]);
        assert_eq!(circles(&ring), [["a", "b", "c"]]);
        let none = files(&[
            ("lib", "mod a;\nmod b;"),
            ("a/x", "use crate::a::y::Y;"),
            ("a/y", "use crate::a::x::X;\nuse crate::b::B;"),
            ("b", "struct B;\n#[cfg(test)]\nmod tests {\n use crate::a::A;\n}"),
        ]);
        assert!(circles(&none).is_empty());
    }
}
