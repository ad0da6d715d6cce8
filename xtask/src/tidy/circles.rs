//! Finds circles among the modules of a crate. Modules in a circle can be read, tested and moved only together.
//!
//! Compares modules with the same parent, each with the modules below it. Tests may use any module.

use super::rust_code;
use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::path::PathBuf;
use std::str::Chars;

/// Path of a module or an item from the crate's root.
type Path = Vec<String>;

/// Returns the circles of one crate as lists of modules, from its files with their paths below `src`.
pub(super) fn circles(files: &[(PathBuf, String)]) -> Vec<Vec<String>> {
    let module = |path: &PathBuf| -> Path {
        let path = path.with_extension("");
        let parts = path.iter().map(|part| part.to_string_lossy().into_owned());
        parts.filter(|part| !matches!(part.as_str(), "lib" | "main" | "mod")).collect()
    };
    let modules: BTreeSet<Path> = files.iter().map(|(path, _)| module(path)).collect();
    let of_tests: Vec<Path> = files
        .iter()
        .flat_map(|(path, text)| test_modules(text).map(|name| [module(path), vec![name]].concat()))
        .collect();
    let mentions: Vec<(Path, Vec<Path>)> = files
        .iter()
        .map(|(path, text)| (module(path), text))
        .filter(|(module, _)| !of_tests.iter().any(|tests| module.starts_with(tests)))
        .map(|(module, text)| {
            let paths = named_paths(&without_tests(text), &module, &modules);
            (module, paths)
        })
        .collect();
    // A re-exported name may be defined in another module.
    let mut exports: BTreeMap<Path, &Path> = BTreeMap::new();
    for (module, path) in mentions.iter().flat_map(|(m, paths)| paths.iter().map(move |p| (m, p))) {
        if let Some(name) = path.last().filter(|_| path.len() > module.len() + 1) {
            exports.insert([&module[..], std::slice::from_ref(name)].concat(), path);
        }
    }
    let mut uses: BTreeMap<Path, BTreeSet<Path>> = BTreeMap::new();
    for (user, path) in mentions.iter().flat_map(|(m, paths)| paths.iter().map(move |p| (m, p))) {
        let used = home(path, &modules, &exports);
        let common = user.iter().zip(&used).take_while(|(a, b)| a == b).count();
        if common < user.len().min(used.len()) {
            uses.entry(user[..=common].to_vec()).or_default().insert(used[..=common].to_vec());
        }
    }
    rings(&uses)
}

/// Returns the module that defines the item of a path.
fn home(path: &Path, modules: &BTreeSet<Path>, exports: &BTreeMap<Path, &Path>) -> Path {
    let mut path = path.clone();
    // A name may be re-exported several times, but not in a loop.
    for _ in 0..8 {
        let within = (0..=path.len()).rev().find(|&n| modules.contains(&path[..n])).unwrap_or(0);
        let target = path.get(..=within).and_then(|name| exports.get(name));
        match target.filter(|target| !target.starts_with(&path[..=within])) {
            Some(target) => path = [&target[..], &path[within + 1..]].concat(),
            None => return path[..within].to_vec(),
        }
    }
    path
}

/// Returns groups of modules that all reach each other.
fn rings(uses: &BTreeMap<Path, BTreeSet<Path>>) -> Vec<Vec<String>> {
    let reach = |from: &Path| {
        let (mut seen, mut left) = (BTreeSet::new(), vec![from]);
        while let Some(at) = left.pop() {
            for next in uses.get(at).into_iter().flatten() {
                if seen.insert(next) {
                    left.push(next);
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&Path, BTreeSet<&Path>> =
        uses.keys().map(|module| (module, reach(module))).collect();
    let both = |a: &&Path, b: &Path| reached.get(*a).is_some_and(|there| there.contains(b));
    let ring = |(module, there): (&&Path, &BTreeSet<&Path>)| -> Vec<String> {
        there.iter().filter(|other| both(other, module)).map(|other| other.join("::")).collect()
    };
    let rings: BTreeSet<Vec<String>> = reached.iter().map(ring).collect();
    rings.into_iter().filter(|ring| ring.len() > 1).collect()
}

/// Returns the names of modules in files that contain only tests.
fn test_modules(text: &str) -> impl Iterator<Item = String> {
    let declared = text.split("#[cfg(test)]\n").skip(1);
    // Another condition may be in between.
    let declared = declared.filter_map(|rest| rest.lines().find(|line| !line.starts_with("#[")));
    declared.filter_map(|line| Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned()))
}

/// Returns a file up to its tests.
fn without_tests(text: &str) -> String {
    let end = ["mod tests", "pub(crate) mod tests", "pub(super) mod tests"]
        .iter()
        .filter_map(|tests| text.find(&format!("#[cfg(test)]\n{tests}")))
        .min();
    rust_code(&text[..end.unwrap_or(text.len())])
}

/// Returns the paths from the root in the code of a module, with groups in braces expanded.
fn named_paths(code: &str, module: &[String], modules: &BTreeSet<Path>) -> Vec<Path> {
    let mut paths = Vec::new();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    for (at, _) in code.match_indices("::") {
        let start = code[..at].rfind(|c| !is_word(c)).map_or(0, |i| i + 1);
        if code[..start].ends_with([':', '$']) {
            continue;
        }
        let (mut base, mut rest) = (module.to_vec(), &code[start..]);
        if let Some(after) = rest.strip_prefix("crate::") {
            (base, rest) = (Path::new(), after);
        } else if let Some(after) = rest.strip_prefix("self::") {
            rest = after;
        } else if rest.starts_with("super::") {
            while let Some(after) = rest.strip_prefix("super::") {
                base.pop();
                rest = after;
            }
        } else {
            // Otherwise a path belongs to this crate only if it begins with a module below this one.
            let child = [module, &[code[start..at].to_owned()]].concat();
            if !modules.contains(&child) {
                continue;
            }
        }
        parse_path(&mut rest.chars().peekable(), &base, &mut paths);
    }
    paths
}

/// Parses one path that follows `prefix`.
fn parse_path(text: &mut Peekable<Chars<'_>>, prefix: &[String], paths: &mut Vec<Path>) {
    let mut path = prefix.to_vec();
    let skip = |text: &mut Peekable<Chars<'_>>, what: fn(char) -> bool| {
        while text.next_if(|&c| what(c)).is_some() {}
    };
    loop {
        skip(text, char::is_whitespace);
        if text.next_if_eq(&'{').is_some() {
            skip(text, char::is_whitespace);
            while text.peek().is_some_and(|&c| c.is_alphanumeric() || "_{*".contains(c)) {
                parse_path(text, &path, paths);
                skip(text, |c| c == ',' || c.is_whitespace());
            }
            text.next();
            return;
        }
        let mut word = String::new();
        while let Some(c) = text.next_if(|&c| c.is_alphanumeric() || c == '_' || c == '*') {
            word.push(c);
        }
        // `{self}` names the module before the braces.
        if !word.is_empty() && word != "self" {
            path.push(word);
        }
        if text.next_if_eq(&':').is_none() {
            break;
        }
        text.next();
    }
    // The new name of `use x as y` is visible in this file only.
    skip(text, |c| c.is_alphanumeric() || c == '_' || c == ' ');
    paths.push(path);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let owned = |&(path, text): &(&str, &str)| (PathBuf::from(path), text.to_owned());
        circles(&files.iter().map(owned).collect::<Vec<_>>())
    }

    #[test]
    fn paths_are_expanded() {
        let code = "use crate::{a::{B, c::D}, e, f::G as H};\nlet x = super::i::j(1);\nuse std::k;";
        let module = ["m".to_owned(), "n".to_owned()];
        let paths = named_paths(code, &module, &BTreeSet::new());
        let paths: Vec<String> = paths.iter().map(|path| path.join("::")).collect();
        assert_eq!(paths, ["a::B", "a::c::D", "e", "f::G", "m::i::j"]);
    }

    #[test]
    fn a_ring_is_found_below_the_root_and_in_every_folder() {
        let ring = [
            ("lib", "pub use crate::b::Bird;\nmod a;\nmod b;\nmod c;"),
            ("a", "use crate::Bird;"),
            ("b", "use crate::c::C;"),
            ("c/mod", "// crate::d::D\nfn f() { crate::a::g() }"),
            ("d", "use crate::a::A;"),
        ];
        assert_eq!(circles_of(&ring), [["a", "b", "c"]]);
        let below = [
            ("a/mod", "mod x;\nmod y;\npub(super) use y::Yes;"),
            ("a/x", "use super::Yes;"),
            ("a/y/mod", "mod z;"),
            ("a/y/z", "use super::super::x::X;"),
        ];
        assert_eq!(circles_of(&below), [["a::x", "a::y"]]);
    }

    #[test]
    fn a_module_and_its_parent_or_its_tests_are_no_ring() {
        let none = [
            ("lib", "mod a;\nmod b;\n#[cfg(test)]\nmod golden;"),
            ("golden", "use crate::b::B;"),
            ("a/mod", "mod x;\nuse x::X;\nuse crate::b::B;"),
            ("a/x", "use super::A;"),
            ("b", "struct B;\n#[cfg(test)]\nmod tests {\n use crate::a::A;\n}"),
        ];
        assert!(circles_of(&none).is_empty());
    }
}
