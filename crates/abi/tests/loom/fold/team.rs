//! `client/fold/team.c` in Rust, function by function, with its memory orders. `SeqCst` accesses
//! are weaker here than in C: the model checker takes them for `AcqRel`; its `SeqCst` fences are
//! C's.
//!
//! Not in the model: signals, the clock (a carrier has no patience), the first look at those that a
//! carrier ran last (`own_only` chooses among the same contexts), and the way into the runtime.

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use loom::thread;
use std::sync::Mutex;

use super::futex::Futex;
use super::mistake::Mistake;
use super::program::{Frame, Step, Witness};

/// Where a function that may leave the stack has come to.
pub enum Flow {
    /// It returns.
    GoesOn,
    /// `leave_for`: the carrier runs this one.
    LeavesFor(usize),
    /// `leave_for_parking`.
    Parks,
    /// The kernel thread returns to the runtime.
    Ended,
}

/// `struct nm_context`.
pub struct Context {
    pub runner: AtomicU32,
    pub turn: AtomicU32,
    pub home: AtomicBool,
    /// It is in the scheduler, or on its way out. Seen at once by all, unlike in C, where who does
    /// not see it yet is no worse off: the context itself sees then that it is ready.
    pub inside: std::sync::atomic::AtomicBool,
    /// Held by the carrier that stands on it.
    pub stack: UnsafeCell<()>,
    /// What it would find there.
    pub frame: Mutex<Frame>,
}

/// The part of `struct nm_carrier` that its own kernel thread alone uses.
pub struct Carrier {
    pub number: usize,
    last: usize,
    evicted: Option<usize>,
    left: Option<usize>,
}

impl Carrier {
    pub fn new(number: usize) -> Self {
        Self { number, last: number, evicted: None, left: None }
    }
}

/// `struct team`.
pub struct Team {
    pub arrived: AtomicU32,
    pub generation: AtomicU32,
    pub recalled: AtomicU32,
    sleepers: AtomicU32,
    bell: Futex,
    pub limit: AtomicU32,
    pub dissolving: AtomicBool,
    pub roams: AtomicBool,
    pub contexts: Vec<Context>,
    calls: Vec<Futex>,
    pub witness: Witness,
    mistake: Option<Mistake>,
}

// SAFETY: the model checker reports every use of `stack` that is not ordered before the next one.
unsafe impl Sync for Team {}

fn reached(generation: u32, turn: u32) -> bool {
    generation.wrapping_sub(turn).cast_signed() >= 0
}

impl Team {
    /// `nm_fold_prepare` and `enrol`: every context runs on its own carrier.
    pub fn new(programs: &[&'static [Step]], limit: u32, mistake: Option<Mistake>) -> Self {
        let context = |number: usize, program: &'static [Step]| Context {
            runner: AtomicU32::new(number as u32 + 1),
            turn: AtomicU32::new(u32::from(number != 0)),
            home: AtomicBool::new(false),
            inside: std::sync::atomic::AtomicBool::new(false),
            stack: UnsafeCell::new(()),
            frame: Mutex::new(Frame::new(program)),
        };
        Self {
            arrived: AtomicU32::new(0),
            generation: AtomicU32::new(0),
            recalled: AtomicU32::new(u32::MAX),
            sleepers: AtomicU32::new(0),
            bell: Futex::new(),
            limit: AtomicU32::new(limit),
            dissolving: AtomicBool::new(false),
            roams: AtomicBool::new(false),
            contexts: programs.iter().enumerate().map(|(number, program)| context(number, program)).collect(),
            calls: programs.iter().map(|_| Futex::new()).collect(),
            witness: Witness::new(programs.len()),
            mistake,
        }
    }

    pub fn has(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    pub fn members(&self) -> usize {
        self.contexts.len()
    }

    pub fn is_ready(&self, context: usize) -> bool {
        let generation = self.generation.load(Ordering::Acquire);
        reached(generation, self.contexts[context].turn.load(Ordering::Relaxed))
    }

    fn works(&self, carrier: &Carrier) -> bool {
        (carrier.number as u32) < self.limit.load(Ordering::Relaxed)
    }

    fn may_run(&self, carrier: &Carrier, context: usize) -> bool {
        if carrier.number == context {
            return true;
        }
        let roams = self.roams.load(Ordering::Relaxed);
        if context == 0 && !roams {
            return false;
        }
        let is_kept = roams && self.contexts[carrier.number].home.load(Ordering::SeqCst);
        !is_kept && !self.contexts[context].home.load(Ordering::SeqCst) && !self.dissolving.load(Ordering::Relaxed)
    }

    fn is_wanted(&self, carrier: &Carrier, context: usize) -> bool {
        self.is_ready(context) || (self.contexts[context].home.load(Ordering::SeqCst) && carrier.number == context)
    }

    fn claim(&self, carrier: &mut Carrier, context: usize) -> bool {
        let runner = &self.contexts[context].runner;
        if runner.load(Ordering::Relaxed) != 0 || !self.is_wanted(carrier, context) {
            return false;
        }
        let itself = carrier.number as u32 + 1;
        if runner.compare_exchange(0, itself, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        let wanted = self.is_wanted(carrier, context) && self.may_run(carrier, context);
        if wanted || self.has(Mistake::NoLookAfterClaim) {
            carrier.last = context;
            return true;
        }
        runner.store(0, Ordering::Release);
        self.call(context);
        false
    }

    fn find_among(&self, carrier: &mut Carrier) -> Option<usize> {
        let mut number = carrier.last;
        for _ in 0..self.members() {
            number = (number + 1) % self.members();
            if self.may_run(carrier, number) && self.claim(carrier, number) {
                return Some(number);
            }
        }
        None
    }

    fn find(&self, carrier: &mut Carrier) -> Option<usize> {
        let own = carrier.number;
        let homing = self.dissolving.load(Ordering::Relaxed);
        let first = own == 0 || homing || self.contexts[own].home.load(Ordering::SeqCst);
        if first && self.claim(carrier, own) {
            return Some(own);
        }
        if homing || !self.works(carrier) {
            return None;
        }
        self.find_among(carrier)
    }

    pub fn ring(&self) {
        if !self.has(Mistake::NoFenceInRing) {
            fence(Ordering::SeqCst);
        }
        if self.sleepers.load(Ordering::Relaxed) == 0 {
            return;
        }
        self.bell.word.fetch_add(1, Ordering::SeqCst);
        self.bell.wake();
    }

    pub fn call(&self, carrier: usize) {
        let call = &self.calls[carrier];
        if self.has(Mistake::CallStored) {
            call.word.store(1, Ordering::SeqCst);
        } else {
            call.word.swap(1, Ordering::SeqCst);
        }
        call.wake();
        self.ring();
    }

    /// In C a sequentially consistent store, and such a load of `sleepers` after it. The model
    /// checker knows only fences as strong as that: the one in `ring` stands between the two.
    pub fn open_turn(&self, generation: u32) {
        self.generation.store(generation, Ordering::Release);
        self.ring();
    }

    fn someone_waits_for(&self, carrier: &Carrier, left: bool) -> bool {
        (0..self.members()).any(|number| {
            let context = &self.contexts[number];
            let runner = context.runner.load(Ordering::Relaxed);
            let is_left = runner != 0 && runner != carrier.number as u32 + 1 && context.inside.load(Ordering::Relaxed);
            let is_it = if left { is_left } else { runner == 0 };
            is_it && self.is_ready(number) && self.may_run(carrier, number)
        })
    }

    fn misses_own(&self, carrier: &Carrier) -> bool {
        let own = &self.contexts[carrier.number];
        let runner = own.runner.load(Ordering::Relaxed);
        if runner == 0 || runner == carrier.number as u32 + 1 || self.has(Mistake::SleepsWithoutOwn) {
            return false;
        }
        self.dissolving.load(Ordering::Relaxed)
            || own.home.load(Ordering::SeqCst)
            || (carrier.number == 0 && !self.roams.load(Ordering::Relaxed))
    }

    fn sleep_by_the_bell(&self, carrier: &Carrier, holds: Option<usize>) {
        let mut bell = self.bell.word.load(Ordering::SeqCst);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        if !self.has(Mistake::NoFenceBeforeSleep) {
            fence(Ordering::SeqCst);
        }
        let without = [Mistake::SleepsWithoutLeft, Mistake::SleepsWithoutOwn, Mistake::NoRingForLeft];
        let looks_for_left = self.works(carrier) && !without.iter().any(|mistake| self.has(*mistake));
        let misses = self.misses_own(carrier) || (looks_for_left && self.someone_waits_for(carrier, true));
        let news = !self.has(Mistake::NoLookBeforeSleep)
            && (self.calls[carrier.number].word.load(Ordering::SeqCst) != 0
                || holds.map_or(!self.works(carrier), |me| self.is_ready(me) || !self.may_keep(carrier, me))
                || (self.works(carrier) && self.someone_waits_for(carrier, false)));
        if self.has(Mistake::BellReadLate) {
            bell = self.bell.word.load(Ordering::SeqCst);
        }
        if !news && misses {
            Futex::sleep_a_little();
        } else if !news {
            self.bell.sleep_on(bell);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Returns the context that `nm_switch` goes on with.
    pub fn park(&self, carrier: &mut Carrier) -> usize {
        loop {
            match carrier.evicted.take() {
                Some(context) if !self.has(Mistake::EvictedNotCalled) => self.call(context),
                None if self.has(Mistake::NoRingInPark) => {}
                _ => self.ring(),
            }
            let call = &self.calls[carrier.number].word;
            if self.has(Mistake::CallOverwritten) {
                call.store(0, Ordering::SeqCst);
            } else {
                call.swap(0, Ordering::SeqCst);
            }
            let misses = self.misses_own(carrier);
            let next = self.find(carrier);
            if let Some(next) = next {
                return next;
            }
            if self.works(carrier) {
                self.sleep_by_the_bell(carrier, None);
            } else if misses {
                Futex::sleep_a_little();
            } else {
                self.calls[carrier.number].sleep_on(0);
            }
        }
    }

    fn may_keep(&self, carrier: &Carrier, me: usize) -> bool {
        if !self.may_run(carrier, me) {
            return self.has(Mistake::NobodyEvicted);
        }
        self.works(carrier) || self.contexts[me].home.load(Ordering::SeqCst) || self.dissolving.load(Ordering::Relaxed)
    }

    /// The part of `leave_for` before the switch.
    pub fn leaves(&self, carrier: &mut Carrier, me: usize, next: usize) {
        let home = self.contexts[next].home.load(Ordering::SeqCst);
        if self.is_ready(me) || home {
            carrier.left = Some(me);
        }
    }

    /// `runs_again`.
    pub fn runs_again(&self, carrier: &mut Carrier) {
        let Some(left) = carrier.left else { return };
        let rings = !self.has(Mistake::NoRingForLeft) && !self.has(Mistake::SleepsWithoutOwn);
        if rings && self.is_ready(left) {
            carrier.left = None;
            self.ring();
        }
    }

    /// `suspend` after `leave_for` has returned.
    pub fn suspended(&self, carrier: &mut Carrier, me: usize) -> Flow {
        let keeps = self.is_ready(me) && self.may_keep(carrier, me);
        if keeps || self.has(Mistake::NoLookAfterClaim) { Flow::GoesOn } else { self.suspend(carrier, me) }
    }

    pub fn suspend(&self, carrier: &mut Carrier, me: usize) -> Flow {
        for looks in 0.. {
            // Who looks again and again spins: the model checker wants to know that.
            if looks > 2 {
                thread::yield_now();
            }
            let call = &self.calls[carrier.number].word;
            if call.load(Ordering::Relaxed) != 0 {
                call.swap(0, Ordering::SeqCst);
            }
            let mut ready = self.is_ready(me);
            if !self.may_keep(carrier, me) {
                carrier.evicted = Some(me);
                carrier.left = None;
                return Flow::Parks;
            }
            if self.has(Mistake::ReadyReadLate) {
                ready = self.is_ready(me);
            }
            let next = if !ready {
                self.find(carrier)
            } else if carrier.number == 0 && me != 0 && self.claim(carrier, 0) {
                Some(0)
            } else {
                None
            };
            if let Some(next) = next {
                return Flow::LeavesFor(next);
            }
            if ready {
                self.runs_again(carrier);
                return Flow::GoesOn;
            }
            // `wait_for_news` without patience.
            self.sleep_by_the_bell(carrier, Some(me));
        }
        unreachable!()
    }

    pub fn meet(&self, carrier: &mut Carrier, me: usize, wait: u32) -> Flow {
        let generation = self.generation.load(Ordering::Acquire);
        self.contexts[me].turn.store(generation + wait, Ordering::Relaxed);
        let order = if self.has(Mistake::CountedWithoutOrder) { Ordering::Relaxed } else { Ordering::AcqRel };
        let arrived = self.arrived.fetch_add(1, order) + 1;
        if (arrived as usize) < self.members() {
            return self.suspend(carrier, me);
        }
        if self.has(Mistake::OpenedBeforeReset) {
            self.open_turn(generation + 1);
            self.arrived.store(0, Ordering::Relaxed);
        } else {
            self.arrived.store(0, Ordering::Relaxed);
            self.open_turn(generation + 1);
        }
        if wait > 1 || !self.may_keep(carrier, me) { self.suspend(carrier, me) } else { Flow::GoesOn }
    }

    /// `nm_fold_yield`.
    pub fn give_way(&self, carrier: &mut Carrier, me: usize) -> Flow {
        let may = self.works(carrier) && !self.contexts[me].home.load(Ordering::SeqCst);
        let next = if may { self.find_among(carrier) } else { None };
        next.map_or(Flow::GoesOn, Flow::LeavesFor)
    }
}
