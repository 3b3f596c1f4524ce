//! Tests of the phases that looks show.

use super::*;

const MS: Nanos = 1_000_000;
const APP: AppId = AppId(1);

fn at(regions: u64, in_region: bool) -> Look {
    Look { regions, in_region, several: true, ready: Some(0), waits: false }
}

/// A program that is told of at once; it has used `cpu` nanoseconds.
fn seen(watch: &mut PhaseWatch, look: Look, now: Nanos, cpu: Nanos) -> Option<Phase> {
    let phase = watch.look(look, now, || Some(cpu));
    if let Some(phase) = phase {
        assert!(watch.tell(APP, phase).is_some(), "what is seen is news");
    }
    phase
}

#[test]
fn three_quiet_milliseconds_are_a_sequential_phase() {
    let mut watch = PhaseWatch::default();
    let mut look = |regions, in_region, now| seen(&mut watch, at(regions, in_region), now, now);
    assert_eq!(look(5, true, MS), None);
    assert_eq!(look(5, false, 3 * MS), None);
    assert_eq!(look(5, false, 5 * MS), None);
    assert_eq!(look(5, false, 6 * MS), Some(Phase::Sequential));
    assert_eq!(look(5, false, 60 * MS), None);
    assert_eq!(look(6, false, 62 * MS), Some(Phase::Parallel));
    assert_eq!(look(6, false, 64 * MS), None);
    assert_eq!(look(6, false, 66 * MS), Some(Phase::Sequential));
}

#[test]
fn short_regions_between_looks_and_long_regions_are_no_quiet() {
    for regions in [|at| at, |_| 1] {
        let mut watch = PhaseWatch::default();
        for number in 0..100 {
            let look = at(regions(number), regions(0) == 1);
            assert_eq!(seen(&mut watch, look, number * 64 * MS, number * 64 * MS), None);
        }
    }
}

#[test]
fn a_program_that_uses_no_time_is_blocked_until_it_uses_some() {
    let mut watch = PhaseWatch::default();
    let mut look = |regions, now, cpu| seen(&mut watch, Look { several: false, ..at(regions, false) }, now, cpu);
    assert_eq!(look(5, 4 * MS, 7), None, "one look more tells whether time passes");
    assert_eq!(look(5, 6 * MS, 7), Some(Phase::Blocked));
    assert_eq!(look(5, 8 * MS, 7), None);
    assert_eq!(look(5, 10 * MS, 2 * MS), Some(Phase::Parallel), "it works again, without regions");
    assert_eq!(look(5, 12 * MS, 4 * MS), None);
    assert_eq!(look(5, 14 * MS, 4 * MS), None, "its latest wait was a short one");
    assert_eq!(look(5, 16 * MS, 4 * MS), Some(Phase::Blocked));
    assert_eq!(look(6, 18 * MS, 4 * MS), Some(Phase::Parallel));
}

/// A rank whose phases were short, seen on a machine on which everything takes `ms` nanoseconds
/// instead of a millisecond.
fn rank_that_waits(ms: Nanos) {
    let mut watch = PhaseWatch { patience_ns: PATIENCE_NS_MAX, ..PhaseWatch::default() };
    // Times are tenths.
    let mut look = |waits, ready, now: Nanos, cpu: Nanos| {
        let look = Look { waits, ready: Some(ready), several: false, ..at(5, false) };
        seen(&mut watch, look, now * ms / 10, cpu * ms / 10)
    };
    assert_eq!(look(false, 0, 40, 0), None);
    assert_eq!(look(false, 0, 60, 0), None, "its latest waits were short ones");
    assert_eq!(look(true, 0, 80, 0), Some(Phase::Blocked));
    assert_eq!(look(true, 1, 100, 0), None);
    assert_eq!(look(true, 1, 120, 0), None, "it polls for messages");
    assert_eq!(look(true, 1, 140, 20), Some(Phase::Sequential), "another thread works");
    assert_eq!(look(true, 1, 160, 40), None, "and goes on");
    assert_eq!(look(true, 0, 180, 40), Some(Phase::Blocked));
    assert_eq!(look(true, 1, 200, 50), None, "one look with a ready thread");
    let half = Some(Phase::Sequential);
    assert_eq!(look(true, 1, 220, 59), half, "another thread works beside the one that borrows");
    assert_eq!(look(true, 0, 240, 64), Some(Phase::Blocked), "a quarter of its time, for awakenings that cost a lot");
    assert_eq!(look(false, 1, 260, 64), None);
    assert_eq!(look(false, 1, 300, 65), None, "it is ready, but others keep it from running");
    assert_eq!(look(false, 1, 340, 68), half, "it has run and does not wait");
    assert_eq!(look(false, 0, 360, 73), None, "who does not say that it waits needs all of its time");
}

#[test]
fn a_program_that_says_that_it_waits_needs_no_patience_on_fast_and_slow_machines() {
    for ms in [MS / 4, MS / 2, MS, 2 * MS, 4 * MS, 8 * MS] {
        rank_that_waits(ms);
    }
}

#[test]
fn regions_do_not_judge_a_program_that_has_none_nor_threads_of_a_library() {
    for (regions, used) in [(0, 1), (0, 2), (0, 4), (5, 1), (5, 4)] {
        let mut watch = PhaseWatch::default();
        for number in 0..50 {
            let look = Look { ready: Some(2), ..at(regions, false) };
            assert_eq!(seen(&mut watch, look, number * 2 * MS, number * used * MS), None);
        }
    }
}

/// A program without regions.
fn pool(ready: u32) -> Look {
    Look { ready: Some(ready), ..at(0, false) }
}

/// Looks at it every 2 ms from 0 on, until a phase is seen; it uses one processor.
fn until_seen(watch: &mut PhaseWatch, from: Nanos, ready: u32) -> (Nanos, Phase) {
    let mut times = (from..).step_by(2).map(|at| (at, seen(watch, pool(ready), at * MS, at * MS)));
    times.find_map(|(at, phase)| Some((at, phase?))).unwrap()
}

#[test]
fn a_pool_of_which_one_thread_works_is_sequential_until_two_are_ready() {
    let mut watch = PhaseWatch::default();
    assert_eq!(until_seen(&mut watch, 0, 1), (4, Phase::Sequential), "one look with a rate, one more after 2 ms");
    let look = |watch: &mut PhaseWatch, ready, at| seen(watch, pool(ready), at * MS, at * MS);
    assert_eq!(look(&mut watch, 1, 30), None);
    assert_eq!(look(&mut watch, 2, 32), None, "one thread may have woken another and sleep soon");
    assert!(watch.wavers(false), "one look more decides");
    assert_eq!(look(&mut watch, 1, 34), None);
    assert!(!watch.wavers(false));
    assert_eq!(look(&mut watch, 2, 36), None);
    assert_eq!(look(&mut watch, 2, 38), Some(Phase::Parallel));
    assert_eq!(until_seen(&mut watch, 40, 1), (42, Phase::Sequential));
    // States were not counted: they say nothing.
    let uncounted = Look { ready: None, ..pool(0) };
    assert_eq!(look(&mut watch, 2, 44), None);
    assert_eq!(seen(&mut watch, uncounted, 46 * MS, 46 * MS), None);
    assert_eq!(look(&mut watch, 2, 48), Some(Phase::Parallel), "the two latest counts");
}

#[test]
fn one_that_waits_and_works_alone_again_has_one_processor() {
    let mut watch = PhaseWatch::default();
    assert_eq!(until_seen(&mut watch, 0, 1).1, Phase::Sequential);
    let at = |watch: &mut PhaseWatch, ready, now, cpu| seen(watch, pool(ready), now * MS, cpu * MS);
    assert_eq!(at(&mut watch, 0, 10, 5), None, "it has worked until a moment ago");
    assert_eq!(at(&mut watch, 0, 12, 5), Some(Phase::Blocked));
    assert_eq!(at(&mut watch, 1, 50, 6), None);
    assert_eq!(at(&mut watch, 1, 52, 8), Some(Phase::Sequential), "not parallel: one thread is ready");
    assert_eq!(at(&mut watch, 0, 54, 8), Some(Phase::Blocked));
    assert_eq!(at(&mut watch, 2, 56, 10), Some(Phase::Parallel));
}

#[test]
fn whose_phases_are_short_has_to_be_quiet_for_longer() {
    let (mut watch, mut at, mut waited) = (PhaseWatch::default(), 0, Vec::new());
    for length in [6, 6, 6, 20, 6, 6, 6, 6, 6, 6, 6, 6] {
        let (found, phase) = until_seen(&mut watch, at, 1);
        assert_eq!(phase, Phase::Sequential);
        waited.push(found - at);
        // Its threads wake up, and after two looks it has its processors again.
        for after in [length - 2, length] {
            seen(&mut watch, pool(2), (found + after) * MS, (found + after) * MS);
        }
        at = found + length + 2;
    }
    assert_eq!(waited, [4, 4, 8, 16, 2, 4, 8, 16, 32, 64, 64, 64]);
}

#[test]
fn the_kernel_counts_a_running_threads_time_in_ticks() {
    // One thread works, and its time comes in lumps of 4 ms.
    let mut watch = PhaseWatch::default();
    let phases: Vec<_> = (0..100).map(|look| seen(&mut watch, pool(1), look * 2 * MS, look / 2 * 4 * MS)).collect();
    assert_eq!(phases.iter().flatten().collect::<Vec<_>>(), [&Phase::Sequential]);
    // Of a parallel program nobody counts threads.
    let mut watch = PhaseWatch::default();
    seen(&mut watch, pool(2), 0, 0);
    seen(&mut watch, pool(2), 16 * MS, 0);
    assert!(watch.counts_ready(pool(0), 32 * MS, 16 * MS));
    assert!(!watch.counts_ready(pool(0), 32 * MS, 40 * MS));
    assert!(!watch.counts_ready(Look { several: false, ..pool(0) }, 32 * MS, 16 * MS), "it lends nothing");
    assert!(watch.counts_ready(Look { several: false, ..pool(0) }, 32 * MS, MS), "it may wait");
}

#[test]
fn a_pool_that_sleeps_is_blocked_until_it_works() {
    let mut watch = PhaseWatch::default();
    let mut look = |now, cpu, ready| seen(&mut watch, pool(ready), now, cpu);
    assert_eq!(look(4 * MS, 7, 0), None);
    assert_eq!(look(6 * MS, 7, 0), Some(Phase::Blocked));
    assert_eq!(look(8 * MS, MS, 0), None, "a little work");
    assert_eq!(look(10 * MS, 3 * MS, 2), Some(Phase::Parallel));
}

#[test]
fn a_program_that_is_kept_from_running_does_not_wait() {
    let ready = |regions| Look { ready: Some(2), ..at(regions, false) };
    for regions in [0, 5] {
        let mut watch = PhaseWatch::default();
        for number in 0..50 {
            let look = Look { several: false, ..ready(regions) };
            assert_eq!(seen(&mut watch, look, number * 2 * MS, 0), None);
        }
    }
    let mut watch = PhaseWatch::default();
    for (now, expected) in [(5, None), (7, Some(Phase::Blocked))] {
        assert_eq!(seen(&mut watch, at(0, false), now * MS, 0), expected);
    }
    assert!(!watch.counts_ready(pool(0), 8 * MS, 0), "it has done nothing since: it still waits");
    assert!(watch.counts_ready(pool(0), 8 * MS, MS / 10), "something has happened in it");
    assert_eq!(seen(&mut watch, ready(0), 9 * MS, 0), None, "it may only look at something");
    assert_eq!(seen(&mut watch, at(0, false), 11 * MS, 0), None);
    assert_eq!(seen(&mut watch, ready(0), 13 * MS, 0), None);
    assert!(watch.counts_ready(pool(0), 15 * MS, 0), "who was ready may be kept from running");
    assert_eq!(seen(&mut watch, ready(0), 15 * MS, 0), Some(Phase::Parallel));
}

#[test]
fn a_program_that_works_on_its_only_processor_lends_nothing() {
    let mut watch = PhaseWatch::default();
    for number in 0..50 {
        let look = Look { several: false, ..at(5, false) };
        assert_eq!(seen(&mut watch, look, number * 2 * MS, number * 2 * MS), None);
    }
}

#[test]
fn what_nobody_was_told_is_seen_again() {
    let mut watch = PhaseWatch::default();
    for (now, expected) in [(4, None), (7, Some(Phase::Sequential)), (9, Some(Phase::Sequential))] {
        assert_eq!(watch.look(at(5, false), now * MS, || Some(now * MS)), expected);
    }
    assert_eq!(watch.says(APP, Phase::Parallel), None, "the engine takes it to be parallel");
}
