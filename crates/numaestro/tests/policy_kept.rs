//! A policy that was set is kept for the next manager of the directory.

mod user;

use std::process::Stdio;
use user::{User, json, start, text, until};

fn shown(user: &User) -> serde_json::Value {
    json(&user.output(["policy", "show", "--json"]))
}

#[test]
fn asking_starts_no_manager() {
    let user = User::new();
    let output = user.output(["policy", "show"]);
    assert_eq!(text(&output.stdout), "equi\n");
    assert!(text(&output.stderr).contains("no manager runs; the next one begins with this policy"));
    assert_eq!(shown(&user), serde_json::json!({ "policy": "equi", "next": "equi", "running": false }));
    let listed = json(&user.output(["policy", "list", "--json"]));
    assert!(listed["available"].as_array().is_some_and(|all| all.len() > 3));
    assert!(!user.path("run").exists(), "looking must not make anything");
}

#[test]
fn a_policy_that_was_set_is_the_next_managers_too() {
    let user = User::new();
    let set = user.output(["policy", "set", "dss"]);
    assert_eq!(text(&set.stdout), "dss\n", "{}", text(&set.stderr));
    assert!(text(&set.stderr).contains("the next manager begins with it too"), "{}", text(&set.stderr));
    user.output(["stop"]);
    assert_eq!(shown(&user), serde_json::json!({ "policy": "dss", "next": "dss", "running": false }));
    assert_eq!(user.run(&["true"]).status.code(), Some(0));
    assert_eq!(shown(&user), serde_json::json!({ "policy": "dss", "next": "dss", "running": true }));
    user.output(["stop"]);
    // An option goes before it, and leaves it as it is.
    let mut command = user.command(["daemon", "--policy", "batch", "--idle-exit", "0"]);
    let manager = start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    until("a manager", || shown(&user)["running"] == true);
    assert_eq!(shown(&user)["policy"], "batch");
    user.output(["stop"]);
    drop(manager);
    assert_eq!(shown(&user)["policy"], "dss");
    // The usual one is no choice any more.
    user.output(["policy", "set", "equi"]);
    user.output(["stop"]);
    assert!(!user.path("run/policy.json").exists());
    assert_eq!(shown(&user)["policy"], "equi");
}

#[test]
fn another_configuration_goes_before_an_earlier_choice() {
    let user = User::new();
    user.output(["policy", "set", "dss"]);
    user.output(["stop"]);
    std::fs::create_dir_all(user.path(".config/numaestro")).expect("writable");
    std::fs::write(user.path(".config/numaestro/config.toml"), "policy = \"batch\"\n").expect("writable");
    assert_eq!(shown(&user)["policy"], "batch");
}
