//! PDPA with real programs on two processors: one that scales beside one that two processors make
//! slower. The test looks at their numbers of processors over time.
//!
//! Times depend on the machine, and others may use it. So what counts is which number comes first,
//! how long a wrong number lasts, and which part of the time the search for it takes.

mod support;

use numaestro_skip::skip;
use rustix::process::Signal;
use std::time::{Duration, Instant};
use support::ended::{self, Running};
use support::manager::Manager;
use support::{eventually, processors, programs, turn};

/// From a start or an end to the right numbers.
const RIGHT_AFTER: Duration = Duration::from_secs(2);
/// More than a second without a report may pass in a test of PDPA, and it has three: after rests of
/// 0.1, 2 and 4 s.
const WATCHED: Duration = Duration::from_secs(8);
/// Time between two looks.
const LOOK: Duration = Duration::from_millis(10);

/// Two of the processors that this process may use, as a Linux list.
fn two_processors() -> String {
    let mine = rustix::thread::sched_getaffinity(None).expect("an affinity");
    let cpus = (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| mine.is_set(cpu)).take(2);
    cpus.map(|cpu| cpu.to_string()).collect::<Vec<_>>().join(",")
}

/// Starts a kernel that goes on until it is killed, with teams that follow.
fn start(manager: &Manager, kernel: &str) -> Running {
    let path = programs::kernel(kernel);
    ended::start(&mut manager.command(["run", "--class", "malleable", "--", &path, "--reps", "100000000"]))
}

fn stop(program: Running) {
    program.signal(Signal::KILL);
    let _ = program.end();
}

/// The program's number of processors, if it runs already and its teams follow.
fn count(manager: &Manager, program: &Running) -> Option<u32> {
    let status = manager.status()?;
    let app = status.apps.iter().find(|app| app.pid == program.pid())?;
    (app.state != "waiting").then_some(app.count)
}

/// Both at the same moment: PDPA starts programs with one processor each, but gives the first one
/// more after a tenth of a second, and then the second one waits for its place.
fn start_both(manager: &Manager) -> (Running, Running) {
    for _ in 0..20 {
        let (scales, bounces) = (start(manager, "mm"), start(manager, "bounce"));
        let begun = Instant::now();
        while begun.elapsed() < RIGHT_AFTER {
            if count(manager, &scales) == Some(1) && count(manager, &bounces) == Some(1) {
                return (scales, bounces);
            }
            std::thread::sleep(LOOK);
        }
        stop(scales);
        stop(bounces);
        manager.expect_all_free();
    }
    panic!("never one processor for each: {:#?}", manager.status());
}

/// Looks at a program's number of processors for so long: time and number.
fn watch(manager: &Manager, program: &Running, length: Duration) -> Vec<(Duration, u32)> {
    let begun = Instant::now();
    let mut looks = Vec::new();
    while begun.elapsed() < length {
        if let Some(count) = count(manager, program) {
            looks.push((begun.elapsed(), count));
        }
        std::thread::sleep(LOOK);
    }
    looks
}

/// The longest time in a row, and the sum of the times, with this number. From look to look.
fn held(looks: &[(Duration, u32)], number: u32) -> (Duration, Duration) {
    let (mut longest, mut now, mut sum) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    for pair in looks.windows(2) {
        let time = pair[1].0.saturating_sub(pair[0].0);
        now = if pair[0].1 == number { now + time } else { Duration::ZERO };
        sum += if pair[0].1 == number { time } else { Duration::ZERO };
        longest = longest.max(now);
    }
    (longest, sum)
}

#[test]
fn a_program_that_two_processors_make_slower_has_one_soon() {
    let _turn = turn();
    if processors() < 2 {
        skip!("one processor only");
    }
    let manager = Manager::of_processors(&two_processors());
    let set = ended::run(&mut manager.command(["policy", "set", "pdpa"]));
    assert!(set.status.success(), "{set:?}");

    // Both are busy, and nothing is free: their numbers stay.
    let (scales, bounces) = start_both(&manager);
    let looks = watch(&manager, &bounces, RIGHT_AFTER);
    assert!(looks.iter().all(|&(_, count)| count == 1), "{looks:?}");

    // The other processor becomes free: it is tried, found to be useless, and given back.
    stop(scales);
    let looks = watch(&manager, &bounces, WATCHED);
    let (longest, sum) = held(&looks, 2);
    eprintln!("with both processors: {longest:?} at the longest, {sum:?} of {WATCHED:?}");
    assert!(longest > Duration::ZERO, "it was never tried with both: {looks:?}");
    assert!(longest < RIGHT_AFTER, "with both for {longest:?}: {looks:?}");
    assert!(sum * 2 < WATCHED, "with both for {sum:?} of {WATCHED:?}: {looks:?}");
    stop(bounces);

    // One that does scale is given both.
    let scales = start(&manager, "mm");
    assert!(eventually(|| count(&manager, &scales) == Some(2)), "{:#?}", manager.status());
    stop(scales);
    manager.expect_all_free();
}
