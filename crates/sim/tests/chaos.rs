//! Chaos runs: whatever goes wrong, nothing is promised twice, and afterwards everything comes right.

use numaestro_sim::chaos::{self, Options, Planted};

/// Seeds. In debug builds the engine checks everything after every event of theirs.
const SEEDS: u64 = 500;

#[test]
fn comes_right_whatever_went_wrong() {
    let mut struck = 0;
    for seed in 0..SEEDS {
        match chaos::run(seed, &Options::default(), &mut ()) {
            Ok(summary) => struck += summary.faults,
            Err(failure) => panic!("{failure}\n  `numaestro sim chaos --seed {seed} --trace` shows it"),
        }
    }
    assert!(struck > SEEDS, "only {struck} faults in {SEEDS} runs");
}

fn found(planted: Planted) -> usize {
    let options = Options { planted, ..Options::default() };
    (0..40).filter(|&seed| chaos::run(seed, &options, &mut ()).is_err()).count()
}

#[test]
fn planted_mistakes_are_found() {
    assert_eq!(found(Planted::Nothing), 0);
    for planted in [Planted::DepartUnsaid, Planted::AdoptedTooEarly, Planted::AdoptedForgotten] {
        assert!(found(planted) >= 5, "{planted:?} is found by {} of 40 runs", found(planted));
    }
}
