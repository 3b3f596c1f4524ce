//! Counters that a test plays: refused, scaled, stolen, broken.

use std::sync::{Arc, Mutex};

use super::*;
use crate::sense::declared::Declared;
use crate::sense::{Ladder, ThreadUse};

const MS: u64 = 1_000_000;

/// The next reading of every thread's counter, by thread id; an error number instead if it is to
/// fail.
#[derive(Debug, Default, Clone)]
struct Played {
    shows: Arc<Mutex<BTreeMap<u32, Result<Count, i32>>>>,
    refuses: Arc<Mutex<Option<i32>>>,
}

#[derive(Debug)]
struct PlayedCounter {
    tid: u32,
    played: Played,
}

impl Counters for Played {
    fn open(&mut self, tid: u32) -> io::Result<Box<dyn Counter>> {
        match *self.refuses.lock().unwrap() {
            Some(errno) => Err(io::Error::from_raw_os_error(errno)),
            None => Ok(Box::new(PlayedCounter { tid, played: self.clone() })),
        }
    }
}

impl Counter for PlayedCounter {
    fn read(&mut self) -> io::Result<Count> {
        let shows = self.played.shows.lock().unwrap();
        shows.get(&self.tid).copied().unwrap_or(Ok(Count::default())).map_err(io::Error::from_raw_os_error)
    }
}

impl Played {
    fn show(&self, tid: u32, value: u64, enabled_ns: u64, running_ns: u64) {
        self.shows.lock().unwrap().insert(tid, Ok(Count { value, enabled_ns, running_ns }));
    }
}

fn sample(perf: &mut Perf, tids: &[u32], used_ns: u64) -> Outcome {
    let threads: Vec<_> = tids.iter().map(|&tid| Some(ThreadUse { tid, used_ns })).collect();
    let subject = Subject { app: 1, name: "x", threads: &threads, declared: None, stretch_milli: 0 };
    perf.sample(&subject, &Moment::default())
}

#[test]
fn rates_are_per_time_of_execution_also_where_the_hardware_was_shared() {
    let played = Played::default();
    let mut perf = Perf::new(Box::new(played.clone()), 16).unwrap();
    assert_eq!(sample(&mut perf, &[5, 6], 0), Outcome::Pending, "the first reading is only a beginning");
    // 5 was counted all its 50 ms; 6 only a quarter of them.
    played.show(5, 50_000, 50 * MS, 50 * MS);
    played.show(6, 25_000, 50 * MS, 12_500_000);
    assert_eq!(sample(&mut perf, &[5, 6], 50 * MS), Outcome::Rates(vec![Some(1000.0), Some(2000.0)]));
    // 6 has slept since.
    played.show(5, 60_000, 60 * MS, 60 * MS);
    assert_eq!(sample(&mut perf, &[5, 6], 0), Outcome::Rates(vec![Some(1000.0), None]));
}

#[test]
fn a_refusal_says_why() {
    for (errno, word) in [
        (libc::EACCES, "perf_event_paranoid"),
        (libc::EPERM, "perf_event_paranoid"),
        (libc::ENOENT, "shows no such counter"),
        (libc::ENOSYS, "no perf events"),
    ] {
        let played = Played::default();
        *played.refuses.lock().unwrap() = Some(errno);
        let why = Perf::new(Box::new(played), 16).unwrap_err();
        assert!(why.contains(word), "{why}");
    }
}

#[test]
fn one_program_that_may_not_be_counted_is_the_next_rungs() {
    let played = Played::default();
    let mut perf = Perf::new(Box::new(played.clone()), 16).unwrap();
    *played.refuses.lock().unwrap() = Some(libc::EACCES);
    assert!(matches!(sample(&mut perf, &[5], 0), Outcome::Nothing(why) if why.contains("does not let us")));
    *played.refuses.lock().unwrap() = Some(libc::ESRCH);
    assert_eq!(sample(&mut perf, &[5], 0), Outcome::Pending, "a thread that has just ended is no refusal");
}

#[test]
fn counters_leave_descriptors_for_others() {
    let played = Played::default();
    let mut perf = Perf::new(Box::new(played), 2).unwrap();
    assert!(matches!(sample(&mut perf, &[5, 6, 7], 0), Outcome::Nothing(why) if why.contains("no descriptors")));
    assert_eq!(perf.open.len(), 2);
    assert_eq!(sample(&mut perf, &[6, 7], 0), Outcome::Pending, "5 has ended");
}

#[test]
fn stolen_hardware_is_waited_for_and_then_given_up() {
    let played = Played::default();
    let mut perf = Perf::new(Box::new(played.clone()), 16).unwrap();
    sample(&mut perf, &[5], 0);
    for round in 1..STALLS_MAX {
        played.show(5, 0, u64::from(round) * 50 * MS, 0);
        assert!(matches!(sample(&mut perf, &[5], 50 * MS), Outcome::Nothing(_)));
    }
    played.show(5, 0, u64::from(STALLS_MAX) * 50 * MS, 0);
    assert!(matches!(sample(&mut perf, &[5], 50 * MS), Outcome::Gone(_)));
}

#[test]
fn a_counter_that_cannot_be_read_any_more_ends_the_rung() {
    let played = Played::default();
    let mut perf = Perf::new(Box::new(played.clone()), 16).unwrap();
    sample(&mut perf, &[5], 0);
    played.shows.lock().unwrap().insert(5, Err(libc::EIO));
    assert!(matches!(sample(&mut perf, &[5], 50 * MS), Outcome::Gone(why) if why.contains("cannot be read")));
}

#[test]
fn an_id_that_is_used_again_gets_a_new_counter() {
    let played = Played::default();
    let mut perf = Perf::new(Box::new(played.clone()), 16).unwrap();
    played.show(5, 7, 70 * MS, 70 * MS);
    sample(&mut perf, &[5], 0);
    assert_eq!(sample(&mut perf, &[5], 50 * MS), Outcome::Pending, "it ran, and its counter did not see it");
    assert!(perf.open.is_empty());
}

#[test]
fn where_counters_are_refused_the_next_rung_is_asked_and_the_reason_is_shown() {
    for errno in [libc::EACCES, libc::ENOENT] {
        let played = Played::default();
        *played.refuses.lock().unwrap() = Some(errno);
        let mut ladder = Ladder::default();
        let boxed = |perf| Box::new(perf) as Box<dyn Source>;
        ladder.push(Rung::Perf, Perf::new(Box::new(played), 16).map(boxed));
        ladder.push(Rung::Declared, Ok(Box::new(Declared)));
        let threads = [Some(ThreadUse { tid: 5, used_ns: 50 * MS })];
        let subject = Subject { app: 1, name: "x", threads: &threads, declared: Some(9), stretch_milli: 0 };
        let sample = ladder.sample(&subject, &Moment::default());
        assert_eq!((sample.rung, sample.rates), (Some(Rung::Declared), vec![Some(9)]));
        let reason = io::Error::from_raw_os_error(errno).to_string();
        assert!(ladder.states()[0].lacking.contains(&reason), "{:?}", ladder.states());
    }
}

#[test]
fn the_kernels_own_counters_count_or_say_why_not() {
    let Err(why) = Perf::here() else {
        let mut counter = Kernel::default().open(0).unwrap();
        let before = counter.read().unwrap();
        let after = counter.read().unwrap();
        assert!(after.enabled_ns >= before.enabled_ns && after.value >= before.value);
        return;
    };
    let refused = Kernel::default().open(0).unwrap_err();
    assert!(why.contains(&refused.to_string()), "{why}");
}
