//! A manager that is frozen (`SIGSTOP`, a debugger), and its guard frozen or killed: no program
//! stands still for long, and nobody waits for long.
//!
//! No test knows how long anything takes.

mod support;

use numaestro_host::procfs;
use numaestro_skip::skip;
use rustix::process::Signal;
use std::time::Instant;

use support::crowd::{Crowd, guards_of};
use support::ended;
use support::manager::{Manager, NUMAESTRO, alone};
use support::{eventually, turn};

const BUSY: &str = "while :; do :; done";
/// More than an outcome of chance: clock ticks of 10 ms, as the kernel counts processor time.
const TICKS: u64 = 20;

/// A process that is frozen until this is dropped, so that a test that fails leaves nothing behind.
struct Frozen(u32);

impl Frozen {
    fn new(pid: u32) -> Self {
        Manager::signal(pid, Signal::STOP);
        Self(pid)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        Manager::signal(self.0, Signal::CONT);
    }
}

/// Four busy programs that take turns.
struct Turns {
    manager: Manager,
    crowd: Crowd,
    programs: Vec<u32>,
}

impl Turns {
    /// Where nothing can be stopped, why not.
    fn begin(name: &str) -> Result<Self, String> {
        let rung = numaestro_host::stop::rung();
        if !rung.works {
            return Err(rung.detail);
        }
        let (manager, mut crowd) = (Manager::started(), Crowd::new(name));
        let set = manager.command(["policy", "set", "round-robin"]).output().expect("the command runs");
        assert!(set.status.success(), "{}", String::from_utf8_lossy(&set.stderr));
        let run = |_| crowd.add(&mut manager.run_command(["sh", "-c", BUSY]));
        let programs = (0..4).map(run).collect();
        let it = Self { manager, crowd, programs };
        assert!(eventually(|| it.still() > 0), "no turns are taken: {:#?}", it.manager.status());
        // Each has had its first turn: before that it is a `run` that waits in the manager's queue.
        it.expect_progress("turns");
        Ok(it)
    }

    /// Programs that a tracer has stopped.
    fn still(&self) -> usize {
        self.programs.iter().filter(|pid| procfs::stat(**pid).is_ok_and(|stat| stat.state == 't')).count()
    }

    /// Each program's processor time so far.
    fn ticks(&self) -> Vec<u64> {
        self.programs.iter().map(|pid| procfs::stat(*pid).expect("it lives").cpu_ticks).collect()
    }

    /// All of them get on, and go on getting on.
    #[track_caller]
    fn expect_progress(&self, when: &str) {
        for _ in 0..2 {
            let before = self.ticks();
            let all = || self.ticks().iter().zip(&before).all(|(now, before)| *now >= before + TICKS);
            assert!(eventually(all), "{when}: {before:?}, then {:?}", self.ticks());
        }
    }

    /// The programs end, and nothing of us is left.
    #[track_caller]
    fn end(self) {
        let stop = self.manager.command(["stop"]).output().expect("the command runs");
        assert!(stop.status.success(), "{}", String::from_utf8_lossy(&stop.stderr));
        self.crowd.expect_whole("after stop");
        assert_eq!(self.still(), 0, "somebody is stopped");
        assert!(eventually(|| guards_of(self.manager.dir()).is_empty()), "the guard stays");
    }
}

#[test]
fn programs_go_on_while_the_manager_is_frozen_and_take_turns_again_afterwards() {
    let _turn = turn();
    let turns = match Turns::begin("frozen") {
        Ok(turns) => turns,
        Err(why) => skip!("programs cannot be stopped: {why}"),
    };
    let frozen = Frozen::new(turns.manager.pid());
    turns.expect_progress("the manager is frozen");
    assert_eq!(turns.still(), 0, "somebody is stopped by a frozen manager");
    drop(frozen);
    assert!(eventually(|| turns.still() > 0), "no turns are taken any more: {:#?}", turns.manager.status());
    turns.expect_progress("turns again");
    turns.end();
}

#[test]
fn nobody_waits_twice_for_a_frozen_manager() {
    let manager = Manager::started();
    let silent = manager.dir().join("silent");
    let timed = || {
        let began = Instant::now();
        let ended = manager.run(["echo", "done"]);
        assert_eq!((ended.code(), ended.stdout.as_str()), (0, "done\n"), "{}", ended.stderr);
        (began.elapsed(), ended.stderr)
    };
    let frozen = Frozen::new(manager.pid());
    let (first, said) = timed();
    assert!(said.contains("does not answer") && silent.exists(), "{said}");
    let (second, said) = timed();
    drop(frozen);
    assert!(said.contains("does not answer") && second < first / 4, "{first:?}, then {second:?}: {said}");
    // It has a backlog of two greetings; then everything is as before.
    assert!(eventually(|| manager.run(["true"]).stderr.is_empty()), "it is not believed again");
    assert!(!silent.exists(), "it is remembered though it answers");
    manager.expect_all_free();
}

#[test]
fn who_waits_in_the_queue_of_a_frozen_manager_starts_without_it() {
    let (manager, mut crowd) = (Manager::started(), Crowd::new("queue"));
    let set = manager.command(["policy", "set", "admission=fifo"]).output().expect("the command runs");
    assert!(set.status.success(), "{}", String::from_utf8_lossy(&set.stderr));
    let whole = manager.status().map_or(0, |status| status.pus.len()).to_string();
    crowd.add(&mut manager.command(["run", "--min", &whole, "--", "sh", "-c", BUSY]));
    assert!(eventually(|| manager.status().is_some_and(|status| status.apps.len() == 1)), "nobody runs");
    let waits = ended::start(&mut manager.run_command(["echo", "done"]));
    let queue = || manager.status().is_some_and(|status| status.apps.iter().any(|app| app.state == "waiting"));
    assert!(eventually(queue), "nobody waits: {:#?}", manager.status());
    let frozen = Frozen::new(manager.pid());
    let ended = waits.end();
    drop(frozen);
    assert_eq!((ended.code(), ended.stdout.as_str()), (0, "done\n"), "{}", ended.stderr);
    assert!(ended.stderr.contains("does not answer"), "{}", ended.stderr);
    assert!(eventually(|| !queue()), "its place stays in the queue: {:#?}", manager.status());
    drop(crowd);
    manager.expect_all_free();
}

#[test]
fn a_guard_that_is_frozen_or_killed_stops_nobody() {
    let _turn = turn();
    for signal in [Signal::STOP, Signal::KILL] {
        let turns = match Turns::begin("guard") {
            Ok(turns) => turns,
            Err(why) => skip!("programs cannot be stopped: {why}"),
        };
        let guards = guards_of(turns.manager.dir());
        assert_eq!(guards.len(), 1, "{guards:?}");
        Manager::signal(guards[0], signal);
        turns.expect_progress(&format!("the guard got {signal:?}"));
        let said = || turns.manager.command(["status"]).output().expect("the command runs");
        let explained =
            || String::from_utf8_lossy(&said().stdout).contains("the process that stops programs has ended");
        assert!(eventually(explained), "{}", String::from_utf8_lossy(&said().stdout));
        turns.end();
    }
}

/// A shell in which the manager was started, and whose programs are stopped as a whole.
#[test]
fn a_manager_below_a_shell_that_is_stopped_goes_on() {
    let _turn = turn();
    let rung = numaestro_host::stop::rung();
    if !rung.works {
        skip!("programs cannot be stopped: {}", rung.detail);
    }
    let (manager, mut crowd) = (Manager::new(), Crowd::new("below"));
    let script = format!("{NUMAESTRO} daemon --policy round-robin & {BUSY}");
    let shell = crowd.add(alone(["sh", "-c", &script]).env("NUMAESTRO_DIR", manager.dir()));
    assert!(eventually(|| manager.status().is_some()), "no manager");
    let adopt = manager.command(["adopt", &shell.to_string()]).output().expect("the command runs");
    assert!(adopt.status.success(), "{}", String::from_utf8_lossy(&adopt.stderr));
    for _ in 0..3 {
        crowd.add(&mut manager.run_command(["sh", "-c", BUSY]));
    }
    let state = |pid: u32| procfs::stat(pid).map_or(' ', |stat| stat.state);
    assert!(eventually(|| state(shell) == 't'), "the shell never waits for its turn: {:#?}", manager.status());
    // A stopped manager would answer nothing.
    assert!(manager.status().is_some());
    assert!(eventually(|| state(shell) != 't'), "it never gets its turn");
}
