//! `numaestro explain` with real programs: from the manager's memory, from recordings, and from
//! journals.

mod user;

use numaestro_engine::{Action, AppId, Event, Settings, Wish, journal};
use numaestro_skip::skip;
use numaestro_topology::PuId;
use std::process::Stdio;
use std::time::Duration;
use user::{Mortal, User, json, line, start, text, until};

/// A manager that gives out every processor, whatever else runs on the machine.
fn manager(user: &User) -> Mortal {
    let mut command = user.command(["daemon", "--ignore-unmanaged"]);
    let manager = start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    until("a manager", || json(&user.output(["status", "--json"]))["running"] == true);
    manager
}

/// A program under `run` that computes; it is there when this returns.
fn program(user: &User, name: &str) -> Mortal {
    let words = ["run", "--name", name, "--", "sh", "-c", "echo ready; while :; do :; done"];
    let mut child = start(user.command(words).stdin(Stdio::piped()).stdout(Stdio::piped()));
    assert_eq!(line(&mut child), "ready");
    child
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)
}

/// What is said to a person; it must succeed.
fn said(user: &User, words: &[&str]) -> String {
    let output = user.output(["explain"].iter().chain(words));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// The code and the words of a refusal.
fn refused(user: &User, words: &[&str]) -> (i32, String) {
    let output = user.output(["explain"].iter().chain(words));
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    (output.status.code().expect("an exit"), text(&output.stderr))
}

#[test]
fn why_a_program_has_what_it_has_and_what_would_change_it() {
    if processors() < 2 {
        skip!("one processor only");
    }
    let user = User::new();
    let _manager = manager(&user);
    let _first = program(&user, "first");
    let second = program(&user, "second");
    let number = |name: &str| {
        let status = json(&user.output(["status", "--json"]));
        let apps = status["apps"].as_array().expect("programs").clone();
        apps.iter().find(|app| app["name"] == name).expect("it runs")["app"].as_u64().expect("a number")
    };
    let (one, two) = (number("first"), number("second"));
    until("the first one has made room", || {
        let status = json(&user.output(["status", "--json"]));
        status["apps"].as_array().expect("programs").iter().all(|app| app["epoch"][0] == app["epoch"][1])
    });

    let about = json(&user.output(["explain", "first", "--json"]));
    let status = json(&user.output(["status", "--json"]));
    assert_eq!(
        (&about["app"], &about["name"], &about["why"]),
        (&one.into(), &"first".into(), &status["apps"][0]["why"])
    );
    assert_eq!(about["cpus"], status["apps"][0]["cpus"]);
    let last = about["chain"].as_array().expect("a chain").last().expect("something led to it").clone();
    assert!(last["event"].as_str().expect("words").starts_with(&format!("second ({two}) arrived")), "{about}");
    assert_eq!((&last["rule"], &last["name"]), (&"share".into(), &"share=equi".into()), "{about}");
    assert!(last["source"].as_str().expect("words").contains("Koita"), "{about}");
    let ends = about["alternatives"].as_array().expect("a list").iter().find(|found| found["change"] == "end");
    let more = ends.expect("the end of the second gives more");
    assert_eq!((&more["app"], more["count"].as_u64()), (&two.into(), Some(processors() as u64)), "{about}");

    let shown = said(&user, &["second"]);
    assert!(shown.contains("What led to it:") && shown.contains("[share=equi: "), "{shown}");
    assert!(shown.contains(&format!("that first ({one}) ends")), "{shown}");
    let all = said(&user, &[]);
    assert!(all.contains("Policy: equi") && all.contains("first (") && all.contains("second ("), "{all}");
    let cpu = status["apps"][1]["cpus"].as_str().expect("a list").split(['-', ',']).next().expect("a processor");
    let of_cpu = said(&user, &["cpu", cpu]);
    assert!(of_cpu.contains(&format!("second ({two}) has it")), "{of_cpu}");
    assert!(of_cpu.contains(&format!("went from first ({one}) to second ({two})")), "{of_cpu}");

    // What was said comes true.
    drop(second);
    until("the first one has all", || status_of(&user, "first")["count"].as_u64() == Some(processors() as u64));
    let ended = said(&user, &["second"]);
    assert!(ended.contains("Why: it ended at ") && ended.contains(" s after it had come"), "{ended}");
    assert!(!ended.contains("What led to it:") && ended.contains("Before that, the latest first:"), "{ended}");
    assert!(said(&user, &["first"]).contains(&format!("second ({two}) ended")));
    user.output(["set", "first", "--max", "1"]);
    until("it has one", || status_of(&user, "first")["count"] == 1);
    let command = format!("`numaestro set first --max {}`", processors());
    assert!(said(&user, &["first"]).contains(&command), "{}", said(&user, &["first"]));
}

fn status_of(user: &User, name: &str) -> serde_json::Value {
    let status = json(&user.output(["status", "--json"]));
    let apps = status["apps"].as_array().cloned().unwrap_or_default();
    apps.into_iter().find(|app| app["name"] == name).unwrap_or_default()
}

#[test]
fn an_earlier_time_from_memory_and_from_recordings() {
    let user = User::new();
    assert!(text(&user.output(["record", "on"]).stdout).contains("recording into "));
    let early = program(&user, "early");
    until("a second has passed", || status_of(&user, "early")["age_s"].as_f64().is_some_and(|age| age > 1.5));
    drop(early);
    until("it has gone", || status_of(&user, "early").is_null());
    assert!(said(&user, &["early"]).contains("early (1): ended"));
    // Another one with the name is another one.
    let again = program(&user, "early");
    let before = said(&user, &["early", "--at", "+0.5s"]);
    assert!(before.contains("early (1): running"), "{before}");
    assert!(said(&user, &["early"]).contains("early (2): running"));
    drop(again);
    until("it has gone too", || status_of(&user, "early").is_null());
    // A new manager remembers nothing; the recording does.
    user.output(["record", "off"]);
    user.output(["stop"]);
    let _manager = manager(&user);
    let (code, words) = refused(&user, &["--at", "700h ago"]);
    assert!(code == 1 && words.contains("no recording has that time"), "{words}");
    let recordings = user.path("run/recordings").display().to_string();
    let found = said(&user, &["early", "--from", &recordings, "--at", "+0.5s"]);
    assert!(found.contains("early (1): running"), "{found}");
    let journal = user.path("one.journal").display().to_string();
    assert_eq!(user.output(["record", "dump", "-o", &journal]).status.code(), Some(0));
    let state = json(&user.output(["explain", "--from", &journal, "--json"]));
    assert_eq!((&state["policy"], &state["apps"]), (&"equi".into(), &serde_json::json!([])));
    let decisions = state["decisions"].as_array().expect("decisions");
    assert!(decisions.iter().all(|link| link["time"].as_str().is_some_and(|time| time.starts_with("20"))), "{state}");
}

#[test]
fn nonsense_is_refused_with_a_next_step() {
    let user = User::new();
    let (code, words) = refused(&user, &["cg"]);
    assert!(code == 69 && words.contains("numaestro"), "no manager is started for a question: {words}");
    let _manager = manager(&user);
    let (code, words) = refused(&user, &["nobody"]);
    assert!(code == 1 && words.contains("no program `nobody`"), "{words}");
    let (code, words) = refused(&user, &["cpu", "99999"]);
    assert!(code == 1 && words.contains("there is no processor 99999"), "{words}");
    let (code, words) = refused(&user, &["cg", "--at", "yesterday"]);
    assert!(code == 64 && words.contains("`yesterday` is no time"), "{words}");
    let file = user.path("broken");
    std::fs::write(&file, "no journal\n").expect("written");
    let (code, words) = refused(&user, &["--from", &file.display().to_string()]);
    assert!(code == 2 && words.contains("broken:1: "), "{words}");
    let (code, words) = refused(&user, &["--from", &user.path("nowhere").display().to_string()]);
    assert!(code == 1 && words.contains("cannot read"), "{words}");
    assert!(said(&user, &[]).contains("No program is there."));
}

#[test]
fn a_word_that_fits_several_none_or_one_to_come_is_refused_as_by_set() {
    let user = User::new();
    let _manager = manager(&user);
    let early = program(&user, "nightly");
    until("a second has passed", || status_of(&user, "nightly")["age_s"].as_f64().is_some_and(|age| age > 1.5));
    let (_one, _two) = (program(&user, "twin"), program(&user, "twin"));
    let (code, words) = refused(&user, &["twin"]);
    let set = user.output(["set", "twin", "--max", "1"]);
    assert_eq!((code, &words), (64, &text(&set.stderr)), "one rule, and the same words");
    assert!(words.contains("`twin` fits 2 applications: B twin"), "{words}");
    let (code, words) = refused(&user, &["twin", "--at", "0s ago"]);
    assert!(code == 64 && words.contains("`twin` fits 2 applications: twin (application 2), twin"), "{words}");
    assert!(said(&user, &["2"]).starts_with("twin (2): "), "a number is always good");

    let (code, words) = refused(&user, &["nightyl"]);
    assert!(code == 1 && words.contains("did you mean `nightly`?"), "{words}");
    let (code, words) = refused(&user, &["A", "--at", "0s ago"]);
    assert!(code == 1 && words.contains("letters are those of the present"), "{words}");
    let (code, words) = refused(&user, &["twin", "--at", "+0.5s"]);
    assert!(code == 1 && words.contains("twin (2) was not there yet: it came at "), "{words}");
    let (code, words) = refused(&user, &["25:00"]);
    assert!(code == 64 && words.contains("`25:00` is no time"), "{words}");
    let (code, words) = refused(&user, &["cpu", "x"]);
    assert!(code == 64 && words.contains("`x` is no number of a processor"), "{words}");
    drop(early);
}

#[test]
fn recordings_answer_where_no_manager_does_and_after_one_was_killed() {
    let user = User::new();
    let (code, words) = refused(&user, &["nightly"]);
    assert!(code == 69 && words.contains("`--from` reads a recording"), "{words}");
    let first = manager(&user);
    user.output(["record", "on"]);
    // It is there without a process that would start another manager.
    let mut waits = start(std::process::Command::new("sleep").arg("600"));
    assert_eq!(user.output(["adopt", &waits.id().to_string()]).status.code(), Some(0));
    std::thread::sleep(Duration::from_millis(2500));
    drop(first);
    std::thread::sleep(Duration::from_millis(4500));

    let output = user.output(["explain", "sleep"]);
    let (shown, notes) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{notes}");
    assert!(shown.starts_with("sleep (1): running") && notes.contains("no manager runs"), "{shown}{notes}");
    let recordings = user.path("run/recordings").display().to_string();
    for place in [&["--from", recordings.as_str()][..], &[]] {
        let words = ["explain", "sleep", "--at", "1s ago"];
        let output = user.output(words.iter().chain(place));
        let (shown, notes) = (text(&output.stdout), text(&output.stderr));
        assert!(shown.starts_with("sleep (1): running"), "{shown}{notes}");
        assert!(notes.contains("the last event is of ") && notes.contains("is not known"), "{notes}");
    }
    let output = user.output(["explain", "--at", "2026-01-01 10:00"]);
    assert!(text(&output.stderr).contains("the oldest recording began"), "{}", text(&output.stderr));
    waits.kill().expect("it is ours");
}

#[test]
fn load_outside_is_somewhere_and_no_processor_is_called_free() {
    let user = User::new();
    let machine = numaestro_topology::synthetic::parse("core:2 pu:1").expect("a machine");
    let event = |at: u64, event: &Event| journal::encode_named(at, Some("nightly"), event, &[]);
    let lines = [
        journal::encode_head(&machine, &Settings::default(), 1),
        event(1_000_000, &Event::Unmanaged { processors: 1 }),
    ];
    let file = user.path("load.journal").display().to_string();
    std::fs::write(&file, lines.join("\n") + "\n").expect("written");
    let shown = said(&user, &["cpu", "1", "--from", &file]);
    let words = "no program has it; load outside keeps 1 of 2 processors busy, and it is not known which";
    assert!(shown.starts_with("Processor 1 on node 0: ") && shown.contains(words), "{shown}");
    let about = json(&user.output(["explain", "cpu", "1", "--from", &file, "--json"]));
    assert_eq!((&about["state"], about["load"].is_string()), (&"not known".into(), true), "{about}");
    assert!(said(&user, &["--from", &file]).contains("Load outside keeps 1 of 2 processors busy"));
}

#[test]
fn a_shared_processor_names_those_who_share_it_and_no_owner() {
    let user = User::new();
    let machine = numaestro_topology::synthetic::parse("core:1 pu:1").expect("a machine");
    let arrives = |app: u64, name: &str| {
        let event = Event::Arrive { app: AppId(app), wish: Wish::new(1) };
        let pus = [PuId(0)].into_iter().collect();
        let target = Action::Target { app: AppId(app), epoch: 1, count: 1, pus, shared: app > 1, lent: false };
        journal::encode_named(app * 1_000_000, Some(name), &event, &[Action::Start { app: AppId(app) }, target])
    };
    let mut lines = vec![journal::encode_head(&machine, &Settings::default(), 1)];
    let file = user.path("shared.journal").display().to_string();
    let expected = [
        "bt (1) has it",
        "bt (1) and cg (2) share it",
        "bt (1), cg (2) and ft (3) share it",
        "bt (1), cg (2), ft (3) and 1 more share it",
    ];
    for ((app, name), words) in (1..).zip(["bt", "cg", "ft", "lu"]).zip(expected) {
        lines.push(arrives(app, name));
        std::fs::write(&file, lines.join("\n") + "\n").expect("written");
        let shown = said(&user, &["cpu", "0", "--from", &file]);
        assert!(shown.starts_with(&format!("Processor 0 on node 0: {words}\n")), "{shown}");
    }
}
