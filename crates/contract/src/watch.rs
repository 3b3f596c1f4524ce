//! Decides when a program counts as sequential, blocked and parallel.
//!
//! A program that says so is believed. Of one that does not (an unmodified OpenMP program) the
//! shell reads how many parallel regions it has opened, and how much processor time it uses. A
//! program without a region for [`QUIET_NS`] is in a sequential phase, unless it computes by other
//! means. A program that uses hardly any time for 2 ms, and has no thread that is ready to run,
//! waits for something outside: it is blocked, and needs no processor at all. One that is ready and
//! uses no time is kept from running by others.
//!
//! A program may say that it waits for a message (a rank of MPI, which sleeps between its looks):
//! then no patience is needed.
//!
//! A program that never opened a region, such as one with a pool of threads, is judged by the
//! states of its threads: it is sequential while at most one of them runs or is ready to. On the
//! one processor that is left its time could not show that it is parallel again, but states do: two
//! of its threads are ready at two looks.
//!
//! A phase that ends soon has cost more than it gave. So a program whose phases are short has to be
//! quiet for longer before the next one counts.

use crate::look::{Look, PARALLEL_PERMILLE, READY_MOST, Used};
use crate::phase::{Phase, PhaseTold};
use numaestro_engine::{AppId, Event, Nanos};

/// A watched program has been outside of any region for so long when its sequential phase begins,
/// nanoseconds.
pub const QUIET_NS: Nanos = 3_000_000;
/// A program that uses less than this of a processor between two looks, thousandths, waits for
/// something outside.
const BLOCKED_PERMILLE: u64 = 100;
/// A blocked program that uses more than this works again, though it opens no region.
const WORKS_PERMILLE: u64 = 500;
/// A program without regions has been idle, or had one thread at work, for so long when that counts
/// as a phase, nanoseconds.
const PATIENCE_NS_MIN: Nanos = 2_000_000;
/// The same of a program whose phases are short, at most.
const PATIENCE_NS_MAX: Nanos = 64_000_000;
/// A phase that is shorter than this, nanoseconds, has cost about as much as it gave.
const SHORT_NS: Nanos = 8_000_000;

/// The phases of one watched program, as far as looks have shown them.
#[derive(Debug, Clone, Copy)]
pub struct PhaseWatch {
    told: PhaseTold,
    /// Regions at the latest look, if that was outside of one.
    regions: Option<u64>,
    /// Since when it has been seen outside of any region, nanoseconds.
    quiet_since_ns: Nanos,
    /// Time and processor time at the latest look of this quiet phase, nanoseconds.
    cpu: Option<(Nanos, Nanos)>,
    /// Threads that were ready at the latest look at which they were counted.
    ready: u32,
    /// Since when it has used hardly any time and no thread of it was ready, nanoseconds.
    idle_since_ns: Option<Nanos>,
    /// Since when one thread at most has been ready, nanoseconds.
    alone_since_ns: Option<Nanos>,
    /// It has to be idle or alone for so long, nanoseconds.
    patience_ns: Nanos,
    /// The time at which a phase other than a parallel one was last seen to begin, nanoseconds.
    seen_ns: Option<Nanos>,
}

impl Default for PhaseWatch {
    fn default() -> Self {
        Self {
            told: PhaseTold::default(),
            regions: None,
            quiet_since_ns: 0,
            cpu: None,
            ready: 0,
            idle_since_ns: None,
            alone_since_ns: None,
            patience_ns: PATIENCE_NS_MIN,
            seen_ns: None,
        }
    }
}

impl PhaseWatch {
    /// Takes one look into account; `cpu_ns` (processor time of the whole program) is asked only
    /// where it matters. Gives the program's phase, if it is another one than the engine knows.
    pub fn look(&mut self, look: Look, now: Nanos, cpu_ns: impl FnOnce() -> Option<Nanos>) -> Option<Phase> {
        let told = self.told.phase();
        let present = if look.needs_cpu_time() { cpu_ns().map(|time| (now, time)) } else { None };
        let before = std::mem::replace(&mut self.cpu, present);
        if look.in_region || self.regions != Some(look.regions) {
            self.quiet_since_ns = now;
            (self.idle_since_ns, self.alone_since_ns) = (None, None);
            // One look more is needed to know that no region begins and ends between looks.
            self.regions = (!look.in_region).then_some(look.regions);
            return (told != Phase::Parallel).then_some(Phase::Parallel);
        }
        let before = before?;
        let used = Used::between(before, present?);
        let was_ready = self.ready;
        self.ready = look.ready.unwrap_or(was_ready);
        self.note(look, (before.0, now), used);
        let phase = self.judge(look, now, used, was_ready)?;
        if phase > told {
            self.seen_ns = Some(now);
        } else {
            self.end(now);
        }
        Some(phase)
    }

    /// A phase in which it lent processors has ended.
    fn end(&mut self, now: Nanos) {
        let short = self.seen_ns.is_some_and(|seen| now.saturating_sub(seen) < SHORT_NS);
        self.patience_ns = if short { (self.patience_ns * 2).min(PATIENCE_NS_MAX) } else { PATIENCE_NS_MIN };
    }

    /// Since when it has been idle, and alone. Its time shows the whole of the time between two
    /// looks, states of threads only the moment of a look.
    fn note(&mut self, look: Look, (before, now): (Nanos, Nanos), used: Used) {
        let idle = used.permille() < BLOCKED_PERMILLE && look.ready.is_none_or(|ready| ready == 0);
        let alone = !used.is_parallel() && look.ready.is_none_or(|ready| ready < READY_MOST);
        let counted = look.ready.is_some();
        self.idle_since_ns = self.idle_since_ns.or(counted.then_some(before)).filter(|_| idle);
        self.alone_since_ns = self.alone_since_ns.or(counted.then_some(now)).filter(|_| alone);
    }

    /// Its phase, if it is another one than the engine knows.
    fn judge(&self, look: Look, now: Nanos, used: Used, was_ready: u32) -> Option<Phase> {
        let has_lasted = |since: Option<Nanos>| since.is_some_and(|since| now - since >= self.patience_ns);
        // Whoever says that it waits has been patient by itself.
        let has_waited = |since: Option<Nanos>| look.waits && since.is_some() || has_lasted(since);
        let ready = |least| look.ready.is_some_and(|ready| ready >= least);
        let waits = look.ready == Some(0) && self.idle_since_ns.is_some();
        match self.told.phase() {
            // Whoever is ready twice has something to do, and others are in its way.
            Phase::Blocked if used.permille() > WORKS_PERMILLE || (ready(1) && was_ready > 0 && !look.waits) => {
                Some(if look.ready == Some(1) { Phase::Sequential } else { Phase::Parallel })
            }
            Phase::Blocked => None,
            _ if waits && has_waited(self.idle_since_ns) => Some(Phase::Blocked),
            Phase::Sequential => {
                let several = ready(READY_MOST) && was_ready >= READY_MOST;
                (several || used.is_parallel()).then_some(Phase::Parallel)
            }
            Phase::Parallel if !look.several => None,
            Phase::Parallel if look.regions != 0 => {
                let quiet = now.saturating_sub(self.quiet_since_ns) >= QUIET_NS.max(self.patience_ns);
                (quiet && used.permille() < PARALLEL_PERMILLE && !ready(READY_MOST)).then_some(Phase::Sequential)
            }
            Phase::Parallel => (look.ready.is_some() && has_lasted(self.alone_since_ns)).then_some(Phase::Sequential),
        }
    }

    /// Whether it matters at a look with this processor time how many threads are ready. Of a
    /// program that is known to wait, and has used no time at all, nothing can have become ready
    /// and stayed so; one with a single processor and work for it has nothing to lend.
    pub fn counts_ready(&self, look: Look, now: Nanos, cpu_ns: Nanos) -> bool {
        let Some(before) = self.cpu else { return false };
        let used = Used::between(before, (now, cpu_ns));
        match self.told.phase() {
            Phase::Blocked => used.cpu_ns > 0 || self.ready > 0,
            Phase::Sequential => !used.is_parallel(),
            Phase::Parallel if look.several => !used.is_parallel(),
            Phase::Parallel => used.permille() <= WORKS_PERMILLE,
        }
    }

    /// One look more may show another phase than the engine knows.
    pub fn wavers(&self, several: bool) -> bool {
        match self.told.phase() {
            Phase::Blocked => self.ready > 0,
            Phase::Sequential => self.ready >= READY_MOST || self.idle_since_ns.is_some(),
            Phase::Parallel => self.idle_since_ns.is_some() || (several && self.alone_since_ns.is_some()),
        }
    }

    /// The engine is told of a phase. The event, if it is news.
    pub fn tell(&mut self, app: AppId, phase: Phase) -> Option<Event> {
        self.told.change(app, phase)
    }

    /// The program says its phase. The event, if the engine does not know.
    pub fn says(&mut self, app: AppId, phase: Phase) -> Option<Event> {
        if let Some((looked, _)) = self.cpu
            && phase < self.told()
        {
            self.end(looked);
        }
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
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn a_program_that_says_that_it_waits_needs_no_patience() {
        let mut watch = PhaseWatch { patience_ns: PATIENCE_NS_MAX, ..PhaseWatch::default() };
        let mut look = |waits, ready, now, cpu| {
            seen(&mut watch, Look { waits, ready: Some(ready), several: false, ..at(5, false) }, now, cpu)
        };
        assert_eq!(look(false, 0, 4 * MS, 7), None);
        assert_eq!(look(false, 0, 6 * MS, 7), None, "its latest waits were short ones");
        assert_eq!(look(true, 0, 8 * MS, 7), Some(Phase::Blocked));
        assert_eq!(look(true, 1, 10 * MS, 7), None);
        assert_eq!(look(true, 1, 12 * MS, 7), None, "it looks at its messages");
        assert_eq!(look(true, 1, 14 * MS, 2 * MS), Some(Phase::Sequential), "another thread works");
        assert_eq!(look(true, 1, 16 * MS, 4 * MS), None, "and goes on");
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
}
