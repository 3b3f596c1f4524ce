//! `numaestro advise` and its C call against real managers: what is advised is what the next
//! program gets, and asking changes nothing.

mod support;
mod user;

use numaestro_abi::control::Advice;
use numaestro_skip::skip;
use numaestro_topology::CpuSet;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use support::ended;
use support::processors;
use support::programs::any;
use user::{Mortal, User, json, line, start, text, until};

const POLICIES: [&str; 11] =
    ["equi", "dss", "equip", "cluster", "fifo", "batch", "worst-fit", "FR-Dist", "EQUI-Dist", "round-robin", "linux24"];

/// A manager that lives as long as this, and looks at nothing but its programs.
fn manager(user: &User, policy: &str) -> Mortal {
    let words = ["daemon", "--policy", policy, "--ignore-unmanaged", "--idle-exit", "0"];
    let command = &mut user.command(words);
    let manager = start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    until("a manager", || json(&user.output(["status", "--json"]))["running"] == true);
    manager
}

fn status(user: &User) -> serde_json::Value {
    json(&user.output(["status", "--json"]))
}

/// Advice, and the exit code.
fn advice(user: &User, words: &[&str]) -> (Advice, Option<i32>) {
    let output = user.output(["advise", "--json"].iter().chain(words));
    let value: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    (serde_json::from_value(value).expect("--json has the fields of Advice"), output.status.code())
}

fn set(list: &str) -> CpuSet {
    list.parse().unwrap_or_else(|_| panic!("not a list: {list}"))
}

/// One that asks for at most so many processors, and keeps them because it works: whoever sleeps
/// lends.
fn holder(user: &User, most: &str) -> Mortal {
    let words = ["run", "--no-wait", "--max", most, "--", "sh", "-c", "echo ready; while :; do :; done"];
    let mut holder = start(user.command(words).stdin(Stdio::piped()).stdout(Stdio::piped()));
    assert_eq!(line(&mut holder), "ready");
    holder
}

/// What was advised happens to the next one that comes. `most`: processors that it could use.
fn check(user: &User, policy: &str, most: &str) {
    let before = status(user);
    let (advised, code) = advice(user, &["--cpus", most]);
    assert_eq!(status(user)["decisions"], before["decisions"], "{policy}: asking was a decision");
    assert_eq!(status(user)["apps"].as_array().map(Vec::len), before["apps"].as_array().map(Vec::len));
    assert_eq!(code, Some(if advised.cpus.is_empty() { 75 } else { 0 }), "{advised:?}");
    assert!(!advised.why.is_empty() && set(&advised.free).is_subset(&set(&advised.cpus)), "{advised:?}");
    let script = "echo begun; while :; do :; done";
    let words = ["run", "--max", most, "--", "sh", "-c", script];
    let mut program = start(user.command(words).stdin(Stdio::piped()).stdout(Stdio::piped()));
    if let Some(position) = advised.position {
        until("it waits", || status(user)["queue"].as_array().map_or(0, Vec::len) == position as usize);
    } else {
        assert_eq!(line(&mut program).trim(), "begun");
        // It is told all that it may have, whoever it asks.
        let got = &numaestro_host::affinity::get(program.id()).expect("it runs").to_string();
        assert_eq!(set(got), set(&advised.cpus), "{policy}, at most {most}: {advised:?}, status {}", status(user));
        let apps = status(user)["apps"].clone();
        let own = apps.as_array().and_then(|apps| apps.last()).expect("it runs").clone();
        assert_eq!(own["shared"], advised.shared, "{policy}: {advised:?} {own}");
        assert_eq!(advised.count > 0, set(got).len() == advised.count as usize, "{policy}: {advised:?}");
    }
    drop(program);
    until("it is gone", || status(user)["apps"].as_array().map(Vec::len) == before["apps"].as_array().map(Vec::len));
}

#[test]
fn the_next_program_gets_what_was_advised() {
    let all = processors().to_string();
    for policy in POLICIES {
        let user = User::new();
        let _manager = manager(&user, policy);
        check(&user, policy, &all);
        check(&user, policy, "1");
        // A turn would end, and what is idle would be noticed, while these are compared: with one
        // that can use one processor only, neither matters.
        if policy == "round-robin" {
            continue;
        }
        let _first = holder(&user, "1");
        check(&user, policy, &all);
        check(&user, policy, "1");
        let _second = holder(&user, "1");
        check(&user, policy, "1");
    }
}

#[test]
fn a_running_team_makes_room_as_was_advised() {
    if processors() < 2 {
        skip!("one processor only");
    }
    let path = any("inside");
    let all = processors().to_string();
    for policy in ["equi", "dss", "equip"] {
        let user = User::new();
        let _manager = manager(&user, policy);
        let team = ended::start(&mut user.command(["run", "--", &path, "3600"]));
        until("all is the team's", || status(&user)["apps"][0]["count"] == processors());
        let (advised, _) = advice(&user, &["--cpus", &all]);
        assert_eq!(advised.free, "", "{policy}: nothing is free before room is made: {advised:?}");
        assert!((1..processors()).contains(&(advised.count as usize)), "{policy}: {advised:?}");
        check(&user, policy, &all);
        team.signal(rustix::process::Signal::KILL);
        let _ = team.end();
    }
}

#[test]
fn every_form_says_the_same() {
    let user = User::new();
    let _manager = manager(&user, "equi");
    let said = |words: &[&str]| {
        let output = user.output(["advise", "--cpus", "1"].iter().chain(words));
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let (advised, _) = advice(&user, &["--cpus", "1"]);
    let cpu = advised.cpus.as_str();
    assert_eq!(said(&["--count"]), "1\n");
    assert_eq!(said(&["--taskset"]), format!("taskset -c {cpu}\n"));
    assert!(said(&["--numactl"]).starts_with(&format!("numactl --physcpubind={cpu}")));
    assert!(said(&[]).starts_with(&format!("It would get 1 processor of its own: {cpu} on node ")));
    assert!(said(&["--env"]).contains("export OMP_NUM_THREADS=1\n"));
    assert_eq!(said(&["--taskset", "--", "echo", "a b"]), format!("taskset -c {cpu} echo 'a b'\n"));
    assert_eq!(json(&user.output(["advise", "--json"]))["nodes_of_machine"][0]["distances"][0], 10);

    // A shell does what it is told, and the program is right without numaestro.
    let me = env!("CARGO_BIN_EXE_numaestro");
    let shell = |script: &str| -> Output {
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh", me]).env("NUMAESTRO_DIR", user.path("run")).stdin(Stdio::null());
        command.output().expect("sh")
    };
    let list = |output: &Output| text(&output.stdout).split_whitespace().last().map(str::to_owned);
    let placed = shell("$(\"$1\" advise --cpus 1 --taskset) grep Cpus_allowed_list /proc/self/status");
    assert_eq!(list(&placed).as_deref(), Some(cpu), "{}", text(&placed.stderr));
    let line = shell(
        "eval \"$(\"$1\" advise --cpus 1 -- sh -c 'echo $OMP_NUM_THREADS; grep Cpus_allowed_l /proc/self/status')\"",
    );
    assert!(text(&line.stdout).starts_with("1\n") && list(&line).as_deref() == Some(cpu), "{}", text(&line.stderr));
    let path = any("inside");
    let ended = shell(&format!("eval \"$(\"$1\" advise --cpus 1 --env)\"; exec '{path}' 0.1"));
    let sizes = text(&ended.stderr);
    assert!(ended.status.success() && sizes.contains("sizes 1:") && !sizes.contains(" 2:"), "{sizes}");
}

#[test]
fn who_would_wait_is_told_so_and_gets_75() {
    let user = User::new();
    let _manager = manager(&user, "batch");
    let _all = holder(&user, &processors().to_string());
    let output = user.output(["advise"]);
    assert_eq!(output.status.code(), Some(75));
    assert!(text(&output.stdout).starts_with("It would wait: number 1 in the queue\n"), "{}", text(&output.stdout));
    for (form, said) in [("--count", "1\n"), ("--taskset", ""), ("--numactl", ""), ("--env", "")] {
        let output = user.output(["advise", form]);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(75), said), "{form}");
        assert!(text(&output.stderr).contains("number 1 in the queue"), "{form}: {}", text(&output.stderr));
    }
    let refused = user.output(["advise", "--min", "60000"]);
    assert_eq!(refused.status.code(), Some(75));
    assert!(text(&refused.stderr).contains("60000") && text(&refused.stderr).contains("next:"));
    assert_eq!(user.output(["advise", "--min", "3", "--cpus", "2"]).status.code(), Some(64));
    assert_eq!(user.output(["advise", "--mem", "16"]).status.code(), Some(64));
    for form in ["--taskset", "--numactl", "--count", "--env", "--json"] {
        let refused = user.output(["advise", form, "--mem", "900T"]);
        assert_eq!((refused.status.code(), refused.stdout.is_empty()), (Some(64), true), "{form}");
        assert!(text(&refused.stderr).contains("this machine has "), "{form}: {}", text(&refused.stderr));
    }
}

#[test]
fn without_a_manager_it_looks_at_the_machine_and_promises_nothing() {
    let user = User::new();
    let seen = json(&user.output(["advise", "--json", "--mem", "1M"]));
    assert_eq!(seen["running"], false);
    let own = numaestro_host::affinity::get(0).expect("affinity");
    assert!(set(seen["cpus"].as_str().expect("a list")).is_subset(&own), "{seen}");
    let output = user.output(["advise"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("no promise"), "{}", text(&output.stdout));
    assert_eq!(json(&user.output(["status", "--json"]))["running"], false, "asking has started a manager");
}

#[test]
fn a_program_asks_in_c_without_being_attached() {
    let path = any("advised");
    let user = User::new();
    let _manager = manager(&user, "equi");
    // The first `run` puts the library there.
    assert!(user.run(&["true"]).status.success());
    // Both libraries, where the end of the manager does not remove them.
    let kept = user.path("kept");
    std::fs::create_dir(&kept).expect("a directory");
    let files = std::fs::read_dir(user.path("run")).expect("the runtime directory").flatten().map(|file| file.path());
    for file in files.filter(|path| path.extension().is_some_and(|end| end == "so")) {
        std::fs::copy(&file, kept.join(file.file_name().expect("a name"))).expect("copied");
    }
    let files = std::fs::read_dir(&kept).expect("the copies").flatten().map(|file| file.path());
    let stub = |path: &PathBuf| path.to_string_lossy().contains("libnumaestro_preload");
    let library = files.into_iter().find(stub).expect("the stub in the runtime directory");
    let ask = |words: &[&str]| {
        let mut command = Command::new(&path);
        command.args(words).env("LD_PRELOAD", &library).env("NUMAESTRO_DIR", user.path("run"));
        text(&command.output().expect("it starts").stdout)
    };
    for wanted in [1, processors()] {
        let most = wanted.to_string();
        let (advised, _) = advice(&user, &["--cpus", &most]);
        let cpus = set(&advised.cpus).iter().fold(String::new(), |text, cpu| format!("{text} {cpu}"));
        let expected = format!("advised 0 {wanted} {wanted} 0 0{cpus}\n{}\n", advised.why);
        assert_eq!(ask(&[&most]), expected);
    }
    assert!(ask(&["0", "60000"]).starts_with("advised -4 0 0 0 0\nat least 60000"), "{}", ask(&["0", "60000"]));
    assert_eq!(status(&user)["apps"].as_array().map(Vec::len), Some(0), "asking made it an application");
    user.output(["stop"]);
    let alone = ask(&["1"]);
    assert!(alone.starts_with("advised 0 1 1 2147483648 0 ") && alone.contains("no manager answers"), "{alone}");
}
