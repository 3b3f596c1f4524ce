//! A policy in an hour, tried: `new-policy` writes one answer of each part into a copy of the
//! policy crate, and the guide's own example takes its place there. All of them compile without a
//! warning, pass conformance, run a small scenario, and decide about a real program under a real
//! manager.
//!
//! The copy is a workspace of its own below the target directory, in which the other crates are
//! links. It is kept, and only what has changed is written, so that the next run builds little.

mod live;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Part, and what the new answer is called.
const SAMPLES: [(&str, &str); 5] = [
    ("share", "sample-share"),
    ("placement", "sample-placement"),
    ("turns", "sample-turns"),
    ("pages", "sample-pages"),
    ("admission", "sample-admission"),
];
/// The guide's example.
const EXAMPLE: &str = "seniority";
const SCENARIO: &str = r#"
machine = "xeon-4"
seeds = 1

[[program]]
name = "mine"
processors = 3
phases = [{ do = "parallel", iterations = 10, work = "8 ms" }]

[workload]
kind = "list"
arrivals = [{ at = "0 ms", program = "mine", count = 2 }, { at = "5 ms", program = "mine" }]
"#;

#[test]
fn one_of_each_part_and_the_guides_example_compile_conform_and_run() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the repository");
    let guide = fs::read_to_string(repository.join("docs/guides/policy-authors.md")).expect("the guide");
    let tree = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("new-policy");
    let stage = tree.join("stage");
    write_policies(repository, &stage, &guide);
    lay_out(repository, &tree);
    sync(&stage.join("crates/policy"), &tree.join("crates/policy"));

    let formatted = cargo(&tree, &["fmt", "-p", "numaestro-policy", "--check"]);
    assert!(formatted.status.success(), "{}", said(&formatted));

    // The suites of conformance, and the tests in the new files.
    let tests = cargo(&tree, &["test", "-p", "numaestro-policy", "--lib", "--", "conform", "sample_", EXAMPLE]);
    let text = said(&tests);
    assert!(tests.status.success() && !text.contains("warning"), "{text}");
    for (part, name) in SAMPLES {
        let module = name.replace('-', "_");
        let line = format!("test {part}::{module}::tests::the_example_of_the_paper ... ok");
        assert!(text.contains(&line), "{line} is missing in {text}");
    }
    assert_eq!(text.matches("conformance::suites::every_").count(), SAMPLES.len(), "a suite for each part: {text}");
    let shown = tests_of(&guide);
    assert!(shown.len() >= 4, "the guide shows tests: {shown:?}");
    for test in shown {
        let line = format!("test share::{EXAMPLE}::tests::{test} ... ok");
        assert!(text.contains(&line), "the guide shows `{test}`, but not so: {text}");
    }

    let policies: Vec<String> = SAMPLES.iter().map(|(part, name)| format!("{part}={name}")).collect();
    let all = policies.join(" ");
    let policies: Vec<&str> = policies.iter().chain([&all]).map(String::as_str).collect();
    simulate(&tree, SCENARIO, &policies, &[]);
    let scenario = block(&guide, "toml");
    simulate(&tree, &scenario, &["share=seniority", "share=seniority(front=16)"], &["workload.jobs=20"]);
    manage(&tree, &[&policies[..], &["share=seniority(front=16)"]].concat());
}

/// Each policy decides about a real program under a manager that knows it from the copied tree.
fn manage(tree: &Path, policies: &[&str]) {
    let built = cargo(tree, &["build", "-p", "numaestro-daemon", "--example", "manager", "--example", "busy"]);
    assert!(built.status.success(), "{}", said(&built));
    let manager = live::Manager::start(&tree.join("target/debug/examples"), policies[0]);
    for policy in policies {
        manager.decides(policy);
    }
    manager.refuses("share=sample-nobody");
}

/// The policy crate with everything new, in `stage`.
fn write_policies(repository: &Path, stage: &Path, guide: &str) {
    let _ = fs::remove_dir_all(stage);
    sync(&repository.join("crates/policy"), &stage.join("crates/policy"));
    fs::create_dir_all(stage.join("docs")).expect("a directory");
    for (part, name) in SAMPLES.into_iter().chain([("share", EXAMPLE)]) {
        let written = xtask(stage, &["new-policy", part, name]);
        assert!(written.status.success(), "{}", said(&written));
    }
    let example = stage.join("crates/policy/src/share").join(EXAMPLE).with_extension("rs");
    fs::write(&example, rust_of(guide)).expect("writable");
    let written = xtask(stage, &["policies"]);
    assert!(written.status.success(), "{}", said(&written));
    let document = fs::read_to_string(stage.join("docs/policies.md")).expect("written");
    for (part, name) in SAMPLES {
        assert!(document.contains(&format!("### {part} {name}\n")), "{part} {name} has no chapter");
    }
}

/// The guide's blocks of Rust, one after another: the file that its reader has at the end.
fn rust_of(guide: &str) -> String {
    let blocks = guide.split("```rust\n").skip(1);
    let blocks: Vec<&str> = blocks.map(|rest| rest.split("\n```").next().unwrap_or_default()).collect();
    assert!(blocks.len() >= 3, "the guide shows header, code and tests");
    blocks.join("\n\n") + "\n"
}

/// The names of the tests in the guide's Rust.
fn tests_of(guide: &str) -> Vec<String> {
    let rust = rust_of(guide);
    let tests = rust.split("#[test]").skip(1).filter_map(|rest| rest.split_once("fn ")?.1.split_once('('));
    tests.map(|(name, _)| name.to_owned()).collect()
}

/// The first block of a language.
fn block(guide: &str, language: &str) -> String {
    let (_, rest) = guide.split_once(&format!("```{language}\n")).expect("the guide has such a block");
    rest.split("```").next().unwrap_or_default().to_owned()
}

/// A workspace of the crates that are needed.
fn lay_out(repository: &Path, tree: &Path) {
    let manifest = fs::read_to_string(repository.join("Cargo.toml")).expect("the workspace");
    let (head, rest) = manifest.split_once("members = [").expect("members");
    let (_, rest) = rest.split_once("[workspace.package]").expect("what all packages have");
    // The other crates are members because these need them.
    let members = "members = [\"crates/policy\", \"lab/sim\", \"crates/daemon\"]";
    // What is tried here is small, so compiling for speed would take longer than it saves; and
    // profiles name crates that are not in the copy.
    let (before, _) = rest.split_once("[profile.").expect("what is made fast");
    let manifest = format!("{head}{members}\n\n[workspace.package]{before}");
    write_if_new(&tree.join("Cargo.toml"), manifest.as_bytes());
    for name in ["rustfmt.toml", "clippy.toml"] {
        write_if_new(&tree.join(name), &fs::read(repository.join(name)).expect("readable"));
    }
    // Cargo drops from the copy what it does not need; so it is written once, and again when the
    // original changes.
    let lock = fs::read(repository.join("Cargo.lock")).expect("readable");
    if fs::read(tree.join("Cargo.lock.of")).ok().as_ref() != Some(&lock) {
        write_if_new(&tree.join("Cargo.lock"), &lock);
        write_if_new(&tree.join("Cargo.lock.of"), &lock);
    }
    for group in ["crates", "lab"] {
        fs::create_dir_all(tree.join(group)).expect("a directory");
        for entry in fs::read_dir(repository.join(group)).expect("the crates") {
            let entry = entry.expect("a crate");
            let link = tree.join(group).join(entry.file_name());
            if entry.file_name() != "policy" {
                let _ = fs::remove_file(&link);
                std::os::unix::fs::symlink(entry.path(), &link).expect("a link");
            }
        }
    }
}

/// Makes `to` what `from` is, and leaves files alone that are the same.
fn sync(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    let names = |of: &Path| -> Vec<std::ffi::OsString> {
        let entries = fs::read_dir(of).unwrap_or_else(|error| panic!("{}: {error}", of.display()));
        entries.map(|entry| entry.expect("an entry").file_name()).collect()
    };
    let wanted = names(from);
    for name in names(to).into_iter().filter(|name| !wanted.contains(name)) {
        let gone = to.join(name);
        let _ = if gone.is_dir() { fs::remove_dir_all(gone) } else { fs::remove_file(gone) };
    }
    for name in wanted {
        let (source, copy) = (from.join(&name), to.join(&name));
        if source.is_dir() {
            sync(&source, &copy);
        } else {
            write_if_new(&copy, &fs::read(&source).expect("readable"));
        }
    }
}

fn write_if_new(path: &Path, content: &[u8]) {
    if fs::read(path).ok().as_deref() != Some(content) {
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

/// Runs a scenario under each policy: everybody comes to an end.
fn simulate(tree: &Path, scenario: &str, policies: &[&str], changes: &[&str]) {
    let file = tree.join("scenario.toml");
    fs::write(&file, scenario).expect("writable");
    let file = file.display().to_string();
    let run = ["run", "-p", "numaestro-sim", "--example", "scenario", "--", &file];
    let output = cargo(tree, &[&run[..], policies, changes].concat());
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    for policy in policies {
        assert!(text.contains(&format!("{policy}: end ")), "{policy} did not run: {text}");
    }
}

fn xtask(root: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(words).env("CARGO_MANIFEST_DIR", root.join("xtask")).output().expect("xtask runs")
}

fn cargo(tree: &Path, words: &[&str]) -> Output {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(tree).args(words);
    command.env("CARGO_TARGET_DIR", tree.join("target")).env("CARGO_TERM_COLOR", "never").output().expect("cargo runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
