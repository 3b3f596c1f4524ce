//! Programs that make threads, processes and themselves anew all the time, stopped and continued
//! all the while.

use crate::manager::Manager;
use crate::support::{Actor, exit_code, harass, stop, turn};

#[test]
fn threads_come_and_go() {
    let _turn = turn();
    storm("threads", "2000", false, 3);
}

#[test]
fn processes_come_and_go() {
    let _turn = turn();
    storm("forks", "800", true, 5);
}

#[test]
fn programs_become_others_while_they_have_threads() {
    let _turn = turn();
    storm("execs", "120", false, 7);
}

/// However often it is stopped, it ends by itself, in its own way.
fn storm(role: &str, argument: &str, tree: bool, code: i32) {
    let mut actor = Actor::ready(role, argument);
    let manager = Manager::start();
    let group = if tree { actor.with_children() } else { actor.alone() };
    let (rounds, threads) = harass(&manager, &mut actor, &group, 1000);
    assert!(rounds > 10 && threads >= u64::from(rounds), "{rounds} {threads}");
    assert_eq!(exit_code(&mut actor), Some(code), "after {rounds} stops of {threads} threads");
}

#[test]
fn nobody_is_missed_while_threads_are_made() {
    let _turn = turn();
    let mut actor = Actor::ready("threads", "100000");
    let manager = Manager::start();
    for _ in 0..100 {
        stop(&manager, &actor.alone());
        assert!(actor.rests());
        manager.resume(1);
    }
    actor.child.kill().unwrap();
}
