//! Both sides of the socket: many orders, a side that does not answer, answers that come late.

use std::process::{Child, Command, Stdio};

use super::*;

/// Both ends, and a process to be killed in place of one that serves.
fn pair() -> (OwnedFd, Remote, Child) {
    let (theirs, ours) = socket::pair().expect("a pair of sockets");
    let child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().expect("sleep starts");
    (theirs, Remote::new((ours, Watcher::of(&child))), child)
}

fn end(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

#[test]
fn more_orders_than_there_is_room_for_are_all_answered() {
    const GROUPS: u64 = 2000;
    let (theirs, mut remote, child) = pair();
    let serving = std::thread::spawn(move || serve(&theirs));
    remote.arm();
    // Nobody has this number.
    let nobody = Group { root: u32::MAX >> 1, tree: None };
    for key in 0..GROUPS {
        remote.order(key, nobody.clone());
    }
    let outcomes = remote.outcomes();
    assert!(outcomes.iter().map(|(key, _)| *key).eq(0..GROUPS));
    let unanswered = outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Pending).count();
    assert_eq!(unanswered, 0);
    (0..GROUPS).for_each(|key| remote.resume(key));
    remote.resume_all();
    assert_eq!(remote.renew().len(), 0);
    drop(remote);
    assert!(serving.join().expect("it ends"), "it has not been told to look after anything");
    end(child);
}

#[test]
fn who_does_not_answer_is_killed_after_the_lease_and_everybody_runs() {
    let (theirs, mut remote, mut child) = pair();
    assert_eq!(remote.stop(7, Group { root: child.id(), tree: None }), Outcome::Pending);
    assert_eq!(remote.renew(), []);
    let until = monotonic_ns() + LEASE_NS;
    while monotonic_ns() <= until {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(remote.renew(), [News::Unstoppable(7, ENDED.to_owned())]);
    assert!(!child.wait().expect("it ends").success());
    assert!(matches!(remote.stop(8, Group { root: 1, tree: None }), Outcome::Unstoppable(_)));
    drop(theirs);
}

#[test]
fn an_answer_that_comes_late_is_news_unless_it_is_old() {
    let (theirs, mut remote, child) = pair();
    let group = Group { root: child.id(), tree: None };
    for key in [1, 2] {
        assert_eq!(remote.stop(key, group.clone()), Outcome::Pending);
    }
    remote.resume(2);
    let refused = |request, key| Answer::Outcome(request, key, Outcome::Unstoppable("why".to_owned()));
    for answer in [refused(1, 1), refused(2, 2), Answer::News(vec![News::Lapsed])] {
        send(&theirs, &answer).expect("there is room");
    }
    assert_eq!(remote.renew(), [News::Unstoppable(1, "why".to_owned()), News::Lapsed]);
    end(child);
}
