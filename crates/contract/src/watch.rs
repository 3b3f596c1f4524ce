//! Decides when a program counts as sequential, blocked and parallel.
//!
//! A program that says so is believed. Of one that does not (an unmodified OpenMP program) the
//! shell reads how many parallel regions it has opened, and how much processor time it uses. A
//! program without a region for [`QUIET_NS`] is in a sequential phase, unless it computes by other
//! means. A program that uses hardly any time for 2 ms, and has no thread that is ready to run,
//! waits for something outside: it is blocked, and needs no processor at all. One that is ready and
//! uses no time is kept from running by others.
//!
//! A program may say that it waits for a message (a rank of MPI, which sleeps between its polls):
//! then no patience is needed. While it has not run since, it cannot have seen the message, however
//! long it has been ready: a thread of another program computes on the processor that it lent.
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
/// A rank of MPI that waits uses less than this between two looks: some polls for its message,
/// after each awakening. An awakening costs several times as much on one machine as on another.
const WAITS_PERMILLE: u64 = 300;
/// A rank of MPI waited at the latest look, and has used less than this since: it still waits. What
/// it does with its message takes longer.
const STILL_PERMILLE: u64 = 50;
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
    /// It waited for a message at the latest look.
    waited: bool,
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
            waited: false,
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
            self.waited = false;
            // One look more is needed to know that no region begins and ends between looks.
            self.regions = (!look.in_region).then_some(look.regions);
            return (told != Phase::Parallel).then_some(Phase::Parallel);
        }
        let before = before?;
        let used = Used::between(before, present?);
        self.waited = look.waits || (self.waited && used.permille() < STILL_PERMILLE);
        let look = Look { waits: self.waited, ..look };
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
        let most = if look.waits { WAITS_PERMILLE } else { BLOCKED_PERMILLE };
        let idle = used.permille() < most && look.ready.is_none_or(|ready| ready == 0);
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
        // It may have another thread, beside one of the program that borrows.
        let only_waits = look.waits && used.permille() < WAITS_PERMILLE;
        let waits = look.ready == Some(0) && self.idle_since_ns.is_some();
        match self.told.phase() {
            // Whoever is ready twice has something to do, and others are in its way.
            Phase::Blocked if used.permille() > WORKS_PERMILLE || (ready(1) && was_ready > 0 && !only_waits) => {
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
mod tests;
