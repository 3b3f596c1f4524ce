//! `kill -9` of the manager, of programs, of `run`, of everything, at any moment: nothing hangs,
//! nothing is lost, and the next start works whatever is left lying about.

mod support;

use rustix::process::Signal;
use std::fs;
use std::os::unix::net::UnixListener;
use std::time::Duration;
use support::ended::{self, Running, gone, thread_states};
use support::manager::{Manager, alone};
use support::programs::{any, program};
use support::shaker::Shaker;
use support::{Dice, eventually, number, processors};

/// Programs that run for `seconds`, with what they must print.
struct Load {
    programs: Vec<(String, String, Running)>,
}

impl Load {
    const WORDS: [(&'static str, &'static str); 5] =
        [("gcc", "inside"), ("clang", "reduce"), ("gcc", "persist"), ("clang", "outside"), ("gcc", "explicit")];

    fn start(manager: &Manager, seconds: &str, count: usize, dice: &mut Dice) -> Self {
        let mut programs = Vec::new();
        for _ in 0..count {
            let (compiler, name) = Self::WORDS[dice.roll(5) as usize];
            // Another compiler's where that one is not here.
            let path = program(compiler, name).unwrap_or_else(|| any(name));
            let expected = ended::run(&mut alone([path.as_str(), "0"])).stdout;
            let running = ended::start(&mut manager.run_command([path.as_str(), seconds]));
            programs.push((format!("{name} by {compiler}"), expected, running));
        }
        Self { programs }
    }

    /// Every program ends well, and none has a stopped thread meanwhile.
    #[track_caller]
    fn expect_right(self) {
        for (what, expected, running) in self.programs {
            let states = thread_states(running.pid());
            assert!(!states.contains(&'T'), "{what} has a stopped thread: {states:?}");
            running.end().expect(&what, &expected);
        }
    }

    fn kill(self) {
        for (_, _, running) in &self.programs {
            running.signal(Signal::KILL);
        }
        for (_, _, running) in self.programs {
            let _ = running.end();
        }
    }
}

fn rounds(usual: u64) -> u64 {
    number("NUMAESTRO_TEST_ROUNDS", usual)
}

#[test]
fn the_manager_killed_at_any_moment_under_load() {
    let manager = Manager::started();
    let mut dice = Dice::new(1);
    for round in 0..rounds(20) {
        let load = Load::start(&manager, "0.4", 2, &mut dice);
        std::thread::sleep(dice.time(Duration::from_millis(350)));
        let pid = manager.pid();
        Manager::signal(pid, Signal::KILL);
        assert!(gone(pid, support::hang()), "round {round}: the manager does not die");
        std::thread::sleep(dice.time(Duration::from_millis(50)));
        let next = manager.run(["true"]);
        assert!(next.status.success() && next.stderr.is_empty(), "round {round}: the next start: {}", next.stderr);
        assert!(!matches!(manager.pid(), 0) && manager.pid() != pid, "round {round}: no new manager");
        load.expect_right();
    }
    manager.expect_all_free();
}

/// Only the manager's helper in the program can notice: the program itself says nothing for a long
/// time.
#[test]
fn programs_come_back_to_the_next_manager() {
    let manager = Manager::started();
    let mut programs = Vec::new();
    for name in ["inside", "persist"] {
        let path = any(name);
        let expected = ended::run(&mut alone([path.as_str(), "0"])).stdout;
        programs.push((name, expected, ended::start(&mut manager.run_command([path.as_str(), "9"]))));
    }
    let app_of = |pid: u32| manager.status().and_then(|status| status.apps.into_iter().find(|app| app.pid == pid));
    let attached = |pid: u32| app_of(pid).is_some_and(|app| app.regions > 0);
    assert!(programs.iter().all(|(_, _, it)| eventually(|| attached(it.pid()))), "never known");
    let first = manager.pid();
    Manager::signal(first, Signal::KILL);
    assert!(gone(first, support::hang()), "the manager does not die");
    assert!(manager.run(["true"]).status.success(), "the next start");
    assert_ne!(manager.pid(), first, "a new manager");
    for (name, _, running) in &programs {
        let ended = || thread_states(running.pid()).is_empty();
        assert!(eventually(|| app_of(running.pid()).is_some() || ended()), "neither back nor at an end");
        assert!(!ended(), "{name} did not come back: {:#?}", manager.status());
        let app = app_of(running.pid()).expect("came back");
        assert!(app.count >= 1 && app.count as usize <= processors(), "{app:?}");
    }
    for (name, expected, running) in programs {
        running.end().expect(name, &expected);
    }
    manager.expect_all_free();
}

#[test]
fn programs_and_their_wrapper_killed_at_any_moment() {
    let manager = Manager::started();
    let pid = manager.pid();
    let mut dice = Dice::new(2);
    let path = any("inside");
    let survivor = Load::start(&manager, "3", 1, &mut dice);
    for _ in 0..rounds(60) {
        // Within the first milliseconds it is still `run`, talking with the manager.
        let victim = ended::start(&mut manager.run_command([path.as_str(), "5"]));
        std::thread::sleep(dice.time(Duration::from_millis(60)));
        victim.signal(Signal::KILL);
        assert_eq!(victim.end().code(), 137);
    }
    let wrapper = ended::start(&mut manager.run_command(["sh", "-c", &format!("{path} 0.5 & {path} 0.5 & wait")]));
    std::thread::sleep(Duration::from_millis(200));
    wrapper.signal(Signal::KILL);
    let _ = wrapper.end();
    survivor.expect_right();
    assert_eq!(manager.pid(), pid, "the manager was lost on the way");
    manager.expect_all_free();
}

#[test]
fn everything_killed_at_once() {
    let manager = Manager::started();
    let mut dice = Dice::new(3);
    for round in 0..rounds(8) {
        let load = Load::start(&manager, "5", 3, &mut dice);
        std::thread::sleep(dice.time(Duration::from_millis(300)));
        let pid = manager.pid();
        Manager::signal(pid, Signal::KILL);
        load.kill();
        assert!(gone(pid, support::hang()), "round {round}: the manager does not die");
        let next = manager.run(["echo", "again"]);
        next.expect("the next start", "again\n");
        assert!(next.stderr.is_empty(), "round {round}: {}", next.stderr);
        manager.expect_all_free();
    }
}

/// `run` that waits in the queue: killed there it leaves the queue, and when the manager is killed
/// it does not wait for ever.
#[test]
fn waiting_in_the_queue() {
    let manager = Manager::started();
    let all = processors().to_string();
    let holder = ended::start(manager.command(["run", "--min", &all, "--"]).args(["sleep", "60"]));
    let queued = |count: usize| eventually(|| manager.status().is_some_and(|status| status.queue.len() == count));
    let wait = || ended::start(manager.command(["run", "--wait", "--"]).args(["echo", "ran"]));
    assert!(eventually(|| manager.status().is_some_and(|s| s.apps.iter().any(|a| a.state == "running"))), "never ran");
    let first = wait();
    assert!(queued(1), "it does not wait: {:#?}", manager.status());
    first.signal(Signal::KILL);
    assert_eq!(first.end().code(), 137);
    assert!(queued(0), "a dead program waits: {:#?}", manager.status());
    let second = wait();
    assert!(queued(1), "it does not wait: {:#?}", manager.status());
    let stopped = wait();
    assert!(queued(2), "it does not wait: {:#?}", manager.status());
    stopped.signal(Signal::INT);
    assert_eq!(stopped.end().code(), 130, "Ctrl-C ends the waiting");
    let pid = manager.pid();
    Manager::signal(pid, Signal::KILL);
    // The next manager keeps it waiting as long as the holder runs.
    holder.signal(Signal::KILL);
    let _ = holder.end();
    second.end().expect("after the manager's death", "ran\n");
    assert!(manager.run(["true"]).status.success(), "the next start");
    manager.expect_all_free();
}

/// Two managers must not come out of many starts at the same time, also right after a death.
#[test]
fn many_first_starts_at_once() {
    for round in 0..rounds(5) {
        let manager = Manager::new();
        let starts: Vec<Running> = (0..8).map(|_| ended::start(&mut manager.run_command(["sleep", "0.3"]))).collect();
        std::thread::sleep(Duration::from_millis(150));
        for start in starts {
            let ended = start.end();
            assert!(ended.status.success() && ended.stderr.is_empty(), "round {round}: {}", ended.stderr);
        }
        let dir = manager.dir().to_str().expect("plain");
        let daemons: Vec<u32> =
            processes().filter(|(_, line)| line.contains("daemon") && line.contains(dir)).map(|p| p.0).collect();
        assert_eq!(daemons.len(), 1, "round {round}: managers {daemons:?}");
        manager.expect_all_free();
    }
}

fn processes() -> impl Iterator<Item = (u32, String)> {
    fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        // The manager's guard is born from it, with its command line.
        if fs::read_to_string(entry.path().join("comm")).is_ok_and(|comm| comm.trim() == "numaestro-guard") {
            return None;
        }
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        Some((pid, String::from_utf8_lossy(&[line, environment].concat()).into_owned()))
    })
}

/// A manager that is stopped answers nobody: programs start, run and end all the same, and are
/// right.
#[test]
fn a_manager_that_does_not_answer() {
    let manager = Manager::started();
    let mut dice = Dice::new(4);
    let before = Load::start(&manager, "1", 2, &mut dice);
    std::thread::sleep(Duration::from_millis(200));
    let pid = manager.pid();
    Manager::signal(pid, Signal::STOP);
    let during = Load::start(&manager, "0.5", 2, &mut dice);
    before.expect_right();
    for (what, expected, running) in during.programs {
        let ended = running.end();
        ended.expect(&what, &expected);
        let said = ended.stderr.lines().any(|line| line.contains("numaestro"));
        assert!(said, "{what}: nothing said that there is no answer: {}", ended.stderr);
    }
    Manager::signal(pid, Signal::CONT);
    let after = Load::start(&manager, "0.2", 2, &mut dice);
    after.expect_right();
    manager.expect_all_free();
}

#[test]
fn programs_stopped_and_continued() {
    let manager = Manager::started();
    let mut dice = Dice::new(5);
    let _shaker = Shaker::start(&manager);
    let load = Load::start(&manager, "1.5", 3, &mut dice);
    for _ in 0..30 {
        let (_, _, one) = &load.programs[dice.roll(load.programs.len() as u64) as usize];
        one.signal(Signal::STOP);
        std::thread::sleep(dice.time(Duration::from_millis(40)));
        one.signal(Signal::CONT);
        std::thread::sleep(dice.time(Duration::from_millis(10)));
    }
    load.expect_right();
}

type Leaving = fn(&std::path::Path);

/// Whatever a dead manager, or somebody else, left in the runtime directory, the next start works.
#[test]
fn stale_and_garbled_files_do_not_stop_the_next_start() {
    let leavings: [(&str, Leaving); 6] = [
        ("sockets that nobody listens to", |dir| {
            for name in ["attach", "control"] {
                drop(UnixListener::bind(dir.join(name)).expect("a stale socket"));
            }
        }),
        ("files where the sockets should be", |dir| {
            for name in ["attach", "control"] {
                fs::write(dir.join(name), b"not a socket").expect("written");
            }
        }),
        ("garbage in every file", |dir| garble(dir, b"\xff\x00{{{[[[garbage\n\x7fELF")),
        ("every file empty", |dir| garble(dir, b"")),
        ("every file cut in half", |dir| {
            for path in files(dir) {
                let half = fs::read(&path).map(|bytes| bytes[..bytes.len() / 2].to_vec()).unwrap_or_default();
                let _ = fs::write(&path, half);
            }
        }),
        ("every file gone", |dir| files(dir).into_iter().for_each(|path| drop(fs::remove_file(path)))),
    ];
    for (what, leave) in leavings {
        let manager = Manager::started();
        let mut dice = Dice::new(6);
        let load = Load::start(&manager, "0.6", 2, &mut dice);
        std::thread::sleep(Duration::from_millis(200));
        let pid = manager.pid();
        Manager::signal(pid, Signal::KILL);
        assert!(gone(pid, support::hang()), "the manager does not die");
        for name in ["attach", "control"] {
            let _ = fs::remove_file(manager.dir().join(name));
        }
        leave(manager.dir());
        let next = manager.run(["echo", "again"]);
        next.expect(what, "again\n");
        assert!(next.stderr.is_empty(), "after {what}: {}", next.stderr);
        assert!(manager.pid() != 0, "no manager after {what}");
        load.expect_right();
        manager.expect_all_free();
    }
}

fn files(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    // The shim is mapped by programs that run: writing into it would be writing into them.
    let paths = fs::read_dir(dir).expect("there").flatten().map(|entry| entry.path());
    paths.filter(|path| path.is_file() && path.extension().is_none_or(|e| e != "so")).collect()
}

fn garble(dir: &std::path::Path, content: &[u8]) {
    for path in files(dir) {
        fs::write(&path, content).expect("written");
    }
    for name in ["attach", "control", "state", "state.json", "lock", "start.lock", "pid"] {
        let _ = fs::write(dir.join(name), content);
    }
}

/// A shim that was written only in part must not be taken for a whole one.
#[test]
fn a_shim_that_was_cut_is_written_again() {
    let manager = Manager::started();
    let path = any("inside");
    let line = manager.run([path.as_str(), "0.05"]).stdout;
    let shims = fs::read_dir(manager.dir())
        .expect("there")
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "so"));
    let shims: Vec<_> = shims.collect();
    assert!(!shims.is_empty(), "no shim in the runtime directory");
    for shim in shims {
        let bytes = fs::read(&shim).expect("readable");
        fs::remove_file(&shim).and_then(|()| fs::write(&shim, &bytes[..bytes.len() / 3])).expect("written");
    }
    let again = manager.run([path.as_str(), "0.05"]);
    again.expect("after the cut", &line);
    assert!(!again.stderr.contains("ld.so"), "{}", again.stderr);
}

/// `stop` gives back what was taken: programs go on, with all processors again.
#[test]
fn an_orderly_stop_restores_everything() {
    let manager = Manager::started();
    let path = any("persist");
    let expected = ended::run(&mut alone([path.as_str(), "0"])).stdout;
    let programs: Vec<Running> =
        (0..2).map(|_| ended::start(&mut manager.run_command([path.as_str(), "2.5"]))).collect();
    assert!(eventually(|| manager.status().is_some_and(|s| s.apps.len() == 2)), "never known");
    let pid = manager.pid();
    assert!(ended::run(&mut manager.command(["stop"])).status.success(), "stop");
    assert!(gone(pid, support::hang()), "the manager is still there");
    for program in &programs {
        let everywhere = eventually(|| {
            let states = affinities(program.pid());
            states.is_empty() || states.iter().all(|count| *count == processors())
        });
        assert!(everywhere, "some threads are still confined: {:?}", affinities(program.pid()));
        assert!(!affinities(program.pid()).is_empty(), "it ended before it could be looked at");
    }
    for program in programs {
        program.end().expect("after the stop", &expected);
    }
}

/// Number of processors each thread may use.
fn affinities(pid: u32) -> Vec<usize> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let masks = threads.filter_map(|thread| {
        let status = fs::read_to_string(thread.path().join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed:"))?.to_owned();
        Some(line.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit.count_ones() as usize).sum())
    });
    masks.collect()
}
