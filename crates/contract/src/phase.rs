//! Decides when a program counts as sequential, blocked and parallel.
//!
//! A program that says so is believed. Of one that does not (an unmodified OpenMP program) the
//! shell reads how many parallel regions it has opened, and how much processor time it uses. A
//! program without a region for [`QUIET_NS`] is in a sequential phase, unless it computes by other
//! means. A program that uses hardly any time, and has no thread that is ready to run, waits for
//! something outside: it is blocked, and needs no processor at all. One that is ready and uses no
//! time is kept from running by others.
//!
//! A program that never opened a region, such as one with a pool of threads, is blocked by the same
//! rule. It is never taken to be sequential: on the one processor that is left, its time could not
//! show that it is parallel again.

use numaestro_engine::{AppId, Event, Nanos};
use serde::{Deserialize, Serialize};

/// A watched program has been outside of any region for so long when its sequential phase begins,
/// nanoseconds.
pub const QUIET_NS: Nanos = 3_000_000;
/// A program that says its phases leaves out those that are not longer than this, nanoseconds:
/// short ones cost more than they give.
pub const SAID_MIN_NS: Nanos = 100_000;
/// A program that uses less than this of a processor between two looks, thousandths, waits for
/// something outside.
const BLOCKED_PERMILLE: u64 = 100;
/// A blocked program that uses more than this works again, though it opens no region.
const WORKS_PERMILLE: u64 = 500;
/// A program that uses more than this is parallel by other means than regions: by a library's own
/// threads.
const PARALLEL_PERMILLE: u64 = 1500;

/// The activity of a program, as far as its processors are concerned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// It can use all its processors.
    #[default]
    Parallel,
    /// It uses one of them.
    Sequential,
    /// It waits for something outside and uses none.
    Blocked,
}

/// The phase that the engine was told last of one application.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PhaseTold(Phase);

impl PhaseTold {
    /// The program's phase is `to`. The event to tell, if that is news.
    pub fn change(&mut self, app: AppId, to: Phase) -> Option<Event> {
        let before = std::mem::replace(&mut self.0, to);
        (before != to).then_some(match to {
            Phase::Parallel => Event::Parallel { app },
            Phase::Sequential => Event::Sequential { app },
            Phase::Blocked => Event::Blocked { app },
        })
    }

    /// Its phase that the engine knows.
    pub fn phase(self) -> Phase {
        self.0
    }
}

/// The findings of one look at a running program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// Parallel regions it has opened since it began.
    pub regions: u64,
    /// It is inside of one.
    pub in_region: bool,
    /// It has two processors or more.
    pub several: bool,
    /// A thread of it runs or is ready to, or it leaves its work to processes of its own: the
    /// processor time that it has used does not show that it waits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ready: bool,
}

/// The phases of one watched program, as far as looks have shown them.
#[derive(Debug, Clone, Copy, Default)]
pub struct PhaseWatch {
    told: PhaseTold,
    /// Regions at the latest look, if that was outside of one.
    regions: Option<u64>,
    /// Since when it has been seen outside of any region, nanoseconds.
    quiet_since_ns: Nanos,
    /// Time and processor time at the latest look of this quiet phase, nanoseconds.
    cpu: Option<(Nanos, Nanos)>,
    /// It was ready at the latest look.
    ready: bool,
    /// The time at which a phase other than a parallel one was last seen to begin, nanoseconds.
    seen_ns: Option<Nanos>,
}

impl PhaseWatch {
    /// Takes one look into account; `cpu_ns` (processor time of the whole program) is asked only
    /// where it matters. Gives the program's phase, if it is another one than the engine knows.
    pub fn look(&mut self, look: Look, now: Nanos, cpu_ns: impl FnOnce() -> Option<Nanos>) -> Option<Phase> {
        let told = self.told.phase();
        let was_ready = std::mem::replace(&mut self.ready, look.ready);
        if look.in_region || self.regions != Some(look.regions) {
            self.quiet_since_ns = now;
            self.cpu = None;
            // One look more is needed to know that no region begins and ends between looks.
            self.regions = (!look.in_region).then_some(look.regions);
            return (told != Phase::Parallel).then_some(Phase::Parallel);
        }
        if !self.needs_cpu_time(look, now) {
            return None;
        }
        let permille = self.rate(now, cpu_ns())?;
        let phase = match told {
            // Whoever is ready twice has something to do, and others are in its way.
            Phase::Blocked if permille > WORKS_PERMILLE || (look.ready && was_ready) => Phase::Parallel,
            Phase::Blocked => return None,
            _ if permille < BLOCKED_PERMILLE && !look.ready => Phase::Blocked,
            Phase::Parallel if look.several && look.regions != 0 && permille < PARALLEL_PERMILLE => Phase::Sequential,
            Phase::Parallel | Phase::Sequential => return None,
        };
        if phase != Phase::Parallel {
            self.seen_ns = Some(now);
        }
        Some(phase)
    }

    /// Whether this look says something only together with the program's processor time: the
    /// program has been outside of any region for [`QUIET_NS`].
    pub fn needs_cpu_time(&self, look: Look, now: Nanos) -> bool {
        let quiet = !look.in_region && self.regions == Some(look.regions);
        quiet && now.saturating_sub(self.quiet_since_ns) >= QUIET_NS
    }

    /// Whether a look with this processor time would find a program that waits, or leave it among
    /// those that do: only then it matters whether it is ready. Of a program that is known to wait,
    /// and has used no time at all, nothing can have become ready and stayed so.
    pub fn is_idle(&self, now: Nanos, cpu_ns: Nanos) -> bool {
        let Some(before) = self.cpu else { return false };
        let still_waits = self.told.phase() == Phase::Blocked && before.1 == cpu_ns && !self.ready;
        !still_waits && permille(before, (now, cpu_ns)) <= WORKS_PERMILLE
    }

    /// The engine is told of a phase. The event, if it is news.
    pub fn tell(&mut self, app: AppId, phase: Phase) -> Option<Event> {
        self.told.change(app, phase)
    }

    /// The program says its phase. The event, if the engine does not know.
    pub fn says(&mut self, app: AppId, phase: Phase) -> Option<Event> {
        self.regions = None;
        self.told.change(app, phase)
    }

    /// Its phase that the engine knows.
    pub fn told(&self) -> Phase {
        self.told.phase()
    }

    /// The time at which a phase other than a parallel one was last seen to begin, nanoseconds.
    pub fn seen_ns(&self) -> Option<Nanos> {
        self.seen_ns
    }

    /// Thousandths of a processor used since the former look, if there was one in this quiet phase.
    fn rate(&mut self, now: Nanos, cpu_ns: Option<Nanos>) -> Option<u64> {
        let before = std::mem::replace(&mut self.cpu, cpu_ns.map(|time| (now, time)));
        Some(permille(before?, (now, cpu_ns?)))
    }
}

/// Thousandths of a processor used between two times; of each, the time and the processor time,
/// nanoseconds.
fn permille((then, before): (Nanos, Nanos), (now, time): (Nanos, Nanos)) -> u64 {
    time.saturating_sub(before) * 1000 / now.saturating_sub(then).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;
    const APP: AppId = AppId(1);

    fn at(regions: u64, in_region: bool) -> Look {
        Look { regions, in_region, several: true, ready: false }
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
        assert_eq!(look(5, false, 6 * MS), None, "one look more shows what it does");
        assert_eq!(look(5, false, 8 * MS), Some(Phase::Sequential));
        assert_eq!(look(5, false, 60 * MS), None);
        assert_eq!(look(6, false, 62 * MS), Some(Phase::Parallel));
        assert_eq!(look(6, false, 66 * MS), None);
        assert_eq!(look(6, false, 68 * MS), Some(Phase::Sequential));
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
        assert_eq!(look(5, MS, 7), None);
        assert_eq!(look(5, 4 * MS, 7), None, "one look more tells whether time passes");
        assert_eq!(look(5, 6 * MS, 7), Some(Phase::Blocked));
        assert_eq!(look(5, 8 * MS, 7), None);
        assert_eq!(look(5, 10 * MS, 2 * MS), Some(Phase::Parallel), "it works again, without regions");
        assert_eq!(look(5, 12 * MS, 4 * MS), None);
        assert_eq!(look(5, 14 * MS, 4 * MS), Some(Phase::Blocked));
        assert_eq!(look(6, 16 * MS, 4 * MS), Some(Phase::Parallel));
    }

    #[test]
    fn regions_do_not_judge_a_program_that_has_none_nor_threads_of_a_library() {
        for (regions, used) in [(0, 1), (0, 2), (0, 4), (5, 4)] {
            let mut watch = PhaseWatch::default();
            for number in 0..50 {
                assert_eq!(seen(&mut watch, at(regions, false), number * 2 * MS, number * used * MS), None);
            }
        }
    }

    #[test]
    fn a_pool_that_sleeps_is_blocked_until_it_works() {
        let mut watch = PhaseWatch::default();
        let mut look = |now, cpu| seen(&mut watch, at(0, false), now, cpu);
        assert_eq!(look(MS, 7), None);
        assert_eq!(look(4 * MS, 7), None);
        assert_eq!(look(6 * MS, 7), Some(Phase::Blocked));
        assert_eq!(look(8 * MS, MS), None, "a little work");
        assert_eq!(look(10 * MS, 3 * MS), Some(Phase::Parallel));
    }

    #[test]
    fn a_program_that_is_kept_from_running_does_not_wait() {
        let ready = |regions| Look { ready: true, ..at(regions, false) };
        for regions in [0, 5] {
            let mut watch = PhaseWatch::default();
            for number in 0..50 {
                let look = Look { several: false, ..ready(regions) };
                assert_eq!(seen(&mut watch, look, number * 2 * MS, 0), None);
            }
        }
        let mut watch = PhaseWatch::default();
        for (now, expected) in [(1, None), (5, None), (7, Some(Phase::Blocked))] {
            assert_eq!(seen(&mut watch, at(0, false), now * MS, 0), expected);
        }
        assert!(!watch.is_idle(8 * MS, 0), "it has done nothing since: it still waits");
        assert!(watch.is_idle(8 * MS, MS / 10), "something has happened in it");
        assert!(!watch.is_idle(8 * MS, MS), "it works");
        assert_eq!(seen(&mut watch, ready(0), 9 * MS, 0), None, "it may only look at something");
        assert_eq!(seen(&mut watch, at(0, false), 11 * MS, 0), None);
        assert_eq!(seen(&mut watch, ready(0), 13 * MS, 0), None);
        assert!(watch.is_idle(15 * MS, 0), "who was ready may be kept from running");
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
        for (now, expected) in [(1, None), (5, None), (7, Some(Phase::Sequential)), (9, Some(Phase::Sequential))] {
            assert_eq!(watch.look(at(5, false), now * MS, || Some(now * MS)), expected);
        }
        assert_eq!(watch.says(APP, Phase::Parallel), None, "the engine takes it to be parallel");
    }

    #[test]
    fn a_phase_is_told_once() {
        let mut told = PhaseTold::default();
        assert_eq!(told.change(APP, Phase::Parallel), None);
        assert_eq!(told.change(APP, Phase::Sequential), Some(Event::Sequential { app: APP }));
        assert_eq!(told.change(APP, Phase::Sequential), None);
        assert_eq!(told.change(APP, Phase::Blocked), Some(Event::Blocked { app: APP }));
        assert_eq!(told.change(APP, Phase::Sequential), Some(Event::Sequential { app: APP }));
        assert_eq!(told.change(APP, Phase::Parallel), Some(Event::Parallel { app: APP }));
    }
}
