//! The pure crates stay pure, and `unsafe` stays where Linux and shared memory are.
//!
//! Comments, literals and test modules are not looked at.

use crate::code::{has_word, without_comments_and_literals, without_test_module};
use crate::finding::Finding;
use crate::layering::PURE;
use crate::sources::Source;

/// What would make the same events give other decisions, or reach the machine.
const IMPURE_WORDS: [&str; 14] = [
    "std::time",
    "std::fs",
    "std::thread",
    "std::env",
    "std::net",
    "std::process",
    "HashMap",
    "HashSet",
    "SystemTime",
    "Instant",
    "rand::",
    "thread_local",
    "println",
    "eprintln",
];
/// The same, as the items of `use std::{…}`.
const IMPURE_MODULES: [&str; 6] = ["time", "fs", "thread", "env", "net", "process"];
/// Endings of names that hold a time.
const TIME_ENDINGS: [&str; 6] = ["_ns", "_us", "_ms", "_s", "_secs", "_seconds"];
/// Whole names that hold a time.
const TIME_NAMES: [&str; 6] = ["now", "time", "deadline", "quantum", "grace", "duration"];
/// Rooms in which `unsafe` is allowed.
const UNSAFE_ROOMS: [&str; 3] = ["crates/host/", "crates/abi/", "crates/nanothreads/"];
/// Files outside those rooms in which it is allowed, and what for.
const UNSAFE_FILES: &[(&str, &str)] =
    &[("crates/numaestro/src/main.rs", "the C entry point, so that the program finds what the user's shell gave it")];

/// Looks at Rust files only.
pub fn check(source: &Source) -> Vec<Finding> {
    if source.extension() != "rs" {
        return Vec::new();
    }
    let code = without_comments_and_literals(&source.text);
    let mut findings = Vec::new();
    findings.extend(unsafe_outside(&source.path, &code));
    if is_of_pure_crate(&source.path) && !source.path.ends_with("/tests.rs") && !source.path.contains("/tests/") {
        findings.extend(impurities(&source.path, &without_test_module(&code)));
    }
    findings
}

/// Says whether a file is of a pure crate, wherever that stands.
fn is_of_pure_crate(path: &str) -> bool {
    let (_, inside) = path.split_once('/').unwrap_or_default();
    inside.split_once("/src/").is_some_and(|(name, _)| PURE.contains(&name))
}

fn unsafe_outside(path: &str, code: &str) -> Vec<Finding> {
    if UNSAFE_ROOMS.iter().any(|room| path.starts_with(room)) {
        return Vec::new();
    }
    let found: Vec<usize> =
        (1..).zip(code.lines()).filter(|(_, line)| has_word(line, "unsafe")).map(|(n, _)| n).collect();
    match UNSAFE_FILES.iter().any(|(allowed, _)| *allowed == path) {
        true if found.is_empty() => vec![Finding::new(path, 0, "no `unsafe` any more: take it off the list in xtask")],
        true => Vec::new(),
        false => {
            let what = "`unsafe` belongs into crates/host or crates/abi";
            found.into_iter().map(|line| Finding::new(path, line, what)).collect()
        }
    }
}

fn impurities(path: &str, code: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in code.lines().enumerate() {
        for word in IMPURE_WORDS.iter().filter(|word| has_word(line, word)) {
            findings.push(Finding::new(path, index + 1, format!("`{word}` in a pure crate")));
        }
        if let Some((_, items)) = line.split_once("std::{") {
            for module in IMPURE_MODULES.iter().filter(|module| has_word(items, module)) {
                findings.push(Finding::new(path, index + 1, format!("`std::{module}` in a pure crate")));
            }
        }
        if let Some(name) = float_time(line) {
            findings.push(Finding::new(path, index + 1, format!("`{name}: f64` holds a time: use whole nanoseconds")));
        }
    }
    findings
}

/// The name in `name: f64` if it is that of a time.
fn float_time(line: &str) -> Option<&str> {
    line.match_indices(": f64").find_map(|(end, _)| {
        let start = line[..end].rfind(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(0, |before| before + 1);
        let name = &line[start..end];
        let is_rate = name.split('_').any(|word| word == "per");
        let is_time = TIME_NAMES.contains(&name) || TIME_ENDINGS.iter().any(|ending| name.ends_with(ending));
        (is_time && !is_rate).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::source;

    fn found(path: &str, text: &str) -> usize {
        check(&source(path, text)).len()
    }

    const ENGINE: &str = "crates/engine/src/ledger.rs";

    #[test]
    fn impure_words_are_found_in_pure_crates_only() {
        assert_eq!(found(ENGINE, "let t = std::time::Instant::now();"), 2);
        assert_eq!(found(ENGINE, "use std::collections::HashMap;"), 1);
        assert_eq!(found("crates/contract/src/feed.rs", "use std::collections::HashMap;"), 1);
        assert_eq!(found(ENGINE, "use std::{fmt, fs, mem};"), 1);
        assert_eq!(found("lab/sim/src/world/mod.rs", "use std::collections::HashMap;"), 1);
        assert_eq!(found("crates/daemon/src/manager.rs", "let t = std::time::Instant::now();"), 0);
        assert_eq!(found("lab/cli/src/sim/mod.rs", "use std::collections::HashMap;"), 0);
    }

    #[test]
    fn every_pure_crate_is_where_the_check_looks() {
        let repository = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for name in super::PURE {
            let places = ["crates", "lab"].map(|group| format!("{group}/{name}/src/lib.rs"));
            let place = places.iter().find(|place| repository.join(place).exists()).expect(name);
            assert!(super::is_of_pure_crate(place), "{place}");
        }
    }

    #[test]
    fn comments_strings_and_tests_may_say_them() {
        assert_eq!(found(ENGINE, "// no std::time here\nlet a = \"HashMap\";"), 0);
        assert_eq!(found(ENGINE, "#[cfg(test)]\nmod tests {\n use std::collections::HashSet;\n}\n"), 0);
        assert_eq!(found("crates/engine/tests/properties.rs", "use std::env;"), 0);
    }

    #[test]
    fn a_time_is_not_a_float() {
        assert_eq!(found(ENGINE, "struct A { quantum_ns: f64 }"), 1);
        assert_eq!(found(ENGINE, "fn f(now: f64) {}"), 1);
        assert_eq!(found(ENGINE, "struct A { speedup: f64 }"), 0);
        assert_eq!(found(ENGINE, "struct A { refs_per_us: f64 }"), 0, "a rate");
    }

    #[test]
    fn unsafe_has_its_rooms() {
        assert_eq!(found("crates/daemon/src/manager.rs", "let x = unsafe { f() };"), 1);
        assert_eq!(found("crates/host/src/futex.rs", "let x = unsafe { f() };"), 0);
        assert_eq!(found("crates/daemon/src/lib.rs", "#![forbid(unsafe_code)]"), 0);
        assert_eq!(found("crates/numaestro/src/main.rs", "let x = unsafe { f() };"), 0);
        assert_eq!(found("crates/numaestro/src/main.rs", "let x = f();"), 1, "the list cannot rot");
    }
}
