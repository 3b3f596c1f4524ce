//! The faults between programs, shell and engine, and their rates.
//!
//! Swarm testing (Groce et al. 2012, "Swarm testing"): each run has some faults on and others off,
//! each with a rate of its own. With every fault on, a run hides the effects of a single fault.
//! Every fault draws from a stream of its own, so that switching one off leaves the draws of the
//! others as they were.

use crate::Nanos;
use crate::random::{Purpose, Stream};

/// No notice is later than this, nanoseconds.
pub(super) const LATE_MAX_NS: Nanos = 2_000_000_000;
/// No program needs longer to find a new manager, if it finds it at all, nanoseconds.
pub(super) const REJOIN_MAX_NS: Nanos = 3_000_000_000;

/// One kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Notices (and the engine's timer) come late, and so out of order.
    Late,
    /// Notices are lost.
    Lost,
    /// Notices come twice.
    Repeated,
    /// Notices are wrong: counts, epochs, processors and classes that make no sense, policies that
    /// do not exist.
    Wrong,
    /// A `Target` or `Force` does not reach the program.
    Action,
    /// Programs die at any time, and between a decision and its application.
    Death,
    /// Programs never do what they are told.
    Never,
    /// Processors are unplugged and come back; unknown ones too.
    Unplug,
    /// The shell's clock jumps forward or back, by up to hours.
    Clock,
    /// Load that is not managed comes and goes.
    Load,
    /// The manager is killed and started again.
    Restart,
    /// The policy is switched.
    Policy,
}

impl Fault {
    /// All faults.
    pub const ALL: [Self; 12] = [
        Self::Late,
        Self::Lost,
        Self::Repeated,
        Self::Wrong,
        Self::Action,
        Self::Death,
        Self::Never,
        Self::Unplug,
        Self::Clock,
        Self::Load,
        Self::Restart,
        Self::Policy,
    ];

    /// The faults that strike by themselves, not at a notice or an action.
    pub const TIMED: [Self; 6] = [Self::Death, Self::Unplug, Self::Clock, Self::Load, Self::Restart, Self::Policy];

    /// The word for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Late => "late",
            Self::Lost => "lost",
            Self::Repeated => "repeated",
            Self::Wrong => "wrong",
            Self::Action => "action",
            Self::Death => "death",
            Self::Never => "never",
            Self::Unplug => "unplug",
            Self::Clock => "clock",
            Self::Load => "load",
            Self::Restart => "restart",
            Self::Policy => "policy",
        }
    }

    /// The fault with this word.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.name() == name)
    }
}

/// The rates of a fault that is on, thousandths.
const RATES: [u32; 6] = [2, 10, 30, 100, 300, 700];

/// The faults that are on in one run.
#[derive(Debug)]
pub struct Faults {
    /// Rate by fault, thousandths; 0 = off.
    milli: [u32; Fault::ALL.len()],
    streams: Vec<Stream>,
    struck: u64,
}

impl Faults {
    /// Draws the faults of a seed; the ones in `without` are off whatever the seed says.
    pub fn draw(seed: u64, without: &[Fault]) -> Self {
        let mut streams: Vec<Stream> =
            Fault::ALL.iter().map(|&fault| Stream::new(seed, Purpose::Faults, fault as u64)).collect();
        let mut milli = [0; Fault::ALL.len()];
        for (fault, stream) in Fault::ALL.into_iter().zip(&mut streams) {
            let (on, rate) = (stream.below(2) == 1, RATES[stream.below(RATES.len() as u32) as usize]);
            if on && !without.contains(&fault) {
                milli[fault as usize] = rate;
            }
        }
        Self { milli, streams, struck: 0 }
    }

    /// Whether the fault strikes this time.
    pub fn strikes(&mut self, fault: Fault) -> bool {
        let drawn = self.streams[fault as usize].below(1000);
        drawn < self.milli[fault as usize]
    }

    /// Counts a fault that struck.
    pub fn count(&mut self) {
        self.struck += 1;
    }

    /// Number of faults that struck.
    pub fn struck(&self) -> u64 {
        self.struck
    }

    /// Nanoseconds by which a late thing is late.
    pub fn lateness(&mut self) -> Nanos {
        self.count();
        let stream = self.stream(Fault::Late);
        let mean = [1e4, 1e6, 2e7, 3e8][stream.below(4) as usize];
        ((stream.exponential() * mean) as Nanos).min(LATE_MAX_NS)
    }

    /// Nanoseconds by which something is late; mostly 0.
    pub fn maybe_late(&mut self) -> Nanos {
        if self.strikes(Fault::Late) { self.lateness() } else { 0 }
    }

    /// Rate of a fault, thousandths; 0 = off.
    pub fn milli(&self, fault: Fault) -> u32 {
        self.milli[fault as usize]
    }

    /// The stream from which the details of a fault are drawn.
    pub fn stream(&mut self, fault: Fault) -> &mut Stream {
        &mut self.streams[fault as usize]
    }

    /// Switches all faults off.
    pub fn heal(&mut self) {
        self.milli = [0; Fault::ALL.len()];
    }

    /// The faults that are on, with their rates.
    pub fn describe(&self) -> String {
        let on = Fault::ALL.into_iter().filter(|&fault| self.milli(fault) > 0);
        let words: Vec<String> = on.map(|fault| format!("{}={}", fault.name(), self.milli(fault))).collect();
        if words.is_empty() { "none".to_owned() } else { words.join(",") }
    }
}
