//! Bus Bandwidth-Aware Dynamic Space Sharing: processors in proportion to requests for two quanta
//! at once, threads so divided that both want about the same bandwidth.
//!
//! **Source**: B2ADSS, Antonopoulos et al. 2004, §4, over Dynamic Space Sharing
//! ([`share=dss`](#share-dss)).
//!
//! **Terms**: as `turns=chunks`, of which it is the case `share=dss`.
//!
//! **Algorithm**
//! ```text
//! every mult quanta: a(j) = what DSS gives of mult · P processors
//! every quantum: P threads of those with a(j) > 0, one by one, by fitness for what is left of P times the mean rate of all threads
//! ```
//!
//! **Differs from the paper**: as `turns=chunks`: slots that could not be used later are used
//! first. DSS has no minimum of one here. An application that is entitled to less than a slot of an
//! epoch gets one when its entitlements of some epochs sum up to it.
//!
//! **Use when** applications are to have their shares and bandwidth is short. **Avoid when** all
//! applications have one thread: then DSS decides nothing and `b2arr` is as fair.

use super::chunks::Chunks;
use super::machinery::quantum::QUANTUM_NS;
use crate::answer::Answer;
use crate::part::{Info, Turns};
use crate::share::dss::Dss;

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Turns> = Answer {
    info: Info {
        name: "b2adss",
        summary: "Processors by request for two quanta at once, each with threads of about the same bandwidth",
        source: "Antonopoulos et al. 2004, §4",
    },
    build: |given| {
        let mult = given.number("mult")?.unwrap_or(Chunks::MULT);
        let quantum_ns = given.duration("quantum")?.unwrap_or(QUANTUM_NS);
        Ok(Box::new(Chunks::new(mult, Box::<Dss>::default(), quantum_ns)?.named(ANSWER.info)))
    },
};
