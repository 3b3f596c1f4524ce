//! What a page is told while things happen, and what it may change.

use crate::server::{Dashboard, manager, names, program, steps};
use crate::user::{User, json, turn, until};
use std::time::{Duration, Instant};

#[test]
fn a_page_is_told_what_was_and_what_comes() {
    let user = User::new();
    let _manager = manager(&user);
    let _first = program(&user, "first");
    let dashboard = Dashboard::of(&user);
    let mut messages = dashboard.stream();
    let hello = messages.until("a begin", |message| message["kind"] == "hello");
    assert_eq!((&hello["live"], &hello["may"]["policy"]), (&true.into(), &true.into()), "{hello}");
    let policies = hello["policies"].as_array().expect("policies");
    let unique: std::collections::BTreeSet<_> = policies.iter().map(|policy| policy.as_str()).collect();
    assert!(policies.contains(&"dss".into()) && unique.len() == policies.len(), "{hello}");
    let began = hello["began_ms"].as_u64().expect("a time of day");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_millis();
    assert!(u128::from(began) <= now && now < u128::from(began) + 600_000, "{began} {now}");
    messages.until("what was", |message| names(message).contains(&"first".to_owned()));

    let second = program(&user, "second");
    let message = messages.until("what comes", |message| names(message).contains(&"second".to_owned()));
    let decision = steps(&message).find_map(|step| step["decisions"].get(0)).expect("a decision");
    assert!(decision["event"].as_str().expect("words").starts_with("second ("), "{decision}");
    messages.until("processor time", |message| message["apps"]["1"]["cpu_percent"].is_number());

    // Who comes later is told the same.
    let mut late = dashboard.stream();
    late.until("the first", |message| names(message).contains(&"first".to_owned()));
    late.until("the second", |message| names(message).contains(&"second".to_owned()));
    drop(second);
    let gone = |message: &serde_json::Value| steps(message).any(|step| step["gone"][0] == 2);
    messages.until("its end", gone);
    late.until("its end", gone);
}

#[test]
fn letters_are_those_of_status_and_follow_at_once() {
    let _turn = turn();
    let user = User::new();
    let _manager = manager(&user);
    let first = program(&user, "first");
    let _second = program(&user, "second");
    let dashboard = Dashboard::of(&user);
    let mut messages = dashboard.stream();
    let letters = |message: &serde_json::Value| {
        let of = |app: &str| message["apps"][app]["letter"].as_str().map(str::to_owned);
        (message["kind"] == "status").then(|| (of("1"), of("2")))
    };
    let both = (Some("A".to_owned()), Some("B".to_owned()));
    messages.until("both letters", |message| letters(message) == Some(both.clone()));
    drop(first);
    messages.until("the end of the first", |message| steps(message).any(|step| step["gone"][0] == 1));
    let ended = Instant::now();
    messages.until("its letter", |message| letters(message) == Some((None, Some("A".to_owned()))));
    // Status is told each second, and at once when letters change; the machine may be busy.
    assert!(ended.elapsed() < Duration::from_millis(600), "{:?}", ended.elapsed());
    let table = user.output(["status"]);
    let table = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(table.lines().any(|line| line.starts_with("A ") && line.contains("second")), "{table}");
}

#[test]
fn a_decision_is_told_at_once() {
    let _turn = turn();
    let user = User::new();
    let _manager = manager(&user);
    let dashboard = Dashboard::of(&user);
    let mut messages = dashboard.stream();
    messages.until("a begin", |message| message["kind"] == "hello");
    let mut times: Vec<Duration> = (0..9)
        .map(|number| {
            let name = format!("program-{number}");
            let _program = program(&user, &name);
            // It has been started; the news may be here already.
            let begin = Instant::now();
            messages.until("its arrival", |message| names(message).contains(&name));
            begin.elapsed()
        })
        .collect();
    times.sort();
    // It is asked every 40 ms; the bound is wide because others may use the machine.
    assert!(times[4] < Duration::from_millis(400), "{times:?}");
}

#[test]
fn limits_and_policies_can_be_changed_and_refusals_say_why() {
    let user = User::new();
    let _manager = manager(&user);
    let _program = program(&user, "mine");
    let dashboard = Dashboard::of(&user);
    let mut messages = dashboard.stream();
    messages.until("the program", |message| names(message).contains(&"mine".to_owned()));

    let answer = dashboard.post("/set", r#"{"app":1,"max":1,"weight":2}"#);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let said = answer.json()["message"].as_str().expect("words").to_owned();
    assert!(said.contains("at most 1") && said.contains("weight 2"), "{said}");
    let app = |message: &serde_json::Value| steps(message).find_map(|step| step["apps"].get(0).cloned());
    messages.until("the limit", |message| app(message).is_some_and(|app| app["max"] == 1 && app["weight"] == 2.0));
    let answer = dashboard.post("/set", r#"{"app":1,"max":null}"#);
    assert!(answer.json()["message"].as_str().expect("words").contains("no limit"), "{}", answer.body);

    assert_eq!(dashboard.post("/policy", r#"{"policy":"dss"}"#).status, 200);
    messages.until("the policy", |message| steps(message).any(|step| step["policy"] == "dss"));
    assert_eq!(json(&user.output(["status", "--json"]))["policy"], "dss");

    for (path, body, words) in [
        ("/policy", r#"{"policy":"ds"}"#, "did you mean"),
        ("/set", r#"{"app":99,"max":1}"#, "99"),
        ("/set", r#"{"app":1,"max":0}"#, "max"),
        ("/set", r#"{"app":1,"weight":-1}"#, "weight"),
        ("/set", r#"{"app":1,"mask":3}"#, "mask"),
        ("/set", "not JSON", "not understood"),
    ] {
        let answer = dashboard.post(path, body);
        assert!((400..500).contains(&answer.status), "{body}: {} {}", answer.status, answer.body);
        assert!(answer.json()["error"].is_string() && answer.body.contains(words), "{body}: {}", answer.body);
    }
}

#[test]
fn it_waits_for_a_manager_and_follows_the_next_one() {
    let user = User::new();
    let dashboard = Dashboard::of(&user);
    let mut messages = dashboard.stream();
    let lost = messages.until("that none runs", |message| message["kind"] == "lost");
    assert!(lost["problem"].as_str().expect("words").contains("no manager runs"), "{lost}");
    let refused = dashboard.post("/policy", r#"{"policy":"dss"}"#);
    assert_eq!(refused.status, 503, "{}", refused.body);

    let first = manager(&user);
    messages.until("a begin", |message| message["kind"] == "hello");
    crate::user::kill("KILL", &first.id().to_string());
    drop(first);
    messages.until("that it has ended", |message| message["kind"] == "lost");
    let _second = manager(&user);
    messages.until("another begin", |message| message["kind"] == "hello");
    let _program = program(&user, "after");
    messages.until("what comes", |message| names(message).contains(&"after".to_owned()));
    until("the manager is left alone", || json(&user.output(["status", "--json"]))["apps"][0]["name"] == "after");
}
