//! `numaestro sim compare` as a user sees it: pairs on the same jobs, reports, and a campaign that
//! is stopped and goes on.

#[path = "../../../crates/numaestro/tests/user/mod.rs"]
mod user;

use std::process::Stdio;
use user::{User, kill, start, text, until};

const SCENARIO: &str = r#"name = "teams"
about = "Two teams on four processors"
machine = "xeon-4"
seeds = 4

[[program]]
name = "a"
processors = 4
phases = [{ do = "parallel", iterations = 30, work = { exponential = "8 ms" }, cv = 0.2 }]

[workload]
kind = "streams"
streams = 2

[sweep]
policies = ["equi", "batch", "linux24"]
program.a.processors = [2, 4]
"#;

fn with(scenario: &str) -> User {
    let user = User::new();
    std::fs::write(user.path("s.toml"), scenario).expect("writable");
    user
}

fn path(user: &User, name: &str) -> String {
    user.path(name).to_str().expect("text").to_owned()
}

fn file(user: &User, name: &str) -> String {
    std::fs::read_to_string(user.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// `sim compare s.toml WORDS`, where a word `@x` is the path of x.
fn compare(user: &User, words: &[&str]) -> std::process::Output {
    let words =
        words.iter().map(|word| word.strip_prefix('@').map_or_else(|| (*word).to_owned(), |name| path(user, name)));
    let first = ["sim".to_owned(), "compare".to_owned(), path(user, "s.toml")];
    user.output(first.into_iter().chain(words))
}

fn json(user: &User, name: &str) -> serde_json::Value {
    serde_json::from_str(&file(user, name)).expect("JSON")
}

#[test]
fn policies_are_compared_on_the_same_jobs() {
    let user = with(SCENARIO);
    // Long enough that Linux's time slices matter.
    let output =
        compare(&user, &["--json", "@o.json", "--csv", "@o.csv", "--set", "program.a.phases[0].iterations=300"]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(shown.contains("program.a.processors=2\n") && shown.contains("corrected for 4 comparisons"), "{shown}");
    let value = json(&user, "o.json");
    assert_eq!(value["baseline"], "equi");
    let cells = value["cells"].as_array().expect("a list");
    let names: Vec<(&str, &str)> = cells
        .iter()
        .map(|cell| {
            (cell["parameters"]["program.a.processors"].as_str().expect("text"), cell["policy"].as_str().expect("text"))
        })
        .collect();
    assert_eq!(
        names,
        [("2", "equi"), ("2", "batch"), ("2", "linux24"), ("4", "equi"), ("4", "batch"), ("4", "linux24")]
    );
    // With two threads each and four processors there is nothing to decide: the same jobs, and so
    // no difference at all.
    let same = &cells[1]["against_baseline"];
    assert!(same["difference_s"]["interval"]["mean"].as_f64().is_some_and(|x| x.abs() < 1e-3), "{same}");
    // Two spinning teams of four on four processors is what nobody wants.
    let worse = &cells[5]["against_baseline"];
    assert!(worse["real"] == true && worse["ratio"]["low"].as_f64() > Some(1.1), "{worse}");
    let csv = file(&user, "o.csv");
    assert_eq!(csv.lines().count(), 1 + 6 * 4);
    assert!(csv.starts_with("scenario,policy,seed,fingerprint,program.a.processors,response_s,"), "{csv}");
}

#[test]
fn policies_and_baseline_of_the_command_line_win() {
    let user = with(SCENARIO);
    let output = compare(&user, &["--policies", "batch", "--baseline", "dss", "--seeds", "2", "--json", "@o.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let value = json(&user, "o.json");
    let names: Vec<&str> =
        value["cells"].as_array().expect("cells").iter().filter_map(|cell| cell["policy"].as_str()).collect();
    assert_eq!((value["baseline"].as_str(), names), (Some("dss"), vec!["dss", "batch", "dss", "batch"]));
    let alone = with(&SCENARIO[..SCENARIO.find("[sweep]").expect("there")]);
    let output = compare(&alone, &[]);
    assert_eq!(output.status.code(), Some(64));
    assert!(text(&output.stderr).contains("--policies"), "{}", text(&output.stderr));
}

#[test]
fn workers_change_nothing() {
    let user = with(SCENARIO);
    let results = ["1", "3"].map(|workers| {
        let output =
            compare(&user, &["--workers", workers, "--json", "@o.json", "--csv", "@o.csv", "--html", "@o.html"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        (output.stdout, ["o.json", "o.csv", "o.html"].map(|name| file(&user, name)))
    });
    assert!(results[0] == results[1]);
}

#[test]
fn the_report_needs_nothing_from_elsewhere() {
    let user = with(SCENARIO);
    let output = compare(&user, &["--html", "@o.html"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let page = file(&user, "o.html");
    assert_eq!(page.matches("<svg").count(), 5, "by policy, by parameter, and a schedule for each of three policies");
    for foreign in ["src=", "href=", "url(", "@import", "<script"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(page.replace("http://www.w3.org/2000/svg", "").find("://").is_none());
    for word in ["prefers-color-scheme: dark", "width=device-width", "linux24", "coherence"] {
        assert!(page.contains(word), "{word}");
    }
}

// Stop and go on.

#[test]
fn what_was_cut_off_goes_on_to_the_same_bytes() {
    let user = with(SCENARIO);
    assert_eq!(
        compare(&user, &["--json", "@whole.json", "--csv", "@whole.csv", "--state", "@whole.jsonl"]).status.code(),
        Some(0)
    );
    let whole = file(&user, "whole.jsonl");
    assert_eq!(whole.lines().count(), 1 + 6 * 4);
    // After 0, some and all runs, and in the middle of a line.
    for bytes in [whole.find('\n').expect("lines") + 1, whole.len() / 2, whole.len() - 1, whole.len()] {
        std::fs::write(user.path("part.jsonl"), &whole[..bytes]).expect("writable");
        let output =
            compare(&user, &["--json", "@part.json", "--csv", "@part.csv", "--state", "@part.jsonl", "--resume"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(
            file(&user, "part.json") == file(&user, "whole.json")
                && file(&user, "part.csv") == file(&user, "whole.csv")
        );
        assert_eq!(file(&user, "part.jsonl").lines().count(), 1 + 6 * 4);
    }
}

#[test]
fn finished_runs_are_used_and_not_run_again() {
    let user = with(SCENARIO);
    compare(&user, &["--json", "@o.json", "--state", "@s.jsonl"]);
    let response = json(&user, "o.json")["cells"][0]["runs"][0]["response_s"].to_string();
    let changed = file(&user, "s.jsonl").replace(&response, "123.25");
    std::fs::write(user.path("s.jsonl"), changed).expect("writable");
    compare(&user, &["--json", "@o.json", "--state", "@s.jsonl", "--resume", "--seeds", "5"]);
    let value = json(&user, "o.json");
    assert_eq!(value["cells"][0]["runs"][0]["response_s"], 123.25);
    assert_eq!(value["cells"][0]["runs"].as_array().map(Vec::len), Some(5), "more seeds may be added");
}

#[test]
fn ctrl_c_keeps_what_is_finished() {
    let long = SCENARIO.replace("iterations = 30", "iterations = 3000").replace("seeds = 4", "seeds = 200");
    let user = with(&long);
    let words = ["sim", "compare"].map(ToOwned::to_owned);
    let words = words.into_iter().chain([path(&user, "s.toml"), "--state".to_owned(), path(&user, "s.jsonl")]);
    let mut child = start(user.command(words).stdout(Stdio::null()).stderr(Stdio::piped()));
    let lines = || std::fs::read_to_string(user.path("s.jsonl")).map_or(0, |state| state.lines().count());
    until("two runs are finished", || lines() >= 3);
    kill("INT", &child.id().to_string());
    assert_eq!(child.wait().expect("ends").code(), Some(130));
    let mut said = String::new();
    std::io::Read::read_to_string(child.stderr.as_mut().expect("a pipe"), &mut said).expect("readable");
    assert!(said.contains("--resume"), "{said}");
    let kept = lines();
    assert!((3..1201).contains(&kept), "{kept}");
    let output = compare(&user, &["--state", "@s.jsonl", "--resume", "--seeds", "1"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn a_changed_scenario_is_not_gone_on_with() {
    let user = with(SCENARIO);
    assert_eq!(compare(&user, &["--seeds", "1", "--state", "@s.jsonl"]).status.code(), Some(0));
    let said = |words: &[&str]| {
        let output = compare(&user, words);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
        text(&output.stderr)
    };
    assert!(said(&["--state", "@s.jsonl"]).contains("--resume"), "runs are not thrown away unasked");
    assert!(said(&["--state", "@s.jsonl", "--resume", "--set", "program.a.weight=2"]).contains("has changed"));
    std::fs::write(user.path("s.toml"), SCENARIO.replace("8 ms", "9 ms")).expect("writable");
    assert!(said(&["--state", "@s.jsonl", "--resume"]).contains("has changed"));
    assert_eq!(compare(&user, &["--resume"]).status.code(), Some(64), "there is nothing to go on with");
}

#[test]
fn the_state_beside_the_output_is_gone_when_all_is_done() {
    let user = with(SCENARIO);
    assert_eq!(compare(&user, &["--seeds", "1", "--json", "@o.json"]).status.code(), Some(0));
    assert!(!user.path("o.json.state.jsonl").exists());
}

// In parts.

#[test]
fn parts_together_are_the_same_bytes_and_nothing_runs_twice() {
    let user = with(SCENARIO);
    let whole = compare(&user, &["--json", "@whole.json", "--csv", "@whole.csv", "--html", "@whole.html"]);
    for part in ["1", "2", "3"] {
        let state = format!("@part-{part}.jsonl");
        let output = compare(&user, &["--part", &format!("{part}/3"), "--state", &state]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(output.stdout.is_empty(), "a part shows nothing: {}", text(&output.stdout));
        assert_eq!(file(&user, &state[1..]).lines().count(), 1 + 6 * 4 / 3);
    }
    let words = ["--json", "@o.json", "--csv", "@o.csv", "--html", "@o.html", "--state", "@all.jsonl", "--finished"];
    let parts = ["@part-1.jsonl", "@part-2.jsonl", "@part-3.jsonl"];
    let output = compare(&user, &[&words[..], &parts].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), text(&whole.stdout));
    for ending in ["json", "csv", "html"] {
        assert!(file(&user, &format!("o.{ending}")) == file(&user, &format!("whole.{ending}")), "{ending}");
    }
    // Every run is in one part; the parts' runs are in the state file now.
    let lines = |name: &str| file(&user, name).lines().skip(1).map(ToOwned::to_owned).collect::<Vec<_>>();
    let sorted = |mut lines: Vec<String>| {
        lines.sort();
        lines
    };
    let of_parts = sorted(["part-1.jsonl", "part-2.jsonl", "part-3.jsonl"].into_iter().flat_map(lines).collect());
    assert_eq!(of_parts, sorted(lines("all.jsonl")));
}

#[test]
fn what_the_parts_lack_is_run_and_what_they_have_is_used() {
    let user = with(SCENARIO);
    assert_eq!(compare(&user, &["--json", "@whole.json"]).status.code(), Some(0));
    assert_eq!(compare(&user, &["--part", "2/3", "--state", "@two.jsonl"]).status.code(), Some(0));
    let state = file(&user, "two.jsonl");
    std::fs::write(user.path("two.jsonl"), &state[..state.len() - 9]).expect("writable");
    let merged = |outcome: i32| {
        let output = compare(&user, &["--json", "@o.json", "--state", "@all.jsonl", "--finished", "@two.jsonl"]);
        assert_eq!(output.status.code(), Some(outcome), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    merged(0);
    assert!(file(&user, "o.json") == file(&user, "whole.json"));
    assert_eq!(file(&user, "two.jsonl").len(), state.len() - 9, "it is only read");
    // A part again takes what another file has, and keeps only its own.
    let words = ["--part", "2/3", "--state", "@again.jsonl", "--finished", "@two.jsonl"];
    assert_eq!(compare(&user, &words).status.code(), Some(0));
    assert_eq!(file(&user, "again.jsonl").lines().count(), 1 + 1, "the run that was cut off");
    // Files that disagree.
    let line = state.lines().nth(1).expect("a run");
    let at = line.find("\"response_s\":").expect("a number") + 13;
    let other = format!("{}1{}", &line[..at], &line[at..]);
    std::fs::write(user.path("two.jsonl"), state.replace(line, &format!("{line}\n{other}"))).expect("writable");
    std::fs::remove_file(user.path("all.jsonl")).expect("there");
    assert!(merged(1).contains("other results"));
}

#[test]
fn parts_of_something_else_are_refused() {
    let user = with(SCENARIO);
    assert_eq!(compare(&user, &["--part", "1/3", "--state", "@one.jsonl"]).status.code(), Some(0));
    let refused = |words: &[&str]| {
        let output = compare(&user, &[&["--seeds", "1", "--json", "@o.json"], words].concat());
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
        assert!(!user.path("o.json.state.jsonl").exists(), "nothing has run");
        text(&output.stderr)
    };
    assert!(refused(&["--finished", "@one.jsonl", "--set", "program.a.weight=2"]).contains("has changed"));
    assert!(refused(&["--finished", "@s.toml"]).contains("no file of finished work"));
    assert!(refused(&["--finished", "@gone.jsonl"]).contains("there is no"));
    let state = file(&user, "one.jsonl");
    let (build, rest) = state.split_once("\"build\":\"").expect("a build");
    let digit = if rest.starts_with('0') { '1' } else { '0' };
    let another = format!("{build}\"build\":\"{digit}{}", &rest[1..]);
    std::fs::write(user.path("one.jsonl"), another).expect("writable");
    assert!(refused(&["--finished", "@one.jsonl"]).contains("another build"));
}

#[test]
fn two_parts_do_not_share_a_state_file() {
    let long = SCENARIO.replace("iterations = 30", "iterations = 3000").replace("seeds = 4", "seeds = 200");
    let user = with(&long);
    let words = ["sim", "compare"].map(ToOwned::to_owned).into_iter();
    let words =
        words.chain([path(&user, "s.toml"), "--part=1/2".to_owned(), "--state".to_owned(), path(&user, "s.jsonl")]);
    let _first = start(user.command(words).stdout(Stdio::null()).stderr(Stdio::null()));
    until("it has begun", || user.path("s.jsonl").metadata().is_ok_and(|found| found.len() > 0));
    let output = compare(&user, &["--part", "2/2", "--state", "@s.jsonl", "--resume"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("by another numaestro"), "{}", text(&output.stderr));
}
