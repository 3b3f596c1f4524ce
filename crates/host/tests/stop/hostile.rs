//! Programs that cannot be stopped, or not as a whole, or not at once.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::process::Command;

use numaestro_host::procfs;
use numaestro_host::stop::{Group, Outcome, Stopper};

use crate::manager::Manager;
use crate::support::{Actor, exit_code, pause, stop, turn};

#[test]
fn who_is_traced_by_a_debugger_is_left_alone_as_a_whole() {
    let _turn = turn();
    let actor = Actor::ready("spin", "6");
    let manager = Manager::start();
    let victim = *procfs::threads(actor.pid()).unwrap().last().unwrap();
    let mut debugger = Actor::ready("debugger", &victim.to_string());
    for _ in 0..5 {
        match manager.stop(1, &actor.alone()) {
            Outcome::Unstoppable(reason) => {
                assert!(reason.contains("traced by"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
        assert!(actor.runs());
    }
    debugger.child.kill().unwrap();
    debugger.child.wait().unwrap();
    assert!(stop(&manager, &actor.alone()).threads >= 7);
    assert!(actor.rests());
}

/// The state in which a debugger has what it starts, until its user lets that go on.
#[test]
fn who_is_stopped_by_a_debugger_as_it_becomes_a_program_is_left_alone() {
    let mut command = Command::new("sleep");
    command.arg("1000");
    // SAFETY: it asks for itself.
    let ask = || match unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    };
    // SAFETY: one system call, and nothing that allocates.
    let mut child = unsafe { command.pre_exec(ask) }.spawn().unwrap();
    // The kernel says it to this thread, which has become its tracer.
    // SAFETY: no place for a status is given.
    let stopped = unsafe { libc::waitpid(child.id().cast_signed(), std::ptr::null_mut(), libc::WUNTRACED) };
    assert_eq!(stopped, child.id().cast_signed());
    let outcome = Stopper::start().unwrap().stop(1, Group { root: child.id(), tree: None });
    let refused = matches!(&outcome, Outcome::Unstoppable(reason) if reason.contains("is traced by"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(refused, "{outcome:?}");
}

#[test]
fn what_became_of_a_failed_attempt_is_not_said_of_the_next_one() {
    let _turn = turn();
    let actor = Actor::ready("spin", "1");
    let stopper = Stopper::start().unwrap();
    let mut debugger = Actor::ready("debugger", &actor.pid().to_string());
    while !matches!(stopper.stop(1, actor.alone()), Outcome::Unstoppable(_)) {}
    debugger.child.kill().unwrap();
    debugger.child.wait().unwrap();
    while !matches!(stopper.stop(1, actor.alone()), Outcome::Stopped(_)) {}
    // Whoever believed it would take a stopped program for one that runs.
    assert_eq!(stopper.renew(), []);
    assert!(actor.rests());
}

#[test]
fn a_debugger_that_comes_later_is_refused_and_may_try_again() {
    let _turn = turn();
    let actor = Actor::ready("spin", "1");
    let manager = Manager::start();
    stop(&manager, &actor.alone());
    assert_eq!(Actor::start("debugger", &actor.pid().to_string()).says(), "refused");
    manager.resume(1);
    pause(50);
    assert_eq!(Actor::start("debugger", &actor.pid().to_string()).says(), "ready");
}

#[test]
fn a_tree_is_stopped_without_what_is_excepted() {
    let _turn = turn();
    let mut shell = Actor::ready("family", "3");
    let manager = Manager::start();
    let children: Vec<u32> = shell.says().split(' ').map(|pid| pid.parse().unwrap()).collect();
    let times = |pids: &[u32]| -> Vec<u64> { pids.iter().map(|pid| procfs::cpu_time_ns(*pid).unwrap()).collect() };
    let except = BTreeSet::from([children[0]]);
    let group = Group { root: shell.pid(), tree: Some(except) };
    stop(&manager, &group);
    // Those that are late leave the kernel first.
    let mut before = times(&children);
    let rests = |before: &mut Vec<u64>| {
        pause(50);
        std::mem::replace(before, times(&children))[1..] == before[1..]
    };
    assert!((0..20).any(|_| rests(&mut before)));
    assert!((0..1000).any(|_| {
        pause(2);
        times(&children)[0] > before[0]
    }));
    assert_eq!(times(&children)[1..], before[1..]);
    manager.resume(1);
    assert!((0..1000).any(|_| {
        pause(2);
        times(&children).iter().zip(&before).all(|(now, before)| now > before)
    }));
}

#[test]
fn a_parent_that_waits_for_its_vfork_child_is_late_and_goes_on() {
    let _turn = turn();
    let mut actor = Actor::ready("vfork", "");
    let manager = Manager::start();
    let mut late = 0;
    for _ in 0..40 {
        late += stop(&manager, &actor.with_children()).late;
        pause(2);
        manager.resume(1);
        pause(5);
    }
    assert!(late > 0);
    assert_eq!(exit_code(&mut actor), Some(0));
}

#[test]
fn nobody_and_oneself_are_no_harm() {
    let _turn = turn();
    let stopper = Stopper::start().unwrap();
    assert!(matches!(stopper.stop(1, Group { root: 1 << 30, tree: None }), Outcome::Stopped(_)));
    let myself = Group { root: std::process::id(), tree: None };
    assert!(matches!(stopper.stop(2, myself), Outcome::Unstoppable(_)));
    stopper.resume(1);
    stopper.resume(77);
    stopper.resume_all();
}
