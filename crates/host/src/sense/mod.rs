//! Bus-transaction rates: how many cache lines each thread moves over its way to memory, and how
//! many that way carries at most.
//!
//! No single way to know them works everywhere, so a [`Ladder`] asks [`Source`]s in turn: if one
//! cannot answer, the next is asked.
//!
//! | rung | source | counted events |
//! |---|---|---|
//! | [`Rung::Injected`] | [`injected`]: a file or pipe | as the test says |
//! | [`Rung::Perf`] | [`perf`]: counters of each thread | misses of the last cache |
//! | [`Rung::Resctrl`] | [`resctrl`]: counters of each application | bytes to and from memory |
//! | [`Rung::Declared`] | [`declared`]: the rate that the user gave | nothing |
//! | [`Rung::Estimate`] | [`estimate`]: how much it suffers from a full bus | nothing: pace against its own best |
//!
//! Units: a **transaction** is one cache line, [`LINE_BYTES`]; a **rate** is transactions per
//! millisecond *of execution* of one thread (Antonopoulos et al. 2004, §3: bus-transaction rate,
//! BTR), so 1 GB/s is 15 625. [`burst`] measures the rate at which a bus is saturated (SBTR),
//! [`probe`] how full it is now; [`saturation`] keeps both honest.
//!
//! Sources give the values they read, however absurd; [`keep`] lets nothing but sensible integers
//! out.

pub mod burst;
pub mod declared;
pub mod estimate;
pub mod injected;
mod keep;
mod kernel;
mod ladder;
pub mod perf;
pub mod probe;
pub mod prober;
pub mod resctrl;
pub mod saturation;
mod team;

use std::fmt::Debug;

pub use keep::{HOLD_NS, Kept, RATE_MAX};
pub use ladder::{Ladder, Sample, State};
pub use team::{Team, ThreadUse};

/// Bytes of one transaction.
pub const LINE_BYTES: u64 = 64;

/// A thread that has run for less than this since the latest sample has no rate: a counter's own
/// cost would be most of it.
pub const RAN_NS_MIN: u64 = 100_000;

/// A way to know rates, from the best to the poorest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// Given by the test of a policy.
    Injected,
    /// Counted by the processor for each thread.
    Perf,
    /// Counted by the memory system for each application.
    Resctrl,
    /// Said by the user.
    Declared,
    /// Guessed from how an application suffers.
    Estimate,
}

impl Rung {
    /// Its name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Injected => "injected",
            Self::Perf => "perf",
            Self::Resctrl => "resctrl",
            Self::Declared => "declared",
            Self::Estimate => "estimate",
        }
    }

    /// The error to expect in a rate of this rung, thousandths of the rate. For [`Self::Injected`],
    /// [`Self::Declared`] and [`Self::Estimate`] this is an assumption; see [`Self::caveat`].
    pub const fn error_permille(self) -> u32 {
        match self {
            Self::Injected => 0,
            Self::Perf => 300,
            Self::Resctrl => 100,
            Self::Declared | Self::Estimate => 500,
        }
    }

    /// The cause of the error, one clause.
    pub const fn caveat(self) -> &'static str {
        match self {
            Self::Injected => "as good as who says it",
            Self::Perf => "write-backs and some prefetches are not counted as misses",
            Self::Resctrl => "counted for the application, its threads are taken to be equal",
            Self::Declared => "as good as the declaration, which knows no phases",
            Self::Estimate => "a guess from pace, known only while the bus is full",
        }
    }

    /// Says whether transactions are counted, so that rates of several applications may be added
    /// up.
    pub const fn counts(self) -> bool {
        matches!(self, Self::Injected | Self::Perf | Self::Resctrl)
    }
}

/// An application whose rates are asked for.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Its number.
    pub app: u64,
    /// Its name.
    pub name: &'a str,
    /// Its threads and their processor time since the latest sample, by virtual processor; `None`
    /// where there is no thread.
    pub threads: &'a [Option<ThreadUse>],
    /// The rate of one thread that the user has declared, transactions per millisecond.
    pub declared: Option<u32>,
    /// Pace of its parallel regions against their own best, thousandths (2000: half as fast); 0 is
    /// unknown.
    pub stretch_milli: u32,
}

impl Subject<'_> {
    /// The same raw rate for every thread that has run.
    fn everywhere(&self, rate: f64) -> Vec<Option<f64>> {
        let ran = |thread: &Option<ThreadUse>| thread.is_some_and(|thread| thread.used_ns >= RAN_NS_MIN);
        self.threads.iter().map(|thread| ran(thread).then_some(rate)).collect()
    }

    /// Processor time of all its threads since the latest sample, nanoseconds.
    fn used_ns(&self) -> u64 {
        self.threads.iter().flatten().map(|thread| thread.used_ns).sum()
    }
}

/// The state of the machine when rates are asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moment {
    /// `CLOCK_MONOTONIC`.
    pub now_ns: u64,
    /// The factor by which a thread that only streams is slower than alone, thousandths; `None`:
    /// not known lately.
    pub stream_stretch_milli: Option<u32>,
    /// Rate of one thread that only streams, alone on the machine; 0 is unknown.
    pub stream_rate: u32,
}

/// A source's answer about one application.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Raw rates by virtual processor; `None`: that thread has not run, or nothing was seen of it.
    Rates(Vec<Option<f64>>),
    /// There is nothing to compare with yet: the next sample will tell.
    Pending,
    /// It cannot tell for this application, and why: the next rung is asked.
    Nothing(String),
    /// It cannot tell for anybody any more, and why: it is not asked again.
    Gone(String),
}

/// One way to know rates.
pub trait Source: Debug + Send {
    /// The rung of this source.
    fn rung(&self) -> Rung;

    /// Rates since it was asked last for this application.
    fn sample(&mut self, subject: &Subject<'_>, moment: &Moment) -> Outcome;

    /// An application has gone; its counters and records are given back.
    fn forget(&mut self, app: u64) {
        let _ = app;
    }

    /// Saturation rates of buses, if this source gives them: `(bus, rate)`, raw.
    fn saturations(&mut self) -> Vec<(u32, f64)> {
        Vec::new()
    }
}
