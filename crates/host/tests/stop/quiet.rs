//! What a program, its parent and its shell must not notice.

use rustix::process::{Signal, WaitOptions, waitpid};

use crate::manager::Manager;
use crate::support::{Actor, exit_code, harass, pause, stop, turn};

#[test]
fn a_stopped_program_does_not_run_and_goes_on_afterwards() {
    let _turn = turn();
    let actor = Actor::ready("spin", "4");
    let manager = Manager::start();
    assert!(actor.runs());
    for _ in 0..3 {
        let tally = stop(&manager, &actor.alone());
        assert!(tally.threads >= 5 && tally.asleep == 0, "{tally:?}");
        assert!(actor.rests());
        manager.resume(1);
        assert!(actor.runs());
    }
}

#[test]
fn every_wait_ends_as_it_would_have() {
    waits("");
}

#[test]
fn the_ends_of_children_are_waited_for() {
    waits("children");
}

fn waits(which: &str) {
    let _turn = turn();
    let mut actor = Actor::ready("waits", which);
    let manager = Manager::start();
    let group = actor.alone();
    let (rounds, threads) = harass(&manager, &mut actor, &group, 2000);
    assert!(rounds > 20 && threads > 100, "{rounds} {threads}");
    let mut faults = Vec::new();
    loop {
        match actor.says() {
            line if line == "done" => break,
            line => {
                assert!(!line.is_empty(), "it ended early: {faults:?}");
                faults.push(line);
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
    assert_eq!(exit_code(&mut actor), Some(0));
}

#[test]
fn waits_with_a_limit_that_would_begin_anew_are_left_asleep() {
    let _turn = turn();
    let mut actor = Actor::ready("epoll", "300");
    let manager = Manager::start();
    assert!(actor.becomes('S'));
    pause(20);
    // Threads that wait without a limit are stopped; the one that plays sleeps on.
    let tally = stop(&manager, &actor.alone());
    assert_eq!(tally.asleep, 1, "{tally:?}");
    // What it does after its sleep, it does after the stop: as soon as it wakes, it is looked at.
    let mut caught = false;
    for _ in 0..400 {
        pause(5);
        let tally = stop(&manager, &actor.alone());
        caught |= tally.asleep == 0;
        if caught {
            break;
        }
    }
    assert!(caught);
    assert!(actor.rests());
    manager.resume(1);
    assert_eq!(actor.says(), "0 events");
    assert!(actor.runs());
}

#[test]
fn the_parent_is_told_nothing() {
    let _turn = turn();
    let actor = Actor::ready("spin", "2");
    let manager = Manager::start();
    let pid = rustix::process::Pid::from_child(&actor.child);
    let news = || waitpid(Some(pid), WaitOptions::NOHANG | WaitOptions::UNTRACED | WaitOptions::CONTINUED).unwrap();
    for _ in 0..50 {
        stop(&manager, &actor.alone());
        assert!(news().is_none());
        manager.resume(1);
        assert!(news().is_none());
    }
}

#[test]
fn who_was_stopped_by_its_user_stays_so() {
    let _turn = turn();
    let actor = Actor::ready("spin", "2");
    let manager = Manager::start();
    let pid = rustix::process::Pid::from_child(&actor.child);
    let wait = || waitpid(Some(pid), WaitOptions::UNTRACED | WaitOptions::CONTINUED).unwrap().unwrap().1;
    let news = || waitpid(Some(pid), WaitOptions::NOHANG | WaitOptions::UNTRACED | WaitOptions::CONTINUED).unwrap();
    actor.signal(Signal::STOP);
    assert_eq!(wait().stopping_signal(), Some(Signal::STOP.as_raw()));
    for _ in 0..20 {
        stop(&manager, &actor.alone());
        manager.resume(1);
        assert!(actor.becomes('T'));
        assert!(actor.rests() && news().is_none());
    }
    actor.signal(Signal::CONT);
    assert!(wait().continued());
    assert!(actor.runs());
}

#[test]
fn what_its_user_wants_while_it_is_stopped_happens_when_it_goes_on() {
    let _turn = turn();
    let actor = Actor::ready("spin", "2");
    let manager = Manager::start();
    let pid = rustix::process::Pid::from_child(&actor.child);
    let wait = || waitpid(Some(pid), WaitOptions::UNTRACED | WaitOptions::CONTINUED).unwrap().unwrap().1;
    stop(&manager, &actor.alone());
    actor.signal(Signal::TSTP);
    assert!(actor.rests());
    manager.resume(1);
    assert_eq!(wait().stopping_signal(), Some(Signal::TSTP.as_raw()));
    // Its user lets it go on while it is stopped by us: it does at the end of that.
    stop(&manager, &actor.alone());
    actor.signal(Signal::CONT);
    assert!(actor.rests());
    manager.resume(1);
    assert!(wait().continued());
    assert!(actor.runs());
}

#[test]
fn no_signal_is_lost() {
    let _turn = turn();
    let mut actor = Actor::ready("count", "");
    let manager = Manager::start();
    let sent = 2000;
    for round in 0..sent {
        if round % 5 == 0 {
            stop(&manager, &actor.alone());
        }
        // One at a time would be merged; those of this number queue up.
        // SAFETY: a number of a process of ours, and a signal.
        assert_eq!(unsafe { libc::kill(actor.pid().cast_signed(), libc::SIGRTMIN()) }, 0);
        if round % 5 == 3 {
            manager.resume(1);
        }
    }
    manager.resume(1);
    actor.signal(Signal::TERM);
    assert_eq!(actor.says(), sent.to_string());
}
