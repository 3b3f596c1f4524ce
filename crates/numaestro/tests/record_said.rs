//! What `numaestro record` and the readers of recordings say: which policies ran, which day a time
//! of day means, and what is no recording.

mod user;

use std::net::TcpListener;
use user::{User, json, text, until};

/// Exit code and messages.
fn refused(user: &User, words: &[&str]) -> (Option<i32>, String) {
    let output = user.output(words);
    (output.status.code(), text(&output.stderr))
}

#[test]
fn the_policies_that_ran_are_listed_and_no_refused_one() {
    let user = User::new();
    user.output(["record", "on"]);
    let listed = text(&user.output(["record", "list"]).stdout);
    assert!(listed.contains("recording into") && !listed.contains("begins one"), "{listed}");
    assert_eq!(user.run(&["true"]).status.code(), Some(0));
    assert_eq!(user.output(["policy", "set", "dss"]).status.code(), Some(0));
    let (code, said) = refused(&user, &["policy", "set", "no-such-policy"]);
    assert!(code == Some(64) && said.contains("no-such-policy"), "{said}");
    assert_eq!(user.run(&["true"]).status.code(), Some(0));
    user.output(["stop"]);
    let policies = |place: usize| {
        let found = json(&user.output(["record", "list", "--json"]));
        found["recordings"][place]["policies"].clone()
    };
    assert_eq!(policies(0), serde_json::json!(["equi", "dss"]));
    let listed = text(&user.output(["record", "list"]).stdout);
    assert!(listed.contains("equi, later dss"), "{listed}");
    // The next manager begins with the policy of its settings, and takes the kept one before any
    // program runs.
    assert_eq!(user.run(&["true"]).status.code(), Some(0));
    user.output(["stop"]);
    until("the next recording", || policies(1) == serde_json::json!(["equi", "dss"]));
    assert_eq!(policies(0), serde_json::json!(["dss"]));
}

#[test]
fn a_part_says_its_day() {
    let user = User::new();
    user.output(["record", "on"]);
    assert_eq!(user.run(&["true"]).status.code(), Some(0));
    user.output(["stop"]);
    let (code, said) = refused(&user, &["record", "dump", "--until", "2999-01-01 00:00"]);
    assert!(
        code == Some(64) && said.contains("is still to come: it is 2999-01-01 00:00:00, and now it is 2"),
        "{said}"
    );
    let (code, said) = refused(&user, &["record", "dump", "--since", "1d ago"]);
    assert!(code == Some(0) && said.contains("the part begins 2") && said.contains("has nothing before 2"), "{said}");
    let (code, said) = refused(&user, &["record", "dump", "--until", "1d ago"]);
    assert!(code == Some(1) && said.contains("behind this part, which ends 2"), "{said}");
    let (code, said) = refused(&user, &["record", "dump", "--since", "1h ago", "--until", "2h ago"]);
    assert!(code == Some(64) && said.contains("ends before it begins: it would be from 2"), "{said}");
    let from = user.path("run/recordings").display().to_string();
    let (code, said) = refused(&user, &["explain", "--from", &from, "--at", "1d ago"]);
    assert!(code == Some(1) && said.contains("the oldest recording began 2") && said.contains(", after 2"), "{said}");
}

#[test]
fn what_is_no_recording_is_said_with_a_fitting_next_step() {
    let user = User::new();
    let script = user.path("story.sh").display().to_string();
    std::fs::write(&script, "#!/bin/sh\n").expect("written");
    let (code, said) = refused(&user, &["dashboard", &script]);
    assert!(code == Some(2) && said.contains("story.sh:1: this is no journal and no recording"), "{said}");
    assert!(!said.contains("cannot write") && !said.contains("column"), "{said}");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("bound").to_string();
    let cases: [&[&str]; 4] = [
        &["dashboard", "nowhere"],
        &["explain", "--from", "nowhere"],
        &["record", "list", "--from", "nowhere"],
        &["dashboard", "--listen", &address],
    ];
    for words in cases {
        let (code, said) = refused(&user, words);
        assert!(code == Some(1) && !said.contains("doctor") && !said.contains("-vv"), "{words:?}: {said}");
    }
}
