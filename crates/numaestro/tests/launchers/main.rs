//! Whatever people put before a program: launchers, sandboxes, tracers, other preloaded libraries,
//! sanitizers. A program writes the same, byte for byte, and ends the same, with and without
//! numaestro, alone and several at once, beside another managed program that holds a processor.

#[path = "../support/mod.rs"]
mod support;

mod images;
mod table;

use images::Images;
use numaestro_skip::part;
use rustix::process::Signal;
use std::fmt::Write as _;
use std::process::Command;
use support::ended::{self, Ended, Running};
use support::manager::{Manager, NUMAESTRO, alone};
use support::programs::any;
use support::{eventually, has, is_root, number};
use table::{Kind, PARTS};

/// A program that is there all the time. It ends with the test.
struct Neighbour(Option<Running>);

impl Neighbour {
    fn of(manager: &Manager) -> Self {
        let running = ended::start(&mut manager.run_command([any("inside").as_str(), "100000"]));
        let attached = || manager.status().is_some_and(|s| s.apps.iter().any(|app| app.regions > 0));
        assert!(eventually(attached), "no neighbour");
        Self(Some(running))
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        if let Some(running) = self.0.take() {
            running.signal(Signal::KILL);
            let _ = running.end_within(support::hang());
        }
    }
}

fn outcome(ended: &Ended) -> (i32, &str, &str) {
    (ended.code(), &ended.stdout, &ended.stderr)
}

/// Why this kind cannot be tried here.
fn missing(kind: &Kind, images: &Images, words: &str) -> Option<String> {
    if let Some(tool) = kind.needs.split_whitespace().find(|tool| *tool != "root" && !has(tool)) {
        return Some(format!("{tool} is not here"));
    }
    if kind.needs.split_whitespace().any(|need| need == "root") && !is_root() {
        return Some("only root can do this".to_owned());
    }
    not_here(kind.outside).or_else(|| images.missing(words))
}

/// The loader complains of a library that it cannot preload in each program: in `numaestro` first,
/// and then in the one that it becomes.
fn not_here(outside: &str) -> Option<String> {
    let library = outside.strip_prefix("LD_PRELOAD=")?;
    let ended = ended::run(alone(["true"]).env("LD_PRELOAD", library));
    (!ended.stderr.is_empty()).then(|| format!("{library} is not here"))
}

/// Runs a part of the table, three copies at once; with `NUMAESTRO_LAUNCHER_COPIES=1` also one and
/// two. `NUMAESTRO_LAUNCHER` names the one kind that is wanted.
fn compare(part_of_table: usize) {
    let manager = Manager::started();
    let neighbour = Neighbour::of(&manager);
    let images = Images::new();
    let mut failures = String::new();
    let only = std::env::var("NUMAESTRO_LAUNCHER").unwrap_or_default();
    for kind in PARTS[part_of_table].iter().filter(|kind| only.is_empty() || kind.name == only) {
        let words = images.fill(kind.words);
        if let Some(reason) = missing(kind, &images, kind.words) {
            part(&format!("{}: {reason}", kind.name));
            continue;
        }
        let command = |with: bool| -> Command {
            let mut all: Vec<String> = if with { vec![NUMAESTRO.into(), "run".into(), "--".into()] } else { vec![] };
            all.extend(table::split(&words));
            let mut command = alone(all);
            command.env("NUMAESTRO_DIR", manager.dir()).current_dir(images.open());
            for entry in kind.outside.split_whitespace() {
                let (name, value) = entry.split_once('=').expect("an entry");
                command.env(name, value);
            }
            command
        };
        let bare = ended::run(&mut command(false));
        if bare.code() >= 124 {
            part(&format!("{}: it cannot do this without numaestro: {bare:?}", kind.name));
            continue;
        }
        let mut differ = String::new();
        let copies = if number("NUMAESTRO_LAUNCHER_COPIES", 0) > 0 { 1..=3 } else { 3..=3 };
        for running in copies.map(|n| (0..n).map(|_| ended::start(&mut command(true))).collect::<Vec<_>>()) {
            for ended in running.into_iter().map(Running::end) {
                if outcome(&ended) != outcome(&bare) {
                    let _ = writeln!(differ, "{}: {words}\n  alone {bare:?}\n  with  {ended:?}", kind.name);
                }
            }
        }
        // What differs from run to run says nothing.
        let again = if differ.is_empty() { None } else { Some(ended::run(&mut command(false))) };
        match again.filter(|again| outcome(again) != outcome(&bare)) {
            Some(again) => part(&format!("{}: it ends otherwise each time without numaestro: {again:?}", kind.name)),
            None => failures.push_str(&differ),
        }
    }
    drop(neighbour);
    assert!(failures.is_empty(), "{failures}");
    manager.expect_all_free();
}

#[test]
fn launchers() {
    compare(0);
}

#[test]
fn sandboxes_and_other_users() {
    compare(1);
}

#[test]
fn programs_that_start_programs() {
    compare(2);
}

#[test]
fn tracers_and_loaders() {
    compare(3);
}

#[test]
fn other_libraries_and_programs() {
    compare(4);
}
