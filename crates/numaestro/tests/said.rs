//! What `run --dry-run` says of teams and libraries is what happens to them.

mod support;

use numaestro_skip::skip;
use std::process::Command;
use support::ended;
use support::manager::Manager;
use support::programs::{any, python, source};
use support::{eventually, has, processors, turn};

/// The lines of a kind that `run --dry-run` prints for these options and variables.
fn said(manager: &Manager, options: &[&str], variables: &[(&str, &str)], kind: &str, program: &[&str]) -> Vec<String> {
    let words = ["run", "--dry-run"].iter().chain(options).chain(&["--"]).chain(program);
    let output = ended::run(manager.command(words).envs(variables.iter().copied()));
    assert!(output.status.success(), "{}", output.stderr);
    output.stdout.lines().filter_map(|line| line.strip_prefix(kind)).map(|line| line.trim().to_owned()).collect()
}

fn on_one(manager: &Manager, options: &[&str], variables: &[(&str, &str)], program: &[&str]) -> Command {
    let words = ["run", "--max", "1"].iter().chain(options).chain(&["--"]).chain(program);
    let mut command = manager.command(words);
    command.envs(variables.iter().copied());
    command
}

/// Two threads for one processor.
#[test]
fn teams_keep_their_size_or_follow_as_it_says() {
    let _turn = turn();
    if processors() == 1 {
        skip!("one processor only");
    }
    let manager = Manager::started();
    let inside = any("inside");
    let malleable = ["--class", "malleable"];
    let cases: [(&[&str], Option<&str>, bool); 7] = [
        (&[], None, false),
        (&["--class", "auto"], Some("false"), false),
        (&["--class", "setter"], None, false),
        (&["--class", "fold"], None, false),
        (&malleable, None, true),
        (&malleable, Some("false"), false),
        (&[], Some("true"), true),
    ];
    for (options, dynamic, follows) in cases {
        let case = format!("{options:?}, OMP_DYNAMIC {dynamic:?}");
        let mut variables = vec![("OMP_NUM_THREADS", "2")];
        variables.extend(dynamic.map(|value| ("OMP_DYNAMIC", value)));
        let teams = said(&manager, options, &variables, "teams", &[&inside]);
        assert_eq!(teams.len(), 1, "{case}: {teams:?}");
        let (keep, follow) = (teams[0].starts_with("keep their size"), teams[0].starts_with("follow the processors"));
        assert_eq!((keep, follow), (!follows, follows), "{case}: {teams:?}");
        let ended = ended::run(&mut on_one(&manager, options, &variables, &[&inside, "0.5"]));
        let of = |wanted: u32| ended.sizes().iter().filter(|(size, _)| *size == wanted).map(|(_, n)| n).sum::<u64>();
        // One of both is all; the first team has the full size in any case.
        let (small, large) = (of(1), of(2));
        assert!(
            if follows { small > large } else { small == 0 && large > 0 },
            "{case}: {teams:?}, {:?}",
            ended.sizes()
        );
    }
}

/// Options, a variable of the environment with its value, and whether setters are called.
type Case<'a> = (&'a [&'a str], Option<(&'a str, &'a str)>, bool);

#[test]
fn setters_are_called_or_not_as_it_says() {
    let _turn = turn();
    if processors() == 1 {
        skip!("one processor only");
    }
    let Some(python) = python() else { skip!("no Python that has NumPy; NUMAESTRO_PYTHON names one") };
    let manager = Manager::started();
    let script = source("beside.py");
    let program = [python.as_str(), &script, ended::UNTIL_TOLD];
    let leave = ("NUMAESTRO_LIBRARIES", "*openblas*=leave");
    let cases: [Case; 4] = [
        (&[], None, true),
        (&["--class", "malleable"], None, true),
        (&["--class", "fold"], None, false),
        (&[], Some(leave), false),
    ];
    for (options, rule, set) in cases {
        let variables: Vec<_> = [("OPENBLAS_NUM_THREADS", "2")].into_iter().chain(rule).collect();
        let libraries = said(&manager, options, &variables, "libraries", &program);
        let last = libraries.last().expect("a line");
        assert_eq!(last.contains("own setters"), set, "{options:?} {rule:?}: {libraries:?}");
        let running = ended::start_until_told(&mut on_one(&manager, options, &variables, &program));
        let how = |how| {
            let apps = manager.status().map(|status| status.apps).unwrap_or_default();
            apps.iter().flat_map(|app| &app.libraries).any(|one| one.runtime == "OpenBLAS" && one.how == how)
        };
        let is = if set { "set" } else { "left" };
        let (right, wrong) = (eventually(|| how(is)), how(if set { "left" } else { "set" }));
        assert!(right && !wrong, "{options:?} {rule:?}: {last}, {:#?}", manager.status());
        assert!(running.end().status.success());
    }
}

/// Advice is for who looks at the terminal of `run`. What a program writes to a terminal that it,
/// or something before it, has made is its output.
#[test]
fn advice_goes_to_the_terminal_of_the_user_only() {
    let _turn = turn();
    if processors() == 1 || !has("script") {
        skip!("one processor only, or no script of util-linux");
    }
    let manager = Manager::started();
    let (inside, command) = (any("inside"), support::manager::NUMAESTRO);
    let run = |before: &str, within: &str| {
        let line = format!("{before}{command} run --max 1 -- {within}");
        let mut shell = support::manager::alone(["sh", "-c", &line]);
        shell.env("NUMAESTRO_DIR", manager.dir()).env("OMP_NUM_THREADS", "2").env("PROGRAM", &inside);
        ended::run(&mut shell).stdout
    };
    let advised = |said: &str| said.contains("ran with more threads than processors");
    let on_terminal = "script -qec '";
    let direct = run(on_terminal, "\"$PROGRAM\" 0.3' /dev/null");
    assert!(advised(&direct), "{direct}");
    let within = run("", "script -qec '\"$PROGRAM\" 0.3' /dev/null");
    assert!(within.contains("inside") && !advised(&within), "{within}");
    let nested = run(on_terminal, "sh -c \"script -qec \\\"$PROGRAM 0.3\\\" /dev/null\"' /dev/null");
    assert!(nested.contains("inside") && !advised(&nested), "{nested}");
}
