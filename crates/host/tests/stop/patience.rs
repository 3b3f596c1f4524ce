//! The manager dies, hangs, or forgets: everything goes on.

use numaestro_host::stop::{LEASE_NS, Outcome};
use rustix::process::Signal;

use crate::manager::{Manager, question};
use crate::support::{Actor, pause, stop, turn};

#[test]
fn everything_goes_on_when_the_manager_is_killed() {
    let _turn = turn();
    let actors: Vec<Actor> = (0..3).map(|_| Actor::ready("spin", "3")).collect();
    for _ in 0..5 {
        let manager = Manager::start();
        for (key, actor) in (1..).zip(&actors) {
            while manager.stop(key, &actor.alone()) == Outcome::Pending {}
        }
        assert!(actors.iter().all(Actor::rests));
        manager.kill();
        assert!(actors.iter().all(Actor::runs));
    }
}

#[test]
fn a_signal_on_its_way_survives_the_manager() {
    let _turn = turn();
    for _ in 0..10 {
        let mut actor = Actor::ready("count", "");
        let manager = Manager::start();
        manager.tell(&question(1, &actor.alone()));
        // Some come before the stop, some at the same time, some after.
        let sent = 400;
        for _ in 0..sent {
            // SAFETY: a number of a process of ours, and a signal.
            assert_eq!(unsafe { libc::kill(actor.pid().cast_signed(), libc::SIGRTMIN()) }, 0);
            std::thread::yield_now();
        }
        let answer = manager.actor.borrow_mut().says();
        assert!(answer.starts_with("stopped"), "{answer}");
        manager.kill();
        actor.signal(Signal::TERM);
        assert_eq!(actor.says(), sent.to_string());
    }
}

#[test]
fn a_lease_runs_out_and_is_renewed() {
    let _turn = turn();
    let actor = Actor::ready("spin", "2");
    let manager = Manager::start();
    manager.renews_by_hand();
    stop(&manager, &actor.alone());
    for _ in 0..3 {
        pause(LEASE_NS / 1_000_000 / 2);
        assert_eq!(manager.renew(), "");
    }
    assert!(actor.rests());
    assert!((0..4000).any(|_| {
        pause(1);
        !actor.rests()
    }));
    assert_eq!(manager.renew(), "Lapsed");
    // It can be stopped again afterwards.
    stop(&manager, &actor.alone());
    assert!(actor.rests());
    drop(manager);
    assert!(actor.runs());
}

#[test]
fn a_stopped_program_can_be_killed_and_its_parent_learns_of_it_at_once() {
    let _turn = turn();
    let manager = Manager::start();
    for threads in ["0", "1", "20"] {
        let mut actor = Actor::ready("spin", threads);
        stop(&manager, &actor.alone());
        actor.child.kill().unwrap();
        // Nobody tells the stopper anything meanwhile.
        assert_eq!(actor.child.wait().unwrap().code(), None);
        manager.resume(1);
    }
}
