//! Programs with other rights than their caller's (setuid): nobody of the caller's may move them
//! later, so they are neither narrowed nor counted.

mod support;

use numaestro_skip::{programs, skip};
use rustix::process::Signal;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::ended::{self, Running};
use support::manager::Manager;
use support::{eventually, is_root, processors, turn};

/// Whose rights the program gets. Nobody has this number.
const OTHER: u32 = 730_009;

/// A copy of `sleep` with another user's rights; the reason why there is none.
fn setuid_program(place: &Path) -> Result<PathBuf, &'static str> {
    if !is_root() {
        return Err("only root makes programs with another user's rights");
    }
    let found = Command::new("sh").args(["-c", "command -v sleep"]).output().expect("a shell");
    let copy = place.join("other-rights");
    let mode = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
    programs::copy(String::from_utf8_lossy(&found.stdout).trim(), &copy, 0o755);
    std::os::unix::fs::chown(&copy, Some(OTHER), None).expect("root may");
    // Whoever starts it need not be able to read it.
    mode(&copy, 0o4711).and_then(|()| mode(place, 0o755)).expect("ours");
    let mut probe = Command::new(&copy).arg("100").spawn().expect("starts");
    let has_rights = eventually_is(probe.id(), &copy) && uids(probe.id()).contains(&OTHER.to_string());
    probe.kill().and_then(|()| probe.wait()).expect("ends");
    if has_rights { Ok(copy) } else { Err("the file system of temporary files gives no rights") }
}

fn line_of(pid: u32, name: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim().to_owned()
}

fn uids(pid: u32) -> String {
    line_of(pid, "Uid:")
}

fn mask(pid: u32) -> String {
    line_of(pid, "Cpus_allowed_list:")
}

fn is(pid: u32, program: &Path) -> bool {
    std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|found| found == program)
}

fn eventually_is(pid: u32, program: &Path) -> bool {
    eventually(|| is(pid, program))
}

/// The process below `root`, itself included, that is this program.
fn find(root: u32, program: &Path) -> Option<u32> {
    let children = std::fs::read_to_string(format!("/proc/{root}/task/{root}/children")).unwrap_or_default();
    let below = || children.split_whitespace().find_map(|child| find(child.parse().ok()?, program));
    if is(root, program) { Some(root) } else { below() }
}

fn end(running: Running) -> ended::Ended {
    running.signal(Signal::KILL);
    running.end()
}

#[test]
fn they_have_all_processors_and_count_for_nobody() {
    let _turn = turn();
    if processors() < 2 {
        skip!("one processor only");
    }
    let place = tempfile::tempdir().expect("a directory");
    let program = match setuid_program(place.path()) {
        Ok(program) => program,
        Err(reason) => skip!("{reason}"),
    };
    let whole = mask(std::process::id());
    let manager = Manager::started();
    let name = program.to_str().expect("plain");
    let busy = "while :; do :; done";
    let other = ended::start(&mut manager.run_command(["sh", "-c", busy]));
    let app = |pid: u32| manager.status().and_then(|status| status.apps.into_iter().find(|app| app.pid == pid));
    assert!(eventually(|| app(other.pid()).is_some_and(|app| app.count as usize == processors())));

    // Started by `run` itself.
    let one = ended::start(&mut manager.run_command([name, "100"]));
    assert!(eventually_is(one.pid(), &program));
    assert_eq!(mask(one.pid()), whole);
    assert!(app(one.pid()).is_none(), "it is an application");
    assert_eq!(app(other.pid()).map(|app| app.count as usize), Some(processors()), "somebody has processors for it");
    let said = end(one).stderr;
    assert!(said.contains("runs without numaestro: it is setuid"), "{said}");

    // Started by a program that shares the machine, in any way.
    let nested = format!("{} run -- {name} 100 & wait", support::manager::NUMAESTRO);
    let spawned = format!("{name} 100 & wait");
    let ways = [
        vec!["run", "--", "sh", "-c", nested.as_str()],
        vec!["run", "--", "sh", "-c", spawned.as_str()],
        vec!["run", "--pool", "now", "--", "sh", "-c", nested.as_str()],
        vec!["run", "--pool", "now", "--", "sh", "-c", spawned.as_str()],
    ];
    for words in ways {
        let around = ended::start(&mut manager.command(&words));
        assert!(eventually(|| app(around.pid()).is_some_and(|app| (app.count as usize) < processors())), "{words:?}");
        assert!(eventually(|| find(around.pid(), &program).is_some()), "{words:?}");
        let inner = find(around.pid(), &program).expect("lives");
        assert_eq!(mask(inner), whole, "{words:?}");
        assert!(app(inner).is_none(), "{words:?}");
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(inner.cast_signed()).expect("not 0"),
            Signal::KILL,
        )
        .expect("lives");
        around.end();
    }
    end(other);
    manager.expect_all_free();
}

#[test]
fn a_dry_run_says_that_nobody_steers_them() {
    let place = tempfile::tempdir().expect("a directory");
    let program = match setuid_program(place.path()) {
        Ok(program) => program,
        Err(reason) => skip!("{reason}"),
    };
    let manager = Manager::new();
    let said = ended::run(&mut manager.command(["run", "--dry-run", "--", program.to_str().expect("plain")]));
    assert!(said.status.success() && said.stdout.contains("steered by   nobody: it is setuid"), "{}", said.stdout);
}
