//! `docs/PROMISES.md` and `docs/results.md`, written from `results/promises.toml`: what is promised
//! and whether it holds; what was measured, when and by which commit; why a promise does not hold.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::finding::Finding;

const DATA: &str = "results/promises.toml";
const PROMISES: &str = "docs/PROMISES.md";
const RESULTS: &str = "docs/results.md";
/// How most promises are shown; the table leaves it out.
const TESTS: &str = "cargo test --workspace --test ";
/// More is no overview (bytes).
const PROMISES_BYTES: usize = 12_288;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    section: Vec<Section>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    title: String,
    about: Option<String>,
    promise: Vec<Promise>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Promise {
    what: String,
    bound: String,
    command: String,
    held: Option<bool>,
    why: Option<String>,
    #[serde(default)]
    measured: Vec<Measured>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    value: String,
    commit: String,
    date: String,
    load: String,
}

/// Writes both documents.
pub fn write(root: &Path) -> Result<()> {
    let data = read(root)?;
    for (document, text) in [(PROMISES, promises(&data)), (RESULTS, results(&data))] {
        std::fs::write(root.join(document), text).with_context(|| format!("cannot write {document}"))?;
    }
    Ok(())
}

/// Checks that the documents are those that [`write()`] would write, that the promises are an
/// overview, that whatever does not hold has its cause, and that each command's tests and files are
/// there.
pub fn check(root: &Path) -> Result<Vec<Finding>> {
    let data = read(root)?;
    let mut findings = Vec::new();
    for (document, text) in [(PROMISES, promises(&data)), (RESULTS, results(&data))] {
        let message = format!("differs from {DATA}: run `cargo xtask promises`");
        findings.extend(Finding::of_written(root, document, &text, &message));
    }
    let size = promises(&data).len();
    if size > PROMISES_BYTES {
        findings.push(Finding::new(PROMISES, 1, format!("has {size} bytes, more than {PROMISES_BYTES}")));
    }
    for promise in data.section.iter().flat_map(|section| &section.promise) {
        if promise.held != Some(true) && promise.why.is_none() {
            findings.push(Finding::new(DATA, 1, format!("`{}` does not say why it is not held", promise.what)));
        }
        findings.extend(missing(root, &promise.command).map(|name| {
            Finding::new(DATA, 1, format!("`{}` is shown by `{name}`, which does not exist", promise.what))
        }));
    }
    Ok(findings)
}

/// Test targets and scripts of a command that are not in the project.
fn missing<'a>(root: &Path, command: &'a str) -> impl Iterator<Item = &'a str> {
    let words = || command.split_whitespace();
    let tests = words().zip(words().skip(1)).filter(|(option, _)| *option == "--test").map(|(_, name)| name);
    let tests = tests.filter(|name| !is_test(root, name));
    let is_script = |word: &&str| Path::new(word).extension().is_some_and(|end| end == "sh" || end == "py");
    let scripts = words().filter(is_script);
    tests.chain(scripts.filter(|path| !root.join(path).exists()).collect::<Vec<_>>())
}

fn is_test(root: &Path, name: &str) -> bool {
    let groups = ["crates", "lab"].map(|group| std::fs::read_dir(root.join(group)).into_iter().flatten().flatten());
    let packages = groups.into_iter().flatten();
    packages
        .map(|package| package.path().join("tests"))
        .any(|tests| tests.join(name).with_extension("rs").exists() || tests.join(name).join("main.rs").exists())
}

fn read(root: &Path) -> Result<Data> {
    let text = std::fs::read_to_string(root.join(DATA)).with_context(|| format!("cannot read {DATA}"))?;
    toml::from_str(&text).with_context(|| format!("{DATA} has a mistake"))
}

fn promises(data: &Data) -> String {
    let mut out = String::from(
        "# Promises\n\
         Ratios are of medians of interleaved runs, on 2 processors. *open*: not shown, or not decided. `--test X`: `cargo test --workspace --test X`.\n\
         [Numbers, and causes where a promise is not held](results.md) · [Limits](limits.md)\n",
    );
    for section in &data.section {
        begin(&mut out, section);
        out.push_str("| promise | bound | shown by | held |\n|---|---|---|---|\n");
        let mut former = "";
        for promise in &section.promise {
            let command = match promise.command.strip_prefix(TESTS) {
                _ if promise.command == former => "the same".to_owned(),
                Some(test) => format!("`--test {test}`"),
                None => format!("`{}`", promise.command),
            };
            former = &promise.command;
            let _ = writeln!(out, "| {} | {} | {} | {} |", promise.what, promise.bound, cell(&command), held(promise));
        }
    }
    out
}

fn results(data: &Data) -> String {
    let mut out = String::from(
        "# Results\n\
         What was measured of the [promises](PROMISES.md): on a virtual machine with 2 processors (Intel Xeon, Sapphire Rapids), Linux 6.18, gcc 12, clang 14, if\n\
         nothing else is said. The commit is the one that noted the value. Written from `results/promises.toml`, whose history has the values of before.\n",
    );
    for section in &data.section {
        begin(&mut out, section);
        out.push_str("| promise | bound | measured | by |\n|---|---|---|---|\n");
        for promise in section.promise.iter().filter(|promise| !promise.measured.is_empty()) {
            for (number, measured) in promise.measured.iter().enumerate() {
                let (what, bound) = if number == 0 { (&*promise.what, &*promise.bound) } else { ("", "") };
                let load = if measured.load.is_empty() { String::new() } else { format!(", {}", measured.load) };
                let _ = writeln!(
                    out,
                    "| {what} | {bound} | {} | {} {}{load} |",
                    cell(&measured.value),
                    measured.commit,
                    measured.date
                );
            }
        }
        let reasons: Vec<&Promise> = section.promise.iter().filter(|promise| promise.why.is_some()).collect();
        if !reasons.is_empty() {
            out.push('\n');
        }
        for promise in reasons {
            let said = match promise.held {
                Some(true) => "held",
                Some(false) => "**not held**",
                None => "open",
            };
            let _ = writeln!(out, "* {} ({said}): {}.", promise.what, promise.why.as_deref().unwrap_or_default());
        }
    }
    out
}

fn begin(out: &mut String, section: &Section) {
    let _ = writeln!(out, "\n## {}\n", section.title);
    if let Some(about) = &section.about {
        let _ = writeln!(out, "{about}\n");
    }
}

fn held(promise: &Promise) -> &'static str {
    match promise.held {
        Some(true) => "yes",
        Some(false) => "**no**",
        None => "open",
    }
}

/// Text within a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        [[section]]
        title = "Costs"

        [[section.promise]]
        what = "a"
        bound = "≤ 1"
        command = "x | y"
        held = true
        measured = [{ value = "0.5", commit = "abc", date = "2026-01-01", load = "quiet" }]

        [[section.promise]]
        what = "b"
        bound = "≤ 2"
        command = "x | y"
        held = false
        why = "too slow"
    "#;

    #[test]
    fn a_promise_has_its_row_and_what_is_not_held_its_cause() {
        let data: Data = toml::from_str(TEXT).unwrap();
        let promises = promises(&data);
        assert!(promises.contains("| a | ≤ 1 | `x \\| y` | yes |\n| b | ≤ 2 | the same | **no** |\n"), "{promises}");
        let results = results(&data);
        assert!(
            results.contains("| a | ≤ 1 | 0.5 | abc 2026-01-01, quiet |\n\n* b (**not held**): too slow.\n"),
            "{results}"
        );
    }

    #[test]
    fn a_promise_that_is_not_held_without_a_cause_is_a_finding() {
        let root = tempfile::tempdir().unwrap();
        for directory in ["results", "docs"] {
            std::fs::create_dir(root.path().join(directory)).unwrap();
        }
        std::fs::write(root.path().join(DATA), TEXT).unwrap();
        write(root.path()).unwrap();
        assert!(check(root.path()).unwrap().is_empty());
        std::fs::write(root.path().join(DATA), TEXT.replace("why = \"too slow\"", "")).unwrap();
        write(root.path()).unwrap();
        assert_eq!(check(root.path()).unwrap().len(), 1);
    }

    #[test]
    fn tests_and_scripts_of_a_command_have_to_exist() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("crates/a/tests/whole")).unwrap();
        std::fs::write(root.path().join("crates/a/tests/whole/main.rs"), "").unwrap();
        let missing = |command| super::missing(root.path(), command).collect::<Vec<_>>();
        assert_eq!(missing("cargo test --test whole --test gone"), ["gone"]);
        assert_eq!(missing("python3 lab/bench/none.py DIR"), ["lab/bench/none.py"]);
    }
}
