//! Tests of the thread itself, on real processes. On a machine of one node nothing moves; guests
//! with several nodes test the moves.

use std::process::{Child, Command};

use numaestro_host::procfs;

use super::*;
use crate::hands::pages::course::{Aim, Distances};

fn places() -> Arc<Places> {
    Arc::new(Places { distances: Distances::default(), node_of: (0..4096).map(|os| (os, 0)).collect() })
}

fn sleeper() -> Child {
    Command::new("sleep").arg("1000").spawn().unwrap()
}

fn subject(app: u64, child: &Child, stay: &[u32]) -> Subject {
    let pid = child.id();
    let start_time = procfs::stat(pid).unwrap().start_time;
    let aim = Aim { processors: vec![(0, 1)], stay: stay.to_vec(), ..Aim::default() };
    Subject { app, pid, start_time, tree: Some(Arc::default()), aim }
}

/// The next thing the mover says of an application.
fn wait(mover: &Mover, mut wanted: impl FnMut(&Report) -> bool) -> Report {
    let began = monotonic_ns();
    while monotonic_ns() - began < 60_000_000_000 {
        if let Some(found) = mover.take().into_iter().find(|report| wanted(report)) {
            return found;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("nothing was said");
}

#[test]
fn who_is_watched_is_looked_at_and_a_request_is_answered() {
    let mover = Mover::start(1 << 30, places()).unwrap();
    let mut child = sleeper();
    mover.tell(Order::Watch(Box::new(subject(1, &child, &[0]))));
    let report = wait(&mover, |report| matches!(report, Report::Sample { app: 1, .. } | Report::Blind { .. }));
    let Report::Sample { sample, .. } = report else { panic!("{report:?}") };
    assert!(sample.bytes() > 0 && sample.shared.values().sum::<u64>() > 0, "{sample:?}");
    assert_eq!(sample.threads.values().sum::<u64>(), 1);
    mover.tell(Order::Look(7, vec![subject(1, &child, &[0]), subject(2, &child, &[])]));
    let mut samples = 0;
    wait(&mover, |report| {
        samples += u32::from(matches!(report, Report::Sample { .. }));
        matches!(report, Report::Looked(7, _))
    });
    assert_eq!(samples, 2, "also of one that is not watched");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn another_process_with_the_same_number_is_not_looked_at() {
    let mover = Mover::start(1 << 30, places()).unwrap();
    let mut child = sleeper();
    let mut other = subject(1, &child, &[0]);
    other.start_time += 1;
    mover.tell(Order::Look(1, vec![other]));
    wait(&mover, |report| {
        assert!(!matches!(report, Report::Sample { .. } | Report::Blind { .. }), "{report:?}");
        matches!(report, Report::Looked(1, _))
    });
    child.kill().unwrap();
    child.wait().unwrap();
    // One that has ended is nothing to report either, and the mover lives.
    mover.tell(Order::Watch(Box::new(Subject { app: 3, pid: child.id(), ..subject(3, &sleeper_gone(), &[0]) })));
    mover.tell(Order::Look(2, vec![]));
    wait(&mover, |report| matches!(report, Report::Looked(2, _)));
}

/// A process to take a start time from; it ends with its parent's interest in it.
fn sleeper_gone() -> Child {
    let mut child = sleeper();
    child.kill().unwrap();
    child
}

#[test]
fn a_node_without_room_is_never_moved_to() {
    let mover = Mover::start(1 << 30, places()).unwrap();
    let mut child = Command::new("python3")
        .args(["-c", "x = bytearray(b'1' * (8 << 20)); print(flush=True); import time; time.sleep(1000)"])
        .stdout(std::process::Stdio::piped())
        .spawn();
    let Ok(child) = &mut child else { return };
    let mut line = [0; 1];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
    // Node 900 is not there: its memory is nowhere.
    mover.tell(Order::Watch(Box::new(subject(1, child, &[900]))));
    let report = wait(&mover, |report| matches!(report, Report::Sample { .. }));
    let Report::Sample { sample, verdict, .. } = report else { panic!() };
    assert_eq!(verdict, Verdict::Spilled(sample.elsewhere(&[900])));
    assert!(sample.elsewhere(&[900]) >= 8 << 20);
    child.kill().unwrap();
    child.wait().unwrap();
}
