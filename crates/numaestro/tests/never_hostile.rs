//! A program that lies, floods, writes garbage into its page, ignores every decision, or is another
//! user's hurts itself at most.

mod support;

use numaestro_skip::skip;
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;
use support::ended::{self, Running};
use support::manager::{Manager, NUMAESTRO, alone};
use support::programs::any;
use support::{eventually, has, is_root, processors, turn};

fn hostile(manager: &Manager, how: &str, seconds: &str) -> Running {
    let path = any("hostile");
    let socket = manager.attach_socket();
    ended::start(&mut alone([path.as_str(), socket.to_str().expect("plain"), how, seconds]))
}

/// While hostile programs run, a good one gives its result, and the manager stays up, sane and
/// small.
#[track_caller]
fn others_are_unaffected(how: &str, count: usize) {
    let manager = Manager::started();
    let pid = manager.pid();
    let (inside, persist) = (any("inside"), any("persist"));
    let line = ended::run(&mut alone([inside.as_str(), "0"])).stdout;
    let other = ended::run(&mut alone([persist.as_str(), "0"])).stdout;
    let good = [
        (ended::start(&mut manager.run_command([inside.as_str(), "2"])), line.clone()),
        (ended::start(&mut manager.run_command([persist.as_str(), "1.5"])), other),
    ];
    let bad: Vec<Running> = (0..count).map(|_| hostile(&manager, how, "1.2")).collect();
    for _ in 0..5 {
        std::thread::sleep(Duration::from_millis(200));
        expect_sane(&manager);
        manager.run([inside.as_str(), "0.02"]).expect("a new program meanwhile", &line);
    }
    for it in bad {
        let ended = it.end();
        let there = how == "flood" || how == "leave" || ended.stdout.contains("attached");
        assert!(ended.status.success() && there, "{how}: {}{}", ended.stdout, ended.stderr);
    }
    for (running, expected) in good {
        running.end().expect(how, &expected);
    }
    assert_eq!(manager.pid(), pid, "{how}: the manager was lost");
    manager.expect_all_free();
    assert!(resident_kib(pid) < 200 * 1024, "the manager has grown to {} KiB", resident_kib(pid));
}

/// Nobody has more than there is, every processor has one owner, and everybody who runs has one.
#[track_caller]
fn expect_sane(manager: &Manager) {
    let status = manager.status().expect("the manager answers");
    assert_eq!(status.pus.len(), processors(), "{status:#?}");
    for app in &status.apps {
        assert!(app.count as usize <= processors(), "{app:#?}");
        // Before it has attached it is judged by what its threads do.
        let attached = app.state == "running" && !app.runtimes.is_empty();
        let honest = attached && ["inside", "persist"].contains(&app.name.as_str());
        assert!(!honest || app.request as usize == processors(), "somebody else asked for it: {app:#?}");
        assert!(app.state == "wrapper" || app.state == "waiting" || app.count >= 1, "{app:#?}");
    }
}

fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

#[test]
fn garbage_in_its_page() {
    let _turn = turn();
    others_are_unaffected("garbage", 2);
}

#[test]
fn lies_about_itself_and_about_others() {
    let _turn = turn();
    others_are_unaffected("liar", 3);
}

#[test]
fn claims_of_what_others_have() {
    let _turn = turn();
    others_are_unaffected("claims", 2);
}

#[test]
fn floods_of_packets() {
    let _turn = turn();
    others_are_unaffected("flood", 3);
}

#[test]
fn comes_and_goes_without_a_word() {
    let _turn = turn();
    others_are_unaffected("leave", 2);
}

#[test]
fn a_page_that_is_resized() {
    let _turn = turn();
    others_are_unaffected("resize", 1);
}

#[test]
fn ignores_every_decision() {
    let _turn = turn();
    others_are_unaffected("silent", 2);
}

/// A program that does not carry a decision out loses its processors all the same: it is folded
/// from outside.
#[test]
fn the_heir_of_a_program_that_does_not_react_gets_its_processors() {
    let _turn = turn();
    if processors() < 2 {
        skip!("one processor only");
    }
    let manager = Manager::started();
    let silent = hostile(&manager, "silent", "30");
    let app_of = |pid: u32| manager.status().and_then(|s| s.apps.into_iter().find(|app| app.pid == pid));
    assert!(
        eventually(|| app_of(silent.pid()).is_some_and(|app| app.count as usize == processors())),
        "never had them all"
    );
    let heir = ended::start(&mut manager.run_command(["sh", "-c", "while :; do :; done"]));
    let got = eventually(|| {
        let (Some(old), Some(new)) = (app_of(silent.pid()), app_of(heir.pid())) else { return false };
        let both: Vec<&str> = [old.cpus.as_str(), new.cpus.as_str()].into();
        old.count >= 1
            && new.count >= 1
            && !new.shared
            && both[0] != both[1]
            && old.count as usize + new.count as usize == processors()
    });
    assert!(got, "the heir waits: {:#?}", manager.status());
    let (old, new) = (allowed(silent.pid()), allowed(heir.pid()));
    silent.signal(Signal::KILL);
    heir.signal(Signal::KILL);
    let _ = (silent.end(), heir.end());
    assert!(!old.is_empty() && !new.is_empty() && old != new, "it was not folded: {old:?}, its heir {new:?}");
    manager.expect_all_free();
}

fn allowed(pid: u32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default().trim().to_owned()
}

fn control(manager: &Manager) -> UnixStream {
    let stream = UnixStream::connect(manager.dir().join("control")).expect("the control socket");
    stream
        .set_read_timeout(Some(support::hang()))
        .and_then(|()| stream.set_write_timeout(Some(support::hang())))
        .expect("set");
    stream
}

/// Every line gets an error or a closed connection, and the manager goes on.
#[test]
fn nonsense_on_the_control_socket() {
    let _turn = turn();
    let all = numaestro_host::affinity::get(0).expect("readable");
    let manager = Manager::started();
    let pid = manager.pid();
    let huge = format!("{{\"ask\":\"policy-set\",\"policy\":\"{}\"}}\n", "x".repeat(3_000_000));
    let deep = format!("{{\"ask\":{}\n", "[".repeat(200_000));
    let long_name =
        format!("{{\"ask\":\"run\",\"command\":[\"x\"],\"options\":{{\"name\":\"{}\"}}}}\n", "n".repeat(500_000));
    let run = |options: &str| format!("{{\"ask\":\"run\",\"command\":[],\"options\":{{{options}}}}}\n");
    let lines: Vec<String> = vec![
        "\n".into(),
        "nonsense\n".into(),
        "\u{0}\u{1}\u{2}\n".into(),
        "{\"ask\":\"run\"}\n".into(),
        "{\"ask\":\"fly\"}\n".into(),
        "{\"ask\":\"status\",\"ask\":\"status\"}\n".into(),
        "{\"ask\":\"release\",\"app\":18446744073709551615}\n".into(),
        "{\"ask\":\"release\",\"app\":-1}\n".into(),
        "{\"ask\":\"policy-set\",\"policy\":\"share=nothing\"}\n".into(),
        "{\"ask\":\"policy-set\",\"policy\":\"\"}\n".into(),
        "{\"ask\":\"adopt\",\"pid\":0,\"options\":{}}\n".into(),
        "{\"ask\":\"adopt\",\"pid\":4294967295,\"options\":{}}\n".into(),
        format!("{{\"ask\":\"adopt\",\"pid\":{pid},\"options\":{{}}}}\n"),
        run("\"min\":4294967295"),
        run("\"min\":5,\"max\":1"),
        run("\"max\":0"),
        run("\"weight_milli\":0"),
        run("\"weight_milli\":4294967295"),
        run("\"min\":4294967295,\"wait\":true"),
        huge,
        deep,
        long_name,
    ];
    for line in &lines {
        let mut stream = control(&manager);
        let sent = stream.write_all(line.as_bytes()).and_then(|()| stream.shutdown(std::net::Shutdown::Write));
        let mut answer = String::new();
        let read = BufReader::new(&stream).read_line(&mut answer);
        let start: String = line.chars().take(60).collect();
        if sent.is_ok()
            && let Err(error) = read
        {
            let reset = error.kind() == std::io::ErrorKind::ConnectionReset;
            assert!(reset, "{start}: no answer and no end: {error}");
        }
        assert_eq!(manager.pid(), pid, "the manager was lost at {start}");
    }
    manager.expect_all_free();
    drop(manager);
    // This process has asked to be run several times, and then did not become any program.
    assert_eq!(numaestro_host::affinity::get(0).expect("readable"), all);
}

/// Connections that say nothing, or half a line, do not keep others from being heard.
#[test]
fn idle_and_half_spoken_connections() {
    let _turn = turn();
    let manager = Manager::started();
    let pid = manager.pid();
    let mut idle: Vec<UnixStream> = Vec::new();
    for number in 0..300 {
        let Ok(mut stream) = UnixStream::connect(manager.dir().join("control")) else { break };
        if number % 2 == 0 {
            let _ = stream.write_all(b"{\"ask\":");
        }
        idle.push(stream);
    }
    assert!(idle.len() >= 100, "only {} connections", idle.len());
    // Watchers that never read: their answers must not fill the manager.
    for stream in &mut idle {
        let _ = stream.write_all(b"\n{\"ask\":\"watch\"}\n");
    }
    for _ in 0..20 {
        assert_eq!(manager.run(["true"]).code(), 0);
    }
    assert_eq!(manager.pid(), pid, "the manager does not hear the others");
    assert!(resident_kib(pid) < 200 * 1024, "the manager has grown to {} KiB", resident_kib(pid));
    drop(idle);
    manager.expect_all_free();
}

/// The directory keeps other users out; where it is opened by mistake, the manager itself refuses
/// them.
#[test]
fn another_user() {
    let _turn = turn();
    if !is_root() || !has("setpriv") {
        skip!("only root can become another user, with setpriv");
    }
    let path = any("hostile");
    let place = tempfile::Builder::new().prefix("numaestro-other-").tempdir().expect("a directory");
    let open = |path: &std::path::Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
    let (copy, command) = (place.path().join("hostile"), place.path().join("numaestro"));
    open(place.path(), 0o755).expect("ours");
    numaestro_skip::programs::copy(&path, &copy, 0o755);
    numaestro_skip::programs::copy(NUMAESTRO, &command, 0o755);
    let manager = Manager::started();
    let socket = manager.attach_socket();
    let as_nobody = |words: &[&str]| {
        let mut all: Command = alone(["setpriv", "--reuid", "nobody", "--clear-groups"]);
        ended::run(all.args(words).env("NUMAESTRO_DIR", manager.dir()).current_dir("/"))
    };
    let hostile = [copy.to_str().expect("plain"), socket.to_str().expect("plain"), "refused"];
    let command = command.to_str().expect("plain");
    for opened in [false, true] {
        if opened {
            open(manager.dir(), 0o755).expect("ours");
            for name in ["attach", "control"] {
                open(&manager.dir().join(name), 0o777).expect("ours");
            }
        }
        let refused = as_nobody(&hostile);
        assert!(refused.status.success(), "another user got a page (opened: {opened}): {}", refused.stdout);
        for words in [[command, "status"], [command, "stop"]] {
            let answer = as_nobody(&words);
            assert!(
                !answer.status.success() && !answer.stderr.is_empty(),
                "{words:?}: {}{}",
                answer.stdout,
                answer.stderr
            );
        }
        let run = as_nobody(&[command, "run", "--", "echo", "runs"]);
        run.expect("the other user's program runs all the same", "runs\n");
        assert!(!run.stderr.is_empty(), "and is told that it is not managed");
    }
    open(manager.dir(), 0o700).expect("ours");
    manager.expect_all_free();
}
