//! `numaestro sim replay`: journals of simulations and of the real manager are repeated byte for
//! byte, and the first difference is shown.

#[path = "../../../crates/numaestro/tests/user/mod.rs"]
mod user;

use std::process::Stdio;
use user::{User, start, text, until};

/// Comes and goes under a policy that draws lots, on a machine with reserved processors: everything
/// that a journal must carry.
const SCENARIO: &str = r#"machine = { name = "hector", delay = 2 }
policy = "worst-fit"
seed = 5
seeds = 1
[[program]]
name = "a"
processors = 6
phases = [{ do = "serial", work = "2 ms" }, { do = "parallel", iterations = 5, work = { exponential = "30 ms" } }]
[workload]
kind = "open"
interarrival = { exponential = "8 ms" }
jobs = 30
"#;

fn recorded() -> (User, String, String) {
    let user = User::new();
    std::fs::write(user.path("s.toml"), SCENARIO).expect("writable");
    let (scenario, journal) = (user.path("s.toml").display().to_string(), user.path("j").display().to_string());
    let output = user.output(["sim", "run", &scenario, "--journal", &journal]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines = std::fs::read_to_string(&journal).expect("readable");
    (user, journal, lines)
}

#[test]
fn a_simulation_is_repeated_byte_for_byte() {
    let (user, journal, lines) = recorded();
    let output = user.output(["sim", "replay", &journal]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert!(shown.contains(&format!("byte-equal: {} events", lines.lines().count() - 1)), "{shown}");
    assert!(lines.lines().count() > 60, "30 applications come and go");
}

#[test]
fn the_first_difference_is_shown() {
    let (user, journal, lines) = recorded();
    let mut all: Vec<String> = lines.lines().map(ToOwned::to_owned).collect();
    let at = all.iter().position(|line| line.contains("\"count\":6")).expect("somebody got all of six");
    all[at] = all[at].replacen("\"count\":6", "\"count\":5", 1);
    std::fs::write(&journal, all.join("\n") + "\n").expect("writable");
    let output = user.output(["sim", "replay", &journal]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains(&format!(":{}: the first difference", at + 1)), "{shown}");
    assert!(shown.contains("\"count\":6") && shown.contains("\"count\":5"), "{shown}");
}

#[test]
fn the_last_line_of_a_manager_that_was_killed_may_be_cut_off() {
    let (user, journal, lines) = recorded();
    std::fs::write(&journal, &lines[..lines.len() - 5]).expect("writable");
    let output = user.output(["sim", "replay", &journal]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("cut off"));
    let middle = lines.replacen("{\"at\"", "{\"at", 1);
    std::fs::write(&journal, middle).expect("writable");
    let output = user.output(["sim", "replay", &journal]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("j:2:"), "{}", text(&output.stderr));
}

#[test]
fn what_is_no_journal_is_2() {
    let user = User::new();
    for contents in ["", "hello\n", "{\"numaestro_journal\":999}\n"] {
        std::fs::write(user.path("j"), contents).expect("writable");
        let output = user.output(["sim", "replay", &user.path("j").display().to_string()]);
        assert_eq!(output.status.code(), Some(2), "{contents:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("j:1:"), "{contents:?}: {}", text(&output.stderr));
    }
}

#[test]
fn the_managers_own_journal_is_repeated_byte_for_byte() {
    let user = User::new();
    let journal = user.path("real.journal").display().to_string();
    let mut manager = user.command(["daemon", "--journal", &journal, "--idle-exit", "0"]);
    let mut manager = start(manager.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    until("the manager answers", || user.output(["status", "--json"]).stdout.starts_with(b"{\"running\":true"));
    let programs: Vec<_> =
        (0..3).map(|_| start(user.command(["run", "--", "sh", "-c", "sleep 0.2"]).stdin(Stdio::null()))).collect();
    assert_eq!(user.output(["policy", "set", "dss"]).status.code(), Some(0));
    for mut program in programs {
        program.wait().expect("ends");
    }
    assert_eq!(user.output(["stop"]).status.code(), Some(0));
    manager.wait().expect("ends");
    let output = user.output(["sim", "replay", &journal]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}{}", text(&output.stderr));
    assert!(shown.contains("byte-equal") && shown.contains("policy dss"), "{shown}");
}
