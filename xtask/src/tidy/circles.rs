//! Finds circles of files: a file that uses another one, from which paths lead back to it.
//!
//! A module and the files below it are one room, because they may open each other's private fields.
//! So the check compares, at every level of a crate's tree of modules, the modules beside each
//! other, each with all files below it. A file uses the modules to which its paths lead that begin
//! with `crate::` or `super::`. The check does not look at comments, literals and tests.

use std::collections::{BTreeMap, BTreeSet};

use crate::code::{without_comments_and_literals, without_test_module};
use crate::finding::Finding;
use crate::sources::Source;

/// Crates that the check looks at; `nanothreads` still has circles.
const CRATES: [&str; 16] = [
    "crates/abi/src/",
    "crates/contract/src/",
    "crates/daemon/src/",
    "crates/engine/src/",
    "crates/host/src/",
    "crates/kit/src/",
    "crates/manager/src/",
    "crates/numaestro/src/",
    "crates/policy/src/",
    "crates/quantity/src/",
    "crates/recording/src/",
    "lab/sim/src/",
    "crates/topology/src/",
    "lab/cli/src/",
    "lab/repro/",
    "xtask/src/",
];
/// A module: its names from the root of the crate on.
type Module = Vec<String>;

/// Looks at all files of the crates.
pub fn check(sources: &[Source]) -> Vec<Finding> {
    CRATES.iter().flat_map(|root| check_crate(sources, root)).collect()
}

fn check_crate(sources: &[Source], root: &str) -> Vec<Finding> {
    let mut files: BTreeMap<Module, &Source> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.extension() == "rs") {
        if let Some(module) = source.path.strip_prefix(root).and_then(module_of) {
            files.insert(module, source);
        }
    }
    let tests: Vec<Module> = files.iter().flat_map(|(module, source)| test_modules(module, &source.text)).collect();
    files.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
    let mut findings = Vec::new();
    for (level, uses) in &uses_by_level(&files) {
        for circle in circles(uses) {
            let below = |name: &String| level.iter().chain([name]).cloned().collect::<Module>();
            let names: Vec<String> = circle.iter().map(|name| below(name).join("::")).collect();
            let path = files.get(&below(&circle[0])).map_or(root, |source| source.path.as_str());
            findings.push(Finding::new(path, 0, format!("modules use each other in a circle: {}", names.join(" → "))));
        }
    }
    findings
}

/// The modules of other files that a module declares for tests only.
fn test_modules(module: &Module, text: &str) -> Vec<Module> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let declared = |two: &[&str]| {
        let (_, name) = two[1].strip_suffix(';').filter(|_| two[0] == "#[cfg(test)]")?.split_once("mod ")?;
        Some(module.iter().cloned().chain([name.to_owned()]).collect())
    };
    lines.windows(2).filter_map(declared).collect()
}

/// The module of a file below `src/`; `None` for tests.
fn module_of(path: &str) -> Option<Module> {
    let mut module: Module = path.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
    let last = module.last()?.clone();
    if last == "tests" || last.ends_with("_tests") || module.iter().any(|name| name == "tests") {
        return None;
    }
    if ["mod", "lib", "main"].contains(&last.as_str()) {
        module.pop();
    }
    Some(module)
}

/// The uses of every module with others below it: for each of those, the ones that it uses.
fn uses_by_level(files: &BTreeMap<Module, &Source>) -> BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> {
    let mut levels: BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (module, source) in files {
        let code = without_test_module(&without_comments_and_literals(&source.text));
        for used in used_paths(&code, module) {
            // The longest part of the path that is a file.
            let Some(target) =
                (0..=used.len()).rev().map(|length| &used[..length]).find(|part| files.contains_key(*part))
            else {
                continue;
            };
            let same = module.iter().zip(target).take_while(|(one, other)| one == other).count();
            if let (Some(from), Some(to)) = (module.get(same), target.get(same)) {
                levels.entry(module[..same].to_vec()).or_default().entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    levels
}

/// Every path in the code of a module that begins with `crate` or `super`, from the root of the
/// crate on.
fn used_paths(code: &str, module: &Module) -> Vec<Module> {
    let words = words(code);
    let mut paths = Vec::new();
    for at in 0..words.len() {
        let begins = at == 0 || words[at - 1] != "::";
        if begins && ["crate", "super"].contains(&words[at]) && words.get(at + 1) == Some(&"::") {
            let mut base = module.clone();
            let mut next = at;
            if words[at] == "crate" {
                base.clear();
                next += 2;
            }
            while words.get(next) == Some(&"super") && words.get(next + 1) == Some(&"::") {
                base.pop();
                next += 2;
            }
            follow(&words, next, &base, &mut paths);
        }
    }
    paths
}

/// Adds the path, or the tree of paths in braces, that goes on from `base` at a word; gives the
/// word after it.
fn follow(words: &[&str], mut at: usize, base: &[String], paths: &mut Vec<Module>) -> usize {
    if words.get(at) == Some(&"{") {
        at += 1;
        while at < words.len() && words[at] != "}" {
            at = follow(words, at, base, paths).max(at + 1);
        }
        return at + 1;
    }
    let mut path = base.to_vec();
    while let Some(word) = words.get(at).filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_')) {
        path.push((*word).to_owned());
        at += 1;
        if words.get(at) != Some(&"::") {
            break;
        }
        at += 1;
        if words.get(at) == Some(&"{") {
            return follow(words, at, &path, paths);
        }
    }
    paths.push(path);
    at
}

/// Names, `::`, and every other mark that is no space.
fn words(code: &str) -> Vec<&str> {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = match first {
            first if part_of_name(first) => rest.find(|c| !part_of_name(c)).unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            other => other.len_utf8(),
        };
        words.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    words
}

/// Circles among these: for every set of names that lead to each other, one way around.
fn circles(uses: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = Vec::new();
    for from in uses.keys() {
        if found.iter().flatten().all(|name| name != from) {
            found.extend(way_back(uses, from));
        }
    }
    found
}

/// The shortest way from a name back to itself.
fn way_back(uses: &BTreeMap<String, BTreeSet<String>>, start: &String) -> Option<Vec<String>> {
    let mut came_from: BTreeMap<&String, &String> = BTreeMap::new();
    let mut line = std::collections::VecDeque::from([start]);
    while let Some(at) = line.pop_front() {
        for next in uses.get(at).into_iter().flatten() {
            if next == start {
                let mut way = vec![at.clone()];
                let mut step = at;
                while let Some(before) = came_from.get(step) {
                    way.push((*before).clone());
                    step = before;
                }
                way.reverse();
                way.push(start.clone());
                return Some(way);
            }
            if !came_from.contains_key(next) {
                came_from.insert(next, at);
                line.push_back(next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> = files.iter().map(|(path, text)| source(&format!("c/{path}"), text)).collect();
        check_crate(&sources, "c/").into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn files_that_use_each_other_are_found() {
        let what = found(&[
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use crate::{c::C, d};"),
            ("c.rs", "fn f() { crate::a::f() }"),
        ]);
        assert_eq!(what, ["modules use each other in a circle: a → b → c → a"]);
        assert!(found(&[("a.rs", "use crate::b::B;"), ("b.rs", "use crate::c::{D, e::F};"), ("c.rs", "")]).is_empty());
        assert_eq!(found(&[("m/a.rs", "use super::b::B;"), ("m/b.rs", "use super::a::A;"), ("m.rs", "")]).len(), 1);
    }

    #[test]
    fn a_module_and_what_is_below_it_are_one_room() {
        assert!(found(&[("a.rs", "use crate::a::b::B;"), ("a/b.rs", "use super::A;")]).is_empty());
        // The circle goes through a file below.
        let what = found(&[("a.rs", ""), ("a/b.rs", "use crate::c::C;"), ("c.rs", "use crate::a::A;")]);
        assert_eq!(what, ["modules use each other in a circle: a → c → a"]);
    }

    #[test]
    fn tests_comments_and_texts_do_not_count() {
        let tests = "use crate::b::B;\n#[cfg(test)]\nmod tests {\n    use crate::c::C;\n}\n";
        assert!(found(&[("a.rs", tests), ("b.rs", "// crate::a\n"), ("c.rs", "use crate::a::A;")]).is_empty());
        assert!(found(&[("a.rs", "use crate::b::B;"), ("b.rs", ""), ("b/tests.rs", "use crate::a::A;")]).is_empty());
    }

    #[test]
    fn modules_declared_for_tests_do_not_count() {
        let files = |attribute: &str| {
            let root = format!("{attribute}\npub mod b;\n");
            let below = [("b.rs", "use crate::a::A;"), ("b/c.rs", "use crate::a::A;"), ("a.rs", "use crate::b::B;")];
            found(&[&[("lib.rs", root.as_str())], &below[..]].concat()).len()
        };
        assert_eq!((files("#[cfg(test)]"), files("#[cfg(unix)]")), (0, 1));
    }
}
