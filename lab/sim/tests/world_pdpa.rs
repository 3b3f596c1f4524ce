//! PDPA in whole simulated runs: which number of processors it finds, how soon, and what the search
//! costs.

mod world_support;

use numaestro_engine::{Action, Event};
use numaestro_sim::machine::{Model, System};
use numaestro_sim::program::{Analyzer, Program};
use numaestro_sim::speedup::Curve;
use numaestro_sim::world::Observer;
use std::collections::BTreeMap;
use world_support::{curve, machine, run_with, setup};

const SECOND: u64 = 1_000_000_000;

/// Every number of processors that an application was given, with its time in nanoseconds.
#[derive(Default)]
struct Counts(BTreeMap<u64, Vec<(u64, u32)>>);

impl Observer for Counts {
    fn wants_journal(&self) -> bool {
        true
    }

    fn journal(&mut self, at: u64, _event: &Event, actions: &[Action]) {
        for action in actions {
            if let Action::Target { app, count, .. } = action {
                let counts = self.0.entry(app.0).or_default();
                if counts.last().is_none_or(|&(_, last)| last != *count) {
                    counts.push((at, *count));
                }
            }
        }
    }
}

fn plain(pus: usize) -> Model {
    machine(pus, System::RoundRobin, SECOND / 10)
}

/// A loop of `seconds` on one processor, in rounds of about 14 ms. No multiple of a round is a
/// quantum, so that no report comes at the very time of a due test.
fn looping(width: u32, seconds: u32, shape: Curve) -> Program {
    let analyzer = Analyzer { baseline: 1, iterations: seconds * 141 / 2, ..Analyzer::default() };
    Program { analyzer: Some(analyzer), ..curve(width, f64::from(seconds) * SECOND as f64, shape, 0) }
}

/// Two processors make the second one five times slower. It has one while both run; the free one
/// is tried when the first has ended.
#[test]
fn one_that_scales_beside_one_that_does_not() {
    let slower = Curve::Table(vec![(1, 1.0), (2, 0.2)]);
    let programs = vec![(0, looping(2, 4, Curve::Linear)), (0, looping(2, 20, slower))];
    let mut counts = Counts::default();
    let outcome = run_with(setup(plain(2), "pdpa", 1), programs, &mut counts);
    let (scales, slower) = (&counts.0[&1], &counts.0[&2]);
    assert_eq!((scales[0].1, slower[0].1), (1, 1));
    let ended = outcome.jobs.iter().map(|job| job.ended).min().expect("jobs");
    assert!(slower.iter().all(|&(at, count)| count == 1 || at >= ended), "nothing is free: {slower:?}");
    let mut on_two = 0;
    for pair in slower.windows(2).filter(|pair| pair[0].1 == 2) {
        assert!(pair[1].0 - pair[0].0 < 2 * SECOND, "it has one within two seconds: {slower:?}");
        on_two += pair[1].0 - pair[0].0;
    }
    assert_eq!(slower.last().map(|&(_, count)| count), Some(1));
    assert!(on_two > 0 && on_two * 20 <= outcome.end, "{on_two} of {}: {slower:?}", outcome.end);
    // What the search costs, not what it lasts: the time over that of the right number.
    assert!(outcome.end <= 20 * SECOND * 105 / 100, "{}", outcome.end);
}

/// Three tests of STEP = 2, whatever comes out (Martorell et al. 2000, §4.4).
#[test]
fn a_stable_program_is_tested_three_times_when_processors_become_free() {
    let programs = vec![(0, looping(16, 300, Curve::Linear)), (0, looping(12, 60, Curve::Linear))];
    let mut counts = Counts::default();
    let outcome = run_with(setup(plain(16), "pdpa", 1), programs, &mut counts);
    let ended = outcome.jobs.iter().map(|job| job.ended).min().expect("jobs");
    let first = &counts.0[&1];
    let before = first.iter().rev().find(|&&(at, _)| at < ended).expect("a number").1;
    let after: Vec<u32> = first.iter().filter(|&&(at, _)| at >= ended).map(|&(_, count)| count).collect();
    assert!(before + 6 < 16, "there is room for more than three tests: {first:?}");
    assert_eq!(after, [before + 2, before + 4, before + 6], "{first:?}");
}
