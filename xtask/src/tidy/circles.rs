//! Finds circles among the modules of a crate. Modules in a circle can be read, tested and moved only together.
//!
//! Compares modules with the same parent, each with the modules below it. Tests may use any module.

use super::rust_code;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

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
    let mut mentions: Vec<(Path, Path)> = Vec::new();
    for (path, text) in files {
        let module = module(path);
        if !of_tests.iter().any(|tests| module.starts_with(tests)) {
            let paths = named_paths(&without_tests(text), &module, &modules);
            mentions.extend(paths.into_iter().map(|path| (module.clone(), path)));
        }
    }
    // A re-exported name may be defined in another module.
    let mut exports: BTreeMap<Path, &Path> = BTreeMap::new();
    for (module, path) in &mentions {
        if let Some(name) = path.last().filter(|_| path.len() > module.len() + 1) {
            exports.insert([&module[..], std::slice::from_ref(name)].concat(), path);
        }
    }
    let mut uses: BTreeMap<Path, BTreeSet<Path>> = BTreeMap::new();
    for (user, path) in &mentions {
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

/// Returns the paths from the root in the code of a module.
fn named_paths(code: &str, module: &[String], modules: &BTreeSet<Path>) -> Vec<Path> {
    let is_path = |c: char| c.is_alphanumeric() || "_:*$".contains(c);
    let code = without_groups(code);
    let named = code.split(|c| !is_path(c)).filter(|word| word.contains("::"));
    let from_root = |path: &str| -> Option<Path> {
        let mut parts = path.split("::").filter(|part| !part.is_empty()).peekable();
        let mut base = module.to_vec();
        if parts.next_if_eq(&"crate").is_some() {
            base.clear();
        } else if parts.peek() == Some(&"super") {
            while parts.next_if_eq(&"super").is_some() {
                base.pop();
            }
        } else if parts.next_if_eq(&"self").is_none() {
            // Otherwise a path belongs to this crate only if it begins with a module below this one.
            let child = [module, &[(*parts.peek()?).to_owned()]].concat();
            modules.contains(&child).then_some(())?;
        }
        base.extend(parts.map(str::to_owned));
        Some(base)
    };
    named.filter_map(from_root).collect()
}

/// Writes groups in braces out: `a::{b, c::D}` becomes `a::b, a::c::D`.
fn without_groups(code: &str) -> String {
    let mut code = code.to_owned();
    // The last group that opens has no other in it.
    while let Some(open) = code.rfind("::{") {
        let Some(length) = code[open..].find('}') else { break };
        let is_path = |c: char| c.is_alphanumeric() || "_:$".contains(c);
        let start = code[..open].rfind(|c| !is_path(c)).map_or(0, |at| at + 1);
        let prefix = &code[start..open];
        let items = code[open + 3..open + length].split(',').map(str::trim);
        let path = |item: &str| match item {
            // `{self}` names the module before the braces.
            "self" => prefix.to_owned(),
            item => format!("{prefix}::{item}"),
        };
        let paths: Vec<String> = items.filter(|item| !item.is_empty()).map(path).collect();
        code.replace_range(start..=open + length, &paths.join(", "));
    }
    code
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
