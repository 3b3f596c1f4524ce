//! Tests of PDPA: every transition of its states, whole searches over speedup curves, programs that
//! report nothing or lie.

use super::world::{Curve, QUANTUM, World, flat, half_parallel, linear, peak_at_18, silent, superlinear};
use super::*;
use crate::random::Random;
use crate::view::{Search, Speedup};

#[test]
fn finds_the_counts_of_three_curves() {
    for (curve, count) in [(half_parallel as Curve, 1), (peak_at_18, 18), (superlinear, 32)] {
        let mut world = World::new(64, &[(32, curve)]);
        world.run(30);
        assert_eq!((world.state(0), world.counts[0]), (State::Stable, count));
        // Three tests that fail change nothing, and there are no more of them.
        world.run(200);
        let changes = world.changes;
        world.run(300);
        assert_eq!((world.state(0), world.counts[0], world.changes), (State::Stable, count, changes));
    }
}

#[test]
fn from_no_reference() {
    let start = || {
        let mut world = World::new(64, &[(32, linear), (32, linear)]);
        world.decide();
        assert_eq!((world.state(0), world.counts[0]), (State::NoRef, 4));
        world
    };
    assert_eq!(start().after(0, 2700), (State::Dec, 2));
    assert_eq!(start().after(0, 2800), (State::Inc, 6));
    let mut world = World::new(8, &[(2, linear), (8, linear)]);
    world.decide();
    assert_eq!(world.after(0, 2000), (State::Stable, 2), "it has all it asks for");
    let mut world = World::new(4, &[(4, linear), (4, linear), (4, linear), (4, linear)]);
    world.run(3);
    assert_eq!(world.counts, [1, 1, 1, 1]);
    assert_eq!(world.state(0), State::Stable, "nothing is free");
}

#[test]
fn while_increasing() {
    let start = || {
        let mut world = World::new(64, &[(8, linear)]);
        world.decide();
        assert_eq!(world.after(0, 4000), (State::Inc, 6));
        world
    };
    assert_eq!(start().after(0, 5000), (State::Inc, 8));
    assert_eq!(start().after(0, 4100), (State::Stable, 4), "efficiency 0.683");
    let mut world = start();
    assert_eq!(world.after(0, 5000), (State::Inc, 8));
    assert_eq!(world.after(0, 6000), (State::Stable, 8));
    let mut world = World::new(64, &[(32, linear)]);
    world.decide();
    assert_eq!(world.after(0, 5000), (State::Inc, 6));
    assert_eq!(world.after(0, 5000), (State::Stable, 4), "efficient, but no faster");
}

#[test]
fn while_decreasing() {
    let config = Config { base: 8, ..Config::default() };
    let start = || {
        let mut world = World::with(64, &[(32, linear)], config);
        world.decide();
        assert_eq!(world.after(0, 3000), (State::Dec, 6));
        world
    };
    assert_eq!(start().after(0, 3000), (State::Dec, 4));
    assert_eq!(start().after(0, 4200), (State::Stable, 6));
    let mut world = World::new(64, &[(32, linear)]);
    world.decide();
    assert_eq!(world.after(0, 1000), (State::Dec, 2));
    assert_eq!(world.after(0, 1000), (State::Stable, 1), "one processor is always used well");
}

#[test]
fn a_stable_one_is_searched_again_after_three_bad_reports_in_a_row() {
    let mut world = World::new(16, &[(4, linear)]);
    world.decide();
    assert_eq!(world.after(0, 4000), (State::Stable, 4));
    for speedup in [1000, 1000, 4000, 1000, 1000] {
        assert_eq!(world.after(0, speedup), (State::Stable, 4));
    }
    assert_eq!(world.after(0, 1000), (State::Dec, 2));
}

#[test]
fn a_stable_one_is_tested_when_processors_are_free() {
    let mut world = World::new(16, &[(16, linear), (16, linear)]);
    world.decide();
    assert_eq!(world.after(0, 4000), (State::Inc, 6));
    assert_eq!(world.after(0, 4100), (State::Stable, 4));
    world.case.now_ns += 9 * QUANTUM;
    world.decide();
    assert_eq!(world.state(0), State::Stable, "it rests first");
    world.case.now_ns += QUANTUM;
    world.decide();
    assert_eq!((world.state(0), world.counts[0]), (State::Test, 6));
    let mut kept = World {
        case: world.case.clone(),
        pdpa: world.pdpa,
        curves: world.curves,
        ..World::new(16, &[(1, linear), (1, linear)])
    };
    kept.counts = world.counts;
    assert_eq!(kept.after(0, 5000), (State::Stable, 6), "it pays");
    kept.case.now_ns += QUANTUM;
    kept.decide();
    assert_eq!((kept.state(0), kept.counts[0]), (State::Test, 8), "more might pay too");
    assert_eq!(kept.after(0, 5000), (State::Stable, 6), "no faster");
}

#[test]
fn only_so_many_tests_may_fail() {
    for tests in [0, 3] {
        let config = Config { tests, ..Config::default() };
        let mut world = World::with(64, &[(64, peak_at_18)], config);
        world.run(10);
        assert_eq!((world.state(0), world.counts[0]), (State::Stable, 18));
        let before = world.changes;
        world.run(400);
        assert_eq!(world.changes, before + 2 * tests, "there and back");
        assert_eq!(world.case.apps[0].search, Search::Settled { grows: false });
    }
}

#[test]
fn growth_for_which_nothing_was_free_goes_on_when_something_is() {
    let config = Config { tests: 10, ..Config::default() };
    let mut world = World::with(16, &[(16, linear), (8, linear), (16, linear)], config);
    world.run(20);
    assert_eq!(world.counts.iter().sum::<u32>(), 16);
    world.depart(1);
    world.depart(2);
    world.run(20);
    assert_eq!(world.counts[0], 16);
}

/// "In the current implementation, this test is done three times" (§4.4), whether it pays or not.
#[test]
fn a_test_that_pays_counts_as_a_test() {
    for tests in [1, 3] {
        let config = Config { tests, ..Config::default() };
        let mut world = World::with(64, &[(64, linear), (60, linear)], config);
        world.run(40);
        let before = world.counts[0];
        assert_eq!((world.state(0), world.counts.iter().sum::<u32>()), (State::Stable, 64));
        world.depart(1);
        world.run(500);
        assert_eq!((world.state(0), world.counts[0]), (State::Stable, before + 2 * tests));
        assert_eq!(world.case.apps[0].search, Search::Settled { grows: false });
        // Only another search begins anew.
        for _ in 0..3 {
            world.after(0, 1000);
        }
        assert_eq!(world.state(0), State::Dec);
        world.run(500);
        assert_eq!((world.state(0), world.counts[0]), (State::Stable, before + 4 * tests - 2));
    }
}

/// Two processors and a program that is slower on both, which others hinder so that nothing can be
/// measured there: it loses the second one as soon as a report should have come, not after all of
/// the patience, and never for good.
#[test]
fn growth_that_is_not_measured_in_time_is_undone() {
    let on_one_only: Curve = |processors| u32::from(processors == 1) * 1000;
    let mut world = World::new(2, &[(2, on_one_only)]);
    world.run(12);
    assert_eq!((world.state(0), world.counts[0]), (State::Stable, 1), "within two seconds");
    let mut on_two = 0;
    for _ in 0..300 {
        world.run(1);
        on_two += u32::from(world.counts[0] == 2);
    }
    assert_eq!((world.state(0), world.counts[0]), (State::Stable, 1));
    assert!(on_two <= 33, "three tests of ten quanta: {on_two}");
}

/// The search waits longer for one whose reports take longer.
#[test]
fn slow_reports_are_waited_for() {
    let mut world = World::new(64, &[(32, silent)]);
    world.run(18);
    assert_eq!(world.after(0, 4000), (State::Inc, 6));
    world.run(35);
    assert_eq!((world.state(0), world.counts[0]), (State::Inc, 6), "twice 18 quanta are not over");
    assert_eq!(world.after(0, 6000), (State::Inc, 8));
    world.run(50);
    assert_eq!(world.counts[0], 8, "35 quanta are its slowest now, and 50 the most");
    world.run(1);
    assert_eq!((world.state(0), world.counts[0]), (State::Stable, 6));
}

/// Two processors: each starts with one, neither can grow until one ends; then one that scales has
/// both, one that does not has one.
#[test]
fn two_processors() {
    for (curve, alone) in [(linear as Curve, 2), (flat, 1)] {
        let mut world = World::new(2, &[(2, curve), (2, flat)]);
        world.run(20);
        assert_eq!(world.counts, [1, 1]);
        world.depart(1);
        world.run(5);
        assert_eq!((world.state(0), world.counts[0]), (State::Stable, alone), "with free processors");
        // From the beginning, within two seconds.
        let mut world = World::new(2, &[(2, curve)]);
        world.run(5);
        assert_eq!((world.state(0), world.counts[0]), (State::Stable, alone), "from the beginning");
    }
}

#[test]
fn who_asks_for_less_keeps_the_rest_and_nobody_else_grows() {
    let mut world = World::new(8, &[(8, linear), (8, linear)]);
    world.run(30);
    assert_eq!(world.counts.iter().sum::<u32>(), 8);
    let before = (world.counts.clone(), world.changes);
    world.case.apps[0].request = 1;
    world.run(100);
    world.case.apps[0].request = 8;
    world.run(5);
    assert_eq!((world.counts.clone(), world.changes), before);
}

#[test]
fn reports_for_another_allocation_do_not_count() {
    let mut world = World::new(64, &[(32, linear)]);
    world.decide();
    let app = &mut world.case.apps[0];
    (app.report, app.reports) = (Some(Speedup { processors: 8, speedup_milli: 100 }), 1);
    world.decide();
    assert_eq!((world.state(0), world.counts[0]), (State::NoRef, 4));
    assert_eq!(world.after(0, 4000), (State::Inc, 6));
    world.decide();
    assert_eq!((world.state(0), world.counts[0]), (State::Inc, 6), "an old report counts once");
}

#[test]
fn who_never_reports_keeps_its_start_and_is_then_treated_as_by_equi() {
    let mut world = World::new(16, &[(16, silent), (16, half_parallel)]);
    world.run(10);
    assert_eq!(world.counts, [4, 1]);
    world.run(50);
    assert_eq!(world.counts, [8, 1]);
    assert_eq!(world.case.apps[0].search, Search::Settled { grows: false }, "nobody waits for it");
    assert_eq!(world.after(0, 2000), (State::Dec, 6), "better late than never");
    let mut alone = World::new(2, &[(2, silent)]);
    alone.run(120);
    assert_eq!(alone.counts, [2]);
}

/// Applications that report nothing come to rest, with every number of them and every request: the
/// share asks for no further decision.
#[test]
fn silence_comes_to_rest() {
    let mut random = Random::new(12);
    for _ in 0..100 {
        let pus = 1 + random.below(16);
        let programs: Vec<_> = (0..=random.below(9)).map(|_| (1 + random.below(pus), silent as Curve)).collect();
        let mut world = World::new(pus, &programs);
        world.run(20);
        world.case.apps[0].request = 1 + random.below(pus);
        world.run(400);
        let wake = world.case.with_view(|view| world.pdpa.until(view));
        assert_eq!(wake, None, "{:?}", world.pdpa.records);
    }
}

#[test]
fn who_stops_reporting_goes_back_to_what_was_measured() {
    let mut world = World::new(64, &[(32, linear)]);
    world.decide();
    assert_eq!(world.after(0, 4000), (State::Inc, 6));
    world.curves[0] = silent;
    world.run(11);
    assert_eq!((world.state(0), world.counts[0]), (State::Stable, 4));
}

/// It takes free processors, but none from others.
#[test]
fn a_liar_hurts_nobody() {
    let mut world = World::new(16, &[(4, linear), (16, |processors| 4000 * processors), (2, linear)]);
    world.run(50);
    assert_eq!(world.counts, [4, 10, 2]);
}

#[test]
fn processors_that_go_are_cut_from_who_has_most() {
    let mut world = World::new(16, &[(10, linear), (4, linear), (2, linear)]);
    world.run(20);
    assert_eq!(world.counts, [10, 4, 2]);
    let mut shares = Shares::new();
    shares.reset(3);
    let counts = |shares: &Shares| [0, 1, 2].map(|slot| shares.count(Slot(slot)));
    world.case.with_view(|view| {
        let fewer = View { capacity: 7, ..*view };
        world.pdpa.divide(&fewer, &mut shares);
    });
    assert_eq!(counts(&shares), [3, 2, 2]);
    world.run(1);
    assert_eq!(world.counts, [10, 4, 2], "they come back");
}

/// With all reports and requests: 1 ≤ a ≤ r, and a changes by at most STEP with a report.
#[test]
fn steps_are_small_whatever_is_reported() {
    let mut random = Random::new(11);
    for _ in 0..200 {
        let pus = 1 + random.below(40);
        let programs: Vec<_> = (0..=random.below(6)).map(|_| (1 + random.below(pus), silent as Curve)).collect();
        let mut world = World::new(pus, &programs);
        for _ in 0..100 {
            world.decide();
            let slot = random.below(programs.len() as u32) as usize;
            let allocation = world.case.apps[slot].allocation;
            if allocation > 0 {
                world.report(slot, random.below(1500) * allocation);
            }
            let before = world.counts.clone();
            world.decide();
            for (slot, &count) in world.counts.iter().enumerate() {
                assert!(count <= programs[slot].0, "{:?}", world.counts);
                assert!(count.abs_diff(before[slot]) <= 2, "{before:?} then {:?}", world.counts);
                assert!(count >= 1 || before[slot] == 0, "{before:?} then {:?}", world.counts);
            }
            world.case.now_ns += u64::from(random.below(4)) * QUANTUM;
        }
    }
}
