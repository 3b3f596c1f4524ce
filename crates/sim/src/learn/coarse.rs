//! Long recordings in coarser steps, so that their simulation ends in minutes and not in days.
//!
//! A program that repeats a cycle of stretches repeats a longer one less often, and its team meets
//! less often. Its amounts of work, serial time and pauses stay the same, and so does the order of
//! its activities. Others can use its processors for as long in all, in fewer and longer pieces.
//! Programs say their phases, because looks every two milliseconds for a day take longer than all
//! else. The time until a look finds a phase is missing then: little of a phase that long.

use super::measured::Activity;
use super::mix::Member;
use super::program::{LearnedProgram, Stretch};
use crate::program::PhaseSource;
use serde::Serialize;

/// Stretches of all programs together that need no coarser steps: each is a decision or two, some
/// ten microseconds. A program has at least one cycle of them.
const STRETCHES_IN_DETAIL: u64 = 100_000;
/// Meetings of all programs together that need no coarser steps, each counted once for each of its
/// processors: less than a microsecond. [`MEETINGS_LEAST`] goes before it.
const MEETINGS_IN_DETAIL: u64 = 4_000_000;

/// A team meets at least so often in a parallel stretch: it takes the processors that it is given
/// at the next meeting.
const MEETINGS_LEAST: u64 = 16;

/// How much coarser the programs of a mix are than the recorded ones; 1: not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Coarseness {
    /// Cycles that became one.
    pub cycles: u32,
    /// Meetings that became one, at most.
    pub meetings: u32,
}

impl Coarseness {
    /// As coarse as these programs need it together.
    fn needed(members: &[Member]) -> Self {
        let programs = || members.iter().map(|member| &member.program);
        let stretches: u64 = programs().map(|program| program.stretches.len() as u64 * u64::from(program.times)).sum();
        let meetings: u64 = programs().map(|program| program.meetings_in_all() * u64::from(program.processors)).sum();
        let times = |all: u64, in_detail: u64| u32::try_from(all.div_ceil(in_detail)).unwrap_or(u32::MAX).max(1);
        Self { cycles: times(stretches, STRETCHES_IN_DETAIL), meetings: times(meetings, MEETINGS_IN_DETAIL) }
    }

    /// The coarser of two in each way.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self { cycles: self.cycles.max(other.cycles), meetings: self.meetings.max(other.meetings) }
    }

    /// It changes something.
    pub fn is_any(self) -> bool {
        self.cycles > 1 || self.meetings > 1
    }
}

/// Makes the programs as coarse as they have to be, and says how much that is.
pub fn coarsen(members: &mut [Member]) -> Coarseness {
    let needed = Coarseness::needed(members);
    for member in members.iter_mut().filter(|_| needed.is_any()) {
        let program = &mut member.program;
        if needed.cycles > 1 {
            *program = in_longer_cycles(program.clone().in_one_cycle(), needed.cycles);
            program.phase_source = PhaseSource::Program;
        }
        let parallel = program.stretches.iter().filter(|stretch| stretch.activity == Activity::Parallel).count();
        let least = parallel as u64 * u64::from(program.times) * MEETINGS_LEAST;
        let most = program.meetings_in_all() / least.max(1);
        program.meetings_together = needed.meetings.min(u32::try_from(most).unwrap_or(u32::MAX)).max(1);
    }
    needed
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
        members(vec![recorded], Bound::Best)
    }

    #[test]
    fn a_short_recording_stays_as_it_is() {
        let mut short = program(500);
        let before = short.clone();
        assert!(!coarsen(&mut short).is_any());
        assert_eq!(short, before);
    }

    #[test]
    fn a_long_one_has_fewer_cycles_and_meetings_and_the_same_amounts() {
        let mut long: Vec<Member> = (0..200).flat_map(|_| program(2000)).collect();
        let before = long[0].program.clone();
        assert_eq!(coarsen(&mut long), Coarseness { cycles: 8, meetings: 2 });
        let found = &long[0].program;
        assert_eq!((before.times, found.times), (2000, 250));
        assert_eq!(found.phase_source, PhaseSource::Program);
        assert!(found.meetings_in_all() <= before.meetings_in_all() / 2 + 1);
        for activity in [Activity::Serial, Activity::Parallel] {
            assert_eq!(found.amount_of(activity), before.amount_of(activity));
        }
        // 128 ms of work in each stretch: short meetings first, then fewer.
        let begin = "do = \"parallel\", iterations = 16, work = \"1000000 ns\"";
        let work = |text: &str| -> u64 {
            let regions = text
                .split("iterations = ")
                .skip(1)
                .map(|rest| rest.split([',', '"', ' ']).filter(|word| !word.is_empty()));
            regions
                .map(|mut words| {
                    words.next().unwrap().parse::<u64>().unwrap() * words.nth(2).unwrap().parse::<u64>().unwrap()
                })
                .sum()
        };
        let (text, usual) = (found.to_toml(), before.to_toml());
        assert!(text.contains(begin) && !usual.contains(begin), "{text}");
        assert!(work(&text).abs_diff(128_000_000) < 1000 && work(&usual) == 16_000_000, "{text}");
    }
}
