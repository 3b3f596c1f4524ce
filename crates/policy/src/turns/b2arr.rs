//! Bus Bandwidth-Aware Round Robin: half of the processors in turn, the other half to the threads that fit best into the bandwidth that is left.
//!
//! **Source**: B2ARR, Antonopoulos et al. 2004, §4.
//!
//! **Terms**: list = threads (virtual processors) that are ready; BTR = bus-transaction rate of a thread in the latest quantum it ran; SBTR = saturation
//! rate of the bus; ABTR = what is left of it; P = processors; quantum = turn, 100 ms.
//!
//! **Algorithm**
//! ```text
//! every quantum: those that ran go to the tail of the list; ABTR = SBTR
//!   1. the first max(1, P/2) threads run; ABTR -= their BTR
//!   2. while processors and threads are left: ABTR_proc = ABTR / processors left
//!      the thread with most 1000 / (1 + |ABTR_proc - BTR|) runs, of equals the one nearest to the head; ABTR -= its BTR
//! in between: a free processor goes on with 2
//! ```
//!
//! **Differs from the paper**: as `turns=fitness`, of which it is the case `base=rr`: several buses, threads not measured yet (SBTR / P). Selection costs
//! O(N log N), as its §5 asks for. A thread at place i of the list runs within ceil((i + 1) / max(1, P/2)) quanta.
//!
//! **Use when** programs together want more bandwidth than there is, and differ in it. **Avoid when** threads wait for each other at short barriers:
//! then a gang.

use super::fitness::{Fitness, Of, first_of};
use super::machinery::buses::needs_buses;
use super::machinery::quantum::QUANTUM_NS;
use crate::answer::Answer;
use crate::parameters::Parameters;
use crate::part::{Info, Needs, Turns};
use crate::rejected::Rejected;
use crate::turn::Turn;
use crate::view::{Bus, View};

/// How it is named and made.
pub const ANSWER: Answer<dyn Turns> = Answer {
    info: Info {
        name: "b2arr",
        summary: "Half of the processors to threads in turn, half to those that fit the bandwidth that is left",
        source: "Antonopoulos et al. 2004, §4",
    },
    build: |given| Ok(Box::new(B2arr::read(given)?)),
};

/// Neither config nor state of its own.
#[derive(Debug, Clone)]
pub struct B2arr(Fitness);

impl B2arr {
    pub(crate) fn read(parameters: &mut Parameters) -> Result<Self, Rejected> {
        let (first, of) = first_of(parameters)?;
        Self::new(first, of, parameters.duration("quantum")?.unwrap_or(QUANTUM_NS))
    }

    /// With the part of the first phase, percent, and the length of a quantum, nanoseconds.
    ///
    /// # Errors
    /// None.
    pub fn new(first: u32, of: Of, quantum_ns: u64) -> Result<Self, Rejected> {
        Fitness::new(first, of, None, quantum_ns).map(Self)
    }
}

impl Turns for B2arr {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn needs(&self) -> Needs {
        self.0.needs()
    }

    fn parameters(&self) -> String {
        self.0.common_parameters().join(",")
    }

    fn stops(&self) -> bool {
        true
    }

    fn chooses_threads(&self) -> bool {
        true
    }

    fn fits(&self, buses: &[Bus]) -> Result<(), Rejected> {
        needs_buses(buses)
    }

    fn now(&mut self, view: &View<'_>, turn: &mut Turn) -> Option<u64> {
        self.0.now(view, turn)
    }
}
