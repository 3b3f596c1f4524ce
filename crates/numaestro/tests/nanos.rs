//! The application interface of NANOS against a real manager: virtual processors that come and go,
//! and programs whose speedup is measured while they run (`client/tests`).
//!
//! How fast anything is does not matter here; that nothing is lost, and no result changes, does.

mod support;

use numaestro_skip::{part, skip};
use rustix::process::Signal;
use support::ended::{self, Ended};
use support::manager::{Manager, alone};
use support::programs::{any, builds};
use support::shaker::Shaker;
use support::{eventually, processors, turn};

/// A number that the program of virtual processors wrote after this word.
fn told(ended: &Ended, word: &str) -> Option<u64> {
    let mut words = ended.stderr.lines().find(|line| line.starts_with("asked"))?.split(' ');
    words.find(|found| *found == word)?;
    words.next()?.parse().ok()
}

#[test]
fn virtual_processors_do_all_their_tasks_while_processors_come_and_go() {
    let _turn = turn();
    let manager = Manager::started();
    for (compiler, path) in builds("vps") {
        let bare = ended::run(&mut alone([path.as_str(), "0.1"]));
        assert!(bare.status.success() && told(&bare, "parked") == Some(0), "{bare:?}");
        let shaker = Shaker::start(&manager);
        let steered = manager.run([path.as_str(), "2"]);
        drop(shaker);
        steered.expect(&format!("vps by {compiler}"), &bare.stdout);
        assert!(told(&steered, "parked") > Some(0), "nobody ever released itself: {steered:?}");
        if processors() > 1 {
            assert!(told(&steered, "asked") > Some(0), "nobody was ever asked for a processor: {steered:?}");
        } else {
            part("whether a processor is asked for: one processor only");
        }
    }
    manager.expect_all_free();
}

#[test]
fn idle_virtual_processors_leave_their_processors_to_others() {
    let _turn = turn();
    if processors() < 2 {
        skip!("one processor only");
    }
    let path = any("vps");
    let manager = Manager::started();
    // No task at all: after its first batch every virtual processor parks, and the program keeps
    // the one that nobody can lack.
    let mut idle = manager.run_command([path.as_str(), "3600"]);
    let idle = ended::start(idle.env("VPS_IDLE", "1"));
    let count = |pid: u32| {
        let status = manager.status()?;
        status.apps.iter().find(|app| app.pid == pid).map(|app| app.count)
    };
    let pid = idle.pid();
    assert!(eventually(|| count(pid) == Some(1)), "it keeps what it does not use: {:?}", manager.status());
    idle.signal(Signal::KILL);
    let _ = idle.end();
    manager.expect_all_free();
}

#[test]
fn virtual_processors_go_on_when_the_manager_is_killed() {
    let _turn = turn();
    let path = any("vps");
    let bare = ended::run(&mut alone([path.as_str(), "0.1"]));
    for wait in [5, 40, 300] {
        let manager = Manager::started();
        let running = ended::start(&mut manager.run_command([path.as_str(), "1"]));
        std::thread::sleep(std::time::Duration::from_millis(wait));
        Manager::signal(manager.pid(), Signal::KILL);
        running.end().expect("vps without their manager", &bare.stdout);
    }
}

#[test]
fn no_result_changes_because_a_program_is_measured() {
    let _turn = turn();
    let manager = Manager::started();
    let set = ended::run(&mut manager.command(["policy", "set", "pdpa"]));
    assert!(set.status.success(), "{set:?}");
    // Only programs whose teams follow are measured at several sizes; the others must not notice
    // either.
    let whole = ["inside", "outside", "learned", "private", "persist", "tasks"].map(|name| (name, "auto"));
    let follow = ["inside", "reduce", "tasks", "constructs", "schedules", "explicit"].map(|name| (name, "malleable"));
    for (name, class) in whole.into_iter().chain(follow) {
        for (compiler, path) in builds(name) {
            let bare = ended::run(&mut alone([path.as_str(), "0.05"]));
            let mut command = manager.command(["run", "--class", class, "--", &path, "0.4"]);
            ended::run(&mut command).expect(&format!("{name} by {compiler}, class {class}"), &bare.stdout);
        }
    }
    manager.expect_all_free();
}
