//! Latest Quantum Gang: all threads of an application at the same time, gangs put together by the
//! bandwidth they wanted in the latest quantum they ran.
//!
//! **Source**: LQG, Antonopoulos et al. 2004, §4 (its details are in the ICPP 2003 paper of the
//! same authors, reference 1 there).
//!
//! **Terms**: gang = all threads of an application; n(j) = their number, at most P; b(j) = mean BTR
//! of one of them; SBTR = saturation rate of all buses.
//!
//! **Algorithm**
//! ```text
//! every quantum: those that ran go to the tail of the circular list of applications; ABTR = SBTR
//!   the head runs; ABTR -= n · b
//!   while processors are left: ABTR_proc = ABTR / processors left; of those with n(j) <= processors left
//!     the one with most 1000 / (1 + |ABTR_proc - b(j)|) runs, of equals the one nearest to the head; ABTR -= n · b
//! in between: processors that become free stay idle; sizes are those of the beginning
//! ```
//!
//! **Differs from the paper**: it says of fitness only that it is quite similar to its equation 1;
//! the head, the mean per thread, and a quantum of 100 ms (200 ms there) are taken here. Several
//! buses count as one; threads go back to the bus they were on. An application that has not been
//! measured counts as SBTR / P per thread.
//!
//! **Use when** threads wait for each other at short barriers. **Avoid when** the numbers of
//! threads do not add up to the machine: processors stay idle.

use super::machinery::gang::Gangs;
use super::machinery::quantum::QUANTUM_NS;
use crate::answer::Answer;
use crate::part::{Info, Turns};

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Turns> = Answer {
    info: Info {
        name: "lqg",
        summary: "All threads of an application at once, put together by the bandwidth of their latest quantum",
        source: "Antonopoulos et al. 2004, §4",
    },
    build: |given| Ok(Box::new(Gangs::new(ANSWER.info, 1, given.duration("quantum")?.unwrap_or(QUANTUM_NS)))),
};
