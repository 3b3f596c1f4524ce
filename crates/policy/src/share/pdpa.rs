//! As many processors as an application uses well, found by measuring its speedup while it runs.
//!
//! **Source**: Performance-Driven Processor Allocation (PDPA), Martorell et al. 2000, §4.4 and
//! §6.4; the abstract of Corbalán, Martorell, Labarta, OSDI 2000, where the former leaves the rule
//! open.
//!
//! **Terms**: a = allocation; r = request within the user's limits; S = speedup with a; E = S / a;
//! MIN = `efficiency`, HIGH = `high`; (a', S') = the latest a that was good enough, and its
//! speedup; free = processors without an owner; start = BASE, on machines below 4·BASE a quarter of
//! it.
//!
//! **Algorithm**
//! ```text
//! NO_REF    a = min(start, r, free).  E < MIN: a = max(1, a − STEP), P_DEC.  E ≥ MIN: (a', S') = (a, S), grow, P_INC; cannot grow: P_STABLE
//! P_INC     E ≥ HIGH and S > S': (a', S') = (a, S), grow; cannot grow: P_STABLE.  Else a = a', P_STABLE
//! P_DEC     E ≥ MIN or a = 1: P_STABLE.  Else a = max(1, a − STEP)
//! P_STABLE  E < MIN in three reports in a row: a = max(1, a − STEP), P_DEC.
//!           free > 0, a < r, fewer than `tests` tests so far, and it has rested: (a', S') = (a, S), grow, P_TEST
//! P_TEST    E ≥ HIGH and S > S': keep.  Else a = a'.  Both: P_STABLE
//! grow: a = min(r, a + STEP, a + free)
//! ```
//! A report counts if it was measured with a. S(1) = 1, whatever is reported. An application that
//! asks for less than a for a while keeps a. Stable applications lose nothing. When processors have
//! gone, those with most are cut.
//!
//! **Without reports** for `patience`: an application that has never reported is treated as by
//! `equi`, but only takes free processors: min(r, P / applications). With one processor it grows
//! after ten quanta all the same. One that has reported loses an increase that is not measured in
//! twice the time of its slowest first report; at least ten quanta, at most `patience`.
//!
//! **Differs from the paper**: its figure of transitions is missing; this is the reading above.
//! Tests come after a rest of ten quanta (twice as long after each), or in the next quantum if only
//! want of free processors ended the growth, or if the test before paid. Their number counts from
//! the search (`P_INC`, `P_DEC`) that made the application stable. The engine asks admission before
//! a test begins, so that waiting applications come first.
//! Minimums take the place of 1.
//!
//! **Use when** programs repeat what they do and their speedups differ. **Avoid when** they are
//! shorter than the search (a few reports), or when everybody must have processors at once.

mod search;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod world;

use crate::answer::Answer;
use crate::parameters::{Parameters, join, write_milli};
use crate::part::{Info, Needs, Share};
use crate::rejected::Rejected;
use crate::shares::Shares;
use crate::view::{App, Slot, View};
use numaestro_quantity::DURATION;
pub use search::start;
use search::{Bounds, Config, Record, State};

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Share> = Answer {
    info: Info {
        name: "pdpa",
        summary: "As many as each application uses well, by the speedup it measures",
        source: "Performance-Driven Processor Allocation, Martorell et al. 2000, §4.4",
    },
    build: |given| Ok(Box::new(Pdpa::read(given)?)),
};

/// Most tests that can be asked for.
const TESTS_MAX: u32 = 100;

/// Config and state.
#[derive(Debug, Clone, Default)]
pub struct Pdpa {
    config: Config,
    /// Records by slot.
    records: Vec<Record>,
    /// Time at which it wants to be asked again, nanoseconds.
    wake: Option<u64>,
}

impl Pdpa {
    /// From a policy text: `base`, `step`, `efficiency`, `high`, `tests`, `quantum`, `patience`.
    ///
    /// # Errors
    /// A value that cannot be read or makes no sense.
    pub(crate) fn read(parameters: &mut Parameters) -> Result<Self, Rejected> {
        let default = Config::default();
        let efficiency_milli = parameters.milli("efficiency")?.unwrap_or(default.efficiency_milli);
        let tests = match parameters.value("tests") {
            None => default.tests,
            Some(text) => text.parse().ok().filter(|&tests| tests <= TESTS_MAX).ok_or_else(|| {
                Rejected::new(format!("pdpa: `tests={text}` should be a number from 0 to {TESTS_MAX}"))
            })?,
        };
        let config = Config {
            base: parameters.number("base")?.unwrap_or(default.base),
            step: parameters.number("step")?.unwrap_or(default.step),
            efficiency_milli,
            high_milli: parameters.milli("high")?.unwrap_or(efficiency_milli),
            tests,
            quantum_ns: parameters.duration("quantum")?.unwrap_or(default.quantum_ns),
            patience_ns: parameters.duration("patience")?.unwrap_or(default.patience_ns),
        };
        if config.high_milli < efficiency_milli {
            return Err(Rejected::new(format!(
                "pdpa: high={} is below efficiency={}: what grows would have to shrink again",
                write_milli(config.high_milli),
                write_milli(efficiency_milli)
            )));
        }
        Ok(Self { config, ..Self::default() })
    }

    /// Follows arrivals and departures, and gives processors to the applications that start.
    /// Returns the number that is free then.
    fn sync(&mut self, view: &View<'_>) -> u32 {
        if self.records.len() < view.apps.len() {
            self.records.resize(view.apps.len(), Record::default());
        }
        let mut free = view.capacity;
        for &slot in view.order {
            let (app, record) = (view.app(slot), &mut self.records[slot.index()]);
            if record.app != Some(app.id) {
                *record = Record::new(app.id, app.allocation, view.now_ns);
            }
            if app.allocation > 0 && is_served(view, app) {
                record.count = record.count.max(app.min).min(app.placeable);
                free = free.saturating_sub(reserved(record, app));
            }
        }
        // Applications without processors: some start, some have been away.
        for &slot in view.order {
            let (app, record) = (view.app(slot), &mut self.records[slot.index()]);
            if app.allocation > 0 || !is_served(view, app) {
                continue;
            }
            if record.state == State::NoRef {
                let start = self.config.start(view.capacity).max(app.min);
                let count = app.cap(view.capacity).min(start).min(free);
                record.begin(if count < app.min { 0 } else { count }, view.now_ns);
            } else if reserved(record, app) > free {
                // It keeps its place among the running applications, if need be at the others'
                // cost.
                record.come_back(free.max(app.min), view.now_ns);
            }
            free = free.saturating_sub(reserved(record, app));
        }
        free
    }

    /// Follows reports and the passing of time. Returns the number of processors that is free then.
    fn search(&mut self, view: &View<'_>, mut free: u32) -> u32 {
        self.wake = None;
        for &slot in view.order {
            let app = view.app(slot);
            if !is_served(view, app) {
                continue;
            }
            let bounds = self.bounds(view, app, free);
            let record = &mut self.records[slot.index()];
            let before = record.count;
            let measured = app.report.filter(|report| {
                report.processors == record.count && app.allocation == record.count && bounds.cap >= record.count
            });
            let news = std::mem::replace(&mut record.seen, app.reports) < app.reports;
            match measured.filter(|_| news) {
                Some(report) => record.report(&self.config, &bounds, report.speedup_milli),
                None => record.pass_time(&self.config, &bounds, app.allocation, app.reports),
            }
            free = (free + before).saturating_sub(record.count);
        }
        free
    }

    /// Divides the free processors equally among the applications that report no speedup. An
    /// application with more than its part gives back before another one grows.
    fn divide_silent(&mut self, view: &View<'_>, mut free: u32) -> u32 {
        let equal = (view.capacity / (view.order.len() as u32).max(1)).max(1);
        for grow in [false, true] {
            for &slot in view.order {
                let (app, record) = (view.app(slot), &mut self.records[slot.index()]);
                if !record.silent || record.count == 0 || !is_served(view, app) {
                    continue;
                }
                let equal = equal.max(app.min);
                let count = if grow { (record.count + free).min(equal).min(app.cap(view.capacity)) } else { equal };
                let count = if grow { count.max(record.count) } else { count.min(record.count) };
                free = (free + record.count) - count;
                record.count = count;
            }
        }
        free
    }

    fn bounds(&self, view: &View<'_>, app: &App, free: u32) -> Bounds {
        let start = self.config.start(view.capacity);
        Bounds { floor: app.min, cap: app.cap(view.capacity), free, start, now: view.now_ns }
    }

    /// Asks to be asked again: when the first search has something to do, and soon if the admission
    /// part is told something new.
    fn set_wake(&mut self, view: &View<'_>, free: u32, shares: &mut Shares) {
        for &slot in view.order {
            let app = view.app(slot);
            let (bounds, record) = (self.bounds(view, app, free), &self.records[slot.index()]);
            let search = record.search(&self.config, bounds.cap);
            let soon = (search != app.search).then(|| view.now_ns.saturating_add(self.config.quantum_ns));
            // Time changes nothing for an application whose minimum is not to be had.
            let due = record.due(&self.config, &bounds).filter(|_| is_served(view, app));
            // A step that was due and could not be taken is tried again after another quantum.
            let later =
                due.map(|due| if due > view.now_ns { due } else { view.now_ns.saturating_add(self.config.quantum_ns) });
            self.wake = [self.wake, soon, later].into_iter().flatten().min();
            shares.set_search(slot, search);
        }
    }
}

/// Says whether it can have its minimum at all.
fn is_served(view: &View<'_>, app: &App) -> bool {
    app.has_its_minimum(view.capacity, view.capacity)
}

/// Number of processors that are kept for it.
fn reserved(record: &Record, app: &App) -> u32 {
    record.count.min(app.turn)
}

/// Where the counts sum up to more than there is, cuts those with most to a level that fits. None
/// goes below its minimum; the latest are left out.
fn cut(view: &View<'_>, shares: &mut Shares) {
    let mut left = view.capacity;
    for &slot in view.order {
        let min = view.app(slot).min;
        if shares.count(slot) > 0 {
            let fits = min <= left;
            left -= if fits { min } else { 0 };
            shares.set(slot, if fits { shares.count(slot) } else { 0 });
        }
    }
    let at = |shares: &Shares, slot: Slot, level: u32| shares.count(slot).min(level.max(view.app(slot).min));
    let total = |shares: &Shares, level: u32| view.order.iter().map(|&slot| at(shares, slot, level)).sum::<u32>();
    // The greatest level that fits.
    let (mut level, mut too_high) = (0, view.capacity + 1);
    while too_high - level > 1 {
        let middle = level.midpoint(too_high);
        if total(shares, middle) <= view.capacity { level = middle } else { too_high = middle }
    }
    let mut rest = view.capacity - total(shares, level);
    for &slot in view.order {
        let (count, cut) = (shares.count(slot), at(shares, slot, level));
        if cut < count {
            let one = rest.min(1);
            rest -= one;
            shares.set(slot, cut + one);
        }
    }
}

impl Share for Pdpa {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn needs(&self) -> Needs {
        Needs { speedup: true, ..Needs::REQUESTS }
    }

    fn parameters(&self) -> String {
        let (config, default) = (&self.config, Config::default());
        let milli =
            |name: &str, value: u32, default: u32| (value != default).then(|| format!("{name}={}", write_milli(value)));
        let number = |name: &str, value: u32, default: u32| (value != default).then(|| format!("{name}={value}"));
        let time = |name: &str, value: u64, default: u64| {
            (value != default).then(|| format!("{name}={}", DURATION.write(value)))
        };
        let all = [
            number("base", config.base, default.base),
            number("step", config.step, default.step),
            milli("efficiency", config.efficiency_milli, default.efficiency_milli),
            milli("high", config.high_milli, config.efficiency_milli),
            number("tests", config.tests, default.tests),
            time("quantum", config.quantum_ns, default.quantum_ns),
            time("patience", config.patience_ns, default.patience_ns),
        ];
        join(all)
    }

    fn conserves_work(&self) -> bool {
        false
    }

    fn retains(&self) -> bool {
        true
    }

    fn searches(&self) -> bool {
        true
    }

    fn until(&self, _view: &View<'_>) -> Option<u64> {
        self.wake
    }

    fn divide(&mut self, view: &View<'_>, shares: &mut Shares) {
        let free = self.sync(view);
        let free = self.search(view, free);
        let free = self.divide_silent(view, free);
        for &slot in view.order {
            let app = view.app(slot);
            // It keeps processors that it does not ask for just now, but is not given such ones
            // anew.
            let kept = app.allocation.min(app.turn).min(app.placeable).min(app.max.max(app.min));
            let count = self.records[slot.index()].count.min(app.cap(view.capacity).max(kept));
            if count > 0 && is_served(view, app) {
                shares.set(slot, count);
            }
        }
        if shares.total() > view.capacity {
            cut(view, shares);
        }
        self.set_wake(view, free, shares);
    }
}
