//! Bus Bandwidth-Aware Round Robin: half of the processors go to threads in turn, the other half to
//! the threads that fit best into the remaining bandwidth.
//!
//! **Source**: B2ARR, Antonopoulos et al. 2004, §4.
//!
//! **Terms**: list = threads (virtual processors) that are ready; BTR = bus-transaction rate of a
//! thread in the latest quantum it ran; SBTR = saturation rate of the bus; ABTR = what is left of
//! it; P = processors; quantum = turn, 100 ms.
//!
//! **Algorithm**
//! ```text
//! every quantum: those that ran go to the tail of the list, which is dealt as by rr; ABTR = SBTR
//!   1. the first max(1, P/2) threads run; ABTR -= their BTR
//!   2. while processors and threads are left: ABTR_proc = ABTR / processors left
//!      the thread with most 1000 / (1 + |ABTR_proc - BTR|) runs, of equals the one nearest to the head; ABTR -= its BTR
//! in between: a free processor goes on with 2
//! ```
//!
//! **Differs from the paper**: as `turns=fitness`, of which it is the case `base=rr`: several
//! buses, threads not measured yet (SBTR / P). The paper gives the first half "using RR" and does
//! not say in which order the threads of one application stand, so the order is that of `rr`.
//! Selection costs O(N log N), as its §5 asks for. A thread at place i of the list runs within
//! ceil((i + 1) / max(1, P/2)) quanta.
//!
//! **Use when** programs together want more bandwidth than there is, and differ in it. **Avoid
//! when** threads wait for each other at short barriers: then a gang.

use super::fitness::{Fitness, first_of};
use super::machinery::quantum::QUANTUM_NS;
use crate::answer::Answer;
use crate::part::{Info, Turns};

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Turns> = Answer {
    info: Info {
        name: "b2arr",
        summary: "Half of the processors to threads in turn, half to those that fit the bandwidth that is left",
        source: "Antonopoulos et al. 2004, §4",
    },
    build: |given| {
        let (first, of) = first_of(given)?;
        let quantum_ns = given.duration("quantum")?.unwrap_or(QUANTUM_NS);
        Ok(Box::new(Fitness::new(first, of, None, quantum_ns)?.named(ANSWER.info)))
    },
};
