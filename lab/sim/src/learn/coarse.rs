//! Long recordings in coarser steps, so that their simulation ends in minutes and not in days.
//!
//! Programs become curves with stretches ([`crate::program::Stretch`]): their parallel work goes on
//! without threads. One that repeats a cycle of stretches repeats a longer one less often. Its
//! amounts of work, serial time and pauses stay the same, and so does the order of its activities.
//! Others can use its processors for as long in all, in fewer and longer pieces. Programs say their
//! phases. The time until a look finds a phase is missing then, and the time until a team meets:
//! little of a phase that long.

use super::measured::Activity;
use super::mix::Member;
use super::program::{LearnedProgram, Stretch};
use crate::program::PhaseSource;
use serde::Serialize;

/// Stretches of all programs together that need no coarser steps: each is a decision or two, some
/// ten microseconds. A program has at least one cycle of them.
const STRETCHES_IN_DETAIL: u64 = 100_000;
/// Meetings of all programs together that need no coarser steps, each counted once for each of its
/// processors: less than a microsecond.
const MEETINGS_IN_DETAIL: u64 = 4_000_000;

/// How much coarser the programs of a mix are than the recorded ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Coarseness {
    /// Cycles that became one.
    pub cycles: u32,
}

impl Coarseness {
    /// As coarse as these programs need it together; `None`: they are simulated in detail.
    fn needed(members: &[Member]) -> Option<Self> {
        let programs = || members.iter().map(|member| &member.program);
        let stretches: u64 = programs().map(|program| program.stretches.len() as u64 * u64::from(program.times)).sum();
        let meetings: u64 = programs().map(|program| program.meetings_in_all() * u64::from(program.processors)).sum();
        let cycles = u32::try_from(stretches.div_ceil(STRETCHES_IN_DETAIL)).unwrap_or(u32::MAX).max(1);
        (cycles > 1 || meetings > MEETINGS_IN_DETAIL).then_some(Self { cycles })
    }
}

/// Makes the programs as coarse as they have to be, and says how much that is; `None`: they stay.
pub fn coarsen(members: &mut [Member]) -> Option<Coarseness> {
    let needed = Coarseness::needed(members)?;
    for member in members {
        let program = &mut member.program;
        if needed.cycles > 1 {
            *program = in_longer_cycles(program.clone().in_one_cycle(), needed.cycles);
        }
        program.is_curve = true;
        program.phase_source = PhaseSource::Program;
    }
    Some(needed)
}

fn in_longer_cycles(program: LearnedProgram, together: u32) -> LearnedProgram {
    let times = (program.times / together).max(1);
    let all = |activity: Activity| program.amount_of(activity);
    let longer = |stretch: &Stretch| Stretch { amount_ns: all(stretch.activity) / u64::from(times), ..*stretch };
    LearnedProgram { stretches: program.stretches.iter().map(longer).collect(), times, ..program }
}

#[cfg(test)]
mod tests {
    use super::super::measured::{Measured, Span};
    use super::super::mix::{Bound, members};
    use super::super::recorded::Recorded;
    use super::*;
    use crate::dist::Dist;
    use crate::program::{self, Asks, Body, Stretch as ProgramStretch};
    use crate::read::Text;
    use numaestro_engine::{AppId, Wish};

    /// A program with so many cycles of 2 ms alone and 8 ms on two processors.
    fn program(cycles: u64) -> Vec<Member> {
        let cycle = [(Activity::Serial, 2_000_000), (Activity::Parallel, 8_000_000)];
        let span = |(activity, length_ns)| Span { activity, processors: 2, length_ns };
        let spans = (0..cycles).flat_map(|_| cycle.map(span)).collect();
        let run = Measured { spans, has_told_phases: true, ..Measured::default() };
        let wish = Wish::new(2);
        let recorded =
            Recorded { app: AppId(1), name: "a".into(), arrived: 0, ended: Some(1), had_begun: false, wish, run };
        members(&[recorded], Bound::Best)
    }

    #[test]
    fn a_short_recording_stays_as_it_is() {
        let mut short = program(500);
        let before = short.clone();
        assert_eq!(coarsen(&mut short), None);
        assert_eq!(short, before);
    }

    #[test]
    fn a_long_one_is_a_curve_with_fewer_cycles_and_the_same_amounts() {
        let mut long: Vec<Member> = (0..200).flat_map(|_| program(2000)).collect();
        let before = long[0].program.clone();
        assert_eq!(coarsen(&mut long), Some(Coarseness { cycles: 8 }));
        let found = &long[0].program;
        assert_eq!((before.times, found.times), (2000, 250));
        assert_eq!(found.phase_source, PhaseSource::Program);
        for activity in [Activity::Serial, Activity::Parallel] {
            assert_eq!(found.amount_of(activity), before.amount_of(activity));
        }
        let read = program::read(Text::new("x", &found.to_toml())).unwrap();
        let Body::Curve { stretches, times: 250, .. } = &read[0].body else { panic!("{:?}", read[0].body) };
        let amount = |ns| Dist::Constant(ns);
        assert_eq!(stretches, &[ProgramStretch::Serial(amount(16e6)), ProgramStretch::Parallel(amount(128e6))]);
        assert_eq!(read[0].asks, Asks::Once(PhaseSource::Program));
    }
}
