//! Searches the number of processors of one application: PDPA's five states. Other applications
//! count only by the number of free processors.

use crate::view::{AppId, Search};

/// Bad reports in a row after which a stable application is searched again.
const BAD_REPORTS: u32 = 3;
/// Number of quanta that a stable application is left alone before a test; twice as many after each
/// test.
const REST: u64 = 10;
/// Number of quanta that the search waits for a report at least.
const WAIT: u64 = 10;
/// It waits so many times as long as the application's slowest first report took.
const WAIT_TIMES: u64 = 2;
/// On a small machine no application starts with more than one in so many processors, so that as
/// many as the usual first level of multiprogramming can start.
const START_PART: u32 = 4;
/// Speedup with one processor, by definition, thousandths.
const ONE: u32 = 1000;

/// Config.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Processors at the start (BASE).
    pub base: u32,
    /// Processors more or fewer at a time (STEP).
    pub step: u32,
    /// Efficiency below which it has too many (`MIN_EFFICIENCY`), thousandths.
    pub efficiency_milli: u32,
    /// Efficiency from which on it may have more, thousandths; at least `efficiency_milli`.
    pub high_milli: u32,
    /// Tests of a stable application, whatever comes out, before it is left alone.
    pub tests: u32,
    /// Time between two looks where nothing happens, nanoseconds.
    pub quantum_ns: u64,
    /// Time after which the search waits for a report no longer, of an application that has never
    /// reported; the longest time of the others. Nanoseconds.
    pub patience_ns: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            base: 4,
            step: 2,
            efficiency_milli: 700,
            high_milli: 700,
            tests: 3,
            quantum_ns: 100_000_000,
            patience_ns: 5_000_000_000,
        }
    }
}

impl Config {
    /// Processors an application starts with where there are `capacity`.
    pub fn start(&self, capacity: u32) -> u32 {
        start(self.base, capacity)
    }
}

/// Processors an application starts with where there are `capacity` and BASE is this.
pub fn start(base: u32, capacity: u32) -> u32 {
    base.min(capacity / START_PART).max(1)
}

/// The state of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// No speedup is known (`NO_REF`).
    #[default]
    NoRef,
    /// It does well and has been given more (`P_INC`).
    Inc,
    /// It does badly and has been given fewer (`P_DEC`).
    Dec,
    /// Its number is found (`P_STABLE`).
    Stable,
    /// Stable, but trying more (`P_TEST`).
    Test,
}

/// The bounds of the search now.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Fewest processors; at least 1.
    pub floor: u32,
    /// r: most processors.
    pub cap: u32,
    /// Processors without an owner.
    pub free: u32,
    /// Processors it would start with.
    pub start: u32,
    /// Time, nanoseconds.
    pub now: u64,
}

/// The search for one application.
#[derive(Debug, Clone, Copy, Default)]
pub struct Record {
    /// The application; `None`: the record is vacant.
    pub app: Option<AppId>,
    pub state: State,
    /// a: the number of processors it is to have; 0 before there was one for it.
    pub count: u32,
    /// The latest speedup with `count`, thousandths; 0: not known.
    speedup_milli: u32,
    /// The latest number that was good enough, and the speedup with it.
    good: (u32, u32),
    /// Tests since a search made it stable.
    tests: u32,
    /// Bad reports in a row.
    bad: u32,
    /// It became stable because nothing was free, not because more did not pay.
    wanting: bool,
    /// It uses its processors badly, and cannot have fewer.
    inefficient: bool,
    /// The search has waited for its reports in vain: it is treated as by `equi`.
    pub silent: bool,
    /// Number of reports that the search has read.
    pub seen: u32,
    /// Time when its number or state last changed, nanoseconds.
    since: u64,
    /// The longest time from a change of its number to a report, nanoseconds; `None`: it has never
    /// reported.
    slowest_report: Option<u64>,
    /// Time since which it has had another number than it should have, nanoseconds.
    apart: Option<u64>,
}

impl Record {
    /// The record of an application at the beginning, with the processors it has.
    pub fn new(app: AppId, allocation: u32, now: u64) -> Self {
        Self { app: Some(app), count: allocation, since: now, ..Self::default() }
    }

    /// It starts, or starts again with nothing.
    pub fn begin(&mut self, count: u32, now: u64) {
        if self.count != count {
            self.count = count;
            self.since = now;
        }
    }

    /// It comes back and finds only `count` processors free.
    pub fn come_back(&mut self, count: u32, now: u64) {
        (self.count, self.wanting) = (count, true);
        self.settle(now);
    }

    /// A speedup was measured with `count` processors.
    pub fn report(&mut self, config: &Config, bounds: &Bounds, speedup_milli: u32) {
        self.silent = false;
        if self.state != State::Stable {
            let took = bounds.now.saturating_sub(self.since);
            self.slowest_report = Some(self.slowest_report.map_or(took, |slowest| slowest.max(took)));
        }
        if self.count <= 1 {
            // The speedup is 1 by definition, and needs no measurement.
            return;
        }
        self.speedup_milli = speedup_milli;
        let reaches = |efficiency: u32| u64::from(speedup_milli) >= u64::from(efficiency) * u64::from(self.count);
        let (enough, high) = (reaches(config.efficiency_milli), reaches(config.high_milli));
        let better = high && speedup_milli > self.good.1;
        self.inefficient &= !enough;
        match self.state {
            State::NoRef | State::Dec if !enough => self.shrink(config, bounds),
            State::NoRef => self.accept(config, bounds),
            State::Dec => self.stabilise(bounds.now),
            State::Inc if better => self.accept(config, bounds),
            State::Inc => self.go_back(bounds.now),
            State::Stable if enough => self.bad = 0,
            State::Stable => {
                self.bad += 1;
                if self.bad >= BAD_REPORTS && self.count > bounds.floor {
                    self.shrink(config, bounds);
                } else {
                    self.inefficient |= self.bad >= BAD_REPORTS;
                }
            }
            // It paid, so the next test need not wait.
            State::Test if better => self.end_test(true, bounds.now),
            State::Test => self.fail_test(bounds.now),
        }
    }

    /// Follows the passing of time without a report. `reports`: the number that there has ever
    /// been.
    pub fn pass_time(&mut self, config: &Config, bounds: &Bounds, allocation: u32, reports: u32) {
        let Bounds { now, cap, .. } = *bounds;
        if self.is_apart(config, allocation, now) || cap < self.count {
            // Its present number cannot be measured.
            self.since = now;
            return;
        }
        if self.state == State::NoRef && !self.silent && (1..cap.min(bounds.start)).contains(&self.count) {
            // It asked for less when it started.
            self.begin((self.count + bounds.free).min(cap).min(bounds.start), now);
        }
        let over = |time: u64| now >= self.since.saturating_add(time);
        match self.state {
            _ if self.due(config, bounds).is_none_or(|due| now < due) => {}
            State::NoRef if over(config.quantum_ns) && self.count == 1 && cap > 1 && !self.silent => {
                self.speedup_milli = ONE;
                self.accept(config, bounds);
            }
            State::NoRef => self.silent = true,
            // An application that has never reported never will.
            State::Inc | State::Test if reports == 0 => {
                (self.state, self.silent, self.since) = (State::NoRef, true, now);
            }
            State::Inc => self.go_back(now),
            State::Test => self.fail_test(now),
            State::Dec => self.stabilise(now),
            State::Stable => {
                self.good = (self.count, if self.count == 1 { ONE } else { self.speedup_milli });
                self.tests += 1;
                self.change(State::Test, self.grown(config, bounds), now);
            }
        }
    }

    /// Time when [`Self::pass_time`] is wanted, if it is.
    pub fn due(&self, config: &Config, bounds: &Bounds) -> Option<u64> {
        let after = |time: u64| Some(self.since.saturating_add(time));
        match self.state {
            _ if self.count == 0 || bounds.cap < self.count => None,
            State::NoRef if self.silent || bounds.cap == 1 => None,
            // Its speedup is known. A report, whatever it says, shows that it can be measured.
            State::NoRef if self.count == 1 && self.slowest_report.is_some() => after(config.quantum_ns),
            State::NoRef if self.count == 1 => after(config.quantum_ns.saturating_mul(WAIT)),
            State::NoRef | State::Inc | State::Dec | State::Test => after(self.wait(config)),
            State::Stable if self.tests >= config.tests || self.grown(config, bounds) == self.count => None,
            State::Stable if self.wanting => after(config.quantum_ns),
            State::Stable => after(config.quantum_ns.saturating_mul(REST << self.tests.min(16))),
        }
    }

    /// Time to wait for a report. An application that is measured now reports about as soon as it
    /// did before; one that does not is hindered, and meanwhile keeps processors that may only make
    /// it slower.
    fn wait(&self, config: &Config) -> u64 {
        let known = |slowest: u64| {
            slowest.saturating_mul(WAIT_TIMES).max(config.quantum_ns.saturating_mul(WAIT)).min(config.patience_ns)
        };
        self.slowest_report.map_or(config.patience_ns, known)
    }

    /// The state that the admission part is told.
    pub fn search(&self, config: &Config, cap: u32) -> Search {
        match self.state {
            State::NoRef if self.silent || self.count == 1 && cap == 1 => Search::Settled { grows: false },
            State::NoRef | State::Inc | State::Test => Search::Going,
            State::Dec => Search::Bad,
            State::Stable if self.inefficient => Search::Bad,
            State::Stable => Search::Settled { grows: cap > self.count && self.tests < config.tests },
        }
    }

    /// Says whether it has another number than it should have. If that lasts, its present number
    /// becomes the one it should have.
    fn is_apart(&mut self, config: &Config, allocation: u32, now: u64) -> bool {
        if allocation == self.count {
            self.apart = None;
            return false;
        }
        let since = *self.apart.get_or_insert(now);
        if allocation > 0 && now >= since.saturating_add(config.patience_ns) {
            (self.count, self.apart, self.wanting) = (allocation, None, true);
            self.settle(now);
        }
        true
    }

    /// The number to grow to: min(r, a + STEP, a + free).
    fn grown(&self, config: &Config, bounds: &Bounds) -> u32 {
        self.count.saturating_add(config.step.min(bounds.free)).min(bounds.cap).max(self.count)
    }

    /// It does well with its processors: it gets more, if there are more.
    fn accept(&mut self, config: &Config, bounds: &Bounds) {
        self.good = (self.count, self.speedup_milli);
        let grown = self.grown(config, bounds);
        if grown > self.count {
            self.change(State::Inc, grown, bounds.now);
        } else {
            self.stabilise(bounds.now);
            self.wanting = true;
        }
    }

    /// It does badly with its processors: it gets fewer. With 1 its efficiency is 1, so nothing is
    /// left to find.
    fn shrink(&mut self, config: &Config, bounds: &Bounds) {
        let fewer = self.count.saturating_sub(config.step).max(bounds.floor).min(self.count);
        if fewer == self.count {
            self.stabilise(bounds.now);
            self.inefficient = true;
        } else {
            self.change(State::Dec, fewer, bounds.now);
            if fewer == 1 {
                self.stabilise(bounds.now);
            }
        }
    }

    /// More did not pay.
    fn go_back(&mut self, now: u64) {
        (self.count, self.speedup_milli) = self.good;
        self.stabilise(now);
    }

    /// A test did not pay.
    fn fail_test(&mut self, now: u64) {
        (self.count, self.speedup_milli) = self.good;
        self.end_test(false, now);
    }

    fn end_test(&mut self, pays: bool, now: u64) {
        self.wanting = pays;
        self.settle(now);
    }

    /// A search has made it stable. Tests count from here.
    fn stabilise(&mut self, now: u64) {
        (self.wanting, self.tests) = (false, 0);
        self.settle(now);
    }

    /// It is stable, with the tests that it has had.
    fn settle(&mut self, now: u64) {
        (self.bad, self.silent, self.inefficient) = (0, false, false);
        self.change(State::Stable, self.count, now);
    }

    fn change(&mut self, state: State, count: u32, now: u64) {
        (self.state, self.count, self.since) = (state, count, now);
    }
}
