//! Records which virtual processors hold a processor: the table `cpu_info` of the NANOS CPU Manager
//! inside one program (Martorell et al. 2000, §5.1), and the primitives on it: release, claim and
//! hand-over, idle sleep.
//!
//! A closure says whether a virtual processor has work. Every change is one compare-and-swap of a
//! word, so a virtual processor that the kernel has preempted in the middle keeps no other waiting.
//! The `README.md` of this crate goes through the races.

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence, futex_wait, futex_wake};

/// Holds a processor and looks for work or does it (`CPU_RUNNING`).
const RUNNING: u32 = 0;
/// Holds a processor, has found nothing to do and sleeps.
const IDLE: u32 = 1;
/// Holds no processor and sleeps (`UNALLOCATED`, or `CPU_STOLEN` if there is work on it).
const PARKED: u32 = 2;

/// Is being given a processor.
const CLAIMED: u32 = 3;

/// One virtual processor's line; `state` is also the futex it sleeps on.
struct Seat {
    state: AtomicU32,
    /// The processor it holds, or held last: a number below that of virtual processors.
    processor: AtomicU32,
    /// It gave its processor up in the middle of a nano-thread, or with resumed ones in its own
    /// list.
    interrupted: AtomicBool,
}

/// The line that each spawn and each safe point reads. It is written only when the allocation
/// changes or a virtual processor sleeps.
struct Signals {
    /// Processors allotted (`n_cpus_allocated`) in the lower half, virtual processors that hold one
    /// (`n_cpus_current`) in the upper.
    counts: AtomicU64,
    /// Number of virtual processors that are `IDLE`.
    asleep: AtomicU32,
}

/// The table. At least one virtual processor holds a processor at any time.
pub struct Seats {
    signals: CachePadded<Signals>,
    table: Box<[CachePadded<Seat>]>,
    /// Processors that none holds, one bit each.
    free: Box<[AtomicU64]>,
    /// The runtime ends: no virtual processor waits for a processor any more.
    closed: AtomicBool,
}

const fn pack(active: u32, target: u32) -> u64 {
    ((active as u64) << 32) | target as u64
}

const fn unpack(counts: u64) -> (u32, u32) {
    ((counts >> 32) as u32, counts as u32)
}

/// The bits of one word for the numbers from `first` to `end`.
fn bits_from(first: usize, word: usize, end: usize) -> u64 {
    (first.max(64 * word)..end.min(64 * word + 64)).fold(0, |bits, number| bits | 1 << (number % 64))
}

impl Seats {
    /// A table of `vps` virtual processors, of which the first `target` (at least 1) hold a
    /// processor.
    pub fn new(vps: usize, target: usize) -> Self {
        let active = target.clamp(1, vps);
        let seat = |vp| {
            let state = if vp < active { RUNNING } else { PARKED };
            CachePadded::new(Seat {
                state: AtomicU32::new(state),
                processor: AtomicU32::new(vp as u32),
                interrupted: AtomicBool::new(false),
            })
        };
        Self {
            signals: CachePadded::new(Signals {
                counts: AtomicU64::new(pack(active as u32, active as u32)),
                asleep: AtomicU32::new(0),
            }),
            table: (0..vps).map(seat).collect(),
            free: (0..vps.div_ceil(64)).map(|word| AtomicU64::new(bits_from(active, word, vps))).collect(),
            closed: AtomicBool::new(false),
        }
    }

    /// The processor that `vp` holds: a number below that of virtual processors.
    pub fn processor(&self, vp: usize) -> usize {
        self.table[vp].processor.load(Ordering::Relaxed) as usize
    }

    /// Number of processors allotted, at least 1 and at most the number of virtual processors.
    pub fn target(&self) -> usize {
        unpack(self.signals.counts.load(Ordering::Relaxed)).1 as usize
    }

    /// Number of virtual processors that hold a processor now (`n_cpus_current`).
    pub fn active(&self) -> usize {
        unpack(self.signals.counts.load(Ordering::Relaxed)).0 as usize
    }

    /// Are processors asked back (`cpus_asking_for`)? One relaxed load.
    #[inline]
    pub fn asked_back(&self) -> bool {
        let (active, target) = unpack(self.signals.counts.load(Ordering::Relaxed));
        active > target
    }

    /// Is any virtual processor asleep for want of work? One relaxed load of the same line.
    #[inline]
    pub fn somebody_sleeps(&self) -> bool {
        self.signals.asleep.load(Ordering::Relaxed) != 0
    }

    /// Sets a new allocation. Wakes sleepers among the surplus so that they give their processors
    /// up; gives new processors to parked virtual processors, first to those that `has_work`.
    pub fn set_target(&self, target: usize, has_work: impl Fn(usize) -> bool) {
        let target = target.clamp(1, self.table.len()) as u32;
        let change = |counts| Some(pack(unpack(counts).0, target));
        let former = self.signals.counts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, change);
        let (active, _) = unpack(former.unwrap_or_default());
        for _ in target..active {
            self.wake_one();
        }
        self.grow(has_work);
    }

    /// `cpus_release_self`: `vp` gives its processor up if processors are asked back, and must then
    /// call [`wait_seated`](Self::wait_seated). `interrupted`: there is work on it that only it can
    /// go on with.
    pub fn release(&self, vp: usize, interrupted: bool, has_work: impl Fn(usize) -> bool) -> bool {
        if !self.change_active(|active, target| (active > target).then(|| active - 1)) {
            return false;
        }
        let processor = self.processor(vp);
        self.free[processor / 64].fetch_or(1 << (processor % 64), Ordering::Relaxed);
        self.park(vp, interrupted);
        self.grow(&has_work);
        self.tell_of_parked(vp, has_work);
        true
    }

    /// `cpus_get_preempted_work` and `cpus_processor_handoff`: a parked virtual processor with work
    /// gets the processor of `vp`, which must then call [`wait_seated`](Self::wait_seated). Returns
    /// the one that got it, or `None` if none has work.
    pub fn hand_over(&self, vp: usize, interrupted: bool, has_work: impl Fn(usize) -> bool) -> Option<usize> {
        // The search starts after `vp`, so preempted virtual processors have their turn one after
        // the other.
        let count = self.table.len();
        let heir = (1..count).map(|step| (vp + step) % count).find(|&other| {
            self.is_parked(other) && self.has_work(other, &has_work) && self.step(other, PARKED, CLAIMED)
        })?;
        let processor = self.processor(vp);
        self.park(vp, interrupted);
        self.give(heir, processor);
        self.tell_of_parked(vp, has_work);
        Some(heir)
    }

    /// Is there a parked virtual processor with work (`n_cpus_preempted` is not zero)?
    pub fn any_preempted(&self, has_work: impl Fn(usize) -> bool) -> bool {
        (0..self.table.len()).any(|vp| self.is_parked(vp) && self.has_work(vp, &has_work))
    }

    /// Sleeps until `vp` holds a processor, or until the end.
    pub fn wait_seated(&self, vp: usize) {
        let seat = &self.table[vp];
        loop {
            let state = seat.state.load(Ordering::Acquire);
            if state == RUNNING || self.is_closed() {
                break;
            }
            futex_wait(&seat.state, state, None);
        }
        seat.interrupted.store(false, Ordering::Relaxed);
    }

    /// `vp` has found nothing to do. It keeps its processor and sleeps until another wakes it,
    /// unless `look` finds something after all others can see that it is about to sleep. After
    /// `timeout` it returns by itself.
    pub fn sleep(&self, vp: usize, timeout: Option<std::time::Duration>, look: impl FnOnce() -> bool) {
        let seat = &self.table[vp];
        self.signals.asleep.fetch_add(1, Ordering::SeqCst);
        seat.state.store(IDLE, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if look() {
            self.wake(vp);
        }
        while seat.state.load(Ordering::Acquire) == IDLE {
            futex_wait(&seat.state, IDLE, timeout);
            if timeout.is_some() {
                self.wake(vp);
            }
        }
        seat.interrupted.store(false, Ordering::Relaxed);
    }

    /// A virtual processor sleeps where this table cannot see it, so
    /// [`somebody_sleeps`](Self::somebody_sleeps) is true until a call with `false`.
    pub fn sleeps_elsewhere(&self, sleeps: bool) {
        if sleeps {
            self.signals.asleep.fetch_add(1, Ordering::SeqCst);
            fence(Ordering::SeqCst);
        } else {
            self.signals.asleep.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Wakes `vp` if it is idle; says whether it was.
    pub fn wake(&self, vp: usize) -> bool {
        let woken = self.step(vp, IDLE, RUNNING);
        if woken {
            self.signals.asleep.fetch_sub(1, Ordering::SeqCst);
            futex_wake(&self.table[vp].state);
        }
        woken
    }

    /// Wakes an idle virtual processor, if there is any.
    pub fn wake_one(&self) -> bool {
        self.somebody_sleeps() && (0..self.table.len()).any(|vp| self.wake(vp))
    }

    /// A nano-thread is ready that only `vp` can run. Call this after a sequentially consistent
    /// fence that follows the push.
    pub fn wake_for(&self, vp: usize) {
        match self.table[vp].state.load(Ordering::Relaxed) {
            RUNNING => {}
            IDLE => _ = self.wake(vp),
            // A virtual processor with nothing to do hands its processor over; running ones look
            // before they sleep.
            _ => _ = self.wake_one(),
        }
    }

    /// Ends the runtime: all virtual processors go on, with or without a processor, and look at
    /// [`is_closed`](Self::is_closed).
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        for (vp, seat) in self.table.iter().enumerate() {
            self.wake(vp);
            if self.step(vp, PARKED, RUNNING) {
                futex_wake(&seat.state);
            }
        }
    }

    /// Has [`close`](Self::close) been called?
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    fn is_parked(&self, vp: usize) -> bool {
        self.table[vp].state.load(Ordering::Relaxed) == PARKED
    }

    fn has_work(&self, vp: usize, has_work: impl Fn(usize) -> bool) -> bool {
        self.table[vp].interrupted.load(Ordering::Relaxed) || has_work(vp)
    }

    /// A claimed virtual processor goes on, on this processor.
    fn give(&self, vp: usize, processor: usize) {
        let seat = &self.table[vp];
        seat.processor.store(processor as u32, Ordering::Relaxed);
        seat.state.store(RUNNING, Ordering::SeqCst);
        futex_wake(&seat.state);
    }

    /// Takes a processor that none holds: the one `vp` held last if possible. There is one for each
    /// parked virtual processor: it was put back before parking, or the one handed over was taken
    /// by another.
    fn take_free(&self, vp: usize) -> usize {
        let last = self.processor(vp);
        let all = (0..self.free.len()).flat_map(|word| (0..64).map(move |bit| 64 * word + bit));
        let free = std::iter::once(last).chain(all).find(|&processor| {
            let (word, bit) = (&self.free[processor / 64], 1 << (processor % 64));
            word.load(Ordering::Relaxed) & bit != 0 && word.fetch_and(!bit, Ordering::Relaxed) & bit != 0
        });
        free.unwrap_or(last)
    }

    fn step(&self, vp: usize, from: u32, to: u32) -> bool {
        self.table[vp].state.compare_exchange(from, to, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    fn park(&self, vp: usize, interrupted: bool) {
        self.table[vp].interrupted.store(interrupted, Ordering::Relaxed);
        self.table[vp].state.store(PARKED, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Wakes a sleeper if a nano-thread became ready on `vp` while it was parking: its waker did
    /// not see the parking.
    fn tell_of_parked(&self, vp: usize, has_work: impl Fn(usize) -> bool) {
        if self.is_parked(vp) && self.has_work(vp, has_work) {
            self.wake_one();
        }
    }

    fn change_active(&self, change: impl Fn(u32, u32) -> Option<u32>) -> bool {
        let update = |counts| {
            let (active, target) = unpack(counts);
            change(active, target).map(|active| pack(active, target))
        };
        self.signals.counts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, update).is_ok()
    }

    /// Gives free processors to parked virtual processors (`allocate_cpu`, Martorell et al. 2000,
    /// Fig. 3: one that was preempted before any other).
    fn grow(&self, has_work: impl Fn(usize) -> bool) {
        while self.change_active(|active, target| (active < target).then(|| active + 1)) {
            let claim = |vp: &usize| self.step(*vp, PARKED, CLAIMED);
            let all = 0..self.table.len();
            let preempted = |vp: &usize| self.is_parked(*vp) && self.has_work(*vp, &has_work) && claim(vp);
            if let Some(vp) = all.clone().find(preempted).or_else(|| all.clone().find(claim)) {
                self.give(vp, self.take_free(vp));
                continue;
            }
            self.change_active(|active, _| Some(active - 1));
            fence(Ordering::SeqCst);
            // A virtual processor that parked while the count stood too high has seen no free
            // processor: look again.
            if !all.clone().any(|vp| self.is_parked(vp)) {
                return;
            }
        }
    }
}
