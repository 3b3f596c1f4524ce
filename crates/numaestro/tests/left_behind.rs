//! Nothing is left behind: after `stop`, `release` and the death of the manager every thread of
//! every program may run where it might without us. What the kernel says counts
//! (`Cpus_allowed_list` of every thread), and nothing that numaestro says of itself.
//! `NUMAESTRO_TEST_PROGRAMS=500` for the long form.

mod support;

use numaestro_skip::skip;
use rustix::process::Signal;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use support::crowd::{Crowd, field, guards_of, is_run, numbers};
use support::manager::{Manager, NUMAESTRO, alone};
use support::programs::{any, builds, program};
use support::{eventually, has, is_root, number, processors, turn};

/// After the death of a manager: two looks of a helper thread, or the guard's patience, and as much
/// again.
const AFTER_DEATH: Duration = Duration::from_secs(12);

/// Threads that are a part of a program: threads of Python sleep, a child sleeps, and one that has
/// begun a session of its own.
const PYTHON: &str = "import subprocess, threading, time
for i in range(2): threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
subprocess.Popen(['sleep', '3600'])
time.sleep(3600)";
const SHELL: &str = "sleep 3600 & (setsid sleep 3600 > /dev/null &); sh -c 'sleep 3600; :' ; :";

/// New threads are made now, by programs that have been started under a manager.
#[track_caller]
fn expect_whole_after_growth(crowd: &Crowd, growing: &[u32], when: &str) {
    for pid in growing {
        Manager::signal(*pid, Signal::USR1);
    }
    let grown = |pid: &u32| numbers(Path::new(&format!("/proc/{pid}/task"))).len() >= TEAM;
    assert!(eventually(|| growing.iter().all(grown)), "{when}: not every program has made its new threads");
    // A thread that has just been born may still be on its way to where its runtime puts it.
    std::thread::sleep(Duration::from_millis(200));
    crowd.expect_whole(when);
}

/// The large team of `grows`.
const TEAM: usize = 5;

/// Programs of all kinds under this manager, at rest and on a part of the machine; and those among
/// them that can make new threads.
#[track_caller]
fn mixed(manager: &Manager, crowd: &mut Crowd, count: u64) -> Vec<u32> {
    let mut growing = Vec::new();
    let kinds: Vec<Vec<String>> = [
        program("gcc", "grows").map(|path| vec![path]),
        program("clang", "grows").map(|path| vec![path]),
        has("python3").then(|| vec!["python3".to_owned(), "-c".to_owned(), PYTHON.to_owned()]),
        Some(vec!["sh".to_owned(), "-c".to_owned(), SHELL.to_owned()]),
    ]
    .into_iter()
    .flatten()
    .collect();
    for at in 0..count {
        let words = &kinds[at as usize % kinds.len()];
        let pid = crowd.add(&mut manager.run_command(words));
        if words.len() == 1 {
            growing.push(pid);
        }
        // A thousand processes that start at once on two processors would tell more of the machine
        // than of us.
        if at % 8 == 7 {
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    let settled = eventually(|| {
        let known = manager.status().map_or(0, |status| status.apps.len() as u64);
        let started = growing.iter().all(|pid| numbers(Path::new(&format!("/proc/{pid}/task"))).len() >= 2);
        known >= count && started && crowd.processes().iter().all(|process| !is_run(process))
    });
    // Python and shells have their children by then too.
    let mut before = 0;
    let all_there = eventually(|| {
        std::thread::sleep(Duration::from_millis(700));
        std::mem::replace(&mut before, crowd.threads()) == before
    });
    assert!(
        settled && all_there,
        "not all programs run: {} of {count}",
        manager.status().map_or(0, |status| status.apps.len())
    );
    let narrow = crowd.narrow().len();
    // Else the test would say nothing.
    assert!(
        narrow * 2 > crowd.threads(),
        "only {narrow} of {} threads are kept on a part of the machine",
        crowd.threads()
    );
    growing
}

fn programs() -> u64 {
    number("NUMAESTRO_TEST_PROGRAMS", 40)
}

#[test]
fn stop_leaves_nothing() {
    if processors() < 2 {
        skip!("one processor only");
    }
    let (manager, mut crowd) = (Manager::started(), Crowd::new("stop"));
    let growing = mixed(&manager, &mut crowd, programs());
    let output = manager.command(["stop"]).output().expect("the command runs");
    // At once: it has verified before it said so.
    crowd.expect_whole("after `stop`");
    assert!(output.status.success(), "{output:?}");
    expect_whole_after_growth(&crowd, &growing, "threads made after `stop`");
}

#[test]
fn release_leaves_nothing() {
    if processors() < 2 {
        skip!("one processor only");
    }
    let (manager, mut crowd) = (Manager::started(), Crowd::new("release"));
    let growing = mixed(&manager, &mut crowd, programs());
    let apps: Vec<u64> = manager.status().expect("it runs").apps.iter().map(|app| app.app).collect();
    for app in &apps {
        let output = manager.command(["release", &app.to_string()]).output().expect("the command runs");
        assert!(output.status.success(), "{output:?}");
        // Of a test that fails: whether the manager took masks for pins.
        eprint!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    }
    crowd.expect_whole("after `release`");
    expect_whole_after_growth(&crowd, &growing, "threads made after `release`");
    // Longer than a helper thread sleeps: none comes back by itself.
    std::thread::sleep(Duration::from_millis(4500));
    crowd.expect_whole("a while after `release`");
    let back = manager.status().expect("it still runs").apps;
    assert!(back.is_empty(), "they are back: {back:#?}");
}

#[test]
fn a_killed_manager_leaves_nothing() {
    if processors() < 2 {
        skip!("one processor only");
    }
    let (manager, mut crowd) = (Manager::started(), Crowd::new("kill"));
    let growing = mixed(&manager, &mut crowd, programs());
    Manager::signal(manager.pid(), Signal::KILL);
    crowd.expect_whole_within(AFTER_DEATH, "after the death of the manager");
    expect_whole_after_growth(&crowd, &growing, "threads made after the death of the manager");
    std::thread::sleep(Duration::from_secs(3));
    crowd.expect_whole("a while after the death of the manager");
}

/// The guard has been killed as well: `stop` does what it would have done.
#[test]
fn stop_cleans_up_after_a_manager_that_was_killed() {
    if processors() < 2 {
        skip!("one processor only");
    }
    let (manager, mut crowd) = (Manager::started(), Crowd::new("late"));
    crowd.add(&mut manager.run_command(["sh", "-c", SHELL]));
    crowd.add(&mut manager.run_command(["sh", "-c", "while :; do :; done"]));
    assert!(eventually(|| crowd.narrow().len() >= 3), "nobody was narrowed: {:#?}", manager.status());
    let pid = manager.pid();
    let guards = guards_of(manager.dir());
    assert_eq!(guards.len(), 1, "one guard");
    Manager::signal(guards[0], Signal::KILL);
    Manager::signal(pid, Signal::KILL);
    std::thread::sleep(Duration::from_secs(4));
    assert!(!crowd.narrow().is_empty(), "somebody else has cleaned up");
    let output = manager.command(["stop"]).output().expect("the command runs");
    crowd.expect_whole("after `stop` without a manager");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("was killed"), "{output:?}");
}

/// The guard has been killed as well: programs with the shim need nobody.
#[test]
fn programs_with_the_shim_free_themselves() {
    if processors() < 2 {
        skip!("one processor only");
    }
    let paths: Vec<String> = builds("grows").into_iter().map(|(_, path)| path).collect();
    let (manager, mut crowd) = (Manager::started(), Crowd::new("alone"));
    // Two that want everything all the time, so that nobody lends anything to anybody.
    let mut hogs = Crowd::new("beside");
    for _ in 0..2 {
        hogs.add(&mut manager.run_command(["sh", "-c", "while :; do :; done"]));
    }
    let two = [&paths[0], &paths[paths.len() - 1]];
    let growing = two.map(|path| crowd.add(&mut manager.run_command([path])));
    // Team and helper thread of each.
    assert!(eventually(|| crowd.narrow().len() == 6), "nobody was narrowed: {:#?}", manager.status());
    let pid = manager.pid();
    for guard in guards_of(manager.dir()) {
        Manager::signal(guard, Signal::KILL);
    }
    Manager::signal(pid, Signal::KILL);
    crowd.expect_whole_within(AFTER_DEATH, "by themselves");
    expect_whole_after_growth(&crowd, &growing, "threads made after that");
}

#[test]
fn the_guard_ends_with_an_orderly_end() {
    let manager = Manager::started();
    assert_eq!(guards_of(manager.dir()).len(), 1);
    assert!(manager.command(["stop"]).output().expect("the command runs").status.success());
    assert!(eventually(|| guards_of(manager.dir()).is_empty()), "the guard stays");
}

/// A child that is born a moment before its `run` ends has never been seen by the manager.
#[test]
fn the_last_born_are_not_forgotten() {
    if processors() < 2 {
        skip!("one processor only");
    }
    let (manager, mut crowd) = (Manager::started(), Crowd::new("born"));
    // Two that want everything, so that everybody is on a part.
    let mut hogs = Crowd::new("hogs");
    for _ in 0..2 {
        hogs.add(&mut manager.run_command(["sh", "-c", "while :; do :; done"]));
    }
    assert!(eventually(|| hogs.narrow().len() == 2), "nobody was narrowed: {:#?}", manager.status());
    for delay in ["0", "0.01", "0.03", "0.06", "0.09"] {
        let script = format!("sleep {delay}; (setsid sleep 3600 &); sleep 3600 & exit 0");
        crowd.add(&mut manager.run_command(["sh", "-c", &script]));
    }
    assert!(eventually(|| crowd.children.iter_mut().all(|child| child.try_wait().is_ok_and(|end| end.is_some()))));
    // Long before anybody stops: the manager looks for them by itself.
    crowd.expect_whole_within(Duration::from_secs(3), "children that outlive their `run`");
    assert!(crowd.processes().len() >= 10, "the children are there");
    assert_eq!(hogs.narrow().len(), 2, "those that are managed stay where they are");
}

/// A daemon that a managed shell has started lives on when the shell ends, and when the manager
/// does.
#[test]
fn daemons_of_a_managed_shell_are_given_back() {
    if processors() < 2 {
        skip!("one processor only");
    }
    for ending in ["the shell ends", "stop"] {
        let (manager, mut crowd) = (Manager::started(), Crowd::new("daemons"));
        let mut hog = Crowd::new("hog");
        hog.add(&mut manager.run_command(["sh", "-c", "while :; do :; done"]));
        let twice = "sleep 0.3; (setsid sh -c 'sh -c \"sleep 3600; :\" & exit 0' &); while :; do :; done";
        let shell = crowd.add(&mut manager.command(["shell", "sh", "-c", twice]));
        let there = |crowd: &Crowd| crowd.processes().len() >= 3 && crowd.narrow().len() >= 3;
        assert!(eventually(|| there(&crowd)), "{:#?}", manager.status());
        if ending == "stop" {
            assert!(manager.command(["stop"]).output().expect("the command runs").status.success());
        } else {
            Manager::signal(shell, Signal::KILL);
            assert!(crowd.children[0].wait().is_ok());
        }
        crowd.expect_whole_within(Duration::from_secs(if ending == "stop" { 0 } else { 3 }), ending);
        assert!(!crowd.processes().is_empty());
    }
}

/// Goes back to its first processor whatever others do.
const STUBBORN: &str = "import os\nall = sorted(os.sched_getaffinity(0))\nwhile True: os.sched_setaffinity(0, all[:1])";

/// A managed program that has narrowed itself, and its process id.
fn stubborn(name: &str) -> (Manager, Crowd, u32) {
    let (manager, mut crowd) = (Manager::started(), Crowd::new(name));
    let pid = crowd.add(&mut manager.run_command(["python3", "-c", STUBBORN]));
    assert!(eventually(|| crowd.narrow().len() == 1));
    (manager, crowd, pid)
}

/// A program that narrows itself has what it wants: nobody widens it at the end, and there is
/// nothing to say.
#[test]
fn what_has_narrowed_itself_stays_narrow() {
    let _turn = turn();
    if processors() < 2 {
        skip!("one processor only");
    }
    if !has("python3") {
        skip!("python3 is not here");
    }
    let (manager, crowd, _) = stubborn("narrow");
    let output = manager.command(["stop"]).output().expect("the command runs");
    assert!(output.status.success(), "{output:?}");
    assert!(manager.status().is_none() && crowd.narrow().len() == 1);
}

#[test]
fn release_names_what_has_narrowed_itself() {
    let _turn = turn();
    if processors() < 2 {
        skip!("one processor only");
    }
    if !has("python3") {
        skip!("python3 is not here");
    }
    let (manager, crowd, pid) = stubborn("named");
    let output = manager.command(["release", &pid.to_string()]).output().expect("the command runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(said.contains("runs as if there were no manager; but 1 was bound by itself or by others"), "{said}");
    assert!(said.contains(&format!(" {pid} (python3): bound to ")) && crowd.narrow().len() == 1, "{said}");
}

/// Who waits for its turn goes on waiting under the next manager, and in the same order.
#[test]
fn the_queue_outlives_the_manager() {
    let (manager, mut crowd) = (Manager::started(), Crowd::new("queue"));
    let order = manager.dir().join("order");
    // Each wants the whole machine, so that they run one after the other.
    let all = processors().to_string();
    let first = crowd.add(&mut manager.command(["run", "--min", &all, "--", "sleep", "3600"]));
    assert!(eventually(|| manager.status().is_some_and(|status| status.apps.len() == 1)));
    for name in ["one", "two", "three", "four"] {
        let script = format!("echo {name} >> {}; sleep 0.2", order.display());
        let mut command = manager.command(["run", "--wait", "--min", &all, "--name", name, "--", "sh", "-c", &script]);
        crowd.add(&mut command);
        let waits = |name: &str| {
            let status = manager.status()?;
            let app = status.apps.iter().find(|app| app.name == name)?;
            (status.queue.last() == Some(&app.app)).then_some(())
        };
        assert!(eventually(|| waits(name).is_some()), "{name} does not wait: {:#?}", manager.status());
    }
    for kill in 0..2 {
        let before = manager.pid();
        Manager::signal(before, Signal::KILL);
        let mut names = Vec::new();
        let same = eventually(|| {
            let Some(status) = manager.status().filter(|status| status.pid != before) else { return false };
            let name = |number: &u64| status.apps.iter().find(|app| app.app == *number).map(|app| app.name.clone());
            names = status.queue.iter().filter_map(name).collect();
            names == ["one", "two", "three", "four"]
        });
        assert!(same, "kill {kill}: the queue is {names:?}: {}", serde_json::to_string(&manager.status()).unwrap());
        assert!(!order.exists(), "kill {kill}: one has gone past the queue");
    }
    Manager::signal(first, Signal::TERM);
    let ran = || fs::read_to_string(&order).unwrap_or_default();
    assert!(eventually(|| ran() == "one\ntwo\nthree\nfour\n"), "they ran as {:?}", ran());
}

/// An orderly end is another thing: who waits starts without a manager, as it always was.
#[test]
fn the_queue_ends_with_an_orderly_end() {
    let (manager, mut crowd) = (Manager::started(), Crowd::new("ended"));
    let all = processors().to_string();
    crowd.add(&mut manager.command(["run", "--min", &all, "--", "sleep", "3600"]));
    assert!(eventually(|| manager.status().is_some_and(|status| status.apps.len() == 1)));
    let waiting = support::ended::start(&mut manager.command(["run", "--wait", "--min", &all, "--", "echo", "runs"]));
    assert!(eventually(|| manager.status().is_some_and(|status| status.queue.len() == 1)));
    assert!(manager.command(["stop"]).output().expect("the command runs").status.success());
    let end = waiting.end();
    assert!(end.stdout == "runs\n" && end.stderr.contains("runs without numaestro"), "{end:?}");
    assert!(manager.status().is_none(), "nobody has started another one");
}

#[test]
fn a_second_manager_says_that_it_is_one() {
    let manager = Manager::started();
    let before = manager.status().expect("it runs");
    let output = manager.command(["daemon", "--policy", "dss"]).output().expect("the command runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(69), "{said}");
    assert!(said.contains(&before.pid.to_string()) && said.contains("policy set"), "{said}");
    let after = manager.status().expect("it still runs");
    assert_eq!((before.pid, before.policy), (after.pid, after.policy));
}

/// A stack of 64 KiB is enough for many programs, and numaestro asks for no more.
#[test]
fn a_small_stack_is_enough() {
    let manager = Manager::new();
    for (_, path) in builds("inside") {
        let limited = |words: &[&str]| {
            let mut command = alone(["sh", "-c", "ulimit -s 64; exec \"$@\"", "sh"]);
            command.args(words).env("NUMAESTRO_DIR", manager.dir());
            support::ended::run(&mut command)
        };
        let bare = limited(&[&path, "0.1"]);
        let under_us = limited(&[NUMAESTRO, "run", "--", &path, "0.1"]);
        assert_eq!((under_us.code(), &under_us.stdout), (bare.code(), &bare.stdout), "{under_us:?}");
        assert!(under_us.stderr.lines().all(|line| !line.contains("numaestro")), "{}", under_us.stderr);
    }
    // Started with that little itself.
    assert!(manager.status().is_some(), "no manager");
}

/// A program that needs every thread that its user may have gets it: ours goes.
#[test]
fn the_programs_threads_go_before_ours() {
    let _turn = turn();
    if !is_root() || !has("setpriv") || !has("prlimit") {
        skip!("only root can become another user, with setpriv and prlimit");
    }
    let path = any("grows");
    let dir = tempfile::tempdir().expect("a directory");
    let user = 64_123;
    std::os::unix::fs::chown(dir.path(), Some(user), Some(user)).expect("root may");
    let command = |limit: u32, words: &[&str]| {
        let limit = format!("--nproc={limit}:{limit}");
        let mut command =
            alone(["setpriv", "--clear-groups", "--reuid", &user.to_string(), "--regid", &user.to_string()]);
        command.args(["prlimit", &limit]).args(words).env("NUMAESTRO_DIR", dir.path().join("n"));
        command.env("HOME", dir.path());
        command
    };
    if !command(100, &[NUMAESTRO, "run", "--", "true"]).status().is_ok_and(|status| status.success()) {
        skip!("another user cannot execute what was built here");
    }
    let threads_of = |user: u32| -> u32 {
        let of_user = |process: &PathBuf| {
            let status = fs::read_to_string(process.join("status")).unwrap_or_default();
            field(&status, "Uid:").starts_with(&format!("{user}\t")) && !field(&status, "State:").starts_with('Z')
        };
        numbers(Path::new("/proc")).iter().filter(|p| of_user(p)).map(|p| numbers(&p.join("task")).len() as u32).sum()
    };
    // The manager, its threads and its guard; the program's five threads; nothing else.
    let others = threads_of(user);
    assert!(others > 0, "no manager");
    let mut crowd = Crowd::new("limit");
    let pid = crowd.add(&mut command(others + 5, &[NUMAESTRO, "run", "--", &path, "2", "5"]));
    let names = || -> Vec<String> {
        let tasks = numbers(Path::new(&format!("/proc/{pid}/task")));
        tasks
            .iter()
            .filter_map(|task| fs::read_to_string(task.join("comm")).ok())
            .map(|n| n.trim().to_owned())
            .collect()
    };
    let has_both = |names: &[String]| ["grows", "numaestro"].iter().all(|name| names.iter().any(|found| found == name));
    assert!(eventually(|| has_both(&names())), "no helper thread: {:?}", names());
    Manager::signal(pid, Signal::USR1);
    let only_its_own = |names: Vec<String>| names.len() == 5 && names.iter().all(|name| name == "grows");
    assert!(eventually(|| only_its_own(names())), "{:?}", names());
    // Too little even so: then a clear word is said.
    let said = command(others + 8, &[NUMAESTRO, "run", "--", &path, "9", "9"]).output().expect("runs");
    let text = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(!said.status.success() && text.contains("numaestro: no room") && text.contains("ulimit -u"), "{text}");
    let _ = command(100, &[NUMAESTRO, "stop"]).output();
    crowd.expect_whole("without a helper thread, after `stop`");
    drop(crowd);

    // And if there is none for the manager.
    let said = command(1, &[NUMAESTRO, "run", "--", "echo", "runs"]).output().expect("runs");
    let text = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.status.success() && said.stdout == b"runs\n" && text.contains("ulimit -u"), "{text}");
}
