//! The accounts of processors: the thread on each, its stage and progress, and the use of all time
//! so far.
//!
//! A running thread goes through stages: it pays overheads, refills its cache, then works or waits.
//! Each stage ends at its processor's slot of the clock; a slice that ends earlier comes first.
//! Accounts are brought up to date only where something changes, so that an event costs the same on
//! a machine of any size.

use super::thread::NONE;
use crate::Nanos;
use crate::outcome::PuTime;
use crate::world::queue::{Key, Rank};
use crate::world::slots::Slots;
use numaestro_topology::{PuId, PuSet};

/// The stage of a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    /// It does nothing (or runs an application that is only a curve).
    Idle,
    /// It pays costs of the system.
    Overhead,
    /// It refills its cache.
    Reload,
    /// It works.
    Work,
    /// Its thread waits.
    Spin,
}

/// One processor: a cache line.
#[derive(Debug, Clone)]
#[repr(align(64))]
struct Pu {
    /// Time until which everything is accounted for, nanoseconds.
    marked: Nanos,
    /// The rest of the stage at that time, nanoseconds; `Nanos::MAX` = no end.
    left: Nanos,
    /// Progress per elapsed nanosecond.
    rate: f64,
    /// End of its slice, nanoseconds; `Nanos::MAX` = no other thread wants the processor.
    slice_end: Nanos,
    /// Time at which the running thread got it, nanoseconds.
    taken: Nanos,
    running: u32,
    /// Application of that thread.
    app: u32,
    /// The thread that ran last: its `born`, because places of threads are used again.
    last: u32,
    /// Number of applications on it that are only curves.
    curves: u16,
    stage: Stage,
    /// Its key has to be computed.
    touched: bool,
}

impl Pu {
    const IDLE: Self = Self {
        marked: 0,
        left: Nanos::MAX,
        rate: 1.0,
        slice_end: Nanos::MAX,
        taken: 0,
        running: NONE,
        app: NONE,
        last: NONE,
        curves: 0,
        stage: Stage::Idle,
        touched: false,
    };

    /// End of the stage at the present pace, nanoseconds.
    fn ends(&self) -> Nanos {
        if self.left == Nanos::MAX || self.rate <= 0.0 {
            Nanos::MAX
        } else if self.rate >= 1.0 {
            self.marked.saturating_add(self.left)
        } else {
            self.marked.saturating_add(libm::ceil(self.left as f64 / self.rate) as u64)
        }
    }

    /// The account of the time in its stage.
    fn booked<'t>(&self, time: &'t mut PuTime) -> &'t mut Nanos {
        match self.stage {
            Stage::Idle if self.curves == 0 => &mut time.idle,
            Stage::Idle | Stage::Work => &mut time.work,
            Stage::Overhead => &mut time.overhead,
            Stage::Reload => &mut time.reload,
            Stage::Spin => &mut time.spin,
        }
    }
}

/// All processors of a machine.
#[derive(Debug)]
pub struct Pus {
    now: Nanos,
    entries: Vec<Pu>,
    times: Vec<PuTime>,
    /// By application: time that its threads lost to costs of the system and to waiting,
    /// nanoseconds.
    lost: Vec<(Nanos, Nanos)>,
    /// Processors without a thread, as bits.
    idle: Vec<u64>,
    /// Processors whose keys have to be computed.
    touched: Vec<u32>,
}

impl Pus {
    /// So many processors, idle.
    pub fn new(count: usize) -> Self {
        let mut idle = vec![u64::MAX; count.div_ceil(64)];
        if !count.is_multiple_of(64) {
            idle[count / 64] = (1 << (count % 64)) - 1;
        }
        let (entries, times) = (vec![Pu::IDLE; count], vec![PuTime::default(); count]);
        Self { now: 0, entries, times, lost: Vec::new(), idle, touched: Vec::new() }
    }

    /// The time, nanoseconds.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Lets time go on until `now`.
    pub fn advance(&mut self, now: Nanos) {
        self.now = now;
    }

    /// Number of processors.
    pub fn count(&self) -> u32 {
        self.entries.len() as u32
    }

    /// The thread that runs there; [`NONE`]: none.
    pub fn running(&self, pu: u32) -> u32 {
        self.entries[pu as usize].running
    }

    /// Time at which it got the processor, nanoseconds.
    pub fn taken(&self, pu: u32) -> Nanos {
        self.entries[pu as usize].taken
    }

    /// Its stage.
    pub fn stage(&self, pu: u32) -> Stage {
        self.entries[pu as usize].stage
    }

    /// The rest of that stage when its accounts were brought up to date last, nanoseconds.
    pub fn left(&self, pu: u32) -> Nanos {
        self.entries[pu as usize].left
    }

    /// The lowest idle processor of a set.
    pub fn lowest_idle(&self, set: &PuSet) -> Option<u32> {
        let mut idle = self.idle.iter().zip(set.words()).map(|(idle, own)| idle & own).enumerate();
        idle.find(|(_, word)| *word != 0).map(|(at, word)| at as u32 * 64 + word.trailing_zeros())
    }

    /// An application arrives at a place.
    pub fn enter(&mut self, app: u32) {
        self.lost.resize(self.lost.len().max(app as usize + 1), (0, 0));
        self.lost[app as usize] = (0, 0);
    }

    /// Time that an application's threads lost to costs of the system and to waiting on processors,
    /// nanoseconds.
    pub fn lost(&self, app: u32) -> (Nanos, Nanos) {
        self.lost[app as usize]
    }

    /// Brings the accounts of a processor up to now.
    pub fn account(&mut self, pu: u32) {
        let entry = &mut self.entries[pu as usize];
        let elapsed = self.now - entry.marked;
        if elapsed == 0 {
            return;
        }
        entry.marked = self.now;
        *entry.booked(&mut self.times[pu as usize]) += elapsed;
        match entry.stage {
            Stage::Overhead => self.lost[entry.app as usize].0 += elapsed,
            Stage::Spin => self.lost[entry.app as usize].1 += elapsed,
            Stage::Idle | Stage::Reload | Stage::Work => {}
        }
        if entry.left != Nanos::MAX {
            let done = if entry.rate >= 1.0 { elapsed } else { (elapsed as f64 * entry.rate) as u64 };
            entry.left = entry.left.saturating_sub(done);
        }
    }

    /// Its key is computed when the event is over.
    pub fn touch(&mut self, pu: u32) {
        let entry = &mut self.entries[pu as usize];
        if !entry.touched {
            entry.touched = true;
            self.touched.push(pu);
        }
    }

    /// A stage of this length, nanoseconds, begins there.
    pub fn begin(&mut self, pu: u32, stage: Stage, left: Nanos) {
        let entry = &mut self.entries[pu as usize];
        (entry.stage, entry.left, entry.rate) = (stage, left, 1.0);
        self.touch(pu);
    }

    /// The stage there has ended.
    pub fn end(&mut self, pu: u32) {
        self.account(pu);
        self.entries[pu as usize].left = 0;
    }

    /// A thread of an application gets an idle processor, with its birth. True if another thread
    /// ran there last.
    pub fn seat(&mut self, pu: u32, id: u32, app: u32, born: u32) -> bool {
        let entry = &mut self.entries[pu as usize];
        debug_assert!(entry.running == NONE, "thread {id} on PU {pu}");
        (entry.running, entry.app, entry.taken) = (id, app, self.now);
        self.idle[pu as usize >> 6] &= !(1 << (pu & 63));
        std::mem::replace(&mut entry.last, born) != born
    }

    /// Takes the running thread off. Returns it, and the nanoseconds for which it had the
    /// processor.
    pub fn unseat(&mut self, pu: u32) -> (u32, Nanos) {
        let entry = &mut self.entries[pu as usize];
        let (id, ran) = (std::mem::replace(&mut entry.running, NONE), self.now - entry.taken);
        entry.slice_end = Nanos::MAX;
        self.idle[pu as usize >> 6] |= 1 << (pu & 63);
        self.begin(pu, Stage::Idle, Nanos::MAX);
        (id, ran)
    }

    /// Its thread keeps the processor. Returns it, and the nanoseconds for which it had the
    /// processor.
    pub fn renew(&mut self, pu: u32) -> (u32, Nanos) {
        self.account(pu);
        self.touch(pu);
        let entry = &mut self.entries[pu as usize];
        let ran = self.now - std::mem::replace(&mut entry.taken, self.now);
        (entry.running, ran)
    }

    /// Sets the end of the slice there; `Nanos::MAX`: never.
    pub fn end_slice_at(&mut self, pu: u32, at: Nanos) {
        self.entries[pu as usize].slice_end = at;
    }

    /// Another thread wants the processor: if its slice has no end, it ends when its thread has had
    /// the processor for the nanoseconds that `slice` gives for that thread.
    pub fn limit_slice(&mut self, pu: u32, slice: impl FnOnce(u32) -> Nanos) {
        let entry = &mut self.entries[pu as usize];
        if entry.running != NONE && entry.slice_end == Nanos::MAX {
            entry.slice_end = self.now.max(entry.taken + slice(entry.running));
            self.touch(pu);
        }
    }

    /// A curve comes to a processor, or leaves it. True if another curve is there.
    pub fn occupy(&mut self, pu: u32, comes: bool) -> bool {
        self.account(pu);
        let curves = &mut self.entries[pu as usize].curves;
        *curves = curves.saturating_add_signed(if comes { 1 } else { -1 });
        *curves > u16::from(comes)
    }

    /// Mean part that each curve has of these processors.
    pub fn part_of_curve(&self, pus: &PuSet) -> f64 {
        let curves = |pu: PuId| self.entries[pu.index()].curves;
        if pus.iter().all(|pu| curves(pu) <= 1) {
            return 1.0;
        }
        pus.iter().map(|pu| 1.0 / f64::from(curves(pu).max(1))).sum::<f64>() / pus.len().max(1) as f64
    }

    /// Computes the keys of processors that the event has touched; `rate` is the speed of the ones
    /// that work.
    pub fn settle(&mut self, slots: &mut Slots, rate: impl Fn(PuId) -> f64) {
        while let Some(pu) = self.touched.pop() {
            let entry = &mut self.entries[pu as usize];
            entry.touched = false;
            if entry.stage == Stage::Work {
                entry.rate = rate(PuId(pu));
            }
            let key = Key::new(entry.ends(), Rank::Segment).min(Key::new(entry.slice_end, Rank::Slice));
            slots.set(pu as usize, key);
        }
    }

    /// Times of each processor until now.
    pub fn times(&self) -> Vec<PuTime> {
        let until_now = |(pu, time): (&Pu, &PuTime)| {
            let mut time = *time;
            *pu.booked(&mut time) += self.now - pu.marked;
            time
        };
        self.entries.iter().zip(&self.times).map(until_now).collect()
    }

    /// Checks that time is conserved, and that stages and threads agree.
    ///
    /// # Panics
    /// If they do not, which is a mistake in the world.
    pub fn check(&self) {
        for (index, (pu, time)) in self.entries.iter().zip(&self.times).enumerate() {
            let sum = time.work + time.spin + time.reload + time.overhead + time.idle;
            assert_eq!(sum, pu.marked, "PU {index}: its times are not the time that has passed");
            assert!(pu.marked <= self.now, "PU {index}: it is ahead of the clock");
            assert_eq!(pu.running == NONE, pu.stage == Stage::Idle, "PU {index}: its stage and its thread disagree");
        }
    }
}
