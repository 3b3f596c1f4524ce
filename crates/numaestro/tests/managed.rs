//! What the command says and does while a manager runs: status, policies, the queue, adoption,
//! shells.

mod user;

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use user::{Mortal, User, json, kill, line, start, text, until};

#[test]
fn status_shows_what_runs_and_stop_ends_it() {
    let user = User::new();
    let words = ["run", "--name", "my-app", "--max", "1", "--", "sh", "-c", "echo ready; read x"];
    let mut child = start(user.command(words).stdin(Stdio::piped()).stdout(Stdio::piped()));
    assert_eq!(line(&mut child), "ready");
    let status = json(&user.output(["status", "--json"]));
    assert_eq!(status["running"], true);
    assert_eq!(status["apps"][0]["name"], "my-app");
    assert_eq!(status["apps"][0]["pid"], child.id());
    assert_eq!(status["apps"][0]["count"], 1);
    let table = text(&user.output(["status"]).stdout);
    assert!(table.contains("my-app") && table.contains("node "), "{table}");
    let app = status["apps"][0]["app"].to_string();
    assert_eq!(user.output(["release", &app]).status.code(), Some(0));
    let policy = json(&user.output(["policy", "show", "--json"]));
    assert_eq!(policy["policy"], status["policy"]);
    assert!(json(&user.output(["policy", "list", "--json"]))["available"].as_array().is_some_and(|all| all.len() > 3));
    let refused = user.output(["policy", "set", "no-such-policy"]);
    assert_eq!(refused.status.code(), Some(64), "it is wrong whenever it comes: {}", text(&refused.stderr));
    assert_eq!(user.output(["stop"]).status.code(), Some(0));
    assert_eq!(json(&user.output(["status", "--json"]))["running"], false);
    drop(child.stdin.take());
    assert_eq!(child.wait().expect("ends").code(), Some(1), "`read` met the end of its input");
}

#[test]
fn a_running_program_is_adopted() {
    let user = User::new();
    let mut child =
        start(Command::new("sleep").arg("1000").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    let output = user.output(["adopt", "--name", "sleeper", &child.id().to_string()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(json(&user.output(["status", "--json"]))["apps"][0]["name"], "sleeper");
    child.kill().expect("ours");
    child.wait().expect("ends");
    assert_eq!(user.output(["adopt", &child.id().to_string()]).status.code(), Some(1), "it is gone");
}

#[test]
fn a_shell_manages_what_is_started_in_it() {
    let user = User::new();
    let output = user.output(["shell", "sh", "-c", "echo $NUMAESTRO_SHELL; sh -c 'echo $NUMAESTRO_ATTACH'; exit 4"]);
    let other = user.path("other");
    let elsewhere = user.output([OsStr::new("--dir"), other.as_os_str(), OsStr::new("shell"), OsStr::new("env")]);
    assert!(text(&elsewhere.stdout).contains(&format!("NUMAESTRO_DIR={}\n", other.display())));
    user.output([OsStr::new("--dir"), other.as_os_str(), OsStr::new("stop")]);
    assert_eq!(output.status.code(), Some(4));
    assert_eq!(text(&output.stdout), format!("1\n{}\n", user.path("run/attach").display()));
}

/// A manager of one processor, whatever else runs on the machine.
fn manager_of_one_processor(user: &User) -> Mortal {
    let list = Command::new("sh").args(["-c", "grep Cpus_allowed_list /proc/self/status"]).output().expect("sh");
    let first: String =
        text(&list.stdout).chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    let mut command = user.command(["daemon", "--cpus", &first, "--ignore-unmanaged"]);
    let manager = start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    until("a manager", || json(&user.output(["status", "--json"]))["running"] == true);
    manager
}

#[test]
fn the_queue_is_joined_left_and_served() {
    let user = User::new();
    let _manager = manager_of_one_processor(&user);
    let waiting = || json(&user.output(["status", "--json"]))["queue"].as_array().map_or(0, Vec::len);
    let words = |wait: &'static str| ["run", wait, "--", "sh", "-c", "echo ready; read x"];
    let mut holder = start(user.command(words("--no-wait")).stdin(Stdio::piped()).stdout(Stdio::piped()));
    assert_eq!(line(&mut holder), "ready");
    let mut next = start(user.command(words("--wait")).stdin(Stdio::piped()).stdout(Stdio::piped()));
    until("one waits", || waiting() == 1);
    let mut leaver = start(user.command(words("--wait")).stdin(Stdio::null()).stdout(Stdio::piped()));
    until("two wait", || waiting() == 2);
    kill("TERM", &leaver.id().to_string());
    assert_eq!(leaver.wait().expect("ends").signal(), Some(15));
    until("one has left", || waiting() == 1);
    drop(holder.stdin.take());
    assert_eq!(line(&mut next), "ready", "the first in the queue is next");
    assert_eq!(waiting(), 0);
}

#[test]
fn the_program_begins_on_its_processors() {
    let user = User::new();
    let output = user.output(["run", "--max", "1", "--", "grep", "Cpus_allowed_list", "/proc/self/status"]);
    let list = text(&output.stdout).split_whitespace().last().expect("a list").to_owned();
    assert!(list.parse::<u32>().is_ok(), "one processor: {list}");
}

#[test]
fn a_minimum_that_cannot_be_is_refused() {
    let user = User::new();
    let output = user.output(["run", "--min", "60000", "--", "echo", "started"]);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(125), ""), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("next:"), "{}", text(&output.stderr));
}

#[test]
fn a_manager_with_wrong_settings_says_which() {
    let user = User::new();
    let file = user.path("config.toml");
    std::fs::write(&file, "grace_ms = 0\n").expect("writable");
    let cases: [(&[&str], &str); 4] = [
        (&["daemon", "--policy", "nonsense"], "nonsense"),
        (&["daemon", "--cpus", "7-"], "cpus"),
        (&["daemon", "--config", file.to_str().expect("text")], "grace_ms"),
        (&["daemon", "--config", "/no/such/file"], "/no/such/file"),
    ];
    for (words, named) in cases {
        let output = user.output(words);
        let said = text(&output.stderr);
        // A service manager is told by this number not to try again.
        assert_eq!(output.status.code(), Some(78), "{words:?}: {said}");
        assert!(said.contains(named), "{words:?}: {said}");
    }
}

#[test]
fn watching_shows_the_changes() {
    let user = User::new();
    let _manager = manager_of_one_processor(&user);
    let mut watcher = start(user.command(["status", "--json", "--watch"]).stdout(Stdio::piped()));
    let first: serde_json::Value = serde_json::from_str(&line(&mut watcher)).expect("JSON");
    assert_eq!(first["apps"].as_array().map(Vec::len), Some(0));
    let mut program = start(user.command(["run", "--name", "seen", "--", "sh", "-c", "read x"]).stdin(Stdio::piped()));
    while serde_json::from_str::<serde_json::Value>(&line(&mut watcher)).expect("JSON")["apps"][0]["name"] != "seen" {}
    drop(program.stdin.take());
    program.wait().expect("ends");
    while serde_json::from_str::<serde_json::Value>(&line(&mut watcher)).expect("JSON")["apps"][0]["name"] == "seen" {}
}
